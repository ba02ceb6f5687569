"""Error against time out of what was measured already: no certificate is made twice."""

from __future__ import annotations

from softgate.runtime.registry import activations
from softgate.studies.bench.pareto import Pareto, Point, marked
from softgate.studies.bench.pareto_study import chosen_rows
from softgate.studies.bench.record import Bench, Row
from softgate.studies.certify.record import Measurement
from softgate.studies.certify.regions import SUBNORMAL_INPUTS, SUBNORMAL_RESULTS

from .accuracy import Accuracy

FUNCTION, DTYPE = "gelu", "float32"


def pareto(bench: Bench, accuracy: Accuracy) -> Pareto:
    """Return the implementations of GELU that were both timed and certified."""
    errors = {
        one.implementation: (one.title, found)
        for one in accuracy.certified
        if one.function == FUNCTION
        for found in one.certificate
        if (found.quantity, found.dtype) == ("value", DTYPE)
    }
    (threads, *_) = bench.settings.threads
    rows = chosen_rows(bench, activations()[FUNCTION], DTYPE, threads)
    points = [
        _point(row, *errors[row.implementation]) for row in rows if row.implementation in errors
    ]
    timed_only = [row.implementation for row in rows if row.implementation not in errors]
    return Pareto(
        machine=bench.machine,
        function=FUNCTION,
        dtype=DTYPE,
        count=rows[0].count,
        size=rows[0].size,
        threads=threads,
        samples=accuracy.samples,
        seed=bench.settings.seed,
        when=bench.when,
        seconds=bench.seconds,
        points=marked(points),
        others_share=bench.others_share,
        warnings=bench.warnings,
        not_run=tuple(f"{name}: it has no certificate here" for name in timed_only),
    )


def _point(row: Row, title: str, found: Measurement) -> Point:
    apart = (SUBNORMAL_INPUTS, SUBNORMAL_RESULTS)
    return Point(
        implementation=row.implementation,
        title=title,
        max_ulp=found.max_ulp,
        normal_ulp=max(r.max_ulp for r in found.ordinary if r.name not in apart),
        worst_x=found.worst.worst,
        inputs=found.inputs,
        least_ns=row.least_ns or 0.0,
        median_ns=row.median_ns or 0.0,
        doubt=row.doubt,
    )
