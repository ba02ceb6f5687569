"""Stable forms without fma: what has to be exact is, in NumPy's float32, which fuses nothing."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from softgate.formula.arithmetic import FloatArithmetic
from softgate.formula.formats import FLOAT32, FLOAT64
from softgate.formula.graph import Node, walk
from softgate.lower.evaluation import ARITHMETIC, interpret
from softgate.lower.without_fma import without_fma

F32 = np.float32
RNG = np.random.default_rng(0)
A, B = (RNG.normal(size=500).astype(F32) for _ in range(2))


def high(x: Any) -> Any:
    return (np.asarray(x, F32).view(np.uint32) & np.uint32(0xFFFFF000)).view(F32)


OPERATIONS: dict[str, Callable[..., Any]] = {
    **ARITHMETIC,
    "lt": np.less,
    "le": np.less_equal,
    "eq": np.equal,
    "where": np.where,
    "sqrt": np.sqrt,
    "high": high,
    "keep": lambda x: x,
    "unscale": np.multiply,
}


def run(root: Node, **inputs: Any) -> Any:
    """Evaluate a graph without fma, in float32."""
    (plain,) = without_fma(FLOAT32, root)
    assert all(node.op != "fma" for node in walk(plain))
    result = interpret(
        plain, OPERATIONS, lambda v: F32(v) if isinstance(v, Fraction) else v, inputs
    )
    assert result.dtype == F32
    return result


def make() -> tuple[FloatArithmetic, Node, Node]:
    f = FloatArithmetic(FLOAT32)
    return f, f.graph.input("a"), f.graph.input("b")


def exact(x: Any, y: Any, z: Any) -> list[Fraction]:
    rows = zip(x.tolist(), y.tolist(), z.tolist(), strict=True)
    return [Fraction(p) * Fraction(q) + Fraction(r) for p, q, r in rows]


def test_what_a_product_lost() -> None:
    f, a, b = make()
    product = a * b
    lost = run(f.fma(a, b, -product), a=A, b=B)
    assert [Fraction(x) for x in lost.tolist()] == exact(A, B, -(A * B))
    assert np.any(lost != 0)


def test_what_a_square_and_a_constant_lost() -> None:
    f, a, _ = make()
    total = f.fma(a, a, Fraction(1, 2))
    lost = run(f.fma(a, a, Fraction(1, 2) - total), a=A)
    rounded = A * A + F32(0.5)
    best = exact(A, A, F32(0.5) - rounded)
    assert np.allclose(lost, np.array(best, float), rtol=1e-6, atol=1e-15)


def test_what_a_quotient_lost() -> None:
    f, _, b = make()
    inverse = 1 / b
    rest = run(f.fma(-inverse, b, 1), b=B)
    assert [Fraction(x) for x in rest.tolist()] == exact(-(F32(1) / B), B, np.ones_like(B))


def test_multiples_of_a_constant_cancel() -> None:
    f, a, _ = make()
    step = Fraction(FLOAT32.round(Fraction("0.693147180559945")))
    magic = 3 << 22
    n = f.fma(a, 1 / step, magic) - magic
    x = (A * 60).astype(F32)
    rest = run(f.fma(n, -step, a), a=x)
    turns = run(n, a=x)
    best = np.array(exact(turns, np.full_like(x, -float(step)), x), float)
    assert np.abs(best).max() < 0.36
    assert np.abs(rest - best).max() < 2.0**-26


def test_sums_with_constants_are_kept() -> None:
    f, a, _ = make()
    (plain,) = without_fma(FLOAT32, (a + 1) - 1)
    assert repr(plain) == "keep(sub(keep(add(keep(a), 1)), 1))"
    (plain,) = without_fma(FLOAT32, (a + f.abs(a)) - 1)
    assert repr(plain) == "keep(sub(add(keep(a), abs(keep(a))), 1))"


def test_scaled_products_are_kept() -> None:
    _, a, b = make()
    (plain,) = without_fma(FLOAT32, a * Fraction(1, 1 << 64) * b)
    assert repr(plain).startswith("keep(mul(keep(unscale(keep(a), ")
    (plain,) = without_fma(FLOAT32, a * Fraction(1, 3) * b)
    assert repr(plain).startswith("keep(mul(mul(keep(a), ")


def test_numbers_are_rounded_once_and_choices_made() -> None:
    f, a, _ = make()
    third = f.lift(1) / 3
    residual = without_fma(FLOAT32, a + f.fma(-third, 3, 1))[0].args[0].args[1]
    assert residual.attr == 1 - 3 * Fraction(FLOAT32.round(Fraction(1, 3)))
    (chosen,) = without_fma(FLOAT32, f.where(f.lift(2) < 1, a, -a))
    assert repr(chosen) == "keep(neg(keep(a)))"
    (wide,) = without_fma(FLOAT64, a * Fraction(1, 10))
    assert wide.args[0].args[1].attr == Fraction(0.1)


@pytest.mark.parametrize("size", [1e-37, 1e-30, 1.0])
def test_small_factors_are_not_cut(size: float) -> None:
    # Halves that are subnormal count as 0 on many a machine: what is recovered must stay small.
    def flushed(x: Any) -> Any:
        return np.where(np.abs(x) < np.finfo(F32).smallest_normal, F32(0), x)

    f, a, b = make()
    (plain,) = without_fma(FLOAT32, f.fma(a, b, -(a * b)))
    sub = OPERATIONS["sub"]
    operations = {**OPERATIONS, "sub": lambda x, y: flushed(sub(x, y))}
    x = (np.abs(A) * F32(size) + F32(size)).astype(F32)
    scale = B * F32(2.0**20)
    lost = interpret(plain, operations, F32, {"a": x, "b": scale})
    assert np.all(np.abs(lost) <= np.abs(x * scale) * 2.0**-23)


def test_sums_with_a_constant_are_kept_from_compilers() -> None:
    """Grappler moves constants through sums: the error of a difference would be lost."""
    _, a, _ = make()
    difference = a - Fraction(1, 4)
    back = difference - a
    (plain,) = without_fma(FLOAT32, (a - (difference - back)) - (back + Fraction(1, 4)))
    sums = {n for n in walk(plain) if n.op in ("add", "sub")}
    constant = {n for n in sums if any(arg.op == "const" for arg in n.args)}
    assert len(constant) == 2
    assert not any(arg in constant for n in sums for arg in n.args)
