"""Self-test of `softgate doctor`: compile a kernel and compare its error with its bound."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from time import perf_counter
from typing import Any

import numpy as np

from softgate.formula.formats import FORMATS, ulp
from softgate.runtime import kernels
from softgate.runtime.activation import Activation
from softgate.runtime.tables import truth_graph

BITS = 1200
"""Precision of the reference: its error is negligible even for the smallest float64."""

POINTS = (-38.4, -20.0, -13.9, -5.5, -3.0, -1.0, -0.75, -1e-3, -1e-30, 1e-30, 1e-3, 0.5, 1.0, 3.0)


@dataclass(frozen=True)
class SelfTestResult:
    """The largest error of one kernel at points that are hard for its function."""

    kernel: str
    dtype: str
    max_ulp: float
    bound_ulp: float
    compile_s: float

    @property
    def ok(self) -> bool:
        """Whether the largest error is within the bound."""
        return self.max_ulp <= self.bound_ulp

    def __str__(self) -> str:
        verdict = "right" if self.ok else "WRONG"
        return (
            f"{verdict}: {self.kernel} compiled in {self.compile_s:.2f} s, "
            f"{self.max_ulp:.2f} ulp at most, allowed {self.bound_ulp:g}"
        )


def run_selftest(activation: Activation, dtype: np.dtype[Any]) -> SelfTestResult:
    """Compile the kernel for `dtype`; return its largest error against the definition."""
    from softgate.lower.mpmath_evaluation import evaluate

    fmt = FORMATS[dtype.name]
    grid = np.concatenate([np.linspace(-15, 15, 61), POINTS])
    x = grid.astype(dtype)
    start = perf_counter()
    activation(x[:1])
    compile_s = perf_counter() - start
    computed = activation(x).astype(np.float64)
    root = truth_graph(activation.entry, "value")
    worst = 0.0
    with kernels.BUILDING:  # mpmath's context is shared
        for point, result in zip(x.astype(np.float64).tolist(), computed.tolist(), strict=True):
            truth = evaluate(root, BITS, x=Fraction(point), **activation.parameters)
            unit = float(ulp(np.float64(float(truth)), fmt))
            error = abs(truth - result) / unit
            worst = max(worst, float(error) if np.isfinite(result) else float("inf"))
    bound = 0.5 if fmt.bits == 16 else activation.entry.bounds[fmt.name].value
    return SelfTestResult(activation.name, dtype.name, worst, bound, compile_s)
