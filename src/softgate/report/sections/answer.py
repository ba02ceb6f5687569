"""The answer in five lines: which activation, and what it costs here. All words follow a record.

A line whose study has no record says why; the others stand.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from ..._properties import PropertyTable
from ...benchmarking.layer import Layer, LayerRow
from ...benchmarking.record import COPY, OURS, Bench, Row
from ...benchmarking.relations import apart
from ..section import Found, Missing, Section
from ..studies.accuracy import Accuracy
from ..studies.approximation import FORMS, Approximations
from ..studies.curves import Curves
from ..table import Markup, minus, power, shown

TITLE = "Answer"
NAMED = 2
"""So many activations are named."""


def section(found: Found) -> Section:
    """Return the section."""
    lines = "".join(f"<li><span>{line}</span></li>" for line in answers(found))
    lead = "<p>Which activation should I use, and what does it cost me here?</p>"
    return Section("answer", TITLE, f'{lead}<ol class="lines">{lines}</ol>{_noise(found)}')


def _noise(found: Found) -> str:
    """Return a remark where times are not to be trusted."""
    try:
        warnings = found.take("speed", Bench).warnings
    except Missing:
        return ""
    if not warnings:
        return ""
    return (
        '<p class="note">Times were taken on a busy machine, and are to be taken with care: see '
        '<a href="#speed">Speed</a>.</p>'
    )


def answers(found: Found) -> Iterator[Markup]:
    """Yield the five lines as HTML."""
    for line in LINES:
        try:
            yield Markup(line(found))
        except Missing as missing:
            yield Markup(f'<span class="note">Not known: {shown(str(missing))}.</span>')


def which(found: Found) -> str:
    """Name the cheapest of those that are smooth, 0 at 0, and do not level off to the right."""
    fit = [
        one
        for one in found.take("properties", PropertyTable)
        if one.smoothness == "smooth"
        and one.limits[1] == math.inf
        and one.function in _through_zero(found)
        and one.function not in FORMS
        and one.function != "identity"
    ]
    relu = [one for one in found.take("properties", PropertyTable) if one.function == "relu"]
    times = _times(found.take("speed", Bench))
    timed = sorted((one for one in fit if one.function in times), key=lambda p: times[p.function])
    if not timed:
        raise Missing("speed", "no activation was timed that is smooth and 0 at 0")
    names = [one.function for one in timed[:NAMED]]
    flat = [f"{100 * (one.small_slope_share or 0):.1f} %" for one in (*timed[:NAMED], *relu[:1])]
    asides = " and ".join(flat[: len(names)])
    than = f", relu for {flat[-1]}" if relu else ""
    return (
        f"In a new network take <strong>{' or '.join(map(shown, names))}</strong>: of those timed "
        "here that are smooth, 0 at 0 and do not level off to the right, the cheapest. They are "
        f"flat (|slope| below 0.01) for {asides} of inputs from N(0,1){than}. In a trained network "
        "keep what it was trained with."
    )


def _through_zero(found: Found) -> set[str]:
    known = set()
    for one in found.take("curves", Curves).functions:
        line = one.line("value")
        if dict(zip(line.x, line.y, strict=True)).get(0.0) == 0:
            known.add(one.label)
    return known


def _times(record: Bench, implementation: str = OURS) -> dict[str, float]:
    """Return ns per element of value and backward together, in the first setting of each."""
    found: dict[str, dict[str, float]] = {}
    for row in record:
        if row.implementation == implementation and row.least_ns and row.function != COPY:
            found.setdefault(row.function, {}).setdefault(row.quantity, row.least_ns)
    both = len({row.quantity for row in record})
    return {name: sum(parts.values()) for name, parts in found.items() if len(parts) == both}


def context(found: Found) -> str:
    """Say what the activation takes of a layer, and what a cheaper one could gain."""
    record = found.take("layer", Layer)
    steps = [row for row in record if row.phase == "step" and row.kind == "plain"]
    ours = [row for row in steps if row.implementation == OURS] or steps
    ours = [row for row in ours if row.activation not in _own(found)]
    least, most = min(ours, key=_share), max(ours, key=_share)
    gelu = next((row for row in ours if row.activation == "gelu"), most)
    gain = gelu.gain(record.reference(gelu))
    return (
        f"Choose by quality, not by cost: in a training step of a feed-forward layer "
        f"({record.d_model} → {record.d_hidden} → {record.d_model}) softgate’s activations take "
        f"<strong>{100 * least.share:.1f} %</strong> ({shown(least.activation)}) to "
        f"<strong>{100 * most.share:.1f} %</strong> ({shown(most.activation)}) of the time. "
        f"{shown(gelu.activation)} swapped for relu gains at most "
        f"{100 * (gain - 1):.1f} %."
    )


def _own(found: Found) -> set[str]:
    """Return the names of formulas of the user's."""
    return {one.label for one in found.take("curves", Curves).functions if one.own}


def _share(row: LayerRow) -> float:
    return row.share


def element(found: Found) -> str:
    """Say what an element costs, ours and the fastest other's, and a formula of the user's."""
    record = found.take("speed", Bench)
    rows = [r for r in record if r.function == "gelu" and r.quantity == "value" and r.least_ns]
    mine = next((row for row in rows if row.implementation == OURS), None)
    if mine is None or mine.least_ns is None:
        raise Missing("speed", "gelu was not timed")
    parts = [f"gelu costs <strong>{mine.least_ns:.2f} ns</strong> an element here"]
    if mine.x_relu:
        parts.append(f", {mine.x_relu:.1f} × relu")
    others = [row for row in rows if row.implementation != OURS]
    if others:
        best = min(others, key=lambda row: row.least_ns or math.inf)
        parts.append(
            f"; the fastest other implementation installed, {shown(best.implementation)}, takes "
            f"{best.least_ns:.2f} ns"
        )
    own = _own(found)
    parts += [
        f"; your {shown(row.function)} takes {row.least_ns:.2f} ns"
        for row in record
        if row.function in own and row.quantity == "value" and row.least_ns
    ]
    return "".join(parts) + "."


def approximate(found: Found) -> str:
    """Say what the tanh form costs and saves."""
    form = next(
        f for f in found.take("approximation", Approximations).functions if f.name == FORMS[0]
    )
    error = f"it is off by up to {power(form.largest)} (at x = ±{abs(form.largest_at):.2f})"
    record = found.take("speed", Bench)
    said, gains = [], set[bool | None]()
    for name in (OURS, "torch"):
        exact, tanh = (_value(record, f, name) for f in ("gelu", FORMS[0]))
        if exact is None or tanh is None or not exact.least_ns or not tanh.least_ns:
            continue
        ratio = tanh.least_ns / exact.least_ns
        gains.add(ratio < 1 if apart(tanh, exact) else None)
        said.append(f"{ratio:.2f} × the time of exact gelu in {name}")
    if not said:
        return f"The tanh form approximates gelu: {error}."
    verdict = "is no sure gain here"
    if len(gains) == 1 and None not in gains:
        verdict = "is faster here" if True in gains else "saves nothing here"
    return f"The tanh form <strong>{verdict}</strong>: {' and '.join(said)}; and {error}."


def _value(record: Bench, function: str, implementation: str) -> Row | None:
    for row in record:
        if (row.function, row.implementation, row.quantity) == (function, implementation, "value"):
            return row
    return None


def exact(found: Found) -> str:
    """Say how exact ours are, and the least exact that is installed."""
    values = [
        (one, measured)
        for one in found.take("accuracy", Accuracy).certified
        for measured in one.certificate
        if one.function == "gelu" and measured.quantity == "value"
    ]
    mine = [measured for one, measured in values if one.implementation == OURS]
    others = [(one, measured) for one, measured in values if one.implementation != OURS]
    if not mine:
        raise Missing("accuracy", "gelu was not certified")
    says = (
        f"softgate’s gelu is within <strong>{mine[0].max_ulp:.2f} ulp</strong> at every float32 "
        f"input tried"
    )
    if not others:
        return says + "."
    worst, measured = max(others, key=lambda pair: pair[1].max_ulp)
    error = "no number" if math.isinf(measured.max_ulp) else f"{measured.max_ulp:,.0f} ulp off"
    return (
        f"{says}; the least exact one installed, {shown(worst.title)}, is {error} at x = "
        f"{minus(f'{measured.worst.worst:.4g}')}, in the tail, where it returns "
        f"{minus(f'{measured.worst.computed:.3g}')} for {minus(f'{measured.worst.expected:.3g}')}. "
        "That it matters to training is not known."
    )


LINES: tuple[Callable[[Found], str], ...] = (which, context, element, approximate, exact)
"""What the answer consists of."""
