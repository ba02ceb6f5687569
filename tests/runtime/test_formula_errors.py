"""What a formula may not do: the error names file, line and what to write instead."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import softgate as sg
from softgate.formula.arithmetic import FUNCTIONS, OTHERS, ExactArithmetic, spelling

CASES: dict[Callable[..., Any], tuple[int, str]] = {}
"""Each function with the line in it that is wrong, counted from `def`, and what the error says."""


def wrong(line: int, says: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def put(function: Callable[..., Any]) -> Callable[..., Any]:
        CASES[function] = (line, says)
        return function

    return put


@wrong(3, r"`y = f.tanh\(y\)`: the formula has more than 100 nested")
def nested(f: Any, x: Any) -> Any:
    y = x
    for _ in range(175):
        y = f.tanh(y)
    return y


@wrong(1, r"or 1,000 distinct operations: use fewer rounds")
def long(f: Any, x: Any) -> Any:
    terms = [x * (i + 0.5) for i in range(600)]
    return sum(terms)


@wrong(1, r"a power of 1000000000: the largest is 1000")
def high_power(f: Any, x: Any) -> Any:
    return x ** (10**9)


@wrong(1, r"`if x > 0:`: .* write f\.where\(condition, a, b\) instead of `if`")
def branch(f: Any, x: Any) -> Any:
    if x > 0:
        return x
    return f.expm1(x)


@wrong(1, r"f\.where\(condition, a, b\)")
def ternary(f: Any, x: Any) -> Any:
    return x if x > 0 else 0.1 * x


@wrong(1, r"f\.where\(condition, a, b\)")
def equal(f: Any, x: Any) -> Any:
    if x == 0:
        return f.exp(x)
    return f.sin(x) / x


@wrong(1, r"f\.where\(condition, a, b\)")
def equal_to_a_parameter(f: Any, x: Any, a: float = 1.0) -> Any:
    if x == a:
        return x
    return 2 * x


@wrong(1, r"no `!=`: write f\.where\(x == y, b, a\)")
def unequal(f: Any, x: Any) -> Any:
    return f.where(x != 0, x, 1)


@wrong(1, r"write f\.where\(a, f\.where\(b, yes, no\), no\) for a and b")
def both(f: Any, x: Any) -> Any:
    return f.where(x > 0 and x < 1, x, 0)


@wrong(1, r"f\.where\(a, yes, f\.where\(b, yes, no\)\) for a or b")
def either(f: Any, x: Any) -> Any:
    return f.where((x < 0) | (x > 1), x, 0)


@wrong(1, r"a comparison is not a number: write f\.where\(x > 0, x, 0\)")
def mask(f: Any, x: Any) -> Any:
    return x * (x > 0)


@wrong(1, r"the condition must compare, as in x > 0")
def no_condition(f: Any, x: Any) -> Any:
    return f.where(x, 1, 2)


@wrong(1, r"`return max\(x, 0\)`: max takes numbers .* write f\.maximum\(…\) instead")
def builtin_max(f: Any, x: Any) -> Any:
    return max(x, 0)


@wrong(1, r"write f\.exp\(…\) instead")
def math_function(f: Any, x: Any) -> Any:
    return x * math.exp(-x)


@wrong(2, r"np\.tanh takes numbers and arrays, but x is symbolic.* write f\.tanh\(…\) instead")
def numpy_function(f: Any, x: Any) -> Any:
    y = 2 * x
    return x * np.tanh(y)


@wrong(1, r"write f\.where\(…\) instead")
def numpy_where(f: Any, x: Any) -> Any:
    return np.where(x > 0, x, 0)


@wrong(1, r"a formula cannot use NumPy functions or arrays")
def array(f: Any, x: Any) -> Any:
    return x * NUMBERS


NUMBERS = np.array([1.0, 2.0])


@wrong(1, r"write x\*f\.Phi\(x\) instead")
def of_the_catalogue(f: Any, x: Any) -> Any:
    return 2 * sg.gelu(x)


@wrong(1, r"cannot use f\.sigmiod: choose from exp, .*; write f\.sigmoid instead")
def misspelt(f: Any, x: Any) -> Any:
    return f.sigmiod(x)


@wrong(1, r"cannot use f\.tan: .*; write f\.sin\(x\)/f\.cos\(x\) instead")
def by_hand(f: Any, x: Any) -> Any:
    return f.tan(x)


@wrong(1, r"cannot use f\.lambertw: choose from .*sqrt.*pi$")
def unknown(f: Any, x: Any) -> Any:
    return f.lambertw(x)


@wrong(1, r"write f\.exp instead")
def without_f(f: Any, x: Any) -> Any:
    return exp(x)  # type: ignore[name-defined]  # noqa: F821


@wrong(1, r"write f\.sigmoid instead")
def as_method(f: Any, x: Any) -> Any:
    return x.sigmoid()


@wrong(2, r"`while y > 1:`: .* a loop cannot depend on a value: give it a fixed number of rounds")
def while_loop(f: Any, x: Any) -> Any:
    y = x
    while y > 1:
        y = y / 2
    return y


@wrong(2, r"a loop cannot depend on a value")
def for_loop(f: Any, x: Any) -> Any:
    y = x
    for _ in range(x):
        y = 2 * y
    return y


@wrong(1, r"x represents one element")
def item(f: Any, x: Any) -> Any:
    return x[0]


@wrong(1, r"x has no value yet")
def number(f: Any, x: Any) -> Any:
    return float(x) * 2


@wrong(1, r"a power must be a whole number or 0\.5: write f\.exp\(p\*f\.log\(x\)\)")
def power(f: Any, x: Any, p: float = 2.0) -> Any:
    return x**p


@wrong(1, r"a formula has \+ - \* / and \*\*")
def whole_division(f: Any, x: Any) -> Any:
    return x // 2


@wrong(1, r"division by 0")
def by_zero(f: Any, x: Any) -> Any:
    return x / 0


@wrong(1, r"inf in a formula: expected a finite number")
def infinite(f: Any, x: Any) -> Any:
    return f.minimum(x, math.inf)


@wrong(1, r"a str in a formula: expected a number")
def text(f: Any, x: Any) -> Any:
    return f.exp("x")


@wrong(1, r"f\.exp\(\) takes 1 positional argument but 2 were given")
def too_many(f: Any, x: Any) -> Any:
    return f.exp(x, 2)


@wrong(0, r"returns 1\.0: expected an expression of x")
def constant_number(f: Any, x: Any) -> Any:
    return 1.0


@wrong(0, r"returns None: expected an expression of x")
def nothing(f: Any, x: Any) -> Any:
    x * 2


@wrong(0, r"returns tuple: expected an expression of x")
def pair(f: Any, x: Any) -> Any:
    return x, x


@wrong(0, r"returns a comparison: write f\.where\(x > 0, 1, 0\)")
def comparison(f: Any, x: Any) -> Any:
    return x > 0


@wrong(0, r"does not depend on x")
def constant(f: Any, x: Any) -> Any:
    return f.pi + 1


@wrong(0, r"must begin with f and x: write `def only_x\(f, x, …\)`")
def only_x(x: Any) -> Any:
    return x


@wrong(0, r"parameter 'a' of no_default has no default: write a=1\.0")
def no_default(f: Any, x: Any, y: Any, a: Any) -> Any:
    return a * x * y


@wrong(0, "the result of one_of_two does not depend on y")
def one_of_two(f: Any, x: Any, y: Any) -> Any:
    return f.exp(x)


@wrong(0, "operand 'grad' of operand_grad: a call has an 'grad' already: rename it")
def operand_grad(f: Any, x: Any, grad: Any) -> Any:
    return x * grad


@wrong(0, "parameter 'axis' of parameter_axis: a call has an 'axis' already: rename it")
def parameter_axis(f: Any, x: Any, y: Any, axis: Any = 1.0) -> Any:
    return x * y * axis


@wrong(0, r"write every parameter as a keyword")
def many(f: Any, x: Any, *a: Any) -> Any:
    return x


@wrong(0, r"has the default '1': expected a finite number")
def textual_default(f: Any, x: Any, a: Any = "1") -> Any:
    return x


@wrong(0, r"has the default nan: expected a finite number")
def nan_default(f: Any, x: Any, a: float = math.nan) -> Any:
    return x


@wrong(0, r"has the default True: expected a finite number")
def true_default(f: Any, x: Any, a: bool = True) -> Any:
    return x


@wrong(0, r"a call has an 'out' already: rename it")
def reserved(f: Any, x: Any, out: float = 1.0) -> Any:
    return out * x


@pytest.mark.parametrize("function", CASES, ids=lambda function: function.__name__)
def test_the_error_names_the_line_and_what_to_write(function: Callable[..., Any]) -> None:
    offset, says = CASES[function]
    definition = function.__code__.co_firstlineno + 1  # below its decorator
    with pytest.raises(sg.FormulaError, match=says) as caught:
        sg.activation(function)
    message = str(caught.value)
    assert message.startswith(f"{__file__}, line {definition + offset}:"), message
    assert isinstance(caught.value, TypeError)


def test_a_function_called_by_a_formula_is_where_the_error_is() -> None:
    def inner(y: Any) -> Any:
        return math.sqrt(y)

    line = inner.__code__.co_firstlineno + 1
    with pytest.raises(sg.FormulaError, match=rf"line {line}: `return math\.sqrt\(y\)`.*f\.sqrt"):
        sg.activation(name="outer")(lambda f, x: x + inner(x))


def test_what_is_no_function() -> None:
    for argument in ("gelu", sg.gelu, print, 3):
        with pytest.raises(TypeError, match="expected a function of f and x"):
            sg.activation(argument)  # type: ignore[call-overload]
    with pytest.raises(ValueError, match="'<lambda>' is not an identifier: give one"):
        sg.activation(lambda f, x: x)


def test_an_error_of_the_author_stays_what_it_is() -> None:
    def broken(f: Any, x: Any) -> Any:
        return {}["missing"] * x

    with pytest.raises(KeyError):
        sg.activation(broken)
    with pytest.raises(NameError, match="undefined_name"):
        sg.activation(name="typo")(lambda f, x: undefined_name(x))  # type: ignore[name-defined]  # noqa: F821


def test_every_spelling_leads_somewhere() -> None:
    from softgate.formula.arithmetic import BY_HAND, SPELLINGS

    f = ExactArithmetic()
    x, p = f.graph.input("x"), 2
    for name in (*SPELLINGS, *FUNCTIONS, *OTHERS):
        result = spelling(name)
        assert result is not None
        assert hasattr(f, result.removeprefix("f."))
    for name, instead in BY_HAND.items():
        assert spelling(name) == instead
        for part in re.split(r" or ", instead):
            eval(part, {"f": f, "x": x, "p": p})
    assert spelling("lambertw") is None


def test_shared_subexpressions_are_evaluated_once_and_written_in_short() -> None:
    @sg.activation
    def doubled(f: Any, x: Any) -> Any:
        y = x
        for _ in range(60):
            y = y + y
        return y

    x = np.array([0.5, -3.0])
    assert np.array_equal(doubled(x), x * 2.0**60)
    assert np.array_equal(doubled.slope(x), [2.0**60] * 2)
    assert np.array_equal(doubled.curvature(x), [0.0, 0.0])
    assert "…" in doubled.entry.formula
    assert len(doubled.entry.formula) < 200
    assert len(doubled.latex) < 1000

    @sg.activation
    def powers(f: Any, x: Any) -> Any:
        return ((x**1000) ** 1000) ** 100 / (1 + ((x**1000) ** 1000) ** 100)

    assert powers.entry.formula == "x**100000000/(1 + x**100000000)"
    assert "x^{100000000}" in powers.latex
    assert np.array_equal(powers(np.array([0.5, 1.0])), [0.0, 0.5])


def test_constants_beyond_every_float() -> None:
    @sg.activation
    def huge(f: Any, x: Any) -> Any:
        return x * (1 / f.exp(-1e9))

    assert np.array_equal(huge(np.array([-1.0, 2.0])), [-np.inf, np.inf])
