"""Digests of computed results, the fixed operands they are of, and the published file.

`digests.toml` has one digest for each function, quantity and dtype over fixed inputs, one for the
inputs, and one for the operations of each kernel, which changes even if no fixed input shows it.
The sign and payload of a NaN are not hashed; the sign of a zero is. `make digests` writes the file.

The operands come from integer arithmetic defined here and from additions, multiplications and
roundings that IEEE 754 defines, so that no version of NumPy and no CPU changes them.
"""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any

import numpy as np
import numpy.typing as npt

from softgate.formula.formats import (
    BFLOAT16,
    BYTE_FORMATS,
    FLOAT16,
    FORMATS,
    Format,
    all_values,
    dtype_of,
)
from softgate.formula.graph import walk
from softgate.runtime import kernels
from softgate.runtime.activation import Activation
from softgate.runtime.registry import activations, gated

PER_INTERVAL, TIES, NEAR, PATTERNS = 1024, 2048, 8192, 8192
"""Numbers of inputs of each kind, for float32 and float64."""

Words = npt.NDArray[np.uint64]
Floats = npt.NDArray[Any]


def operands(function: Activation, quantity: str, dtype: str) -> tuple[Floats, ...]:
    """Return the fixed operands of a quantity, in the order of a call."""
    fmt = _format(dtype)
    x = inputs(fmt, function.entry.intervals)
    grad = (factors(fmt, x.size, stream=1),) if quantity == "backward" else ()
    if function.nin == 1:
        return (x, *grad)
    other = factors(fmt, x.size, stream=2)
    return ((other, x) if function.position(None) == "second" else (x, other)) + grad


@lru_cache(maxsize=64)
def inputs(fmt: Format, intervals: tuple[tuple[float, float], ...]) -> Floats:
    """Return the fixed inputs of a format: all of at most 16 bits, otherwise a sample.

    The sample has special values and their neighbours, both ends and another number of each binade,
    numbers halfway between two neighbours in float16 and bfloat16, numbers in `intervals` and
    beside their ends, numbers from 2**-10 to 2**10, and random bit patterns.
    """
    if fmt.bits <= 16:
        return _floats(np.arange(1 << fmt.bits, dtype=np.uint64), fmt)
    kind = dtype_of(fmt)
    parts = [_floats(_specials(fmt), fmt), _floats(_binades(fmt), fmt)]
    parts += [_ties(narrow, 3 + i).astype(kind) for i, narrow in enumerate((FLOAT16, BFLOAT16))]
    for i, (low, high) in enumerate(intervals):
        unit = (words(16 + i, PER_INTERVAL) >> np.uint64(11)).astype(np.float64) * 2.0**-53
        ends = np.array([low, high], kind)
        near = (np.nextafter(ends, kind.type(side)) for side in (-np.inf, np.inf))
        parts += [(low + (high - low) * unit).astype(kind), ends, *near]
    parts += [_floats(_near_one(fmt, words(5, NEAR), 10), fmt)]
    parts += [_floats(words(6, PATTERNS) >> np.uint64(64 - fmt.bits), fmt)]
    x = np.concatenate(parts)
    x.flags.writeable = False
    return x


@lru_cache(maxsize=64)
def factors(fmt: Format, count: int, stream: int) -> Floats:
    """Return `count` fixed factors: from 2**-8 to 2**8, every fourth a random bit pattern."""
    random = words(stream, count)
    anything = random >> np.uint64(64 - fmt.bits)
    bits = np.where(np.arange(count) % 4 == 3, anything, _near_one(fmt, random, 8))
    return _floats(bits, fmt)


def words(stream: int, count: int) -> Words:
    """Return `count` random words of 64 bits: SplitMix64 started at a multiple of 2**32.

    Examples
    --------
    >>> [hex(word) for word in words(0, 2).tolist()]
    ['0xe220a8397b1dcdaf', '0x6e789e6aa1b965f4']
    """
    z = (np.arange(1, count + 1, dtype=np.uint64) + np.uint64(stream << 32)) * np.uint64(
        0x9E3779B97F4A7C15
    )
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def _format(dtype: str) -> Format:
    return FORMATS.get(dtype) or BYTE_FORMATS[dtype]


def infinity_bits(fmt: Format) -> int:
    """Return the bits of +inf."""
    return (2 * fmt.max_exponent + 1) << fmt.mantissa_bits


def _floats(bits: Words, fmt: Format) -> Floats:
    floats = bits.astype(f"u{fmt.bits // 8}").view(dtype_of(fmt))
    floats.flags.writeable = False
    return floats


def _specials(fmt: Format) -> Words:
    mantissa, infinity = fmt.mantissa_bits, infinity_bits(fmt)
    smallest, one = 1 << mantissa, fmt.max_exponent << mantissa
    quiet = infinity | (1 << (mantissa - 1))
    magnitudes = [0, 1, 2, smallest - 1, smallest, smallest + 1, one - 1, one, one + 1]
    magnitudes += [infinity - 1, infinity, infinity + 1, quiet, quiet + 1]
    return _both_signs(np.array(magnitudes, np.uint64), fmt)


def _binades(fmt: Format) -> Words:
    fields = np.arange(2 * fmt.max_exponent + 1, dtype=np.uint64) << np.uint64(fmt.mantissa_bits)
    last = np.uint64((1 << fmt.mantissa_bits) - 1)
    inside = words(0, fields.size) & last
    return _both_signs(np.concatenate([fields, fields | last, fields | inside]), fmt)


def _near_one(fmt: Format, random: Words, exponents: int) -> Words:
    """Return patterns of both signs from 2**-exponents to 2**exponents."""
    sign = (random >> np.uint64(63)) << np.uint64(fmt.bits - 1)
    mantissa = random & np.uint64((1 << fmt.mantissa_bits) - 1)
    above = (random >> np.uint64(56)) % np.uint64(2 * exponents)
    field = above + np.uint64(fmt.max_exponent - exponents)
    bits: Words = sign | (field << np.uint64(fmt.mantissa_bits)) | mantissa
    return bits


def _ties(narrow: Format, stream: int) -> npt.NDArray[np.float64]:
    """Return numbers halfway between two neighbours in a 16-bit format."""
    magnitudes = words(stream, TIES) % np.uint64(infinity_bits(narrow) - 1)
    values = all_values(narrow)
    halfway: npt.NDArray[np.float64] = (values[magnitudes] + values[magnitudes + np.uint64(1)]) / 2
    halfway[::2] *= -1.0
    return halfway


def _both_signs(bits: Words, fmt: Format) -> Words:
    return np.concatenate([bits, bits | np.uint64(1 << (fmt.bits - 1))])


VERSION = 1
"""The version of the inputs and of the file."""

QUANTITIES = ("value", "slope", "curvature", "backward")
DTYPES = ("float16", "bfloat16", "float32", "float64")
FLOAT8 = (("float8_e4m3fn", "value"), ("float8_e4m3fn", "slope"), ("float8_e5m2", "value"))
"""Tables of 256 entries, for functions of one operand. Those of the other formats and of `backward`
are rounded from the same float64 kernels, which have digests."""
QUICK = (
    ("float16", "value"),
    ("bfloat16", "value"),
    ("float32", "value"),
    ("float64", "value"),
    ("float64", "backward"),
)
"""What is checked by default: the value in each dtype, and one backward. Compiling all kernels
takes half a minute; `softgate doctor` should take less than ten seconds."""


@dataclass(frozen=True)
class DigestCase:
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


def catalogue() -> dict[str, Activation]:
    """Return every function that has digests, gated ones included, by name."""
    return {**activations(), **gated()}


def quick_cases(functions: Mapping[str, Activation]) -> Iterator[DigestCase]:
    """Yield the cases that are checked by default."""
    for name in functions:
        for dtype, quantity in QUICK:
            yield DigestCase(name, quantity, dtype)


def cases(functions: Mapping[str, Activation]) -> Iterator[DigestCase]:
    """Yield every case of `functions`.

    With parameters at values other than their defaults, 16-bit formats have a digest of the value
    only: their tables come from the float64 kernels, which have digests.
    """
    for name, function in functions.items():
        for dtype in DTYPES:
            for quantity in QUANTITIES:
                yield DigestCase(name, quantity, dtype)
        yield DigestCase(name, "value", "float32", arithmetic="float64")
        if function.nin == 1:
            for dtype, quantity in FLOAT8:
                yield DigestCase(name, quantity, dtype)
        for parameter in function.entry.parameters:
            for value in parameter.tested:
                chosen = ((parameter.name, float(value)),)
                for dtype in ("float32", "float64"):
                    for quantity in QUANTITIES:
                        yield DigestCase(name, quantity, dtype, chosen)
                for dtype in ("float16", "bfloat16"):
                    yield DigestCase(name, "value", dtype, chosen)


def compute(case: DigestCase, function: Activation) -> str:
    """Return the digest of the results of `function` on this machine."""
    return digest(*call(case, function, operands(function, case.quantity, case.dtype)))


def call(case: DigestCase, function: Activation, arguments: Iterable[Any]) -> tuple[Any, ...]:
    """Return the results of a case for these operands, which may be tensors of a framework."""
    method = function if case.quantity == "value" else getattr(function, case.quantity)
    keywords: dict[str, Any] = dict(case.parameters)
    if case.arithmetic is not None:
        keywords["arithmetic"] = case.arithmetic
    results = method(*arguments, **keywords)
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
        fmt = _format(result.dtype.name)
        unsigned = np.dtype(f"u{fmt.bits // 8}")
        bits = np.ascontiguousarray(result).view(unsigned)
        quiet = 0x7F if fmt.bits == 8 else infinity_bits(fmt) | (1 << (fmt.mantissa_bits - 1))
        with np.errstate(invalid="ignore"):  # signalling NaNs
            nan = np.isnan(result)
        canonical = np.where(nan, unsigned.type(quiet), bits)
        state.update(canonical.astype(unsigned.newbyteorder("<")).tobytes())
    return state.hexdigest()[:32]


def operations(case: DigestCase, function: Activation) -> str | None:
    """Return the digest of a kernel's operations; None for formats that have tables."""
    storage = _format(case.dtype)
    if storage.bits <= 16:
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


def tables(functions: Mapping[str, Activation]) -> dict[str, dict[str, str]]:
    """Compute the tables of the file for `functions`."""
    result: dict[str, dict[str, str]] = {"bits": {}, "inputs": {}, "operations": {}}
    for case in cases(functions):
        function = functions[case.function]
        result["bits"][case.name] = compute(case, function)
        if case.arithmetic is None and (kernel := operations(case, function)) is not None:
            result["operations"][case.kernel] = kernel
    for name, function in functions.items():
        for dtype in DTYPES:
            arguments = operands(function, "backward", dtype)
            result["inputs"][f"{name} {dtype}"] = digest(*arguments)
    return result
