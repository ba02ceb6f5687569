"""From the sums of a watch to a record."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from softgate.lower.column_sums import FIELDS

from . import record
from .histogram import HALF
from .history import Moment
from .stream import Float64s, Stream, flat, moments, row
from .thresholds import Thresholds
from .verdicts import findings

DIGITS = 6


def diagnosis(
    streams: Iterable[Stream],
    thresholds: Thresholds,
    *,
    model: str,
    steps: int,
    every: int,
    unseen: Sequence[record.Unseen] = (),
    loss: str = "",
    trained: bool = True,
) -> record.Diagnosis:
    """Return the record of what streams saw, in the order in which they ran.

    Where weights did not change, the last inputs say no more than all of them.
    """
    seen = [stream for stream in streams if stream.sums is not None]
    squares = [_mean_square(stream) for stream in seen]
    before = [None, *squares][: len(squares)]
    least = thresholds.inputs if trained else None
    sites = tuple(site(*parts, least) for parts in zip(seen, squares, before, strict=True))
    ratio = _ratio(sites)
    looked_at = -(-steps // every)
    return record.Diagnosis(
        model=model,
        steps=steps,
        looked_at=looked_at,
        every=every,
        thresholds=thresholds,
        sites=sites,
        gradient_ratio=ratio,
        unseen=tuple(unseen),
        loss=loss if any(one.gradient_output is not None for one in sites) else "",
        findings=findings(sites, ratio, unseen, steps, thresholds),
    )


def site(stream: Stream, square: float, before: float | None, least: int | None) -> record.Site:
    """Return the record of one site; `square` and `before` are mean squares of outputs.

    `least` inputs at least say what units were lately; None where that is what they always were.
    """
    sums = np.zeros((1 + len(FIELDS), stream.units)) if stream.sums is None else stream.sums
    count = row(sums, "finite")
    total = max(float(count.sum()), 1.0)
    mean, sd, skew = _whole(sums)
    inputs = float(row(sums, "input_square").sum()) / total
    gain = math.sqrt(square / inputs) if inputs > 0 else None
    flows = {which: flow.norm for which, flow in stream.flows.items()}
    return record.Site(
        name=stream.name,
        function=stream.function,
        units=stream.units,
        dtype=stream.dtype,
        calls=stream.calls,
        inputs=stream.rows,
        flat=float(flat(sums).sum()) / total,
        negative=float(row(sums, "falling").sum()) / total,
        saturated=float(row(sums, "saturated").sum()) / total if stream.bounded else None,
        openness=float(row(sums, "openness").sum()) / total if stream.gate else None,
        mean=mean,
        sd=sd,
        skew=skew,
        activation_gain=gain,
        layer_gain=math.sqrt(square / before) if before else None,
        gradient_output=flows.get("output"),
        gradient_input=flows.get("input"),
        not_finite=tuple(
            record.NotFinite(where, trouble.count, trouble.first_step)
            for where, trouble in stream.troubles.items()
        ),
        sampled=stream.sampled / max(stream.rows * stream.units, 1),
        unit=_units(stream, sums, least),
        history=tuple(map(_histogram, stream.history.moments)),
        multiplied=stream.multiplied,
    )


def _units(stream: Stream, sums: Float64s, least: int | None) -> record.Units:
    count = row(sums, "finite")
    mean, sd, skew = moments(count, *(row(sums, name) for name in ("first", "second", "third")))
    dead = (flat(sums) >= count) & (count > 0)
    # Rising by less than `flat`, or falling: never does the slope lead such a unit up again.
    stuck = (
        stream.valley & (row(sums, "rising_little") >= count) & (row(sums, "falling") > 0) & ~dead
    )
    last = None if least is None else stream.history.lately(least)
    lately = dead if last is None else last.dead
    with np.errstate(all="ignore"):
        return record.Units(
            flat=_numbers(flat(sums) / count),
            negative=_numbers(row(sums, "falling") / count),
            saturated=_numbers(row(sums, "saturated") / count) if stream.bounded else None,
            openness=_numbers(row(sums, "openness") / count) if stream.gate else None,
            mean=_numbers(mean + sums[0]),
            sd=_numbers(sd),
            skew=_numbers(skew),
            dead=_which(dead),
            dead_lately=_which(lately),
            trapped=_which(stuck),
        )


def _whole(sums: Float64s) -> tuple[float, float, float]:
    """Return mean, sd and skew of all outputs of a site: the units' moments, put together."""
    count = row(sums, "finite")
    used = count > 0
    if not used.any():
        return math.nan, math.nan, math.nan
    parts = (row(sums, name)[used] for name in ("first", "second", "third"))
    n = count[used]
    mean, sd, skew = moments(n, *parts)
    mean = mean + sums[0][used]
    weight = n / n.sum()
    middle = float((weight * mean).sum())
    apart = mean - middle
    variance = float((weight * (sd**2 + apart**2)).sum())
    third = float((weight * (skew * sd**3 + 3 * apart * sd**2 + apart**3)).sum())
    return middle, math.sqrt(variance), third / variance**1.5 if variance > 0 else 0.0


def _mean_square(stream: Stream) -> float:
    assert stream.sums is not None
    mean, sd, _ = _whole(stream.sums)
    return mean**2 + sd**2 if math.isfinite(mean) else 0.0


def _ratio(sites: Sequence[record.Site]) -> float | None:
    """Return the gradient's norm at the first site that has one over that at the last."""
    norms = [site.gradient_input for site in sites if site.gradient_input is not None]
    if len(norms) < 2:
        return None
    return norms[0] / norms[-1] if norms[-1] > 0 else math.nan


def _histogram(moment: Moment) -> record.Histogram:
    counts = moment.outputs.counts
    used = np.flatnonzero(counts)
    first, last = (int(used[0]), int(used[-1])) if used.size else (HALF, HALF)
    width = math.ldexp(1.0, moment.outputs.exponent)
    return record.Histogram(
        first_step=moment.first_step,
        last_step=moment.last_step,
        dead=int(moment.dead.sum()),
        low=(first - HALF) * width,
        width=width,
        counts=tuple(int(n) for n in counts[first : last + 1]),
    )


def _numbers(values: Float64s) -> tuple[float, ...]:
    return tuple(float(f"{value:.{DIGITS}g}") for value in values.tolist())


def _which(units: npt.NDArray[np.bool_]) -> tuple[int, ...]:
    return tuple(int(i) for i in np.flatnonzero(units))
