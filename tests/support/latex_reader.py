"""Evaluates LaTeX formulas, by rules that share no code with their printing.

A strict reader of school mathematics: an unknown command is an error.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import mpmath

mp = mpmath.MPContext()
mp.prec = 200

TOKEN = re.compile(
    r"\\begin\{cases\}|\\end\{cases\}|\\text\{[^}]*\}|\\mathrm\{[^}]*\}|\\operatorname\{\w+\}"
    r"|\\left[(|]|\\right[)|]|\\\\|\\,|\\[A-Za-z]+|\d+(?:\.\d+)?|[A-Za-z]|[{}^&+\-/,<>=]|\s+"
)
FUNCTIONS: dict[str, Callable[..., Any]] = {
    r"\Phi": mp.ncdf,
    r"\varphi": mp.npdf,
    r"\sigma": lambda x: 1 / (1 + mp.exp(-x)),
    r"\tanh": mp.tanh,
    r"\ln": mp.log,
    r"\exp": mp.exp,
    r"\sin": mp.sin,
    r"\cos": mp.cos,
    r"\arctan": mp.atan,
    r"\max": max,
    r"\min": min,
    r"\operatorname{erf}": mp.erf,
    r"\operatorname{erfc}": mp.erfc,
}
RELATIONS: dict[str, Callable[[Any, Any], bool]] = {
    "<": lambda x, y: x < y,
    ">": lambda x, y: x > y,
    r"\le": lambda x, y: x <= y,
    r"\ge": lambda x, y: x >= y,
    "=": lambda x, y: x == y,
}
CLOSING = {"}", r"\right)", r"\right|", "&", r"\\", r"\end{cases}", ",", "+", "-", *RELATIONS}


def read(text: str, values: Mapping[str, float]) -> Any:
    """Return the number that `text` stands for, its names having these values."""
    reader = Reader(text, values)
    result = reader.sum()
    reader.end()
    return result


class Reader:
    def __init__(self, text: str, values: Mapping[str, float]) -> None:
        tokens = TOKEN.findall(text)
        if "".join(tokens) != text:
            raise ValueError(f"no such symbols in a formula: {text!r}")
        self.tokens = [token for token in tokens if token.strip() and token != r"\,"]
        self.place = 0
        self.values = {symbol(name): mp.mpf(value) for name, value in values.items()}

    def peek(self) -> str:
        return self.tokens[self.place] if self.place < len(self.tokens) else ""

    def take(self, *expected: str) -> str:
        token = self.peek()
        if not token or (expected and token not in expected):
            raise ValueError(f"expected {expected}, found {token!r} at {self.place}: {self.tokens}")
        self.place += 1
        return token

    def end(self) -> None:
        if self.peek():
            raise ValueError(f"left over: {self.tokens[self.place :]}")

    def sum(self) -> Any:
        minus = self.peek() == "-"
        if minus:
            self.take()
        total = -self.product() if minus else self.product()
        while self.peek() in ("+", "-"):
            total = total + self.product() if self.take() == "+" else total - self.product()
        return total

    def product(self) -> Any:
        result = self.power()
        while self.peek() and self.peek() not in CLOSING:
            if self.peek() == "/":
                self.take()
                result /= self.power()
                continue
            if self.peek() == r"\cdot":
                self.take()
            elif re.match(r"\d", self.peek()):
                raise ValueError("a number beside another factor reads as one number")
            result *= self.power()
        return result

    def power(self) -> Any:
        base = self.atom()
        if self.peek() == "^":
            self.take()
            base = base ** self.group()
            if self.peek() == "^":
                raise ValueError("a power of a power needs brackets")
        return base

    def group(self) -> Any:
        self.take("{")
        inside = self.sum()
        self.take("}")
        return inside

    def brackets(self, right: str) -> list[Any]:
        results = [self.sum()]
        while self.peek() == ",":
            self.take()
            results.append(self.sum())
        self.take(right)
        return results

    def atom(self) -> Any:
        token = self.take()
        if re.match(r"\d", token):
            return mp.mpf(token)
        if token in FUNCTIONS:
            self.take(r"\left(")
            return FUNCTIONS[token](*self.brackets(r"\right)"))
        if token == r"\left(":
            (inside,) = self.brackets(r"\right)")
            return inside
        if token == r"\left|":
            (inside,) = self.brackets(r"\right|")
            return abs(inside)
        if token == r"\frac":
            return self.group() / self.group()
        if token == r"\sqrt":
            return mp.sqrt(self.group())
        if token == r"\begin{cases}":
            return self.cases()
        if token in self.values:
            return self.values[token]
        constants = {"e": mp.e, r"\pi": mp.pi}
        if token not in constants:
            raise ValueError(f"{token!r} is neither a name nor a function here")
        return +constants[token]

    def cases(self) -> Any:
        """Return the value of the first case that holds; all are read."""
        rows: list[tuple[bool, Any]] = []
        while True:
            value = self.sum()
            self.take("&")
            if self.take(r"\text{if }", r"\text{otherwise}") == r"\text{otherwise}":
                self.take(r"\end{cases}")
                return next((chosen for holds, chosen in rows if holds), value)
            left = self.sum()
            relation = RELATIONS[self.take(*RELATIONS)]
            rows.append((relation(left, self.sum()), value))
            self.take(r"\\")


def symbol(name: str) -> str:
    """Return how a name is written."""
    if name in ("alpha", "beta", "gamma", "lambda", "mu"):
        return rf"\{name}"
    word = name.replace("_", r"\_")
    return name if len(name) == 1 else rf"\mathrm{{{word}}}"
