"""Where to look: inputs that reach every exponent, every boundary, every interval of interest."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from softgate.formula.formats import FLOAT32, FLOAT64, Format

UNSIGNED = {"float16": np.uint16, "bfloat16": np.uint16, "float32": np.uint32, "float64": np.uint64}
FLOATS: dict[str, type[np.floating]] = {"float32": np.float32, "float64": np.float64}


def specials(fmt: Format) -> npt.NDArray[np.floating]:
    """Return ±0, ±inf, ±NaN and the ends of the normal and subnormal ranges, in `fmt`."""
    kind = FLOATS[fmt.name]
    info = np.finfo(kind)
    ends = [0.0, info.smallest_subnormal, info.smallest_normal, info.max, np.inf, np.nan, 1.0]
    with np.errstate(under="ignore"):
        ends.append(np.nextafter(info.smallest_normal, kind(0)))
    values = np.array(ends, kind)
    return np.concatenate([values, -values])


def exponents(fmt: Format, each: int, seed: int) -> npt.NDArray[np.floating]:
    """Return `each` random significands at every exponent and sign, and the ends of each binade."""
    rng = np.random.default_rng(seed)
    unsigned = UNSIGNED[fmt.name]
    mantissa = fmt.mantissa_bits
    fields = np.arange(2 * fmt.max_exponent + 1, dtype=np.uint64)[:, None] << np.uint64(mantissa)
    inside = rng.integers(0, 1 << mantissa, (fields.size, each), dtype=np.uint64)
    ends = np.array([0, 1, (1 << mantissa) - 1], np.uint64)
    bits = np.concatenate([(fields | inside).ravel(), (fields | ends).ravel()])
    both = np.concatenate([bits, bits | np.uint64(1 << (fmt.bits - 1))])
    return both.astype(unsigned).view(FLOATS[fmt.name])


def between(
    fmt: Format, intervals: Iterable[tuple[float, float]], each: int, seed: int
) -> npt.NDArray[np.floating]:
    """Return `each` uniform points in every interval, with its ends and their neighbours."""
    rng = np.random.default_rng(seed)
    kind = FLOATS[fmt.name]
    parts = []
    for low, high in intervals:
        ends = np.array([low, high], kind)
        near = [np.nextafter(ends, kind(side)) for side in (-np.inf, np.inf)]
        parts += [rng.uniform(low, high, each).astype(kind), ends, *near]
    return np.concatenate(parts) if parts else np.empty(0, kind)


def logarithmic(
    fmt: Format, low: float, high: float, count: int, seed: int
) -> npt.NDArray[np.floating]:
    """Return points of both signs whose magnitude is log-uniform between `low` and `high`."""
    rng = np.random.default_rng(seed)
    magnitude = np.exp(rng.uniform(np.log(low), np.log(high), count))
    return np.copysign(magnitude, rng.uniform(-1, 1, count)).astype(FLOATS[fmt.name])


def stratified(
    fmt: Format, intervals: Iterable[tuple[float, float]], count: int, seed: int = 0
) -> npt.NDArray[np.floating]:
    """Return at least `count` inputs of float32 or float64, the same for the same `seed`.

    A quarter goes to all exponents, half to the scale on which activations bend and decay, a
    quarter to `intervals`; special values and the ends of every binade come on top.
    """
    if fmt not in (FLOAT32, FLOAT64):
        raise ValueError(f"{fmt.name} has 65,536 inputs: look at all of them")
    chosen = tuple(intervals)
    each = -(-count // (4 * (4 * fmt.max_exponent + 2)))
    decay = 110.0 if fmt is FLOAT32 else 760.0
    per_interval = -(-count // (4 * max(len(chosen), 1)))
    return np.concatenate([
        specials(fmt),
        exponents(fmt, each, seed),
        logarithmic(fmt, 1e-3, decay, -(-count // 2), seed + 1),
        between(fmt, chosen or ((-1.0, 1.0),), per_interval, seed + 2),
    ])  # fmt: skip
