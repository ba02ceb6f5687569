"""`watch`: statistics of a model's activations while it trains or is evaluated."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Self

import torch
from torch import Tensor, nn

from ..identify import UNKNOWN
from ..models.torch_recognition import RecognisedFunction
from .measure import GradientHooks, count, histogram_sample, slope_of
from .observer import ActivationCall, Observer
from .record import Diagnosis, Thresholds, UnobservedCalls
from .shapes import FunctionShape, shape_of
from .statistics import SiteSums, diagnosis

MOST_WIDTHS = 8
"""Largest number of different widths of one site that have separate statistics; with sequences of
varying length there may be any number."""


class SiteStatistics:
    """Statistics of the sites of a model, made from calls of its activations."""

    def __init__(self, every: int, thresholds: Mapping[str, float]) -> None:
        interval: object = every
        if not isinstance(interval, int) or isinstance(interval, bool) or interval < 1:
            raise ValueError(f"every = {every!r}: expected a whole number of steps, at least 1")
        self.thresholds = Thresholds(**thresholds)  # type: ignore[arg-type]
        self._sites: dict[tuple[str, int], SiteSums] = {}
        self._shapes: dict[RecognisedFunction | None, FunctionShape] = {}
        self._widths: Counter[str] = Counter()

    def _site(self, call: ActivationCall) -> SiteSums:
        key = (call.site, 1 if call.axis is None else call.x.shape[call.axis])
        if key not in self._sites and self._widths[call.site] >= MOST_WIDTHS:
            call.axis, key = None, (call.site, 0)
        if key not in self._sites:
            function = UNKNOWN if call.recognised is None else call.recognised.name
            width = f"({key[1]})" if key[1] else "(other widths, all units as one)"
            name = f"{call.site} {width}" if self._widths[call.site] else call.site
            self._widths[call.site] += 1
            dtype = str(call.x.dtype).removeprefix("torch.")
            shape = self._shape_of(call.recognised)
            self._sites[key] = SiteSums(name, function, key[1] or 1, dtype, shape)
        return self._sites[key]

    def _count(self, call: ActivationCall, site: SiteSums) -> None:
        bounds = self._shape_of(call.recognised).bounds
        with torch.no_grad():
            sums = count(call.x, call.y, _slopes(call), bounds, site.shift, call.axis)
            sample = histogram_sample(call.y, call.axis)
        site.add(call.step, sums, sample)

    def _shape_of(self, recognised: RecognisedFunction | None) -> FunctionShape:
        if recognised not in self._shapes:
            self._shapes[recognised] = shape_of(recognised, self.thresholds)
        return self._shapes[recognised]


class Watch(SiteStatistics):
    """Observes a model inside a `with` statement; see `watch`."""

    def __init__(
        self, model: nn.Module, *, every: int = 1, gradients: bool = True, **thresholds: float
    ) -> None:
        super().__init__(every, thresholds)
        self.name = type(model).__name__
        self.loss, self.trained = "", True
        """The name of the loss, for the record; whether weights change during the watch."""
        self._gradients = GradientHooks() if gradients else None
        self._observer = Observer(model, self._observe, self._gradients, every)
        self._state = "new"

    def __enter__(self) -> Self:
        if self._state != "new":
            raise RuntimeError("this watch was used before: make a new one with watch(model)")
        self._observer.open()
        self._state = "open"
        return self

    def __exit__(self, *_: object) -> None:
        self._observer.close()
        if self._gradients is not None:
            self._gradients.close()
        self._state = "closed"

    def report(self) -> Diagnosis:
        """Return the record of what was observed until now."""
        for (name, _), site in self._sites.items():
            site.multiplied = name in self._observer.gates
        return diagnosis(
            self._sites.values(),
            self.thresholds,
            model=self.name,
            steps=self._observer.step + 1,
            every=self._observer.every,
            unseen=[
                UnobservedCalls(problem.why, problem.advice, tuple(names))
                for problem, names in self._observer.unseen.items()
            ],
            loss=self.loss,
            trained=self.trained,
        )

    def _observe(self, call: ActivationCall) -> Tensor | None:
        site = self._site(call)
        if not call.recomputed:
            self._count(call, site)
        if self._gradients is not None and call.y.requires_grad:

            def add_norm(which: str, norm: float, scale: float, step: int = call.step) -> None:
                site.add_gradient(which, norm, step, scale)

            self._gradients.measure(call.x, call.y, call.source, add_norm)
        return None


def watch(
    model: nn.Module, *, every: int = 1, gradients: bool = True, **thresholds: float
) -> Watch:
    """Observe a model's activations while it trains or is evaluated.

    Parameters
    ----------
    model : torch.nn.Module
        Any model, also inside DistributedDataParallel. Its activations are found by what executes:
        modules, functions, methods, those of softgate; each is identified by its values.
    every : int
        Observe one step out of this many. A step is a call of the model; with gradient accumulation
        each part of a batch is one. The first is step 0.
    gradients : bool
        Also measure the gradients of each activation.
    **thresholds : float
        Limits above which a figure is reported as a finding: flat=0.01, dead=0.01, … (see
        `softgate.studies.diagnose.record.Thresholds`).

    Returns
    -------
    Watch
        A context manager. `report()` returns the record at any time.

    Notes
    -----
    Values recomputed during a backward pass, as by activation checkpointing, count once. Blocks of
    softgate that save only pre-activations save what torch saves while they are watched, and a
    gated call is act(gate)·other, rounded twice. Compiled code runs eagerly. Gradients are those of
    what `backward` is called on, divided by the scale of a `torch.amp.GradScaler`. What cannot be
    observed is a finding: scripted modules, nn.LSTM, nn.GRU and nn.RNN, quantised and complex
    tensors, torch.func, other threads.

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


def _slopes(call: ActivationCall) -> Tensor:
    recognised = call.recognised
    if recognised is None or recognised.activation is None:
        return slope_of(call.function, call.x)
    slopes: Tensor = recognised.activation.slope(call.x.detach())
    return slopes if recognised.scale == 1 else slopes * recognised.scale
