"""Users' formulas of two operands on torch tensors: as gated functions, and as arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch
from gated_tensors import EACH_DTYPE, sample
from test_torch import as_numpy, bits
from torch import Tensor

import softgate as sg
from softgate.frameworks.torch.operators import bind
from softgate.runtime.activation import Activation

# torch itself still uses, in forward mode and in inductor, what it deprecates.
pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")


@sg.activation
def my_gate(f: Any, gate: Any, up: Any, limit: float = 0.7) -> Any:
    """Return silu(gate) times up, which is at most `limit`."""
    return gate * f.sigmoid(gate) * f.minimum(up, limit)


@sg.activation
def bump(f: Any, a: Any, b: Any) -> Any:
    return f.exp(-(a * a) - b * b) * f.tanh(a - b)


@sg.activation(fast=True)
def steep(f: Any, x: Any, y: Any, k: float = 3.0) -> Any:
    return f.sigmoid(k * (x - y)) * f.where(x > y, x, 2 * y)


FORMULAS = [my_gate, bump, steep]
EACH = pytest.mark.parametrize("function", FORMULAS, ids=lambda f: f.name)


@pytest.fixture(autouse=True)
def dynamo_as_found() -> Iterator[None]:
    """Leave dynamo's caches as they were."""
    yield
    torch._dynamo.reset()


def same_bits(result: Tensor, expected: Any) -> bool:
    return np.array_equal(bits(as_numpy(result)), bits(expected))


@EACH_DTYPE
@EACH
def test_tensors_have_the_bits_of_arrays(function: Activation, dtype: torch.dtype) -> None:
    a, b, grad = (sample(40, 26, seed=seed, dtype=dtype) for seed in range(3))
    arrays = [as_numpy(x) for x in (a, b, grad)]
    pairs = [(function(a, b), function(*arrays[:2]))]
    pairs += zip(function.slope(a, b), function.slope(*arrays[:2]), strict=True)
    pairs += zip(function.curvature(a, b), function.curvature(*arrays[:2]), strict=True)
    pairs += zip(function.backward(a, b, grad), function.backward(*arrays), strict=True)
    pairs += [(function(a[::2, 1:], b[::2, 1:]), function(*(x[::2, 1:] for x in arrays[:2])))]
    half, array = grad[:20], arrays[2][:20]
    pairs += [(function(a, axis=0), function(arrays[0], axis=0))]
    pairs += [(function.slope(a, axis=0), function.slope(arrays[0], axis=0))]
    pairs += [(function.backward(a, half, axis=0), function.backward(arrays[0], array, axis=0))]
    for result, expected in pairs:
        assert result.dtype == dtype
        assert result.shape == expected.shape
        assert same_bits(result, expected)


@EACH_DTYPE
@EACH
def test_gradients_have_the_bits_of_arrays(function: Activation, dtype: torch.dtype) -> None:
    a, b = (sample(30, 8, seed=seed, dtype=dtype, requires_grad=True) for seed in (0, 1))
    grad = sample(30, 8, seed=2, dtype=dtype)
    for _ in range(2):  # the first call finds no kernel in the table
        a.grad = b.grad = None
        function(a, b).backward(grad)
        expected = function.backward(*(as_numpy(x) for x in (a, b, grad)))
        assert same_bits(a.grad, expected[0])
        assert same_bits(b.grad, expected[1])
    for frozen in (0, 1):
        operands = [a.detach(), b.detach()]
        leaf = operands[1 - frozen].requires_grad_()
        function(*operands).backward(grad)
        assert operands[frozen].grad is None
        assert same_bits(leaf.grad, expected[1 - frozen])
    x = sample(30, 16, seed=3, dtype=dtype, requires_grad=True)
    function(x).backward(grad)
    assert same_bits(x.grad, function.backward(as_numpy(x), as_numpy(grad)))


@EACH
def test_derivatives_of_every_order(function: Activation) -> None:
    a, b, grad = (sample(3, 2, seed=seed, requires_grad=True) for seed in range(3))
    x = sample(2, 6, seed=4, requires_grad=True)
    for inputs in ((a, b), (x,)):
        assert torch.autograd.gradcheck(function, inputs, check_forward_ad=True)
        assert torch.autograd.gradgradcheck(function, inputs)
    for call, inputs in (
        (function.backward, (a, b, grad)),
        (function.slope, (a, b)),
        (function.curvature, (a, b)),  # its derivatives are third ones, in torch's operators
    ):
        assert torch.autograd.gradcheck(call, inputs, check_forward_ad=True)
    assert torch.autograd.gradgradcheck(function.backward, (a, b, grad))


@EACH
def test_functorch(function: Activation) -> None:
    a, b = sample(7), sample(7, seed=1)
    slopes, bend = function.slope(a, b), function.curvature(a, b)

    def total(a: Tensor, b: Tensor) -> Tensor:
        result: Tensor = function(a, b).sum()
        return result

    for i in (0, 1):
        torch.testing.assert_close(torch.func.grad(total, i)(a, b), slopes[i])
        each = torch.func.vmap(torch.func.grad(function, i))(a, b)
        torch.testing.assert_close(each, slopes[i])
        tangents = (torch.ones_like(a) * (i == 0), torch.ones_like(a) * (i == 1))
        torch.testing.assert_close(torch.func.jvp(function, (a, b), tangents)[1], slopes[i])
    hessian = torch.func.hessian(total, (0, 1))(a, b)
    expected = ((bend.first, bend.mixed), (bend.mixed, bend.second))
    for i in (0, 1):
        for j in (0, 1):
            torch.testing.assert_close(hessian[i][j], torch.diag(expected[i][j]))
    rows = torch.func.vmap(function, (0, None))(torch.stack([a, b]), b)
    torch.testing.assert_close(rows, torch.stack([function(a, b), function(b, b)]))


@EACH
def test_derivatives_in_torch_operators(function: Activation) -> None:
    """As other devices, functionalize and torch without operators of ours compute them."""
    forms, (a, b) = bind(function, None, {}).forms, (sample(7), sample(7, seed=1))

    def value(a: Tensor, b: Tensor) -> Tensor:
        return forms((0, 0), a, b)

    torch.testing.assert_close(value(a, b), function(a, b))
    for i, j in ((0, 0), (0, 1), (1, 0), (1, 1)):
        along = torch.func.grad(torch.func.grad(value, i), j)
        bend = function.curvature(a, b)
        torch.testing.assert_close(torch.func.vmap(along)(a, b), bend[i + j])
        tangents = (torch.ones_like(a) * (j == 0), torch.ones_like(a) * (j == 1))
        change = torch.func.jvp(lambda a, b, i=i: forms((1 - i, i), a, b), (a, b), tangents)[1]
        torch.testing.assert_close(change, bend[i + j])


CALLS: dict[str, tuple[Callable[..., Tensor], tuple[Tensor, ...]]] = {
    "two": (my_gate, (sample(5, 6), sample(5, 6, seed=1))),
    "halves": (steep, (sample(5, 6),)),
    "broadcast": (bump, (sample(5, 1), sample(6, seed=1))),
    "parameters": (lambda a, b: steep(a, b, k=0.5), (sample(5), sample(5, seed=1))),
    "slopes": (lambda a, b: sum(my_gate.slope(a, b)), (sample(5), sample(5, seed=1))),
    "backward": (
        lambda a, b: sum(bump.backward(a, b, a)),
        (sample(5), sample(5, seed=1)),
    ),
}


@pytest.mark.parametrize(
    ("name", "backend"),
    [*((name, "aot_eager") for name in CALLS), ("two", "inductor"), ("halves", "inductor")],
)
def test_compiled(name: str, backend: str) -> None:
    function, inputs = CALLS[name]
    leaves = [x.clone().requires_grad_() for x in inputs]
    result = torch.compile(function, backend=backend, fullgraph=True)(*leaves)
    expected = function(*leaves)
    torch.testing.assert_close(result, expected, rtol=1e-15, atol=1e-15)
    grad = sample(*expected.shape, seed=9)
    torch.testing.assert_close(*(torch.autograd.grad(y, leaves, grad) for y in (result, expected)))


class Model(torch.nn.Module):
    """A function as an exporter wants it."""

    def __init__(self, function: Activation) -> None:
        super().__init__()
        self.function = function

    def forward(self, a: Tensor, b: Tensor) -> Tensor:
        result: Tensor = self.function(a, b)
        return result


@EACH
def test_export_and_other_devices(function: Activation) -> None:
    a, b = sample(5, dtype=torch.float32), sample(5, seed=1, dtype=torch.float32)
    a[0] = torch.nan
    b[1] = torch.nan
    program = torch.export.export(Model(function), (a, b))
    used = {str(node.target) for node in program.graph.nodes if node.op == "call_function"}
    assert all("softgate" not in name for name in used)
    near = {"rtol": 2e-5, "atol": 1e-6, "equal_nan": True}
    torch.testing.assert_close(program.module()(a, b), function(a, b), **near)
    traced = torch.jit.trace(function, (a, b), check_trace=False)
    torch.testing.assert_close(traced(b, a), function(b, a), **near)
    device = torch.device("meta")
    assert function(a.to(device), b.to(device)).device == device
    functional = torch.func.functionalize(lambda a, b: function.backward(a, b, a))(a, b)
    torch.testing.assert_close(functional, function.backward(a, b, a), **near)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda x: my_gate(), TypeError, r"with 0 operands: expected my_gate\(gate, up\)"),
        (lambda x: my_gate(x, x, x), TypeError, "with 3 operands"),
        (lambda x: my_gate(x, x[:3]), RuntimeError, "must match the size"),
        (lambda x: my_gate(x[:3]), ValueError, "the odd length 3"),
        (lambda x: my_gate(x, x, axis=0), TypeError, "axis = 0 with two operands"),
        (lambda x: my_gate(x, x, gate="second"), TypeError, "no parameter 'gate'"),
        (lambda x: my_gate(x, x, out=x), TypeError, "out= is for arrays"),
        (lambda x: my_gate(x, np.ones(4)), TypeError, "beside a tensor: expected two tensors"),
        (lambda x: my_gate(x.to(torch.float8_e5m2)), TypeError, "functions of two have no tables"),
        (lambda x: my_gate(x.cfloat(), x), TypeError, "torch.complex"),
        (lambda x: my_gate.backward(x, x, x.float()), TypeError, "convert one of them"),
    ],
)
def test_errors_are_one_line(
    call: Callable[[Tensor], Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message) as raised:
        call(sample(4))
    assert "\n" not in str(raised.value)


def test_explain() -> None:
    x = torch.ones(3, 4)
    assert "my_gate of float32[3, 4]: the float64 kernel" in str(sg.explain((x, x), my_gate))
    sparse = x.to_sparse()
    assert "the definition in torch operators" in str(sg.explain((sparse, sparse), my_gate))
    assert "fused by torch.compile" in str(sg.explain((x, x), my_gate, compiled=True))
