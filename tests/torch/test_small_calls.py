"""Arguments that torch's functions take, and lists of tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import torch.nn.functional as theirs  # noqa: E402

import softgate as sg  # noqa: E402
import softgate.torch  # noqa: E402
import softgate.torch.functional as F  # noqa: E402

X = torch.linspace(-2, 2, 9)


@pytest.mark.parametrize("parameter", [torch.tensor(0.5), torch.tensor([0.5]), torch.tensor(1)])
def test_a_tensor_with_one_element_is_a_number(parameter: Any) -> None:
    number = parameter.item()
    for found, wanted in (
        (sg.elu(X, alpha=parameter), sg.elu(X, alpha=number)),
        (sg.softplus(X, beta=parameter), sg.softplus(X, beta=number)),
        (F.elu(X, parameter), F.elu(X, number)),
        (F.celu(X, alpha=parameter), F.celu(X, alpha=number)),
        (sg.elu.bind(alpha=parameter)(X), sg.elu(X, alpha=number)),
        (softgate.torch.ELU(parameter)(X), sg.elu(X, alpha=number)),
    ):
        assert torch.equal(found, wanted)
    assert np.array_equal(sg.elu(X.numpy(), alpha=parameter), sg.elu(X.numpy(), alpha=number))
    if parameter.dim() == 0:
        assert torch.allclose(theirs.elu(X, alpha=parameter), F.elu(X, parameter))


def test_an_array_with_one_element_is_a_number() -> None:
    for array in (np.array(0.5), np.array([0.5]), np.float32([[0.5]])):
        assert torch.equal(sg.elu(X, alpha=array), sg.elu(X, alpha=0.5))
        assert torch.equal(F.celu(X, alpha=array), F.celu(X, alpha=0.5))
    with pytest.raises(TypeError, match="alpha"):
        sg.elu(X, alpha=np.array([True]))


def test_tensor_parameters_of_compiled_calls() -> None:
    """The graph ends where the parameter is read, and is compiled again for another number."""
    import torch._inductor.lowering  # with it loaded, operators are registered there, too

    torch._dynamo.reset()
    graphs: list[Any] = []

    def record(graph: Any, _: Any) -> Any:
        graphs.append(graph)
        return graph

    compiled = torch.compile(lambda x, a: sg.elu(2 * x, alpha=a) + 1, backend=record)
    counts = []
    for value in (0.5, 0.5, 0.75):
        found = compiled(X, torch.tensor(value))
        assert torch.equal(found, sg.elu(2 * X, alpha=value) + 1)
        counts.append(len(graphs))
    assert counts[0] == counts[1] < counts[2]


@pytest.mark.parametrize("value", [0.5, 1.0])  # 1 is the default
def test_the_gradient_of_a_parameter_is_not_dropped(value: float) -> None:
    alpha = torch.tensor(value, requires_grad=True)
    for call in (
        lambda: sg.elu(X, alpha=alpha),
        lambda: F.elu(X, alpha),
        lambda: F.softplus(X, beta=alpha),
        lambda: sg.elu(X.numpy(), alpha=alpha),
        lambda: theirs.elu(X, alpha=alpha),
    ):
        with pytest.raises(TypeError, match=r"alpha|beta"):
            call()
    with pytest.raises(TypeError, match="PReLU"):
        sg.leaky_relu(X, slope=alpha)
    with torch.no_grad():
        assert torch.equal(sg.elu(X, alpha=alpha), sg.elu(X, alpha=value))
    assert torch.equal(sg.elu(X, alpha=alpha.detach()), sg.elu(X, alpha=value))
    sg.prelu(X, slope=alpha).sum().backward()
    assert alpha.grad == -5


@pytest.mark.parametrize(
    "parameter", [torch.tensor([0.5, 0.5]), torch.tensor([]), torch.tensor(True)]
)
def test_other_tensors_are_no_parameters(parameter: Any) -> None:
    for call in (sg.elu, F.elu, F.celu, F.elu_, F.softplus):
        with pytest.raises(TypeError, match=r"alpha|beta"):
            call(X.clone(), **{"beta" if call is F.softplus else "alpha": parameter})


@pytest.mark.parametrize(
    "operand",
    [[X, X], (X, X), [[X], [X]], [torch.tensor(1.0), 2.0], [X.clone().requires_grad_()]],
    ids=str,
)
def test_lists_of_tensors_do_not_become_arrays(operand: Any) -> None:
    ones = np.ones(2)
    calls: tuple[Callable[[], Any], ...] = (
        lambda: sg.gelu(operand),
        lambda: sg.gelu.slope(operand),
        lambda: sg.gelu.backward(ones, operand),
        lambda: sg.swiglu(operand),
        lambda: sg.swiglu(operand, ones),
    )
    for call in calls:
        with pytest.raises(TypeError, match=r"torch\.stack"):
            call()


@pytest.mark.parametrize("lambd", [-1.0, float("nan")])
def test_softshrink_refuses_what_torchs_does(lambd: float) -> None:
    messages = []
    for call in (theirs.softshrink, F.softshrink):
        with pytest.raises(RuntimeError, match="lambd") as raised:
            call(X, lambd)
        messages.append(str(raised.value))
    assert messages[0] == messages[1]


INF = float("inf")
OUTSIDE = {
    "leaky_relu": [{"negative_slope": INF}, {"negative_slope": 1e39}],
    "elu": [{"alpha": INF}, {"alpha": -1e39}],
    "celu": [{"alpha": -1.0}, {"alpha": 0.0}, {"alpha": float("nan")}],
    "softplus": [{"beta": -1.0}, {"beta": INF}],
    "softshrink": [{"lambd": -1.0}, {"lambd": INF}],
    "hardshrink": [{"lambd": -1.0}, {"lambd": INF}, {"lambd": 1e39}],
    "hardtanh": [{"min_val": -INF}, {"max_val": INF}, {"max_val": 1e39}],
    "rrelu": [{"upper": 1e38}],
}
"""Numbers beyond the ranges of softgate's parameters."""


@pytest.mark.parametrize(
    ("name", "arguments"), [(name, one) for name, some in OUTSIDE.items() for one in some]
)
def test_numbers_outside_of_softgates_range_are_torchs(
    name: str, arguments: dict[str, float]
) -> None:
    """torch's results, or its errors; in place too, whose gradient is that of the result."""

    def outcome(function: Callable[..., Any]) -> Any:
        x = X.clone().requires_grad_()
        try:
            y = function(x * 1, **arguments)
            (grad,) = torch.autograd.grad(y.nan_to_num().sum(), x)
        except RuntimeError as error:
            return str(error)
        return str(y.detach()), str(grad)

    wanted = outcome(getattr(theirs, name))
    assert outcome(getattr(F, name)) == wanted
    assert outcome(getattr(F, f"{name}_")) == wanted


@pytest.mark.parametrize("training", [False, True])
def test_rrelu_refuses_what_torchs_does(training: bool) -> None:
    for call in (theirs.rrelu, F.rrelu, F.rrelu_):
        with pytest.raises(RuntimeError, match="bound"):
            call(X.clone(), 0.3, 0.1, training)
    assert torch.allclose(F.rrelu(X, 0.2, 0.2), theirs.rrelu(X, 0.2, 0.2))


def test_make_takes_the_sources_of_get() -> None:
    for name, source in (
        ("gelu", "jax"),
        ("gelu", "torch"),
        ("gelu_new", "transformers"),
        ("gelu_new", "huggingface"),
        ("leaky_relu", "tensorflow"),
        ("silu", "keras"),
        ("hardswish", "torch.nn.functional"),
    ):
        module, function = softgate.torch.make(name, source=source), sg.get(name, source=source)
        assert torch.equal(module(X), function(X)), (name, source)
    tanh = softgate.torch.make("gelu", source="torch", approximate="tanh")
    assert torch.equal(tanh(X), sg.gelu_tanh(X))
    assert isinstance(softgate.torch.make("prelu", source="torch"), torch.nn.PReLU)
    assert isinstance(softgate.torch.make("glu", source="torch"), torch.nn.GLU)
    for source in ("nosuch", "onnx"):
        with pytest.raises(ValueError, match=source):
            softgate.torch.make("gelu_new", source=source)
    with pytest.raises(TypeError, match="jax"):
        softgate.torch.make(sg.gelu, source="jax")
