"""Properties of every gated activation, as checks that raise AssertionError.

`test_gated` puts all of them through it, and wrong ones, which must fail.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import checks
import numpy as np

from softgate.formula.derivative import derivative
from softgate.formula.formats import FLOAT32, FLOAT64, Format, round_to, ulp
from softgate.formula.graph import Node
from softgate.lower import exact
from softgate.runtime import kernels
from softgate.runtime.activation import Activation
from softgate.studies import accuracy
from softgate.studies.accuracy import samples


def activation_of(gated: Activation) -> Activation:
    """The activation of the gate."""
    activation = gated.gate_activation
    assert activation is not None
    return activation


def factor_of(gated: Activation, others: Any, **parameters: float) -> Any:
    """What the activation is multiplied with: the other operand, or its function in float64."""
    wide = np.asarray(others, np.float64)
    return wide if gated.factor is None else gated.factor(wide, **parameters)


def factor_slope(gated: Activation, others: Any, **parameters: float) -> Any:
    """The slope of `factor_of`."""
    wide = np.asarray(others, np.float64)
    return np.ones_like(wide) if gated.factor is None else gated.factor.slope(wide, **parameters)


def bound(gated: Activation, quantity: str, fmt: Format, parameters: dict[str, float]) -> float:
    """What the catalogue states for its defaults; what the contract allows for other parameters."""
    if parameters:
        return float(gated.entry.bound(quantity, fmt.name))
    stated = float(getattr(gated.entry.bounds[fmt.name], quantity))
    # In float64 docs/accuracy.md names the functions above it, which test_worst_inputs checks.
    within = stated <= checks.CONTRACT_ULP or fmt is FLOAT64
    assert within, f"{gated.name} states {stated} ulp for its {quantity}"
    return stated


def pairs(gated: Activation, fmt: Format, count: int, seed: int, **parameters: float) -> Any:
    """Finite gates and others: all exponents with all exponents, and products just below 2**k.

    Below a power of two the ulp is smallest beside the number: there relative errors show.
    """
    kind = samples.FLOATS[fmt.name]
    rng = np.random.default_rng(seed)
    intervals = gated.entry.intervals
    parts = (
        samples.exponents(fmt, 1, seed),
        samples.logarithmic(fmt, 1e-3, 110.0 if fmt is FLOAT32 else 760.0, count, seed),
        samples.between(fmt, intervals, count, seed),
    )
    third = count // 3 + 1
    gates = np.concatenate([np.resize(rng.permutation(part), third) for part in parts])[:count]
    any_other = samples.exponents(fmt, 1, seed + 1)
    any_other = rng.permutation(any_other[np.isfinite(any_other)])
    any_other = np.resize(any_other, count)
    with np.errstate(all="ignore"):
        value = np.abs(activation_of(gated)(gates.astype(np.float64), **parameters))
        fraction, _ = np.frexp(value)
        close = rng.uniform(0.95, 1, count) / np.where(fraction > 0, fraction, 1)
    close = np.copysign(close, rng.uniform(-1, 1, count)).astype(kind)
    return gates, np.where(rng.uniform(0, 1, count) < 0.5, any_other, close).astype(kind)


def truths(root: Node, gates: Any, others: Any, values: dict[str, float]) -> list[Any]:
    """Arb balls around `root` at every pair."""
    both = zip(gates.tolist(), others.tolist(), strict=True)
    return [exact.truth(root, 80, a=g, b=o, **values) for g, o in both]


def hold(
    computed: Any, balls: list[Any], unit: Any, slack: Any, limit: float, fmt: Format, what: str
) -> None:
    """`computed` is within `limit` units and the slack of the truth; what overflows is infinite."""
    truth = np.array([float(ball.mid()) for ball in balls])
    y = computed.astype(np.float64)
    exact = np.isfinite(y)
    distance = np.array([
        abs(float((r - ball).mid())) if fine else np.inf
        for r, ball, fine in zip(y.tolist(), balls, exact.tolist(), strict=True)
    ])  # fmt: skip
    overflow = np.isinf(y) & (round_to(truth, fmt) == y)
    error = np.where(overflow, 0.0, np.maximum(distance - slack, 0.0) / unit)
    worst = int(np.argmax(error))
    assert error[worst] <= limit, f"{what}: {error[worst]:.3f} units at {worst}, allowed {limit}"
    # A result that underflows keeps the sign of the truth.
    small = (y == 0) & (truth != 0)
    assert np.array_equal(np.signbit(y)[small], np.signbit(truth)[small]), f"{what}: wrong sign"


def own_rounding(size: Any, others: Any, fmt: Format) -> Any:
    """What a subnormal activation (or slope) loses, times the other operand."""
    smallest = 2.0**fmt.smallest_exponent
    with np.errstate(over="ignore"):
        times = np.abs(others.astype(np.float64)) * smallest
    return np.where(size < 2.0**fmt.min_exponent, 0.51 * times, 0.0)


def check_value(gated: Activation, fmt: Format, count: int, **parameters: float) -> None:
    """The value stays within its bound of arb, wherever the activation is a normal number."""
    gated = gated.bind(gate="first")
    gates, others = pairs(gated, fmt, count, 1, **parameters)
    values = dict(activation_of(gated).check_parameters(parameters))
    balls = truths(gated.entry.define(), gates, others, values)
    result = gated(gates, others, **parameters)
    unit = ulp(np.array([float(ball.mid()) for ball in balls]), fmt)
    size = np.abs(evaluate(gated, "value", gates, values))
    slack = own_rounding(size, factor_of(gated, others, **parameters), fmt)
    limit = bound(gated, "value", fmt, parameters)
    hold(result, balls, unit, slack, limit, fmt, f"{gated.name} {fmt.name}")


def check_bulk(gated: Activation, count: int) -> None:
    """float32 stays within its bounds of the float64 kernels on a large sample."""
    gated = gated.bind(gate="first")
    gates, others = pairs(gated, FLOAT32, count, 3)
    values = dict(activation_of(gated).check_parameters({}))
    value, sizes = evaluate(gated, "value", gates, values), scale(gated, gates, values)
    slope = evaluate(gated, "slope", gates, values)
    wide, (by_gate, _) = factor_of(gated, others), gated.slope(gates, others)
    for result, truth, size, what in (
        (gated(gates, others), value * wide, value, "value"),
        (by_gate, slope * wide, sizes, "slope"),
    ):
        expected = round_to(truth, FLOAT32)
        with np.errstate(invalid="ignore"):
            distance = np.abs(result.astype(np.float64) - truth)
        slack = own_rounding(np.abs(size), wide, FLOAT32)
        error = np.maximum(distance - slack, 0) / ulp(size * wide, FLOAT32)
        error = np.where(result == expected, 0.0, error)
        worst = int(np.argmax(error))
        limit = bound(gated, what, FLOAT32, {})
        assert error[worst] <= limit, (
            f"{gated.name} {what}: {error[worst]:.3f} ulp at {gates[worst]!r}, {others[worst]!r}"
        )


def check_all_gates(gated: Activation, start: int, stop: int) -> None:
    """No other operand can make float32 err by more than is stated: over gates as bit patterns.

    The relative error counts, in units of 2**-24 (that many ulps of a product just below a power of
    two), and the product's own rounding: half an ulp, or a whole one where the slope is larger than
    its scale and in the next binade.
    """
    entry, values = gated.entry, dict(activation_of(gated).check_parameters({}))
    product: Any = entry.value.__self__  # type: ignore[attr-defined]
    value = product.value or (lambda f, x, **p: product.both(f, x, **p)[0])
    slope = lambda f, x, **p: product.both(f, x, **p)[1]  # noqa: E731
    factors = replace(product.activation, value=value, slope=slope)
    for first in range(start, stop, 1 << 20):
        gates = np.arange(first, min(first + (1 << 20), stop), dtype=np.uint32).view(np.float32)
        slope = evaluate(gated, "slope", gates, values)
        value_at = evaluate(gated, "value", gates, values)
        sizes = scale(gated, gates, values)
        for quantity, truth, size, rounds in (
            ("value", value_at, np.abs(value_at), 0.5),
            ("slope", slope, sizes, np.where(np.abs(slope) > sizes, 1.0, 0.5)),
        ):
            result = checks.call(Activation(factors), quantity, gates).astype(np.float64)
            normal = size >= 2.0**FLOAT32.min_exponent
            with np.errstate(invalid="ignore", divide="ignore"):
                error = np.where(normal, np.abs(result - truth) / size * 2.0**24 + rounds, 0.0)
            worst = int(np.argmax(error))
            limit = bound(gated, quantity, FLOAT32, {})
            assert error[worst] <= limit, (
                f"{gated.name} {quantity}: {error[worst]} at {gates[worst]!r}"
            )


def evaluate(gated: Activation, quantity: str, x: Any, values: dict[str, float]) -> Any:
    """The activation alone, from its float64 kernel (measured by its own tests)."""
    wide = np.ascontiguousarray(x, np.float64)
    return kernels.evaluate64(activation_of(gated).entry, quantity, wide, values)


def scale(gated: Activation, gates: Any, values: dict[str, float]) -> Any:
    """The scale of an error in the activation's slope: see `accuracy`."""
    wide, slope = gates.astype(np.float64), evaluate(gated, "slope", gates, values)
    return accuracy.Reference(activation_of(gated).entry, "slope", values).scale(wide, slope)


def check_slopes(gated: Activation, fmt: Format, count: int, **parameters: float) -> None:
    """Both partial derivatives stay within their bounds of arb."""
    gated = gated.bind(gate="first")
    gates, others = pairs(gated, fmt, count, 2, **parameters)
    with np.errstate(over="ignore"):
        fine = np.abs(gates) < 2.0**64  # the scale of float64's ends is beyond float64
    gates, others = gates[fine], others[fine]
    values = dict(activation_of(gated).check_parameters(parameters))
    root = gated.entry.define()
    by_gate, by_other = gated.slope(gates, others, **parameters)
    sizes = scale(gated, gates, values)
    factors = factor_of(gated, others, **parameters)
    with np.errstate(over="ignore"):
        unit = ulp(sizes * np.abs(factors), fmt)
    balls = truths(derivative(root, "a"), gates, others, values)
    slack = own_rounding(sizes, factors, fmt)
    limit = bound(gated, "slope", fmt, parameters)
    hold(by_gate, balls, unit, slack, limit, fmt, f"{gated.name} by its gate, {fmt.name}")
    balls = truths(derivative(root, "b"), gates, others, values)
    unit = ulp(np.array([float(ball.mid()) for ball in balls]), fmt)
    limit = bound(gated, "value", fmt, parameters)
    hold(by_other, balls, unit, 0.0, limit, fmt, f"{gated.name} by the other, {fmt.name}")


def check_curvature(gated: Activation, **parameters: float) -> None:
    """The second derivatives are right to eleven digits of their size nearby."""
    gated = gated.bind(gate="first")
    values = dict(activation_of(gated).check_parameters(parameters))
    gates = np.concatenate([np.linspace(-9, 9, 91), [-40.0, 40.0, 1e-9]])
    others = np.resize([1.5, -2.0, 1e-3, -0.75], gates.size)
    computed = gated.curvature(gates, others, **parameters)
    root = gated.entry.define()
    for result, first, second in (
        (computed.first, "a", "a"),
        (computed.mixed, "a", "b"),
        (computed.second, "b", "b"),
    ):
        balls = truths(derivative(derivative(root, first), second), gates, others, values)
        truth = np.array([float(ball.mid()) for ball in balls])
        # Of the size of the curvature nearby, so that its roots do not count.
        size = np.maximum(np.abs(truth), 1e-6 * np.exp(-gates * gates) + 1e-300)
        assert np.max(np.abs(result - truth) / size) < 1e-11, f"{gated.name} {first}, {second}"
    short = gated.curvature(gates.astype(np.float32), others.astype(np.float32), **parameters)
    wide = gated.curvature(
        gates.astype(np.float32).astype(np.float64),
        others.astype(np.float32).astype(np.float64),
        **parameters,
    )
    assert all(np.array_equal(s, w.astype(np.float32)) for s, w in zip(short, wide, strict=True))


OTHERS = (1.0, -1.3125, 3.0, 2.0**-9, -(2.0**13), 0.75)


def check_16bit(gated: Activation, fmt: Format, **parameters: float) -> None:
    """All 65,536 gates with some others: within 0.51 ulp of the exact product."""
    gated = gated.bind(gate="first")
    kind: Any = checks.KINDS[fmt.name]
    gates = checks.as16(np.arange(1 << 16, dtype=np.uint16), fmt)
    values = dict(activation_of(gated).check_parameters(parameters))
    with np.errstate(invalid="ignore"):
        wide = gates.astype(np.float64)
    act = evaluate(gated, "value", wide, values)
    finite = np.isfinite(wide)
    for other in OTHERS:
        assert float(kind(other)) == other
        factor = float(factor_of(gated, other, **parameters))
        rounded = gated(gates, kind(other), **parameters)
        checks.check_nan_payloads(rounded.view(np.uint16), fmt, exact=False)
        with np.errstate(invalid="ignore"):  # a signalling NaN that was only chosen
            result = rounded.astype(np.float64)
            exact = act * factor
        slack = own_rounding(np.abs(act), np.float64(factor), FLOAT32)
        expected = round_to(exact, fmt)
        with np.errstate(invalid="ignore"):
            error = np.maximum(np.abs(result - exact) - slack, 0) / ulp(exact, fmt)
        error = np.where(result == expected, 0.0, error)[finite]
        worst = int(np.argmax(error))
        assert error[worst] <= checks.ONCE_ULP, (
            f"{gated.name} {fmt.name}: {error[worst]:.3f} ulp at {wide[finite][worst]!r}, {other}"
        )
        ends = np.isinf(wide)
        assert np.array_equal(result[ends], expected[ends])


def check_specials(gated: Activation, fmt: Format, **parameters: float) -> None:
    """With zeros, infinities and NaN it is IEEE's product of the activation, signs included."""
    gated = gated.bind(gate="first")
    kind: Any = checks.KINDS[fmt.name]
    with np.errstate(over="ignore"):
        ends = np.concatenate([samples.specials(FLOAT64), [-1.0, 0.5, -30.0, -2000.0]])
        special = np.unique(ends.astype(kind).astype(np.float64)).astype(kind)
        special = np.concatenate([special, np.array([-0.0, np.nan], kind)])
    gates, others = (x.ravel() for x in np.meshgrid(special, special))
    # 16-bit formats are computed in float32.
    act = activation_of(gated)(gates.astype(np.promote_types(kind, np.float32)), **parameters)
    result = gated(gates, others, **parameters).astype(np.float64)
    with np.errstate(all="ignore"):
        factors = factor_of(gated, others, **parameters)
        product = act.astype(np.float64) * factors
    plain = (act == 0) | (factors == 0) | ~np.isfinite(act) | ~np.isfinite(factors)
    assert np.array_equal(np.isnan(result)[plain], np.isnan(product)[plain]), f"{gated.name}: NaN"
    number = plain & ~np.isnan(product)
    assert np.array_equal(result[number], product[number]), f"{gated.name}: zeros, infinities"
    assert np.array_equal(np.signbit(result)[number], np.signbit(product)[number]), (
        f"{gated.name}: the sign of a zero"
    )


def check_rounded_once(gated: Activation, count: int, **parameters: float) -> None:
    """float32 arrays computed in float64 are within 0.51 ulp of arb."""
    gated = gated.bind(gate="first")
    gates, others = pairs(gated, FLOAT32, count, 4, **parameters)
    values = dict(activation_of(gated).check_parameters(parameters))
    balls = truths(gated.entry.define(), gates, others, values)
    result = gated(gates, others, arithmetic="float64", **parameters)
    assert result.dtype == np.float32
    unit = ulp(np.array([float(ball.mid()) for ball in balls]), FLOAT32)
    hold(result, balls, unit, 0.0, checks.ONCE_ULP, FLOAT32, f"{gated.name} by way of float64")


def check_backward(gated: Activation, dtype: Any, **parameters: float) -> None:
    """Both gradients are the partial derivatives times grad, to two more roundings."""
    gated = gated.bind(gate="first")
    rng = np.random.default_rng(6)
    gate, other, grad = (rng.standard_normal((3, 4000)) * 3).astype(dtype)
    wide = [x.astype(np.float64) for x in (gate, other, grad)]
    by_gate, by_other = gated.backward(gate, other, grad, **parameters)
    values = dict(activation_of(gated).check_parameters(parameters))
    sizes = scale(gated, wide[0], values)
    eps = {2: 2.0**-7, 4: 2.0**-23, 8: 2.0**-52}[by_gate.dtype.itemsize]
    eps = 2.0**-10 if by_gate.dtype == np.float16 else eps
    ulps = 0.51 if by_gate.dtype.itemsize == 2 else checks.CONTRACT_ULP + 1.5
    slope = evaluate(gated, "slope", wide[0], values)
    value = evaluate(gated, "value", wide[0], values)
    # What is subnormal is rounded to the format's smallest number.
    smallest = 2.0**-24 if by_gate.dtype == np.float16 else 0.0
    factors, by_factor = (f(gated, wide[1], **parameters) for f in (factor_of, factor_slope))
    for result, factor, size in (
        (by_gate, slope * factors, sizes * factors),
        (by_other, value * by_factor, value),
    ):
        error = np.abs(result.astype(np.float64) - factor * wide[2])
        allowed = ulps * eps * np.maximum(np.abs(size), np.abs(factor)) * np.abs(wide[2])
        allowed += 0.51 * smallest
        assert np.all(error <= allowed), f"{gated.name}: {np.max(error / allowed)}"
