"""Accuracy: certificates of softgate's kernels and of the installed peers, within the time budget.

A peer's function runs in its own process, two at a time; most of that time is the import of its
framework. What was not measured is listed with the command that measures it.
"""

from __future__ import annotations

import shlex
import tempfile
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any, ClassVar

from softgate.plotting.vega import WHOLE, implementation, powers, quantitative, scales, shown_lines
from softgate.records.record import Cell, Grid, Record
from softgate.runtime.activation import Activation
from softgate.runtime.registry import activations, label
from softgate.studies import Progress
from softgate.studies.bench.pareto_measure import certify_peer
from softgate.studies.bench.pareto_record import ulps
from softgate.studies.certify.record import Certificate, Measurement
from softgate.studies.subjects import InvalidSubjectError, SubjectFailure
from softgate.studies.subjects.peers import IMPLEMENTATIONS, Peer, absent, peers

from ..elements import (
    Markup,
    Results,
    Section,
    breakable,
    chips,
    coloured,
    figure,
    minus,
    shown,
    swatch,
    table,
    toggle,
)

TITLE = "Accuracy"
FUNCTIONS = ("gelu", "gelu_tanh", "silu")
PEERS = ("torch", "onnxruntime", "scipy", "jax", "tensorflow")
SAMPLES = 20_000
QUANTITIES = ("value", "slope")
PARALLEL = 2
"""Certificates made at the same time."""
TIME_LIMIT_S = 30.0
"""Seconds for one call of a peer's function."""


@dataclass(frozen=True)
class TitledCertificate:
    """The certificate of a function in an implementation; `title` is the name to show."""

    function: str
    implementation: str
    title: str
    certificate: Certificate


@dataclass(frozen=True)
class AccuracyStudy(Record):
    """Certificates, and what was not measured: the reason and the command that measures it."""

    schema: ClassVar[str] = "softgate.report.accuracy"

    certified: tuple[TitledCertificate, ...]
    left_out: tuple[str, ...]
    samples: int

    def grids(self) -> tuple[Grid, ...]:
        """Return a row for each measurement."""
        head = ("function", "implementation", "dtype", "quantity", "max ulp", "correctly rounded")
        rows = tuple(
            (
                certified.function,
                certified.implementation,
                measurement.dtype,
                measurement.quantity,
                f"{measurement.max_ulp:.4g}",
                f"{100 * measurement.rounded_share:.1f} %",
            )
            for certified in self.certified
            for measurement in certified.certificate
        )
        return (Grid("Accuracy", head, rows, labels=2),)

    def table(self) -> tuple[tuple[str, ...], list[tuple[Cell, ...]]]:
        """Return a row for each region of each certificate."""
        header: tuple[str, ...] = ()
        rows: list[tuple[Cell, ...]] = []
        for certified in self.certified:
            header, regions = certified.certificate.table()
            rows += [(certified.implementation, *region) for region in regions]
        return ("implementation", *header), rows


def accuracy(
    formulas: Iterable[Activation] = (),
    *,
    budget_s: float = 60.0,
    samples: int = SAMPLES,
    implementations: Sequence[str] = PEERS,
    progress: Progress | None = None,
) -> AccuracyStudy:
    """Certify softgate's kernels, the user's formulas and the installed peers in float32.

    Parameters
    ----------
    formulas : iterable of Activation
        The user's formulas.
    budget_s : float
        A peer is not certified if that would probably exceed this time, as estimated from the last
        certificate of the same implementation. softgate's certificates are always made.
    samples : int
        Inputs of each certificate.
    implementations : sequence of str
        The peers.
    progress : callable, optional
        Called with the current step, the number of steps done, and their total.
    """
    study = _Study(time.monotonic() + budget_s, samples, progress)
    functions = [*(activations()[name] for name in FUNCTIONS), *formulas]
    present = [name for name in implementations if not absent(name)]
    study.left_out += [f"{name}: {absent(name)}" for name in implementations if absent(name)]
    tasks = [(activation, peers(activation, ("softgate",))["softgate"]) for activation in functions]
    for activation in functions:
        tasks += [(activation, peer) for peer in peers(activation, present).values()]
    return AccuracyStudy(tuple(study.run(tasks)), tuple(study.left_out), samples)


class _Study:
    """Makes certificates until the deadline."""

    def __init__(self, deadline: float, samples: int, progress: Progress | None) -> None:
        self.deadline, self.samples, self.progress = deadline, samples, progress
        self.left_out: list[str] = []
        self.lock, self.done = Lock(), 0
        self.took: dict[str, float] = {}

    def run(self, tasks: Sequence[tuple[Activation, Peer]]) -> list[TitledCertificate]:
        with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
            pool = ThreadPoolExecutor(PARALLEL)
            stack.callback(pool.shutdown, cancel_futures=True)  # also if a task raises
            futures = [
                pool.submit(self.certified, activation, peer, Path(folder), len(tasks))
                for activation, peer in tasks
            ]
            results = [future.result() for future in futures]
        return [certified for certified in results if certified is not None]

    def certified(
        self, activation: Activation, peer: Peer, folder: Path, count: int
    ) -> TitledCertificate | None:
        """Return a certificate, or None after adding the reason to `left_out`."""
        foreign = peer.implementation != "softgate"
        start = time.monotonic()
        if foreign and start + self.took.get(peer.implementation, 0.0) > self.deadline:
            self.leave_out(peer, "not enough time")
            return None
        settings: Any = {"quantity": QUANTITIES, "dtype": "float32", "samples": self.samples}
        if foreign:
            settings["time_limit"] = TIME_LIMIT_S
        try:
            certificate = certify_peer(activation, peer, folder, **settings)
        except (SubjectFailure, InvalidSubjectError) as error:
            self.leave_out(peer, str(error))
            return None
        finally:
            self.took[peer.implementation] = time.monotonic() - start
            self.step(peer, count)
        if not certificate.measurements:
            reason = "; ".join(map(str, certificate.findings)) or "nothing was measured"
            self.leave_out(peer, reason)
            return None
        return TitledCertificate(label(activation), peer.implementation, peer.title, certificate)

    def leave_out(self, peer: Peer, reason: str) -> None:
        """Add a peer to what was not measured, with the command that measures it."""
        title = IMPLEMENTATIONS[peer.implementation].title
        line = f"{peer.function}, {title}: {reason}"
        if peer.subject:
            options = [f"--parameters {shlex.quote(f'{k}={v}')}" for k, v in peer.keywords.items()]
            command = ["softgate certify", peer.subject, "--reference", peer.function, *options]
            line += f". To measure it: {' '.join(command)}"
        with self.lock:
            self.left_out.append(line)

    def step(self, peer: Peer, count: int) -> None:
        """Report that a certificate is done."""
        with self.lock:
            self.done += 1
            if self.progress is not None:
                self.progress(f"{peer.function} in {peer.implementation}", self.done, count)


HEIGHT = 300
FARTHEST = 20.0
"""The largest |x| drawn."""
TICKS = [-20, -10, -5, -2, -1, -0.5, 0, 0.5, 1, 2, 5, 10, 20]
LEAST, MOST = 0.1, 1e8
"""The ends of the axis of errors; a result that is NaN or inf is drawn at the upper one."""
COUNTS = {
    "not_numbers": "NaN or inf",
    "wrong_signs": "wrong sign",
    "lost": "0 instead of a normal number",
    "flushed": "0 instead of a subnormal number",
}
"""Kinds of wrong results by their field; a column is shown if any count is above 0."""


def section(results: Results) -> Section:
    """Return the certificates: error over x, a table, and what was not measured."""
    record = results.take("accuracy", AccuracyStudy)
    drawn = [c for c in record.certified if c.function == "gelu" or _is_own(c)]
    charts: dict[str, Any] = {}
    figures = ""
    for quantity in ("value", "slope"):
        lines = {_name(c): m for c in drawn for m in c.certificate if m.quantity == quantity}
        if lines:
            id = f"accuracy-{quantity}"
            charts[id] = _chart(lines, {_name(c): c.function for c in drawn if _is_own(c)})
            functions = "GELU and your formulas" if any(map(_is_own, drawn)) else "GELU"
            caption = f"{functions}: error of the {quantity} in float32, in ulps, over x"
            figures += figure(id, caption, _alternative(caption, lines), charts[id])
    named = [(_name(c), _swatch(c), True) for c in drawn]
    body = (
        "<p>One ulp is the spacing of float32 numbers at the exact result. The error of a "
        "correctly rounded result is at most half an ulp (dashed line). A certificate compares "
        f"results with rigorous interval arithmetic at {record.samples:,} inputs: every exponent "
        "and both signs, the ends of the range, roots, and points that are hard to round. For the "
        "slope of x·g(x), which is g + x·g′, errors are in ulps of the larger term: near a root of "
        "the slope, ulps of the slope itself are arbitrarily small.</p>"
        + chips("accuracy-names", "Implementations shown", named)
        + f'<div class="charts">{figures}</div>'
        + _table(record)
        + _left_out(record)
    )
    return Section("accuracy", TITLE, body, charts, toggle("accuracy-names", charts))


def _is_own(certified: TitledCertificate) -> bool:
    """Return whether the function is a user's formula."""
    return certified.function not in FUNCTIONS


def _name(certified: TitledCertificate) -> str:
    return certified.function if _is_own(certified) else certified.implementation


def _swatch(certified: TitledCertificate) -> str:
    if _is_own(certified):
        return swatch(certified.function.partition(":")[0])
    return coloured(implementation(certified.implementation).colour)


def _table(record: AccuracyStudy) -> str:
    measured = [(c, measurement) for c in record.certified for measurement in c.certificate]
    counted = [count for count in COUNTS if any(m.total(count) for _, m in measured)]
    head = (
        "function", "implementation", "quantity", "max ulp", "at x", "correctly rounded",
        *(COUNTS[count] for count in counted), "±0, ±inf, NaN",
    )  # fmt: skip
    rows = [_row(certified, measurement, counted) for certified, measurement in measured]
    return table("Certificates in float32", head, rows, labels=2)


def _row(
    certified: TitledCertificate, measurement: Measurement, counted: list[str]
) -> tuple[str, ...]:
    wrong = sum(not special.right for special in measurement.specials)
    return (
        certified.function,
        Markup(_swatch(certified) + breakable(certified.title)),
        measurement.quantity,
        ulps(measurement.max_ulp),
        minus(f"{measurement.worst.worst:.5g}"),
        f"{100 * measurement.rounded_share:.1f} %",
        *(f"{measurement.total(count):,}" for count in counted),
        "all correct" if not wrong else f"{wrong} wrong",
    )


def _left_out(record: AccuracyStudy) -> str:
    if not record.left_out:
        return ""
    lines = "".join(f"<li>{shown(line)}</li>" for line in record.left_out)
    count = len(record.left_out)
    return f"<details><summary>Not measured ({count})</summary><ul>{lines}</ul></details>"


def _alternative(caption: str, lines: dict[str, Measurement]) -> str:
    parts = [
        f"{name}: at most {ulps(line.max_ulp)}, at x = {line.worst.worst:.5g}"
        for name, line in lines.items()
    ]
    return f"{caption}. {'; '.join(parts)}."


def _chart(lines: dict[str, Measurement], formulas: dict[str, str]) -> dict[str, Any]:
    values = [{"f": name, **_points(line)} for name, line in lines.items()]
    styles = {name: function.partition(":")[0] for name, function in formulas.items()}
    across = {"type": "symlog", "constant": 0.25, "domain": [-FARTHEST, FARTHEST], "nice": False}
    upright = {"type": "log", "domain": [LEAST, MOST], "clamp": True, "nice": False}
    x = quantitative("x", "x", scale=across, axis={"format": "~g", "values": TICKS})
    y = quantitative("y", None, scale=upright, axis={**powers(-1, 8, 1), "minExtent": 36})
    certificates = shown_lines(values, x, y, scales(lines, styles), title="implementation")
    certificates["mark"]["strokeWidth"] = 1.6
    half = {"type": "rule", "strokeWidth": 1, "strokeDash": [4, 3], "stroke": "#888888"}
    return {
        "width": WHOLE,
        "height": HEIGHT,
        "params": [{"name": "shown", "value": list(lines)}],
        "layer": [
            certificates,
            {
                "data": {"values": [{"y": 0.5}]},
                "mark": half,
                "encoding": {"y": {"field": "y", "type": "quantitative"}},
            },
        ],
    }  # fmt: skip


def _points(line: Measurement) -> dict[str, list[float]]:
    """Return the middle of each interval of the profile, and the largest error in it."""
    edges = line.profile.edges
    steps = [
        ((low + high) / 2, min(error, MOST))
        for low, high, error in zip(edges, edges[1:], line.profile.max_ulp, strict=False)
        if error is not None and max(abs(low), abs(high)) <= FARTHEST
    ]
    return {"x": [float(f"{x:.5g}") for x, _ in steps], "y": [max(y, LEAST) for _, y in steps]}
