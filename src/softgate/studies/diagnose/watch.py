"""`watch`: what a model's activations do while it trains or is evaluated."""

from __future__ import annotations

from collections import Counter
from types import TracebackType
from typing import Any, NamedTuple, Self

import numpy as np
import torch
from torch import Tensor, nn

from softgate.frameworks.torch.watching import (
    NEXT_STEPS,
    Bounds,
    Call,
    Gradients,
    Known,
    Recognition,
    Sites,
    count,
    functions,
    histogram_sample,
    of_each_element,
    slope_of,
    units,
)
from softgate.runtime.activation import Activation
from softgate.runtime.registry import activations, label
from softgate.torch import functional

from ..identify import UNKNOWN, identify
from ..subjects.failure import Failure
from .record import Diagnosis, Unseen
from .stream import Stream
from .summary import diagnosis
from .thresholds import Thresholds

functions.SEAMS.append(functions.Seam(functional, "_apply", 1))

FAR = np.array([-1e6, -1e3, 0.0, 1e3, 1e6])
"""Where it shows whether a function is bounded."""

MOST_WIDTHS = 8
"""Numbers of units of one site that are told apart; with lengths that differ from batch to batch
there may be any number, and none of them means anything."""


class Shape(NamedTuple):
    """What is known of a function before it is watched."""

    bounds: Bounds
    bounded: bool
    """Whether it has a least and a greatest value."""
    gate: bool
    """Whether value/x says how open a gate is."""
    valley: bool
    """Whether it falls somewhere and rises elsewhere, so that one can be trapped."""


class Watch:
    """Watches a model between `with` and its end; see `watch`."""

    def __init__(
        self, model: nn.Module, *, every: int = 1, gradients: bool = True, **thresholds: float
    ) -> None:
        given: object = every
        if not isinstance(given, int) or isinstance(given, bool) or given < 1:
            raise ValueError(f"every = {every!r}: expected a whole number of steps, at least 1")
        self.thresholds = Thresholds(**thresholds)  # type: ignore[arg-type]
        self.name = type(model).__name__
        self.loss, self.trained = "", True
        """What gradients are of, where nobody says; whether weights change meanwhile."""
        self._gradients = Gradients() if gradients else None
        self._streams: dict[tuple[str, int], Stream] = {}
        self._shapes: dict[Known | None, Shape] = {}
        self._widths: Counter[str] = Counter()
        self._sites = Sites(
            model, Recognition(recognise), self._observe, self._began, self._scaled, every
        )
        self._state = "new"

    def __enter__(self) -> Self:
        if self._state != "new":
            raise RuntimeError("this watch was used before: make a new one with watch(model)")
        self._sites.open()
        self._state = "open"
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._sites.close()
        if self._gradients is not None:
            self._gradients.close()
        self._state = "closed"

    def report(self) -> Diagnosis:
        """Return what was seen until now, as a record."""
        for (site, _), stream in self._streams.items():
            stream.multiplied = site in self._sites.gates
        return diagnosis(
            self._streams.values(),
            self.thresholds,
            model=self.name,
            steps=self._sites.step + 1,
            every=self._sites.every,
            unseen=[
                Unseen(why, NEXT_STEPS[why], tuple(names))
                for why, names in self._sites.unseen.names.items()
            ],
            loss=self.loss,
            trained=self.trained,
        )

    def _began(self, step: int) -> None:
        if self._gradients is not None:
            self._gradients.forget()

    def _scaled(self, loss: Tensor, scale: float) -> None:
        if self._gradients is not None:
            self._gradients.scaled(loss, scale)

    def _observe(self, call: Call) -> Tensor | None:
        stream = self._stream(call)
        if not call.recomputed:
            self._count(call, stream)
        if self._gradients is not None and call.y.requires_grad:

            def heard(which: str, norm: float, scale: float, step: int = call.step) -> None:
                stream.flowed(which, norm, step, scale)

            self._gradients.listen(call.x, call.y, call.source, heard)
        return None

    def _stream(self, call: Call) -> Stream:
        key = (call.site, units(call.x, call.axis))
        if key not in self._streams and self._widths[call.site] >= MOST_WIDTHS:
            call.axis, key = None, (call.site, 0)
        if key not in self._streams:
            shape = self._shape_of(call.known)
            answer = UNKNOWN if call.known is None else call.known.answer
            width = f"({key[1]})" if key[1] else "(other widths, all units as one)"
            name = f"{call.site} {width}" if self._widths[call.site] else call.site
            self._widths[call.site] += 1
            dtype = str(call.x.dtype).removeprefix("torch.")
            self._streams[key] = Stream(name, answer, key[1] or 1, dtype, *shape[1:])
        return self._streams[key]

    def _count(self, call: Call, stream: Stream) -> None:
        bounds = self._shape_of(call.known).bounds
        with torch.no_grad():
            slopes = _slopes(call)
            counted = count(call.x, call.y, slopes, bounds, stream.shift, call.axis)
            sample = histogram_sample(call.y, call.axis)
        for where, number in counted.not_finite.items():
            stream.trouble(where, number, call.step)
        stream.add(call.step, counted.rows, counted.sums, sample)

    def _shape_of(self, known: Known | None) -> Shape:
        if known not in self._shapes:
            self._shapes[known] = shape_of(known, self.thresholds)
        return self._shapes[known]


def watch(
    model: nn.Module, *, every: int = 1, gradients: bool = True, **thresholds: float
) -> Watch:
    """Watch a model's activations while it trains or is evaluated.

    Parameters
    ----------
    model : torch.nn.Module
        Any model, also inside DistributedDataParallel. Its activations are found by what runs:
        modules, functions, methods, softgate's own; each is recognised by its values.
    every : int
        Look at every so many steps. A step is a call of the model; with gradient accumulation each
        part of a batch is one. The first is step 0.
    gradients : bool
        Also hear of the gradients that flow back through each activation.
    **thresholds : float
        Limits above which a figure is reported as a finding: flat=0.01, dead=0.01, … (see
        `softgate.studies.diagnose.thresholds.Thresholds`).

    Returns
    -------
    Watch
        A context manager. `report()` gives a record of what was seen, any time.

    Notes
    -----
    What is computed again during a backward pass, as activation checkpointing does, counts once.
    Blocks of softgate's that keep pre-activations alone keep what torch keeps while they are
    watched, and a gated call is act(gate)·other, rounded twice. What was compiled runs as it was
    written. Gradients are those of what `backward` is called on, divided by what a
    `torch.amp.GradScaler` multiplied it with. What cannot be looked into is a finding: scripted
    modules, nn.LSTM and its like, quantised and complex tensors, torch.func, other threads.

    Examples
    --------
    >>> import torch
    >>> from torch import nn
    >>> _ = torch.manual_seed(0)
    >>> model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    >>> _ = nn.init.constant_(model[0].bias[:2], -10.0)
    >>> with watch(model) as w:
    ...     loss = model(torch.randn(300, 4)).square().mean()
    >>> w.report().sites[0].unit.dead
    (0, 1)
    """
    return Watch(model, every=every, gradients=gradients, **thresholds)


def recognise(call: Any) -> Known | None:
    """Return what a function of tensors computes, told by its values.

    Nothing where it is no function of each element; one without a name where nothing fits.
    """
    try:
        found = identify(call, framework="torch", dtype="float32")
        if found.function == UNKNOWN:
            return Known("", None) if of_each_element(call) else None
    except (Failure, RuntimeError, TypeError, ValueError, IndexError):
        return None  # it takes no list of numbers, as an activation does
    activation = activations()[found.function].bind(**found.parameters)
    name = label(activation) if found.scale == 1 else f"{found.scale:.6g}·{label(activation)}"
    return Known(
        name if found.offset == 0 else f"{name}{found.offset:+.6g}", activation, found.scale
    )


def _slopes(call: Call) -> Tensor:
    known = call.known
    x = call.x.detach()
    if known is None or known.activation is None:
        return slope_of(call.again)(x)
    slopes: Tensor = known.activation.slope(x)
    return slopes if known.scale == 1 else slopes * known.scale


def shape_of(known: Known | None, thresholds: Thresholds) -> Shape:
    """Return what counts as flat and as saturated of a function, and what it is like."""
    if known is None or not isinstance(known.activation, Activation):
        return Shape(Bounds(thresholds.flat), False, True, True)
    x = np.concatenate([FAR, np.linspace(-50, 50, 20001)])
    with np.errstate(all="ignore"):
        y, slope = (
            np.asarray(of(x)) * known.scale for of in (known.activation, known.activation.slope)
        )
    valley = bool(np.nanmin(slope) < 0 < np.nanmax(slope))
    ends = y[[0, 4]] - y[[1, 3]]
    if not bool(np.all(np.abs(ends) <= 0.01)):
        gate = bool(y[2] == 0 and y[4] / FAR[4] > 0.1)
        return Shape(Bounds(thresholds.flat), False, gate, valley)
    margin = thresholds.saturation * float(y.max() - y.min())
    low, high = float(y.min()) + margin, float(y.max()) - margin
    # At a bound that it has at 0, as relu6, a function is at rest, and dead if it stays there.
    low, high = (-np.inf if y[2] <= low else low), (np.inf if y[2] >= high else high)
    return Shape(Bounds(thresholds.flat, low, high), True, False, valley)
