"""Records of `diagnose` and `what_if`: figures of every activation of a model, and findings."""

from __future__ import annotations

import math
from base64 import b64encode
from dataclasses import dataclass, fields
from textwrap import wrap
from typing import TYPE_CHECKING, Any, ClassVar

from softgate.records.files import PICTURES, TABLES
from softgate.records.record import Cell, Grid, Record
from softgate.records.text import escape

if TYPE_CHECKING:
    from softgate.plotting.vega import Chart

Numbers = tuple[float, ...]
WIDTH = 100


@dataclass(frozen=True)
class Thresholds:
    """Definitions of flat and saturated, and the limits beyond which there is a finding.

    Attributes
    ----------
    flat : float
        A slope of a smaller magnitude is flat.
    saturation : float
        A value this near a bound, as a share of the activation's range, is saturated.
    inputs : int
        The least number of inputs on which a unit is called dead or trapped.
    dead, trapped : float
        The share of a layer's units.
    saturated : float
        The share of a layer's values.
    vanishing, exploding : float
        The gradient's norm at the first layer, divided by that at the last.
    shrinking, growing : float
        The factor by which outputs change from one layer to the next, their geometric mean.
    """

    flat: float = 0.01
    saturation: float = 0.01
    inputs: int = 200
    dead: float = 0.01
    trapped: float = 0.01
    saturated: float = 0.5
    vanishing: float = 1e-3
    exploding: float = 1e3
    shrinking: float = 0.2
    growing: float = 5.0

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            number = isinstance(value, int | float) and not isinstance(value, bool)
            if not number or not value >= 0:
                raise ValueError(f"{field.name} = {value!r}: expected a number, 0 or more")
        if self.flat == 0 or self.saturation >= 0.5:
            raise ValueError(
                f"flat = {self.flat:g}, saturation = {self.saturation:g}: expected flat > 0 and "
                "saturation < 0.5"
            )


@dataclass(frozen=True)
class UnitFigures:
    """Figures of each unit of a site, to six digits; shares are of its finite inputs."""

    flat: Numbers
    negative: Numbers
    saturated: Numbers | None
    openness: Numbers | None
    mean: Numbers
    sd: Numbers
    skew: Numbers
    dead: tuple[int, ...]
    """Indices of the units whose slope was flat on every input."""
    recently_dead: tuple[int, ...]
    """Indices of those flat on every input of the last quarter of the steps."""
    trapped: tuple[int, ...]
    """Indices of those whose slope is negative or flat on every input, and not flat on all."""


@dataclass(frozen=True)
class NotFinite:
    """NaN or inf among the inputs, outputs or gradients of a site."""

    where: str
    count: int
    first_step: int


@dataclass(frozen=True)
class Histogram:
    """Outputs of some steps: counts in bins of equal width, the first of which starts at `low`."""

    first_step: int
    last_step: int
    dead: int
    """Units that were flat on every input of these steps."""
    low: float
    width: float
    counts: tuple[int, ...]


@dataclass(frozen=True)
class Site:
    """One place in the model that calls an activation.

    Attributes
    ----------
    calls, inputs : int
        The number of observed calls, and of inputs of each unit.
    flat, negative, saturated : float
        The share of inputs with a flat slope, a negative slope, a value near a bound; the last is
        None if the activation has no bounds.
    openness : float or None
        The mean of value/x; None if that is not a gate (sigmoid, tanh).
    mean, sd, skew : float
        Of all outputs.
    activation_gain : float or None
        The root mean square of outputs over that of inputs.
    layer_gain : float or None
        The root mean square of outputs over that of the site before; None at the first.
    gradient_output, gradient_input : float or None
        The norm of the loss's gradient with respect to the outputs and to the inputs: the root mean
        square over all backward passes, divided by the scale of a GradScaler. None if there was no
        backward pass.
    sampled : float
        The share of outputs that are in the histograms. All else counts every output.
    multiplied : bool
        Whether its value was a factor of a product, as that of a gate.
    """

    name: str
    function: str
    units: int
    dtype: str
    calls: int
    inputs: int
    flat: float
    negative: float
    saturated: float | None
    openness: float | None
    mean: float
    sd: float
    skew: float
    activation_gain: float | None
    layer_gain: float | None
    gradient_output: float | None
    gradient_input: float | None
    not_finite: tuple[NotFinite, ...]
    sampled: float
    unit: UnitFigures
    history: tuple[Histogram, ...]
    multiplied: bool = False

    @property
    def dead(self) -> float:
        """The share of units whose slope was flat on every input."""
        return len(self.unit.dead) / self.units

    @property
    def recently_dead(self) -> float:
        """The share of units flat on every input of the last quarter of the steps."""
        return len(self.unit.recently_dead) / self.units

    @property
    def trapped(self) -> float:
        """The share of units whose slope is never positive."""
        return len(self.unit.trapped) / self.units


@dataclass(frozen=True)
class UnobservedCalls:
    """Modules or calls that could not be observed: why, what to do, and their names."""

    why: str
    advice: str
    names: tuple[str, ...]


@dataclass(frozen=True)
class Finding:
    """One problem: the figure, its threshold, a sentence about it, and what to do next."""

    kind: str
    site: str | None
    value: float
    threshold: float
    text: str
    advice: str


@dataclass(frozen=True)
class Diagnosis(Record):
    """What was observed of a model; `findings` is empty if no problems were found."""

    schema: ClassVar[str] = "softgate.diagnosis"
    formats: ClassVar[tuple[str, ...]] = (*TABLES, *PICTURES)

    model: str
    steps: int
    observed_steps: int
    every: int
    thresholds: Thresholds
    sites: tuple[Site, ...]
    gradient_ratio: float | None
    """The norm of the gradient at the first site, divided by that at the last."""
    unseen: tuple[UnobservedCalls, ...]
    """What was called and could not be observed."""
    loss: str
    """What the gradients are of, if they are not those of a training loop."""
    findings: tuple[Finding, ...]

    def grids(self) -> tuple[Grid, ...]:
        """Return a table of sites, and the findings."""
        sites = "1 activation" if len(self.sites) == 1 else f"{len(self.sites)} activations"
        observed = f"{self.observed_steps:,} step{'' if self.observed_steps == 1 else 's'} observed"
        if self.observed_steps != self.steps:
            observed = f"{self.observed_steps:,} of {self.steps:,} steps observed"
        title = f"{self.model}: {sites}, {observed}"
        notes = f"flat: |slope| < {self.thresholds.flat:g}"
        if self.loss:
            notes += f"; gradients of {self.loss}"
        few = [site.inputs for site in self.sites if site.inputs < self.thresholds.inputs]
        if few:
            notes += f"; sites with too few inputs to call units dead: {len(few)} (at most "
            notes += f"{max(few):,} inputs, {self.thresholds.inputs:,} needed)"
        if self.gradient_ratio is not None:
            notes += f"; gradient first/last {self.gradient_ratio:.3g}"
        header = (
            "site", "function", "units", "inputs", "dead", "trapped", "flat", "slope<0",
            "saturated", "open", "mean", "sd", "skew", "gain", "layer gain", "grad out", "grad in",
        )  # fmt: skip
        rows = tuple(_row(site) for site in self.sites)
        if not self.findings:
            return (Grid(f"{title}: no problems found\n{notes}", header, rows),)
        problems = tuple((f.kind, _wrapped(f"{f.text}.", f"→ {f.advice}")) for f in self.findings)
        return (
            Grid(f"{title}\n{notes}", header, rows),
            Grid("", ("finding", "what was observed, and what to do next"), problems, text=True),
        )

    def table(self) -> tuple[tuple[str, ...], list[tuple[Cell, ...]]]:
        """Return a row for each site."""
        header = (
            "site", "function", "units", "dtype", "calls", "inputs", "dead", "recently_dead",
            "trapped", "flat", "negative", "saturated", "openness", "mean", "sd", "skew",
            "activation_gain", "layer_gain", "gradient_output", "gradient_input", "nan_and_inf",
        )  # fmt: skip
        names = {"site": "name"}
        rows: list[tuple[Cell, ...]] = []
        for site in self.sites:
            cells = [getattr(site, names.get(name, name)) for name in header[:-1]]
            rows.append((*cells, sum(values.count for values in site.not_finite)))
        return header, rows

    def figure(self) -> Chart:
        """Return the chart of outputs over time, units, dead units, and gradients by site.

        Returns
        -------
        softgate.plotting.vega.Chart
            Has the Vega-Lite specification as `spec`, and `save`. Notebooks show it.
        """
        from .plots import diagnosis_chart

        return diagnosis_chart(self)

    def _repr_html_(self) -> str:
        return self._pictured() + super()._repr_html_()

    def _pictured(self) -> str:
        """Return the chart for a notebook, or how to install what draws it."""
        if not self.sites:
            return ""
        chart = self.figure()
        try:
            svg = b64encode(chart.svg().encode()).decode()
        except ImportError as error:
            return f"<p>{escape(str(error), quote=False)}</p>"
        return (
            f'<img src="data:image/svg+xml;base64,{svg}" alt="{escape(chart.alternative)}" '
            'style="max-width:100%">'
        )


@dataclass(frozen=True)
class ReplacedSite:
    """One site before and after its activation was replaced; shares of units and of inputs."""

    name: str
    before: str
    after: str
    units: int
    moved: float
    """The norm of the change of its outputs, over their norm."""
    dead_before: float
    dead_after: float
    flat_before: float
    flat_after: float


@dataclass(frozen=True)
class WhatIf(Record):
    """The same model and data with another activation, without training.

    Replacing an activation has two effects. Later layers receive inputs that they were not trained
    on, which changes outputs and loss immediately. And other units may be dead, which affects only
    further training.
    """

    schema: ClassVar[str] = "softgate.what_if"

    model: str
    replacement: str
    batches: int
    outputs_moved: float
    """The norm of the change of all outputs, over their norm."""
    loss: str
    """What the loss is; empty if there is none."""
    loss_before: float | None
    loss_after: float | None
    sites: tuple[ReplacedSite, ...]

    @property
    def units(self) -> int:
        """The number of units with a replaced activation."""
        return sum(site.units for site in self.sites)

    @property
    def dead_before(self) -> float:
        """The share of these units that are flat on every input with the present activation."""
        return sum(site.dead_before * site.units for site in self.sites) / max(self.units, 1)

    @property
    def dead_after(self) -> float:
        """The share of these units that are flat on every input with the replacement."""
        return sum(site.dead_after * site.units for site in self.sites) / max(self.units, 1)

    def grids(self) -> tuple[Grid, ...]:
        """Return the effect on outputs, loss and dead units, and a row for each site."""
        parts = [f"outputs change by {100 * self.outputs_moved:.3g} % of their norm"]
        if self.loss_before is not None and self.loss_after is not None:
            parts.append(f"{self.loss}: {self.loss_before:.4g} → {self.loss_after:.4g}")
        dead = f"{100 * self.dead_before:.3g} % → {100 * self.dead_after:.3g} %"
        parts.append(f"dead units: {dead} of {self.units:,}")
        title = (
            f"{self.model} with {self.replacement}, without further training: {'; '.join(parts)}"
        )
        header = (
            "site", "now", "then", "units", "moves", "dead\nnow", "dead\nthen", "flat\nnow",
            "flat\nthen",
        )  # fmt: skip
        rows = tuple(
            (*cells[:3], f"{cells[3]:,}", *map(_share, cells[4:])) for cells in self.table()[1]
        )
        return (Grid(title, header, rows),)

    def table(self) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
        """Return a row for each site."""
        header = tuple(field.name for field in fields(ReplacedSite))
        return header, [tuple(getattr(site, name) for name in header) for site in self.sites]


def _row(site: Site) -> tuple[str, ...]:
    shares = (max(site.dead, site.recently_dead), site.trapped, site.flat, site.negative,
              site.saturated)  # fmt: skip
    numbers = (site.openness, site.mean, site.sd, site.skew, site.activation_gain, site.layer_gain,
               site.gradient_output, site.gradient_input)  # fmt: skip
    counts = (f"{site.units:,}", f"{site.inputs:,}")
    return (site.name, site.function, *counts, *map(_share, shares), *map(_number, numbers))


def _wrapped(*texts: str) -> str:
    return "\n".join(line for text in texts for line in wrap(text, WIDTH, subsequent_indent="  "))


def _share(value: float | None) -> str:
    return "-" if value is None else "nan" if math.isnan(value) else f"{100 * value:.3g}%"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}"
