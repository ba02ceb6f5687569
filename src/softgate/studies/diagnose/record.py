"""A diagnosis: what was seen at every activation of a model, and what follows from it."""

from __future__ import annotations

import math
import os
from base64 import b64encode
from dataclasses import dataclass
from html import escape
from textwrap import wrap
from typing import TYPE_CHECKING, ClassVar

from softgate.runtime.records import Cell, Grid, Record

from .thresholds import Thresholds

if TYPE_CHECKING:
    from softgate.plotting.vega import Chart

Numbers = tuple[float, ...]
WIDTH = 100


@dataclass(frozen=True)
class Units:
    """Figures of each unit of a site, to six digits; shares are of finite inputs."""

    flat: Numbers
    negative: Numbers
    saturated: Numbers | None
    openness: Numbers | None
    mean: Numbers
    sd: Numbers
    skew: Numbers
    dead: tuple[int, ...]
    """Numbers of the units whose slope was flat on every input."""
    dead_lately: tuple[int, ...]
    """Those flat on every input of the last quarter of the steps."""
    trapped: tuple[int, ...]
    """Those with a slope that is negative or flat on every input, and not flat on all."""


@dataclass(frozen=True)
class NotFinite:
    """NaN or inf at one place of a site."""

    where: str
    count: int
    first_step: int


@dataclass(frozen=True)
class Histogram:
    """Outputs of some steps: counts of bins of equal width, of which the first begins at `low`."""

    first_step: int
    last_step: int
    dead: int
    """Units that were flat on every input of these steps."""
    low: float
    width: float
    counts: tuple[int, ...]


@dataclass(frozen=True)
class Site:
    """One place where the model calls an activation.

    Attributes
    ----------
    calls, inputs : int
        How often it was called while somebody looked, and how many inputs each unit had.
    flat, negative, saturated : float
        The share of inputs with a flat slope, a negative slope, a value near a bound; the last is
        None where the activation has no bounds.
    openness : float or None
        The mean of value/x; None where that is no gate (sigmoid, tanh).
    mean, sd, skew : float
        Of all outputs.
    activation_gain : float or None
        The root mean square of outputs over that of inputs.
    layer_gain : float or None
        The root mean square of outputs over that of the site before; None at the first.
    gradient_output, gradient_input : float or None
        The norm of the loss's gradient by the outputs, which arrives, and by the inputs, which
        leaves: the root of the mean square over all backward passes. None where there was none.
        What a GradScaler multiplied the loss with is taken out.
    sampled : float
        The share of outputs that the histograms were made from. All else counts every one.
    multiplied : bool
        Whether its value was a factor of something, as that of a gate.
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
    unit: Units
    history: tuple[Histogram, ...]
    multiplied: bool = False

    @property
    def dead(self) -> float:
        """The share of units whose slope was flat on every input."""
        return len(self.unit.dead) / self.units

    @property
    def dead_lately(self) -> float:
        """The share of units flat on every input of the last quarter of the steps."""
        return len(self.unit.dead_lately) / self.units

    @property
    def trapped(self) -> float:
        """The share of units whose slope is never positive."""
        return len(self.unit.trapped) / self.units


@dataclass(frozen=True)
class Unseen:
    """What ran where nobody could look: for what reason, what to do, and which modules or calls."""

    why: str
    advice: str
    names: tuple[str, ...]


@dataclass(frozen=True)
class Finding:
    """Something to look at: in words, with the numbers that led there and what to do next."""

    kind: str
    site: str | None
    value: float
    threshold: float
    text: str
    advice: str


@dataclass(frozen=True)
class Diagnosis(Record):
    """What a watch saw; `findings` is empty where nothing is wrong."""

    schema: ClassVar[str] = "softgate.diagnosis"

    model: str
    steps: int
    looked_at: int
    every: int
    thresholds: Thresholds
    sites: tuple[Site, ...]
    gradient_ratio: float | None
    """The gradient's norm at the first site over that at the last."""
    unseen: tuple[Unseen, ...]
    """What ran and could not be looked at."""
    loss: str
    """What gradients are of, where the caller did not say."""
    findings: tuple[Finding, ...]

    def grids(self) -> tuple[Grid, ...]:
        """Return a table of sites, and the findings."""
        looked = f"{self.looked_at:,} of {self.steps:,} steps"
        seen = f"{self.model}: sites {len(self.sites)}, looked at {looked}"
        notes = f"flat: |slope| < {self.thresholds.flat:g}"
        if self.loss:
            notes += f"; gradients of {self.loss}"
        few = [site.inputs for site in self.sites if site.inputs < self.thresholds.inputs]
        if few:
            notes += f"; sites with too few inputs to call units dead: {len(few)} (of "
            notes += f"{self.thresholds.inputs:,} that it takes, they had at most {max(few):,})"
        if self.gradient_ratio is not None:
            notes += f"; gradient first/last {self.gradient_ratio:.3g}"
        header = (
            "site", "function", "units", "inputs", "dead", "trapped", "flat", "slope<0",
            "saturated", "open", "mean", "sd", "skew", "gain", "layer gain", "grad out", "grad in",
        )  # fmt: skip
        rows = tuple(_row(site) for site in self.sites)
        if not self.findings:
            return (Grid(f"{seen}: nothing found\n{notes}", header, rows),)
        found = tuple((f.kind, _wrapped(f"{f.text}.", f"→ {f.advice}")) for f in self.findings)
        return (
            Grid(f"{seen}\n{notes}", header, rows),
            Grid("", ("finding", "what was seen, and what to do next"), found, text=True),
        )

    def table(self) -> tuple[tuple[str, ...], list[tuple[Cell, ...]]]:
        """Return a row for each site."""
        header = (
            "site", "function", "units", "dtype", "calls", "inputs", "dead", "dead_lately",
            "trapped", "flat", "negative", "saturated", "openness", "mean", "sd", "skew",
            "activation_gain", "layer_gain", "gradient_output", "gradient_input", "nan_and_inf",
        )  # fmt: skip
        names = {"site": "name"}
        rows: list[tuple[Cell, ...]] = []
        for site in self.sites:
            cells = [getattr(site, names.get(name, name)) for name in header[:-1]]
            rows.append((*cells, sum(trouble.count for trouble in site.not_finite)))
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

    def save(self, file: str | os.PathLike[str]) -> None:
        """Write the chart to an .svg, .png or .pdf file.

        Needs vl-convert-python: pip install 'softgate[plot]'.
        """
        self.figure().save(file)

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


def _row(site: Site) -> tuple[str, ...]:
    return (
        site.name,
        site.function,
        f"{site.units:,}",
        f"{site.inputs:,}",
        _share(max(site.dead, site.dead_lately)),
        _share(site.trapped),
        _share(site.flat),
        _share(site.negative),
        _share(site.saturated),
        _number(site.openness),
        _number(site.mean),
        _number(site.sd),
        _number(site.skew),
        _number(site.activation_gain),
        _number(site.layer_gain),
        _number(site.gradient_output),
        _number(site.gradient_input),
    )


def _wrapped(*texts: str) -> str:
    return "\n".join(line for text in texts for line in wrap(text, WIDTH, subsequent_indent="  "))


def _share(value: float | None) -> str:
    return "-" if value is None else "nan" if math.isnan(value) else f"{100 * value:.3g}%"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}"
