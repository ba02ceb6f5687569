"""What fails: against a bound, and against an older certificate."""

from __future__ import annotations

from ..accuracy.regions import ROOT
from .record import DIFFERS, Certificate, Measurement, Region
from .text import number, ulps

WORSE = 1.0 + 1e-9
"""Sums of the same errors in another order may differ by a little."""

DEFECTS = {
    "not_numbers": "results that are no number and should be one, or the other way round",
    "wrong_signs": "wrong signs",
    "lost": "zeros where the truth is a normal number",
}
"""Counts that no bound excuses."""

COUNTS = DEFECTS | {
    "wrong_zeros": "zeros of the wrong sign",
    "flushed": "zeros where the truth is a subnormal number",
    "breaks": "breaks of monotonicity",
}
"""Counts that must not grow."""


def failures(certificate: Certificate, max_ulp: float | None = None) -> tuple[str, ...]:
    """Return what fails, the worst region and input of each measurement first."""
    found = [str(finding) for finding in certificate.findings]
    if not certificate.measurements and not found:
        found.append("nothing was measured")
    for one in certificate.measurements:
        bound = one.stated_ulp if max_ulp is None else max_ulp
        if bound is not None:
            found += [f"{one.dtype} {one.quantity}, {line}" for line in _broken(one, bound)]
    return tuple(found)


def _broken(one: Measurement, bound: float) -> list[str]:
    over = [region for region in _bounded(one) if not region.max_ulp <= bound]
    found = [
        f"{region.name}: {ulps(region.max_ulp)} ulp at {region.worst!r} "
        f"({number(region.computed)} for {number(region.expected)}), allowed {bound:g}"
        for region in sorted(over, key=lambda region: -region.max_ulp)
    ]
    for region in one.regions:
        found += [
            f"{region.name}: {getattr(region, name):,} {words}"
            for name, words in DEFECTS.items()
            if getattr(region, name)
        ]
        if region.wrong_zeros and one.quantity == "value":
            found.append(f"{region.name}: {region.wrong_zeros:,} {COUNTS['wrong_zeros']}")
    found += [
        f"special values: f({s.input}) is {s.computed}, expected {s.expected}"
        for s in one.specials
        if not s.right
    ]
    found += [
        f"results depend on {d.on}: {d.detail}" for d in one.dependences if d.outcome == DIFFERS
    ]
    return found


def _bounded(one: Measurement) -> list[Region]:
    """Return the regions that a bound holds for.

    Special values are judged one by one. Beside its roots a curvature's own ulps say nothing, and
    it has no scale as slopes have: what is found there is reported, and no bound is held to it.
    """
    curved = one.quantity == "curvature"
    return [region for region in one.ordinary if not (curved and region.name.startswith(ROOT))]


def regressions(new: Certificate, old: Certificate) -> tuple[str, ...]:
    """Return what is worse in `new` than in `old`."""
    check_comparable(new, old)
    known = {str(finding) for finding in old.findings}
    found = [str(finding) for finding in new.findings if str(finding) not in known]
    for before in old.measurements:
        after = _twin(before, new)
        label = f"{before.dtype} {before.quantity}"
        if after is None:
            found.append(f"{label} is not measured any more")
        else:
            found += [f"{label}, {line}" for line in _worse(after, before)]
    return tuple(found)


def check_comparable(new: Certificate, old: Certificate) -> None:
    """Refuse two certificates that did not look at the same inputs, or as different functions."""
    if new.function != old.function:
        raise ValueError(
            f"the baseline was measured as {old.function}, this as {new.function}: "
            "certificates of one function can be compared"
        )
    for one in new.measurements:
        before = _twin(one, old)
        if before is None:
            continue
        here, there = _inputs(one, new), _inputs(before, old)
        if here != there:
            raise ValueError(
                f"the baseline's {one.dtype} {one.quantity} was measured at {there}, this at "
                f"{here}: only what looked at the same inputs can be compared"
            )


def _inputs(one: Measurement, certificate: Certificate) -> str:
    if one.exhaustive:
        return "all inputs"
    return f"{one.inputs:,} inputs of seed {certificate.seed}"


def _twin(one: Measurement, other: Certificate) -> Measurement | None:
    for twin in other.measurements:
        if (twin.quantity, twin.dtype) == (one.quantity, one.dtype):
            return twin
    return None


def not_compared(new: Certificate, old: Certificate) -> tuple[str, ...]:
    """Return the measurements and regions of `new` that `old` does not have."""
    found = []
    for one in new.measurements:
        before = _twin(one, old)
        if before is None:
            found.append(f"{one.dtype} {one.quantity}")
            continue
        known = {region.name for region in before.regions}
        found += [
            f"{one.dtype} {one.quantity}, {region.name}"
            for region in one.regions
            if region.name not in known
        ]
    return tuple(found)


def _worse(after: Measurement, before: Measurement) -> list[str]:
    found: list[str] = []
    older = {region.name: region for region in before.regions}
    for region in after.regions:
        found += _worse_region(region, older.get(region.name))
    right = {special.input: special.right for special in before.specials}
    found += [
        f"special values: f({s.input}) is {s.computed}, expected {s.expected}"
        for s in after.specials
        if not s.right and right.get(s.input, True)
    ]
    was = {d.on: d.outcome for d in before.dependences}
    found += [
        f"results depend on {d.on} now: {d.detail}"
        for d in after.dependences
        if d.outcome == DIFFERS and was.get(d.on) != DIFFERS
    ]
    return found


def _worse_region(region: Region, before: Region | None) -> list[str]:
    if before is None:
        return []
    found = []
    if not region.max_ulp <= before.max_ulp * WORSE:
        found.append(
            f"{region.name}: {ulps(region.max_ulp)} ulp at {region.worst!r}, "
            f"it was {ulps(before.max_ulp)}"
        )
    # A root that moved takes inputs along: counts compare where there are as many.
    same = region.inputs == before.inputs
    for name, words in COUNTS.items():
        new, old = getattr(region, name), getattr(before, name)
        if new > old and (same or (not old and name in DEFECTS)):
            found.append(f"{region.name}: {new:,} {words}, it was {old:,}")
    if same and region.mean_ulp > before.mean_ulp * WORSE:
        found.append(
            f"{region.name}: mean {ulps(region.mean_ulp)} ulp, it was {ulps(before.mean_ulp)}"
        )
    if same and region.rounded + region.undecided < before.rounded:
        found.append(
            f"{region.name}: {region.rounded:,} results rounded right, it was {before.rounded:,}"
        )
    return found
