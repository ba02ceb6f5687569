"""Digests of what functions compute, and the file in which they are published.

`digests.toml` has one digest for each function, quantity and dtype over fixed inputs, one for the
inputs, and one for the operations of each kernel: a change that no fixed input shows is seen too.
The sign and payload of a NaN are not hashed; the sign of a zero is. `make digests` writes the file.
"""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from softgate.formula.formats import FORMATS
from softgate.formula.graph import walk
from softgate.runtime import arrays, kernels
from softgate.runtime.activation import Activation
from softgate.runtime.registry import activations, gated

from .inputs import Floats, Function, infinity_bits, operands

VERSION = 1
"""The version of the inputs and of the file."""

QUANTITIES = ("value", "slope", "curvature", "backward")
FROM_VALUE = "from_value"
"""The backward from the output instead of the input, which PyTorch's autograd uses where it can."""
DTYPES = ("float16", "bfloat16", "float32", "float64")
QUICK = (("float32", "value"), ("float64", "backward"))
"""What is checked by default: both formulas and both formats of every function, in two kernels. All
kernels take half a minute to compile, `softgate doctor` should take less than five seconds."""


@dataclass(frozen=True)
class Case:
    """One published digest: a function, its parameters, a quantity and a dtype."""

    function: str
    quantity: str
    dtype: str
    parameters: tuple[tuple[str, float], ...] = ()
    arithmetic: str | None = None

    @property
    def name(self) -> str:
        """The key in the file, such as "elu:alpha=0.5 slope float32"."""
        values = ",".join(f"{name}={value!r}" for name, value in self.parameters)
        label = f"{self.function}:{values}" if values else self.function
        name = f"{label} {self.quantity} {self.dtype}"
        return f"{name} in {self.arithmetic}" if self.arithmetic else name

    @property
    def kernel(self) -> str:
        """The kernel's key in the file: parameters at other values than the defaults share one."""
        names = ",".join(name for name, _ in self.parameters)
        label = f"{self.function}:{names}" if names else self.function
        return f"{label} {self.quantity} {self.dtype}"


def catalogue() -> dict[str, Function]:
    """Return every function that has digests, gated ones included, by name."""
    return {**activations(), **gated()}


def quick_cases(functions: Mapping[str, Function]) -> Iterator[Case]:
    """Yield the cases that are checked by default."""
    for name in functions:
        for dtype, quantity in QUICK:
            yield Case(name, quantity, dtype)


def cases(functions: Mapping[str, Function]) -> Iterator[Case]:
    """Yield every case of `functions`.

    With parameters at values other than their defaults, 16-bit formats have a digest of the value
    only: their tables come from the float64 kernels, which have digests of their own.
    """
    for name, function in functions.items():
        for dtype in DTYPES:
            for quantity in QUANTITIES:
                yield Case(name, quantity, dtype)
            if has_from_value(function):
                yield Case(name, FROM_VALUE, dtype)
        yield Case(name, "value", "float32", arithmetic="float64")
        for parameter in function.entry.parameters:
            for value in parameter.tested:
                chosen = ((parameter.name, float(value)),)
                for dtype in ("float32", "float64"):
                    for quantity in QUANTITIES:
                        yield Case(name, quantity, dtype, chosen)
                for dtype in ("float16", "bfloat16"):
                    yield Case(name, "value", dtype, chosen)


def has_from_value(function: Function) -> bool:
    """Tell whether a function with its default parameters has a backward from its output."""
    return isinstance(function, Activation) and function.entry.slope_follows(function.parameters)


def compute(case: Case, function: Function) -> str:
    """Return the digest of what `function` computes here."""
    return digest(*call(case, function, operands(function, case.quantity, case.dtype)))


def call(case: Case, function: Function, given: Iterable[Any]) -> tuple[Any, ...]:
    """Return the results of a case for these operands, which may be tensors of a framework."""
    if case.quantity == FROM_VALUE:
        assert isinstance(function, Activation)
        x, grad = given
        route = function.route(FROM_VALUE, x.dtype)
        return arrays.apply(function, route, {"x": function(x), "grad": grad}, None)
    method = function if case.quantity == "value" else getattr(function, case.quantity)
    keywords: dict[str, Any] = dict(case.parameters)
    if case.arithmetic is not None:
        keywords["arithmetic"] = case.arithmetic
    results = method(*given, **keywords)
    return results if isinstance(results, tuple) else (results,)


def digest(*results: Floats) -> str:
    """Return the digest of arrays: SHA-256 of their bits, little-endian, every NaN the same.

    Examples
    --------
    >>> digest(np.float32([0.0])) == digest(np.float32([-0.0]))
    False
    >>> digest(np.float32([np.nan])) == digest(-np.float32([np.nan]))
    True
    """
    state = hashlib.sha256()
    for result in results:
        fmt = FORMATS[result.dtype.name]
        unsigned = np.dtype(f"u{fmt.bits // 8}")
        bits = np.ascontiguousarray(result).view(unsigned)
        sign, infinity = unsigned.type(1 << (fmt.bits - 1)), infinity_bits(fmt)
        quiet = unsigned.type(infinity | (1 << (fmt.mantissa_bits - 1)))
        canonical = np.where((bits & ~sign) > unsigned.type(infinity), quiet, bits)
        state.update(canonical.astype(unsigned.newbyteorder("<")).tobytes())
    return state.hexdigest()[:32]


def operations(case: Case, function: Function) -> str | None:
    """Return the digest of a kernel's operations; None for 16-bit formats, which have tables."""
    storage = FORMATS[case.dtype]
    if storage.bits == 16:
        return None
    arithmetic = kernels.native_arithmetic(case.quantity, storage)
    specification = kernels.Specification(
        function.entry, case.quantity, storage, arithmetic, specialised=not case.parameters
    )
    roots = kernels.traced(specification)
    places: dict[int, int] = {}
    lines = []
    for node in walk(*roots):
        number = node.op == "const"
        attribute = arithmetic.round(node.attr).hex() if number else node.attr  # type: ignore[arg-type]
        lines.append(f"{node.op} {attribute} {[places[id(arg)] for arg in node.args]}")
        places[id(node)] = len(places)
    lines.append(f"results {[places[id(root)] for root in roots]}")
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:32]


@cache
def read() -> dict[str, dict[str, str]]:
    """Return the tables of the file: bits, inputs and operations by name."""
    content = tomllib.loads((files(__package__) / "digests.toml").read_text(encoding="utf-8"))
    version = content.pop("version")
    if version != VERSION:
        raise ValueError(f"digests.toml has version {version}: expected {VERSION}; make digests")
    return content


def published_digest(label: str, quantity: str, dtype: str) -> str | None:
    """Return the digest published for a function such as "elu:alpha=0.5"; None without one."""
    return read()["bits"].get(f"{label} {quantity} {dtype}")


def tables(functions: Mapping[str, Function]) -> dict[str, dict[str, str]]:
    """Compute the tables of the file for `functions`."""
    result: dict[str, dict[str, str]] = {"bits": {}, "inputs": {}, "operations": {}}
    for case in cases(functions):
        function = functions[case.function]
        result["bits"][case.name] = compute(case, function)
        if case.arithmetic is None and (kernel := operations(case, function)) is not None:
            result["operations"][case.kernel] = kernel
    for name, function in functions.items():
        for dtype in DTYPES:
            given = operands(function, "backward", dtype)
            result["inputs"][f"{name} {dtype}"] = digest(*given)
    return result
