"""Gated activations on torch tensors: the kernels' bits, whatever the operands' strides."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import numpy as np
import pytest
import torch
from gated_tensors import EACH, EACH_DTYPE, sample
from test_torch import as_numpy, bits
from torch import Tensor

import softgate as sg
import softgate.torch.functional as F
from softgate.frameworks.torch import openmp
from softgate.runtime.activation import Activation


@pytest.fixture(autouse=True)
def threads_as_found() -> Iterator[None]:
    """Leave torch's threads as they were."""
    threads = torch.get_num_threads()
    yield
    torch.set_num_threads(threads)


def product(function: Activation, a: Tensor, b: Tensor) -> Tensor:
    """What a gated function means, from the functions of its operands and torch's own product."""
    gate, other = (a, b) if function.position(None) == "first" else (b, a)
    assert function.gate_activation is not None
    result: Tensor = function.gate_activation(gate) * (function.factor or (lambda x: x))(other)
    return result


@EACH_DTYPE
@EACH
def test_tensors_have_the_bits_of_arrays(function: Activation, dtype: torch.dtype) -> None:
    a, b, grad = (sample(40, 25, seed=seed, dtype=dtype) for seed in range(3))
    arrays = [as_numpy(x) for x in (a, b, grad)]
    pairs = [(function(a, b), function(*arrays[:2]))]
    pairs += zip(function.slope(a, b), function.slope(*arrays[:2]), strict=True)
    pairs += zip(function.curvature(a, b), function.curvature(*arrays[:2]), strict=True)
    pairs += zip(function.backward(a, b, grad), function.backward(*arrays), strict=True)
    half = grad[:20]
    pairs += [(function(a, axis=0), function(arrays[0], axis=0))]
    pairs += [(function.slope(a, axis=0), function.slope(arrays[0], axis=0))]
    pairs += [
        (function.backward(a, half, axis=0), function.backward(arrays[0], arrays[2][:20], axis=0))
    ]
    for pair, expected in pairs:
        assert pair.dtype == dtype
        assert pair.shape == expected.shape
        assert np.array_equal(bits(as_numpy(pair)), bits(expected))


@EACH_DTYPE
@EACH
def test_gradients_have_the_bits_of_arrays(function: Activation, dtype: torch.dtype) -> None:
    a, b = (sample(30, 8, seed=seed, dtype=dtype, requires_grad=True) for seed in (0, 1))
    grad = sample(30, 8, seed=2, dtype=dtype)
    function(a, b).backward(grad)
    for x, expected in zip(
        (a, b), function.backward(*(as_numpy(x) for x in (a, b, grad))), strict=True
    ):
        assert np.array_equal(bits(as_numpy(x.grad)), bits(expected))
    x = sample(30, 16, seed=3, dtype=dtype, requires_grad=True)
    function(x).backward(grad)
    expected = function.backward(as_numpy(x), as_numpy(grad))
    assert np.array_equal(bits(as_numpy(x.grad)), bits(expected))


VIEWS: dict[str, Callable[[Tensor], Tensor]] = {
    "contiguous": lambda x: x,
    "steps": lambda x: x[::2],
    "transposed": lambda x: x.t(),
    "columns": lambda x: x[:, 3:9],
    "half": lambda x: x.chunk(2, -1)[1],
    "few columns": lambda x: x[:, 3:5],
    "expanded": lambda x: x[:1].expand(20, -1),
    "permuted": lambda x: x.reshape(4, 5, 4, 5).permute(2, 0, 3, 1),
    "channels last": lambda x: x.reshape(5, 4, 4, 5).to(memory_format=torch.channels_last),
    "empty": lambda x: x[:0],
    "scalar": lambda x: x[0, 0],
    "negated": lambda x: torch.complex(x, x).conj().imag,
}


LAYOUTS: dict[str, Callable[[Tensor], Tensor]] = {
    "the same view": lambda x: x,
    "dense": lambda x: x.clone(memory_format=torch.contiguous_format),
    "turned": lambda x: x.t().contiguous().t() if x.dim() == 2 else x,
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("view", VIEWS)
def test_any_strides(view: str, layout: str) -> None:
    base = [sample(20, 20, seed=seed) for seed in range(3)]
    a = VIEWS[view](base[0]).detach()
    b = LAYOUTS[layout](VIEWS[view](base[1])).detach()
    a.requires_grad_()
    b.requires_grad_()
    y = sg.swiglu(a, b)
    dense = [x.detach().clone(memory_format=torch.contiguous_format) for x in (a, b)]
    expected = sg.swiglu(*dense)
    assert y.shape == a.shape
    assert torch.equal(y, expected)
    grad = VIEWS[view](base[2]).detach()
    gradient = torch.autograd.grad(y, (a, b), grad)
    again = sg.swiglu.backward(*dense, grad.clone(memory_format=torch.contiguous_format))
    for first, other in zip(gradient, again, strict=True):
        assert torch.equal(first, other)


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -3])
@pytest.mark.parametrize("view", ["contiguous", "permuted", "negated", "empty"])
def test_halves_of_any_strides(view: str, axis: int) -> None:
    base, weight = sample(4, 6, 8), sample(4, 6, 8, seed=1)
    view_of: Callable[[Tensor], Tensor] = {
        "contiguous": lambda x: x,
        "permuted": lambda x: x.permute(2, 0, 1),
        "negated": lambda x: torch.complex(x, x).conj().imag,
        "empty": lambda x: x[:, :0],
    }[view]
    x = view_of(base).detach().requires_grad_()
    grad = view_of(weight).chunk(2, axis)[0]
    y = sg.glu(x, axis=axis)
    torch.testing.assert_close(y, torch.nn.functional.glu(x, axis))
    (gradient,) = torch.autograd.grad(y, x, grad)
    (expected,) = torch.autograd.grad(torch.nn.functional.glu(x, axis), x, grad)
    torch.testing.assert_close(gradient, expected)
    (of_sum,) = torch.autograd.grad(sg.glu(x, axis=axis).sum(), x)  # one element in memory for all
    torch.testing.assert_close(of_sum, sg.glu.slope(x.detach(), axis=axis))


@EACH
def test_operands_broadcast(function: Activation) -> None:
    a, b = sample(5, 1, requires_grad=True), sample(6, seed=1, requires_grad=True)
    results, expected = function(a, b), product(function, a, b)
    torch.testing.assert_close(results, expected)
    grad = sample(5, 6, seed=2)
    torch.testing.assert_close(
        torch.autograd.grad(results, (a, b), grad), torch.autograd.grad(expected, (a, b), grad)
    )
    for item, shape in zip(function.backward(a, b, grad[None]), [(1, 5, 6)] * 2, strict=True):
        assert item.shape == shape


@pytest.mark.parametrize(
    "kinds", [("float32", "bfloat16"), ("float16", "bfloat16"), ("float64", "float32")]
)
def test_formats_mix_as_in_a_product(kinds: tuple[str, str]) -> None:
    a, b = (sample(6, seed=i, dtype=getattr(torch, kinds[i]), requires_grad=True) for i in (0, 1))
    for first, other in ((a, b), (b, a)):
        y = sg.swiglu(first, other)
        assert y.dtype == (first * other).dtype
        y.sum().backward()
        assert first.grad is not None
        assert first.grad.dtype == first.dtype


def test_numbers_beside_tensors() -> None:
    x = sample(5)
    assert torch.equal(sg.swiglu(x, 2.0), sg.swiglu(x, torch.full_like(x, 2)))
    assert torch.equal(sg.swiglu(2, x), sg.swiglu(torch.full_like(x, 2), x))
    assert sg.swiglu(x.float(), 2.0).dtype == torch.float32


def test_autocast_does_as_a_product_does() -> None:
    low, x = sample(4, dtype=torch.bfloat16), sample(4, dtype=torch.float32)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        for a, b in ((low, low), (low, x), (x, x)):
            assert sg.swiglu(a, b).dtype == (torch.nn.functional.silu(a) * b).dtype


def test_only_the_operands_are_kept() -> None:
    saved: list[int] = []

    def pack(tensor: Tensor) -> Tensor:
        saved.append(tensor.data_ptr())
        return tensor

    a, b = sample(50, requires_grad=True), sample(50, seed=1, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        sg.swiglu(a, b)
        assert saved == [a.data_ptr(), b.data_ptr()]
        saved.clear()
        sg.swiglu(a)
        assert saved == [a.data_ptr()]


@pytest.mark.parametrize("frozen", [0, 1])
@EACH
def test_what_is_frozen_gets_no_gradient(function: Activation, frozen: int) -> None:
    operands = [sample(6), sample(6, seed=1)]
    expected = function.slope(*operands)
    operands[1 - frozen].requires_grad_()
    function(*operands).sum().backward()
    assert operands[frozen].grad is None
    torch.testing.assert_close(operands[1 - frozen].grad, expected[1 - frozen])


def test_an_overwritten_operand_is_noticed() -> None:
    a, b = sample(6, requires_grad=True) * 1, sample(6, seed=1)
    y = sg.swiglu(a, b)
    b.zero_()
    with pytest.raises(RuntimeError, match="inplace"):
        y.sum().backward()


def test_other_devices_use_torch() -> None:
    a = torch.ones(3, 4, device="meta", requires_grad=True)
    assert sg.swiglu(a, a).device.type == "meta"
    assert sg.glu(a).shape == (3, 2)
    sparse = torch.eye(3).to_sparse()
    assert torch.equal(sg.reglu(sparse, sparse).to_dense(), torch.eye(3))


def test_inference_and_no_grad() -> None:
    a = sample(4, requires_grad=True)
    with torch.no_grad():
        assert not sg.swiglu(a, a).requires_grad
    with torch.inference_mode():
        assert sg.swiglu(a, a).is_inference()


def test_parameters_that_are_tiny() -> None:
    """16-bit tensors then take the float64 kernel."""
    a, b = (sample(6, seed=i, dtype=torch.bfloat16, requires_grad=True) for i in (0, 1))
    y = sg.swiglu(a, b, beta=1e-35)
    y.sum().backward()
    expected = (a.detach().double() * 0.5 * b.detach().double()).bfloat16()
    assert torch.equal(y, expected)
    assert torch.equal(b.grad, (a.detach() * 0.5))


def test_arithmetic_in_float64() -> None:
    a, b = (sample(100, seed=i, dtype=torch.float32, requires_grad=True) for i in (0, 1))
    fine = sg.geglu(a, b, arithmetic="float64")
    expected = sg.geglu(a.detach().double(), b.detach().double()).float()
    assert torch.equal(fine, expected)
    fine.sum().backward()
    assert a.grad is not None
    with pytest.raises(ValueError, match="arithmetic"):
        sg.geglu(a, b, arithmetic="float16")


def test_wrong_arguments() -> None:
    x = sample(4, 4)
    for wrong, error, messages in (
        (lambda: sg.swiglu(x, x, out=x), TypeError, "out="),
        (lambda: sg.swiglu.slope(x, x, out=(x, x)), TypeError, "out="),
        (lambda: sg.swiglu(x, x, axis=0), TypeError, "axis"),
        (lambda: sg.swiglu(x, axis=2), ValueError, "out of range"),
        (lambda: sg.swiglu(x, axis=0.5), TypeError, "whole number"),
        (lambda: sg.swiglu(x[:3], axis=0), ValueError, "even"),
        (lambda: sg.swiglu(x, np.ones(4)), TypeError, "two tensors"),
        (lambda: sg.swiglu(x, x, gamma=1.0), TypeError, "no parameter"),
        (lambda: sg.swiglu(x, x, gate="third"), ValueError, 'expected "first", "second"'),
        (lambda: sg.swiglu(x.cfloat(), x), TypeError, "torch.complex"),
        (lambda: sg.swiglu.backward(x, x, x.float()), TypeError, "convert"),
        (lambda: sg.swiglu.backward(x, x, np.ones(4)), TypeError, "expected a tensor"),
        (lambda: sg.swiglu.backward(x, x), ValueError, "grad has shape"),
        (lambda: sg.swiglu(x, x[:3]), RuntimeError, "size"),
    ):
        with pytest.raises(error, match=messages):
            wrong()


def test_threads_change_nothing() -> None:
    x, grad = sample(300, 2048, dtype=torch.float32), sample(300, 1024, dtype=torch.float32)
    results = []
    for threads in (1, 2, 5):
        torch.set_num_threads(threads)
        a, b = x.chunk(2, -1)
        pair = (a.contiguous(), b.contiguous())
        values = (sg.swiglu(x), sg.swiglu(*pair), sg.swiglu(a, pair[1]))
        results.append((*values, sg.swiglu.backward(x, grad), *sg.swiglu.backward(*pair, grad)))
    for others in results[1:]:
        assert all(
            torch.equal(result, other) for result, other in zip(results[0], others, strict=True)
        )
    assert torch.equal(results[0][0], results[0][1])
    assert torch.equal(results[0][0], results[0][2])


def test_rows_on_softgates_own_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a forked child, where OpenMP's threads are gone."""
    x, grad = sample(300, 2048, dtype=torch.float32), sample(300, 1024, dtype=torch.float32)
    expected = sg.swiglu(x), sg.swiglu.backward(x, grad)
    monkeypatch.setattr(openmp, "_openmp", lambda: None)
    torch.set_num_threads(4)
    assert torch.equal(sg.swiglu(x), expected[0])
    assert torch.equal(sg.swiglu.backward(x, grad), expected[1])


@pytest.mark.parametrize("shape", [(600_000,), (3, 200_000), (200_000, 3, 1)])
def test_few_rows_are_shared_out_too(shape: tuple[int, ...]) -> None:
    x = sample(*shape, dtype=torch.float32)
    axis = 0 if len(shape) == 3 else -1
    torch.set_num_threads(2)
    a, b = (half.contiguous() for half in x.chunk(2, axis))
    assert torch.equal(sg.geglu(x, axis=axis), sg.geglu(a, b))


def test_many_python_threads() -> None:
    x = sample(40, 1000, requires_grad=True)
    expected = sg.geglu(x.detach())
    slope = sg.geglu.slope(x.detach())
    wrong: list[int] = []

    def work() -> None:
        for i in range(20):
            y = sg.geglu(x)
            (grad,) = torch.autograd.grad(y.sum(), x)
            if not torch.equal(y, expected) or not torch.equal(grad, slope):
                wrong.append(i)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_explain() -> None:
    x = torch.ones(300, 400)
    for argument, keywords, messages in (
        ((x, x), {}, "the float32 kernel; input not copied; up to 2 threads"),
        (x, {}, "the float32 kernel; input not copied, row by row"),
        (x.t(), {}, "input not copied;"),
        (x.t(), {"axis": 0}, "copied first"),
        (x[:, :2], {}, "copied first"),
        (x.bfloat16(), {"quantity": "backward"}, "float32 kernel, rounded once to bfloat16"),
        ((x.to_sparse(), x.to_sparse()), {}, "silu in torch operators, times"),
    ):
        torch.set_num_threads(2)
        assert messages in str(sg.explain(argument, "swiglu", **keywords))


def test_clamped_swiglu_has_torchs_arguments() -> None:
    gate, up = (sample(64, seed=seed) * 4 for seed in (4, 5))
    for limit, alpha in ((7.0, 1.702), (3.0, 1.0)):
        g, u = gate.clamp(max=limit), up.clamp(-limit, limit)
        written = g * torch.sigmoid(alpha * g) * (u + 1)
        torch.testing.assert_close(F.clamped_swiglu(gate, up, limit, alpha), written)
    with pytest.raises(ValueError, match=r"limit = 0\.0 is out of range"):
        F.clamped_swiglu(gate, up, limit=0.0)
