"""float8 tensors: the bits of arrays, autograd as far as torch goes, compiled and exported."""

from __future__ import annotations

from typing import Any

import float8
import numpy as np
import pytest
import torch

import softgate as sg
from softgate.runtime.activation import Activation

NAMES = tuple(name for name in float8.NAMES if hasattr(torch, name))
E4M3FN = torch.float8_e4m3fn


def tensor(x: Any) -> torch.Tensor:
    """An array of a format as a tensor."""
    return torch.tensor(x.view(np.uint8)).view(getattr(torch, x.dtype.name))


def bits(x: torch.Tensor) -> Any:
    """The bit patterns of a tensor."""
    return x.detach().view(torch.uint8).numpy()


def test_torch_has_these_formats() -> None:
    assert {"float8_e4m3fn", "float8_e5m2"} <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_bits_are_those_of_arrays(name: str) -> None:
    array = float8.patterns(name)
    x = tensor(array)
    for function in (sg.gelu, sg.sigmoid, sg.squared_relu):
        for compute in (function, function.slope, function.curvature):
            result = compute(x)
            assert result.dtype is x.dtype
            assert np.array_equal(bits(result), compute(array).view(np.uint8))
        products = function.backward(x[:, None], x[None])
        expected = function.backward(array[:, None], array[None]).view(np.uint8)
        assert np.array_equal(bits(products), expected)
        leaf = x[:, None].repeat(1, 256).requires_grad_()
        function(leaf).backward(x[None].expand(256, 256))
        assert leaf.grad is not None
        assert np.array_equal(bits(leaf.grad), expected)


def test_every_activation(activation: Activation) -> None:
    array = float8.patterns("float8_e4m3fn")
    x = tensor(array).requires_grad_()
    y = activation(x)
    assert np.array_equal(bits(y), activation(array).view(np.uint8))
    (grad,) = torch.autograd.grad(y, x, x.detach())
    assert np.array_equal(bits(grad), activation.backward(array, array).view(np.uint8))


def test_layouts_and_in_place_writes() -> None:
    array = np.tile(float8.patterns("float8_e5m2"), 100).reshape(100, 16, 16)
    x = tensor(array)
    turned = x.permute(2, 0, 1)[::2]
    expected = sg.gelu(array.transpose(2, 0, 1)[::2]).view(np.uint8)
    assert np.array_equal(bits(sg.gelu(turned)), expected)
    sg.torch.functional.gelu_(x)
    assert np.array_equal(bits(x), sg.gelu(array).view(np.uint8))
    leaf = tensor(array).requires_grad_()
    y = sg.torch.functional.sigmoid_(leaf.clone())
    (grad,) = torch.autograd.grad(y, leaf, leaf.detach())
    assert np.array_equal(bits(grad), sg.sigmoid.backward(array, array).view(np.uint8))


def test_without_kernels_results_are_gathered() -> None:
    class Module(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return sg.gelu(x)

    array = float8.patterns("float8_e4m3fn")
    x = tensor(array)
    exported = torch.export.export(Module(), (x,)).module()
    assert np.array_equal(bits(exported(x)), sg.gelu(array).view(np.uint8))
    forms = sg.torch.GELU()
    assert forms(x.to("meta")).dtype is E4M3FN
    # The form for other devices, called on the CPU.
    from softgate.frameworks.torch.operators import bind

    decomposition = bind(sg.gelu, None, {}).forms
    leaf = x.clone().requires_grad_()
    decomposition((0,), leaf).backward(x)
    assert np.array_equal(bits(leaf.grad), sg.gelu.backward(array, array).view(np.uint8))


def test_compiled() -> None:
    torch._dynamo.reset()
    array = float8.patterns("float8_e4m3fn")
    x = tensor(array).requires_grad_()
    y = torch.compile(torch.nn.Sequential(sg.torch.GELU()), backend="aot_eager")(x)
    assert np.array_equal(bits(y), sg.gelu(array).view(np.uint8))
    y.backward(x.detach())
    assert np.array_equal(bits(x.grad), sg.gelu.backward(array, array).view(np.uint8))


def test_what_has_no_tables() -> None:
    x = torch.zeros(4, dtype=torch.uint8)
    for dtype in (torch.float8_e8m0fnu, torch.float4_e2m1fn_x2):
        with pytest.raises(TypeError, match="float8 except float8_e8m0fnu"):
            sg.gelu(x.view(dtype))
    with pytest.raises(TypeError, match="swiglu of float8_e4m3fn"):
        sg.swiglu(x.view(E4M3FN))
    with pytest.raises(TypeError, match="tables need numbers as parameters"):
        sg.prelu(x.view(E4M3FN), slope=torch.full((4,), 0.1))
    with pytest.raises(TypeError, match="trainable beta"):
        sg.torch.functional.swish(x.view(E4M3FN), torch.tensor(1.0, requires_grad=True))
