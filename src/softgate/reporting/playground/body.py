"""The playground's HTML: three panels of controls, charts and numbers, complete before any script.

Every control is a native one with a label: keys, touch and screen readers work as they do
elsewhere. Every place has its size from the start, so that nothing moves when numbers come in.
"""

from __future__ import annotations

from html import escape
from itertools import groupby

from .script import asset
from .study import MOST_PARAMETERS, Choice, Playground


def body(found: Playground) -> str:
    """Return what stands below the section's heading."""
    return (
        f'<style>\n{asset("playground.css")}</style>\n<div id="pg-root">'
        "<p>Move things and see what happens. All numbers are computed here, in the page, by the "
        "JavaScript that <code>softgate emit</code> prints from the very formulas the kernels are "
        "compiled from.</p>"
        "<noscript><p>The playground needs JavaScript, which is switched off.</p></noscript>"
        f"{_refused(found)}{_one(found)}{_stack()}{_gate()}</div>"
    )


def _refused(found: Playground) -> str:
    return "".join(f'<p class="note">Left out: {escape(reason)}</p>' for reason in found.refused)


def _field(id: str, label: str, low: float, high: float, step: float, value: float) -> str:
    """Return a row with a slider and a number that say the same."""
    limits = f'min="{low:g}" max="{high:g}" value="{value:g}"'
    fine = "1" if step >= 1 else "any"
    return (
        f'<div class="pg-field" id="pg-{id}-row"><label for="pg-{id}" id="pg-{id}-label">{label}'
        f'</label><span class="pg-hint" id="pg-{id}-hint">{_plain(low)} to {_plain(high)}</span>'
        f'<input type="range" id="pg-{id}" step="{step:g}" {limits} '
        f'aria-describedby="pg-{id}-hint">'
        f'<input type="number" id="pg-{id}-number" step="{fine}" {limits} '
        f'inputmode="decimal" aria-label="{label}, as a number" aria-describedby="pg-{id}-hint">'
        "</div>"
    )


def _plain(number: float) -> str:
    return f"{number:g}".replace("-", "−")


def _parameter(number: int) -> str:
    """Return the row of a parameter, whose label, limits and value the script sets."""
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
    """Return names, what they mean, and the places of their values."""
    return '<dl class="pg-numbers">' + "".join(
        f'<div><dt>{name}</dt><dd id="pg-{id}">–</dd><dd class="pg-why">{why}</dd></div>'
        for id, name, why in rows
    ) + "</dl>"  # fmt: skip


def _chart(id: str, caption: str) -> str:
    return (
        f'<figure class="pg-figure"><figcaption>{caption}</figcaption>'
        f'<div class="pg-chart" id="pg-{id}" role="img" aria-label="{caption}"></div></figure>'
    )


def _options(choices: tuple[Choice, ...]) -> str:
    numbered = enumerate(choices)
    groups = []
    for own, items in groupby(numbered, key=lambda item: item[1].own):
        options = "".join(f'<option value="{i}">{escape(one.label)}</option>' for i, one in items)
        name = "Your own" if own else "The catalogue"
        groups.append(f'<optgroup label="{name}">{options}</optgroup>')
    return "".join(groups)


def _panel(id: str, title: str, words: str, controls: str, rest: str) -> str:
    return (
        f'<section class="pg-panel" aria-labelledby="pg-{id}-title"><h3 id="pg-{id}-title">{title}'
        f'</h3><p>{words}</p><div class="pg-split"><div class="pg-controls" role="group" '
        f'aria-labelledby="pg-{id}-title">{controls}</div><div class="pg-shown">{rest}</div></div>'
        f'<output class="hidden" id="pg-{id}-summary" aria-live="polite"></output></section>'
    )


def _one(found: Playground) -> str:
    controls = (
        '<div class="pg-field pg-select"><label for="pg-activation">Activation</label>'
        f'<select id="pg-activation">{_options(found.choices)}</select></div>'
        f'<p class="pg-formula" id="pg-formula">{escape(found.choices[0].formula)}</p>'
        + _field("mean", "Mean of the inputs", -4, 4, 0.05, 0)
        + _field("sd", "Spread of the inputs (sd)", 0.05, 4, 0.05, 1)
        + _field("flat", "Flat: |slope| is below", 0.01, 0.5, 0.01, 0.05)
        + _field("probe", "Read the curve at x", -5, 5, 0.01, 1)
        + '<p class="pg-note" id="pg-parameter-none"></p>'
        + "".join(_parameter(i) for i in range(MOST_PARAMETERS))
    )
    numbers = _numbers([
        ("out-mean", "Mean of the outputs", "Far from 0, it acts like a bias in the next layer."),
        ("out-variance", "Variance of the outputs", "How much of the inputs' variety is left."),
        ("out-gain", "Variance gain", "Over the inputs' variance: under 1 the signal shrinks."),
        ("out-gradient", "Gradient gain", "Mean squared slope: a gradient's square times this."),
        ("out-flat", "In the flat region", "These inputs pass back next to no gradient."),
        ("out-falling", "Where it falls", "Negative slope: a larger input gives a smaller output."),
    ])  # fmt: skip
    rest = (
        _chart("through", "Inputs (below) go through the curve and become outputs (right)")
        + '<p class="pg-key"><span class="pg-solid"></span>value <span class="pg-dashed"></span>'
        'slope <span class="pg-flat"></span>flat <span class="pg-falling"></span>falling</p>'
        '<p class="pg-reading"><output id="pg-probe-text" for="pg-probe" aria-live="off"></output>'
        "</p>"
        f'{numbers}<p class="pg-words" id="pg-one-words"></p>'
    )
    return _panel(
        "one",
        "One layer: what goes in, what comes out",
        "A layer's inputs are spread like a bell. The activation bends that bell: pick one, move "
        "the bell, and see which part of the curve it uses.",
        controls,
        rest,
    )


def _stack() -> str:
    controls = (
        _field("depth", "Layers", 1, 50, 1, 20)
        + _field("width", "Units in a layer", 8, 128, 8, 64)
        + _field("gain", "Gain of the weights", 0.1, 4, 0.01, 1)
        + '<div class="pg-buttons"><button type="button" id="pg-hold">Set the gain that holds'
        "</button></div>"
        + _field("network", "Network (seed)", 1, 999, 1, 1)
        + '<div class="pg-buttons"><button type="button" id="pg-another">Another network</button>'
        "</div>"
    )
    rest = (
        '<div class="pg-two">'
        + _chart("forward", "Forward: variance of the signal")
        + _chart("backward", "Backward: mean square of the gradient")
        + "</div>"
        + _ends()
    )
    return _panel(
        "stack",
        "Many layers: does it vanish, explode or hold?",
        "The activation above, again and again. Layer 0 gets the inputs above; each layer applies "
        "it and multiplies by random weights of variance gain²/units, without bias. Dots are one "
        "such network, told by its seed; the dashed line is what infinitely wide ones do (mean "
        "field). Gradients start at the top with mean square 1.",
        controls,
        rest,
    )


def _ends() -> str:
    """Return the table of what is left of signal and gradient at the other end."""
    rows = (
        ("verdict", "After all layers it", "holds: within a factor of ten"),
        ("ratio", "this network", "signal: last layer over first; gradient: first over last"),
        ("theory", "infinitely wide", "the dashed line, in which there is no chance"),
        ("layer", "for each layer", "the dashed line's average factor"),
    )
    body = "".join(
        f'<tr><th scope="row">{name}<span class="pg-why">{why}</span></th>'
        + "".join(f'<td id="pg-{key}-{id}">–</td>' for key in ("variance", "gradient"))
        + "</tr>"
        for id, name, why in rows
    )
    return (
        '<table class="pg-ends"><caption>What is left at the other end</caption>'
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
        '<button type="button" id="pg-gate-again">Start again</button></div>'
        + _field("seed", "Seed", 1, 999, 1, 1)
        + '<p class="pg-note">The latest draws, newest first: ● let through, ○ shut.</p>'
        '<div class="pg-last" id="pg-gate-last" aria-hidden="true"></div>'
    )
    numbers = _numbers([
        ("gate-average", "Average so far", "Of x where the gate was open, 0 where it was shut."),
        ("gate-truth", "GELU(x) = x·Φ(x)", "What the average tends to."),
        ("gate-error", "Standard error", "|x|·√(Φ(1−Φ)/n): halved by four times the draws."),
        ("gate-off", "Off by, in standard errors", "Within ±2 in 95 of 100 cases."),
        ("gate-count", "Draws", "At most 100,000."),
        ("gate-open", "Let through", "How often the gate was open."),
        ("gate-p", "Φ(x)", "The chance that it is."),
    ])  # fmt: skip
    return _panel(
        "gate",
        "The soft gate: chance that averages to GELU",
        "ReLU opens its gate for positive x and shuts it otherwise. Here chance decides: x passes "
        "with probability Φ(x), the larger the likelier, else 0 comes out. On average that is "
        "GELU.",
        controls,
        _chart("gate", "Average so far; shaded: GELU(x) ± 2 standard errors") + numbers,
    )
