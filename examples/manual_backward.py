"""Backward passes by hand: a tanh layer, a GELU layer and one with GELU's tanh form.

A layer computes y = f(z), z = x·Wᵀ + b. Given g = ∂L/∂y, the chain rule gives

    d = g·f'(z)         ∂L/∂z, element by element
    ∂L/∂W = dᵀ·x        ∂L/∂b = Σ d        ∂L/∂x = d·W

so all that differs between layers is the slope f'. With φ, Φ the normal density and distribution:

    tanh       f = tanh z               f' = 1 - tanh² z
    GELU       f = z·Φ(z)               f' = Φ(z) + z·φ(z)                       (product rule)
    tanh form  f = z·(1 + t)/2          f' = (1 + t)/2 + z·(1 - t²)/2·u'(z)      (product rule)
               t = tanh u(z),  u = √(2/π)·(z + 0.044715·z³),  u' = √(2/π)·(1 + 3·0.044715·z²)

An article on tanh and GELU gets the third one wrong twice: its forward pass multiplies by x where z
belongs, and its slope lacks the factor z before (1 - t²). This script shows what that costs.

    python examples/manual_backward.py
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

import softgate as sg

ROOT = math.sqrt(2 / math.pi)
CUBIC = 0.044715


def tanh(z: Tensor) -> Tensor:
    return torch.tanh(z)


def tanh_slope(z: Tensor) -> Tensor:
    return 1 - torch.tanh(z) ** 2


def gelu(z: Tensor) -> Tensor:
    return z * torch.special.ndtr(z)


def gelu_slope(z: Tensor) -> Tensor:
    density = torch.exp(-z * z / 2) / math.sqrt(2 * math.pi)
    return torch.special.ndtr(z) + z * density


def gelu_tanh(z: Tensor) -> Tensor:
    return z * (1 + torch.tanh(ROOT * (z + CUBIC * z**3))) / 2


def gelu_tanh_slope(z: Tensor) -> Tensor:
    t = torch.tanh(ROOT * (z + CUBIC * z**3))
    return (1 + t) / 2 + z * (1 - t * t) / 2 * ROOT * (1 + 3 * CUBIC * z * z)


def article_slope(z: Tensor) -> Tensor:
    """The article's slope: z is missing before (1 - t²)."""
    t = torch.tanh(ROOT * (z + CUBIC * z**3))
    return (1 + t) / 2 + (1 - t * t) / 2 * ROOT * (1 + 3 * CUBIC * z * z)


def article_layer(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """The article's forward pass: x where z belongs. A scalar layer; no other shapes would fit."""
    z = weight * x + bias
    return x * (1 + torch.tanh(ROOT * (z + CUBIC * z**3))) / 2


@dataclass
class Layer:
    """f(x·Wᵀ + b), with the backward pass written out."""

    weight: Tensor
    bias: Tensor
    value: Callable[[Tensor], Tensor]
    slope: Callable[[Tensor], Tensor]

    def forward(self, x: Tensor) -> Tensor:
        return self.value(x @ self.weight.t() + self.bias)

    def backward(self, x: Tensor, grad: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return the gradients of weight, bias and input."""
        d = grad * self.slope(x @ self.weight.t() + self.bias)
        return d.t() @ x, d.sum(0), d @ self.weight


def disagreement(layer: Layer, x: Tensor, grad: Tensor) -> float:
    """Return the largest difference between the gradients by hand and autograd's."""
    leaves = [t.clone().requires_grad_() for t in (layer.weight, layer.bias, x)]
    weight, bias, source = leaves
    y = Layer(weight, bias, layer.value, layer.slope).forward(source)
    expected = torch.autograd.grad(y, leaves, grad)
    result = layer.backward(x, grad)
    return max(float((a - b).abs().max()) for a, b in zip(result, expected, strict=True))


def main() -> None:
    generator = torch.Generator().manual_seed(0)

    def draw(*shape: int) -> Tensor:
        return torch.randn(*shape, dtype=torch.float64, generator=generator)

    x, weight, bias, grad = draw(500, 10), draw(20, 10), draw(20), draw(500, 20)
    print("Gradients by hand against autograd's: largest difference, 500 inputs, 10 -> 20")
    for name, value, slope in (
        ("tanh", tanh, tanh_slope),
        ("gelu", gelu, gelu_slope),
        ("gelu_tanh", gelu_tanh, gelu_tanh_slope),
        ("the article's slope", gelu_tanh, article_slope),
    ):
        print(f"  {name:20} {disagreement(Layer(weight, bias, value, slope), x, grad):.1e}")

    print("\nThe tanh form's slope, as the article has it and as it is")
    for point in (-3.0, -1.0, 0.0, 1.0):
        z = torch.tensor(point, dtype=torch.float64)
        print(f"  z = {point:4g}   {article_slope(z):9.6f}   {gelu_tanh_slope(z):9.6f}")
    print("  They meet at z = 1, where the missing factor is 1.")

    w, b, one = (torch.tensor(v, dtype=torch.float64) for v in (2.0, -1.0, 1.5))
    print("\nThe forward pass at w = 2, b = -1, x = 1.5, so z = 2")
    print(f"  with x for z: {article_layer(one, w, b):.8f}   right: {gelu_tanh(w * one + b):.8f}")

    z = torch.linspace(-6, 6, 1001, dtype=torch.float64)
    print("\nThe slopes by hand against softgate's: largest difference on [-6, 6]")
    for name, slope in ("tanh", tanh_slope), ("gelu", gelu_slope), ("gelu_tanh", gelu_tanh_slope):
        difference = (slope(z) - sg.activations()[name].slope(z)).abs().max()
        print(f"  {name:20} {difference:.1e}")


if __name__ == "__main__":
    main()
