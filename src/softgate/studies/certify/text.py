"""A certificate as tables: a summary, the regions of each measurement, dependences, findings."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

from softgate.records.record import Cell, Grid

from .record import DIFFERS, NOT_TESTED, Measurement, RegionErrors

if TYPE_CHECKING:
    from .record import Certificate

COUNTS = {
    "not_numbers": "NaN or inf",
    "wrong_signs": "wrong sign",
    "wrong_zeros": "wrong ±0",
    "lost": "0 for a normal",
    "flushed": "0 for a subnormal",
    "breaks": "not monotone",
}
"""What is counted, and the title of its column."""


def ulps(value: float) -> str:
    """Return an error in ulps as text."""
    if value == float("inf"):
        return "inf"
    if value >= 1e5:
        return f"{value:.2e}"
    return f"{value:.4f}" if value < 10 else f"{value:.1f}"


def number(x: float) -> str:
    """Return an input or a result as text."""
    return f"{x:.8g}"


def share(region: RegionErrors | Measurement) -> str:
    """Return the share of correctly rounded results as text; "100.00 %" only if it is 1."""
    text = f"{100 * region.rounded_share:.2f} %"
    undecided = region.undecided if isinstance(region, RegionErrors) else region.total("undecided")
    if text == "100.00 %" and region.rounded_share < 1:
        text = "99.99+ %"
    return f"{text} (+{undecided:,} ?)" if undecided else text


def grids(certificate: Certificate) -> tuple[Grid, ...]:
    """Return all tables, from the summary to what was not tested."""
    shown = [_summary(certificate)]
    shown += [_regions(measurement) for measurement in certificate.measurements]
    shown += [_behaviour(certificate.measurements)] if certificate.measurements else []
    wrong = tuple(line for measurement in certificate.measurements for line in _wrong(measurement))
    if wrong:
        head = ("dtype", "quantity", "of", "in detail")
        shown.append(Grid("Wrong", head, wrong, labels=2, text=True))
    if certificate.findings:
        findings = tuple((f.dtype, f.quantity, f.kind, f.message) for f in certificate.findings)
        head = ("dtype", "quantity", "what it did", "in detail")
        shown.append(Grid("Findings", head, findings, labels=2, text=True))
    shown.append(_untested(certificate))
    return tuple(shown)


def _summary(certificate: Certificate) -> Grid:
    packages = ", ".join(f"{name} {version}" for name, version in certificate.versions.items())
    title = (
        f"{certificate.subject} measured as {certificate.function}\n"
        f"{packages}; {certificate.machine}"
    )
    head = ("dtype", "quantity", "inputs", "max ulp", "at", "mean ulp", "correctly rounded")
    stated = any(measurement.stated_ulp is not None for measurement in certificate.measurements)
    title += "\nthe bounds under stated ulp are measured, not proven" if stated else ""
    names = (*head, *COUNTS.values(), *(("stated ulp",) if stated else ()))
    return Grid(
        title,
        names,
        tuple(_line(measurement, stated) for measurement in certificate.measurements),
        2,
    )


def _line(measurement: Measurement, stated: bool) -> tuple[str, ...]:
    worst = measurement.worst
    cells = (
        measurement.dtype,
        measurement.quantity,
        f"{measurement.inputs:,}{' (all)' if measurement.exhaustive else ''}",
        ulps(worst.max_ulp),
        number(worst.worst),
        ulps(measurement.mean_ulp),
        share(measurement),
        *(f"{measurement.total(name):,}" for name in COUNTS),
    )
    bound = "" if measurement.stated_ulp is None else f"{measurement.stated_ulp:g}"
    return (*cells, bound) if stated else cells


def _regions(measurement: Measurement) -> Grid:
    kinds = [name for name in COUNTS if measurement.total(name)]
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
        for region in measurement.regions
    )
    head = ("region", "inputs", "max ulp", "mean ulp", "correctly rounded")
    worst = ("max at", "computed", "true")
    title = f"{measurement.dtype} {measurement.quantity}\n{measurement.truth}"
    if measurement.digest is not None:
        title += f"\nreproduces the published bits, digest {measurement.digest}"
    return Grid(title, (*head, *(COUNTS[name] for name in kinds), *worst), rows)


def _behaviour(measurements: tuple[Measurement, ...]) -> Grid:
    names = [dependence.on for dependence in measurements[0].dependences]
    rows = []
    for measurement in measurements:
        right = sum(special.right for special in measurement.specials)
        cells = [
            d.outcome.upper() if d.outcome == DIFFERS else d.outcome
            for d in measurement.dependences
        ]
        rows.append(
            (
                measurement.dtype,
                measurement.quantity,
                f"{right} of {len(measurement.specials)}",
                *cells,
            )
        )
    head = ("dtype", "quantity", "special values right", *names)
    return Grid("Results with another …", head, tuple(rows), labels=2, text=True)


def _wrong(measurement: Measurement) -> list[tuple[str, ...]]:
    lines: list[tuple[str, ...]] = [
        (
            measurement.dtype,
            measurement.quantity,
            "special values",
            f"f({s.input}) = {s.computed}, not {s.expected}",
        )
        for s in measurement.specials
        if not s.right
    ]
    lines += [
        (measurement.dtype, measurement.quantity, d.on, d.detail)
        for d in measurement.dependences
        if d.outcome == DIFFERS
    ]
    return lines


def _untested(certificate: Certificate) -> Grid:
    """Return what was not tested, dependences included."""
    lines = _left_out(certificate)
    dependences = (d for measurement in certificate for d in measurement.dependences)
    reasons = {f"{d.on}: {d.detail}" for d in dependences if d.outcome == NOT_TESTED}
    rows = tuple((line,) for line in [*lines, *sorted(reasons)]) or (("nothing was left out",),)
    return Grid("", ("Not tested",), rows, text=True)


def _left_out(certificate: Certificate) -> list[str]:
    """Return what was not measured, including the inputs that a sample leaves out."""
    lines = list(certificate.untested)
    for measurement in certificate.measurements:
        if not measurement.exhaustive:
            bits = 32 if measurement.dtype == "float32" else 64
            left = f"{2**bits - measurement.inputs:,} of 2^{bits} inputs"
            lines.append(f"{measurement.dtype} {measurement.quantity}: {left}")
    return lines


def rows(certificate: Certificate) -> tuple[tuple[str, ...], list[tuple[Cell, ...]]]:
    """Return a row for each region, special value, dependence, finding and what was not tested.

    `what` is the kind of row; regions have numbers with all digits, the others a `detail` as text.
    """
    names = tuple(field.name for field in fields(RegionErrors))
    head = ("subject", "function", "dtype", "quantity", "what", *names, "detail")
    start = (certificate.subject, certificate.function)
    blank = (None,) * (len(names) - 1)
    table: list[tuple[Cell, ...]] = []
    for measurement in certificate.measurements:
        labels = (*start, measurement.dtype, measurement.quantity)
        table += [
            (*labels, "region", *(getattr(region, name) for name in names), None)
            for region in measurement.regions
        ]
        for s in measurement.specials:
            right = "right" if s.right else f"wrong: expected {s.expected}"
            table.append((*labels, "special value", s.input, *blank, f"{s.computed}, {right}"))
        for d in measurement.dependences:
            detail = f"{d.outcome}: {d.detail}" if d.detail else d.outcome
            table.append((*labels, "dependence", d.on, *blank, detail))
    for f in certificate.findings:
        table.append((*start, f.dtype, f.quantity, "finding", f.kind, *blank, f.message))
    for line in _left_out(certificate):
        table.append((*start, None, None, "not tested", None, *blank, line))
    return head, table
