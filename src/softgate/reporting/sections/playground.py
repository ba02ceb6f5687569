"""Playground: activations to try out in the page, computed with emitted JavaScript.

The page contains no formula of its own: the JavaScript is emitted from the graphs that the kernels
are compiled from, and the ranges of parameters come from the catalogue. The user's formulas are
emitted separately, so that they may share a name with one of the catalogue. The script joins that
code with the files in `assets/playground`: quadrature and crossings (mesh, statistics), a random
network and its mean field (network), the gate (gate), charts, controls and the three panels.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby
from typing import ClassVar, Self

import numpy as np

from softgate.catalogue import Parameter
from softgate.plotting.palette import style
from softgate.records.record import Cell, Grid, Record, plain
from softgate.records.text import escape
from softgate.runtime.activation import Activation
from softgate.runtime.registry import activations, label
from softgate.studies.emit import emit

from ..elements import Results, Section, minus
from ..page import asset

TITLE = "Playground"
FIRST = "gelu"
"""The activation selected at first."""
MOST_PARAMETERS = 2
"""Sliders of the panel; a function with more parameters is shown with their defaults."""
LINE_ENDS = re.compile("[\u2028\u2029]")
"""Characters that end a comment in JavaScript, but not a line in Python."""
PARTS = (
    "random", "mesh", "statistics", "network", "gate", "charts", "controls", "selection",
    "layer_panel", "network_panel", "gate_panel", "start",
)  # fmt: skip
"""The files of `assets/playground`, each after those it uses."""
NODES = 16
EXPORT = re.compile(r"^export function (\w+)", re.MULTILINE)


@dataclass(frozen=True)
class Slider:
    """A parameter: the values it accepts, and the range of its slider."""

    name: str
    default: float
    above: float | None
    below: float | None
    closed: bool
    exceeds: str
    range: str
    low: float
    high: float
    step: float
    hint: str


@dataclass(frozen=True)
class SelectableActivation:
    """An activation that can be selected."""

    name: str
    label: str
    formula: str
    colour: str
    own: bool
    parameters: tuple[Slider, ...]
    without: str
    """The text shown if there are no sliders."""


@dataclass(frozen=True)
class Playground(Record):
    """The activations to select from, and the JavaScript modules that compute them."""

    schema: ClassVar[str] = "softgate.report.playground"

    choices: tuple[SelectableActivation, ...]
    catalogue: str
    """The JavaScript module of the catalogue."""
    own: dict[str, str]
    """The JavaScript module of each of the user's formulas, by name."""
    refused: tuple[str, ...]
    """The reason for each formula that cannot be selected."""

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Raise ValueError: the record contains code for the page, and a file is not trusted."""
        raise ValueError(
            f"{cls.schema} is not read from files because it contains code that the page runs: "
            "make the report again"
        )

    def grids(self) -> tuple[Grid, ...]:
        """Return the activations with their formulas and parameters."""
        rows = tuple(
            (choice.label, choice.formula, ", ".join(p.name for p in choice.parameters))
            for choice in self.choices
        )
        return (Grid("", ("activation", "formula", "parameters"), rows, text=True),)

    def table(self) -> tuple[tuple[str, ...], list[tuple[Cell, ...]]]:
        """Return a row for each parameter, and for each activation without parameters."""
        header = ("activation", "formula", "parameter", "default", "low", "high")
        rows: list[tuple[Cell, ...]] = []
        for choice in self.choices:
            names = (choice.label, choice.formula)
            parameters = [(*names, p.name, p.default, p.low, p.high) for p in choice.parameters]
            rows += parameters or [(*names, None, None, None, None)]
        return header, rows


def playground(formulas: Iterable[Activation] = ()) -> Playground:
    """Return the choices and the code of the catalogue and of the user's formulas.

    Examples
    --------
    >>> record = playground()
    >>> record.choices[0].name, [p.name for p in record.choices[0].parameters]
    ('gelu', [])
    >>> "export function gelu(x)" in record.catalogue
    True
    """
    catalogue = activations()
    names = sorted(catalogue, key=lambda name: (name != FIRST, name.lower()))
    choices = [_choice(catalogue[name]) for name in names]
    modules: dict[str, str] = {}
    refused = []
    for activation in formulas:
        try:
            modules[activation.name] = _emitted([activation])
        except ValueError as error:
            refused.append(str(error))
            continue
        choices.append(_choice(activation, from_user=True))
    return Playground(tuple(choices), _emitted(catalogue.values()), modules, tuple(refused))


def _emitted(functions: Iterable[Activation]) -> str:
    return LINE_ENDS.sub(" ", emit(functions, "js"))


def _choice(activation: Activation, from_user: bool = False) -> SelectableActivation:
    entry = activation.entry
    fits = not from_user and len(entry.parameters) <= MOST_PARAMETERS
    sliders = tuple(map(_slider, entry.parameters)) if fits else ()
    fixed = ", ".join(f"{name} = {value:g}" for name, value in activation.parameters.items())
    return SelectableActivation(
        name=activation.name,
        label=label(activation) if from_user else activation.name,
        formula=f"{entry.name}(x) = {entry.formula}",
        colour=style(activation.name).colour,
        own=from_user,
        parameters=sliders,
        without=f"Its parameters are fixed: {fixed}."
        if fixed and not sliders
        else f"{entry.name} has no parameters.",
    )


def _slider(parameter: Parameter) -> Slider:
    """Return the slider of a parameter: a range around its default, within the accepted values."""
    p = parameter
    reach = max(1.0, 2 * abs(p.default))
    step = 0.01 if reach <= 3 else 0.05
    low, high = float(round(p.default - reach)), float(round(p.default + reach))
    if low <= p.above:
        low = p.above if p.closed else round(p.above + step, 9)
    accepted = f"any number {p.range}" if p.range else "any number"
    return Slider(
        name=p.name,
        default=p.default,
        above=p.above if math.isfinite(p.above) else None,
        below=p.below if math.isfinite(p.below) else None,
        closed=p.closed,
        exceeds=p.exceeds,
        range=p.range or "a finite number",
        low=low,
        high=min(high, p.below),
        step=step,
        hint=f"default {p.default:g}; {accepted}",
    )


def scope(module: str) -> str:
    r"""Return a JavaScript expression for the exports of a module of plain functions.

    An inline script cannot import, so the module becomes a function that returns its exports.

    Examples
    --------
    >>> print(scope("export function relu(x) {\n  return x < 0 ? 0 : x;\n}\n"))
    (() => {
    function relu(x) {
      return x < 0 ? 0 : x;
    }
    return { relu };
    })()
    """
    names = ", ".join(EXPORT.findall(module))
    inside = EXPORT.sub(r"function \1", module)
    return f"(() => {{\n{inside}return {{ {names} }};\n}})()"


def script(record: Playground) -> str:
    """Return the script of the section."""
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    rule = {"nodes": nodes.tolist(), "weights": weights.tolist()}
    formulas = ",\n".join(f"{json.dumps(name)}: {scope(t)}" for name, t in record.own.items())
    data = {
        "CHOICES": json.dumps(plain(record.choices)),
        "RULE": json.dumps(rule),
        "KERNELS": scope(record.catalogue),
        "OWN": f"{{{formulas}}}",
    }
    constants = "".join(f"const {name} = {text};\n" for name, text in data.items())
    return constants + "\n".join(asset(f"playground/{part}.js") for part in PARTS)


def body(record: Playground) -> str:
    """Return the content of the section: three panels of controls, charts and numbers.

    Every control is a native element with a label, for keyboard, touch and screen readers. Every
    element has its size from the start, so that nothing moves when the script fills in numbers.
    """
    refused = "".join(f'<p class="note">Left out: {escape(why)}</p>' for why in record.refused)
    return (
        f'<style>\n{asset("playground/playground.css")}</style>\n<div id="pg-root">'
        "<p>All numbers are computed in the page, by the JavaScript that "
        "<code>softgate emit</code> generates from the formulas that the kernels are compiled "
        "from.</p>"
        "<noscript><p>The playground needs JavaScript, which is disabled.</p></noscript>"
        f"{refused}{_layer_panel(record)}{_stack()}{_gate()}</div>"
    )


def _field(id: str, label: str, low: float, high: float, step: float, value: float) -> str:
    """Return a row with a slider and a number field for the same value."""
    limits = f'min="{low:g}" max="{high:g}" value="{value:g}"'
    fine = "1" if step >= 1 else "any"
    return (
        f'<div class="pg-field" id="pg-{id}-row"><label for="pg-{id}" id="pg-{id}-label">{label}'
        f'</label><span class="pg-hint" id="pg-{id}-hint">{minus(f"{low:g} to {high:g}")}</span>'
        f'<input type="range" id="pg-{id}" step="{step:g}" {limits} '
        f'aria-describedby="pg-{id}-hint">'
        f'<input type="number" id="pg-{id}-number" step="{fine}" {limits} '
        f'inputmode="decimal" aria-label="{label}, as a number" aria-describedby="pg-{id}-hint">'
        "</div>"
    )


def _parameter(number: int) -> str:
    """Return the row of a parameter; the script sets its label, limits and value."""
    id = f"parameter-{number}"
    return (
        f'<div class="pg-field pg-parameter pg-unused" id="pg-{id}-row">'
        f'<label for="pg-{id}" id="pg-{id}-label">parameter {number + 1}</label>'
        f'<span class="pg-hint" id="pg-{id}-hint">no parameter</span>'
        f'<input type="range" id="pg-{id}" disabled aria-describedby="pg-{id}-hint">'
        f'<input type="number" id="pg-{id}-number" step="any" disabled '
        f'aria-label="parameter {number + 1}, as a number" aria-describedby="pg-{id}-hint"></div>'
    )


def _numbers(rows: list[tuple[str, str, str]]) -> str:
    """Return names and explanations, with an element for each value."""
    return '<dl class="pg-numbers">' + "".join(
        f'<div><dt>{name}</dt><dd id="pg-{id}">–</dd><dd class="pg-why">{why}</dd></div>'
        for id, name, why in rows
    ) + "</dl>"  # fmt: skip


def _chart(id: str, caption: str) -> str:
    return (
        f'<figure class="pg-figure"><figcaption>{caption}</figcaption>'
        f'<div class="pg-chart" id="pg-{id}" role="img" aria-label="{caption}"></div></figure>'
    )


def _options(choices: tuple[SelectableActivation, ...]) -> str:
    groups = []
    for from_user, items in groupby(enumerate(choices), key=lambda item: item[1].own):
        options = "".join(f'<option value="{i}">{escape(c.label)}</option>' for i, c in items)
        name = "Your formulas" if from_user else "Catalogue"
        groups.append(f'<optgroup label="{name}">{options}</optgroup>')
    return "".join(groups)


def _panel(id: str, title: str, introduction: str, controls: str, content: str) -> str:
    return (
        f'<section class="pg-panel" aria-labelledby="pg-{id}-title"><h3 id="pg-{id}-title">{title}'
        f'</h3><p>{introduction}</p><div class="pg-split"><div class="pg-controls" role="group" '
        f'aria-labelledby="pg-{id}-title">{controls}</div>'
        f'<div class="pg-shown">{content}</div></div>'
        f'<output class="hidden" id="pg-{id}-summary" aria-live="polite"></output></section>'
    )


def _layer_panel(record: Playground) -> str:
    controls = (
        '<div class="pg-field pg-select"><label for="pg-activation">Activation</label>'
        f'<select id="pg-activation">{_options(record.choices)}</select></div>'
        f'<p class="pg-formula" id="pg-formula">{escape(record.choices[0].formula)}</p>'
        + _field("mean", "Mean of the inputs", -4, 4, 0.05, 0)
        + _field("sd", "Standard deviation of the inputs", 0.05, 4, 0.05, 1)
        + _field("flat", "Flat: |slope| below", 0.01, 0.5, 0.01, 0.05)
        + _field("probe", "Read the curve at x", -5, 5, 0.01, 1)
        + '<p class="pg-note" id="pg-parameter-none"></p>'
        + "".join(_parameter(i) for i in range(MOST_PARAMETERS))
    )
    numbers = _numbers([
        ("out-mean", "Mean of the outputs", "If not 0, it acts like a bias in the next layer."),
        ("out-variance", "Variance of the outputs", "0 means that all outputs are equal."),
        ("out-gain", "Variance gain", "Outputs / inputs: below 1, the signal shrinks."),
        ("out-gradient", "Gradient gain", "Mean squared slope: the factor of a squared gradient."),
        ("out-flat", "In the flat region", "These inputs get almost no gradient."),
        ("out-falling", "Decreasing", "Negative slope: a larger input gives a smaller output."),
    ])  # fmt: skip
    content = (
        _chart(
            "through",
            "The function, with the distributions of its inputs (bottom) and outputs (right)",
        )
        + '<p class="pg-key"><span class="pg-solid"></span>value <span class="pg-dashed"></span>'
        'slope <span class="pg-flat"></span>flat <span class="pg-falling"></span>decreasing</p>'
        '<p class="pg-reading"><output id="pg-probe-text" for="pg-probe" aria-live="off"></output>'
        "</p>"
        f'{numbers}<p class="pg-words" id="pg-one-words"></p>'
    )
    return _panel(
        "one",
        "One layer: inputs and outputs",
        "The inputs of a layer are normally distributed. Select an activation and change the "
        "distribution to see which part of the curve is used, and how the outputs are "
        "distributed.",
        controls,
        content,
    )


def _stack() -> str:
    controls = (
        _field("depth", "Layers", 1, 50, 1, 20)
        + _field("width", "Units per layer", 8, 128, 8, 64)
        + _field("gain", "Gain of the weights", 0.1, 4, 0.01, 1)
        + '<div class="pg-buttons"><button type="button" id="pg-hold">Set the stable gain'
        "</button></div>"
        + _field("network", "Network (seed)", 1, 999, 1, 1)
        + '<div class="pg-buttons"><button type="button" id="pg-another">Another network</button>'
        "</div>"
    )
    content = (
        '<div class="pg-two">'
        + _chart("forward", "Forward: variance of the signal")
        + _chart("backward", "Backward: mean square of the gradient")
        + "</div>"
        + _ratios()
    )
    return _panel(
        "stack",
        "Many layers: vanishing and exploding signals",
        "Layer 0 has the inputs above. Each layer applies the activation above and multiplies by "
        "random weights of variance gain²/units, without bias. Dots: one such network, given by "
        "its seed. Dashed line: the limit of infinite width (mean-field theory). The gradient at "
        "the last layer has mean square 1.",
        controls,
        content,
    )


def _ratios() -> str:
    """Return the table of the ratios of signal and gradient between the first and last layer."""
    rows = (
        ("verdict", "verdict", "stable: within a factor of ten"),
        ("ratio", "this network", "signal: last layer / first; gradient: first / last"),
        ("theory", "infinite width", "the dashed line"),
        ("layer", "per layer", "the average factor of the dashed line"),
    )
    body = "".join(
        f'<tr><th scope="row">{name}<span class="pg-why">{why}</span></th>'
        + "".join(f'<td id="pg-{key}-{id}">–</td>' for key in ("variance", "gradient"))
        + "</tr>"
        for id, name, why in rows
    )
    return (
        '<table class="pg-ends"><caption>Ratio between first and last layer</caption>'
        '<thead><tr><th scope="col">measure</th><th scope="col">Signal</th>'
        f'<th scope="col">Gradient</th></tr></thead><tbody>{body}</tbody></table>'
    )


def _gate() -> str:
    buttons = "".join(
        f'<button type="button" data-draws="{n}">Draw {n:,}</button>' for n in (1, 100, 10_000)
    )
    controls = (
        _field("x", "Input x", -4, 4, 0.05, 0.8)
        + f'<div class="pg-buttons" id="pg-gate-buttons" role="group" aria-label="Draws">{buttons}'
        '<button type="button" id="pg-gate-again">Restart</button></div>'
        + _field("seed", "Seed", 1, 999, 1, 1)
        + '<p class="pg-note">Latest draws, newest first: ● open, ○ closed.</p>'
        '<div class="pg-last" id="pg-gate-last" aria-hidden="true"></div>'
    )
    numbers = _numbers([
        ("gate-average", "Average so far", "A draw is x if the gate is open, else 0."),
        ("gate-truth", "GELU(x) = x·Φ(x)", "The limit of the average."),
        ("gate-error", "Standard error", "|x|·√(Φ(1−Φ)/n): four times the draws halve it."),
        ("gate-off", "Difference / standard error", "Within ±2 in 95 % of all cases."),
        ("gate-count", "Draws", "At most 100,000."),
        ("gate-open", "Open", "The number of draws with an open gate."),
        ("gate-p", "Φ(x)", "The probability that the gate is open."),
    ])  # fmt: skip
    return _panel(
        "gate",
        "The soft gate: a random gate whose mean is GELU",
        "ReLU is a gate that is open for positive x and closed otherwise. Here the gate is random: "
        "the output is x with probability Φ(x), which increases with x, and 0 otherwise. The mean "
        "of the output is GELU(x).",
        controls,
        _chart("gate", "Average so far; shaded: GELU(x) ± 2 standard errors") + numbers,
    )


def section(results: Results) -> Section:
    """Return the panels and their script."""
    record = results.take("playground", Playground)
    return Section("playground", TITLE, body(record), script=script(record))
