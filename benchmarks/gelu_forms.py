"""gelu in several forms: largest error against time, the Pareto table of docs/experiments.md.

    python benchmarks/gelu_forms.py             float32 and float64, Markdown

Forms differ in how Φ(-a) = 2**-n/(2·G·2**(r/C)) is put together from G = a + g + P/Q and
w = 2**(±r/C) - 1 (see src/softgate/blocks/gaussian.py). Errors are the largest on a fixed sample,
against float64 (float32) or arb (float64); times the least of many interleaved rounds, one thread.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np

import softgate as sg
from softgate.blocks import KernelArithmetic, Tail
from softgate.blocks.fits import GAUSSIAN
from softgate.blocks.gaussian import LIFT, QUICK
from softgate.formula.formats import FLOAT32, FLOAT64, Format
from softgate.formula.graph import Node
from softgate.runtime import kernels
from softgate.runtime.activation import Activation
from softgate.studies import accuracy

SIZE, ROUNDS = 1 << 20, 150
KINDS: dict[str, type[np.floating[Any]]] = {"float32": np.float32, "float64": np.float64}
Form = Callable[[KernelArithmetic, Node], Tail]


def parts(f: KernelArithmetic, a: Node) -> tuple[Node, Node, Node, float]:
    """Return w, the power's bits, T = P/Q and g, for a division by G·2**(r/C)."""
    form = QUICK[f.fmt.name]
    w, magic = f._power(a, form, f.fit(GAUSSIAN, "QUICK_POWER"), sign=1, lift=lift(f))
    ratio = f._ratio(a, f.fit(GAUSSIAN, "QUICK"))
    return w, magic, ratio.above / ratio.below, form.base


def lift(f: KernelArithmetic) -> int:
    """What both sides of a division carry, so that no subnormal is divided."""
    return LIFT if f.fmt is FLOAT64 else 1


def divided(f: KernelArithmetic, a: Node, inverse: Node, magic: Node) -> Tail:
    above = f.product(a, LIFT) if f.fmt is FLOAT64 else a
    return whole(f, above / f.add_exponent(inverse, magic))


def whole(f: KernelArithmetic, total: Node) -> Tail:
    return Tail(total, None, f.lift(1))


def mills(f: KernelArithmetic, a: Node) -> Tail:
    scaled, w = f._scaled_mills(a)
    product = scaled * a
    return whole(f, f.fma(product, w, product))


def mills_given_back(f: KernelArithmetic, a: Node) -> Tail:
    scaled, w = f._scaled_mills(a)
    product = f.product(scaled, a)
    return Tail(product, f.fma(product, w, f.fma(scaled, a, -product)), f.lift(1))


def plain_sum(f: KernelArithmetic, a: Node) -> Tail:
    w, magic, t, g = parts(f, a)
    inverse = (a + t) + g
    return divided(f, a, f.fma(inverse, w, inverse), magic)


def larger_last(f: KernelArithmetic, a: Node) -> Tail:
    w, magic, t, g = parts(f, a)
    inverse = f.maximum(a, g) + (f.minimum(a, g) + t)
    return divided(f, a, f.fma(inverse, w, inverse), magic)


def constant_last(f: KernelArithmetic, a: Node) -> Tail:
    w, magic, t, g = parts(f, a)
    small = a + t
    return divided(f, a, g + f.fma(g + small, w, small), magic)


def larger_last_in_both(f: KernelArithmetic, a: Node) -> Tail:
    w, magic, t, g = parts(f, a)
    large, small = f.maximum(a, g), f.minimum(a, g) + t
    return divided(f, a, large + f.fma(large + small, w, small), magic)


FORMS: dict[str, Form] = {
    "Q/((a + g)·Q + P), then ·a": mills,
    "the same, what the product loses given back": mills_given_back,
    "a/fma(G, w, G), G = (a + T) + g": plain_sum,
    "a/fma(G, w, G), the larger of a and g added last": larger_last,
    "a/(g + fma(G, w, a + T))": constant_last,
    "a/(large + fma(G, w, small)), the larger added last twice": larger_last_in_both,
}


def activation(form: Form) -> Activation:
    def value(f: KernelArithmetic, x: Node) -> Node:
        return f.ramp(x, form(f, f.clamp(f.abs(x), f.gaussian_limit)))

    return Activation(replace(sg.gelu.entry, name="form", value=value))


def error_ulp(candidate: Activation, fmt: Format) -> float:
    rng = np.random.default_rng(1)
    count, deepest = (3_000_000, 14.5) if fmt is FLOAT32 else (15_000, 38.5)
    x = np.concatenate([rng.uniform(-6, 2, count), rng.uniform(-deepest, 0, count // 2)])
    x = x.astype(KINDS[fmt.name])
    # Against the true entry: what is measured must not be its own truth.
    reference = accuracy.Reference(sg.gelu.entry, "value")
    measure = reference.against_kernel if fmt is FLOAT32 else reference.against_arb
    return measure(x, candidate(x), fmt).max_ulp


def times_ns(candidates: dict[str, tuple[Activation, str | None]], fmt: Format) -> dict[str, float]:
    x = np.random.default_rng(0).standard_normal(SIZE).astype(KINDS[fmt.name])
    out = np.empty_like(x)
    best = dict.fromkeys(candidates, float("inf"))
    for _ in range(ROUNDS):
        for name, (candidate, arithmetic) in candidates.items():
            start = perf_counter()
            candidate(x, out=out, arithmetic=arithmetic)
            best[name] = min(best[name], perf_counter() - start)
    return {name: 1e9 * seconds / SIZE for name, seconds in best.items()}


def table(fmt: Format) -> None:
    candidates: dict[str, tuple[Activation, str | None]] = {
        name: (activation(form), None) for name, form in FORMS.items()
    }
    if fmt is FLOAT32:
        candidates['float64 inside, rounded once (arithmetic="float64")'] = (sg.gelu, "float64")
    times = times_ns(candidates, fmt)
    nodes = kernels.Specification(sg.gelu.entry, "value", fmt, fmt)
    shipped = kernels.trace(nodes)
    print(f"\n| gelu {fmt.name} value | max ulp | ns |\n| --- | --- | --- |")
    for name, (candidate, arithmetic) in candidates.items():
        specification = kernels.Specification(candidate.entry, "value", fmt, fmt)
        mark = (
            "**"
            if arithmetic is None and repr(kernels.trace(specification)) == repr(shipped)
            else ""
        )
        if arithmetic:
            x = np.linspace(-14, 2, 20_001, dtype=np.float32)
            errors = accuracy.Reference(sg.gelu.entry, "value").against_arb(
                x, candidate(x, arithmetic=arithmetic), fmt
            )
            ulp = errors.max_ulp
        else:
            ulp = error_ulp(candidate, fmt)
        print(f"| {mark}{name}{mark} | {ulp:.2f} | {times[name]:.2f} |", flush=True)


def main() -> int:
    sg.set_threads(1)
    for fmt in (FLOAT32, FLOAT64):
        table(fmt)
    return 0


if __name__ == "__main__":
    sys.exit(main())
