"""All 2**32 float32 inputs: a sweep in rounds; an interrupt loses nothing that was measured.

Inputs are bit patterns in order, so that a chunk nearly always lies in one region and one step of
the profile. Two threads measure while the subject computes; kernels, the errors and NumPy's loops
all run without the GIL.
"""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np
import numpy.typing as npt

from softgate.formula import rounding
from softgate.formula.formats import FLOAT32
from softgate.runtime import kernels, records

from ..subjects import Session
from .profile import Profile
from .reference import Truths
from .regions import Regions
from .tally import Part, Tally

INPUTS = 1 << 32
CHUNK = 1 << 16
"""Inputs measured at once: results, truth and errors stay in the caches."""
BLOCK = 1 << 20
"""Inputs a call of the subject."""
ROUND = 1 << 25
"""Inputs between two states that can be saved."""
SAVED_S = 5.0
"""Seconds between two writes of the state."""

Float64s = npt.NDArray[np.float64]
Evaluate = Callable[[npt.NDArray[np.float32]], npt.NDArray[np.float32]]


@dataclass
class State:
    """What a sweep knows so far: everything below `done`."""

    tallies: list[Tally]
    profile: Profile
    done: int = 0

    @classmethod
    def fresh(cls, regions: Regions, start: int = 0) -> State:
        """Return the state before the first input."""
        return cls([Tally() for _ in regions.names], Profile(FLOAT32), start)

    def joined(self, others: Iterable[State], done: int) -> State:
        """Return a state with other parts: this one stays, as an interrupt may come at any time."""
        found = State([Tally() for _ in self.tallies], Profile(FLOAT32), done)
        for other in (self, *others):
            for mine, theirs in zip(found.tallies, other.tallies, strict=True):
                mine.merge(theirs)
            found.profile.merge(other.profile)
        return found


@dataclass
class Saved:
    """The state of a sweep in a file, under a key that says which sweep it is."""

    file: Path
    key: Mapping[str, Any]
    written: float = field(default_factory=monotonic)
    last: tuple[State, str] | None = None

    def read(self, regions: Regions, name: str) -> State | None:
        """Return the state of the sweep called `name`; None where there is none."""
        found = self._content().get(name)
        if found is None:
            return None
        state = State.fresh(regions, found["done"])
        state.tallies = [Tally(**_numbers(tally)) for tally in found["tallies"]]
        state.profile.max_ulp = np.array(list(_numbers(found["profile"]).values()))
        return state

    def write(self, state: State, name: str) -> None:
        """Save the state, beside those of other sweeps of the same subject."""
        sweeps = self._content()
        sweeps[name] = {
            "done": state.done,
            "tallies": [records.plain(asdict(tally)) for tally in state.tallies],
            "profile": records.plain(dict(enumerate(state.profile.max_ulp.tolist()))),
        }
        text = json.dumps({"key": records.plain(dict(self.key)), "sweeps": sweeps})
        beside = self.file.with_suffix(self.file.suffix + ".new")
        beside.write_text(text, encoding="utf-8")
        beside.replace(self.file)  # at once: an interrupt leaves the old state or the new one
        self.written = monotonic()

    def _content(self) -> dict[str, Any]:
        """Return the states in the file by the names of their sweeps."""
        if not self.file.exists():
            return {}
        try:
            content = json.loads(self.file.read_text(encoding="utf-8"))
            known, sweeps = dict(content["key"]), dict(content["sweeps"])
        except (ValueError, KeyError, TypeError):
            raise ValueError(f"{self.file} is no state of a sweep: give another file") from None
        if known != records.plain(dict(self.key)):
            raise ValueError(
                f"{self.file} holds the state of another sweep ({known.get('subject')}): remove it "
                "or give another file"
            )
        return sweeps

    def offer(self, state: State, name: str) -> None:
        """Save the state where the last one saved is old, or where the sweep is at its end."""
        self.last = (state, name)
        if monotonic() - self.written > SAVED_S or state.done >= INPUTS:
            self.write(state, name)

    def save_last(self) -> None:
        """Save the last state that was offered: what an interrupt leaves."""
        if self.last is not None:
            self.write(*self.last)

    def check(self) -> None:
        """Raise where the file holds another sweep, or cannot be written."""
        self._content()
        beside = self.file.with_suffix(self.file.suffix + ".new")
        beside.touch()
        beside.unlink()

    def remove(self) -> None:
        """Remove the file: all is done."""
        self.file.unlink(missing_ok=True)


def kept(file: Path) -> dict[str, int]:
    """Return how many inputs of each sweep the state in a file has done; none without a file."""
    if not file.exists():
        return {}
    sweeps = json.loads(file.read_text(encoding="utf-8"))["sweeps"]
    return {name: sweep["done"] for name, sweep in sweeps.items()}


def _numbers(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return what JSON has as "inf" as the number."""
    return {k: records.SPECIAL[v] if isinstance(v, str) else v for k, v in values.items()}


class Meter:
    """Measures blocks of results; one for each thread."""

    def __init__(self, truths: Truths, regions: Regions) -> None:
        from softgate.lower.ulp_error import compile_error

        self.truths, self.regions = truths, regions
        self.state = State.fresh(regions)
        self.error = kernels.once("plain error", lambda: compile_error(strict=False))
        self.margin = truths.margin(FLOAT32)

    def measure(self, first: int, y: npt.NDArray[np.float32]) -> None:
        """Count the results at the bit patterns from `first` on."""
        for start in range(0, y.size, CHUNK):
            bits = np.arange(first + start, first + start + CHUNK, dtype=np.uint32)
            part = self._part(bits.view(np.float32), y[start : start + CHUNK])
            self.state.profile.add_run(first + start, float(part.error.max()))
            region = self.regions.of_run(part.x, part.truth)
            if region is not None:
                self.state.tallies[region].add(part, FLOAT32)
                continue
            where = self.regions.assign(part.x, part.truth)
            for i in np.unique(where).tolist():
                self.state.tallies[i].add(part[np.flatnonzero(where == i)], FLOAT32)

    def _part(self, x32: npt.NDArray[np.float32], y32: npt.NDArray[np.float32]) -> Part:
        with np.errstate(invalid="ignore"):  # signalling NaNs
            x, y = x32.astype(np.float64), y32.astype(np.float64)
        truth = self.truths.at_kinks(x, y, self.truths.kernel(x), FLOAT32)
        own = self._errors(x32, y32, truth, truth)
        if not self.truths.scaled:
            return Part(x, y, truth, own, own, self.margin)
        scale = self.truths.scale_of_run(x, truth, FLOAT32)
        if isinstance(scale, float):
            ratio = _ratio(truth, scale)
            if ratio is not None:
                error = own if ratio == 1 else own * ratio
                return Part(x, y, truth, error, own, self.margin / ratio)
            scale = np.full(x.size, scale)
        error = self._errors(x32, y32, truth, scale)
        with np.errstate(invalid="ignore", divide="ignore"):
            inverse = own / error  # of the two ulps
        doubt = self.margin * np.where(np.isfinite(inverse), inverse, 1.0)
        return Part(x, y, truth, error, own, doubt)

    def _errors(
        self,
        x: npt.NDArray[np.float32],
        y: npt.NDArray[np.float32],
        truth: Float64s,
        scale: Float64s,
    ) -> Float64s:
        found = np.empty_like(truth)
        operands = (found, x, y, truth, scale)
        self.error(*(operand.ctypes.data for operand in operands), x.size)
        return found


def _ratio(truth: Float64s, scale: float) -> float | None:
    """Return the truth's ulp over that of the scale, a power of two; None where it changes."""
    low, high = float(truth.min()), float(truth.max())
    if not (math.isfinite(low) and math.isfinite(high)) or low < 0 < high:
        return None
    first, last = rounding.ulp(np.array([low, high]), FLOAT32).tolist()
    return first / float(rounding.ulp(np.float64(scale), FLOAT32)) if first == last else None


def sweep(
    evaluate: Evaluate,
    truths: Truths,
    regions: Regions,
    *,
    threads: int = 2,
    state: State | None = None,
    stop: int = INPUTS,
    progress: Callable[[int], None] | None = None,
    save: Callable[[State], None] | None = None,
) -> State:
    """Measure the bit patterns from where `state` ends to `stop`.

    `save` is called with every state that can be gone on from; after an interrupt too.
    """
    so_far = state or State.fresh(regions)
    with ThreadPoolExecutor(threads) as pool:
        while so_far.done < stop:
            meters = [Meter(truths, regions) for _ in range(threads)]
            blocks = Blocks(evaluate, so_far.done, min(so_far.done + ROUND, stop))
            try:
                so_far = _round(pool, blocks, meters, so_far)
            except Halted as halted:
                if save is not None:
                    save(halted.state)
                raise KeyboardInterrupt from None
            if save is not None:
                save(so_far)
            if progress is not None:
                progress(so_far.done)
    return so_far


class Halted(Exception):
    """An interrupt came, and what had been begun was finished: `state` can be gone on from."""

    def __init__(self, state: State) -> None:
        super().__init__()
        self.state = state


def _round(pool: ThreadPoolExecutor, blocks: Blocks, meters: list[Meter], so_far: State) -> State:
    """Return the state after a round; after an interrupt that with all blocks that were begun."""
    try:
        list(pool.map(blocks.work, meters))
    except KeyboardInterrupt:
        blocks.stopped = True
        pool.shutdown()  # waits until what was begun is done
        if not blocks.failed:  # it came here, not to a thread
            raise Halted(so_far.joined([meter.state for meter in meters], blocks.next)) from None
        raise
    finally:
        blocks.stopped = True  # where one thread fails all end
    return so_far.joined([meter.state for meter in meters], blocks.end)


class Blocks:
    """The blocks of one round, which threads take in turn."""

    def __init__(self, evaluate: Evaluate, start: int, end: int) -> None:
        self.evaluate, self.end = evaluate, end
        self.stopped = self.failed = False
        self.next, self._lock = start, threading.Lock()

    def _take(self) -> int | None:
        """Return where a block begins; all below `next` are done once the threads have ended."""
        with self._lock:
            if self.stopped or self.next >= self.end:
                return None
            first, self.next = self.next, min(self.next + BLOCK, self.end)
            return first

    def work(self, meter: Meter) -> None:
        """Compute and measure blocks until none is left."""
        try:
            while (first := self._take()) is not None:
                count = min(BLOCK, self.end - first)
                bits = np.arange(first, first + count, dtype=np.uint32)
                meter.measure(first, self.evaluate(bits.view(np.float32)))
        except BaseException:
            self.stopped = self.failed = True
            raise


def evaluator(session: Session, quantity: str) -> Evaluate:
    """Return what computes a block: ours on the thread that asks, others one call at a time."""
    from ..subjects.session import Local

    ours = session.ours if isinstance(session, Local) else None
    if ours is not None:
        return lambda x: ours.sliced(quantity, x)
    lock = threading.Lock()

    def one_at_a_time(x: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        with lock:
            return session.evaluate(quantity, x)

    return one_at_a_time
