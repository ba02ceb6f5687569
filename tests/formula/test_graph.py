"""Tracing, interning, derivatives, and the two exact lowerings against each other."""

from __future__ import annotations

from fractions import Fraction

import mpmath_oracle
import pytest

from softgate.formula.arithmetic import FUNCTIONS, ExactArithmetic
from softgate.formula.derivative import RULES, derivative
from softgate.formula.formats import BFLOAT16, FLOAT16, FLOAT32, FLOAT64, FORMATS
from softgate.formula.graph import Graph, walk
from softgate.lower.exact import truth
from softgate.runtime.activation import Activation
from softgate.runtime.tables import truth_graph

POINTS = [-7.25, -1.125, -0.625, 0.125, 0.875, 3.75]
"""Beside the kinks of piecewise functions."""


def test_equal_expressions_are_one_node() -> None:
    f = ExactArithmetic()
    x = f.graph.input("x")
    assert x * f.Phi(x) is x * f.Phi(x)
    assert x + 0.5 is x + Fraction(1, 2)
    assert x * 2 is not 2 * x


def test_walk_yields_operands_first_and_each_node_once() -> None:
    f = ExactArithmetic()
    x = f.graph.input("x")
    root = f.exp(x) * f.exp(x) + f.exp(x)
    order = list(walk(root))
    assert len(order) == len(set(order)) == 4
    assert all(order.index(arg) < order.index(node) for node in order for arg in node.args)


def test_a_float_is_the_decimal_its_author_wrote() -> None:
    f = ExactArithmetic()
    node = f.graph.input("x") * 0.044715
    assert node.args[1].attr == Fraction(44715, 10**6)


def test_what_a_formula_may_not_do() -> None:
    f, g = ExactArithmetic(), ExactArithmetic()
    x = f.graph.input("x")
    with pytest.raises(TypeError, match=r"f\.where"):
        bool(x > 0)
    with pytest.raises(AttributeError, match=r"cannot use f\.gamma: choose from exp"):
        f.gamma(x)
    with pytest.raises(ValueError, match="two different traces"):
        x + g.graph.input("x")
    with pytest.raises(TypeError):
        x + "1"  # type: ignore[operator]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_each_rule_against_a_difference_quotient(name: str) -> None:
    f = ExactArithmetic()
    x = f.graph.input("x")
    root = f.graph.node(name, x)
    assert name in RULES
    slope = derivative(root)
    for point in (0.3125, 1.5, 4.0):
        h = Fraction(1, 2**60)
        high, low = (mpmath_oracle.evaluate(root, 400, x=Fraction(point) + s * h) for s in (1, -1))
        exact = mpmath_oracle.evaluate(slope, 400, x=point)
        assert abs(exact - (high - low) / (2 * h.numerator) * h.denominator) < 1e-30 * abs(exact)


def test_arb_and_mpmath_agree(activation: Activation) -> None:
    values = dict(activation.parameters)
    for quantity in ("value", "slope", "curvature"):
        root = truth_graph(activation.entry, quantity)
        for point in POINTS:
            ball = truth(root, 100, x=point, **values)
            digits = float(mpmath_oracle.evaluate(root, 200, x=point, **values))
            assert abs(float(ball.mid()) - digits) <= 1e-15 * abs(digits), (quantity, point)


def test_derivatives_of_the_catalogue_against_differences(activation: Activation) -> None:
    values = dict(activation.parameters)
    h = 2.0**-30
    value, slope, curvature = (
        truth_graph(activation.entry, q) for q in ("value", "slope", "curvature")
    )
    for lower, upper in ((value, slope), (slope, curvature)):
        for point in POINTS:
            high, low = (
                mpmath_oracle.evaluate(lower, 200, x=point + s * h, **values) for s in (1, -1)
            )
            quotient, exact = (
                (high - low) / (2 * h),
                mpmath_oracle.evaluate(upper, 200, x=point, **values),
            )
            assert abs(quotient - exact) < 1e-15 + 1e-15 * abs(exact)


def test_balls_contain_and_decide() -> None:
    f = ExactArithmetic()
    x = f.graph.input("x")
    same = f.exp(f.log(x))
    assert truth(same - x, 40, x=0.3).contains(0)
    with pytest.raises(ArithmeticError, match="not resolved"):
        truth(f.where(same > x, 1, 0), 40, x=0.3)
    chosen = f.where(f.exp(f.log(x)) > x - Fraction(1, 2**300), 1, 0)
    assert truth(chosen, 40, x=0.3) == 1


@pytest.mark.parametrize("fmt", list(FORMATS.values()), ids=list(FORMATS))
def test_formats_round_to_even(fmt: object) -> None:
    assert isinstance(fmt, type(FLOAT32))
    step = Fraction(1, 2**fmt.mantissa_bits)
    assert fmt.round(1 + step / 2) == 1.0
    assert fmt.round(1 + 3 * step / 2) == float(1 + 2 * step)
    assert fmt.round(-1 - step * Fraction(51, 100)) == float(-1 - step)
    smallest = Fraction(2) ** fmt.smallest_exponent
    assert fmt.round(smallest / 2) == 0.0
    assert fmt.round(smallest * Fraction(51, 100)) == float(smallest)
    assert fmt.round(Fraction(2) ** (fmt.max_exponent + 1)) == float("inf")
    assert fmt.round(-(Fraction(2) ** (4 * fmt.max_exponent))) == float("-inf")
    assert fmt.round(Fraction(0)) == 0.0


def test_formats_are_ieee() -> None:
    import ml_dtypes
    import numpy as np

    for fmt, kind in ((FLOAT16, np.float16), (FLOAT32, np.float32), (FLOAT64, np.float64),
                      (BFLOAT16, ml_dtypes.bfloat16)):  # fmt: skip
        info = ml_dtypes.finfo(kind)
        assert fmt.precision == info.nmant + 1
        assert 2.0**fmt.smallest_exponent == float(info.smallest_subnormal)
        assert fmt.bits == info.bits


def test_a_graph_is_its_own_world() -> None:
    assert Graph().input("x") is not Graph().input("x")
