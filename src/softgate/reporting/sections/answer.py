"""The answer in five lines: which activation, and what it costs here. All words follow a record.

A line whose study has no record says why; the others stand.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from softgate.studies.bench.layer import Layer, LayerRow
from softgate.studies.bench.ratios import DOUBTFUL, apart
from softgate.studies.bench.record import COPY, OURS, Bench, Row
from softgate.studies.compare.record import Comparison
from softgate.studies.properties import PropertyTable

from ..section import Found, Missing, Section
from ..studies.accuracy import Accuracy
from ..studies.approximation import FORMS, Approximations
from ..studies.curves import Curves
from ..table import Markup, minus, power, shown

TITLE = "Answer"
NAMED = 2
"""So many activations are named, and those that are not told apart from the last."""
SMALL = 0.1
"""A share of a layer's time that is no reason to choose another activation."""


def section(found: Found) -> Section:
    """Return the section."""
    lines = "".join(f"<li><span>{line}</span></li>" for line in answers(found))
    lead = "<p>Which activation should I use, and what does it cost me here?</p>"
    return Section("answer", TITLE, f'{lead}<ol class="lines">{lines}</ol>{_noise(found)}')


def _noise(found: Found) -> str:
    """Return a remark where times are not to be trusted."""
    links = [
        f'<a href="#{study}">{title}</a>'
        for study, title in (("speed", "Speed"), ("layer", "Layer"))
        if _disturbed(found.records.get(study))
    ]
    if not links:
        return ""
    return (
        '<p class="note">Times were taken on a busy machine, and are to be taken with care: see '
        f"{' and '.join(links)}.</p>"
    )


def _disturbed(record: object) -> bool:
    return isinstance(record, Bench | Layer) and bool(record.warnings)


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
    most = times[timed[:NAMED][-1].function].surely
    named = [one for one in timed if times[one.function].least_ns <= most]
    names = [one.function for one in named]
    flat = [f"{100 * (one.small_slope_share or 0):.1f} %" for one in (*named, *relu[:1])]
    than = f", relu for {flat[-1]}" if relu else ""
    return (
        f"In a new network take <strong>{shown(listed(names, 'or'))}</strong>: of those timed "
        "here that are smooth, 0 at 0 and do not level off to the right, the cheapest. They are "
        f"flat (|slope| below 0.01) for {listed(flat[: len(names)])} of inputs from N(0,1){than}. "
        f"{_trains_best(found)}; in a trained network keep what it was trained with."
    )


def _trains_best(found: Found) -> str:
    """Say what a few short runs tell about quality, of which costs tell nothing."""
    try:
        record = found.take("training", Comparison)
    except Missing:
        return "Which one trains best is not measured here"
    told = any(one.verdict in ("better", "worse") for one in record.differences)
    runs = "a run" if len(record.seeds) == 1 else f"{len(record.seeds)} runs"
    return (
        f"Which one trains best {'shows in part' if told else 'does not show'} in {runs} of "
        f"{shown(record.task)} with each of {shown(listed(record.arms))} (see Training)"
    )


def listed(parts: Sequence[str], last_by: str = "and") -> str:
    """Return words as a list in a sentence.

    Examples
    --------
    >>> listed(["a"]), listed(["a", "b"]), listed(["a", "b", "c"])
    ('a', 'a and b', 'a, b and c')
    """
    *first, last = parts
    return f"{', '.join(first)} {last_by} {last}" if first else last


def _through_zero(found: Found) -> set[str]:
    known = set()
    for one in found.take("curves", Curves).functions:
        line = one.line("value")
        if dict(zip(line.x, line.y, strict=True)).get(0.0) == 0:
            known.add(one.label)
    return known


class _Cost(NamedTuple):
    """Least ns per element, and what it surely is below, given the doubt."""

    least_ns: float
    surely: float


def _times(record: Bench) -> dict[str, _Cost]:
    """Return what value and backward take together in ours, in the first setting of each."""
    found: dict[str, dict[str, _Cost]] = {}
    for row in record:
        if row.implementation == OURS and row.least_ns and row.function != COPY:
            cost = _Cost(row.least_ns, row.least_ns * (1 + (row.doubt or 0.0)))
            found.setdefault(row.function, {}).setdefault(row.quantity, cost)
    both = len({row.quantity for row in record})
    return {
        name: _Cost(*map(sum, zip(*parts.values(), strict=True)))
        for name, parts in found.items()
        if len(parts) == both
    }


def context(found: Found) -> str:
    """Say what the activation takes of a layer, and what a cheaper one could gain."""
    record = found.take("layer", Layer)
    steps = [row for row in record if row.phase == "step" and row.kind == "plain"]
    ours = [row for row in steps if row.implementation == OURS] or steps
    ours = [row for row in ours if row.activation not in _own(found)]
    if not ours:
        raise Missing("layer", "no activation was timed in a training step")
    least, most = min(ours, key=_share), max(ours, key=_share)
    gelu = next((row for row in ours if row.activation == "gelu"), most)
    gain = gelu.gain(record.reference(gelu))
    advice = "Choose by quality, not by cost" if most.share < SMALL else "The cost counts here"
    doubt = max(row.doubt for row in (least, most, gelu))
    noise = f" These shares are in doubt by up to {100 * doubt:.0f} % of their size."
    return (
        f"{advice}: in a training step of a feed-forward layer "
        f"({record.d_model} → {record.d_hidden} → {record.d_model}) {shown(gelu.implementation)}’s "
        f"activations take <strong>{100 * least.share:.1f} %</strong> ({shown(least.activation)}) "
        f"to <strong>{100 * most.share:.1f} %</strong> ({shown(most.activation)}) of the time. "
        f"{shown(gelu.activation)} swapped for relu gains at most {100 * (gain - 1):.1f} %."
        + (noise if doubt > DOUBTFUL else "")
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
    times: dict[str, float] = {}
    faster, unclear = [], []
    for name, exact, tanh in _both_forms(found.take("speed", Bench)):
        times[name] = (tanh.least_ns or 0.0) / (exact.least_ns or math.inf)
        if not apart(tanh, exact):
            unclear.append(name)
        elif times[name] < 1:
            faster.append(name)
    if not times:
        return f"The tanh form approximates gelu: {error}."
    verdict = "is no sure gain here" if unclear else "saves nothing here"
    if faster:
        only = f"is {'surely ' if unclear else ''}faster in {shown(listed(faster))} only"
        verdict = "is faster here" if len(faster) == len(times) else only
    said = listed([f"{ratio:.2f} × in {shown(name)}" for name, ratio in times.items()])
    return (
        f"The tanh form <strong>{verdict}</strong>: its value takes, beside exact gelu’s, {said}; "
        f"and {error}."
    )


def _both_forms(record: Bench) -> Iterator[tuple[str, Row, Row]]:
    """Yield who has both forms, with the times of their values: the exact one and the tanh form."""
    values: dict[tuple[str, str], Row] = {}
    for row in record:
        if row.quantity == "value" and row.least_ns:
            values.setdefault((row.implementation, row.function), row)
    for name in dict.fromkeys(name for name, _ in values):
        if {(name, "gelu"), (name, FORMS[0])} <= values.keys():
            yield name, values[name, "gelu"], values[name, FORMS[0]]


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
    equal = [one.title for one, other in others if other.max_ulp == measured.max_ulp]
    who = f"the least exact of {len(others)} others measured, {shown(listed(equal))}, "
    who += "is" if len(equal) == 1 else "are"
    if len(others) == 1:
        who = f"{shown(worst.title)} is"
    return (
        f"{says}; {who} {error} at x = {minus(f'{measured.worst.worst:.4g}')}, where "
        f"{minus(f'{measured.worst.computed:.3g}')} comes out for "
        f"{minus(f'{measured.worst.expected:.3g}')}. "
        "Whether that matters to training is not measured here."
    )


LINES: tuple[Callable[[Found], str], ...] = (which, context, element, approximate, exact)
"""What the answer consists of."""
