"""A certificate as tables: a summary, the regions of each measurement, what else was looked at."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

from softgate.runtime.records import Cell, Grid

from .record import DIFFERS, NOT_TESTED, Measurement, Region

if TYPE_CHECKING:
    from .record import Certificate

COUNTS = {
    "not_numbers": "no number",
    "wrong_signs": "wrong sign",
    "wrong_zeros": "wrong ±0",
    "lost": "0 for a normal",
    "flushed": "0 for a subnormal",
    "breaks": "not monotone",
}
"""What is counted, and the words at the head of its column."""


def ulps(value: float) -> str:
    """Return an error as people read it."""
    if value == float("inf"):
        return "inf"
    if value >= 1e5:
        return f"{value:.2e}"
    return f"{value:.4f}" if value < 10 else f"{value:.1f}"


def number(x: float) -> str:
    """Return an input or a result."""
    return f"{x:.8g}"


def share(region: Region | Measurement) -> str:
    """Return the share of results rounded right, never 100 % where one is not."""
    text = f"{100 * region.rounded_share:.2f} %"
    undecided = region.undecided if isinstance(region, Region) else region.total("undecided")
    if text == "100.00 %" and region.rounded_share < 1:
        text = "99.99+ %"
    return f"{text} (+{undecided:,} ?)" if undecided else text


def grids(certificate: Certificate) -> tuple[Grid, ...]:
    """Return everything that is shown, from the summary to what was not tested."""
    shown = [_summary(certificate)]
    shown += [_regions(measurement) for measurement in certificate.measurements]
    shown += [_behaviour(certificate.measurements)] if certificate.measurements else []
    wrong = tuple(line for one in certificate.measurements for line in _wrong(one))
    if wrong:
        head = ("dtype", "quantity", "of", "in detail")
        shown.append(Grid("Wrong", head, wrong, labels=2, text=True))
    if certificate.findings:
        found = tuple((f.dtype, f.quantity, f.kind, f.message) for f in certificate.findings)
        head = ("dtype", "quantity", "what it did", "in detail")
        shown.append(Grid("Findings", head, found, labels=2, text=True))
    shown.append(_untested(certificate))
    return tuple(shown)


def _summary(certificate: Certificate) -> Grid:
    packages = ", ".join(f"{name} {version}" for name, version in certificate.versions.items())
    title = (
        f"{certificate.subject} measured as {certificate.function}\n"
        f"{packages}; {certificate.machine}"
    )
    head = ("dtype", "quantity", "inputs", "max ulp", "at", "mean ulp", "rounded right")
    stated = any(one.stated_ulp is not None for one in certificate.measurements)
    names = (*head, *COUNTS.values(), *(("stated ulp",) if stated else ()))
    return Grid(title, names, tuple(_line(one, stated) for one in certificate.measurements), 2)


def _line(one: Measurement, stated: bool) -> tuple[str, ...]:
    worst = one.worst
    cells = (
        one.dtype,
        one.quantity,
        f"{one.inputs:,}{' (all)' if one.exhaustive else ''}",
        ulps(worst.max_ulp),
        number(worst.worst),
        ulps(one.mean_ulp),
        share(one),
        *(f"{one.total(name):,}" for name in COUNTS),
    )
    bound = "" if one.stated_ulp is None else f"{one.stated_ulp:g}"
    return (*cells, bound) if stated else cells


def _regions(one: Measurement) -> Grid:
    kinds = [name for name in COUNTS if one.total(name)]
    rows = tuple(
        (
            region.name,
            f"{region.inputs:,}",
            ulps(region.max_ulp),
            ulps(region.mean_ulp),
            share(region),
            *(f"{getattr(region, name):,}" for name in kinds),
            number(region.worst),
            number(region.computed),
            number(region.expected),
        )
        for region in one.regions
    )
    head = ("region", "inputs", "max ulp", "mean ulp", "rounded right")
    worst = ("max at", "computed", "true")
    title = f"{one.dtype} {one.quantity}\n{one.truth}"
    if one.digest is not None:
        title += f"\nreproduces the published bits, digest {one.digest}"
    return Grid(title, (*head, *(COUNTS[name] for name in kinds), *worst), rows)


def _behaviour(measurements: tuple[Measurement, ...]) -> Grid:
    names = [dependence.on for dependence in measurements[0].dependences]
    rows = []
    for one in measurements:
        right = sum(special.right for special in one.specials)
        cells = [d.outcome.upper() if d.outcome == DIFFERS else d.outcome for d in one.dependences]
        rows.append((one.dtype, one.quantity, f"{right} of {len(one.specials)}", *cells))
    head = ("dtype", "quantity", "special values right", *names)
    return Grid("Results with another …", head, tuple(rows), labels=2, text=True)


def _wrong(one: Measurement) -> list[tuple[str, ...]]:
    found: list[tuple[str, ...]] = [
        (
            one.dtype,
            one.quantity,
            "special values",
            f"f({s.input}) = {s.computed}, not {s.expected}",
        )
        for s in one.specials
        if not s.right
    ]
    found += [
        (one.dtype, one.quantity, d.on, d.detail) for d in one.dependences if d.outcome == DIFFERS
    ]
    return found


def _untested(certificate: Certificate) -> Grid:
    """Return what was not tested, the dependences too."""
    lines = _left_out(certificate)
    why = {f"{d.on}: {d.detail}" for one in certificate.measurements for d in one.dependences
           if d.outcome == NOT_TESTED}  # fmt: skip
    rows = tuple((line,) for line in [*lines, *sorted(why)]) or (("nothing was left out",),)
    return Grid("", ("Not tested",), rows, text=True)


def _left_out(certificate: Certificate) -> list[str]:
    """Return what was not measured: a sample leaves most inputs out, and that is said too."""
    lines = list(certificate.untested)
    for one in certificate.measurements:
        if not one.exhaustive:
            bits = 32 if one.dtype == "float32" else 64
            lines.append(f"{one.dtype} {one.quantity}: {2**bits - one.inputs:,} of 2^{bits} inputs")
    return lines


def rows(certificate: Certificate) -> tuple[tuple[str, ...], list[tuple[Cell, ...]]]:
    """Return a row for each region, special value, dependence, finding and what was not tested.

    `what` says which; only regions have numbers, with all digits, the others a `detail` in words.
    """
    names = tuple(field.name for field in fields(Region))
    head = ("subject", "function", "dtype", "quantity", "what", *names, "detail")
    start = (certificate.subject, certificate.function)
    blank = (None,) * (len(names) - 1)
    found: list[tuple[Cell, ...]] = []
    for one in certificate.measurements:
        mine = (*start, one.dtype, one.quantity)
        found += [
            (*mine, "region", *(getattr(region, name) for name in names), None)
            for region in one.regions
        ]
        for s in one.specials:
            right = "right" if s.right else f"wrong: expected {s.expected}"
            found.append((*mine, "special value", s.input, *blank, f"{s.computed}, {right}"))
        for d in one.dependences:
            detail = f"{d.outcome}: {d.detail}" if d.detail else d.outcome
            found.append((*mine, "dependence", d.on, *blank, detail))
    for f in certificate.findings:
        found.append((*start, f.dtype, f.quantity, "finding", f.kind, *blank, f.message))
    for line in _left_out(certificate):
        found.append((*start, None, None, "not tested", None, *blank, line))
    return head, found
