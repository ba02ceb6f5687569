"""Graphs that run without softgate: exported, traced, in ONNX; their limits and accuracy hold."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from io import BytesIO
from typing import Any

import numpy as np
import onnxruntime
import pytest
import torch
from torch import Tensor, nn

import softgate as sg
from softgate._activation import Activation
from softgate.adapters.torch.operators import binding

# torch itself still uses, for exports, what it deprecates.
pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")


@pytest.fixture(autouse=True)
def _dynamo() -> Iterator[None]:
    yield
    torch._dynamo.reset()


def infinities_and_more() -> Any:
    far = np.concatenate([np.geomspace(1e-3, 3e4, 200), [1e20, np.inf]])
    return np.concatenate([-far[::-1], [0.0], far]).astype(np.float32)


TORCHS_OWN = {"gelu", "gelu_tanh", "hard_swish", "mish", "silu"}
"""Exported as torch's one operator, which is no number at -inf."""


def exported(activation: Activation, x: Tensor) -> Tensor:
    class Model(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            result: Tensor = activation(x)
            return result

    result: Tensor = torch.export.export(Model(), (x,)).module()(x)
    return result


def test_exports_keep_limits_and_accuracy(activation: Activation) -> None:
    x = torch.from_numpy(infinities_and_more())
    found, expected = exported(activation, x), activation(x)
    if activation.name in TORCHS_OWN:
        assert found[0].isnan()
        assert "no number at -inf" in binding(activation, None, {}).forms.describe("value", x.dtype)
        found, expected = found[1:], expected[1:]
    near = {"tanhshrink": 1e-6, "gelu": 1e-6, "gelu_tanh": 1e-6}.get(activation.name, 1e-30)
    torch.testing.assert_close(found, expected, rtol=2e-5, atol=near)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_derivatives_in_torch_operators_have_limits(activation: Activation, order: int) -> None:
    forms = binding(activation, None, {}).forms
    x = torch.tensor([-math.inf, -1e20, 1e20, math.inf, math.nan])
    found = forms.evaluate(order, x)
    if order < 3:
        quantity = ("slope", "curvature")[order - 1]
        torch.testing.assert_close(
            found[:4], getattr(activation, quantity)(x[:4]), atol=1e-30, rtol=1e-6
        )
    else:
        assert torch.equal(found[:4], torch.zeros(4))


@pytest.mark.parametrize("name", ["gelu", "softsign", "squareplus", "mish", "softplus"])
def test_third_derivatives_vanish_at_infinity(name: str) -> None:
    activation = sg.activations()[name]
    third = torch.func.vmap(torch.func.grad(torch.func.grad(torch.func.grad(activation))))
    assert torch.equal(third(torch.tensor([-math.inf, math.inf])), torch.zeros(2))


@pytest.mark.parametrize("name", ["squareplus", "softsign"])
def test_traced_graphs_train_from_zero(name: str) -> None:
    """A stable form takes |x|, whose slope at 0 autograd takes for 0."""
    activation = sg.activations()[name]
    x = torch.zeros(3, requires_grad=True)
    traced = torch.jit.trace(activation, torch.ones(3))
    (grad,) = torch.autograd.grad(traced(x).sum(), x)
    torch.testing.assert_close(grad, activation.slope(x.detach()))


def test_compiled_functorch_has_limits() -> None:
    x = torch.tensor([-math.inf, 0.0, 3.0])
    for name in ("gelu_sigmoid", "softsign"):
        activation = sg.activations()[name]
        total = torch.func.grad(lambda v, f=activation: f(v).sum())
        compiled = torch.compile(total, backend="aot_eager", fullgraph=True)
        torch.testing.assert_close(compiled(x), activation.slope(x))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64], ids=str)
@pytest.mark.parametrize("name", ["squareplus", "softsign", "gelu_sigmoid", "Phi"])
def test_exports_in_other_formats(name: str, dtype: torch.dtype) -> None:
    activation = sg.activations()[name]
    x = torch.tensor([-math.inf, -3e4, -50.0, -1.5, 0.0, 2.0, 3e4, math.inf], dtype=dtype)
    found = exported(activation, x)
    assert found.dtype == dtype
    torch.testing.assert_close(found, activation(x), rtol=4 * torch.finfo(dtype).eps, atol=1e-7)


@pytest.mark.parametrize(
    ("name", "dynamo"),
    [
        *((n, False) for n in ("log_sigmoid", "Phi", "squareplus", "softsign", "gelu_sigmoid")),
        *((name, True) for name in ("log_sigmoid", "squareplus")),
    ],
)
def test_onnx_keeps_limits(name: str, dynamo: bool) -> None:
    activation, x = sg.activations()[name], infinities_and_more()

    class Model(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            result: Tensor = activation(x)
            return result

    with warnings.catch_warnings():  # whatever the exporters have to say of themselves
        warnings.simplefilter("ignore")
        if dynamo:
            program: Any = torch.onnx.export(Model(), (torch.ones(x.shape),), verbose=False)
            written = program.model_proto.SerializeToString()
        else:
            stored = BytesIO()
            torch.onnx.export(Model(), (torch.ones(x.shape),), stored, dynamo=False)
            written = stored.getvalue()
    session = onnxruntime.InferenceSession(written, providers=["CPUExecutionProvider"])
    (found,) = session.run(None, {session.get_inputs()[0].name: x})
    assert np.allclose(found, activation(x), rtol=2e-5, atol=1e-6)


def test_explain_says_which_form() -> None:
    said = {
        "gelu": "torch's own operator, no number at -inf",
        "relu": "torch's own operator, on cpu",
        "squareplus": "the kernel's formula in torch operators",
        "gelu_sigmoid": "the definition in torch operators, its limits kept",
    }
    x = torch.ones(3).to_sparse()
    for name, words in said.items():
        assert sg.explain(x, name).computed_by.startswith(words)
