"""The code that computes one quantity of arrays of one format: a kernel or a table.

`arrays` runs a `Route` and `explain` describes the same one.
"""

from __future__ import annotations

import ctypes
import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from softgate.catalogue import Entry
from softgate.formula.formats import FLOAT32, FLOAT64, Format

from . import kernels, tables

if TYPE_CHECKING:
    from softgate.lower.llvm import Loop

Parameters = tuple[tuple[str, float], ...]

SMALL_PARAMETER = 2.0**-100
"""Below this a parameter's second float would be subnormal: the float64 kernel is used."""


class Runner:
    """A compiled loop and the array that it reads besides its operands: parameters or a table.

    `run` is called with the addresses of out, of the inputs and of that array, and with a count.
    """

    __slots__ = ("address", "code", "constants", "run")

    def __init__(self, run: Callable[..., None], constants: np.ndarray[Any, Any]) -> None:
        self.run, self.constants = run, constants
        self.address: int = constants.ctypes.data
        self.code: int = ctypes.cast(run, ctypes.c_void_p).value or 0  # type: ignore[arg-type]
        """The address of the loop, for calls from compiled code."""

    @property
    def kernel(self) -> tuple[int, int]:
        """The addresses of the loop and of the array."""
        return self.code, self.address


@dataclass(frozen=True)
class Route:
    """The kernel or table for one quantity of one function and arrays of one format.

    A function of two operands has no table of 65,536² results: 16-bit arrays are computed in
    float32 and rounded.
    """

    entry: Entry
    quantity: str
    storage: Format
    arithmetic: Format | None = None
    parameters: Parameters = ()
    varying: bool = False
    """Whether the parameters are float64 array operands, after the others."""
    result: int | None = None
    """The only result that is computed, of several."""
    _runner: list[Runner] = field(default_factory=list, compare=False, repr=False)

    @property
    def inputs(self) -> tuple[str, ...]:
        """The names of the kernel's operands, in call order, without varying parameters."""
        return self.entry.inputs(self.quantity)

    @property
    def results(self) -> int:
        """The number of arrays that the kernel writes."""
        return 1 if self.result is not None else self.entry.results(self.quantity)

    @property
    def computed_in(self) -> Format:
        """The arithmetic of the kernel that runs or that a table is made with."""
        narrow = self.storage.bits <= 16
        if narrow and self.entry.nin == 1:
            return FLOAT64 if self.uses_table else FLOAT32
        if self.entry.user is not None and not self.entry.user.fast:
            return FLOAT64
        if any(0 < abs(value) < SMALL_PARAMETER for _, value in self.parameters):
            return FLOAT64
        native = kernels.native_arithmetic(self.quantity, self.storage)
        # `varying` parameters may be tiny: then the call's arithmetic is float64 in 16 bits, too.
        return native if narrow and not self.varying else self.arithmetic or native

    @property
    def uses_table(self) -> bool:
        """Whether results are from a table.

        For at most 8 bits; for 16 bits unless float32 is faster and as accurate.
        """
        entry = self.entry
        if self.storage.bits <= 8:
            return True
        if self.storage.bits > 16 or entry.nin > 1:
            return False
        linear = entry.piecewise_linear and self.quantity != "curvature"
        if not linear and self.storage not in entry.cheap.get(self.quantity, ()):
            return True
        with kernels.BUILDING:
            return self._in_float32() is None

    def runner(self) -> Runner:
        """Return the compiled loop and what it reads besides its operands."""
        if not self._runner:
            with kernels.BUILDING:
                if not self._runner:
                    self._runner.append(self._lookup() if self.uses_table else self._loop())
        return self._runner[0]

    def _in_float32(self) -> Parameters | None:
        checked = "slope" if self.quantity == "backward" else self.quantity
        moved = tables.exact_in_float32(self.entry, checked, self.storage, self.parameters)
        return self.parameters if moved and self.quantity == "backward" else moved

    def loop(self) -> tuple[Loop, list[float]]:
        """Return the loop that the kernel is compiled from, and the values of its parameters."""
        specification, packed = self._specified()
        return kernels.loop(specification), packed.tolist()

    def _loop(self) -> Runner:
        specification, packed = self._specified()
        return Runner(kernels.compiled(specification), packed)

    def _specified(self) -> tuple[kernels.Specification, np.ndarray[Any, Any]]:
        """Return what kernel is compiled, and the parameters as it reads them."""
        moved = self.storage.bits == 16 and self.entry.nin == 1
        values = (self._in_float32() or ()) if moved else self.parameters
        specialised = not self.varying and kernels.is_default(self.entry, dict(self.parameters))
        specification = kernels.Specification(
            self.entry,
            self.quantity,
            self.storage,
            self.computed_in,
            specialised,
            values if moved and specialised else (),
            self.varying,
            self.result,
        )
        if self.varying:
            return specification, np.empty(0)
        return specification, kernels.pack(
            self.entry, dict(values), self.computed_in, self.quantity
        )

    def digest(self, parameters: bool = True) -> str:
        """Return a digest of the operations and numbers, the same in every process.

        Routes with the same digest compute the same bits. Without `parameters`, of the operations
        of a kernel that reads them.
        """
        with kernels.BUILDING:
            if self.uses_table:
                operations: object = ("table", self.quantity, self.storage.name)
                numbers = self.runner().constants
            else:
                specification, numbers = self._specified()
                operations = kernels.described(specification)
        text = repr((operations, numbers.tobytes() if parameters else None))
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def _lookup(self) -> Runner:
        from softgate.lower.llvm import (
            compile_lookup,
            compile_lookup_backward,
            compile_lookup_pair,
        )

        storage = self.storage
        if self.quantity != "backward":
            make = partial(compile_lookup, storage)
            return Runner(kernels.once(("lookup", storage.itemsize), make), self.table())
        if storage.itemsize == 1:
            return Runner(kernels.once("lookup pair", compile_lookup_pair), self.table())
        slopes = tables.slopes32(self.entry, storage, self.parameters)
        make = partial(compile_lookup_backward, storage)
        return Runner(kernels.once(("lookup", storage), make), slopes)

    def table(self) -> np.ndarray[Any, Any]:
        """Return the bit patterns of the results at all inputs.

        For "backward", only in formats of at most 8 bits, at the index 256·x + grad.
        """
        with kernels.BUILDING:
            if self.quantity == "backward":
                return tables.backward_table(self.entry, self.storage, self.parameters)
            return tables.table(self.entry, self.quantity, self.storage, self.parameters)

    def describe(self) -> str:
        """Return one line that describes the kernel or table."""
        computed, storage = self.computed_in, self.storage
        if self.uses_table:
            table = f"a table of the {1 << storage.bits:,} {storage.name}"
            exact = self.entry.user is None and (self.quantity != "curvature" or storage.bits <= 8)
            rounding = "correctly rounded" if exact else "rounded from the float64 kernel"
            if self.quantity != "backward":
                return f"{table} results, {rounding}"
            if storage.itemsize == 1:
                return f"a table of {storage.name} slopes times grad, {rounding}"
            return f"{table} slopes in float32, times grad"
        if computed is storage:
            return f"the {computed.name} kernel"
        return f"the {computed.name} kernel, rounded once to {storage.name}"
