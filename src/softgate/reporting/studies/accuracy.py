"""Certificates of ours and of the installed peers: as many as the time allows, ours first.

What is foreign runs in processes of its own, two at a time, of which most is the import of a
framework. Nothing that was left out is hidden: it is named, with the command that measures it.
"""

from __future__ import annotations

import shlex
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import ClassVar

from softgate.runtime.activation import Activation
from softgate.runtime.records import Cell, Grid, Record
from softgate.runtime.registry import activations, label
from softgate.studies.certify import certify
from softgate.studies.certify.record import Certificate
from softgate.studies.peers import IMPLEMENTATIONS, Peer, absent, peers, subject
from softgate.studies.subjects import Failure, Mistake

FUNCTIONS = ("gelu", "gelu_tanh", "silu")
PEERS = ("torch", "onnxruntime", "scipy", "jax", "tensorflow")
"""Whose certificates are shown: one of each library."""
SAMPLES = 20_000
QUANTITIES = ("value", "slope")
AT_ONCE = 2
TIME_LIMIT_S = 30.0
MISSING = "certificates need python-flint: pip install 'softgate[exact]'"

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Certified:
    """A certificate, whose it is, and what it is called."""

    function: str
    implementation: str
    title: str
    certificate: Certificate


@dataclass(frozen=True)
class Accuracy(Record):
    """Certificates, and what was left out: why, and how to have it."""

    schema: ClassVar[str] = "softgate.report.accuracy"

    certified: tuple[Certified, ...]
    left_out: tuple[str, ...]
    samples: int

    def grids(self) -> tuple[Grid, ...]:
        """Return a row for each measurement."""
        head = ("function", "implementation", "dtype", "quantity", "max ulp", "rounded right")
        rows = tuple(
            (
                one.function,
                one.implementation,
                found.dtype,
                found.quantity,
                f"{found.max_ulp:.4g}",
                f"{100 * found.rounded_share:.1f} %",
            )
            for one in self.certified
            for found in one.certificate
        )
        return (Grid("Accuracy", head, rows, labels=2),)

    def table(self) -> tuple[tuple[str, ...], list[tuple[Cell, ...]]]:
        """Return a row for each region of each certificate."""
        header: tuple[str, ...] = ()
        rows: list[tuple[Cell, ...]] = []
        for one in self.certified:
            header, found = one.certificate.table()
            rows += [(one.implementation, *row) for row in found]
        return ("implementation", *header), rows


def accuracy(
    own: Iterable[Activation] = (),
    *,
    budget_s: float = 60.0,
    samples: int = SAMPLES,
    implementations: Sequence[str] = PEERS,
    progress: Progress | None = None,
) -> Accuracy:
    """Certify ours, the user's formulas and the installed peers in float32.

    Parameters
    ----------
    own : iterable of Activation
        Formulas of the user's.
    budget_s : float
        No certificate of others is begun after so many seconds, nor one that would not be done by
        then, going by the last of the same implementation.
    samples : int
        Inputs a certificate.
    implementations : sequence of str
        Whose, beside softgate's own.
    progress : callable, optional
        Called with what is done, how much of it, and how much there is.
    """
    if find_spec("flint") is None:
        raise ImportError(MISSING)
    study = _Study(time.monotonic() + budget_s, samples, progress)
    mine = [*(activations()[name] for name in FUNCTIONS), *own]
    present = [one for one in implementations if not absent(one)]
    study.left_out += [f"{one}: {absent(one)}" for one in implementations if absent(one)]
    tasks = [(activation, peers(activation, ("softgate",))["softgate"]) for activation in mine]
    for activation in mine:
        tasks += [(activation, peer) for peer in peers(activation, present).values()]
    return Accuracy(tuple(study.run(tasks)), tuple(study.left_out), samples)


class _Study:
    """Makes certificates until the time is over."""

    def __init__(self, until: float, samples: int, progress: Progress | None) -> None:
        self.until, self.samples, self.progress = until, samples, progress
        self.left_out: list[str] = []
        self.lock, self.done = Lock(), 0
        self.took: dict[str, float] = {}

    def run(self, tasks: Sequence[tuple[Activation, Peer]]) -> list[Certified]:
        with tempfile.TemporaryDirectory() as folder, self.pool() as pool:
            makers = [
                pool.submit(self.one, activation, peer, Path(folder), len(tasks))
                for activation, peer in tasks
            ]
            found = [maker.result() for maker in makers]
        return [one for one in found if one is not None]

    @contextmanager
    def pool(self) -> Iterator[ThreadPoolExecutor]:
        """Give a pool of threads; where one fails, what has not begun never does."""
        pool = ThreadPoolExecutor(AT_ONCE)
        try:
            yield pool
        finally:
            pool.shutdown(cancel_futures=True)

    def one(self, activation: Activation, peer: Peer, folder: Path, count: int) -> Certified | None:
        """Return a certificate, or None where there is none; why, is kept."""
        foreign = peer.implementation != "softgate"
        start = time.monotonic()
        if foreign and start + self.took.get(peer.implementation, 0.0) > self.until:
            self.leave_out(peer, "there was no time left")
            return None
        try:
            found = self.certify(activation, peer, folder, foreign)
        except (Failure, Mistake) as error:
            self.leave_out(peer, str(error))
            return None
        finally:
            self.took[peer.implementation] = time.monotonic() - start
            self.step(peer, count)
        if not found.measurements:
            self.leave_out(peer, "; ".join(map(str, found.findings)) or "nothing was measured")
            return None
        return Certified(label(activation), peer.implementation, peer.title, found)

    def certify(
        self, activation: Activation, peer: Peer, folder: Path, foreign: bool
    ) -> Certificate:
        if not foreign:
            return certify(
                activation, quantities=QUANTITIES, dtypes="float32", samples=self.samples
            )
        return certify(
            subject(peer, folder),
            activation,
            keywords={} if peer.node is not None else peer.keywords,
            framework=peer.framework,
            quantities=QUANTITIES,
            dtypes="float32",
            samples=self.samples,
            time_limit=TIME_LIMIT_S,
        )

    def leave_out(self, peer: Peer, why: str) -> None:
        command = ""
        if peer.subject:
            words = [f"--with {shlex.quote(f'{k}={v}')}" for k, v in peer.keywords.items()]
            command = " ".join(["softgate certify", peer.subject, "--as", peer.function, *words])
        title = IMPLEMENTATIONS[peer.implementation].title
        with self.lock:
            self.left_out.append(
                f"{peer.function}, {title}: {why}" + (f": {command}" if command else "")
            )

    def step(self, peer: Peer, count: int) -> None:
        with self.lock:
            self.done += 1
            if self.progress is not None:
                self.progress(f"{peer.function} of {peer.implementation}", self.done, count)
