"""min over P, Q of max |w(x)·(P(x)/Q(x) - f(x))|, every coefficient a number of a float format.

Lawson's iteration on the linearised problem: weighted least squares for P - f·Q with the last Q in
the weights, and weights that grow where the error is large. It needs no starting reference, which
an exchange of 20 alternating points does. Coefficients are rounded one at a time, highest power
first, and the free ones fitted again. Ball arithmetic of fixed precision makes all of it
reproducible to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import flint
from flint import arb, arb_mat, fmpq

from softgate.formula.formats import Format

BITS = 320
POINTS = 360
CHECKS = 4
"""The error is measured on a grid this many times finer than the fit's."""
FIRST, AGAIN = 24, 8
"""Lawson iterations: for the real optimum, and after each rounding."""
Function = Callable[[Any], Any]
Coefficients = list[Any]


def nearest(value: Any, fmt: Format) -> float:
    """Return the float of `fmt` nearest to the middle of a ball."""
    mantissa, exponent = value.mid().man_exp()
    return fmt.round(Fraction(int(mantissa)) * Fraction(2) ** int(exponent))


def grid(interval: tuple[float, float], count: int, crowding: int) -> list[Any]:
    """Return count + 1 Chebyshev points with the ends, crowded towards the lower one."""
    low, high = map(arb, interval)
    turns = ((1 - arb.cos_pi_fmpq(fmpq(k, count))) / 2 for k in range(count + 1))
    return [(low + (high - low) * t**crowding).mid() for t in turns]


def _powers(x: Any, count: int) -> list[Any]:
    powers = [arb(1)]
    while len(powers) < count:
        powers.append((powers[-1] * x).mid())
    return powers


def _dot(coefficients: Sequence[Any], values: Sequence[Any]) -> Any:
    return sum((c * v for c, v in zip(coefficients, values, strict=True)), arb(0)).mid()


class Ratio:
    """The problem on a grid: `solve` fits the coefficients that are not yet chosen."""

    def __init__(
        self, target: Function, weight: Function, points: list[Any], sizes: tuple[int, int]
    ) -> None:
        self.sizes = sizes
        self.powers = [_powers(x, max(sizes)) for x in points]
        self.values = [target(x).mid() for x in points]
        self.weights = [weight(x).mid() for x in points]

    def error(self, p: Coefficients, q: Coefficients) -> list[Any]:
        """Return the weighted error at every point."""
        errors = []
        for powers, value, weight in zip(self.powers, self.values, self.weights, strict=True):
            below = _dot(q, powers[: len(q)])
            errors.append((weight * (_dot(p, powers[: len(p)]) / below - value)).mid())
        return errors

    def solve(
        self, p: Coefficients, q: Coefficients, rounds: int
    ) -> tuple[Coefficients, Coefficients]:
        """Return P and Q with every None replaced so that the largest error is small."""
        lawson = [arb(1)] * len(self.values)
        last: Coefficients = [arb(1), *[arb(0)] * (self.sizes[1] - 1)]
        best: tuple[Any, Coefficients, Coefficients] | None = None
        for count in range(rounds):
            result = self._least_squares(p, q, last, lawson)
            errors = [abs(e) for e in self.error(*result)]
            largest = max(errors, key=float)
            if best is None or float(largest) < float(best[0]):
                best = (largest, *result)
            last = result[1]
            if count >= 3:
                # Before that the linearisation, not the weights, decides.
                lawson = [(m * e / largest).mid() for m, e in zip(lawson, errors, strict=True)]
        assert best is not None
        return best[1], best[2]

    def _least_squares(
        self, p: Coefficients, q: Coefficients, last: Coefficients, lawson: list[Any]
    ) -> tuple[Coefficients, Coefficients]:
        rows, scaled, right = [], [], []
        for powers, value, weight, m in zip(
            self.powers, self.values, self.weights, lawson, strict=True
        ):
            row, rest = self._row(p, q, powers, value)
            factor = m * (weight / _dot(last, powers[: len(last)])) ** 2
            rows.append(row)
            scaled.append([(factor * v).mid() for v in row])
            right.append([rest])
        turned = arb_mat(scaled).transpose()
        solution = (turned * arb_mat(rows)).solve(turned * arb_mat(right), algorithm="approx")
        result = iter([solution[k, 0].mid() for k in range(len(rows[0]))])
        new_p = [next(result) if c is None else c for c in p]
        return new_p, [next(result) if c is None else c for c in q]

    @staticmethod
    def _row(
        p: Coefficients, q: Coefficients, powers: list[Any], value: Any
    ) -> tuple[list[Any], Any]:
        row, rest = [], arb(0)
        for side, sign in ((p, arb(1)), (q, -value)):
            for c, power in zip(side, powers, strict=False):
                if c is None:
                    row.append((sign * power).mid())
                else:
                    rest -= sign * power * c
        return row, rest.mid()


def fit_ratio(
    target: Function,
    weight: Function,
    interval: tuple[float, float],
    degrees: tuple[int, int],
    fmt: Format,
    crowding: int = 3,
) -> tuple[tuple[float, ...], tuple[float, ...], float]:
    """Fit P/Q of the given degrees to `target`, Q monic, with coefficients of `fmt`.

    Parameters
    ----------
    target, weight
        Functions of a ball; the error is weight(x)·(P(x)/Q(x) - target(x)).
    interval, degrees, fmt
        Where to fit, the degrees of P and Q, and what the coefficients are rounded to.
    crowding
        Power by which the grid's points crowd towards the lower end.

    Returns
    -------
    numerator, denominator : tuple of float
        Lowest power first.
    error_log2 : float
        log2 of the largest weighted error after rounding.
    """
    flint.ctx.prec = BITS
    sizes = (degrees[0] + 1, degrees[1] + 1)
    problem = Ratio(target, weight, grid(interval, POINTS, crowding), sizes)
    p: Coefficients = [None] * sizes[0]
    q: Coefficients = [*[None] * degrees[1], arb(1)]
    best = problem.solve(p, q, FIRST)
    free = [(k, side) for side in (0, 1) for k, c in enumerate((p, q)[side]) if c is None]
    for k, side in sorted(free, key=lambda item: (-item[0], item[1])):
        (p, q)[side][k] = arb(nearest(best[side][k], fmt))
        if None in p or None in q:
            best = problem.solve(p, q, AGAIN)
    finer = Ratio(target, weight, grid(interval, POINTS * CHECKS, crowding), sizes)
    largest = max(abs(float(e)) for e in finer.error(p, q))
    numerator, denominator = (tuple(float(c) for c in side) for side in (p, q))
    return numerator, denominator, float((arb(largest).log() / arb(2).log()).mid())
