"""A definition evaluated with mpmath: many digits without a compiled dependency.

Used where a table's entry is too close to a rounding boundary for float64, and if python-flint is
not installed. Unlike ball arithmetic not rigorous: precision is doubled until two results agree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Any

import mpmath

from softgate.formula.graph import Node

from .evaluation import ARITHMETIC, COMPARE, Operations, choose, interpret, program

MAX_BITS = 4096

# A separate context, because users may change the precision of mpmath's global one in another
# thread. It is not thread-safe: callers hold a lock.
_CONTEXT = mpmath.MPContext()


def evaluate(root: Node, bits: int, /, **inputs: float | Fraction) -> Any:
    """Return `root` at these exact inputs as an mpf, computed with `bits` bits."""
    return _run(root, OPERATIONS, bits, inputs)


def real(root: Node, bits: int, /, **inputs: float | Fraction) -> Any:
    """Return `root` as `evaluate` does, or NaN where the formula has no real value.

    A logarithm of a negative number or a division by 0 may occur in a branch that is not taken.
    """
    return _run(root, REAL, bits, inputs)


def _run(
    root: Node, operations: Operations, bits: int, inputs: Mapping[str, float | Fraction]
) -> Any:
    _CONTEXT.prec = bits
    bind, _ = program(root)
    return bind(operations, _fraction, inputs, _constants(root, bits))(inputs)


@lru_cache(maxsize=256)
def _constants(root: Node, bits: int) -> tuple[Any, ...]:
    # The caller has set the precision to `bits`.
    return tuple(_fraction(constant) for constant in program(root)[1])


def fraction(value: Any) -> Fraction:
    """Return a finite mpf as an exact fraction."""
    sign, mantissa, exponent, _ = value._mpf_
    return Fraction(-int(mantissa) if sign else int(mantissa)) * Fraction(2) ** int(exponent)


def sign_of_difference(root: Node, boundary: Fraction, **inputs: float | Fraction) -> int:
    """Return the sign of root - boundary; 0 only where they are equal, or 4096 bits show it.

    x - tanh(x) differs from x - 1 in the 5900th bit at x = 2050. That tanh does not reach its limit
    decides such a case.
    """
    (sign,) = signs_of_differences(root, [inputs.pop("x")], [boundary], **inputs)
    return sign


def signs_of_differences(
    root: Node,
    points: Iterable[float | Fraction],
    boundaries: Iterable[Fraction],
    **parameters: float | Fraction,
) -> list[int]:
    """Return what `sign_of_difference` does at many inputs x; equal ones should be neighbours."""
    bind, constants = program(root)
    run = bind(RATIONAL, Fraction, parameters, constants)
    signs, before, rational = [], None, None
    for x, boundary in zip(points, boundaries, strict=True):
        if x != before:
            before, rational = x, _rational(run, x)
        if rational is None:
            signs.append(_sign_of_difference(root, boundary, {"x": x, **parameters}))
        else:
            signs.append((rational > boundary) - (rational < boundary))
    return signs


def _sign_of_difference(
    root: Node, boundary: Fraction, inputs: Mapping[str, float | Fraction]
) -> int:
    bits = 256  # enough for the smallest bfloat16, 2**-133, at the first try
    while bits <= MAX_BITS:
        # The change with 64 more bits estimates the error: 1 - tanh(x)² may have cancelled.
        rough, value = (real(root, precision, **inputs) for precision in (bits, bits + 64))
        exact = _fraction(boundary)
        difference = value - exact
        if difference == 0 == value - rough:
            difference = interpret(root, SATURATING, _fraction, inputs) - exact
            if difference != 0:
                return int(_CONTEXT.sign(difference))
        unknown = abs(exact) * _CONTEXT.mpf(2) ** (32 - bits) + 4 * abs(value - rough)
        if abs(difference) > unknown:
            return int(_CONTEXT.sign(difference))
        # Equal in all bits, as x - tanh(x) and x - 1 are: a few more bits would not help.
        saturated = difference == 0 == value - rough and bits < MAX_BITS
        bits = MAX_BITS if saturated else 2 * bits
    return 0


def _rational(run: Callable[[Mapping[str, Any]], Any], x: float | Fraction) -> Fraction | None:
    """Return a graph at `x` as an exact fraction, or None if arithmetic alone does not compute it.

    `run` is the graph bound to `RATIONAL`. Other operations may occur in a branch not taken.
    """
    try:
        value = run({"x": x})
    except (ZeroDivisionError, TypeError):  # in a branch not taken; a comparison of unknown numbers
        return None
    return value if isinstance(value, Fraction) else None


class _Unknown:
    """The result of an operation other than arithmetic, and of arithmetic with it."""

    def _unknown(self, *_: object) -> _Unknown:
        return self

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _unknown
    __truediv__ = __rtruediv__ = __neg__ = __abs__ = _unknown
    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        raise TypeError("an unknown number is not compared")


class _Rational(dict[str, Any]):
    def __missing__(self, operation: str) -> Any:
        return lambda *_: _UNKNOWN


_UNKNOWN = _Unknown()
RATIONAL = _Rational({**ARITHMETIC, **COMPARE, "where": choose})


def _fraction(value: float | Fraction) -> Any:
    exact = Fraction(value)
    return _CONTEXT.mpf(exact.numerator) / exact.denominator


OPERATIONS: dict[str, Any] = {
    **ARITHMETIC,
    **COMPARE,
    "where": choose,
    "pi": lambda: +_CONTEXT.pi,
    "exp": _CONTEXT.exp,
    "expm1": _CONTEXT.expm1,
    "log": _CONTEXT.log,
    "log1p": _CONTEXT.log1p,
    "sqrt": _CONTEXT.sqrt,
    "tanh": _CONTEXT.tanh,
    "sin": _CONTEXT.sin,
    "cos": _CONTEXT.cos,
    "atan": _CONTEXT.atan,
    "erf": _CONTEXT.erf,
    "erfc": _CONTEXT.erfc,
    "sigmoid": lambda x: 1 / (1 + _CONTEXT.exp(-x)),
    "softplus": lambda x: _CONTEXT.log1p(_CONTEXT.exp(x)),
    "phi": _CONTEXT.npdf,
    "Phi": lambda x: _CONTEXT.erfc(-x / _CONTEXT.sqrt(2)) / 2,
}


def _real(operation: Any) -> Any:
    def checked(*operands: Any) -> Any:
        try:
            result = operation(*operands)
        except (ZeroDivisionError, ValueError, OverflowError):
            return _CONTEXT.nan
        return _CONTEXT.nan if isinstance(result, _CONTEXT.mpc) else result

    return checked


REAL = {name: _real(operation) for name, operation in OPERATIONS.items()}
"""The same operations, with NaN where the result is not real."""


def _below_one(operation: Any) -> Any:
    def below(x: Any) -> Any:
        result = operation(x)
        return (
            result * (1 - _CONTEXT.mpf(2) ** (64 - _CONTEXT.prec)) if abs(result) == 1 else result
        )

    return below


SATURATING = REAL | {name: _below_one(REAL[name]) for name in ("tanh", "erf")}
"""The same operations, but functions that approach ±1 stay below, by 64 bits of precision."""
