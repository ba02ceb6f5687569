"""Operations emulated where a CPU lacks them, against NumPy's conversions and exact fractions."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from softgate.formula.formats import BFLOAT16, FLOAT16, FLOAT32, FLOAT64, dtype_of, round_to
from softgate.lower import target
from softgate.lower.llvm import REAL, STORED, store
from softgate.lower.target import CountedLoop, compile_module, function

KINDS = {"float32": (np.float32, np.uint32), "float64": (np.float64, np.uint64)}


def apply(emit, kinds, result, *inputs):
    """Return emit(b, values…) at each element; `kinds` are the IR types, the result's first."""
    module, b, (out, *sources, count) = function(1 + len(inputs))
    with CountedLoop(b, count) as i:
        values = [
            b.load(b.gep(source, [i], source_etype=kind), typ=kind)
            for source, kind in zip(sources, kinds[1:], strict=True)
        ]
        b.store(emit(b, *values), b.gep(out, [i], source_etype=kinds[0]))
    b.ret_void()
    kernel = compile_module(module, pointers=1 + len(inputs))
    kernel(result.ctypes.data, *(x.ctypes.data for x in inputs), result.size)
    return result


def test_every_float16_is_widened_as_by_numpy_and_nan_is_quiet():
    bits = np.arange(1 << 16, dtype=np.uint16)
    kinds = (REAL["float32"], target.HALFWORD)
    wide = apply(target.widen_float16, kinds, np.empty(bits.size, np.float32), bits)
    with np.errstate(invalid="ignore"):
        expected = bits.view(np.float16).astype(np.float32).view(np.uint32)
    expected[np.isnan(bits.view(np.float16))] |= 1 << 22
    np.testing.assert_array_equal(wide.view(np.uint32), expected)


def test_float32_is_narrowed_to_the_nearest_float16_and_nan_is_quiet():
    halves = np.arange(1 << 15, dtype=np.uint16).view(np.float16)
    with np.errstate(invalid="ignore", over="ignore"):
        exact = halves[np.isfinite(halves)].astype(np.float32)
        ties = exact + np.diff(exact, append=np.float32(65536)) / 2
    near = [np.nextafter(ties, np.float32(side)) for side in (0, np.inf)]
    random = np.random.default_rng(1).integers(0, 1 << 32, 200_000, dtype=np.uint32)
    nan = np.uint32(0x7F800000) + np.arange(1, 1 << 23, 97, dtype=np.uint32)
    numbers = np.concatenate([exact, ties, *near]).view(np.uint32)
    bits = np.concatenate([numbers, random, nan])
    bits = np.concatenate([bits, bits ^ np.uint32(1 << 31)])
    x = bits.view(np.float32)
    kinds = (target.HALFWORD, REAL["float32"])
    narrow = apply(target.narrow_to_float16, kinds, np.empty(x.size, np.uint16), x)
    with np.errstate(all="ignore"):
        expected = x.astype(np.float16).view(np.uint16)
    quiet = (bits >> 16 & 0x8000) | 0x7E00 | (bits >> 13 & 0x3FF)
    expected = np.where(np.isnan(x), quiet, expected)
    np.testing.assert_array_equal(narrow, expected)


@pytest.mark.parametrize("fmt", [FLOAT16, BFLOAT16], ids=lambda fmt: fmt.name)
def test_float64_is_rounded_once_to_16_bits(fmt):
    """At halfway points, and so near to them that rounding to float32 first would reach them."""
    bits = np.arange(1 << 15, dtype=np.uint16)
    with np.errstate(invalid="ignore"):
        exact = bits.view(dtype_of(fmt)).astype(np.float64)
    exact = exact[np.isfinite(exact)]
    ties = (exact[1:] + exact[:-1]) / 2
    beyond = exact[-1] + (exact[-1] - exact[-2]) / 2  # from here on infinity is nearest
    ends = np.array([beyond, np.nextafter(beyond, 0), 1e300, np.inf, np.nan, 5e-324, 1e-46])
    near = [ties * (1 + side * 2.0**-50) for side in (-1, 1)]
    random = np.random.default_rng(1).normal(size=10_000)
    x = np.concatenate([exact, ties, *near, random, ends])
    x = np.concatenate([x, -x])

    def emit(b, value):
        place = b.alloca(STORED[fmt.name])
        store(b, fmt, FLOAT64, value, place)
        return b.load(b.bitcast(place, target.HALFWORD.as_pointer()), typ=target.HALFWORD)

    kinds = (target.HALFWORD, REAL["float64"])
    narrow = apply(emit, kinds, np.empty(x.size, np.uint16), x).view(dtype_of(fmt))
    with np.errstate(over="ignore"):
        expected = round_to(x, fmt).astype(dtype_of(fmt))
    numbers = ~np.isnan(x)
    results = narrow[numbers].view(np.uint16)
    np.testing.assert_array_equal(results, expected[numbers].view(np.uint16))
    assert np.all(np.isnan(narrow[~numbers]))


def operands(fmt, count, seed):
    """Triples whose fma is hard: any bits, digits that cancel, results that underflow, specials."""
    kind, unsigned = KINDS[fmt.name]
    rng = np.random.default_rng(seed)
    tiny, info = fmt.smallest_exponent, np.finfo(kind)

    def bits():
        return rng.integers(0, (1 << fmt.bits) - 1, count, unsigned, endpoint=True).view(kind)

    def scaled(low, high):
        return np.ldexp(rng.normal(size=count), rng.integers(low, high, count)).astype(kind)

    def whole(low, high):
        return rng.integers(low, high, count).astype(np.float64)

    a, b = scaled(tiny // 2, -tiny // 2 - 5), scaled(tiny // 2, 5)
    with np.errstate(all="ignore"):
        cancelled = -(a * b) * rng.choice([1, 1 + info.eps, 1 - info.eps, -1], count).astype(kind)
    low = [np.ldexp(whole(1, 512), tiny // 2 - rng.integers(0, 12, count)) for _ in range(2)]
    beside = np.ldexp(whole(-8, 8), tiny)
    distant = np.ldexp(rng.choice([-1.0, 1.0], count), rng.integers(-130, 130, count))
    ends = np.array([0, 1, 1 + info.eps, info.max, info.tiny, info.smallest_subnormal, np.inf])
    special = np.array([*ends, *-ends, np.nan])
    return [
        (bits(), bits(), bits()),
        (a, b, cancelled),
        (*low, beside),
        (1 + info.eps * whole(0, 99), 1 + info.eps * whole(0, 99), distant),
        [x.ravel() for x in np.meshgrid(special, special, special)],
    ]


def exact_fma(fmt, x, y, z):
    """The fma of three floats by rational arithmetic."""
    if not (math.isfinite(x) and math.isfinite(y)):
        return x * y + z
    if not math.isfinite(z):
        return z
    value = Fraction(x) * Fraction(y) + Fraction(z)
    if value:
        return math.copysign(fmt.round(value), 1 if value > 0 else -1)
    return math.copysign(0.0, x) * math.copysign(1.0, y) + z if not (x and y) else 0.0


@pytest.mark.parametrize("fmt", [FLOAT32, FLOAT64], ids=lambda fmt: fmt.name)
@pytest.mark.parametrize("group", range(5))
def test_emulated_fma_is_rounded_once(fmt, group):
    kind, unsigned = KINDS[fmt.name]
    with np.errstate(all="ignore"):
        inputs = [np.asarray(x).astype(kind) for x in operands(fmt, 2000, seed=3)[group]]
    kinds = (REAL[fmt.name],) * 4
    result = apply(target.emulated_fma, kinds, np.empty(inputs[0].size, kind), *inputs)
    triples = zip(*(x.tolist() for x in inputs), strict=True)
    expected = np.array([exact_fma(fmt, *triple) for triple in triples], kind)
    assert np.isfinite(expected).sum() > expected.size // 4
    nan = np.isnan(expected)
    np.testing.assert_array_equal(np.isnan(result), nan)
    np.testing.assert_array_equal(result[~nan].view(unsigned), expected[~nan].view(unsigned))
    quiet = unsigned(1 << (fmt.mantissa_bits - 1))
    assert (result[nan].view(unsigned) & quiet).all()
    # One NaN operand is returned, made quiet. Of several a CPU returns one or another, and
    # inf·0 is its default NaN, whose sign differs between x86 and ARM: these are only NaN.
    x, y, _ = inputs
    invalid = (np.isinf(x) & (y == 0)) | ((x == 0) & np.isinf(y))
    single = (np.isnan(inputs).sum(axis=0) == 1) & ~invalid
    assert single.any() == (group in (0, 4))
    operand = np.choose(np.isnan(inputs).argmax(axis=0), [a.view(unsigned) for a in inputs])
    np.testing.assert_array_equal(result.view(unsigned)[single], (operand | quiet)[single])
