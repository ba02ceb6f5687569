"""The functions that ONNX lacks, in torch operators that it has.

torch's ONNX exporters write erfc(x) as 1 - erf(x), expm1(x) as exp(x) - 1 and log1p(x) as
log(1 + x). Each of these loses all digits where its result is small. The forms here keep them.
"""

from __future__ import annotations

import torch

from softgate.blocks import gaussian_fits
from softgate.blocks.gaussian_forms import EXACT

_STEP = 16.0
"""a rounded to a multiple of 1/16 has an exact square in float32 as far as Phi(-a) is not 0."""


def expm1(x: torch.Tensor) -> torch.Tensor:
    """Return exp(x) - 1 from exp and log, whose errors at the rounded exp(x) cancel."""
    power = torch.exp(x)
    less = power - 1
    ordinary = (power != 1) & (less != -1) & (power < torch.inf)
    log = torch.log(torch.where(ordinary, power, 2.0))
    return torch.where(ordinary, less * x / log, torch.where(power == 1, x, less))


def log1p(x: torch.Tensor) -> torch.Tensor:
    """Return log(1 + x), corrected for what the sum loses."""
    total = 1 + x
    ordinary = (total != 1) & (total > 0) & (total < torch.inf)
    inside = torch.where(ordinary, total, 2.0)
    return torch.where(ordinary, torch.log(inside) * (x / (inside - 1)), _log1p_edge(x, total))


def _log1p_edge(x: torch.Tensor, total: torch.Tensor) -> torch.Tensor:
    return torch.where(total == 1, x, torch.log(total))


def normal_cdf(x: torch.Tensor) -> torch.Tensor:
    """Return Phi(x) as exp(-a²/2)/(sqrt(2·pi)·G(a)), a = |x|, with the fit of G of the kernels.

    a² is formed as h² + (a - h)·(a + h), where h² is exact: rounding a² would cost the tail a²/2
    ulps.
    """
    double = x.dtype is torch.float64
    form = EXACT["float64" if double else "float32"]
    fit = gaussian_fits.EXACT_FLOAT64 if double else gaussian_fits.EXACT_FLOAT32
    a = torch.where(x < 0, -x, x)
    a = torch.where(a > 40.0, 40.0, a)
    h = torch.round(a * _STEP) / _STEP
    power = torch.exp(h * h * -0.5) * torch.exp((h - a) * (h + a) * 0.5)
    ratio = _polynomial(a, fit.coefficients) / _polynomial(a, fit.denominator)
    tail = power * (0.3989422804014327 / (a + ratio + form.base))
    return torch.where(x < 0, tail, 1 - tail)


def _polynomial(x: torch.Tensor, coefficients: tuple[float, ...]) -> torch.Tensor:
    *rest, last = coefficients
    result: torch.Tensor = x * 0.0 + last
    for c in reversed(rest):
        result = result * x + c
    return result
