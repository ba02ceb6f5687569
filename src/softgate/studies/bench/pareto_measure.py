"""Measures error against time: times of a `Bench`, errors of certificates, saved bytes."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Any

from softgate.runtime.activation import Activation
from softgate.runtime.registry import label

from .. import Progress
from ..accuracy.regions import SUBNORMAL_INPUTS, SUBNORMAL_RESULTS
from ..certify import certify
from ..certify.record import Certificate, Measurement
from ..subjects import InvalidSubjectError, SubjectFailure, resolved
from ..subjects.peers import IMPLEMENTATIONS, Peer, peers, subject
from .pareto_record import Pareto, ParetoPoint, marked
from .record import OURS, Bench, BenchRow
from .run import saved_bytes

COMPILED = ("torch.compile", "tensorflow.xla")
"""Implementations that `certify` cannot measure: it calls the function without compiling it."""


def measure_pareto(
    bench: Bench,
    function: str | Callable[..., Any] = "gelu",
    *,
    dtype: str = "float32",
    threads: int = 1,
    samples: int | None = None,
    budget: float | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Pareto:
    """Certify every implementation of a function that was timed, and return error against time.

    Parameters
    ----------
    bench : Bench
        The times; those of its first size with this format and thread count are used.
    function : str or Activation
        The function.
    dtype : {"float32", "float64", "float16", "bfloat16"}
        The format.
    threads : int
        Threads of the times.
    samples : int, optional
        Inputs of each certificate; by default `certify`'s.
    budget : float, optional
        Seconds after which no further certificate is started; `not_run` lists what is left out.
        Each takes some seconds to start a process that loads the implementation.
    seed : int
        Seed of the samples.
    progress : callable, optional
        Called with a label, the number of certificates done, and their total.

    Returns
    -------
    Pareto
        A record of points, with those on the Pareto front marked.

    Examples
    --------
    >>> import softgate as sg
    >>> times = sg.bench("gelu", peers="none", quantity="value", size="4096", budget=0.1)
    >>> [point.max_ulp < 4 for point in measure_pareto(times, samples=2000).front]
    [True]
    """
    activation, start = resolved.activation(function), perf_counter()
    rows = chosen_rows(bench, activation, dtype, threads)
    timed = peers(activation, [row.implementation for row in rows])
    errors: dict[str, Measurement | str] = {}
    with tempfile.TemporaryDirectory() as folder:
        for number, (name, peer) in enumerate(timed.items()):
            if progress is not None:
                progress(f"certifying {name}", number, len(timed))
            errors[name] = "no time was left to certify it"
            if budget is None or perf_counter() - start < budget or not number:
                errors[name] = _certified(activation, peer, Path(folder), dtype, samples, seed)
    titles = {name: f"{IMPLEMENTATIONS[name].title}: {peer.title}" for name, peer in timed.items()}
    saved = saved_bytes(
        peer for name, peer in timed.items() if isinstance(errors[name], Measurement)
    )
    return replace(
        joined(bench, rows, errors, titles, saved),
        samples=samples, seed=seed, seconds=perf_counter() - start,
    )  # fmt: skip


def joined(
    bench: Bench,
    rows: Sequence[BenchRow],
    errors: Mapping[str, Measurement | str],
    titles: Mapping[str, str],
    saved: Mapping[str, float | None],
) -> Pareto:
    """Return error against time from times and certificates.

    `rows` are what `chosen_rows` returns; `errors` are certificates' measurements of the same
    function and format by implementation, or the reason why there is none.
    """
    points, left_out = [], []
    for row in rows:
        name = row.implementation
        error = errors.get(name, "it has no certificate here")
        if isinstance(error, str):
            left_out.append(f"{name}: {error}")
        else:
            points.append(_point(row, titles.get(name, name), error, saved.get(name)))
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
        background_load=bench.background_load,
        warnings=bench.warnings,
        not_run=tuple(left_out),
    )


def chosen_rows(bench: Bench, activation: Activation, dtype: str, threads: int) -> list[BenchRow]:
    """Return the times of a function's value, one per implementation; raise ValueError if none."""
    rows = [
        row
        for row in bench
        if (row.function, row.quantity, row.dtype, row.threads)
        == (label(activation), "value", dtype, threads)
        and (row.inputs, row.buffers) == ("randn", "reused")
        and row.least_ns is not None
    ]
    if not rows:
        raise ValueError(
            f"{label(activation)}: no implementation was timed in {dtype} with {threads} threads"
        )
    return [row for row in rows if row.count == rows[0].count]


def certify_peer(activation: Activation, peer: Peer, folder: Path, **settings: Any) -> Certificate:
    """Return the certificate of a peer's function, or of softgate's; `settings` are certify's."""
    if peer.implementation == OURS:
        return certify(activation, **settings)
    parameters = {} if peer.node is not None else peer.keywords
    target = subject(peer, folder)
    return certify(target, activation, parameters=parameters, framework=peer.framework, **settings)


def _certified(
    activation: Activation, peer: Peer, folder: Path, dtype: str, samples: int | None, seed: int
) -> Measurement | str:
    """Return a certificate's measurement of the value, or why there is none."""
    if peer.implementation in COMPILED:
        return "certify calls the function, not its compiled form"
    settings: Any = {"quantity": "value", "dtype": dtype, "samples": samples, "seed": seed}
    try:
        certificate = certify_peer(activation, peer, folder, **settings)
    except (SubjectFailure, InvalidSubjectError) as error:
        return str(error)
    try:
        return certificate.find("value", dtype)
    except KeyError:
        reasons = [*map(str, certificate.findings), *certificate.untested]
        return reasons[0] if reasons else "certify measured nothing"


def _point(row: BenchRow, title: str, error: Measurement, saved: float | None) -> ParetoPoint:
    subnormal = (SUBNORMAL_INPUTS, SUBNORMAL_RESULTS)
    normal = [region.max_ulp for region in error.ordinary if region.name not in subnormal]
    assert row.least_ns is not None
    assert row.median_ns is not None
    return ParetoPoint(
        implementation=row.implementation,
        title=title,
        max_ulp=error.max_ulp,
        normal_ulp=max(normal),
        worst_x=error.worst.worst,
        inputs=error.inputs,
        least_ns=row.least_ns,
        median_ns=row.median_ns,
        relative_uncertainty=row.relative_uncertainty,
        saved_bytes=saved,
    )
