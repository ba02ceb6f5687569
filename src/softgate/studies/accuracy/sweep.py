"""All 2**32 float32 inputs, in rounds, so that an interrupt loses nothing that was measured.

Inputs are bit patterns in order, so that a chunk nearly always lies in one region and one step of
the profile. Several threads compute and measure blocks; kernels, the errors and NumPy's loops all
run without the GIL. `sweep` counts errors by region, `largest_error` keeps the largest only, which
is three times as fast.
"""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from pathlib import Path
from time import monotonic
from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from softgate.formula.formats import FLOAT32, ulp
from softgate.records import record as records
from softgate.records.files import read_text, write_file
from softgate.runtime import kernels
from softgate.runtime.activation import Activation

from .errors import Errors, Float64s, Reference
from .regions import ProfileAccumulator, Regions, RegionTally

INPUTS = 1 << 32
CHUNK = 1 << 16
"""Inputs measured at once: results, truth and errors stay in the caches."""
BLOCK = 1 << 20
"""Inputs of one call of the function under test."""
LARGEST_BLOCK = 1 << 18
"""Inputs computed and measured at once by `largest_error`."""
ROUND = 1 << 25
"""Inputs between two states that can be saved."""
WAKE_S = 0.1
"""Seconds after which a waiting sweep looks for an interrupt."""
SAVED_S = 5.0
"""Seconds between two writes of the state."""

Float32s = npt.NDArray[np.float32]
Evaluate = Callable[[Float32s], Float32s]


class _State(Protocol):
    """The outcome of a sweep below the bit pattern `done`."""

    @property
    def done(self) -> int: ...

    def joined(self: S, others: Iterable[S], done: int) -> S: ...


S = TypeVar("S", bound=_State)
S_co = TypeVar("S_co", bound=_State, covariant=True)


class _ErrorMeter(Protocol[S_co]):
    """Measures blocks of results; there is one for each thread."""

    @property
    def state(self) -> S_co: ...

    def measure(self, first: int, y: Float32s, /) -> None: ...


@dataclass
class SweepState:
    """The counts of all inputs below the bit pattern `done`."""

    tallies: list[RegionTally]
    profile: ProfileAccumulator
    done: int = 0

    @classmethod
    def fresh(cls, regions: Regions, start: int = 0) -> SweepState:
        """Return the state before the first input."""
        return cls([RegionTally() for _ in regions.names], ProfileAccumulator(FLOAT32), start)

    def joined(self, others: Iterable[SweepState], done: int) -> SweepState:
        """Return the sum of this state and other parts; a new object, as an interrupt may occur."""
        state = SweepState([RegionTally() for _ in self.tallies], ProfileAccumulator(FLOAT32), done)
        for part in (self, *others):
            for total, tally in zip(state.tallies, part.tallies, strict=True):
                total.merge(tally)
            state.profile.merge(part.profile)
        return state


@dataclass
class SweepCheckpoint:
    """The states of sweeps in a file, with a key that identifies the function under test."""

    file: Path
    key: Mapping[str, Any]
    written: float = field(default_factory=monotonic)
    last: tuple[SweepState, str] | None = None

    def read(self, regions: Regions, name: str) -> SweepState | None:
        """Return the saved state of the sweep called `name`, or None."""
        content = self._content().get(name)
        if content is None:
            return None
        state = SweepState.fresh(regions, content["done"])
        state.tallies = [RegionTally(**_numbers(tally)) for tally in content["tallies"]]
        state.profile.max_ulp = np.array(list(_numbers(content["profile"]).values()))
        return state

    def write(self, state: SweepState, name: str) -> None:
        """Save the state, beside those of other sweeps of the same subject."""
        sweeps = self._content()
        sweeps[name] = {
            "done": state.done,
            "tallies": [records.plain(asdict(tally)) for tally in state.tallies],
            "profile": records.plain(dict(enumerate(state.profile.max_ulp.tolist()))),
        }
        content = {"key": records.plain(dict(self.key)), "sweeps": sweeps}
        text = json.dumps(content | {"digest": _digest(content)})
        write_file(self.file, text)  # an interrupt leaves the old state or the new one
        self.written = monotonic()

    def _content(self) -> dict[str, Any]:
        """Return the states in the file by the names of their sweeps."""
        known, sweeps = _saved(self.file)
        if known and known != records.plain(dict(self.key)):
            raise ValueError(
                f"{self.file} holds the state of another sweep ({known.get('subject')}): remove it "
                "or choose another file"
            )
        return sweeps

    def offer(self, state: SweepState, name: str) -> None:
        """Save the state if the saved one is older than `SAVED_S`, or if the sweep has ended."""
        self.last = (state, name)
        if monotonic() - self.written > SAVED_S or state.done >= INPUTS:
            self.write(state, name)

    def save_last(self) -> None:
        """Save the last state that was offered, after an interrupt."""
        if self.last is not None:
            self.write(*self.last)

    def check(self) -> None:
        """Raise if the file holds another sweep or cannot be written."""
        self._content()
        beside = self.file.with_suffix(self.file.suffix + ".new")
        beside.touch()
        beside.unlink()

    def remove(self) -> None:
        """Remove the file, once all sweeps have ended."""
        self.file.unlink(missing_ok=True)


def saved_counts(file: Path) -> dict[str, int]:
    """Return the number of inputs done by each sweep saved in a file; empty without a file."""
    return {name: sweep["done"] for name, sweep in _saved(file)[1].items()}


def _saved(file: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the key and the sweeps in a file, both empty without one; raise if it was changed."""
    if not file.exists():
        return {}, {}
    try:
        content = records.parse_json(read_text(file))
        digest = content.pop("digest")
        known, sweeps = dict(content["key"]), dict(content["sweeps"])
        counts = [sweep["done"] for sweep in sweeps.values()]
    except (ValueError, KeyError, TypeError, AttributeError):
        raise ValueError(
            f"{file} does not hold the state of a sweep: choose another file"
        ) from None
    whole = all(type(n) is int and 0 <= n <= INPUTS and n % BLOCK == 0 for n in counts)
    if digest != _digest(content) or not whole:
        raise ValueError(f"{file} was changed after it was written: remove it and sweep again")
    return known, sweeps


def _digest(content: Mapping[str, Any]) -> str:
    return sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _numbers(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the mapping with numbers stored as text in JSON, such as "inf", as floats."""
    return {k: records.SPECIAL[v] if isinstance(v, str) else v for k, v in values.items()}


class RegionMeter:
    """Counts errors by region."""

    def __init__(self, reference: Reference, regions: Regions) -> None:
        from .ulp_error import compile_error

        self.reference, self.regions = reference, regions
        self.state = SweepState.fresh(regions)
        self.error = kernels.once("plain error", lambda: compile_error(strict=False))
        self.margin = reference.margin(FLOAT32)

    def measure(self, first: int, y: Float32s) -> None:
        """Count the results at the bit patterns from `first` on."""
        for start in range(0, y.size, CHUNK):
            bits = np.arange(first + start, first + start + CHUNK, dtype=np.uint32)
            errors = self._errors(bits.view(np.float32), y[start : start + CHUNK])
            self.state.profile.add_run(first + start, float(errors.error_ulp.max()))
            region = self.regions.of_run(errors.x, errors.truth)
            if region is not None:
                self.state.tallies[region].add(errors)
                continue
            where = self.regions.assign(errors.x, errors.truth)
            for i in np.unique(where).tolist():
                self.state.tallies[i].add(errors[np.flatnonzero(where == i)])

    def _errors(self, x32: Float32s, y32: Float32s) -> Errors:
        with np.errstate(invalid="ignore"):  # signalling NaNs
            x, y = x32.astype(np.float64), y32.astype(np.float64)
        truth = self.reference.at_kinks(x, y, self.reference.kernel(x), FLOAT32)
        own_ulp = _measured(self.error, x32, y32, truth, truth)
        if not self.reference.scaled:
            return Errors(FLOAT32, x, y, truth, own_ulp, own_ulp, self.margin)
        scale = self.reference.scale_of_run(x, truth, FLOAT32)
        if isinstance(scale, float):
            ratio = _ratio(truth, scale)
            if ratio is not None:
                error = own_ulp if ratio == 1 else own_ulp * ratio
                return Errors(FLOAT32, x, y, truth, error, own_ulp, self.margin / ratio)
            scale = np.full(x.size, scale)
        error = _measured(self.error, x32, y32, truth, scale)
        with np.errstate(invalid="ignore", divide="ignore"):
            inverse = own_ulp / error  # ulp of the scale over ulp of the truth
        uncertainty = self.margin * np.where(np.isfinite(inverse), inverse, 1.0)
        return Errors(FLOAT32, x, y, truth, error, own_ulp, uncertainty)


def _measured(
    error: Callable[..., None],
    x: Float32s,
    y: Float32s,
    truth: Float64s,
    scale: Float64s,
    out: Float64s | None = None,
) -> Float64s:
    """Return the errors that the compiled loop `error` computes."""
    errors = np.empty_like(truth) if out is None else out
    operands = (errors, x, y, truth, scale)
    error(*(operand.ctypes.data for operand in operands), x.size)
    return errors


def _ratio(truth: Float64s, scale: float) -> float | None:
    """Return the ulp of the truth over that of the scale; None if it is not constant."""
    low, high = float(truth.min()), float(truth.max())
    if not (math.isfinite(low) and math.isfinite(high)) or low < 0 < high:
        return None
    first, last = ulp(np.array([low, high]), FLOAT32).tolist()
    return first / float(ulp(np.float64(scale), FLOAT32)) if first == last else None


@dataclass(frozen=True)
class LargestError:
    """The largest error of all inputs below the bit pattern `done`."""

    done: int
    max_ulp: float = -1.0
    worst_bits: int = 0

    @property
    def worst(self) -> float:
        """The input with the largest error."""
        return float(np.uint32(self.worst_bits).view(np.float32))

    def joined(self, others: Iterable[LargestError], done: int) -> LargestError:
        """Return the largest error of several parts; for equal errors that of the first input."""
        part = max((self, *others), key=lambda part: (part.max_ulp, -part.worst_bits))
        return LargestError(done, part.max_ulp, part.worst_bits)

    def __str__(self) -> str:
        return f"max {self.max_ulp:.4f} ulp at {self.worst!r} (0x{self.worst_bits:08x})"


class LargestErrorMeter:
    """Records the largest error; a wrong zero or a wrong sign counts as infinite.

    Slopes of f = x·g are first measured in ulps of the slope itself, which is at most twice the
    scale max(|g|, |x·g'|); the scale is computed only where that may exceed the largest so far.
    """

    def __init__(self, reference: Reference, so_far: LargestError) -> None:
        from .ulp_error import compile_error

        self.reference, self.state = reference, so_far
        self.error = kernels.once("error", compile_error)
        # Reused: page faults of arrays allocated for each block would double the time.
        self.buffers = np.empty((3, LARGEST_BLOCK))

    def measure(self, first: int, y: Float32s) -> None:
        """Measure the results at the bit patterns from `first` on."""
        x32 = np.arange(first, first + y.size, dtype=np.uint32).view(np.float32)
        x, truth, errors = self.buffers[:, : y.size]
        with np.errstate(invalid="ignore"):  # signalling NaNs
            np.copyto(x, x32)
        self.reference.kernel(x, out=truth)
        _measured(self.error, x32, y, truth, truth, errors)
        if self.reference.scaled:
            doubtful = np.flatnonzero(errors > max(self.state.max_ulp, 0.0) / 2)
            some = truth[doubtful]
            scale = self.reference.scale(x[doubtful], some)
            errors[doubtful] = _measured(self.error, x32[doubtful], y[doubtful], some, scale)
        worst = int(np.argmax(errors))
        if errors[worst] > self.state.max_ulp:
            self.state = LargestError(self.state.done, float(errors[worst]), first + worst)


def sweep(
    evaluate: Evaluate,
    reference: Reference,
    regions: Regions,
    *,
    threads: int = 2,
    state: SweepState | None = None,
    stop: int = INPUTS,
    progress: Callable[[int], None] | None = None,
    save: Callable[[SweepState], None] | None = None,
) -> SweepState:
    """Count errors by region at the bit patterns from the end of `state` to `stop`.

    `save` is called with every state that the sweep can resume from, after an interrupt too.
    """
    return _sweep(
        BlockQueue(evaluate, BLOCK),
        lambda _: RegionMeter(reference, regions),
        SweepState.fresh(regions) if state is None else state,
        stop,
        threads,
        progress,
        save,
    )


def largest_error(
    activation: Activation,
    quantity: str,
    *,
    threads: int = 2,
    start: int = 0,
    stop: int = INPUTS,
    progress: Callable[[int], None] | None = None,
) -> LargestError:
    """Return the largest error of a float32 kernel at the bit patterns from `start` to `stop`."""
    reference = Reference(activation.entry, quantity, activation.parameters)
    return _sweep(
        BlockQueue(in_slices(activation, quantity), LARGEST_BLOCK),
        lambda so_far: LargestErrorMeter(reference, so_far),
        LargestError(start),
        stop,
        threads,
        progress,
    )


def _sweep(
    blocks: BlockQueue,
    meter: Callable[[S], _ErrorMeter[S]],
    state: S,
    stop: int,
    threads: int,
    progress: Callable[[int], None] | None = None,
    save: Callable[[S], None] | None = None,
) -> S:
    with ThreadPoolExecutor(threads) as pool:
        while state.done < stop:
            meters = [meter(state) for _ in range(threads)]
            blocks.reset(state.done, min(state.done + ROUND, stop))
            try:
                state = _round(pool, blocks, meters, state)
            except SweepInterrupt as interrupt:
                if save is not None:
                    save(interrupt.state)
                raise KeyboardInterrupt from None
            if save is not None:
                save(state)
            if progress is not None:
                progress(state.done)
    return state


class SweepInterrupt(Exception):
    """An interrupt, raised after all started blocks have ended; `state` is a checkpoint."""

    def __init__(self, state: Any) -> None:
        super().__init__()
        self.state = state


def _round(
    pool: ThreadPoolExecutor, blocks: BlockQueue, meters: list[_ErrorMeter[S]], state: S
) -> S:
    """Return the state after a round; raise SweepInterrupt on an interrupt."""
    futures: list[Future[None]] = []
    try:
        for meter in meters:
            futures.append(pool.submit(blocks.work, meter))  # noqa: PERF401 (those before an interrupt count)
        # With a timeout: a signal that arrives just before this thread waits is handled only when
        # it wakes.
        while wait(futures, WAKE_S).not_done:
            pass
        for future in futures:
            future.result()
    except KeyboardInterrupt:
        blocks.stopped = True
        pool.shutdown()  # waits for the started blocks
        if not blocks.failed:  # raised in this thread, not in a worker
            raise SweepInterrupt(
                state.joined([meter.state for meter in meters], blocks.next)
            ) from None
        raise
    finally:
        blocks.stopped = True  # if one thread fails, all end
    return state.joined([meter.state for meter in meters], blocks.end)


class BlockQueue:
    """The blocks of one round, which threads take in turn."""

    def __init__(self, evaluate: Evaluate, size: int) -> None:
        self.evaluate, self.size = evaluate, size
        self._lock = threading.Lock()
        self.reset(0, 0)

    def reset(self, start: int, end: int) -> None:
        """Begin the round from `start` to `end`."""
        self.next, self.end = start, end
        self.stopped = self.failed = False

    def _take(self) -> int | None:
        """Return the start of the next block, or None; blocks below `next` have been started."""
        with self._lock:
            if self.stopped or self.next >= self.end:
                return None
            first, self.next = self.next, min(self.next + self.size, self.end)
            return first

    def work(self, meter: _ErrorMeter[Any]) -> None:
        """Compute and measure blocks until none is left."""
        try:
            while (first := self._take()) is not None:
                count = min(self.size, self.end - first)
                bits = np.arange(first, first + count, dtype=np.uint32)
                meter.measure(first, self.evaluate(bits.view(np.float32)))
        except BaseException:
            self.stopped = self.failed = True
            raise


def in_slices(activation: Activation, quantity: str) -> Evaluate:
    """Return a function that computes a quantity on the calling thread alone.

    Slices are too short to be split among softgate's threads, and stay in the caches.
    """
    method = activation if quantity == "value" else getattr(activation, quantity)

    def evaluate(x: Float32s) -> Float32s:
        out = np.empty_like(x)
        for start in range(0, x.size, CHUNK):
            method(x[start : start + CHUNK], out=out[start : start + CHUNK])
        return out

    return evaluate
