"""A gradient, computed from the input or from the value, equals the slope: all parameters."""

from __future__ import annotations

import numpy as np
import torch

from softgate.runtime.activation import Activation

EPS = {torch.float64: 2.0**-52, torch.float32: 2.0**-23, torch.bfloat16: 2.0**-7}


def test_gradient_is_slope(variant: tuple[Activation, dict[str, float]]) -> None:
    activation, parameters = variant
    for dtype, eps in EPS.items():
        x = torch.linspace(-9, 9, 241).to(dtype).requires_grad_()
        (gradient,) = torch.autograd.grad(activation(x, **parameters).sum(), x)
        exact = activation.slope(x.detach().double().numpy(), **parameters)
        # A slope told from a rounded value is off by some ulps of 1, or of the largest slope.
        allowed = 4 * eps * max(1.0, float(np.abs(exact).max()))
        assert np.abs(gradient.double().numpy() - exact).max() <= allowed, dtype
