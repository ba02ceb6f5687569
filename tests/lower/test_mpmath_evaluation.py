"""Definitions evaluated with many digits: the decisions that tables need."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import softgate as sg
from softgate.formula.arithmetic import ExactArithmetic
from softgate.lower import mpmath_evaluation as mp


def test_a_saturated_difference_is_decided_by_few_evaluations(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """x - tanh(x) and x - 1 agree in hundreds of bits: precision is not doubled step by step.

    float16 has 2,048 such inputs, all of which the first call decides.
    """
    precisions: list[int] = []
    evaluate = mp.real

    def counted(root: Any, bits: int, /, **inputs: Any) -> Any:
        precisions.append(bits)
        return evaluate(root, bits, **inputs)

    monkeypatch.setattr(mp, "real", counted)
    root = sg.tanhshrink.entry.define()
    assert mp.sign_of_difference(root, Fraction(299), x=300.0) == 1  # 2·exp(-600) is 2**-864
    assert precisions == [256, 320]  # tanh does not reach 1
    precisions.clear()
    assert mp.sign_of_difference(root, Fraction(2), x=3.0) == 1
    assert mp.sign_of_difference(root, Fraction(3), x=3.0) == -1
    assert precisions == [256, 320] * 2
    precisions.clear()
    assert (
        mp.sign_of_difference(sg.hard_sigmoid.entry.define(), Fraction(1, 2), x=0.0, width=6) == 0
    )
    assert precisions == []  # a fraction


def test_a_difference_beyond_all_precision_is_decided() -> None:
    """2050 - tanh(2050) exceeds 2049, the middle of two float16 numbers, by 2**-5914."""
    root = sg.tanhshrink.entry.define()
    assert mp.sign_of_difference(root, Fraction(2049), x=2050.0) == 1
    assert mp.sign_of_difference(root, Fraction(-2049), x=-2050.0) == -1
    assert float(sg.tanhshrink(np.float16(2050))) == 2050.0


def test_a_branch_that_is_not_taken_leaves_a_tie_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where arithmetic alone is left, no digits are computed; a condition needs them all."""
    f = ExactArithmetic()
    x = f.graph.input("x")
    root = f.where(x < 0, f.exp(x), x / 3)
    assert mp.sign_of_difference(f.where(f.exp(x) < 2, x, 2 * x), Fraction(6), x=3.0) == 0
    monkeypatch.setattr(mp, "real", None)
    assert mp.sign_of_difference(root, Fraction(1), x=3.0) == 0
    assert mp.sign_of_difference(root, Fraction(2), x=3.0) == -1
