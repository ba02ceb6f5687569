"""Properties of every activation, as checks that raise AssertionError.

`test_catalogue` puts the whole catalogue through them; `test_checks` puts wrong activations
through them and requires that they fail.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from softgate.formula.formats import (
    BFLOAT16,
    FLOAT16,
    FLOAT32,
    FLOAT64,
    Format,
    all_values,
    encode,
    round_to,
    ulp,
)
from softgate.lower import exact
from softgate.runtime.activation import Activation
from softgate.runtime.tables import truth_graph
from softgate.studies import accuracy
from softgate.studies.accuracy import samples, sweep

CONTRACT_ULP = 4.0
ONCE_ULP = 0.51
LARGE = 2.0**300
KINDS = {
    "float16": np.float16,
    "bfloat16": ml_dtypes.bfloat16,
    "float32": np.float32,
    "float64": np.float64,
}
UNSIGNED = {2: np.uint16, 4: np.uint32, 8: np.uint64}


def call(activation: Activation, quantity: str, x: Any, **keywords: Any) -> Any:
    """Return a quantity at `x`."""
    method = activation if quantity == "value" else getattr(activation, quantity)
    return method(x, **keywords)


def bound(
    activation: Activation, quantity: str, fmt: Format, parameters: dict[str, float]
) -> float:
    """What the catalogue states for its defaults; what the contract allows for other parameters."""
    if parameters:
        return activation.entry.bound(quantity, fmt.name)
    stated = getattr(activation.entry.bounds[fmt.name], quantity)
    # In float64 docs/accuracy.md names the functions above it, which test_worst_inputs checks.
    within = stated <= CONTRACT_ULP or fmt is FLOAT64
    assert within, f"{activation.name} states {stated} ulp for its {quantity}"
    return float(stated)


def points(activation: Activation, fmt: Format, count: int, seed: int) -> Any:
    """Stratified finite inputs."""
    x = samples.stratified(fmt, activation.entry.intervals, count, seed)
    return x[np.isfinite(x)]


def holds(errors: accuracy.Errors, limit: float, what: str) -> None:
    assert errors.max_ulp <= limit, f"{what}: {errors}, allowed {limit} ulp"
    assert not errors.wrong_sign.any(), f"{what}: {errors}"
    assert not errors.early_zero.any(), f"{what}: {errors}"


def check_against_arb(
    activation: Activation, quantity: str, fmt: Format, count: int, **parameters: float
) -> None:
    """Value and slope stay within their bound of a rigorous truth."""
    x = points(activation, fmt, count, seed=1)
    if x.size > 2 * count:  # float64 has 4,092 binades, and the ends of each come on top
        x = np.random.default_rng(2).permutation(x)[: 2 * count]
    y = call(activation, quantity, x, **parameters)
    values = dict(activation.check_parameters(parameters))
    errors = accuracy.Reference(activation.entry, quantity, values).against_arb(x, y, fmt)
    limit = bound(activation, quantity, fmt, parameters)
    holds(errors, limit, f"{activation.name} {quantity} {fmt.name}")


def check_float32_sample(
    activation: Activation, quantity: str, count: int, **parameters: float
) -> None:
    """float32 stays within its bound of the float64 kernel on a large sample."""
    x = points(activation, FLOAT32, count, seed=3)
    y = call(activation, quantity, x, **parameters)
    values = dict(activation.check_parameters(parameters))
    errors = accuracy.Reference(activation.entry, quantity, values).against_kernel(x, y, FLOAT32)
    limit = bound(activation, quantity, FLOAT32, parameters)
    holds(errors, limit, f"{activation.name} {quantity} float32")


def check_sweep(
    activation: Activation, quantity: str, start: int = 0, stop: int = sweep.INPUTS
) -> None:
    """float32 stays within its bound on every bit pattern from `start` to `stop`."""
    largest = sweep.largest_error(activation, quantity, start=start, stop=stop)
    limit = bound(activation, quantity, FLOAT32, {})
    assert largest.max_ulp <= limit, f"{activation.name} {quantity} float32: {largest}"


def check_rounded_once(
    activation: Activation, quantity: str, count: int, **parameters: float
) -> None:
    """float32 arrays computed in float64 are those results rounded once: within 0.51 ulp."""
    x = points(activation, FLOAT32, count, seed=4)
    y = call(activation, quantity, x, arithmetic="float64", **parameters)
    assert y.dtype == np.float32
    wide = call(activation, quantity, x.astype(np.float64), **parameters)
    assert np.array_equal(y.astype(np.float64), round_to(wide, FLOAT32))
    if quantity == "value":  # a slope's ulp is that of its scale, which may be half the slope's own
        # At some inputs: `check_against_arb` compares the float64 results, rounded here, with arb.
        few = np.random.default_rng(11).permutation(x.size)[: x.size // 8]
        values = dict(activation.check_parameters(parameters))
        reference = accuracy.Reference(activation.entry, quantity, values)
        errors = reference.against_arb(x[few], y[few], FLOAT32)
        holds(errors, ONCE_ULP, f"{activation.name} float32 by way of float64")


def check_16bit(
    activation: Activation, quantity: str, fmt: Format, every: int = 1, **parameters: float
) -> None:
    """Results are correctly rounded at one in `every` inputs; NaN payloads and limits hold."""
    key = activation.check_parameters(parameters)
    x = all_values(fmt)
    run = call(activation, quantity, as16(np.arange(1 << 16, dtype=np.uint16), fmt), **parameters)
    finite = np.flatnonzero(np.isfinite(x))
    if every > 1:
        finite = np.random.default_rng(10).permutation(finite)[: finite.size // every]
    points, results = x[finite], run.view(np.uint16)[finite]
    expected = accuracy.correctly_rounded(activation.entry, quantity, fmt, dict(key), points)
    check_roundings(activation, quantity, fmt, dict(key), points, expected)
    same = results == encode(expected, fmt)
    # Where the truth is 0, or so small that its sign is not known, a zero of any sign will do.
    zeros = (expected == 0) & ((results & 0x7FFF) == 0)
    same |= zeros & (np.abs(points) > 1000)
    doubtful = np.flatnonzero(~same & zeros)
    truth = truth_graph(activation.entry, quantity)
    same[doubtful] = [
        b == 0 for b in exact.truths(truth, points[doubtful].tolist(), 60, **dict(key))
    ]
    wrong = np.flatnonzero(~same)
    what = f"{activation.name} {quantity} {fmt.name}"
    assert wrong.size == 0, f"{what}: {wrong.size} wrong, first at {points[wrong[:1]]}"
    uses_table = activation.route(quantity, run.dtype, None, parameters).uses_table
    check_nan_payloads(run.view(np.uint16), fmt, exact=uses_table)
    ends = np.isinf(x)
    wide = call(activation, quantity, x[ends], **parameters)
    assert np.array_equal(run[ends].astype(np.float64), round_to(wide, fmt))


def check_roundings(
    activation: Activation,
    quantity: str,
    fmt: Format,
    parameters: dict[str, float],
    x: Any,
    rounded: Any,
) -> None:
    """Roundings decided by bounds on intervals are those that a ball at the input decides."""
    few = np.random.default_rng(9).choice(x.size, 100, replace=False)
    reference = accuracy.Reference(activation.entry, quantity, parameters)
    exact = accuracy.rounded_one_by_one(reference, x[few], fmt)
    assert np.array_equal(rounded[few], exact), f"{activation.name} {quantity} {fmt.name}"


def check_nan_payloads(results: Any, fmt: Format, exact: bool) -> None:
    """The result at each NaN of a 16-bit format is that NaN; from a table it is quiet.

    Two bits are not compared where the result is computed, because the CPU chooses them: a result
    that is one of the operands keeps a signalling NaN, arithmetic makes it quiet; and an
    instruction that subtracts may negate its operand, NaN included.
    """
    x = np.arange(1 << 16, dtype=np.uint16)
    nan = np.isnan(all_values(fmt))
    sign, quiet = np.uint16(1 << 15), np.uint16(1 << (fmt.mantissa_bits - 1))
    if exact:
        np.testing.assert_array_equal(results[nan], x[nan] | quiet)
    else:
        np.testing.assert_array_equal(results[nan] | sign | quiet, x[nan] | sign | quiet)


def as16(bits: Any, fmt: Format) -> Any:
    """Bit patterns as an array of a 16-bit format."""
    if fmt is FLOAT16:
        return bits.view(np.float16)
    assert fmt is BFLOAT16
    return bits.view(ml_dtypes.bfloat16)


def check_specials(activation: Activation, quantity: str, fmt: Format, **parameters: float) -> None:
    """NaN stays NaN; ±inf give the limits; ±0 keep their sign where f(0) = 0."""
    kind: Any = KINDS[fmt.name]
    what = f"{activation.name} {quantity} {fmt.name}"
    values = dict(activation.check_parameters(parameters))
    graph = truth_graph(activation.entry, quantity)
    result = call(activation, quantity, np.array([np.nan, -np.nan], kind), **parameters)
    assert np.isnan(result).all(), f"{what}: NaN became {result}"
    truth = float(exact.truth(graph, 60, x=0.0, **values).mid())
    for sign in (-1.0, 1.0):
        y = call(activation, quantity, kind(sign * np.inf), **parameters)
        far = float(exact.truth(graph, 60, x=sign * LARGE, **values).mid())
        near = float(exact.truth(graph, 60, x=sign * 40.0, **values).mid())
        limit = round_to(np.float64(limit_of(far)), fmt)
        assert y == limit, f"{what} at {sign * np.inf} is {y}, its limit is {limit}"
        if quantity == "value" and limit == 0 and near != 0:
            assert np.signbit(y) == (near < 0), f"{what}: {y} at {sign * np.inf} has the wrong sign"
        zero = call(activation, quantity, kind(sign * 0.0), **parameters)
        if truth == 0 and quantity == "value":
            assert zero == 0, f"{what}: f({sign * 0.0}) = {zero}"
            assert np.signbit(zero) == (sign < 0), f"{what}: f({sign * 0.0}) = {zero}"
        else:
            unit = float(ulp(np.float64(truth), fmt))
            assert abs(float(zero) - truth) <= CONTRACT_ULP * unit, f"{what} at 0 is {zero}"


def limit_of(far: float) -> float:
    """What a function tends to that is `far` at 2**300: nothing falls slower than 1/x there."""
    if abs(far) > 2.0**50:
        return float(np.copysign(np.inf, far))
    return 0.0 if abs(far) < 2.0**-50 else far


def check_odd(activation: Activation, quantity: str, fmt: Format, **parameters: float) -> None:
    """What is odd or even is so bit for bit, in zeros, subnormals and infinities too."""
    near = np.linspace(0.01, 9, 40)
    right, left = (call(activation, quantity, sign * near, **parameters) for sign in (1, -1))
    if not (np.allclose(left, -right, 1e-9, 0) or np.allclose(left, right, 1e-9, 0)):
        return
    odd = bool(np.any(right)) and np.allclose(left, -right, 1e-9, 0)
    x = np.abs(samples.stratified(fmt, activation.entry.intervals, 5000, seed=7))
    x = x[~np.isnan(x)]
    right, left = (call(activation, quantity, sign * x, **parameters) for sign in (1, -1))
    mirrored = -left if odd else left
    unsigned = UNSIGNED[x.itemsize]
    apart = np.flatnonzero(right.view(unsigned) != mirrored.view(unsigned))
    apart = apart if quantity == "value" else apart[(right != mirrored)[apart]]
    assert apart.size == 0, f"{activation.name} {quantity}: f(-x) = ±f(x), not at {x[apart[0]]!r}"


def number_bits(results: Any) -> Any:
    """The bits of results, all NaNs alike: IEEE 754 leaves open which NaN an operation returns."""
    floats = np.asarray(results)
    unsigned = UNSIGNED[floats.itemsize]
    return np.where(np.isnan(floats), np.iinfo(unsigned).max, floats.view(unsigned))


def check_same_bits(activation: Activation, quantity: str, dtype: Any) -> None:
    """One element's result depends on that element alone: not on length, offset or stride."""
    what = f"{activation.name} {quantity} {np.dtype(dtype).name}"
    rng = np.random.default_rng(5)
    edges = [1e-30, -1e-39, 88.0, -88.0]
    with np.errstate(over="ignore"):
        wide = np.concatenate([rng.standard_normal(200) * 4, samples.specials(FLOAT64), edges])
        x = wide.astype(dtype)
    whole = number_bits(call(activation, quantity, x))
    for start in range(20):
        for stop in (start + 1, start + 7, start + 33, x.size):
            part = call(activation, quantity, x[start:stop].copy())
            assert np.array_equal(number_bits(part), whole[start:stop]), f"{what} [{start}:{stop}]"
    for step in (2, 3, -1, -5):
        strided = call(activation, quantity, x[::step])
        assert np.array_equal(number_bits(strided), whole[::step]), f"{what} [::{step}]"
    for i in range(0, x.size, 17):
        single = call(activation, quantity, x[i])
        assert number_bits(single) == whole[i], f"{what}: x[{i}] alone"
    overwritten = x.copy()
    call(activation, quantity, overwritten, out=overwritten)
    assert np.array_equal(number_bits(overwritten), whole), f"{what} in place"
