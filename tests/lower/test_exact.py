"""Rigorous evaluation: against mpmath, and the decisions that tables need."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import flint
import mpmath
import mpmath_oracle
import numpy as np
import pytest
from flint import arb, fmpq

import softgate as sg
from softgate.formula.arithmetic import FUNCTIONS, ExactArithmetic
from softgate.formula.graph import Node
from softgate.lower import exact
from softgate.runtime.tables import truth_graph


def mpf(ball: arb, bits: int) -> Any:
    """Return the middle of a ball as a number of mpmath."""
    mantissa, exponent = map(int, ball.mid().man_exp())
    with mpmath_oracle.mp.workprec(bits):
        return mpmath_oracle.mp.ldexp(mantissa, exponent)


def assert_contains(ball: arb, expected: Any) -> None:
    """A ball with 250 bits contains a result of mpmath with 200."""
    difference = abs(mpf(ball, 400) - expected)
    assert difference <= abs(expected) * mpmath.mpf(2) ** -200, (ball, expected)
    assert ball.rel_accuracy_bits() >= 200


POINTS = (1e-300, 1e-40, 2.0**-30, 0.3, 0.5, 0.75, 1.0, 1.25, 5.5, 30.0, 1e3)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_against_mpmath(name: str) -> None:
    """Each function at each size, alone and where the number that it approaches is taken off."""
    f = ExactArithmetic()
    x = f.graph.input("x")
    function = f.graph.node(name, x)
    roots = [function]
    if name in {"exp", "tanh", "sigmoid", "erf", "erfc", "Phi", "cos", "expm1", "softplus"}:
        roots += [function - c for c in (-1, Fraction(1, 2), 1, 2)] + [function - x, x * function]
    for root in roots:
        for point in (*POINTS, *(-point for point in POINTS)):
            if (point < 0 and name in ("log", "sqrt")) or (point <= -1 and name == "log1p"):
                assert not exact.number(root, 200, x=point).is_finite()
                continue
            expected = mpmath_oracle.evaluate(root, 3300, x=point)
            if abs(expected) > mpmath.mpf(2) ** -1100:  # below, bits may be lost in a difference
                assert_contains(exact.truth(root, 250, x=point), expected)


@pytest.mark.parametrize("name", ["erfc", "Phi"])
def test_far_tails_against_mpmath(name: str) -> None:
    f = ExactArithmetic()
    root = f.graph.node(name, f.graph.input("x"))
    for size in (16000.0, 17000.0, 25000.0, 1e6):
        x = -size if name == "Phi" else size
        assert_contains(exact.number(root, 250, x=x), mpmath_oracle.evaluate(root, 500, x=x))


@pytest.mark.parametrize("quantity", ["value", "slope", "curvature"])
def test_the_catalogue_against_mpmath(activation: Any, quantity: str) -> None:
    root, values = truth_graph(activation.entry, quantity), dict(activation.parameters)
    for point in (-300.25, -7.25, -1.125, -0.625, -(2.0**-70), 2.0**-70, 0.125, 0.875, 3.75, 60.5):
        ball = exact.truth(root, 250, x=point, **values)
        if ball == 0 or ball.abs_upper() < exact.BELOW_ALL:
            continue
        assert_contains(ball, mpmath_oracle.evaluate(root, 3300, x=point, **values))


def test_a_wrong_ball_is_seen() -> None:
    ball = arb(2).sqrt()
    with pytest.raises(AssertionError):
        assert_contains(ball * (1 + arb(2) ** -45), mpmath_oracle.mp.sqrt(2))


def signs(root: Node, x: float, *boundaries: Fraction | int, **parameters: float) -> list[int]:
    """Return the signs of differences at one input."""
    places = [Fraction(boundary) for boundary in boundaries]
    return exact.signs_of_differences(root, [x] * len(places), places, **parameters)


@pytest.fixture
def precisions(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The precisions that are set."""
    made, precision = list[int](), exact.precision
    monkeypatch.setattr(exact, "precision", lambda bits: (made.append(bits), precision(bits))[1])
    return made


def test_a_saturated_difference_is_decided_by_few_bits(precisions: list[int]) -> None:
    """2050 - tanh(2050) exceeds 2049, the middle of two float16 numbers, by 2**-5914."""
    root = sg.tanhshrink.entry.define()
    assert signs(root, 2050.0, 2049) == [1]
    assert signs(root, -2050.0, -2049) == [-1]
    assert signs(root, 3.0, 2, 3) == [1, -1]
    assert signs(sg.hard_sigmoid.entry.define(), 0.0, Fraction(1, 2), width=6) == [0]
    assert precisions == [exact.FIRST_BITS] * 4
    assert float(sg.tanhshrink(np.float16(2050))) == 2050.0
    # -alpha·(1 - exp(x)) is above -alpha, a middle of two numbers, however small exp(x) is.
    alpha = 1 + 3 * 2.0**-11
    assert signs(sg.elu.entry.define(), -60000.0, Fraction(-alpha), alpha=alpha) == [1]
    assert sg.elu(np.float16(-60000), alpha=alpha) == -1 - 2.0**-10  # not the even -1 - 2**-9


def test_a_tie_is_exact_where_arithmetic_alone_is_left(precisions: list[int]) -> None:
    f = ExactArithmetic()
    x = f.graph.input("x")
    assert signs(f.where(x < 0, f.exp(x), x / 3), 3.0, 1, 2) == [0, -1]
    assert signs(f.where(f.exp(x) < 2, x, 2 * x), 3.0, 6) == [0]
    assert signs(x * f.Phi(0 * x), 2.0**-149, Fraction(1, 2**150)) == [0]
    assert precisions == [exact.FIRST_BITS] * 3
    assert isinstance(exact.evaluate(x / 3 + f.exp(0 * x), 64, x=1.0), fmpq)


def test_numbers_that_agree_in_all_bits_count_as_equal() -> None:
    f = ExactArithmetic()
    x = f.graph.input("x")
    assert signs(f.exp(f.log(x)), 3.0, 3) == [0]
    assert exact.number(f.exp(f.log(x)) - x, 100, x=3.0) == 0


def test_what_is_not_resolved_is_an_error() -> None:
    f = ExactArithmetic()
    x = f.graph.input("x")
    undecided = f.where(f.exp(f.log(x)) > x, 1, 2)
    with pytest.raises(ArithmeticError, match="not resolved with 4096 bits: it may not be real"):
        signs(undecided, 3.0, 1)
    with pytest.raises(ArithmeticError, match="not resolved"):
        exact.truth(undecided, x=3.0)
    assert exact.number(undecided, 100, x=3.0).is_nan()
    assert exact.number(f.where(f.log(x) > 0, 1, 2), 100, x=-1.0).is_nan()


def test_powers_of_powers_do_not_fill_the_memory() -> None:
    f = ExactArithmetic()
    root = f.graph.input("x")
    for _ in range(60):
        root = root * root
    bits = int(2**60 * mpmath_oracle.evaluate(f.log(f.lift(1.5)) / f.log(f.lift(2)), 200)) + 1
    assert exact.exponent(exact.number(root, 100, x=1.5)) == bits
    assert exact.number(f.exp(f.exp(f.exp(root))), 100, x=1.5).is_nan()


def test_a_call_leaves_the_precision_of_the_user() -> None:
    with flint.ctx.workprec(77):
        sg.elu(np.float16(-3), alpha=0.777)
        sg.gelu(np.float16(2))
        x = ExactArithmetic().graph.input("x")
        with pytest.raises(ArithmeticError, match="not resolved"):
            exact.truth(1 / x, x=0.0)
        assert flint.ctx.prec == 77
