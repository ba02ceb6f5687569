"""Units: dead, trapped and saturated units of a network in training, or of the user's model.

By default two networks learn digits for a few seconds, alike except for the activation, relu or
gelu. relu has dead units from the start: without normalisation, the inputs of many units in eight
layers are negative for every picture.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from re import sub
from typing import TYPE_CHECKING, Any, ClassVar

from softgate.records.packages import require
from softgate.records.record import Cell, Grid, Record
from softgate.records.text import escape
from softgate.studies import Progress, counted
from softgate.studies.diagnose import chart_data
from softgate.studies.diagnose.plots import (
    GRADIENTS,
    SHADES,
    TIMES,
    css_colour,
    panels,
    reaching,
    silent,
)
from softgate.studies.diagnose.record import Diagnosis, Finding, WhatIf
from softgate.studies.identify import UNKNOWN
from softgate.studies.models.record import Scan
from softgate.studies.scan import scan

from ..elements import Results, Section, figure, notes, of_grid, shown

if TYPE_CHECKING:
    from torch import Tensor, nn

TITLE = "Units"
REPLACEMENTS = ("relu", "gelu")
"""The activations that replace the most used one of the user's model, without training."""
LAYERS, WIDTH, STEPS, BATCH, RATE = 8, 128, 150, 128, 1e-3
ABOUT = (
    f"Two networks of {LAYERS} layers of {WIDTH} units, alike except for the activation, learn the "
    f"digits of scikit-learn ({{train:,}} images of 8 × 8, {{test}} held out) in {STEPS} steps of "
    f"Adam with learning rate {RATE:g}, batches of {BATCH} and PyTorch’s default initialisation. "
    "Every step is observed. One run does not show which activation trains better. For your own "
    "model: `softgate report --model TARGET --data FILE`."
)
MODEL_BUDGET_S = 20.0
"""Seconds for the user's model; batches beyond that are left out, with a note on the page."""
PASSES = 4
"""The cost of a batch in diagnoses of it: one diagnosis, and at most two replacements."""
FINDINGS = 3
"""Findings of one kind that are shown; the others are counted."""
LONG = 16
"""A table with more rows than this is collapsed."""


@dataclass(frozen=True)
class NetworkDiagnosis:
    """An observed network; `test_accuracy` is that on the digits held out."""

    title: str
    seen: Diagnosis
    test_accuracy: float | None = None


@dataclass(frozen=True)
class UnitStudy(Record):
    """Observed networks, and the effect of other activations without training."""

    schema: ClassVar[str] = "softgate.report.units"

    about: str
    watched: tuple[NetworkDiagnosis, ...]
    replacements: tuple[WhatIf, ...]
    notes: tuple[str, ...] = ()
    scan: Scan | None = None
    """The activations of the user's model, identified by their values."""

    def grids(self) -> tuple[Grid, ...]:
        """Return the tables of the scan, of all diagnoses and of replacements."""
        parts: list[Record] = [*(network.seen for network in self.watched), *self.replacements]
        if self.scan is not None:
            parts.insert(0, self.scan)
        return tuple(grid for part in parts for grid in part.grids())

    def table(self) -> tuple[tuple[str, ...], list[tuple[Cell, ...]]]:
        """Return a row for each activation of each network."""
        rows: list[tuple[Cell, ...]] = []
        header: tuple[str, ...] = ()
        for network in self.watched:
            header, own_rows = network.seen.table()
            rows += [(network.title, *row) for row in own_rows]
        return ("network", *header), rows


@dataclass(frozen=True)
class LoadedModel:
    """The user's model and its data."""

    name: str
    data: str
    model: Any
    batches: list[Any]
    loss: Callable[[Any, Any], Any] | None
    limit: int = 0
    """The number of batches that fit into the time budget."""
    seconds: float = 0.0
    """The estimated time for all batches."""


def load_user_model(
    model: Any, data: Any, budget_s: float = MODEL_BUDGET_S, *, trust: bool = False
) -> LoadedModel | None:
    """Return a model and its data after a diagnosis of the first batch; None without a model.

    Called before any study, so that mistakes are reported at once.

    Parameters
    ----------
    model : str, callable, torch.nn.Module or None
        As in `softgate.torch.diagnose`.
    data : path, callable or iterable
        The batches, as in `softgate.torch.diagnose`.
    budget_s : float
        Seconds for all batches.
    trust : bool
        Whether Python code in a folder may run.

    Raises
    ------
    ValueError
        If only one of `model` and `data` is given, or the model raises on the first batch.
    TypeError
        If `model` or `data` is of another type.
    ImportError
        If torch is not installed.
    """
    if model is None and data is None:
        return None
    if model is None or data is None:
        present, absent = ("data", "model") if model is None else ("model", "data")
        raise ValueError(f"{present} was given without {absent}: give both")
    other = isinstance(model, str | os.PathLike) and os.fspath(model).lower()
    if other and other.endswith((".onnx", ".keras")):
        raise ValueError(
            f"{os.fspath(model)}: expected a PyTorch model or a Hugging Face folder, whose units "
            "are diagnosed; softgate scan lists the activations of .onnx and .keras files, also as "
            "-o scan.html"
        )
    require("torch", purpose="a model of yours")
    from softgate.studies.models.loading import load_inputs, target_name

    module, batches, loss = load_inputs(model, data, trust=trust)
    name = target_name(model)
    is_named = isinstance(data, str | os.PathLike)
    shown = os.path.basename(data) if is_named else "its data"  # noqa: PTH119 a label
    user_model = LoadedModel(name, shown, module, list(batches), loss)
    return _fit_to_budget(user_model, budget_s)


def _fit_to_budget(user_model: LoadedModel, budget_s: float) -> LoadedModel:
    """Diagnose the first batch, and set how many batches fit into the budget."""
    from softgate.studies.models.loading import model_errors
    from softgate.torch import diagnose

    batches = user_model.batches
    if not batches:
        raise ValueError("data has no batches: expected at least one")
    total_s = 0.0
    for _ in range(2):  # the first diagnosis takes longer, because it identifies the functions
        start = time.perf_counter()
        with model_errors(user_model.name, user_model.data):
            diagnose(user_model.model, batches[:1], loss=user_model.loss)
        total_s = PASSES * (time.perf_counter() - start) * len(batches)
        if total_s < budget_s:
            break
    limit = min(len(batches), int(len(batches) * budget_s / max(total_s, 1e-9)))
    return replace(user_model, limit=max(1, limit), seconds=total_s)


def units(user_model: LoadedModel | None, progress: Progress | None = None) -> UnitStudy:
    """Return the study of the user's model, or of networks that learn digits."""
    return _digits(progress) if user_model is None else _study(user_model)


def _study(user_model: LoadedModel) -> UnitStudy:
    """Diagnose a model, and run it with other activations in place of its most used one."""
    from softgate.studies.models.loading import model_errors
    from softgate.torch import diagnose, what_if

    batches, loss = user_model.batches[: user_model.limit], user_model.loss
    with model_errors(user_model.name, user_model.data):
        diagnosis = diagnose(user_model.model, batches, loss=loss)
        replaced = most_used(diagnosis)
        replacements = tuple(
            what_if(user_model.model, batches, name, only=replaced, loss=loss)
            for name in REPLACEMENTS
            if replaced not in (None, name)
        )
    scanned, remarks = None, []
    try:
        scanned = scan(user_model.model, data=batches[0])
        scanned = replace(scanned, target=user_model.name)
    except (ValueError, TypeError) as error:  # the other tables are complete without it
        remarks.append(f"its activations were not identified: {error}")
    if len(batches) < len(user_model.batches):
        remarks.append(
            f"{len(batches)} of {len(user_model.batches)} batches: all would take about "
            f"{user_model.seconds:.0f} s; softgate diagnose runs all of them"
        )
    if replaced is None and diagnosis.sites:
        remarks.append("no activation was identified: none was replaced by another")
    about = (
        f"{user_model.name} on {user_model.data}, {len(batches)} "
        f"batch{'es' if len(batches) > 1 else ''}: the model is evaluated, not trained. "
        "`softgate diagnose` prints the same."
    )
    network = NetworkDiagnosis(user_model.name, diagnosis)
    return UnitStudy(about, (network,), replacements, tuple(remarks), scanned)


def most_used(diagnosis: Diagnosis) -> str | None:
    """Return the identified function that most units have, or None if none was identified."""
    counts: Counter[str] = Counter()
    for site in diagnosis.sites:
        if site.function != UNKNOWN:
            counts[site.function] += site.units
    return counts.most_common(1)[0][0] if counts else None


def _digits(progress: Progress | None = None) -> UnitStudy:
    """Train two networks on digits under observation, and exchange their activations."""
    require("torch", "sklearn", purpose="the study of units", extra="compare")
    import torch
    from torch import nn
    from torch.nn.functional import cross_entropy

    from softgate.studies.compare.execution.run_trial import isolated
    from softgate.studies.compare.tasks.images import digits
    from softgate.torch import what_if

    data = digits()
    train, test = data.train, data.test
    watched, replacements = [], []
    with isolated(seed=0):  # one thread, which is fastest for small matrices
        for number, (name, other, activation) in enumerate(
            (("relu", "gelu", nn.ReLU), ("gelu", "relu", nn.GELU))
        ):
            if progress is not None:
                progress(f"training with {name}", number, 2)
            model, diagnosis = _train(activation, train.x, train.y)
            title = f"network trained with {name}"
            with torch.no_grad():
                test_accuracy = float((model(test.x).argmax(dim=1) == test.y).float().mean())
            watched.append(NetworkDiagnosis(name, replace(diagnosis, model=title), test_accuracy))
            exchange = what_if(model, [test.x], other, loss=lambda y, _: cross_entropy(y, test.y))
            replacements.append(replace(exchange, model=title))
    about = ABOUT.format(train=len(train), test=len(test))
    return UnitStudy(about, tuple(watched), tuple(replacements))


def _train(activation: type[nn.Module], x: Tensor, y: Tensor) -> tuple[nn.Module, Diagnosis]:
    """Return a trained network, and the diagnosis of its training."""
    import torch
    from torch import nn

    from softgate.torch import watch

    torch.manual_seed(0)
    widths = [x.shape[1], *[WIDTH] * LAYERS]
    layers = [
        layer
        for inputs, outputs in pairwise(widths)
        for layer in (nn.Linear(inputs, outputs), activation())
    ]
    model = nn.Sequential(*layers, nn.Linear(WIDTH, 10))
    adam = torch.optim.Adam(model.parameters(), lr=RATE)
    generator = torch.Generator().manual_seed(1)
    with watch(model) as watching:
        for _ in range(STEPS):
            rows = torch.randint(0, len(x), (BATCH,), generator=generator)
            loss = nn.functional.cross_entropy(model(x[rows]), y[rows])
            adam.zero_grad()
            torch.autograd.backward(loss)
            adam.step()
    return model, watching.report()


def section(results: Results) -> Section:
    """Return the findings, charts and tables of each network, and the effect of replacements."""
    record = results.take("units", UnitStudy)
    specs: dict[str, Any] = {}
    figures: dict[str, str] = {}
    diagnoses = [network.seen for network in record.watched]
    for number, network in enumerate(record.watched):
        for name, panel in panels(network.seen, diagnoses).items():
            id, caption = f"units-{number}-{name}", f"{network.title}: {panel.caption}"
            specs[id] = panel.spec
            figures[id] = figure(id, caption, panel.alternative, panel.spec)
    body = (
        f"<p>{_coded(record.about)}</p>"
        + notes(record.notes)
        + ("" if record.scan is None else _scanned(record.scan))
        + "".join(map(_findings, record.watched))
        + (_figures(record, figures) if figures else "")
        + "".join(_table(network) for network in record.watched if network.seen.sites)
        + _replacement_table(record.replacements)
    )
    return Section("units", TITLE, body, specs)


def _scanned(scan: Scan) -> str:
    """Return the activations of a model with the functions that they compute."""
    (grid,) = scan.grids()
    title, *lines = grid.title.split("\n")
    head = f"<h3>Activations, identified by their values</h3><p>{escape(title)}</p>"
    table = of_grid(replace(grid, title=""), "path, function and operators of each activation")
    if len(scan.activations) > LONG:
        count = counted(len(scan.activations), "activation")
        table = f"<details><summary>{escape(count)} as a table</summary>{table}</details>"
    return head + notes(lines) + table + f"<p>{shown(grid.closing)}</p>"


def _figures(record: UnitStudy, figures: Mapping[str, str]) -> str:
    kinds: set[str] = set()
    for network in record.watched:
        sites = chart_data.rows(network.seen)
        blocks = chart_data.units(sites) + chart_data.deaths(network.seen, sites)
        kinds |= {block.kind for block in blocks}
    drawn = "".join(figures[id] for id in sorted(figures, key=_place))
    return (
        f"<h3>By activation</h3><p>{escape(_explanation(record))}</p>{_key(kinds)}"
        f'<div class="charts">{drawn}</div>'
    )


def _place(id: str) -> tuple[int, int]:
    """Return the position of a figure: the same chart of two networks side by side."""
    _, number, kind = id.split("-")
    return ["outputs", "units", "deaths", "gradients"].index(kind), int(number)


def _key(used: Container[str]) -> str:
    """Return the legend of the charts, as a list beside them, where lines can break."""
    parts = (
        ("Units, by the share of inputs with a flat slope", SHADES),
        ("Dead units over time, by the share of dead units at a step", TIMES),
        ("Gradients", {name: (drawn.colour, 1.0) for name, drawn in GRADIENTS.values()}),
    )
    swatch = (
        '<span class="swatch" aria-hidden="true" style="border-top-width:0.8em;'
        'vertical-align:-0.05em;border-color:{}"></span>'
    )
    lines: list[str] = []
    for about, shades in parts:
        named = [
            f'<span class="nowrap">{swatch.format(css_colour(*shade))}{escape(kind)}</span>'
            for kind, shade in shades.items()
            if kind in used or shades not in (SHADES, TIMES)
        ]
        lines += [f"<li>{escape(about)}: {', '.join(named)}</li>"] if named else []
    return f"<ul>{''.join(lines)}</ul>"


def _explanation(record: UnitStudy) -> str:
    """Return how to read the charts, and what is outside of their axes."""
    flat = record.watched[0].seen.thresholds.flat
    parts = [
        "Each row is an activation, in the order of the calls. Outputs: the height is the square "
        "root of the density, scaled to its maximum; the first steps are behind, in pale colours. "
        f"A unit is flat on an input if its |slope| is below {flat:g}, and dead if it is flat on "
        "every input, or on every input of the last quarter of the steps."
    ]
    for network in record.watched:
        sites = chart_data.rows(network.seen)
        outside = (
            reaching(chart_data.ridges(network.seen)),
            silent(chart_data.names(sites), chart_data.gradient_norms(sites)),
        )
        parts += [f"{network.title}: {remark}" for remark in outside if remark]
    return " ".join(parts)


def _findings(network: NetworkDiagnosis) -> str:
    """Return the heading of a network with its findings below; those with one advice together."""
    findings = network.seen.findings
    kinds = list(dict.fromkeys(finding.kind for finding in findings))
    problems = f"problems found: {', '.join(kinds)}" if kinds else "no problems found"
    accuracy = (
        ""
        if network.test_accuracy is None
        else f"; {100 * network.test_accuracy:.1f} % test accuracy"
    )
    count = counted(len(network.seen.sites), "activation")
    head = f"<h3>{escape(f'{network.title}: {count}, {problems}{accuracy}')}</h3>"
    groups = groupby(findings, key=lambda finding: finding.advice)
    items = "".join(_group(advice, list(group)) for advice, group in groups)
    return head + (f"<ul>{items}</ul>" if items else "")


def _group(advice: str, findings: list[Finding]) -> str:
    shown = "".join(f"{_coded(finding.text)}.<br>" for finding in findings[:FINDINGS])
    more = len(findings) - FINDINGS
    rest = f"And {more:,} more.<br>" if more > 0 else ""
    return f"<li>{shown}{rest}→ {_coded(advice)}.</li>"


def _coded(text: str) -> str:
    """Return text for HTML, with `…` as code."""
    return sub("`([^`]*)`", r"<code>\1</code>", escape(text))


def _table(network: NetworkDiagnosis) -> str:
    diagnosis = network.seen
    ratio = diagnosis.gradient_ratio
    of = f" (of {diagnosis.loss})" if diagnosis.loss else ""
    gradient = "" if ratio is None else f", gradient first/last {ratio:.3g}{of}"
    steps = f"{diagnosis.observed_steps:,} of {diagnosis.steps:,} steps observed"
    table = of_grid(diagnosis.grids()[0], f"{network.title}: {steps}{gradient}")
    if len(diagnosis.sites) <= LONG:
        return table
    summary = f"{counted(len(diagnosis.sites), 'activation')} as a table"
    return f"<details><summary>{escape(summary)}</summary>{table}</details>"


def _replacement_table(replacements: Iterable[WhatIf]) -> str:
    """Return the effect of other activations without training."""
    tables = ""
    for what_if in replacements:
        (grid,) = what_if.grids()
        table = of_grid(grid)
        if len(what_if.sites) > LONG:
            table = (
                f"<p>{escape(grid.title)}</p>"
                f"<details><summary>By activation</summary>{table}</details>"
            )
        tables += table
    if not tables:
        return ""
    return (
        "<h3>Another activation without training</h3><p>Replacing the activation of a trained "
        "network has two effects: later layers get inputs that they were not trained on, which "
        "changes outputs and loss immediately; and units may be dead, which matters only in "
        "further training.</p>" + tables
    )
