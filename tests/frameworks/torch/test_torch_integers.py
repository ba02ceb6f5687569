"""Integer and boolean tensors: what torch returns where it accepts them, else floats."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as theirs
from torch import Tensor, nn

import softgate as sg
import softgate.torch.functional as F
from softgate.runtime.activation import Activation

INTEGERS = [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64]
DTYPES = [torch.bool, *INTEGERS]
LIMITS = {"relu": (0, 2**63 - 1), "relu6": (0, 6), "hard_tanh": (-1, 1)}
"""The limits of the functions whose results are integers."""
ARGUMENTS: dict[str, tuple[Any, ...]] = {"threshold": (1, 2), "prelu": (torch.tensor([0.2]),)}


def integers(dtype: torch.dtype) -> Tensor:
    """Return small and large integers, without those at which torch's own softsign overflows."""
    if dtype is torch.bool:
        return torch.tensor([False, True])
    signed = dtype.is_signed
    largest = torch.iinfo(dtype).max - 1
    return torch.tensor([-100, -3, -1, 0, 1, 2, 7, largest] if signed else [0, 1, 7, 254]).to(dtype)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", [n for n in F._FUNCTIONS if not n.endswith("_")])
def test_integers_as_in_torch(name: str, dtype: torch.dtype) -> None:
    """Where torch returns something, so does softgate, in the same format."""
    function = getattr(theirs, name, None) or getattr(torch, name, None)
    x = integers(dtype)
    arguments = (x,) if name == "clamped_swiglu" else ARGUMENTS.get(name, ())
    try:
        expected = function(x, *arguments)
    except (RuntimeError, NotImplementedError, TypeError):
        if name not in ARGUMENTS and (name, dtype) != ("hardtanh", torch.uint8):
            assert getattr(F, name)(x, *arguments).dtype == torch.float32
        return
    result = getattr(F, name)(x, *arguments)
    assert result.dtype == expected.dtype
    torch.testing.assert_close(result, expected, rtol=1e-6, atol=1e-7)


def test_what_torch_accepts() -> None:
    """The list above is not empty by mistake."""
    accepted = {"relu", "relu6", "hardtanh", "sigmoid", "tanh", "softsign", "tanhshrink"}
    for name in accepted:
        function = getattr(theirs, name, None) or getattr(torch, name)
        torch.testing.assert_close(
            getattr(F, name)(torch.arange(-3, 9)), function(torch.arange(-3, 9))
        )


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_integers_of_every_activation(activation: Activation, dtype: torch.dtype) -> None:
    if (activation.name, dtype) == ("hard_tanh", torch.uint8):
        pytest.skip("torch's hardtanh refuses unsigned integers below a negative limit")
    x = integers(dtype)
    saved = activation.name in LIMITS and dtype is not torch.bool
    result = activation(x)
    assert result.dtype == (dtype if saved else torch.float32)
    if saved:  # float64 has too few digits for the largest int64
        low, high = LIMITS[activation.name]
        assert result.tolist() == [min(max(value, low), high) for value in x.tolist()]
    else:
        wide = activation(x.numpy().astype(np.float64))
        expected = torch.from_numpy(wide).to(result.dtype)  # exp(127) overflows in float32
        torch.testing.assert_close(result, expected, rtol=1e-5, atol=1e-6)
    assert activation.slope(x).dtype == activation.backward(x, x).dtype == torch.float32


@pytest.mark.parametrize("name", list(sg.gated()))
def test_integers_of_gated_functions(name: str) -> None:
    function, x = sg.gated()[name], torch.arange(-3, 3)
    assert torch.equal(function(x), function(x.float()))
    assert torch.equal(function(x, x), function(x.float(), x.float()))
    assert torch.equal(function(x, 0.5), function(x.float(), 0.5))
    assert torch.equal(function(x, x.double()), function(x.double(), x.double()))
    assert torch.equal(function.slope(x), function.slope(x.float()))


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("gelu", sg.gelu),
        ("gelu", sg.gelu.slope),
        ("gelu", lambda x: sg.gelu.backward(x, x)),
        ("swiglu", sg.swiglu),
        ("swiglu", lambda x: sg.swiglu.backward(x, x, x)),
        ("swish", lambda x: F.swish(x, torch.tensor(1.0))),
    ],
)
def test_complex_numbers_raise_and_integers_are_accepted(name: str, call: Any) -> None:
    expected = f"^{name} of a torch.complex64 tensor: expected float16, .*integers and booleans"
    with pytest.raises(TypeError, match=expected):
        call(torch.ones(4, dtype=torch.complex64))


@pytest.mark.parametrize(
    "name", ["rrelu_", "hardtanh_", "hardswish_", "hard_swish_", "leaky_relu_", "elu_"]
)
def test_errors_of_writing_in_place_name_the_function_called(name: str) -> None:
    base = name.removesuffix("_")
    calls: list[Any] = [getattr(F, name)]
    if base in F._FUNCTIONS:
        calls.append(lambda x: getattr(F, base)(x, inplace=True))
    for call in calls:
        with pytest.raises((TypeError, RuntimeError), match=rf"^{name} of a .* = {base}\(x\)"):
            call(torch.tensor([True, False]))
        leaf = torch.ones(3, requires_grad=True)
        with pytest.raises(RuntimeError, match=rf"^{name} .* = {base}\(x\)"):
            call(leaf)


def test_the_default_format_is_torchs() -> None:
    x = torch.arange(3)
    torch.set_default_dtype(torch.float64)
    try:
        assert sg.gelu(x).dtype == sg.swiglu(x, x).dtype == torch.float64
        assert F.sigmoid(x).dtype == F.swish(x, torch.tensor(2.0)).dtype == torch.float64
    finally:
        torch.set_default_dtype(torch.float32)


@pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")
@pytest.mark.parametrize("name", ["relu", "hardtanh", "sigmoid", "gelu"])
def test_integers_under_transformations(name: str) -> None:
    function, x = getattr(F, name), torch.arange(-4, 8).reshape(3, 4)
    expected = function(x)
    compiled = torch.compile(function, backend="aot_eager", fullgraph=True)
    for result in (
        compiled(x),
        torch.func.vmap(function)(x),
        torch.jit.trace(function, x)(x),
        torch.export.export(Wrapped(function), (x,)).module()(x),
    ):
        torch.testing.assert_close(result, expected)
    torch._dynamo.reset()
    weight = torch.ones(3, 4, requires_grad=True)
    (grad,) = torch.autograd.grad((function(x) * weight).sum(), weight)
    assert torch.equal(grad, expected.to(grad.dtype))


class Wrapped(nn.Module):
    def __init__(self, function: Any) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Tensor) -> Any:
        return self.function(x)


@pytest.mark.parametrize("name", ["ReLU", "ReLU6", "Hardtanh", "Sigmoid", "Tanh", "Softsign"])
def test_integers_of_modules(name: str) -> None:
    x = torch.arange(-3, 9)
    result, expected = getattr(sg.torch, name)()(x), getattr(nn, name)()(x)
    assert result.dtype == expected.dtype
    torch.testing.assert_close(result, expected)


def test_integers_in_place() -> None:
    x = torch.arange(-3, 3)
    assert F.relu_(x) is x
    assert x.tolist() == [0, 0, 0, 0, 1, 2]
    assert F.relu(x.neg_(), inplace=True) is x
    assert x.tolist() == [0] * 6
    with pytest.raises(TypeError, match="does not fit"):
        F.sigmoid_(x)


@pytest.mark.parametrize("limits", [(0.0, 0.0), (2.0, 2.0)], ids=str)
def test_hardtanh_of_equal_limits(limits: tuple[float, float]) -> None:
    x = torch.tensor([-1.0, 0.0, 3.0, float("nan")], requires_grad=True)
    result, expected = F.hardtanh(x, *limits), theirs.hardtanh(x, *limits)
    torch.testing.assert_close(result, expected, equal_nan=True)
    torch.testing.assert_close(
        torch.autograd.grad(result.sum(), x), torch.autograd.grad(expected.sum(), x)
    )
    overwritten = F.hardtanh_(x.detach().clone(), *limits)
    torch.testing.assert_close(overwritten, expected.detach(), equal_nan=True)
