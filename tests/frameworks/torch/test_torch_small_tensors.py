"""Small tensors: operators with compiled kernels, which decline what they cannot compute."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch._subclasses import FakeTensorMode
from torch.autograd import forward_ad
from torch.utils._python_dispatch import TorchDispatchMode

import softgate as sg
from softgate.frameworks.torch import evaluate, small_tensors
from softgate.frameworks.torch.operators import bind

Tensor = torch.Tensor
DTYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


def value(x: Tensor) -> Tensor | None:
    """The operator's result for gelu, or None."""
    bound = bind(sg.gelu, None, {})
    if x.dtype in DTYPES:
        bound.runner("value", x.dtype)
    return small_tensors.operators.get().unary(x, bound.tables["value"].address)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_same_bits_as_the_general_path(dtype: torch.dtype) -> None:
    x = torch.linspace(-9, 9, 101, dtype=torch.float64).to(dtype)
    result = value(x)
    assert result is not None
    assert torch.equal(result, bind(sg.gelu, None, {}).compute("value", x))
    assert result.stride() == x.stride()
    assert value(x.reshape(101, 1, 1)) is not None


class Recorder(TorchDispatchMode):
    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        assert "small" not in str(func)
        return func(*args, **(kwargs or {}))


def in_dispatch_mode(x: Tensor) -> Any:
    with Recorder():
        return value(x)


def fake(x: Tensor) -> Any:
    with FakeTensorMode():
        return value(torch.empty(4))


def in_vmap(x: Tensor) -> Any:
    results: list[Any] = []
    torch.vmap(lambda row: (results.append(value(row)), row)[1])(x.reshape(4, -1))
    return results[0]


def in_functorch_grad(x: Tensor) -> Any:
    results: list[Any] = []
    torch.func.grad(lambda v: (results.append(value(v)), v.sum())[1])(x)
    return results[0]


def in_autocast(x: Tensor) -> Any:
    with torch.autocast("cpu"):
        return value(x)


def traced(x: Tensor) -> Any:
    results: list[Any] = []
    torch.jit.trace(lambda v: (results.append(value(v)), v + 1)[1], x, check_trace=False)
    return results[0]


def nested(x: Tensor) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return value(torch.nested.nested_tensor([x, x]))


def freed(x: Tensor) -> Any:
    x = x.clone()
    x.untyped_storage().resize_(0)
    return value(x)


@pytest.mark.filterwarnings("ignore:`torch.jit.trace` is deprecated")
@pytest.mark.parametrize(
    "call",
    [
        in_dispatch_mode, fake, in_vmap, in_functorch_grad, in_autocast, traced, nested, freed,
        pytest.param(lambda x: value(torch._neg_view(x)), id="negated"),
        pytest.param(lambda x: value(x.to("meta")), id="meta"),
        pytest.param(lambda x: value(x.to_sparse()), id="sparse"),
        pytest.param(lambda x: value(torch._efficientzerotensor(4)), id="zerotensor"),
        pytest.param(lambda x: value(x[::2]), id="strided"),
        pytest.param(lambda x: value(x.int()), id="integers"),
        pytest.param(lambda x: value(x[:0]), id="empty"),
        pytest.param(lambda x: value(torch.zeros(1 << 14)), id="large"),
    ],
)  # fmt: skip
def test_declines(call: Callable[[Tensor], Any]) -> None:
    x = torch.linspace(-2, 2, 16)
    assert value(x) is not None
    assert call(x) is None


def test_autograd_hooks_and_double_backward() -> None:
    for name in ("gelu", "tanh"):  # saves the input, saves the value
        function = sg.activations()[name]
        x = torch.linspace(-3, 3, 16, dtype=torch.float64, requires_grad=True)
        for _ in range(2):  # the first call finds no kernel in the table
            assert torch.autograd.gradcheck(function, x)
            assert torch.autograd.gradgradcheck(function, x)
        with torch.autograd.graph.saved_tensors_hooks(Tensor.float, lambda packed: packed):
            y = function(x)
        y.sum().backward()  # a hook changed the dtype of what was saved
        assert x.grad is not None
        assert torch.allclose(x.grad, function.slope(x.detach()), atol=1e-6)


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated")
def test_forward_mode_keeps_tangents() -> None:
    x = torch.linspace(-2, 2, 8)
    sg.gelu(x)
    with forward_ad.dual_level():
        result = sg.gelu(forward_ad.make_dual(x, torch.ones(8)))
        tangent = forward_ad.unpack_dual(result).tangent
    assert tangent is not None
    assert torch.equal(tangent, sg.gelu.slope(x))


def test_gated_operands_of_another_shape_broadcast() -> None:
    a, b = torch.randn(2, 3, 1), torch.randn(1, 3, 2)
    for _ in range(2):
        assert sg.swiglu(a, b).shape == (2, 3, 2)
    assert torch.equal(sg.swiglu(a, a), torch.from_numpy(sg.swiglu(a.numpy(), a.numpy())))


def test_results_of_many_threads_during_the_first_calls() -> None:
    @sg.activation
    def steep(f: Any, x: Any) -> Any:
        return f.tanh(3 * x)

    inputs = [torch.linspace(-1, 1, 50, dtype=torch.float64).to(dtype) for dtype in DTYPES]
    wrong: list[torch.dtype] = []

    def work() -> None:
        pairs = ((steep(x), evaluate(steep, "value", x)) for x in inputs * 50)
        wrong.extend(y.dtype for y, expected in pairs if not torch.equal(y, expected))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_explain_names_the_path() -> None:
    assert sg.explain(torch.zeros(64)).computed_by == "the float32 kernel, called by libtorch"
    assert sg.explain(torch.zeros(1 << 14)).computed_by == "the float32 kernel"


def test_without_the_c_abi(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(small_tensors, "_library", lambda: None)
    monkeypatch.setattr(small_tensors, "_registered", small_tensors._registered.__wrapped__)
    none = replace(small_tensors.operators)
    assert none.get().unary is none.get().binary is small_tensors.decline
    assert "there is no aoti_torch_delete_tensor_object" in none.reason
    monkeypatch.setattr(small_tensors, "operators", none)
    assert f", called by Python ({none})" in str(sg.explain(torch.zeros(64)))

    @sg.activation
    def steeper(f: Any, x: Any) -> Any:
        return f.tanh(5 * x)

    x = torch.linspace(-1, 1, 9, requires_grad=True)
    for _ in range(2):
        y = steeper(x)
        y.sum().backward()
    assert np.array_equal(y.detach().numpy(), steeper(x.detach().numpy()))
    assert x.grad is not None
    assert torch.equal(x.grad / 2, steeper.slope(x.detach()))
