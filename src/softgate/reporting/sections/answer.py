"""Answer: which activation to use and what it costs on this machine, in five lines.

A line without its record shows the reason; the others are complete.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

from softgate.studies.bench.layer_record import Layer
from softgate.studies.bench.record import (
    COPY,
    OURS,
    UNCERTAIN,
    Bench,
    BenchRow,
    apart,
    comparison_noise,
)
from softgate.studies.compare.record import Comparison
from softgate.studies.compare.text import listed
from softgate.studies.properties import PropertyTable

from ..elements import Markup, MissingRecord, Results, Section, minus, power, shown
from .about import About
from .accuracy import AccuracyStudy
from .approximation import FORMS, Approximations
from .curves import Curves
from .units import UnitStudy

TITLE = "Answer"
NAMED = 2
"""The number of activations recommended, plus those within the noise of the last one."""
SMALL = 0.1
"""Below this share of a layer's time, the cost is not a reason to choose another activation."""


def section(results: Results) -> Section:
    """Return the five lines, and a warning if times are disturbed."""
    lines = "".join(f"<li><span>{line}</span></li>" for line in answers(results))
    question = "Which activation should I use, and what does it cost on this machine?"
    if model := _model(results):
        question = f"What does {shown(model)} compute, and what do activations cost here?"
    lead = f"<p>{question}</p>"
    return Section("answer", TITLE, f'{lead}<ol class="lines">{lines}</ol>{_noise(results)}')


def _noise(results: Results) -> str:
    """Return a warning if the machine was busy while times were measured."""
    links = [
        f'<a href="#{study}">{title}</a>'
        for study, title in (("speed", "Speed"), ("layer", "Layer"))
        if getattr(results.records.get(study), "warnings", ())
    ]
    if not links:
        return ""
    return (
        '<p class="note">The machine was busy while times were measured, so they may be off: see '
        f"{' and '.join(links)}.</p>"
    )


def answers(results: Results) -> Iterator[Markup]:
    """Yield the five lines as HTML."""
    for line in LINES:
        try:
            yield Markup(line(results))
        except MissingRecord as missing:
            yield Markup(f'<span class="note">Unknown: {shown(str(missing))}.</span>')


def which(results: Results) -> str:
    """Return what was observed of the user's model or, without one, the cheapest activations."""
    if model := _model(results):
        return _your_model(model, results.take("units", UnitStudy))
    return _cheapest(results)


def _model(results: Results) -> str:
    """Return the name of the user's model, or an empty string."""
    about = results.records.get("about")
    return about.model if isinstance(about, About) else ""


def _your_model(model: str, study: UnitStudy) -> str:
    """Return the activations of the user's model, the problems of its units, and replacements."""
    parts = ["its activations were not identified"]
    if study.scan is not None:
        counts = [f"{function} ({count} ×)" for function, count in study.scan.counts.items()]
        parts = [f"it computes {listed(counts)}" if counts else "it computes no known activation"]
    for network in study.watched:
        sites, problems = len(network.seen.sites), [f.text for f in network.seen.findings]
        observed = "no problems"
        if problems:
            observed = f"{len(problems)} problem{'s' * (len(problems) > 1)}, first: {problems[0]}"
        parts.append(f"{sites} were observed on the data: {observed}")
    parts += [
        f"with {change.replacement} in place of the most used one, and without further training, "
        f"its outputs change by {100 * change.outputs_moved:.2g} % of their norm"
        for change in study.replacements
    ]
    return f"<strong>{shown(model)}</strong>: {shown('; '.join(parts))} (see Units)."


def _cheapest(results: Results) -> str:
    """Return the cheapest smooth activations that are 0 at 0 and unbounded above."""
    properties = results.take("properties", PropertyTable)
    through_zero = _through_zero(results)
    candidates = [
        p
        for p in properties
        if p.smoothness == "smooth"
        and p.limits[1] == math.inf
        and p.function in through_zero
        and p.function not in FORMS
        and p.function != "identity"
    ]
    relu = [p for p in properties if p.function == "relu"]
    times = _times(results.take("speed", Bench))
    timed = sorted((p for p in candidates if p.function in times), key=lambda p: times[p.function])
    if not timed:
        raise MissingRecord("speed", "no activation was timed that is smooth and 0 at 0")
    most_ns = times[timed[:NAMED][-1].function].upper_ns
    chosen = [p for p in timed if times[p.function].least_ns <= most_ns]
    names = [p.function for p in chosen]
    flat = [f"{100 * (p.small_slope_share or 0):.1f} %" for p in (*chosen, *relu[:1])]
    than = f", that of relu for {flat[-1]}" if relu else ""
    verb, their = ("is", "Its") if len(names) == 1 else ("are", "Their")
    return (
        "Of the timed activations that are smooth, 0 at 0 and unbounded for large x, "
        f"<strong>{shown(listed(names))}</strong> {verb} the cheapest. {their} slope is "
        f"below 0.01 in magnitude for {listed(flat[: len(names)])} of inputs from N(0,1){than}. "
        f"{_trains_best(results)}. For a trained network, keep the activation it was trained with."
    )


def _trains_best(results: Results) -> str:
    """Return what the training runs show about the quality of the trained network."""
    try:
        record = results.take("training", Comparison)
    except MissingRecord:
        return "Which activation trains best was not measured"
    attainable = record.attainable_p
    compared = [d for d in record.differences if d.verdict != "not compared"]
    if attainable is None or not compared:
        return "Which activation trains best was not compared"
    seeds = "1 seed" if attainable.seeds == 1 else f"{attainable.seeds} seeds"
    study = f"{seeds} of {shown(record.task)} with each of {shown(listed(record.arms))}"
    if not attainable.enough:
        return (
            f"Which activation trains best is not known: {study} cannot show a difference in "
            f"quality, however large it is; {attainable.needed} seeds can (see Training)"
        )
    differing = [d for d in compared if d.verdict in ("better", "worse")]
    if differing:
        verdicts = [
            f"{d.arm} was {d.verdict} than {d.other}{f' with {d.condition}' * bool(d.condition)}"
            for d in differing
        ]
        return f"In {study}, {shown(listed(verdicts))} (see Training)"
    bounds = [abs(bound) for d in compared if (i := d.interval) for bound in (i.low, i.high)]
    small = "a small one" if not bounds else f"one of up to {record.score_format.size(max(bounds))}"
    return (
        f"No difference in quality was detected in {study}; {shown(small)} is possible "
        "(see Training)"
    )


def _through_zero(results: Results) -> set[str]:
    """Return the labels of the functions with f(0) = 0."""
    labels = set()
    for function in results.take("curves", Curves).functions:
        line = function.line("value")
        if dict(zip(line.x, line.y, strict=True)).get(0.0) == 0:
            labels.add(function.label)
    return labels


class _Cost(NamedTuple):
    """The shortest time per element in ns, and its upper bound given the uncertainty."""

    least_ns: float
    upper_ns: float


def _times(record: Bench) -> dict[str, _Cost]:
    """Return the time of value and backward together in softgate, in the first setting of each."""
    costs: dict[str, dict[str, _Cost]] = {}
    noise = comparison_noise(record)
    for row in record:
        if row.implementation == OURS and row.least_ns and row.function != COPY:
            uncertainty = max(row.relative_uncertainty or 0.0, noise)
            cost = _Cost(row.least_ns, row.least_ns * (1 + uncertainty))
            costs.setdefault(row.function, {}).setdefault(row.quantity, cost)
    quantities = len({row.quantity for row in record})
    return {
        name: _Cost(*map(sum, zip(*parts.values(), strict=True)))
        for name, parts in costs.items()
        if len(parts) == quantities
    }


def context(results: Results) -> str:
    """Return the activation's share of a layer's time, and the gain from replacing gelu by relu."""
    record = results.take("layer", Layer)
    steps = [row for row in record if row.phase == "step" and row.kind == "plain"]
    ours = [row for row in steps if row.implementation == OURS] or steps
    ours = [row for row in ours if row.activation not in _user_formulas(results)]
    if not ours:
        raise MissingRecord("layer", "no activation was timed in a training step")
    ours.sort(key=lambda row: row.share)
    least, most = ours[0], ours[-1]
    gelu = next((row for row in ours if row.activation == "gelu"), most)
    gain = gelu.gain(record.reference(gelu))
    small = most.share < SMALL
    advice = "Choose by quality, not by cost" if small else "The cost of the activation matters"
    uncertainty = max(row.relative_uncertainty for row in (least, most, gelu))
    other = f", not a layer of {shown(model)}" if (model := _model(results)) else ""
    noise = f" The uncertainty of these shares is up to {100 * uncertainty:.0f} % of their value."
    return (
        f"{advice}: in a training step of a feed-forward layer "
        f"({record.d_model} → {record.d_hidden} → {record.d_model}{other}) "
        f"{shown(gelu.implementation)}’s activations take "
        f"<strong>{100 * least.share:.1f} %</strong> ({shown(least.activation)}) "
        f"to <strong>{100 * most.share:.1f} %</strong> ({shown(most.activation)}) of the time. "
        f"Replacing {shown(gelu.activation)} by relu makes the step at most "
        f"{100 * (max(gain - 1, 0.0) + uncertainty * gelu.share):.1f} % faster."
        + (noise if uncertainty > UNCERTAIN else "")
    )


def _user_formulas(results: Results) -> set[str]:
    """Return the labels of the user's formulas."""
    return {f.label for f in results.take("curves", Curves).functions if f.own}


def element(results: Results) -> str:
    """Return the time per element of gelu in softgate and the fastest peer, and of formulas."""
    record = results.take("speed", Bench)
    rows = [r for r in record if r.function == "gelu" and r.quantity == "value" and r.least_ns]
    ours = next((row for row in rows if row.implementation == OURS), None)
    if ours is None or ours.least_ns is None:
        raise MissingRecord("speed", "gelu was not timed")
    parts = [f"gelu takes <strong>{ours.least_ns:.2f} ns</strong> per element"]
    if ours.ratio_to_relu:
        parts.append(f", {ours.ratio_to_relu:.1f} × relu")
    others = [row for row in rows if row.implementation != OURS]
    if others:
        best = min(others, key=lambda row: row.least_ns or math.inf)
        parts.append(
            f"; the fastest other installed implementation, {shown(best.implementation)}, takes "
            f"{best.least_ns:.2f} ns"
        )
    user_formulas = _user_formulas(results)
    parts += [
        f"; your {shown(row.function)} takes {row.least_ns:.2f} ns"
        for row in record
        if row.function in user_formulas and row.quantity == "value" and row.least_ns
    ]
    return "".join(parts) + "."


def approximate(results: Results) -> str:
    """Return the error of the tanh form, and whether it is faster than exact gelu."""
    form = next(
        f for f in results.take("approximation", Approximations).functions if f.name == FORMS[0]
    )
    error = f"its error is up to {power(form.largest)} (at x = ±{abs(form.largest_at):.2f})"
    times: dict[str, float] = {}
    faster, unclear = [], []
    speed = results.take("speed", Bench)
    noise = comparison_noise(speed)
    for name, exact, tanh in _both_forms(speed):
        times[name] = (tanh.least_ns or 0.0) / (exact.least_ns or math.inf)
        if not apart(tanh, exact, noise):
            unclear.append(name)
        elif times[name] < 1:
            faster.append(name)
    if not times:
        return f"The tanh form approximates gelu: {error}."
    verdict = "is not measurably faster" if unclear else "is not faster"
    if faster:
        only = f"is {'measurably ' if unclear else ''}faster only in {shown(listed(faster))}"
        verdict = "is faster" if len(faster) == len(times) else only
    within = f" (differences below {100 * noise:.2g} % are noise)" if unclear and noise else ""
    ratios = listed([f"{ratio:.2f} × in {shown(name)}" for name, ratio in times.items()])
    return (
        f"The tanh form of gelu <strong>{verdict}</strong>: the time of its value, relative to "
        f"exact gelu, is {ratios}{within}; {error}."
    )


def _both_forms(record: Bench) -> Iterator[tuple[str, BenchRow, BenchRow]]:
    """Yield each implementation that has both forms, with the times of exact gelu and tanh form."""
    values: dict[tuple[str, str], BenchRow] = {}
    for row in record:
        if row.quantity == "value" and row.least_ns:
            values.setdefault((row.implementation, row.function), row)
    for name in dict.fromkeys(name for name, _ in values):
        if {(name, "gelu"), (name, FORMS[0])} <= values.keys():
            yield name, values[name, "gelu"], values[name, FORMS[0]]


def exact(results: Results) -> str:
    """Return the largest error of softgate's gelu, and of the least accurate peer."""
    values = [
        (certified, measurement)
        for certified in results.take("accuracy", AccuracyStudy).certified
        for measurement in certified.certificate
        if certified.function == "gelu" and measurement.quantity == "value"
    ]
    ours = [measurement for certified, measurement in values if certified.implementation == OURS]
    others = [pair for pair in values if pair[0].implementation != OURS]
    if not ours:
        raise MissingRecord("accuracy", "gelu was not certified")
    line = (
        f"The error of softgate’s gelu is at most <strong>{ours[0].max_ulp:.2f} ulp</strong> at "
        "every float32 input tested"
    )
    if not others:
        return line + "."
    most_ulp = max(measurement.max_ulp for _, measurement in others)
    least_accurate = [pair for pair in others if pair[1].max_ulp == most_ulp]
    titles = shown(listed([certified.title for certified, _ in least_accurate]))
    if len(others) > len(least_accurate):
        titles = f"the least accurate of {len(others)} other implementations, {titles},"
    plural = len(least_accurate) > 1
    worst = least_accurate[0][1].worst
    x, returned, expected = (
        minus(text)
        for text in (f"{worst.worst:.4g}", f"{worst.computed:.3g}", f"{worst.expected:.3g}")
    )
    error = f"{'are' if plural else 'is'} off by {most_ulp:,.0f} ulp"
    if math.isinf(most_ulp):
        error = ("overflow" if math.isinf(worst.computed) else "fail") + ("" if plural else "s")
    return (
        f"{line}; {titles} {error} at x = {x}: returned {returned}, expected {expected}. "
        "The effect on training was not measured."
    )


LINES: tuple[Callable[[Results], str], ...] = (which, context, element, approximate, exact)
"""The functions that return the five lines."""
