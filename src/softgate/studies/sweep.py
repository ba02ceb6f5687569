"""All 2**32 float32 inputs of one quantity, against the float64 kernel.

The float64 kernel is the truth here; it is measured against arb apart, and its error is a few
2**-29 of a float32 ulp. Slopes of f = x·g are first measured in ulps of the slope itself, which
is at most twice the scale max(|g|, |x·g'|); only where that leaves doubt is the scale computed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from softgate.catalogue import Entry
from softgate.formula.formats import FLOAT32, FLOAT64, Format
from softgate.runtime import kernels

from . import accuracy

CHUNK = 1 << 18
"""Inputs a step: results, truth and errors of a chunk stay in the caches."""

INPUTS = 1 << 32


@dataclass(frozen=True)
class Sweep:
    """The outcome of one sweep."""

    activation: str
    quantity: str
    inputs: int
    max_ulp: float
    worst_bits: int

    @property
    def worst(self) -> float:
        """The input with the largest error."""
        return float(np.uint32(self.worst_bits).view(np.float32))

    def __str__(self) -> str:
        return (
            f"{self.activation} {self.quantity}: {self.inputs:,} float32 inputs, "
            f"max {self.max_ulp:.4f} ulp at {self.worst!r} (0x{self.worst_bits:08x})"
        )


class Sweeper:
    """Measures chunks of bit patterns; one for each thread that works on a sweep."""

    def __init__(
        self, entry: Entry, quantity: str, parameters: Mapping[str, float], arithmetic: Format
    ) -> None:
        from softgate.lower.ulp_error import compile_error

        specialised = kernels.is_default(entry, parameters)

        def compiled(storage: Format, arithmetic: Format) -> kernels.Compiled:
            return kernels.compiled(
                kernels.Specification(entry, quantity, storage, arithmetic, specialised)
            )

        self.single, self.double = compiled(FLOAT32, arithmetic), compiled(FLOAT64, FLOAT64)
        self.error = kernels.once("error", compile_error)
        self.single_parameters = kernels.pack(entry, parameters, arithmetic, quantity)
        self.double_parameters = kernels.pack(entry, parameters, FLOAT64, quantity)
        self.entry, self.values = entry, dict(parameters)
        self.scaled = len(accuracy.scale_graphs(entry, quantity)) > 1
        self.y = np.empty(CHUNK, np.float32)
        self.x, self.truth, self.errors = (np.empty(CHUNK) for _ in range(3))

    def measure(self, start: int, floor: float) -> tuple[float, int]:
        """Return the largest error among CHUNK bit patterns from `start`, and its bits.

        Errors up to `floor` are of no interest any more.
        """
        bits = np.arange(start, start + CHUNK, dtype=np.uint32)
        x32 = bits.view(np.float32)
        with np.errstate(invalid="ignore"):
            np.copyto(self.x, x32)
        address = {name: getattr(self, name).ctypes.data for name in ("x", "y", "truth", "errors")}
        self.single(address["y"], x32.ctypes.data, self.single_parameters.ctypes.data, CHUNK)
        self.double(address["truth"], address["x"], self.double_parameters.ctypes.data, CHUNK)
        truth = address["truth"]
        self.error(address["errors"], x32.ctypes.data, address["y"], truth, truth, CHUNK)
        if self.scaled:
            self._rescale(x32, floor)
        worst = int(np.argmax(self.errors))
        return float(self.errors[worst]), start + worst

    def _rescale(self, x32: npt.NDArray[np.float32], floor: float) -> None:
        doubtful = np.flatnonzero(self.errors > floor)
        if not doubtful.size:
            return
        x = self.x[doubtful]
        errors, truth = np.empty_like(x), self.truth[doubtful]
        scale = accuracy.slope_scale(self.entry, x, truth, self.values)
        operands = (errors, x32[doubtful], self.y[doubtful], truth, scale)
        self.error(*(operand.ctypes.data for operand in operands), x.size)
        self.errors[doubtful] = errors


def sweep(
    entry: Entry,
    quantity: str,
    parameters: Mapping[str, float] | None = None,
    arithmetic: Format = FLOAT32,
    threads: int = 2,
    start: int = 0,
    stop: int = INPUTS,
    progress: Callable[[int], None] | None = None,
) -> Sweep:
    """Measure the float32 kernel at the bit patterns from `start` to `stop`."""
    values = {p.name: p.default for p in entry.parameters} | dict(parameters or {})

    def work(first: int) -> tuple[float, int]:
        sweeper = Sweeper(entry, quantity, values, arithmetic)
        best, where = -1.0, start
        for chunk in range(start + first * CHUNK, stop, threads * CHUNK):
            error, bits = sweeper.measure(chunk, max(best, 0.0) / 2)
            if error > best:
                best, where = error, bits
            if progress is not None:
                progress(CHUNK)
        return best, where

    with ThreadPoolExecutor(threads) as pool:
        best, where = max(pool.map(work, range(threads)))
    return Sweep(entry.name, quantity, stop - start, best, where)
