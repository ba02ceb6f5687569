"""How far a result is from the truth, in ulps: against arb at points, against float64 in bulk.

The ulp is the spacing of the format at the exact result, never at the computed one. For a slope of
f = x·g it is the spacing at max(|g|, |x·g'|), both from the definition: beside a root of
the slope an ulp of the result itself means nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from softgate.catalogue import Entry
from softgate.formula import rounding
from softgate.formula.derivative import derivative
from softgate.formula.formats import Format
from softgate.formula.graph import Node
from softgate.lower import float64
from softgate.runtime import kernels
from softgate.runtime.tables import truth_graph

Float64s = npt.NDArray[np.float64]
Parameters = Mapping[str, float]


def gate(entry: Entry) -> Node | None:
    """Return g where the definition is x·g, else None."""
    root = entry.define()
    if root.op == "mul" and root.args[0].op == "input":
        return root.args[1]
    return None


def scale_graphs(entry: Entry, quantity: str) -> tuple[Node, ...]:
    """Return the graphs whose largest magnitude is the scale of an error in `quantity`."""
    g = gate(entry)
    if quantity == "slope" and g is not None:
        x = g.graph.input("x")
        return g, x * derivative(g)
    return (truth_graph(entry, quantity),)


@dataclass(frozen=True)
class Errors:
    """What was found at a set of inputs."""

    x: Float64s
    computed: Float64s
    error_ulp: Float64s
    wrong_sign: npt.NDArray[np.bool_]
    early_zero: npt.NDArray[np.bool_]
    truth: Float64s
    """Rounded to float64."""

    @property
    def max_ulp(self) -> float:
        """The largest error; inf where a result is NaN or infinite and should not be."""
        return float(np.max(self.error_ulp, initial=0.0))

    @property
    def worst(self) -> float:
        """The input with the largest error."""
        return float(self.x[np.argmax(self.error_ulp)]) if self.x.size else float("nan")

    def __str__(self) -> str:
        return (
            f"max {self.max_ulp:.3f} ulp at {self.worst!r} ({float(self.worst).hex()}), "
            f"{int(self.wrong_sign.sum())} wrong signs, {int(self.early_zero.sum())} early zeros"
        )


def _judge(
    x: Float64s, computed: Float64s, truth: Float64s, error_ulp: Float64s, fmt: Format
) -> Errors:
    """Add to errors what an ulp does not say: a wrong sign, a zero in place of a number."""
    overflows = np.isinf(computed) & (rounding.round_to(truth, fmt) == computed)
    ends = np.where(np.isfinite(computed), error_ulp, np.where(overflows, 0.0, np.inf))
    sign = (np.signbit(computed) != np.signbit(truth)) & (ends >= 4.0)
    underflows = np.abs(truth) < 2.0**fmt.smallest_exponent
    other_side = np.signbit(computed) != np.signbit(truth)
    sign |= (computed == 0) & other_side & underflows & (truth != 0)
    zero = (computed == 0) & ~underflows & (ends >= 1.0)
    return Errors(x, computed, ends, sign, zero, truth)


def against_arb(
    entry: Entry,
    quantity: str,
    fmt: Format,
    x: npt.NDArray[Any],
    computed: npt.NDArray[Any],
    parameters: Parameters | None = None,
) -> Errors:
    """Measure `computed` at finite `x` against arb balls: rigorous, some 50 microseconds each."""
    from softgate.lower import arb

    values = {name: float(value) for name, value in (parameters or {}).items()}
    root, scales = truth_graph(entry, quantity), scale_graphs(entry, quantity)
    same = len(scales) == 1
    sizes, truths, apart = np.empty(x.size), np.empty(x.size), []
    xs, ys = x.astype(np.float64), computed.astype(np.float64)
    for i, (point, result) in enumerate(zip(xs.tolist(), ys.tolist(), strict=True)):
        ball = arb.truth(root, x=point, **values)
        truths[i] = float(ball.mid())
        sizes[i] = truths[i] if same else largest(scales, x=point, **values)
        apart.append(abs(arb.exact(result) - ball).mid() if math.isfinite(result) else None)
    units = rounding.ulp(sizes, fmt).tolist()
    errors = [
        math.inf if distance is None else float(distance / arb.exact(unit))
        for distance, unit in zip(apart, units, strict=True)
    ]
    return _judge(xs, ys, truths, np.array(errors), fmt)


def largest(graphs: Iterable[Node], **inputs: float) -> float:
    """Return the largest magnitude among `graphs` at one point, from arb."""
    from softgate.lower import arb

    return max(abs(float(arb.truth(graph, 40, **inputs).mid())) for graph in graphs)


def against_float64(
    entry: Entry,
    quantity: str,
    fmt: Format,
    x: npt.NDArray[Any],
    computed: npt.NDArray[Any],
    parameters: Parameters | None = None,
) -> Errors:
    """Measure narrower results at finite `x` against the float64 kernel, in bulk.

    Right to a few 2**-29 of a float32 ulp once that kernel is within 4 ulp of arb, which is
    measured apart.
    """
    values = {p.name: p.default for p in entry.parameters} | dict(parameters or {})
    xs, ys = x.astype(np.float64), computed.astype(np.float64)
    truth = kernels.evaluate64(entry, quantity, xs, values)
    scaled = len(scale_graphs(entry, quantity)) > 1
    scale = slope_scale(entry, xs, truth, values) if scaled else np.abs(truth)
    error = np.abs(ys - truth) / rounding.ulp(scale, fmt)
    return _judge(xs, ys, truth, error, fmt)


def slope_scale(entry: Entry, x: Float64s, slope: Float64s, parameters: Parameters) -> Float64s:
    """Return max(|g|, |x·g'|) for f = x·g from the kernels: g is f/x, and x·g' is f' - g.

    The definition in plain float64 would cancel, as 1 + tanh(x) does for x < 0. Where the
    difference cancels, g is the larger of the two.
    """
    with np.errstate(all="ignore"):
        g = kernels.evaluate64(entry, "value", x, parameters) / x
        largest = np.maximum(np.abs(g), np.abs(slope - g))
    return np.where(np.isfinite(largest), largest, np.abs(slope))


def correctly_rounded(
    entry: Entry, quantity: str, fmt: Format, parameters: Parameters | None = None
) -> Float64s:
    """Return the correctly rounded results at all 65,536 inputs of a 16-bit format, from arb alone.

    NaN stands where the input is not finite: those results are limits, not values.
    """
    from softgate.lower import arb

    values = {name: float(value) for name, value in (parameters or {}).items()}
    root, x = truth_graph(entry, quantity), rounding.all16(fmt)
    exact = np.full(x.size, np.nan)
    for i in np.flatnonzero(np.isfinite(x)):
        exact[i] = float(arb.truth(root, 64, x=float(x[i]), **values).mid())
    result = rounding.round_to(exact, fmt)
    for i in np.flatnonzero(rounding.near_tie(exact, fmt, 2.0**-50)):
        result[i] = _decided(root, float(x[i]), fmt, values)
    return result


def _decided(root: Node, x: float, fmt: Format, parameters: Parameters) -> float:
    """Round the truth at `x` with so many bits that only an exact tie can stay undecided."""
    from softgate.lower import arb

    near = float(arb.truth(root, 64, x=x, **parameters).mid())
    unit = Fraction(float(rounding.ulp(np.float64(near), fmt)))
    below = math.floor(Fraction(near) / unit)  # near a tie, so far from whole
    tie = (below + Fraction(1, 2)) * unit
    from_tie = arb.evaluate(root, arb.MAX_BITS // 4, x=x, **parameters) - arb.exact(tie)
    if from_tie.contains(0):  # x - tanh(x) is x - 1 to 1024 bits from x = 350 on
        from_tie = arb.evaluate(root, arb.MAX_BITS, x=x, **parameters) - arb.exact(tie)
    up = below % 2 == 1 if from_tie.contains(0) else from_tie > 0
    result = rounding.round_to(np.float64((below + int(up)) * unit), fmt)  # or infinity
    return float(result) or float(np.copysign(0.0, near))


def evaluate(root: Node, **inputs: float | Float64s) -> Float64s:
    """Evaluate a definition in plain float64: good for a number's size, not for its last bits."""
    return float64.evaluate(root, inputs, _FLOAT64)


def _kernel(name: str) -> Callable[[Any], Any]:
    def call(x: Any) -> Any:
        from softgate.catalogue import entries

        points = np.ascontiguousarray(x, np.float64)
        return kernels.evaluate64(entries()[name], "value", points, {})

    return call


_FLOAT64: dict[str, Callable[..., Any]] = {
    **float64.OPERATIONS,
    # In bulk: these are a hundred times as fast as math.erfc.
    "erf": lambda x: 2 * _kernel("Phi")(np.sqrt(2.0) * x) - 1,
    "erfc": lambda x: 2 * _kernel("Phi")(-np.sqrt(2.0) * x),
    "Phi": _kernel("Phi"),
    "phi": _kernel("phi"),
}
