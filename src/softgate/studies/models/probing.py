"""Which activation each elementwise part of a graph computes, found by evaluating it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from softgate.formula.formats import Format, dtype_of

from ..identify import UNKNOWN, Identification, identify_values, is_default
from .elementwise_subgraphs import ElementwiseGraph, Subgraph, Value

CLAMPS = frozenset({"clip", "hard_tanh", "leaky_relu", "relu", "relu6", "threshold"})
"""Functions by which a divisor is limited; they are no activations there. |x| is a leaky relu."""
MOST_FUNCTIONS = 512
"""The most different functions that are evaluated in one model: under a minute."""
TOO_MANY = f"the model has more than {MOST_FUNCTIONS} different functions"

Array = np.ndarray[Any, np.dtype[Any]]
Evaluate = Callable[[Subgraph, Array], Array]
"""The values of a subgraph at an array of inputs; raises ValueError if it cannot be evaluated."""


class ProbeError(ValueError):
    """A part of a graph cannot be evaluated."""


@dataclass(frozen=True)
class IdentifiedPart:
    """A part of a graph and the function that it computes; None if it could not be evaluated."""

    subgraph: Subgraph
    identification: Identification | None
    affine: bool = False
    """Whether it only scales and shifts, or is constant; it is not identified then."""
    in_divisor: bool = False
    """Whether it is a step from a reduction to a divisor, as the clamp of a variance is."""

    @property
    def known(self) -> bool:
        """Whether a function of the catalogue was identified."""
        return self.identification is not None and self.identification.function != UNKNOWN

    @property
    def is_activation(self) -> bool:
        """Whether it is a function of the catalogue, and not the limit of a divisor."""
        return self.known and not self.affine and not (self.in_divisor and self.is_clamp)

    @property
    def is_clamp(self) -> bool:
        """Whether it is one of the functions by which a divisor is limited."""
        return self.identification is not None and self.identification.function in CLAMPS

    @property
    def plain(self) -> bool:
        """Whether a function was identified that has no scale and no offset."""
        match = self.identification
        return self.known and match is not None and (match.scale, match.offset) == (1.0, 0.0)


class Prober:
    """Identifies the parts of one graph; equal parts are evaluated once.

    Parameters
    ----------
    graph : ElementwiseGraph
        The graph of the model.
    evaluate : callable
        Returns the values of a part at an array.
    format_of : callable
        Returns the format of a part's input; None if it is not a float that is probed.
    signature : callable
        Returns a key that is equal for parts with the same operations and constants.
    """

    def __init__(
        self,
        graph: ElementwiseGraph,
        evaluate: Evaluate,
        format_of: Callable[[Subgraph], Format | None],
        signature: Callable[[Subgraph], Hashable],
    ) -> None:
        self._graph, self._evaluate = graph, evaluate
        self._format_of, self._signature = format_of, signature
        self._identified: dict[Hashable, Identification | None] = {}
        self._lines: dict[Hashable, tuple[float, float] | None] = {}
        self._skipped = set[Hashable]()
        self._failures: dict[Hashable, str] = {}
        self.unevaluated: dict[int, str] = {}
        """The operations of parts that were not evaluated, and why."""

    @property
    def skipped(self) -> int:
        """The number of functions that were not evaluated because there were too many."""
        return len(self._skipped)

    def parts(self) -> Iterator[IdentifiedPart]:
        """Yield every elementwise function of the graph whose input is a float, in its order."""
        yielded = set[tuple[Value, Value]]()
        for whole in self._graph.cut():
            subgraph = self._floating(whole)
            if subgraph is None:
                why = "its argument or what is computed from it is not a floating-point number"
                self.unevaluated.update(dict.fromkeys(whole.operations, why))
                continue
            for part in self._divided(subgraph):  # two functions may start with the same part
                ends = part.subgraph.input, part.subgraph.output
                if ends not in yielded:
                    yielded.add(ends)
                    if part.identification is None and not part.affine:
                        why = self._failures.get(self._signature(part.subgraph), TOO_MANY)
                        self.unevaluated.update(dict.fromkeys(part.subgraph.operations, why))
                    yield replace(part, in_divisor=self._graph.is_in_divisor(part.subgraph))

    def _floating(self, subgraph: Subgraph) -> Subgraph | None:
        """Return a part up to its last floating-point number, as a sigmoid that is compared."""
        parts = (self._graph.between(subgraph.input, v) for v in reversed(subgraph.between[1:]))
        return next((part for part in parts if self._format_of(part) is not None), None)

    def _divided(self, subgraph: Subgraph) -> Iterator[IdentifiedPart]:
        """Yield a part; if it is not known, what precedes and what follows a value inside it.

        Times 0, a known function is constant, as a gate of a recurrent state at its start is.
        """
        whole = self._trimmed(subgraph)
        if not whole.known and (not whole.affine or self._is_constant(subgraph)):
            for middle in self._divisions(subgraph):
                yield from self._divided(self._graph.between(subgraph.input, middle))
                yield self._trimmed(self._graph.between(middle, subgraph.output))
                return
        yield whole

    def _divisions(self, subgraph: Subgraph) -> list[Value]:
        """Return the values after which a known function follows, the best one first.

        The best one also ends a known function without a scale. If no known function follows
        any, the last value that ends one is returned: a sigmoid whose logarithm is taken. A clamp
        may only limit the argument of a logarithm or a root.
        """
        following = (
            self._trimmed(self._graph.between(value, subgraph.output))
            for value in subgraph.between[1:-1]
        )
        inner = list(dict.fromkeys(part.subgraph.input for part in following if part.known))
        for value in inner or reversed(subgraph.between[1:-1]):
            first = self._trimmed(self._graph.between(subgraph.input, value))
            if first.plain and (inner or not first.is_clamp):
                return [value]
        return inner

    def _trimmed(self, subgraph: Subgraph) -> IdentifiedPart:
        """Return a part without the scales and offsets before and after an activation.

        A trained scale is not part of the activation that follows it, but the 1/6 at the end of a
        hard swish is, and so are beta and 1/beta around a softplus. The whole part is returned if
        it is an activation with default parameters, else the shortest one that is an activation
        without a scale.
        """
        if self._line(subgraph) is not None:
            return IdentifiedPart(subgraph, None, affine=True)
        if not self._is_default(subgraph):
            starts, ends = [subgraph.input], [subgraph.output]
            for value in subgraph.between[1:-1]:
                if self._line(self._graph.between(subgraph.input, value)) is None:
                    break
                starts.append(value)
            for value in reversed(subgraph.between[1:-1]):
                if self._line(self._graph.between(value, subgraph.output)) is None:
                    break
                ends.append(value)
            for start in reversed(starts):
                for end in reversed(ends):
                    part = self._identify(self._graph.between(start, end))
                    if part.plain:
                        return self._without_inverse_scales(subgraph, part)
        return self._identify(subgraph)

    def _without_inverse_scales(self, whole: Subgraph, part: IdentifiedPart) -> IdentifiedPart:
        """Return `part`; the whole if it is one with another parameter, as f(beta·x)/beta is."""
        before = self._line(self._graph.between(whole.input, part.subgraph.input))
        after = self._line(self._graph.between(part.subgraph.output, whole.output))
        if before is None or after is None or (before[1], after[1]) != (0.0, 0.0):
            return part
        if before[0] != 1.0 and abs(before[0] * after[0] - 1) < 1e-3:
            identified = self._identify(whole)
            return identified if identified.plain else part
        return part

    def _line(self, subgraph: Subgraph) -> tuple[float, float] | None:
        """Return a and b if a part is a·x + b, from its values at a few points, else None."""
        if not subgraph.operations:
            return 1.0, 0.0
        key = self._signature(subgraph)
        if key not in self._lines:
            self._lines[key] = self._fit_line(subgraph)
        return self._lines[key]

    def _fit_line(self, subgraph: Subgraph) -> tuple[float, float] | None:
        fmt = self._format_of(subgraph)
        if fmt is None:
            return None
        x = np.linspace(-4, 4, 9)
        try:
            y = self._values(subgraph)(x.astype(dtype_of(fmt))).astype(np.float64)
        except ProbeError:
            return None
        finite = np.isfinite(y)
        known = np.flatnonzero(finite)
        if known.size < 3 or not finite[4]:
            return None
        first, last = known[[0, -1]]
        scale, offset = float((y[last] - y[first]) / (x[last] - x[first])), float(y[4])
        line = scale * x + offset
        allowed = 4 * 2.0**-fmt.mantissa_bits * float(np.max(np.abs(y[finite])))
        # A mask such as (1 - x)·(the lowest float32) is a line that overflows.
        overflows = (np.abs(line) > fmt.largest) & (y == np.copysign(np.inf, line))
        fits = np.where(finite, np.abs(line - np.where(finite, y, 0.0)) <= allowed, overflows)
        return (scale, offset) if fits.all() else None

    def _is_constant(self, subgraph: Subgraph) -> bool:
        line = self._line(subgraph)
        return line is not None and line[0] == 0

    def _is_default(self, subgraph: Subgraph) -> bool:
        fmt = self._format_of(subgraph)
        try:
            return fmt is not None and is_default(self._values(subgraph), fmt)
        except ProbeError:
            return False

    def _identify(self, subgraph: Subgraph) -> IdentifiedPart:
        key, fmt = self._signature(subgraph), self._format_of(subgraph)
        if key not in self._identified:
            if len(self._identified) >= MOST_FUNCTIONS:
                self._skipped.add(key)
                return IdentifiedPart(subgraph, None)
            match = None
            try:
                if fmt is None:
                    raise ProbeError("its argument is not a floating-point number")
                match = identify_values(self._values(subgraph), fmt, "")
            except ProbeError as error:
                self._failures[key] = f"it cannot be evaluated: {error}"
            self._identified[key] = match
        return IdentifiedPart(subgraph, self._identified[key])

    def _values(self, subgraph: Subgraph) -> Callable[[Array], Array]:
        """Return a part as a function of arrays, which raises ProbeError."""

        def values(x: Array) -> Array:
            with np.errstate(all="ignore"):
                y = self._evaluate(subgraph, x)
            if y.shape != x.shape or y.dtype.kind not in "fV":
                raise ProbeError(f"{y.dtype} of shape {y.shape}")
            return y

        return values
