"""Trace a user's function to a graph; errors name the line and what to write instead."""

from __future__ import annotations

import linecache
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from traceback import walk_tb
from typing import Any

from .arithmetic import ExactArithmetic, spelling
from .graph import COMBINED, COMPARISONS, FormulaError, Graph, Node, TooLarge, rebuild, walk

FOREIGN = re.compile(
    r"\b((?:math|cmath|np|numpy|jnp|jax\.numpy|jax\.nn|torch|torch\.special|tf|tf\.math|F|special"
    r"|scipy\.special|sg|softgate|keras\.ops|ops)\.(\w+))\("
)
"""A call of another library's function."""
BUILTIN = re.compile(r"(?<![\w.])((max|min))\(")

Function = Callable[..., Any]


LIMITS = ("limit.left", "limit.right", "from.left", "from.right")
"""Scalar parameters of the kernels of users' formulas of x: the limits at -inf and inf, and the
arguments beyond which they replace non-finite results."""


@dataclass(frozen=True)
class UserFormula:
    """Where a formula is defined, and how its kernels are computed.

    `limits(quantity, parameters)` returns the values of `LIMITS`; it is None for formulas of two
    operands, which have none. float32 is computed in float64 and rounded once unless `fast`.
    `defaults` are the parameters before any `bind`.
    """

    module: str
    qualname: str
    doc: str
    limits: Callable[[str, tuple[tuple[str, float], ...]], tuple[float, ...]] | None
    fast: bool = False
    defaults: tuple[tuple[str, float], ...] = ()


def trace(function: Function, operands: tuple[str, ...], parameters: tuple[str, ...]) -> Node:
    """Return the graph of `function(f, *operands, **parameters)`, with every argument symbolic.

    Raises
    ------
    FormulaError
        If the function needs the value of an operand, or does not return an expression of all.
    """
    f = ExactArithmetic(Graph())
    symbols = {name: f.graph.parameter(name) for name in parameters}
    f.graph.strict = True
    try:
        result = function(f, *map(f.graph.input, operands), **symbols)
    except FormulaError as error:
        raise _located(function, error, str(error)) from None
    except (TypeError, ValueError) as error:
        message = str(error)
        if "__array_ufunc__" in message:
            message = "a formula cannot use NumPy functions or arrays: use f.exp(x), and numbers"
        elif "unsupported operand" in message:
            message += ": a formula has + - * / and **"
        raise _located(function, error, message) from error
    except (NameError, AttributeError) as error:
        name, owner = error.name or "", getattr(error, "obj", None)
        instead = spelling(name)
        if instead is None or not isinstance(owner, Node | None):
            raise
        raise _located(function, error, f"{error}: write {instead} instead") from None
    finally:
        f.graph.strict = False
    where = place(function)
    if not isinstance(result, Node):
        what = repr(result) if isinstance(result, int | float | None) else type(result).__name__
        first, last = operands[0], operands[-1]
        raise FormulaError(
            f"{where}: {function.__name__} returns {what}: expected an expression of "
            f"{' and '.join(operands)}, as in `return {first}*f.sigmoid({last})`"
        )
    if result.op in COMPARISONS:
        raise FormulaError(
            f"{where}: {function.__name__} returns a comparison: write f.where(x > 0, 1, 0)"
        )
    used = {node.attr for node in walk(result) if node.op == "input"}
    for name in operands:
        if name not in used:
            raise FormulaError(
                f"{where}: the result of {function.__name__} does not depend on {name}"
            )
    return result


def replay(root: Node, f: ExactArithmetic, leaves: Mapping[str, Node]) -> Node:
    """Return a traced formula in the graph of `f`, with `leaves` for its input and parameters."""

    def visit(node: Node, args: list[Node]) -> Node:
        leaf = node.op in ("input", "parameter")
        return leaves[str(node.attr)] if leaf else f.graph.copy(node, args)

    return rebuild(root, visit)


def place(function: Function) -> str:
    """Return file and line of a function's `def`."""
    code = function.__code__
    line = first = code.co_firstlineno
    while linecache.getline(code.co_filename, line).lstrip().startswith("@"):
        line += 1
    is_def = "def " in linecache.getline(code.co_filename, line)
    return f"{code.co_filename}, line {line if is_def else first}"


def _located(function: Function, error: Exception, message: str) -> FormulaError:
    """Return the error with the user's innermost line and what to write instead."""
    file = function.__code__.co_filename
    frames = ((frame.f_code.co_filename, n) for frame, n in walk_tb(error.__traceback__))
    lines = [number for name, number in frames if name == file]
    if not lines:
        return FormulaError(f"{place(function)}: {message}")
    source = linecache.getline(file, lines[-1]).strip()
    shown = f" `{source}`:" if source else ""
    advice = None if isinstance(error, TooLarge) else _advice(source)
    return FormulaError(f"{file}, line {lines[-1]}:{shown} {advice or message}")


def _advice(source: str) -> str | None:
    """Return what to write instead, if the source line shows it."""
    if re.match(r"while\b|for\b.*\brange\(", source):
        return (
            "a formula is traced once for all inputs, a loop cannot depend on a value: "
            "give it a fixed number of rounds, for _ in range(8), or write a closed form"
        )
    if re.search(r"\b(?:and|or|not)\b", source):
        return COMBINED
    for pattern in (FOREIGN, BUILTIN):
        for call, name in pattern.findall(source):
            instead = spelling(name)
            if instead is not None:
                written = f"{instead}(…)" if instead[2:].isidentifier() else instead
                return (
                    f"{call} takes numbers and arrays, but x is symbolic: write {written} instead"
                )
    return None
