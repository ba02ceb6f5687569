"""Random formulas, computed and compared with many digits."""

from __future__ import annotations

import contextlib
from typing import Any

import mpmath_oracle
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from roundoff import roundoff

import softgate as sg
from softgate.formula.arithmetic import FUNCTIONS, ExactArithmetic
from softgate.formula.graph import Node
from softgate.lower import compose
from softgate.lower.evaluation import evaluate_float64

POINTS = np.array([-30.0, -6.5, -2.0, -0.75, -1e-3, -1e-9, 1e-9, 1e-3, 0.5, 1.0, 3.25, 9.0, 40.0])
BITS = 2000
Formula = tuple[Any, ...]


def formulas() -> st.SearchStrategy[Formula]:
    """Expressions of x as nested tuples: (operation, operands…)."""
    numbers = st.sampled_from([1, 2, 0.5, -1, 0.044715, 3])
    leaves = st.one_of(st.just(("x",)), st.tuples(st.just("number"), numbers))

    def larger(inner: st.SearchStrategy[Formula]) -> st.SearchStrategy[Formula]:
        binary = st.sampled_from(["+", "-", "*", "/", "maximum"])
        return st.one_of(
            st.tuples(st.sampled_from([*FUNCTIONS, "abs", "neg"]), inner),
            st.tuples(binary, inner, inner),
            st.tuples(st.just("where"), inner, inner),
        )

    return st.recursive(leaves, larger, max_leaves=6)


def built(f: ExactArithmetic, x: Node, formula: Formula) -> Node:
    """Return a formula written with `f`."""
    op, *operands = formula
    if op == "x":
        return x
    if op == "number":
        return f.lift(operands[0])
    parts = [built(f, x, operand) for operand in operands]
    match op:
        case "+":
            return parts[0] + parts[1]
        case "-":
            return parts[0] - parts[1]
        case "*":
            return parts[0] * parts[1]
        case "/":
            return parts[0] / parts[1]
        case "neg":
            return -parts[0]
        case "where":
            return f.where(x > 0, parts[0], parts[1])  # what is computed may round to 0
    result: Node = getattr(f, op)(*parts)
    return result


def worst(formula: Formula, quantity: str, spoil: float = 0.0) -> float:
    """Return the largest error as a multiple of what rounding allows, where that is little."""
    activation = sg.activation(name="random")(lambda f, x: built(f, x, formula))
    (root,) = compose.Composition(activation.entry.definition, ("x",), ()).graphs(quantity)
    method = activation if quantity == "value" else activation.slope
    computed = method(POINTS) * (1 + spoil)
    allowed = evaluate_float64(roundoff(root), {"x": POINTS}) * 2.0**-53
    largest = 0.0
    errors = np.broadcast_to(allowed, POINTS.shape) + 2.0**-53 * np.abs(computed)
    for x, result, error in zip(POINTS.tolist(), computed, errors, strict=True):
        truth = mpmath_oracle.evaluate(root, BITS, x=x)
        size = abs(float(truth)) if mp_finite(truth) else np.nan
        if 1e-290 < size < 1e290 and error < 1e-6 * size:
            largest = max(largest, abs(float(truth) - result) / error)
    return largest


def mp_finite(value: Any) -> bool:
    return bool(np.isfinite(float(value)))


@pytest.mark.parametrize("quantity", ["value", "slope"])
@settings(
    max_examples=60, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
@given(formula=formulas())
def test_errors_are_those_of_rounding(quantity: str, formula: Formula) -> None:
    largest = 0.0
    with contextlib.suppress(sg.FormulaError):  # x/0, or no x in it
        largest = worst(formula, quantity)
    assert largest <= 2.0, f"{largest} times what rounding allows: {formula}"


def test_a_wrong_result_is_seen() -> None:
    assert worst(("*", ("x",), ("sigmoid", ("x",))), "value") <= 2.0
    assert worst(("*", ("x",), ("sigmoid", ("x",))), "value", spoil=2.0**-45) > 2.0
