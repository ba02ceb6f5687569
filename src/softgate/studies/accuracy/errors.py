"""Reference values of one function, and errors against them in ulps.

The reference is arb, with precision increased until the result is decided, or for many inputs the
float64 kernel. The kernel is the reference of narrower formats only after it has been measured
against arb in the same run: its uncertainty, the margin, is twice its largest error. A certificate
states the margin, and arb decides roundings within it.

The ulp is the spacing of the format at the exact result, not at the computed one. For a slope of
f = x·g, clipped or not, it is the spacing at max(|g|, |x·g'|), both from the definition: near a
root of the slope, the slope's ulp is meaningless. With `terms` it is the spacing at the largest.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from softgate.catalogue import Entry
from softgate.formula.derivative import derivative
from softgate.formula.formats import FLOAT64, Format, all_values, near_tie, round_to, ulp
from softgate.formula.graph import Node, walk
from softgate.runtime import kernels
from softgate.runtime.tables import truth_graph

Array = npt.NDArray[Any]
Float64s = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
Parameters = Mapping[str, float]

SIGN_ULP = 4.0
"""A sign counts as wrong from this error on: next to a root of a slope no sign is reliable."""


def gate(entry: Entry) -> Node | None:
    """Return g where the definition is x·g, or that up to a bound; else None."""
    root = truth_graph(entry, "value")
    while _clips(root):
        root = root.args[1]
    if root.op == "mul" and root.args[0].op == "input":
        return root.args[1]
    return None


def _clips(root: Node) -> bool:
    """Return whether a graph is an expression up to a bound and a constant beyond it.

    That is the maximum or minimum of the two, or the expression's value at a parameter.
    """
    if root.op != "where":
        return False
    condition, *branches = root.args
    leaves = {node.op for node in walk(branches[1]) if not node.args}
    if leaves == {"const"}:
        return set(condition.args) == set(branches)
    return "input" not in leaves


def scale_graphs(entry: Entry, quantity: str) -> tuple[Node, ...]:
    """Return the graphs that define the scale of an error: the largest of their magnitudes."""
    if entry.terms is not None and quantity in ("value", "slope"):
        terms = entry.define_terms()
        scales = map(derivative, terms) if quantity == "slope" else terms
        return (*scales, truth_graph(entry, quantity))
    g = gate(entry)
    if quantity == "slope" and g is not None:
        x = g.graph.input("x")
        return g, x * derivative(g)
    return (truth_graph(entry, quantity),)


@dataclass
class Errors:
    """Results at inputs in ascending or descending order, with reference values and errors."""

    fmt: Format
    x: Float64s
    computed: Float64s
    truth: Float64s
    """The reference values, rounded to float64."""
    error_ulp: Float64s
    """In ulps of the scale; infinite for NaN or inf where the truth is finite, and vice versa."""
    own_ulp: Float64s
    """In ulps of the exact result, which determine whether a result is correctly rounded."""
    uncertainty_ulp: Float64s | float = 0.0
    """The uncertainty of `own_ulp`."""

    def __getitem__(self, index: Any) -> Errors:
        uncertainty = self.uncertainty_ulp
        if isinstance(uncertainty, np.ndarray):
            uncertainty = uncertainty[index]
        x, computed, truth = self.x[index], self.computed[index], self.truth[index]
        return Errors(
            self.fmt, x, computed, truth, self.error_ulp[index], self.own_ulp[index], uncertainty
        )

    @property
    def max_ulp(self) -> float:
        """The largest error."""
        return float(np.max(self.error_ulp, initial=0.0))

    @property
    def worst(self) -> float:
        """The input with the largest error."""
        return float(self.x[np.argmax(self.error_ulp)]) if self.x.size else float("nan")

    def flaws(self) -> dict[str, Mask]:
        """Return where signs and zeros are wrong, by kind; kinds that cannot occur are left out.

        "wrong_signs" and "wrong_zeros" have the other sign, "lost" and "flushed" are zeros where
        the truth is a normal number and where it is subnormal.
        """
        flaws: dict[str, Mask] = {}
        other = np.signbit(self.computed) != np.signbit(self.truth)
        zero = self.computed == 0
        if other.any():
            known = other & (self.truth != 0) & ~np.isnan(self.computed) & ~np.isnan(self.truth)
            # Near a root of a slope, a zero within one ulp is accurate whatever its sign.
            underflows = np.abs(self.truth) < 2.0**self.fmt.smallest_exponent
            flaws["wrong_zeros"] = known & zero & ((self.error_ulp >= 1.0) | underflows)
            flaws["wrong_signs"] = known & ~zero & (self.error_ulp >= SIGN_ULP)
        if zero.any():
            size = np.abs(self.truth)
            normal = size >= 2.0**self.fmt.min_exponent
            flaws["lost"] = zero & normal & (self.error_ulp >= 1.0)
            small = (size >= 2.0**self.fmt.smallest_exponent) & (self.own_ulp >= 1.0)
            flaws["flushed"] = zero & ~normal & small
        return flaws

    def _either(self, *kinds: str) -> Mask:
        flaws, either = self.flaws(), np.zeros(self.x.shape, np.bool_)
        for kind in kinds:
            either |= flaws.get(kind, False)
        return either

    @property
    def wrong_sign(self) -> Mask:
        """A mask of the results, zeros included, with another sign than the exact result."""
        return self._either("wrong_signs", "wrong_zeros")

    @property
    def early_zero(self) -> Mask:
        """A mask of the zeros that differ from the exact result by an ulp or more."""
        return self._either("lost", "flushed") & (self.error_ulp >= 1.0)

    def __str__(self) -> str:
        return (
            f"max {self.max_ulp:.3f} ulp at {self.worst!r} ({float(self.worst).hex()}), "
            f"{int(self.wrong_sign.sum())} wrong signs, {int(self.early_zero.sum())} early zeros"
        )


def ulp_errors(x: Float64s, y: Float64s, truth: Float64s, scale: Float64s, fmt: Format) -> Float64s:
    """Return errors in ulps of `scale`, as `ulp_error` computes them for float32.

    Infinite for NaN or infinity where the truth rounds to a finite number, and vice versa.
    """
    largest = (2.0 - 2.0**-fmt.precision) * 2.0**fmt.max_exponent
    with np.errstate(invalid="ignore", over="ignore"):
        exact = np.where(np.abs(truth) >= largest, np.copysign(np.inf, truth), truth)
        errors = np.abs(y - exact) / ulp(scale, fmt)
    errors = np.where(np.isnan(errors), np.inf, errors)
    errors = np.where(y == exact, 0.0, errors)
    x_nan, y_nan = np.isnan(x), np.isnan(y)
    return np.where(x_nan | y_nan, np.where(x_nan & y_nan, 0.0, np.inf), errors)


class Reference:
    """The exact results of one quantity of one function, and errors against them."""

    def __init__(
        self,
        entry: Entry,
        quantity: str,
        parameters: Parameters | None = None,
        breaks: tuple[float, ...] = (),
    ) -> None:
        self.entry, self.quantity, self.breaks = entry, quantity, breaks
        values = {p.name: p.default for p in entry.parameters} | dict(parameters or {})
        self.parameters = {name: float(value) for name, value in values.items()}
        self.root = truth_graph(entry, quantity)
        self.scales = scale_graphs(entry, quantity)
        self.scaled = len(self.scales) > 1
        """Whether errors are measured in ulps of a scale, not of the exact result."""
        self.kernel_ulp = float("nan")
        """The largest error of the float64 kernel against arb, in its ulps, at `checked` inputs."""
        self.checked = 0
        self._kinks: dict[str, dict[float, tuple[float, float]]] = {}

    def kernel(self, x: Float64s, out: Float64s | None = None) -> Float64s:
        """Return the float64 kernel's results."""
        with np.errstate(all="ignore"):
            return kernels.evaluate64(self.entry, self.quantity, x, self.parameters, out)

    def scale(self, x: Float64s, truth: Float64s) -> Float64s:
        """Return the magnitudes at which the ulp of an error is taken.

        For f = x·g these are max(|g|, |x·g'|) from the kernels: g is f/x, and x·g' is f' - g. The
        definition in plain float64 would cancel, as 1 + tanh(x) does for x < 0. Where the
        difference cancels, g is the larger of the two.
        """
        if not self.scaled:
            return np.abs(truth)
        if self.entry.terms is not None:
            return self._largest_term(x, truth)
        with np.errstate(all="ignore"):
            g = kernels.evaluate64(self.entry, "value", x, self.parameters) / x
            largest = np.maximum(np.abs(g), np.abs(truth - g))
        return np.where(np.isfinite(largest), largest, np.abs(truth))

    def _largest_term(self, x: Float64s, truth: Float64s) -> Float64s:
        from softgate.lower.evaluation import evaluate_float64

        inputs: dict[str, float | Float64s] = {"x": x, **self.parameters}
        largest = np.abs(truth)
        for root in self.scales:
            term = np.abs(evaluate_float64(root, inputs))
            largest = np.where(np.isfinite(term), np.maximum(term, largest), largest)
        return largest

    def scale_of_run(self, x: Float64s, truth: Float64s, fmt: Format) -> Float64s | float:
        """Return the scale of a run of neighbouring inputs; one number if its ulp is constant.

        The ulp is compared at every 1024th input, since the scale is smooth in between.
        """
        few = np.append(np.arange(0, x.size, 1024), x.size - 1)
        some = self.scale(x[few], truth[few])
        units = ulp(some, fmt)
        if np.isfinite(some).all() and (units == units[0]).all():
            return float(some[0])
        return self.scale(x, truth)

    def at_kinks(self, x: Float64s, y: Float64s, truth: Float64s, fmt: Format) -> Float64s:
        """Return `truth` with `y`, clipped to the one-sided limits, at each kink.

        Any number between the one-sided limits of a slope is a subgradient.
        """
        for place, (low, high) in self.kinks(fmt).items():
            ends = x[[0, -1]]
            if np.isnan(ends).any() or ends.min() <= place <= ends.max():
                here = (x == place) & ~np.isnan(y)
                truth[here] = np.clip(y[here], low, high)
        return truth

    def kinks(self, fmt: Format) -> dict[float, tuple[float, float]]:
        """Return the inputs of `fmt` at which the quantity jumps, with the two one-sided limits."""
        if fmt.name not in self._kinks:
            kinks: dict[float, tuple[float, float]] = {}
            for place in self.breaks if self.quantity != "value" else ():
                if round_to(np.float64(place), fmt) != place:
                    continue
                step = max(abs(place), 2.0**-20) * 2.0**-30
                left, right = self.kernel(np.array([place - step, place + step])).tolist()
                if abs(left - right) > 2.0**-20 * max(abs(left), abs(right)):
                    kinks[place] = (min(left, right), max(left, right))
            self._kinks[fmt.name] = kinks
        return self._kinks[fmt.name]

    def check_kernel(self, x: Float64s) -> None:
        """Measure the float64 kernel against arb at `x`, and update `kernel_ulp` and `checked`."""
        x = x[np.isfinite(x)]
        errors = self.against_arb(x, self.kernel(x), FLOAT64)
        known = 0.0 if np.isnan(self.kernel_ulp) else self.kernel_ulp
        self.kernel_ulp = max(known, errors.max_ulp)
        self.checked += x.size

    def margin(self, fmt: Format) -> float:
        """Return the uncertainty, in ulps of `fmt`, of errors measured against the kernel."""
        return 2 * self.kernel_ulp * 2.0 ** (fmt.precision - FLOAT64.precision)

    def against_arb(self, x: Array, computed: Array, fmt: Format) -> Errors:
        """Measure results at finite `x` against arb balls: rigorous, some 10 microseconds each."""
        from flint import arb

        from softgate.lower.exact import truths

        xs, ys = x.astype(np.float64), computed.astype(np.float64)
        balls = truths(self.root, xs.tolist(), **self.parameters)
        truth = np.array([float(ball.mid()) for ball in balls])
        units = ulp(self.scale_by_arb(xs) if self.scaled else truth, fmt)
        # In balls: a difference may be far below the smallest float, and so may 1/unit be above.
        per_unit = {unit: 1 / arb(unit) for unit in np.unique(units).tolist()}
        error = np.abs(
            [
                float((ball - result) * per_unit[unit])
                for result, ball, unit in zip(ys.tolist(), balls, units.tolist(), strict=True)
            ]
        )
        error[~np.isfinite(ys)] = math.inf
        overflows = np.isinf(ys) & (round_to(truth, fmt) == ys)
        own_ulp = ulp_errors(xs, ys, truth, np.abs(truth), fmt)
        return Errors(fmt, xs, ys, truth, np.where(overflows, 0.0, error), own_ulp)

    def scale_by_arb(self, x: Float64s) -> Float64s:
        """Return the magnitudes at which the ulp of an error is taken, from the definition."""
        from softgate.lower.exact import truths

        scales = [
            [abs(float(ball.mid())) for ball in truths(graph, x.tolist(), 40, **self.parameters)]
            for graph in self.scales
        ]
        # A summand may overflow where the sum does not.
        largest: Float64s = np.minimum(np.max(scales, axis=0), FLOAT64.largest)
        return largest

    def against_kernel(self, x: Array, computed: Array, fmt: Format) -> Errors:
        """Measure narrower results at finite `x` against the float64 kernel, in bulk.

        Exact to a few 2**-29 of a float32 ulp if that kernel is within 4 ulp of arb, which is
        measured separately.
        """
        xs, ys = x.astype(np.float64), computed.astype(np.float64)
        return self.errors(xs, ys, self.kernel(xs), fmt)

    def errors(self, x: Float64s, y: Float64s, truth: Float64s, fmt: Format) -> Errors:
        """Return the errors of `y` against `truth`, the results of the float64 kernel or of arb."""
        own_ulp = ulp_errors(x, y, truth, np.abs(truth), fmt)
        if not self.scaled:
            return Errors(fmt, x, y, truth, own_ulp, own_ulp, self.margin(fmt))
        scale = self.scale(x, truth)
        ratio = ulp(scale, fmt) / ulp(truth, fmt)
        error = ulp_errors(x, y, truth, scale, fmt)
        return Errors(fmt, x, y, truth, error, own_ulp, self.margin(fmt) * ratio)

    def is_rounded(self, x: float, y: float, fmt: Format) -> bool:
        """Return whether `y` is the exact result, from arb, rounded to nearest, ties to even."""
        if np.isnan(y):
            return False
        low, high, even = _rounding_interval(y, fmt)
        above = 1 if low is None else self.side(x, low)
        below = -1 if high is None else self.side(x, high)
        return (above > 0 or (above == 0 and even)) and (below < 0 or (below == 0 and even))

    def is_zero(self, x: float) -> bool:
        """Return whether the truth at `x` is exactly 0."""
        from softgate.lower.exact import evaluate

        return bool(evaluate(self.root, 256, x=x, **self.parameters) == 0)

    def side(self, x: float, place: Fraction) -> int:
        """Return the sign of the truth minus `place`."""
        from softgate.lower.exact import signs_of_differences

        (sign,) = signs_of_differences(self.root, [x], [place], **self.parameters)
        return sign


def _rounding_interval(y: float, fmt: Format) -> tuple[Fraction | None, Fraction | None, bool]:
    """Return the interval that rounds to `y` (None if unbounded), and whether `y` is even."""
    unit = Fraction(2) ** fmt.smallest_exponent
    largest = (2 - Fraction(2) ** -fmt.mantissa_bits) * Fraction(2) ** fmt.max_exponent
    over = largest + Fraction(2) ** (fmt.max_exponent - fmt.precision)
    if np.isinf(y):
        return (over, None, True) if y > 0 else (None, -over, True)
    if y == 0:
        return -unit / 2, unit / 2, True
    size = Fraction(abs(y))
    step = Fraction(float(ulp(np.float64(abs(y)), fmt)))
    is_power = size.numerator & (size.numerator - 1) == 0
    below = step / 2 if is_power and size > Fraction(2) ** fmt.min_exponent else step
    near, far = size - below / 2, size + step / 2
    even = (size / step) % 2 == 0
    return (near, far, even) if y > 0 else (-far, -near, even)


FEW, MANY = 8, 128
"""At as few inputs, bounds on an interval cost more than a ball at each; where they decide none of
as many, parts of the interval are not tried."""


def correctly_rounded(
    entry: Entry,
    quantity: str,
    fmt: Format,
    parameters: Parameters | None = None,
    x: Float64s | None = None,
) -> Float64s:
    """Return the correctly rounded results in a 16-bit format, from arb alone.

    `x` are all 65,536 inputs by default. The result is NaN where the input is not finite: those
    results are limits, not values.

    Bounds on intervals decide most roundings. An interval is divided until few inputs
    are undecided, which are then evaluated one by one.
    """
    reference = Reference(entry, quantity, parameters)
    x = all_values(fmt) if x is None else x
    rounded = np.full(x.size, np.nan)
    finite = np.flatnonzero(np.isfinite(x))
    intervals = np.array_split(finite[np.argsort(x[finite])], max(1, finite.size // 512))
    single = []
    bounds = _Bounds(reference)
    while intervals:
        index = intervals.pop()
        low, high = (round_to(bound, fmt) for bound in bounds(x[index]))
        decided = (low == high) & (np.signbit(low) == np.signbit(high))
        rounded[index[decided]] = low[decided]
        rest = index[~decided]
        hopeless = rest.size == index.size <= MANY
        if hopeless or rest.size <= max(FEW, index.size // 8):
            single.append(rest)
        else:
            intervals += np.array_split(rest, 4)
    index = np.concatenate(single)
    rounded[index] = rounded_one_by_one(reference, x[index], fmt)
    return rounded


class _Bounds:
    """Rigorous bounds of a function on intervals, from arb balls.

    On an interval X, f(x) is in f(X), and in f(m) + f'(m)·(x - m) + f''(X)·(x - m)²/2 by Taylor's
    theorem. m is the middle input, or 0 for an interval that extends over several binades, where
    results are small relative to those in the middle. All of f, f' and f'' are evaluated on X: if
    a kink is inside, a comparison in one of them is undecided, and that one is NaN.
    """

    def __init__(self, reference: Reference) -> None:
        first = derivative(reference.root)
        self.graphs = reference.root, first, derivative(first)
        self.parameters = reference.parameters

    def __call__(self, x: Float64s) -> tuple[Float64s, Float64s]:
        """Return lower and upper bounds at `x`, in ascending order; infinite if there are none."""
        from softgate.lower import exact

        sizes = np.abs(x[[0, -1]])
        wide = x[0] * x[-1] <= 0 or sizes.max() > 4 * sizes.min()
        centre = 0.0 if wide else float(x[x.size // 2])
        interval = exact.hull(float(x[0]), float(x[-1]), centre)
        try:
            inside = [self._ball(graph, interval) for graph in self.graphs]
            value = exact.truth(self.graphs[0], 64, x=centre, **self.parameters)
            slope = self._ball(self.graphs[1], centre)
        except ArithmeticError:  # the value at the centre is not resolved
            return np.full(x.size, -np.inf), np.full(x.size, np.inf)
        if any(ball.is_nan() for ball in inside):
            return np.full(x.size, -np.inf), np.full(x.size, np.inf)
        if inside[0].abs_upper() < exact.BELOW_ALL:  # as `truth`, which may not know the sign
            ball = exact.truth(self.graphs[0], 64, x=float(x[x.size // 2]), **self.parameters)
            return (np.full(x.size, float(ball.mid())),) * 2
        least, greatest = exact.bounds(inside[0])
        (a, da), (b, db), (c, dc) = map(exact.middle_and_radius, (value, slope, inside[2] / 2))
        with np.errstate(all="ignore"):
            step = x - centre  # exact: both have few digits, and are close together or one is 0
            size, square = np.abs(step), step * step
            middle = a + step * b + square * c
            rounding_errors = 2.0**-50 * (abs(a) + size * abs(b) + square * abs(c))
            radius = (da + size * db + square * dc + rounding_errors) * (1 + 2.0**-50)
            # A NaN, where a product of 0 and infinity occurs, bounds nothing.
            return np.fmax(middle - radius, least), np.fmin(middle + radius, greatest)

    def _ball(self, graph: Node, x: Any) -> Any:
        from softgate.lower import exact

        return exact.enclose(graph, 256, x=x, **self.parameters)


def rounded_one_by_one(reference: Reference, x: Float64s, fmt: Format) -> Float64s:
    """Return the correctly rounded results at `x`, from a ball at each."""
    from softgate.lower.exact import truths

    balls = truths(reference.root, x.tolist(), 64, **reference.parameters)
    exact = np.array([float(ball.mid()) for ball in balls])
    rounded = round_to(exact, fmt)
    for i in np.flatnonzero(near_tie(exact, fmt, 2.0**-50)):
        unit = Fraction(float(ulp(exact[i], fmt)))
        below = math.floor(Fraction(exact[i]) / unit)
        side = reference.side(float(x[i]), (below + Fraction(1, 2)) * unit)
        up = below % 2 == 1 if side == 0 else side > 0
        result = round_to(np.float64((below + int(up)) * unit), fmt)  # or infinity
        rounded[i] = result or np.copysign(0.0, exact[i])
    return rounded
