"""torch.fx.symbolic_trace of softgate's functions: one call each, the same bits."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import softgate as sg
import softgate.torch.functional as F

ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "prelu": (torch.tensor([0.2]),),
    "threshold": (0.1, 2.0),
    "clamped_swiglu": (torch.linspace(-9, 9, 24).reshape(6, 4),),
}
ARGUMENTS["threshold_"] = ARGUMENTS["threshold"]
FUNCTIONS = {
    **{name: getattr(F, name) for name in F._FUNCTIONS},
    **{name: getattr(F, name) for name in ("relu_", "elu_", "leaky_relu_")},
    **{f"sg.{name}": function for name, function in sg.activations().items()},
    **{f"sg.{name}": function for name, function in sg.gated().items()},
}


def check_trace(function: Callable[[Tensor], Any], calls: int = 1) -> torch.fx.GraphModule:
    """Trace, run, trace again; check the bits and the number of calls."""
    traced = torch.fx.symbolic_trace(function)
    again = torch.fx.symbolic_trace(traced)
    assert again.code == traced.code
    assert "call_module" not in {node.op for node in traced.graph.nodes}
    recorded = [node for node in traced.graph.nodes if node.op == "call_function"]
    assert len(recorded) == calls
    x = torch.randn(6, 4, generator=torch.Generator().manual_seed(0))
    for graph in (traced, again):
        result, expected = graph(x.clone()), function(x.clone())
        torch.testing.assert_close(result, expected, rtol=0, atol=0)
    return traced


@pytest.mark.parametrize("name", FUNCTIONS)
def test_each_function_is_one_call(name: str) -> None:
    function = FUNCTIONS[name]  # held as `from softgate.torch.functional import …` holds it
    traced = check_trace(lambda x: function(x, *ARGUMENTS.get(name, ())))
    assert f"softgate_{name.removeprefix('sg.')}(" in traced.code.replace("torch_functional_", "")


def test_arguments_are_recorded() -> None:
    traced = check_trace(lambda x: F.gelu(x, approximate="tanh"))
    assert "softgate_torch_functional_gelu(x, approximate = 'tanh')" in traced.code
    traced = check_trace(lambda x: sg.leaky_relu(x, slope=0.2))
    assert "softgate_leaky_relu(x, slope = 0.2)" in traced.code
    traced = check_trace(lambda x: sg.leaky_relu.bind(slope=0.3)(x * 1), calls=2)
    assert "slope = 0.3)" in traced.code
    traced = check_trace(lambda x: sg.swiglu(x, axis=0, gate="second", beta=2.0))
    assert "beta = 2.0, axis = 0, gate = 'second'" in traced.code
    check_trace(lambda x: F.relu(input=x, inplace=False))
    check_trace(lambda x: F.elu_(x, alpha=2.0))


def test_derivatives_are_recorded() -> None:
    check_trace(lambda x: sg.leaky_relu.slope(x, slope=0.2))
    check_trace(lambda x: sg.gelu.backward(x, x))
    check_trace(lambda x: sg.swiglu.backward(x, x, x))


def with_constants(function: Callable[..., Any], before: Any, after: Any) -> Any:
    return lambda x: function(*before, x, *after)


@pytest.mark.parametrize("name", sg.gated())
def test_a_proxy_beside_a_constant_is_recorded(name: str) -> None:
    """In every position: of the value, of the derivatives, and as `grad`."""
    function = sg.gated()[name]
    constant = torch.linspace(-3, 3, 24).reshape(6, 4)
    for method in (function, function.slope, function.curvature):
        for other in (constant, 0.5):
            check_trace(with_constants(method, (other,), ()))
            check_trace(with_constants(method, (), (other,)))
    for place in range(3):
        before, after = (constant,) * place, (constant,) * (2 - place)
        check_trace(with_constants(function.backward, before, after))
    check_trace(with_constants(function.backward, (constant.repeat(1, 2),), ()))


def test_a_proxy_is_recorded_as_grad_and_as_an_argument() -> None:
    wide = torch.linspace(-3, 3, 24).reshape(6, 4)
    check_trace(lambda x: sg.gelu.backward(wide, x))
    check_trace(lambda x: sg.gelu.backward(x, wide))
    traced = check_trace(lambda x: F.swish(wide, x[0, 0]), calls=2)
    assert "softgate_torch_functional_swish(" in traced.code
    traced = check_trace(lambda x: F.swish(wide, beta=x[0, 0]), calls=2)
    assert "softgate_torch_functional_swish(" in traced.code


def test_a_list_beside_a_proxy_is_recorded() -> None:
    traced = torch.fx.symbolic_trace(lambda x: sg.swiglu([0.5, 2.0], x))
    assert "softgate_swiglu([0.5, 2.0], x)" in traced.code


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)

    # torch.fx cannot pickle annotations that are text, as all are in this file
    def forward(self, x):  # type: ignore[no-untyped-def]
        hidden = self.linear(x)
        return F.gelu(hidden) + sg.mish(hidden) + sg.swiglu(hidden, x) + F.squared_relu(x)


def test_traced_models_are_pickled_and_trained() -> None:
    model = Model()
    traced = torch.fx.symbolic_trace(model)
    restored = pickle.loads(pickle.dumps(traced))
    x = torch.randn(3, 4)
    for graph in (traced, restored):
        assert torch.equal(graph(x), model(x))
        graph(x).sum().backward()
    torch.testing.assert_close(restored.linear.weight.grad, model.linear.weight.grad)
