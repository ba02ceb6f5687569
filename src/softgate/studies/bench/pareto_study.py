"""Error against time: times of a `Bench`, errors of certificates, bytes that are kept."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from time import perf_counter

from softgate.runtime.activation import Activation
from softgate.runtime.registry import label

from ..certify import certify
from ..certify.record import Certificate, Measurement
from ..certify.regions import SUBNORMAL_INPUTS, SUBNORMAL_RESULTS
from ..peers import IMPLEMENTATIONS, Peer, peers, subject
from ..properties import named
from ..subjects import Failure, Mistake
from .pareto import Pareto, Point, marked
from .record import OURS, Bench, Row
from .run import Progress
from .saved_bytes import kept_bytes

COMPILED = ("torch.compile", "tensorflow.xla")
"""What a compiler makes of a function is not what `certify` calls."""


def measure_pareto(
    bench: Bench,
    function: str | Activation = "gelu",
    *,
    dtype: str = "float32",
    threads: int = 1,
    samples: int | None = None,
    budget_s: float | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Pareto:
    """Certify every implementation of a function that was timed, and return error against time.

    Parameters
    ----------
    bench : Bench
        The times: of the first size that it has in this format and with so many threads.
    function : str or Activation
        Whose value is looked at.
    dtype : {"float32", "float64", "float16", "bfloat16"}
        The format.
    threads : int
        Of the times.
    samples : int, optional
        Inputs of each certificate; by default as many as `certify` takes.
    budget_s : float, optional
        Seconds after which no further certificate is begun; what is left out is said. Each takes
        some seconds to start a process in which the implementation is loaded.
    seed : int
        Of the samples.
    progress : callable, optional
        Called with what is being done, how much of it is done, and how much there is.

    Returns
    -------
    Pareto
        A record of points, those on the Pareto front marked.

    Examples
    --------
    >>> import softgate as sg
    >>> times = sg.bench("gelu", peers="none", quantities="value", sizes="4096", budget_s=0.1)
    >>> [point.max_ulp < 4 for point in measure_pareto(times, samples=2000).front]
    [True]
    """
    activation, start = named(function), perf_counter()
    rows = chosen_rows(bench, activation, dtype, threads)
    found = peers(activation, [row.implementation for row in rows])
    errors: dict[str, Measurement | str] = {}
    with tempfile.TemporaryDirectory() as folder:
        for number, (name, peer) in enumerate(found.items()):
            if progress is not None:
                progress(f"certifying {name}", number, len(found))
            errors[name] = "no time was left to certify it"
            if budget_s is None or perf_counter() - start < budget_s or not number:
                errors[name] = _certified(activation, peer, Path(folder), dtype, samples, seed)
    titles = {name: f"{IMPLEMENTATIONS[name].title}: {it.title}" for name, it in found.items()}
    kept = kept_bytes(it for name, it in found.items() if isinstance(errors[name], Measurement))
    return replace(
        joined(bench, rows, errors, titles, kept),
        samples=samples, seed=seed, seconds=perf_counter() - start,
    )  # fmt: skip


def joined(
    bench: Bench,
    rows: Sequence[Row],
    errors: Mapping[str, Measurement | str],
    titles: Mapping[str, str],
    kept: Mapping[str, float | None],
) -> Pareto:
    """Return error against time of what was timed and certified already.

    `rows` are what `chosen_rows` returns; `errors` are certificates' measurements of the same
    function and format by implementation, or why there is none.
    """
    points, left_out = [], []
    for row in rows:
        name = row.implementation
        found = errors.get(name, "it has no certificate here")
        if isinstance(found, str):
            left_out.append(f"{name}: {found}")
        else:
            points.append(_point(row, titles.get(name, name), found, kept.get(name)))
    first = rows[0]
    return Pareto(
        machine=bench.machine,
        function=first.function,
        dtype=first.dtype,
        count=first.count,
        size=first.size,
        threads=first.threads,
        samples=None,
        seed=bench.settings.seed,
        when=bench.when,
        seconds=bench.seconds,
        points=marked(points),
        others_share=bench.others_share,
        warnings=bench.warnings,
        not_run=tuple(left_out),
    )


def chosen_rows(bench: Bench, activation: Activation, dtype: str, threads: int) -> list[Row]:
    """Return the times of a function's value, one an implementation; ValueError where none is."""
    found = [
        row
        for row in bench
        if (row.function, row.quantity, row.dtype, row.threads)
        == (label(activation), "value", dtype, threads)
        and (row.inputs, row.buffers) == ("randn", "reused")
        and row.least_ns is not None
    ]
    if not found:
        raise ValueError(
            f"{label(activation)}: no implementation was timed in {dtype} with {threads} threads"
        )
    first = found[0].count
    return [row for row in found if row.count == first]


def _certified(
    activation: Activation, peer: Peer, folder: Path, dtype: str, samples: int | None, seed: int
) -> Measurement | str:
    """Return what a certificate says of the value, or why there is none."""
    if peer.implementation in COMPILED:
        return "certify calls the function, not what a compiler makes of it"
    try:
        certificate = certify(
            activation if peer.implementation == OURS else subject(peer, folder),
            activation,
            keywords=peer.keywords,
            framework=peer.framework,
            quantities="value",
            dtypes=dtype,
            samples=samples,
            seed=seed,
        )
    except (Failure, Mistake) as error:
        return str(error)
    try:
        return certificate.find("value", dtype)
    except KeyError:
        return _why(certificate)


def _why(certificate: Certificate) -> str:
    told = [*map(str, certificate.findings), *certificate.untested]
    return told[0] if told else "certify measured nothing"


def _point(row: Row, title: str, found: Measurement, saved: float | None) -> Point:
    apart = (SUBNORMAL_INPUTS, SUBNORMAL_RESULTS)
    normal = [region.max_ulp for region in found.ordinary if region.name not in apart]
    assert row.least_ns is not None
    assert row.median_ns is not None
    return Point(
        implementation=row.implementation,
        title=title,
        max_ulp=found.max_ulp,
        normal_ulp=max(normal),
        worst_x=found.worst.worst,
        inputs=found.inputs,
        least_ns=row.least_ns,
        median_ns=row.median_ns,
        doubt=row.doubt,
        saved_bytes=saved,
    )
