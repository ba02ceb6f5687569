"""Activations on torch tensors: the kernels' bits, derivatives wherever torch can ask for them."""

from __future__ import annotations

import copy
import io
import pickle
import threading
from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import torch
from torch.autograd import forward_ad

import softgate as sg
import softgate.torch.functional as F
from softgate.runtime.activation import Activation

# torch itself still uses, in forward mode and in inductor, what it deprecates.
pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")

DTYPES = {
    torch.float16: np.float16,
    torch.bfloat16: ml_dtypes.bfloat16,
    torch.float32: np.float32,
    torch.float64: np.float64,
}
SMOOTH = [-2.3, -1.1, -0.4, 0.3, 0.9, 1.7, 3.6]
"""Points at none of which any activation of the catalogue has a kink."""


@pytest.fixture(autouse=True)
def torch_as_found() -> Iterator[None]:
    """Leave torch's threads, dynamo's caches and its random numbers as they were."""
    threads = torch.get_num_threads()
    state = torch.random.get_rng_state()
    yield
    torch.set_num_threads(threads)
    torch.random.set_rng_state(state)
    torch._dynamo.reset()  # its limit on compilations of one function counts over all tests


def as_numpy(x: torch.Tensor) -> Any:
    """The same bits as an array, bfloat16 included."""
    x = x.detach().contiguous()
    if x.dtype == torch.bfloat16:
        return x.view(torch.int16).numpy().view(ml_dtypes.bfloat16)
    return x.numpy()


def points(**options: Any) -> torch.Tensor:
    return torch.tensor(SMOOTH, dtype=torch.float64, **options)


def bits(x: Any) -> Any:
    return np.ascontiguousarray(x).view(f"u{x.dtype.itemsize}")


@pytest.mark.parametrize("dtype", list(DTYPES), ids=str)
@pytest.mark.parametrize("quantity", ["value", "slope", "curvature"])
def test_tensors_have_the_bits_of_arrays(
    activation: Activation, quantity: str, dtype: torch.dtype
) -> None:
    x = (torch.randn(1000, generator=torch.Generator().manual_seed(1)) * 4).to(dtype)
    method = activation if quantity == "value" else getattr(activation, quantity)
    result = method(x)
    assert result.dtype == dtype
    assert np.array_equal(bits(as_numpy(result)), bits(method(as_numpy(x))))


def test_first_and_second_derivatives(activation: Activation) -> None:
    x = points(requires_grad=True)
    assert torch.autograd.gradcheck(activation, (x,), check_forward_ad=True)
    assert torch.autograd.gradgradcheck(activation, (x,))


def test_functorch(activation: Activation) -> None:
    x = points()
    slope, curvature = activation.slope(x), activation.curvature(x)

    def total(v: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = activation(v).sum()
        return result

    near = {"rtol": 1e-12, "atol": 1e-12}
    torch.testing.assert_close(torch.func.grad(total)(x), slope, **near)
    torch.testing.assert_close(torch.func.vmap(torch.func.grad(activation))(x), slope, **near)
    _, along = torch.func.jvp(activation, (x,), (torch.ones_like(x),))
    torch.testing.assert_close(along, slope, **near)
    torch.testing.assert_close(torch.func.hessian(total)(x), torch.diag(curvature), **near)
    torch.testing.assert_close(torch.func.vmap(activation)(x[:, None])[:, 0], activation(x))


def test_third_derivatives_are_there() -> None:
    x = points()
    third = torch.func.vmap(torch.func.grad(torch.func.grad(torch.func.grad(sg.gelu))))(x)
    expected = (x**3 - 4 * x) * torch.exp(-x * x / 2) / np.sqrt(2 * np.pi)
    torch.testing.assert_close(third, expected, rtol=1e-10, atol=1e-12)


def test_forward_mode_without_functorch() -> None:
    x = points()
    with forward_ad.dual_level():
        y = forward_ad.unpack_dual(sg.silu(forward_ad.make_dual(x, torch.ones_like(x))))
        torch.testing.assert_close(y.tangent, sg.silu.slope(x))


def test_batched_gradients() -> None:
    x = points(requires_grad=True)
    eye = torch.eye(x.numel(), dtype=x.dtype)
    for function in (sg.gelu, sg.tanh):
        (rows,) = torch.autograd.grad(function(x), x, eye, is_grads_batched=True)
        torch.testing.assert_close(rows, torch.diag(function.slope(x.detach())))


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("name", ["gelu", "tanh", "squareplus", "leaky_relu"])
def test_compile_without_a_break(name: str, backend: str) -> None:
    activation = sg.activations()[name]
    x = points(requires_grad=True)
    compiled = torch.compile(activation, backend=backend, fullgraph=True)
    y = compiled(x)
    torch.testing.assert_close(y, activation(x), rtol=0, atol=0)
    (grad,) = torch.autograd.grad(y.sum(), x)
    torch.testing.assert_close(grad, activation.slope(x.detach()))


def test_compile_with_inductor() -> None:
    layer = torch.nn.Sequential(torch.nn.Linear(8, 16), sg.torch.GELU(), torch.nn.Linear(16, 4))
    x = torch.randn(5, 8)
    compiled = torch.compile(layer, fullgraph=True)
    torch.testing.assert_close(compiled(x), layer(x))
    compiled(x).sum().backward()
    grads = [p.grad.clone() for p in layer.parameters()]
    layer.zero_grad()
    layer(x).sum().backward()
    for grad, p in zip(grads, layer.parameters(), strict=True):
        torch.testing.assert_close(grad, p.grad)


def test_compile_with_inductor_strides_and_in_place() -> None:
    """The strides of operands and of the result are those that the compiler expects."""

    def layer(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return 2 * sg.gelu(x.t()[:, ::2]), sg.torch.functional.relu_(sg.gelu(y) * 2)

    x = torch.randn(8, 6, dtype=torch.float64)
    y = torch.randn(6, 8).t()[::2]
    torch.testing.assert_close(torch.compile(layer, fullgraph=True)(x, y), layer(x, y))


@pytest.mark.parametrize("name", ["gelu", "gelu_sigmoid", "elu"])
def test_compiled_functorch_is_right(name: str) -> None:
    activation, x = sg.activations()[name], points()
    total = torch.func.grad(lambda v: activation(v).sum())
    compiled = torch.compile(total, backend="aot_eager", fullgraph=True)
    torch.testing.assert_close(compiled(x), activation.slope(x))


def test_compiled_functorch_keeps_functions_apart() -> None:
    def total(v: torch.Tensor) -> torch.Tensor:
        two = 2 * sg.elu(v, alpha=0.3) + sg.elu(v, alpha=2.0)
        result: torch.Tensor = two + sg.silu(v, beta=3.0)
        return result.sum()

    x = points()
    compiled = torch.compile(torch.func.grad(total), backend="aot_eager", fullgraph=True)
    torch.testing.assert_close(compiled(x), torch.func.grad(total)(x))


def test_export_needs_no_softgate_to_run(activation: Activation) -> None:
    class Model(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            result: torch.Tensor = activation(x)
            return result

    x = points().float()
    program = torch.export.export(Model(), (x,))
    used = {str(node.target) for node in program.graph.nodes if node.op == "call_function"}
    assert all("softgate" not in name for name in used)
    torch.testing.assert_close(program.module()(x), activation(x), rtol=2e-5, atol=1e-6)


def test_jit_trace() -> None:
    x = points()
    traced = torch.jit.trace(sg.gelu_sigmoid, x)
    torch.testing.assert_close(traced(x + 1), sg.gelu_sigmoid(x + 1))


def test_expanded_gradients_are_not_misread() -> None:
    x = torch.randn(40, 30, requires_grad=True)
    sg.gelu(x).sum().backward()  # its gradient has one element in memory
    expected = sg.gelu.slope(x.detach())
    torch.testing.assert_close(x.grad, expected, rtol=0, atol=1e-7)


@pytest.mark.parametrize(
    "view",
    [
        lambda x: x[::2],
        lambda x: x.t(),
        lambda x: x[:, 3:7],
        lambda x: x[:1].expand(9, -1),
        lambda x: x.reshape(4, 5, 4, 5).permute(2, 0, 3, 1),
        lambda x: x.reshape(5, 4, 4, 5).to(memory_format=torch.channels_last),
        lambda x: x[:0],
        lambda x: x[0, 0],
        lambda x: torch.complex(x, x).conj().imag,
    ],
)
@pytest.mark.parametrize("name", ["gelu", "sigmoid"])
def test_any_strides(view: Any, name: str) -> None:
    activation = sg.activations()[name]
    base = torch.randn(20, 20, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    x = view(base).detach().requires_grad_()
    y = activation(x)
    assert y.shape == x.shape
    torch.testing.assert_close(y, activation(x.detach().contiguous().clone()), rtol=0, atol=0)
    grad = view(torch.randn(20, 20, dtype=torch.float64)).detach()
    (back,) = torch.autograd.grad(y, x, grad)
    torch.testing.assert_close(back, activation.slope(x.detach().clone()) * grad)


def test_dense_memory_formats_are_kept() -> None:
    x = torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last)
    assert sg.gelu(x).stride() == x.stride()


def test_in_place_refuses_leaves(activation: Activation) -> None:
    if activation.name == "threshold":
        pytest.skip("torch's threshold_ has no default parameters")
    leaf = points(requires_grad=True)
    with pytest.raises(RuntimeError, match="leaf"):
        getattr(F, f"{activation.name}_")(leaf)
    assert torch.equal(leaf.detach(), points())


def test_in_place_is_seen_by_autograd() -> None:
    x = points(requires_grad=True)
    hidden = x * 1
    y = hidden * hidden
    with torch.no_grad():
        F.gelu_(hidden)
    with pytest.raises(RuntimeError, match="inplace"):
        y.sum().backward()


def test_in_place_parameters_and_strides() -> None:
    x = points()
    torch.testing.assert_close(F.elu_(x.clone(), alpha=0.5), sg.elu(x, alpha=0.5))
    wide = torch.randn(6, 6)
    expected = sg.gelu(wide[:, ::2].clone())
    F.gelu_(wide[:, ::2])
    torch.testing.assert_close(wide[:, ::2], expected)
    with pytest.raises(RuntimeError):
        F.relu_(torch.randn(3, 1).expand(3, 4))


def test_autocast_leaves_the_format() -> None:
    x = torch.randn(8)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert sg.gelu(x).dtype == torch.nn.functional.gelu(x).dtype == torch.float32
        hidden = torch.nn.Linear(8, 8)(x)
        assert sg.gelu(hidden).dtype == torch.nn.functional.gelu(hidden).dtype == torch.bfloat16


def test_inference_and_no_grad() -> None:
    x = torch.randn(8, requires_grad=True)
    with torch.no_grad():
        assert not sg.gelu(x).requires_grad
    with torch.inference_mode():
        assert sg.gelu(x).is_inference()
        assert torch.equal(sg.gelu(torch.ones(3)), sg.gelu(torch.ones(3)))


@pytest.mark.parametrize(
    "wrong", [torch.ones(2, dtype=dtype) for dtype in (torch.float8_e8m0fnu, torch.complex64)]
)
def test_wrong_dtypes_are_named(wrong: torch.Tensor) -> None:
    with pytest.raises(TypeError, match=str(wrong.dtype)):
        sg.gelu(wrong)
    with pytest.raises(TypeError, match=str(wrong.dtype)):
        F.gelu_(wrong)


def test_wrong_arguments() -> None:
    x = torch.ones(3)
    with pytest.raises(TypeError, match="out="):
        sg.gelu(x, out=x)
    with pytest.raises(TypeError, match="no parameter"):
        sg.gelu(x, alpha=1.0)
    with pytest.raises(TypeError, match="expected two tensors"):
        sg.gelu.backward(x, np.ones(3))
    with pytest.raises(ValueError, match="expected one of"):
        F.gelu(x, approximate="erf")
    with pytest.raises(AttributeError):
        F.gleu_  # noqa: B018
    with pytest.raises(AttributeError):
        F.swiglu_  # noqa: B018
    assert F.swiglu is sg.swiglu


def test_backward_is_differentiable() -> None:
    x, grad = points(requires_grad=True), points(requires_grad=True)
    assert torch.autograd.gradcheck(sg.mish.backward, (x, grad))


def test_other_devices_use_torch() -> None:
    x = torch.ones(3, device="meta", requires_grad=True)
    assert sg.gelu(x).device.type == "meta"
    assert sg.squareplus(x).shape == (3,)
    assert "torch" in sg.explain(torch.ones(3).to_sparse(), "gelu").computed_by


def test_explain_says_which_way() -> None:
    x = torch.ones(4, 3)
    assert "float32 kernel" in sg.explain(x).computed_by
    assert "input not copied" in str(sg.explain(x))
    assert "copied first" in str(sg.explain(x[:, ::2]))


def test_threads_as_torch_has_them() -> None:
    x = torch.randn(300_000)
    results = []
    for threads in (1, 2, 5):
        torch.set_num_threads(threads)
        results.append(sg.gelu(x))
        assert sg.explain(x).threads == threads
    assert all(torch.equal(results[0], other) for other in results)


def test_many_python_threads() -> None:
    x = torch.randn(5000, requires_grad=True)
    expected = sg.gelu(x.detach())
    wrong: list[int] = []

    def work() -> None:
        for i in range(50):
            y = sg.gelu(x)
            (grad,) = torch.autograd.grad(y.sum(), x)
            if not torch.equal(y, expected) or grad.shape != x.shape:
                wrong.append(i)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_parameters_and_arithmetic() -> None:
    x = torch.randn(100, requires_grad=True)
    torch.testing.assert_close(
        sg.leaky_relu(x, slope=0.3), torch.nn.functional.leaky_relu(x, 0.3), rtol=1e-6, atol=0
    )
    fine = sg.gelu(x, arithmetic="float64")
    torch.testing.assert_close(fine, sg.gelu(x.detach().double()).float(), rtol=0, atol=0)
    fine.sum().backward()
    assert x.grad is not None


def test_bound_activations_and_pickles() -> None:
    steep = sg.leaky_relu.bind(slope=0.3)
    x = points(requires_grad=True)
    torch.testing.assert_close(steep(x), sg.leaky_relu(x, slope=0.3))
    assert torch.autograd.gradgradcheck(steep, (x,))
    module = sg.torch.Activation("squareplus", b=1.0)
    again = pickle.loads(pickle.dumps(module))
    assert torch.equal(again(x), module(x))
    assert repr(again) == repr(module)


MODULES = [
    ("GELU", {}), ("GELU", {"approximate": "tanh"}), ("ReLU", {}), ("ReLU", {"inplace": True}),
    ("ReLU6", {}), ("LeakyReLU", {"negative_slope": 0.2}), ("ELU", {"alpha": 0.7}), ("CELU", {}),
    ("SELU", {}), ("SiLU", {}), ("Mish", {}), ("Sigmoid", {}), ("Tanh", {}), ("Softplus", {}),
    ("Softplus", {"beta": 2.0}), ("Softsign", {}), ("Tanhshrink", {}), ("Softshrink", {}),
    ("Hardshrink", {"lambd": 0.25}), ("Hardtanh", {"min_val": -2.0, "max_val": 0.5}),
    ("GLU", {"dim": 0}), ("Hardsigmoid", {}), ("Hardswish", {}), ("LogSigmoid", {}),
    ("Identity", {}), ("PReLU", {}), ("PReLU", {"num_parameters": 7, "init": 0.1}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "arguments"), MODULES, ids=str)
def test_modules_are_torchs_twins(name: str, arguments: dict[str, Any]) -> None:
    ours, theirs = (getattr(nn, name)(**arguments) for nn in (sg.torch, torch.nn))
    assert isinstance(ours, type(theirs))
    assert repr(ours) == repr(theirs)
    x = points().float().reshape(1, -1).expand(2, -1).clone().requires_grad_()
    mine, its = ours(x * 1), theirs(x * 1)
    torch.testing.assert_close(mine, its)
    grads = [torch.autograd.grad(y.sum(), x)[0] for y in (mine, its)]
    torch.testing.assert_close(*grads)
    ours.load_state_dict(theirs.state_dict())
    theirs.load_state_dict(ours.state_dict())
    for clone in (pickle.loads(pickle.dumps(ours)), copy.deepcopy(ours)):
        torch.testing.assert_close(clone(x * 1), mine)
    stored = io.BytesIO()
    torch.save(ours.state_dict(), stored)
    stored.seek(0)
    ours.load_state_dict(torch.load(stored, weights_only=True))


def test_gelu_module_has_a_third_form() -> None:
    x = points()
    torch.testing.assert_close(sg.torch.GELU("sigmoid")(x), sg.gelu_sigmoid(x))
    with pytest.raises(ValueError, match="expected one of"):
        sg.torch.GELU("erf")


def test_a_learnable_beta_learns() -> None:
    swish = sg.torch.Swish(beta=0.5, learnable=True)
    x = torch.randn(256, generator=torch.Generator().manual_seed(3))
    target = sg.silu(x, beta=1.5)
    optimiser = torch.optim.Adam(swish.parameters(), lr=0.05)
    for _ in range(200):
        optimiser.zero_grad()
        loss = (swish(x) - target).square().mean()
        loss.backward()
        optimiser.step()
    assert swish.beta.item() == pytest.approx(1.5, abs=0.02)
    assert list(swish.state_dict()) == ["beta"]


@pytest.mark.parametrize(
    ("name", "made"),
    [
        ("gelu", "GELU(approximate='none')"),
        ("gelu_new", "GELU(approximate='tanh')"),
        ("quick_gelu", "GELU(approximate='sigmoid')"),
        ("hardswish", "Hardswish()"),
        ("swish", "SiLU()"),
        ("LeakyReLU", "LeakyReLU(negative_slope=0.01)"),
        ("relu2", "Activation(squared_relu)"),
    ],
)
def test_make_by_any_name(name: str, made: str) -> None:
    assert repr(sg.torch.make(name)) == made


def test_make_knows_the_whole_catalogue(activation: Activation) -> None:
    x = points()
    module = sg.torch.make(activation.name).eval()  # RReLU is random in training
    torch.testing.assert_close(module(x).detach(), activation(x))
    with pytest.raises(ValueError, match="gelu"):
        sg.torch.make("gleu")


@pytest.mark.parametrize("name", list(sg.gated()))
def test_gated_functions_of_tensors(name: str) -> None:
    function = sg.gated()[name]
    a, b = points(requires_grad=True), points(requires_grad=True).flip(0)
    together = torch.cat([a, b])
    expected = function(a.detach().numpy(), b.detach().numpy())
    assert np.allclose(function(a, b).detach().numpy(), expected, rtol=1e-14, atol=0)
    torch.testing.assert_close(function(together), function(a, b))
    torch.testing.assert_close(function(a, b, gate="first"), function(b, a, gate="second"))
    assert torch.autograd.gradcheck(function, (a, b))
    with pytest.raises(ValueError, match="even"):
        function(a)
    with pytest.raises(TypeError, match="axis"):
        function(a, b, axis=0)
