"""A check of the checks: activations that are wrong in one place only must be caught."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import checks
import numpy as np
import pytest

import softgate as sg
from softgate.blocks import KernelArithmetic
from softgate.catalogue import ErrorBound
from softgate.formula.formats import BFLOAT16, FLOAT16, FLOAT32, FLOAT64, Format, all_values
from softgate.formula.graph import Node
from softgate.runtime.activation import Activation

TRUE = sg.gelu.entry
LOW, HIGH = -2.0, -1.75


def wrong(**forms: Any) -> Activation:
    """gelu with some of its forms replaced, and the most generous bound there is."""
    generous = {name: ErrorBound(4.0, 4.0) for name in ("float32", "float64")}
    return Activation(replace(TRUE, name="wrong", bounds=generous, **forms))


def inside(f: KernelArithmetic, x: Node, yes: Node, no: Node) -> Node:
    """`yes` in the narrow interval from LOW to HIGH, else `no`."""
    return f.where(x < LOW, no, f.where(x < HIGH, yes, no))


def few_ulp_off(quantity: str, ulps: int) -> Callable[..., Node]:
    def form(f: KernelArithmetic, x: Node) -> Node:
        true = getattr(TRUE, quantity)(f, x)
        return inside(f, x, f.fma(true, ulps * 2.0**-f.fmt.mantissa_bits, true), true)

    return form


def flipped_slope(f: KernelArithmetic, x: Node) -> Node:
    true = TRUE.slope(f, x)
    return inside(f, x, -true, true)


def lost_negative_zero(f: KernelArithmetic, x: Node) -> Node:
    return TRUE.value(f, x) + 0


def flushed(f: KernelArithmetic, x: Node) -> Node:
    true = TRUE.value(f, x)
    return f.where(f.abs(true) < 2.0**f.fmt.min_exponent, 0 * true, true)


def nan_for_one_pattern(f: KernelArithmetic, x: Node) -> Node:
    true = TRUE.value(f, x)
    return f.where(x.same(-1.8125), (x - x) / (x - x), true)


def nan_lost(f: KernelArithmetic, x: Node) -> Node:
    return f.where(x.same(x), TRUE.value(f, x), 0)


ROUGH = wrong(value=few_ulp_off("value", 8), slope=few_ulp_off("slope", 8))


def test_the_true_one_passes() -> None:
    """What follows fails for its fault, not for the way it is made."""
    true = wrong()
    for quantity in ("value", "slope"):
        checks.check_against_arb(true, quantity, FLOAT64, 500)
        checks.check_float32_sample(true, quantity, 50_000)
        checks.check_sweep(true, quantity, 0xBFE00000, 0xC0000000 + (1 << 18))
        checks.check_specials(true, quantity, FLOAT32)
        checks.check_16bit(true, quantity, FLOAT16)
        checks.check_rounded_once(true, quantity, 500)


@pytest.mark.parametrize("quantity", ["value", "slope"])
def test_a_few_ulps_in_one_interval(quantity: str) -> None:
    for fmt in (FLOAT32, FLOAT64):
        with pytest.raises(AssertionError, match=r"allowed 4\.0 ulp"):
            checks.check_against_arb(ROUGH, quantity, fmt, 2500)
    with pytest.raises(AssertionError, match="ulp at"):
        checks.check_sweep(ROUGH, quantity, 0xBFE00000, 0xC0000000)


def test_a_few_ulps_are_seen_at_the_stated_bound() -> None:
    """The bound each entry states is what it is held to, not the contract's four ulp."""
    slightly = Activation(replace(TRUE, value=few_ulp_off("value", 3)))
    with pytest.raises(AssertionError, match="ulp at"):
        checks.check_sweep(slightly, "value", 0xBFE00000, 0xC0000000)


def test_a_bound_beyond_the_contract_is_refused() -> None:
    loose = Activation(replace(TRUE, bounds={"float32": ErrorBound(5.0, 5.0)}))
    with pytest.raises(AssertionError, match=r"states 5\.0 ulp"):
        checks.check_float32_sample(loose, "value", 1000)


def test_a_flipped_slope() -> None:
    flipped = wrong(slope=flipped_slope)
    for check in (
        lambda: checks.check_against_arb(flipped, "slope", FLOAT32, 2500),
        lambda: checks.check_against_arb(flipped, "slope", FLOAT64, 2500),
        lambda: checks.check_16bit(flipped, "slope", FLOAT16),
        lambda: checks.check_16bit(flipped, "slope", BFLOAT16),
    ):
        with pytest.raises(AssertionError):
            check()


def test_a_lost_negative_zero() -> None:
    lost = wrong(value=lost_negative_zero)
    for fmt in (FLOAT32, FLOAT64):
        with pytest.raises(AssertionError, match=r"wrong sign|f\(-0\.0\) = 0\.0"):
            checks.check_specials(lost, "value", fmt)


def test_a_lost_negative_zero_in_16_bits() -> None:
    lost = wrong(value=lost_negative_zero)
    for fmt in (FLOAT16, BFLOAT16):
        with pytest.raises(AssertionError, match=r"wrong sign|f\(-0\.0\) = 0"):
            checks.check_specials(lost, "value", fmt)
        with pytest.raises(AssertionError, match="wrong, first at"):
            checks.check_16bit(lost, "value", fmt)  # where gelu underflows from below


def test_flushed_subnormals() -> None:
    zero = wrong(value=flushed)
    for fmt in (FLOAT32, FLOAT64):
        with pytest.raises(AssertionError):
            checks.check_against_arb(zero, "value", fmt, 2500)
    with pytest.raises(AssertionError, match=r"inf ulp|ulp at"):
        checks.check_sweep(zero, "value", 0x80000000, 0x80800000)


def test_nan_for_one_bit_pattern() -> None:
    activation = wrong(value=nan_for_one_pattern)
    with pytest.raises(AssertionError, match=r"inf ulp at -1\.8125"):
        checks.check_sweep(activation, "value", 0xBFE00000, 0xC0000000)
    with pytest.raises(AssertionError):
        checks.check_16bit(activation, "value", FLOAT16)


def test_nan_that_vanishes() -> None:
    for fmt in (FLOAT32, FLOAT64):
        with pytest.raises(AssertionError, match="NaN became"):
            checks.check_specials(wrong(value=nan_lost), "value", fmt)
    with pytest.raises(AssertionError, match="inf ulp"):
        checks.check_sweep(wrong(value=nan_lost), "value", 0x7FC00000, 0x7FC00000 + (1 << 18))


@pytest.mark.parametrize("fmt", [FLOAT16, BFLOAT16], ids=lambda fmt: fmt.name)
def test_another_nan_of_16_bits(fmt: Format) -> None:
    """A lost payload is seen in every result, the sign and the quiet bit in those of tables."""
    quiet = 1 << (fmt.mantissa_bits - 1)
    x = np.arange(1 << 16, dtype=np.uint16)
    table = x | np.uint16(quiet)
    for exact in (True, False):
        checks.check_nan_payloads(table, fmt, exact)
    signalling = int(np.flatnonzero(np.isnan(all_values(fmt)))[0])
    for changed, exact in ((1, True), (1, False), (quiet, True), (1 << 15, True)):
        results = table.copy()
        results[signalling] ^= changed
        with pytest.raises(AssertionError):
            checks.check_nan_payloads(results, fmt, exact)


def test_results_that_depend_on_the_position() -> None:
    class Positional(Activation):
        def __call__(self, x: Any, /, **keywords: Any) -> Any:
            y = np.array(super().__call__(x, **keywords))
            if y.size > 32:
                y[32:] = np.nextafter(y[32:], np.float32(0))
            return y

    with pytest.raises(AssertionError):
        checks.check_same_bits(Positional(TRUE), "value", np.float32)
    checks.check_same_bits(Activation(TRUE), "value", np.float32)


def test_an_overflow_that_never_comes() -> None:
    """What rounds to infinity must be infinite; the largest number is no better than any other."""

    def stuck(f: KernelArithmetic, x: Node) -> Node:
        true = sg.squared_relu.entry.value(f, x)
        largest = (2.0 - 2.0**-23) * 2.0**127
        return f.where(true > largest, largest, true) if f.fmt is FLOAT32 else true

    true, wrong = sg.squared_relu, Activation(replace(sg.squared_relu.entry, value=stuck))
    first, last = 0x5F000000, 0x5F800000  # 2**63 and 2**64: squares up to and beyond the largest
    checks.check_sweep(true, "value", first, last + (1 << 18))
    checks.check_against_arb(true, "value", FLOAT32, 2500)
    with pytest.raises(AssertionError, match="inf ulp"):
        checks.check_sweep(wrong, "value", first, last + (1 << 18))
    with pytest.raises(AssertionError):
        checks.check_against_arb(wrong, "value", FLOAT32, 2500)


def test_an_overflow_that_comes_early() -> None:
    def early(f: KernelArithmetic, x: Node) -> Node:
        true = sg.squared_relu.entry.value(f, x)
        limit = 2.0 ** (f.fmt.max_exponent - 2)
        return f.where(true > limit, 2.0**f.fmt.max_exponent * f.abs(x), true)

    broken = Activation(replace(sg.squared_relu.entry, value=early))
    for fmt in (FLOAT32, FLOAT64):
        with pytest.raises(AssertionError, match="inf ulp"):
            checks.check_against_arb(broken, "value", fmt, 2500)


def test_a_symmetry_that_is_lost() -> None:
    def lopsided(f: KernelArithmetic, x: Node) -> Node:
        true = sg.tanh.entry.value(f, x)
        return f.where(x < LOW, true * (1 - 2.0**-f.fmt.mantissa_bits), true)

    def lost_zero(f: KernelArithmetic, x: Node) -> Node:
        return sg.tanh.entry.value(f, x) + 0

    checks.check_odd(sg.tanh, "value", FLOAT32)
    for value in (lopsided, lost_zero):
        with pytest.raises(AssertionError, match="not at"):
            checks.check_odd(Activation(replace(sg.tanh.entry, value=value)), "value", FLOAT32)
