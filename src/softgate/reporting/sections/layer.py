"""Layer: the activation's share of the time of a feed-forward layer, and the most it could save."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from softgate.plotting.vega import HALF, implementation, quantitative, scales
from softgate.runtime.activation import Activation
from softgate.runtime.machine import in_bytes
from softgate.studies import counted
from softgate.studies.bench.layer_measure import measure_layer
from softgate.studies.bench.layer_record import PHASES, Layer, LayerRow

from ..elements import Markup, Results, Section, coloured, figure, notes, shown, swatch, table

TITLE = "Layer"
TIMED = ("relu", "gelu", "gelu_tanh", "silu")
TOKENS = 128
"""Rows of the input: few, so that each layer is timed many times."""


def layer(
    formulas: Iterable[Activation], budget_s: float, progress: Callable[[str, float, float], None]
) -> Layer:
    """Time feed-forward layers with common activations and the user's."""
    return measure_layer([*TIMED, *formulas], tokens=TOKENS, budget=budget_s, progress=progress)


def section(results: Results) -> Section:
    """Return the activation's share of a layer's time."""
    record = results.take("layer", Layer)
    charts = {f"layer-{phase}": _chart(record, phase) for phase in PHASES}
    figures = "".join(
        figure(
            id,
            f"Share of the layer’s time: {PHASES[phase]}",
            _alternative(record, phase),
            charts[id],
        )
        for phase, id in zip(PHASES, charts, strict=True)
    )
    answers = "".join(f"<li>{shown(line)}</li>" for line in record.answers())
    body = (
        f"<p>A feed-forward layer {record.d_model} → {record.d_hidden} → {record.d_model}, "
        f"{record.tokens:,} tokens, {shown(record.dtype)}, {counted(record.threads, 'thread')}: "
        "the activation is timed inside the layer as it runs. The rest is matrix products, which "
        "are the same for every activation.</p>"
        + notes(record.warnings)
        + f'<div class="charts">{figures}</div><ul>{answers}</ul>'
        + "".join(_table(record, phase) for phase in PHASES)
    )
    return Section("layer", TITLE, body, charts)


def _rows(record: Layer, phase: str) -> list[LayerRow]:
    return [row for row in record if row.phase == phase]


def _alternative(record: Layer, phase: str) -> str:
    parts = [
        f"{row.activation} in {row.implementation}: {100 * row.share:.1f} %"
        for row in _rows(record, phase)
    ]
    return f"Share of the activation in the layer’s time, {PHASES[phase]}. {'; '.join(parts)}."


def _table(record: Layer, phase: str) -> str:
    rows = [
        (
            Markup(swatch(row.activation) + shown(row.activation)),
            Markup(coloured(implementation(row.implementation).colour) + shown(row.implementation)),
            f"{row.whole_ns / 1e6:.2f}",
            f"{row.activation_ns / 1e6:.3f}",
            f"{100 * row.share:.1f} %",
            f"{row.gain(record.reference(row)):.3f}",
            "–" if row.saved_bytes is None else in_bytes(row.saved_bytes),
        )
        for row in _rows(record, phase)
    ]
    head = (
        "activation", "framework", "layer, ms", "activation, ms", "share", "speed-up: relu, reglu",
        "saved for backward",
    )  # fmt: skip
    return table(f"Feed-forward layer, {PHASES[phase]}", head, rows, labels=2)


def _chart(record: Layer, phase: str) -> dict[str, Any]:
    rows = _rows(record, phase)
    functions = list(dict.fromkeys(row.activation for row in rows))
    names = list(dict.fromkeys(row.implementation for row in rows))
    colours, _ = scales(names, {})
    values = [
        {"function": row.activation, "f": row.implementation, "share": 100 * row.share}
        for row in rows
    ]
    return {
        "width": HALF,
        "height": 60 + 34 * len(functions),
        "data": {"values": values},
        "mark": {"type": "bar", "height": {"band": 0.8}},
        "encoding": {
            "x": quantitative("share", "% of the layer’s time", axis={"tickCount": 6}),
            "y": {
                "field": "function", "type": "nominal", "sort": None,
                "scale": {"domain": functions},
                "axis": {"title": None, "minExtent": 84, "labelLimit": 110},
            },
            "yOffset": {"field": "f", "sort": None, "scale": {"domain": names}},
            "color": {"field": "f", "scale": colours,
                      "legend": {"title": None, "orient": "top", "symbolType": "square"}},
            "tooltip": [
                {"field": "function", "title": "activation"},
                {"field": "f", "title": "framework"},
                {"field": "share", "title": "% of the time", "format": ".2f"},
            ],
        },
    }  # fmt: skip
