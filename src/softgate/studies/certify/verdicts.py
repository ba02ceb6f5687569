"""Failures of a certificate: against a bound, and against an older certificate."""

from __future__ import annotations

from ..accuracy.regions import ROOT
from .record import DIFFERS, Certificate, Measurement, RegionErrors
from .text import number, ulps

WORSE = 1.0 + 1e-9
"""Tolerance for sums of the same errors in another order."""

DEFECTS = {
    "not_numbers": "results with NaN or inf for a finite truth, or the other way round",
    "wrong_signs": "wrong signs",
    "lost": "zeros where the truth is a normal number",
}
"""Counts that fail with every bound."""

COUNTS = DEFECTS | {
    "wrong_zeros": "zeros of the wrong sign",
    "flushed": "zeros where the truth is a subnormal number",
    "breaks": "breaks of monotonicity",
}
"""Counts that must not grow."""


def failures(certificate: Certificate, max_ulp: float | None = None) -> tuple[str, ...]:
    """Return what fails, the worst region and input of each measurement first."""
    lines = [str(finding) for finding in certificate.findings]
    if not certificate.measurements and not lines:
        lines.append("nothing was measured")
    for measurement in certificate.measurements:
        bound = measurement.stated_ulp if max_ulp is None else max_ulp
        if bound is not None:
            lines += [
                f"{measurement.dtype} {measurement.quantity}, {line}"
                for line in _broken(measurement, bound)
            ]
    return tuple(lines)


def _broken(measurement: Measurement, bound: float) -> list[str]:
    over = [region for region in _bounded(measurement) if not region.max_ulp <= bound]
    lines = [
        f"{region.name}: {ulps(region.max_ulp)} ulp at {region.worst!r} "
        f"({number(region.computed)} for {number(region.expected)}), allowed {bound:g}"
        for region in sorted(over, key=lambda region: -region.max_ulp)
    ]
    for region in measurement.regions:
        lines += [
            f"{region.name}: {getattr(region, name):,} {words}"
            for name, words in DEFECTS.items()
            if getattr(region, name)
        ]
        if region.wrong_zeros and measurement.quantity == "value":
            lines.append(f"{region.name}: {region.wrong_zeros:,} {COUNTS['wrong_zeros']}")
    lines += [
        f"special values: f({s.input}) is {s.computed}, expected {s.expected}"
        for s in measurement.specials
        if not s.right
    ]
    lines += [
        f"results depend on {d.on}: {d.detail}"
        for d in measurement.dependences
        if d.outcome == DIFFERS
    ]
    return lines


def _bounded(measurement: Measurement) -> list[RegionErrors]:
    """Return the regions to which an error bound applies.

    Special values are checked individually. Near a root of the curvature its ulp is meaningless,
    and there is no other scale, unlike for slopes: errors there are reported, but not bounded.
    """
    curved = measurement.quantity == "curvature"
    return [
        region for region in measurement.ordinary if not (curved and region.name.startswith(ROOT))
    ]


def regressions(new: Certificate, old: Certificate) -> tuple[str, ...]:
    """Return what is worse in `new` than in `old`."""
    check_comparable(new, old)
    known = {str(finding) for finding in old.findings}
    lines = [str(finding) for finding in new.findings if str(finding) not in known]
    for before in old.measurements:
        after = _counterpart(before, new)
        label = f"{before.dtype} {before.quantity}"
        if after is None:
            lines.append(f"{label} is not measured any more")
        else:
            lines += [f"{label}, {line}" for line in _worse(after, before)]
    return tuple(lines)


def check_comparable(new: Certificate, old: Certificate) -> None:
    """Raise ValueError if two certificates have different functions or different inputs."""
    if new.function != old.function:
        raise ValueError(
            f"the baseline was measured as {old.function}, this as {new.function}: "
            "only certificates of the same function can be compared"
        )
    for measurement in new.measurements:
        before = _counterpart(measurement, old)
        if before is None:
            continue
        here, there = _inputs(measurement, new), _inputs(before, old)
        if here != there:
            raise ValueError(
                f"the baseline's {measurement.dtype} {measurement.quantity} was measured at "
                f"{there}, this at {here}: only measurements at the same inputs can be compared"
            )


def _inputs(measurement: Measurement, certificate: Certificate) -> str:
    if measurement.exhaustive:
        return "all inputs"
    return f"{measurement.inputs:,} inputs of seed {certificate.seed}"


def _counterpart(measurement: Measurement, other: Certificate) -> Measurement | None:
    try:
        return other.find(measurement.quantity, measurement.dtype)
    except KeyError:
        return None


def not_compared(new: Certificate, old: Certificate) -> tuple[str, ...]:
    """Return the measurements and regions of `new` that `old` does not have."""
    lines = []
    for measurement in new.measurements:
        before = _counterpart(measurement, old)
        if before is None:
            lines.append(f"{measurement.dtype} {measurement.quantity}")
            continue
        known = {region.name for region in before.regions}
        lines += [
            f"{measurement.dtype} {measurement.quantity}, {region.name}"
            for region in measurement.regions
            if region.name not in known
        ]
    return tuple(lines)


def _worse(after: Measurement, before: Measurement) -> list[str]:
    lines: list[str] = []
    older = {region.name: region for region in before.regions}
    for region in after.regions:
        lines += _worse_region(region, older.get(region.name))
    right = {special.input: special.right for special in before.specials}
    lines += [
        f"special values: f({s.input}) is {s.computed}, expected {s.expected}"
        for s in after.specials
        if not s.right and right.get(s.input, True)
    ]
    was = {d.on: d.outcome for d in before.dependences}
    lines += [
        f"results depend on {d.on} now: {d.detail}"
        for d in after.dependences
        if d.outcome == DIFFERS and was.get(d.on) != DIFFERS
    ]
    return lines


def _worse_region(region: RegionErrors, before: RegionErrors | None) -> list[str]:
    if before is None:
        return []
    lines = []
    if not region.max_ulp <= before.max_ulp * WORSE:
        lines.append(
            f"{region.name}: {ulps(region.max_ulp)} ulp at {region.worst!r}, "
            f"it was {ulps(before.max_ulp)}"
        )
    # If a root moved, its region has other inputs: then only new defects count.
    same = region.inputs == before.inputs
    for name, words in COUNTS.items():
        new, old = getattr(region, name), getattr(before, name)
        if new > old and (same or (not old and name in DEFECTS)):
            lines.append(f"{region.name}: {new:,} {words}, it was {old:,}")
    if same and region.mean_ulp > before.mean_ulp * WORSE:
        lines.append(
            f"{region.name}: mean {ulps(region.mean_ulp)} ulp, it was {ulps(before.mean_ulp)}"
        )
    if same and region.rounded + region.undecided < before.rounded:
        lines.append(
            f"{region.name}: {region.rounded:,} results correctly rounded, it was "
            f"{before.rounded:,}"
        )
    return lines
