"""Compile an entry to a loop over memory; equal graphs share a kernel, freed with its functions.

A kernel computes one quantity of one function in one arithmetic and reads and writes one storage
format. Parameters at their defaults are folded into the code; all other values share one kernel
that reads them, so a sweep over a parameter compiles once.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from softgate.blocks import KernelArithmetic, TwoFloat
from softgate.catalogue import Entry
from softgate.formula.formats import FLOAT32, FLOAT64, Format
from softgate.formula.graph import Node, signature
from softgate.formula.trace import LIMITS
from softgate.lower import fork_lock

if TYPE_CHECKING:
    from softgate.lower.llvm import Loop

Compiled = Callable[..., None]
Parameters = Mapping[str, float]
QUANTITIES = ("value", "slope", "curvature", "backward")

_compiled: dict[object, Compiled] = {}
"""Loops that belong to no function, by the key of `once`: lookups in tables; never cleared."""
_by_entry: WeakKeyDictionary[Entry, dict[object, Compiled]] = WeakKeyDictionary()
"""By entry and the rest of a `Specification`; cleared when the entry is garbage collected."""
_by_graph: OrderedDict[object, Compiled] = OrderedDict()
"""By graphs and formats, so that equal kernels are compiled once; the last used `MOST_UNUSED`."""
MOST_UNUSED = 256
"""Kernels that are kept although their functions may be collected."""
BUILDING = fork_lock.BUILDING
"""Held while kernels are compiled, tables computed and their modules imported."""


@dataclass(frozen=True)
class Specification:
    """A kernel to be compiled."""

    entry: Entry
    quantity: str
    storage: Format
    arithmetic: Format
    specialised: bool = True
    constants: tuple[tuple[str, float], ...] = ()
    """Parameters folded into a specialised kernel in place of the defaults."""
    varying: bool = False
    """Whether the parameters are float64 array operands, after the others."""
    result: int | None = None
    """The only result that the kernel computes, of several."""

    @property
    def inputs(self) -> tuple[str, ...]:
        """The names of the array operands, in call order."""
        parameters = (p.name for p in self.entry.parameters) if self.varying else ()
        return (*self.entry.inputs(self.quantity), *parameters)


def native_arithmetic(quantity: str, storage: Format) -> Format:
    """Return the arithmetic in which a quantity is computed by default.

    Curvature has a stable form in float64 only: results for narrower arrays are rounded from it.
    """
    if storage.bits == 64 or quantity == "curvature":
        return FLOAT64
    return FLOAT32


def is_default(entry: Entry, parameters: Parameters) -> bool:
    """Return whether every parameter has its default."""
    return all(parameters[p.name] == p.default for p in entry.parameters)


def has_limits(entry: Entry) -> bool:
    """Return whether kernels read `LIMITS` after the parameters: those of users' formulas of x."""
    return entry.user is not None and entry.user.limits is not None


def trace(specification: Specification, fused: bool = True) -> Node:
    """Return the graph of a kernel that has one result; not `fused` for frameworks without fma."""
    (root,) = traced(specification, fused)
    return root


def traced(specification: Specification, fused: bool = True) -> tuple[Node, ...]:
    """Return the graphs of a kernel's results."""
    entry, f = specification.entry, KernelArithmetic(specification.arithmetic, fused=fused)
    fixed = {}
    if specification.specialised:
        values = {p.name: p.default for p in entry.parameters} | dict(specification.constants)
        fixed = {name: f.number(Fraction(value)) for name, value in values.items()}
    elif specification.varying:
        for name in (p.name for p in entry.parameters):
            low = None if f.fmt.bits == 64 else f.graph.input(f"{name}.lo")
            fixed[name] = TwoFloat(f.graph.input(name), low)
    narrow_value = specification.quantity == "value" and specification.storage.bits == 16
    if narrow_value and entry.value16 is not None:
        return (entry.value16(f, f.graph.input("x"), specification.storage),)
    roots = entry.trace(specification.quantity, f, **fixed)
    if specification.varying:  # elements with all defaults have the bits of the specialised kernel
        usual = {p.name: f.number(Fraction(p.default)) for p in entry.parameters}
        special = entry.trace(specification.quantity, f, **usual)
        for name, number in usual.items():
            for x, y in zip(fixed[name], number, strict=True):
                if x is not None:
                    same = x.same(f.lift(0) if y is None else y)
                    pairs = zip(special, roots, strict=True)
                    special = tuple(f.where(same, yes, no) for yes, no in pairs)
        roots = special
    return roots if specification.result is None else (roots[specification.result],)


def loop(specification: Specification) -> Loop:
    """Return the loop that a specification lowers to."""
    from softgate.lower.llvm import Loop

    parameters = tuple(p.name for p in specification.entry.parameters)
    names = [] if specification.varying else list(parameters)
    if has_limits(specification.entry):
        names += LIMITS
    if specification.arithmetic.bits < 64:
        names = [part for name in names for part in (name, f"{name}.lo")]
    return Loop(
        roots=traced(specification),
        arithmetic=specification.arithmetic,
        storage=specification.storage,
        inputs=specification.inputs,
        parameters=tuple(names),
        parameter_inputs=parameters if specification.varying else (),
    )


def described(specification: Specification) -> tuple[object, ...]:
    """Return the operations of a kernel, with the formats: equal if and only if its bits are."""
    lowered = loop(specification)
    formats = lowered.arithmetic.name, lowered.storage.name
    return signature(*lowered.roots), formats, lowered.inputs, lowered.parameters


def pack(
    entry: Entry,
    parameters: Parameters,
    arithmetic: Format,
    quantity: str = "value",
) -> npt.NDArray[np.floating]:
    """Return the parameters as a kernel reads them: in two parts if one float is too short."""
    key = tuple((p.name, parameters[p.name]) for p in entry.parameters)
    limits = entry.user.limits(quantity, key) if entry.user and entry.user.limits else ()
    values = np.array([*(value for _, value in key), *limits], np.float64)
    if arithmetic.bits == 64:
        return values
    with np.errstate(all="ignore"):  # a limit may be infinite or NaN; the low part may underflow
        high = values.astype(np.float32)
        low = (values - high).astype(np.float32)
    return np.stack([high, low], axis=1).ravel()


def compiled(specification: Specification) -> Compiled:
    """Return the compiled kernel: called as (out, inputs…, parameters, count) with addresses.

    Equal graphs share a kernel, and a kernel is freed some time after the last function that uses
    it is garbage collected.
    """
    entry, *rest = (getattr(specification, field.name) for field in fields(specification))
    kernel = _by_entry.get(entry, {}).get(tuple(rest))
    if kernel is None:
        with BUILDING:
            kernel = _from_graph(loop(specification))
            _by_entry.setdefault(entry, {})[tuple(rest)] = kernel
    return kernel


def _from_graph(loop: Loop) -> Compiled:
    """Return the kernel of a loop, compiled unless an equal one was used lately."""
    from softgate.lower.llvm import compile_loop

    roots, *rest = (getattr(loop, field.name) for field in fields(loop))
    key = (signature(*roots), *rest)
    kernel = _by_graph.pop(key, None) or compile_loop(loop)
    _by_graph[key] = kernel
    while len(_by_graph) > MOST_UNUSED:
        _by_graph.popitem(last=False)
    return kernel


def once(key: object, make: Callable[[], Compiled]) -> Compiled:
    """Return the result of `make` for `key`, called the first time only."""
    kernel = _compiled.get(key)
    if kernel is None:
        with BUILDING:
            kernel = _compiled.get(key)
            if kernel is None:
                kernel = _compiled[key] = make()
    return kernel


def evaluate64(
    entry: Entry,
    quantity: str,
    x: npt.NDArray[np.float64],
    parameters: Parameters,
    out: npt.NDArray[np.float64] | None = None,
) -> npt.NDArray[np.float64]:
    """Return a quantity at contiguous float64 `x` from the float64 kernel, on this thread."""
    specification = Specification(
        entry, quantity, FLOAT64, FLOAT64, specialised=is_default(entry, parameters)
    )
    out = np.empty_like(x) if out is None else out
    packed = pack(entry, parameters, FLOAT64, quantity)
    compiled(specification)(out.ctypes.data, x.ctypes.data, packed.ctypes.data, x.size)
    return out
