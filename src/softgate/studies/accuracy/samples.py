"""Stratified samples of inputs that cover every region, and the errors at them.

A sample covers every exponent and sign, the range in which activations bend and decay, the ends of
every binade, runs of neighbouring floats around roots, extrema, breaks and inputs at which results
become subnormal, 0 or infinite, and hard points: exact results nearest to a rounding boundary.
16-bit formats are measured at all 65,536 inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from softgate.formula.formats import FLOAT32, FLOAT64, Format, dtype_of, ulp

from .climb import climb
from .errors import Array, Errors, Float64s, Reference, ulp_errors
from .regions import NEAR, TAIL, ProfileAccumulator, Regions, RegionTally

UNSIGNED = {"float16": np.uint16, "bfloat16": np.uint16, "float32": np.uint32, "float64": np.uint64}
FLOATS: dict[str, type[np.floating]] = {"float32": np.float32, "float64": np.float64}

HARD = 1 << 13
"""The most hard points of a sample."""
MOST_DECISIONS = 5_000
"""Roundings that arb decides one by one; where there are more, they are counted as undecided."""
CHECKED = {16: 1024, 32: 4096}
"""Inputs at which the float64 kernel is measured against arb first, by a format's bits."""
MOST_MARGIN = 2.0**-7
"""The largest margin, in ulps of a format, with which the kernel is its reference."""
BY_ARB = 20_000
"""Inputs that are measured against arb where the kernel is not exact enough."""
BALL_ULP = 2.0**-20
"""Far more than the error of a ball's centre, rounded to float64, in a narrower format."""


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
    """Return points of both signs with log-uniform magnitudes between `low` and `high`."""
    rng = np.random.default_rng(seed)
    magnitude = np.exp(rng.uniform(np.log(low), np.log(high), count))
    return np.copysign(magnitude, rng.uniform(-1, 1, count)).astype(FLOATS[fmt.name])


def stratified(
    fmt: Format, intervals: Iterable[tuple[float, float]], count: int, seed: int = 0
) -> npt.NDArray[np.floating]:
    """Return at least `count` inputs of float32 or float64, the same for the same `seed`.

    A quarter is spread over all exponents, half over the range in which activations bend and decay,
    a quarter over `intervals`; special values and the ends of every binade are added.
    """
    if fmt not in (FLOAT32, FLOAT64):
        raise ValueError(f"{fmt.name} has 65,536 inputs: measure all of them")
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


def inputs_for(
    reference: Reference,
    regions: Regions,
    fmt: Format,
    marks: Mapping[str, tuple[float, ...]],
    count: int,
    seed: int,
) -> Array:
    """Return the distinct inputs to measure at, in ascending order, NaNs last."""
    dtype = dtype_of(fmt)
    if fmt.bits == 16:
        return _sorted(np.arange(1 << 16, dtype=np.uint16).view(dtype))
    spread = stratified(fmt, reference.entry.intervals, count, seed)
    rng = np.random.default_rng(seed + 3)
    if spread.size > count:  # float64 has 4,092 binades, more ends than a small `count`
        special = specials(fmt)
        others = rng.permutation(spread[special.size :])[: max(count - special.size, 0)]
        spread = np.concatenate([special, others])
    centres = {x for places in marks.values() for x in places}
    centres |= {end for pair in reference.entry.intervals for end in pair}
    centres |= {-TAIL, -NEAR, NEAR, TAIL, *_turns(reference, regions, fmt)}
    run = max(4, count // (64 * len(centres)))
    around = [_run(fmt, centre, run) for centre in sorted(centres)]
    hard = _hard(reference, fmt, min(HARD, count // 16), seed + 4)
    return _sorted(np.concatenate([spread, *around, hard]))


def _sorted(x: Array) -> Array:
    """Return the distinct inputs in ascending order: -0 before +0, NaNs last."""
    unsigned = np.dtype(f"u{x.itemsize}")
    bits = np.sort(x.view(unsigned))
    bits = bits[np.append(True, bits[1:] != bits[:-1])]
    sign = unsigned.type(1 << (8 * x.itemsize - 1))
    negative = bits[bits >= sign][::-1]
    positive = bits[bits < sign]
    ordered: Array = np.concatenate([negative, positive]).view(x.dtype)
    with np.errstate(invalid="ignore"):
        nan = np.isnan(ordered)
    return np.concatenate([ordered[~nan], ordered[nan]])


def _run(fmt: Format, centre: float, length: int) -> Array:
    """Return neighbouring floats on both sides of `centre`, and others 2**k floats away."""
    dtype = dtype_of(fmt)
    middle = int(np.array([centre], dtype).view(f"i{dtype.itemsize}")[0])
    near = np.arange(-length, length + 1, dtype=np.int64)
    far = np.concatenate(
        [(1 << np.arange(fmt.mantissa_bits)), -(1 << np.arange(fmt.mantissa_bits))]
    )
    largest = (1 << (fmt.bits - 1)) - 1
    sign, size = middle & ~largest, middle & largest
    sizes = np.clip(size + np.concatenate([near, far]), 0, largest)
    patterns = sizes.astype(np.uint64) | np.uint64(sign & ((1 << fmt.bits) - 1))
    run: Array = patterns.astype(f"u{dtype.itemsize}").view(dtype)
    return run


def _turns(reference: Reference, regions: Regions, fmt: Format) -> Iterable[float]:
    """Yield the inputs at which the truth becomes subnormal, 0 or infinite, or stops being so."""
    dtype = dtype_of(fmt)
    step = fmt.bits - 13
    steps = (np.arange(1 << 13, dtype=np.uint64) << np.uint64(step)).astype(f"u{dtype.itemsize}")
    for sign in (0, 1 << (fmt.bits - 1)):
        half = steps[: 1 << 12] | steps.dtype.type(sign)
        with np.errstate(invalid="ignore"):  # signalling NaNs
            half = half[np.isfinite(half.view(dtype))]
        x = half.view(dtype).astype(np.float64)
        kinds = regions.assign(x, reference.kernel(x))
        for i in np.flatnonzero(np.diff(kinds)):
            yield _bisect(reference, regions, dtype, int(half[i]), int(half[i + 1]))


def _bisect(
    reference: Reference, regions: Regions, dtype: np.dtype[np.floating], a: int, b: int
) -> float:
    def at(bits: int) -> tuple[float, int]:
        x = np.array([bits], f"u{dtype.itemsize}").view(dtype).astype(np.float64)
        return float(x[0]), int(regions.assign(x, reference.kernel(x))[0])

    first = at(a)[1]
    while b - a > 1:
        middle = (a + b) // 2
        a, b = (middle, b) if at(middle)[1] == first else (a, middle)
    return at(b)[0]


def _hard(reference: Reference, fmt: Format, count: int, seed: int) -> Array:
    """Return `count` inputs with exact results near a rounding boundary.

    In float64 the choice is approximate: the kernel is not exact to a fraction of an ulp.
    """
    pool = logarithmic(fmt, 1e-3, 110.0, 64 * count, seed)
    x = pool.astype(np.float64)
    truth = reference.kernel(x)
    with np.errstate(all="ignore"):
        places = np.abs(truth) / ulp(truth, fmt)
        from_tie = np.abs(places - np.floor(places) - 0.5)
    from_tie[~np.isfinite(from_tie)] = 1.0
    return pool[np.argsort(from_tie, kind="stable")[:count]]


@dataclass(frozen=True)
class SampleErrors:
    """The errors at the inputs of a sample, by region and along the number line."""

    tallies: list[RegionTally]
    profile: ProfileAccumulator
    inputs: int
    by_arb: bool
    margin: float


def measure(
    reference: Reference,
    regions: Regions,
    fmt: Format,
    x: Array,
    y: Array,
    seed: int,
    evaluate: Callable[[Float64s], Float64s],
) -> SampleErrors:
    """Measure results `y` at `x` against the kernel if it is exact enough, else against arb.

    In float64 larger errors are searched for, by `evaluate`, near the largest ones of each region.
    """
    by_arb = fmt is FLOAT64 or not _kernel_is_exact(reference, regions, fmt, x, seed)
    if by_arb and fmt is not FLOAT64 and x.size > BY_ARB:
        rng = np.random.default_rng(seed)
        chosen = np.sort(rng.choice(x.size, BY_ARB, replace=False))
        x, y = x[chosen], y[chosen]
    with np.errstate(invalid="ignore"):  # signalling NaNs
        wide = x.astype(np.float64), y.astype(np.float64)
    errors = (
        _by_arb(reference, fmt, *wide) if by_arb else _by_kernel(reference, regions, fmt, *wide)
    )
    tallies = [_tally(reference, part) for part in regions.split(errors)]
    if not by_arb:  # the largest errors may be errors of the kernel
        worst = np.array([tally.worst for tally in tallies if tally.inputs])
        reference.check_kernel(worst if reference.scaled else worst[~regions.is_root(worst)])
    profile = ProfileAccumulator(fmt)
    profile.add(x.view(f"u{x.itemsize}"), errors.error_ulp)
    if fmt is FLOAT64:
        largest = climb(evaluate, reference, regions, errors, seed)
        profile.add(largest.x.view(np.uint64), largest.error_ulp)
        for tally, region in zip(tallies, regions.split(largest), strict=True):
            tally.include_largest(region)
    margin = 2.0 ** -(80 - fmt.precision) if by_arb else reference.margin(fmt)
    return SampleErrors(tallies, profile, x.size, by_arb, margin)


def _kernel_is_exact(
    reference: Reference, regions: Regions, fmt: Format, x: Array, seed: int
) -> bool:
    """Measure the float64 kernel against arb at some of the inputs; return whether it suffices."""
    with np.errstate(invalid="ignore"):  # signalling NaNs
        finite = x[np.isfinite(x)].astype(np.float64)
    if not reference.scaled:
        finite = finite[~regions.is_root(finite)]  # arb is the reference there
    rng = np.random.default_rng(seed + 5)
    reference.check_kernel(rng.permutation(finite)[: CHECKED[fmt.bits]])
    return reference.margin(fmt) <= MOST_MARGIN


def _by_kernel(
    reference: Reference, regions: Regions, fmt: Format, x: Float64s, y: Float64s
) -> Errors:
    truth = reference.kernel(x)
    root = regions.is_root(x)
    if not reference.scaled and root.any():  # the kernel's error in ulps is unbounded there
        truth[root] = reference.against_arb(x[root], y[root], fmt).truth
    return reference.errors(x, y, reference.at_kinks(x, y, truth, fmt), fmt)


def _by_arb(reference: Reference, fmt: Format, x: Float64s, y: Float64s) -> Errors:
    truth, error = reference.kernel(x), np.full(x.size, np.nan)
    by_arb = np.isfinite(x) & ~np.isin(x, list(reference.kinks(fmt)))
    errors = reference.against_arb(x[by_arb], y[by_arb], fmt)
    truth[by_arb], error[by_arb] = errors.truth, errors.error_ulp
    truth = reference.at_kinks(x, y, truth, fmt)
    own_ulp = ulp_errors(x, y, truth, np.abs(truth), fmt)
    error = np.where(by_arb, error, own_ulp)
    if fmt is not FLOAT64:
        return Errors(fmt, x, y, truth, error, own_ulp, BALL_ULP)
    # The reference is rounded to float64: equal results are correct, except for subnormal ties.
    subnormal = (np.abs(truth) < 2.0 ** (FLOAT64.min_exponent + 1)) & (truth != 0)
    tie = by_arb & subnormal & (own_ulp <= 1)
    return Errors(fmt, x, y, truth, error, own_ulp, np.where(tie, 1.0, 0.0))


def _tally(reference: Reference, errors: Errors) -> RegionTally:
    tally = RegionTally()
    if errors.x.size:
        tally.add(errors)
        doubtful = np.flatnonzero(np.abs(errors.own_ulp - 0.5) <= errors.uncertainty_ulp)
        if 0 < doubtful.size <= MOST_DECISIONS:
            for i in doubtful.tolist():
                x, y = float(errors.x[i]), float(errors.computed[i])
                tally.rounded += reference.is_rounded(x, y, errors.fmt)
            tally.undecided = 0
    return tally
