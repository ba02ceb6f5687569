"""From an entry of the catalogue to a compiled loop, kept for the life of the process.

A kernel is one quantity of one activation in one arithmetic, reading and writing one storage
format. Parameters at their defaults are folded into the code; all other values share one kernel
that reads them, so a sweep over a parameter compiles once.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from .blocks import Kernel
from .catalogue import Entry
from .formats import FLOAT32, FLOAT64, Format
from .graph import Node

if TYPE_CHECKING:
    from .lower.llvm import Loop

Compiled = Callable[..., None]
Parameters = Mapping[str, float]
QUANTITIES = ("value", "slope", "curvature", "backward")

_compiled: dict[object, Compiled] = {}
BUILDING = threading.RLock()
"""Held while kernels are compiled, tables made and the modules for that imported.

It is held across a fork too, so that a child never inherits a compiler, an import or a table that
stopped half-way.
"""
os.register_at_fork(
    before=BUILDING.acquire,
    after_in_parent=BUILDING.release,
    after_in_child=BUILDING.release,
)


@dataclass(frozen=True)
class Specification:
    """What one kernel computes and on what; `alias` names the input that the output overwrites."""

    entry: Entry
    quantity: str
    storage: Format
    arithmetic: Format
    specialised: bool = True
    alias: str | None = None
    constants: tuple[tuple[str, float], ...] = ()
    """What is folded into a specialised kernel in place of the defaults."""

    @property
    def inputs(self) -> tuple[str, ...]:
        """The array operands in call order."""
        return ("x", "grad") if self.quantity == "backward" else ("x",)


def native_arithmetic(quantity: str, storage: Format) -> Format:
    """Return the arithmetic a quantity is computed in when nobody asks for another.

    Curvature has a stable form for float64 only: narrower arrays are rounded from it once.
    """
    if storage.bits == 64 or quantity == "curvature":
        return FLOAT64
    return FLOAT32


def is_default(entry: Entry, parameters: Parameters) -> bool:
    """Tell whether every parameter has its default."""
    return all(parameters[p.name] == p.default for p in entry.parameters)


def trace(specification: Specification) -> Node:
    """Return the graph of a kernel."""
    entry, f = specification.entry, Kernel(specification.arithmetic)
    fixed = {}
    if specification.specialised:
        values = {p.name: p.default for p in entry.parameters} | dict(specification.constants)
        fixed = {name: f.number(Fraction(value)) for name, value in values.items()}
    return entry.trace(specification.quantity, f, **fixed)


def loop(specification: Specification) -> Loop:
    """Return the loop that a specification lowers to."""
    from .lower.llvm import Loop

    names = [p.name for p in specification.entry.parameters]
    if specification.arithmetic.bits < 64:
        names = [part for name in names for part in (name, f"{name}.lo")]
    return Loop(
        root=trace(specification),
        arithmetic=specification.arithmetic,
        storage=specification.storage,
        inputs=specification.inputs,
        parameters=tuple(names),
        alias=specification.alias,
    )


def pack(entry: Entry, parameters: Parameters, arithmetic: Format) -> npt.NDArray[np.floating]:
    """Return the parameters as a kernel reads them: in two parts where one is too short."""
    values = np.array([parameters[p.name] for p in entry.parameters], np.float64)
    if arithmetic.bits == 64:
        return values
    high = values.astype(np.float32)
    low = (values - high).astype(np.float32)
    return np.stack([high, low], axis=1).ravel()


def compiled(specification: Specification) -> Compiled:
    """Return the compiled kernel: called as (out, inputs…, parameters, count) with addresses."""
    return once(specification, lambda: _compile(specification))


def once(key: object, make: Callable[[], Compiled]) -> Compiled:
    """Return what `make` made for `key`, calling it the first time only."""
    found = _compiled.get(key)
    if found is None:
        with BUILDING:
            found = _compiled.get(key)
            if found is None:
                found = _compiled[key] = make()
    return found


def _compile(specification: Specification) -> Compiled:
    from .lower.llvm import compile_loop

    return compile_loop(loop(specification))


def evaluate64(
    entry: Entry, quantity: str, x: npt.NDArray[np.float64], parameters: Parameters
) -> npt.NDArray[np.float64]:
    """Return a quantity at contiguous float64 `x` from the float64 kernel, on this thread."""
    specification = Specification(
        entry, quantity, FLOAT64, FLOAT64, specialised=is_default(entry, parameters)
    )
    out = np.empty_like(x)
    packed = pack(entry, parameters, FLOAT64)
    compiled(specification)(out.ctypes.data, x.ctypes.data, packed.ctypes.data, x.size)
    return out
