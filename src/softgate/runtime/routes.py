"""Which code runs for one call: the kernel or table, the arithmetic, the threads, and why.

`explain` shows a `Route` and `arrays` runs it, so what is explained is what happens.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from softgate.catalogue import Entry
from softgate.catalogue.gated import GatedEntry
from softgate.formula.formats import FLOAT32, FLOAT64, Format

from . import kernels, tables

SMALL_PARAMETER = 2.0**-100
"""Below this a parameter's second float would be subnormal: such calls take the float64 kernel."""


class Runner:
    """A compiled loop and the array it reads beside its operands: parameters or a table.

    `run` is called with the addresses of out, of the inputs and of that array, and with a count.
    """

    __slots__ = ("_keep", "address", "code", "run")

    def __init__(self, run: Callable[..., None], beside: np.ndarray[Any, Any]) -> None:
        self.run, self._keep = run, beside
        self.address: int = beside.ctypes.data
        self.code: int = ctypes.cast(run, ctypes.c_void_p).value or 0  # type: ignore[arg-type]
        """Where the loop begins, for who calls it from compiled code."""


@dataclass(frozen=True)
class Route:
    """The way one quantity of one activation takes for arrays of one format."""

    entry: Entry
    quantity: str
    storage: Format
    arithmetic: Format | None = None
    parameters: tuple[tuple[str, float], ...] = ()
    _runners: dict[str | None, Runner] = field(default_factory=dict, compare=False, repr=False)

    @property
    def computed_in(self) -> Format:
        """The arithmetic of the kernel that runs or that a table is made with."""
        if self.storage.bits == 16:
            return FLOAT64 if self.uses_table else FLOAT32
        if self.entry.user is not None and not self.entry.user.fast:
            return FLOAT64
        if any(0 < abs(value) < SMALL_PARAMETER for _, value in self.parameters):
            return FLOAT64
        return self.arithmetic or kernels.native_arithmetic(self.quantity, self.storage)

    @property
    def uses_table(self) -> bool:
        """Whether results are looked up: 16-bit ones, unless arithmetic is cheaper and as exact."""
        if self.storage.bits != 16 or self.quantity == "from_value":
            return False
        linear = self.entry.piecewise_linear and self.quantity != "curvature"
        if not linear and self.storage not in self.entry.cheap.get(self.quantity, ()):
            return True
        with kernels.BUILDING:
            return self._in_float32() is None

    def runner(self, alias: str | None = None) -> Runner:
        """Return what to call; `alias` names the input whose memory the output overwrites."""
        found = self._runners.get(alias)
        if found is None:
            with kernels.BUILDING:
                found = self._lookup() if self.uses_table else self._loop(alias)
                self._runners[alias] = found
        return found

    def _in_float32(self) -> tuple[tuple[str, float], ...] | None:
        if self.quantity == "backward" and "backward" in self.entry.cheap:
            return self.parameters  # a float32 slope, as exact as those of a table
        checked = "slope" if self.quantity == "backward" else self.quantity
        found = tables.exact_in_float32(self.entry, checked, self.storage, self.parameters)
        return self.parameters if found and self.quantity == "backward" else found

    def _loop(self, alias: str | None) -> Runner:
        narrow = self.storage.bits == 16
        moved = narrow and self.quantity != "from_value"
        values = (self._in_float32() or ()) if moved else self.parameters
        specialised = kernels.is_default(self.entry, dict(self.parameters))
        specification = kernels.Specification(
            self.entry,
            self.quantity,
            self.storage,
            self.computed_in,
            specialised,
            alias,
            values if moved and specialised else (),
        )
        packed = kernels.pack(self.entry, dict(values), self.computed_in, self.quantity)
        return Runner(kernels.compiled(specification), packed)

    def _lookup(self) -> Runner:
        from softgate.lower.llvm import compile_lookup, compile_lookup_backward

        if self.quantity != "backward":
            entries = tables.table(self.entry, self.quantity, self.storage, self.parameters)
            return Runner(kernels.once("lookup", compile_lookup), entries)
        slopes = tables.slopes32(self.entry, self.storage, self.parameters)
        make = partial(compile_lookup_backward, self.storage)
        return Runner(kernels.once(("lookup", self.storage), make), slopes)

    def describe(self) -> str:
        """Say in one line what computes the results."""
        if self.uses_table:
            table = f"a table of the 65,536 {self.storage.name}"
            if self.entry.user is not None and self.quantity != "backward":
                return f"{table} results, rounded from the float64 kernel"
            return {
                "backward": f"{table} slopes in float32, times grad",
                "curvature": f"{table} results, rounded from the float64 kernel",
            }.get(self.quantity, f"{table} results, correctly rounded")
        return _kernel(self.computed_in, self.storage)


def _kernel(computed: Format, storage: Format) -> str:
    if computed is storage:
        return f"the {computed.name} kernel"
    return f"the {computed.name} kernel, rounded once to {storage.name}"


@dataclass(frozen=True)
class GatedRoute:
    """The way one quantity of one gated activation takes for arrays of one format.

    There is no table of 65,536² results: 16-bit arrays are computed in float32 and rounded.
    """

    entry: GatedEntry
    quantity: str
    storage: Format
    arithmetic: Format | None = None
    parameters: tuple[tuple[str, float], ...] = ()
    _runners: dict[tuple[str | None, bool], Runner] = field(
        default_factory=dict, compare=False, repr=False
    )

    @property
    def computed_in(self) -> Format:
        """The arithmetic of the kernel that runs."""
        if any(0 < abs(value) < SMALL_PARAMETER for _, value in self.parameters):
            return FLOAT64
        wider = None if self.storage.bits == 16 else self.arithmetic
        return wider or kernels.native_arithmetic(self.quantity, self.storage)

    def runner(self, alias: str | None = None, rows: bool = False) -> Runner:
        """Return what to call; `alias` names the input whose memory the output overwrites."""
        found = self._runners.get((alias, rows))
        if found is None:
            with kernels.BUILDING:
                found = self._runners[alias, rows] = self._loop(alias, rows)
        return found

    def describe(self) -> str:
        """Say in one line what computes the results."""
        return _kernel(self.computed_in, self.storage)

    def _loop(self, alias: str | None, rows: bool) -> Runner:
        values, arithmetic = dict(self.parameters), self.computed_in
        specification = kernels.Specification(
            self.entry,
            self.quantity,
            self.storage,
            arithmetic,
            specialised=kernels.is_default(self.entry, values),
            alias=alias,
            rows=rows,
        )
        packed = kernels.pack(self.entry, values, arithmetic)
        return Runner(kernels.compiled(specification), packed)


def contiguous_in_memory(x: np.ndarray[Any, Any]) -> bool:
    """Tell whether the elements of `x` fill one piece of memory without gaps, in any axis order."""
    if x.flags.forc:
        return True
    expected = x.itemsize
    for stride, length in sorted(zip(x.strides, x.shape, strict=True)):
        if length == 1:
            continue
        if stride != expected:
            return False
        expected *= length
    return True
