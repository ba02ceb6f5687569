"""min over c of max |w(x)·(f(x) - Σ c_k·x^k)|, every c_k a number of a float format.

Remez' exchange gives the real optimum. Rounding its coefficients one by one, each time fitting
the others again, keeps almost all of it: what one rounding spoils, the free ones take back.
Everything is computed with 60 digits on a Chebyshev grid, so the outcome is the same everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import mpmath
from mpmath import mp

from softgate.formula.formats import Format

DIGITS = 60
EXCHANGES = 40
Function = Callable[[Any], Any]


def exact(value: Any) -> Fraction:
    """Return an mpf as a fraction."""
    sign, mantissa, exponent, _ = mpmath.mpf(value)._mpf_
    size = Fraction(int(mantissa)) * Fraction(2) ** int(exponent)
    return -size if sign else size


def nearest(value: Any, fmt: Format) -> float:
    """Return the float of `fmt` nearest to an mpf."""
    return fmt.round(exact(value))


def grid(interval: tuple[float, float], count: int) -> list[Any]:
    """Return `count` Chebyshev points of the open interval, in ascending order."""
    low, high = map(mpmath.mpf, interval)
    middle, half = (low + high) / 2, (high - low) / 2
    angles = ((2 * k + 1) * mp.pi / (2 * count) for k in reversed(range(count)))
    return [middle + half * mp.cos(angle) for angle in angles]


def fit_polynomial(
    target: Function,
    powers: Sequence[int],
    interval: tuple[float, float],
    fmt: Format,
    weight: Function = lambda x: mpmath.mpf(1),
    fixed: dict[int, float] | None = None,
) -> tuple[tuple[float, ...], float]:
    """Fit Σ c_k·x^k over `powers` to `target`, with coefficients of `fmt`.

    Parameters
    ----------
    target, weight
        Functions of an mpf; the error is weight(x)·(target(x) - fit(x)).
    powers
        The exponents k, lowest first. Those in `fixed` keep the value given there.
    interval, fmt
        Where to fit, and what the coefficients are rounded to.

    Returns
    -------
    coefficients : tuple of float
        One for each of `powers`.
    error_log2 : float
        log2 of the largest weighted error after rounding.
    """
    with mp.workdps(DIGITS):
        points = grid(interval, 48 * (len(powers) + 1))
        weights = [weight(x) for x in points]
        values = [target(x) for x in points]
        chosen = {k: mpmath.mpf(c) for k, c in (fixed or {}).items()}
        free = [k for k in powers if k not in chosen]
        while free:
            rest = _residual(points, values, chosen)
            best = remez(points, weights, rest, free)
            chosen[free[0]] = mpmath.mpf(nearest(best[0], fmt))
            free = free[1:]
        error = _largest_error(target, weight, chosen, interval)
        return tuple(float(chosen[k]) for k in powers), float(mp.log(error, 2))


def _residual(points: list[Any], values: list[Any], chosen: dict[int, Any]) -> list[Any]:
    return [
        value - mp.fsum(c * x**k for k, c in chosen.items())
        for x, value in zip(points, values, strict=True)
    ]


def _largest_error(
    target: Function, weight: Function, chosen: dict[int, Any], interval: tuple[float, float]
) -> Any:
    # A second, finer grid with the ends: the error of the very coefficients, not of the fit's grid.
    points = [*grid(interval, 160 * (len(chosen) + 1)), *map(mpmath.mpf, interval)]
    points = [x for x in points if x != 0]
    return max(
        abs(weight(x) * (target(x) - mp.fsum(c * x**k for k, c in chosen.items()))) for x in points
    )


def remez(
    points: list[Any], weights: list[Any], values: list[Any], powers: Sequence[int]
) -> list[Any]:
    """Return the coefficients of the weighted minimax polynomial on the grid `points`."""
    count = len(powers) + 1
    reference = [round(k * (len(points) - 1) / (count - 1)) for k in range(count)]
    coefficients: list[Any] = []
    for _ in range(EXCHANGES):
        matrix, right = mpmath.matrix(count, count), mpmath.matrix(count, 1)
        for row, index in enumerate(reference):
            for column, k in enumerate(powers):
                matrix[row, column] = weights[index] * points[index] ** k
            matrix[row, count - 1] = (-1) ** row
            right[row] = weights[index] * values[index]
        solution = mp.lu_solve(matrix, right)
        coefficients = list(solution)[: count - 1]
        errors = _errors(points, weights, values, powers, coefficients)
        following = exchange(errors, count)
        if following == reference:
            break
        reference = following
    return coefficients


def _errors(
    points: list[Any],
    weights: list[Any],
    values: list[Any],
    powers: Sequence[int],
    coefficients: list[Any],
) -> list[Any]:
    pairs = list(zip(powers, coefficients, strict=True))
    return [
        w * (value - mp.fsum(c * x**k for k, c in pairs))
        for x, w, value in zip(points, weights, values, strict=True)
    ]


def exchange(errors: list[Any], count: int) -> list[int]:
    """Return the indices of `count` alternating extrema, the largest one among them."""
    extrema: list[int] = []
    for index, error in enumerate(errors):
        if extrema and (errors[extrema[-1]] < 0) == (error < 0):
            if abs(error) > abs(errors[extrema[-1]]):
                extrema[-1] = index
        else:
            extrema.append(index)
    while len(extrema) > count:
        # Drop from the end whose error is smaller: alternation holds without it.
        extrema.pop(0 if abs(errors[extrema[0]]) < abs(errors[extrema[-1]]) else -1)
    if len(extrema) < count:
        raise ArithmeticError(f"{len(extrema)} alternations where {count} are needed")
    return extrema
