"""Gated activations on torch tensors: derivatives, compilers and exporters."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import onnxruntime
import pytest
import torch
from gated_tensors import EACH, sample
from torch import Tensor
from torch.autograd import forward_ad
from torch.utils._python_dispatch import TorchDispatchMode

import softgate as sg
from softgate.runtime.activation import Activation

# torch itself still uses, in forward mode and in inductor, what it deprecates.
pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")


@pytest.fixture(autouse=True)
def dynamo_as_found() -> Iterator[None]:
    """Leave dynamo's caches as they were."""
    yield
    torch._dynamo.reset()


class Count(TorchDispatchMode):
    """Counts what is dispatched inside."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.names.append(str(func))
        return func(*args, **(kwargs or {}))


@EACH
def test_first_and_second_derivatives(function: Activation) -> None:
    def bends(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
        result = function.curvature(a, b)
        return result.first + result.second, result.mixed  # the one that is 0 has no derivative

    a, b, grad = (sample(3, 2, seed=seed, requires_grad=True) for seed in range(3))
    x = sample(2, 6, seed=4, requires_grad=True)
    for inputs in ((a, b), (x,)):
        assert torch.autograd.gradcheck(function, inputs, check_forward_ad=True)
        assert torch.autograd.gradgradcheck(function, inputs)
    for call, inputs in (
        (function.backward, (a, b, grad)),
        (function.slope, (a, b)),
        (function.slope, (x,)),
        (bends, (a, b)),
    ):
        assert torch.autograd.gradcheck(call, inputs, check_forward_ad=True)
    assert torch.autograd.gradgradcheck(function.backward, (a, b, grad))


@EACH
def test_functorch(function: Activation) -> None:
    a, b = sample(7), sample(7, seed=1)
    slopes, bend = function.slope(a, b), function.curvature(a, b)
    near = {"rtol": 1e-12, "atol": 1e-12}

    def total(a: Tensor, b: Tensor) -> Tensor:
        result: Tensor = function(a, b).sum()
        return result

    for i in (0, 1):
        torch.testing.assert_close(torch.func.grad(total, i)(a, b), slopes[i], **near)
        each = torch.func.vmap(torch.func.grad(function, i))(a, b)
        torch.testing.assert_close(each, slopes[i], **near)
        tangents = (torch.ones_like(a) * (i == 0), torch.ones_like(a) * (i == 1))
        along = torch.func.jvp(function, (a, b), tangents)[1]
        torch.testing.assert_close(along, slopes[i], **near)
    hessian = torch.func.hessian(total, (0, 1))(a, b)
    expected = ((bend.first, bend.mixed), (bend.mixed, bend.second))
    for i in (0, 1):
        for j in (0, 1):
            torch.testing.assert_close(hessian[i][j], torch.diag(expected[i][j]), **near)
    one_batched = torch.func.vmap(function, (0, None))(torch.stack([a, b]), b)
    torch.testing.assert_close(one_batched, torch.stack([function(a, b), function(b, b)]))
    torch.testing.assert_close(
        torch.func.vmap(function, 1)(torch.stack([a, b], 1)[:6]),
        torch.stack([function(a[:6]), function(b[:6])]),
    )


def test_forward_mode_without_functorch() -> None:
    a, b = sample(5), sample(5, seed=1)
    with forward_ad.dual_level():
        dual = sg.swiglu(forward_ad.make_dual(a, torch.ones_like(a)), b)
        tangent = forward_ad.unpack_dual(dual).tangent
    torch.testing.assert_close(tangent, sg.swiglu.slope(a, b)[0])


def test_batched_gradients() -> None:
    a, b = sample(4, requires_grad=True), sample(4, seed=1, requires_grad=True)
    eye = torch.eye(4, dtype=a.dtype)
    rows = torch.autograd.grad(sg.geglu(a, b), (a, b), eye, is_grads_batched=True)
    for row, slope in zip(rows, sg.geglu.slope(a.detach(), b.detach()), strict=True):
        torch.testing.assert_close(row, torch.diag(slope))


COMPILED: dict[str, tuple[Callable[..., Tensor], tuple[Tensor, ...]]] = {
    "two": (sg.swiglu, (sample(5, 6), sample(5, 6, seed=1))),
    "halves": (sg.glu, (sample(5, 6),)),
    "broadcast": (sg.geglu, (sample(5, 1), sample(6, seed=1))),
    "parameters": (lambda a, b: sg.swiglu(a, b, beta=2.5), (sample(5), sample(5, seed=1))),
    "bound": (sg.swiglu.bind(beta=0.5, gate="second"), (sample(5), sample(5, seed=1))),
    "strided": (lambda a, b: sg.reglu(a.t()[:, ::2], b), (sample(8, 6), sample(6, 4, seed=1))),
    "number": (lambda a: sg.geglu_tanh(a, 3.0), (sample(5, 6),)),
    "slopes": (lambda a, b: sum(sg.swiglu.slope(a, b)), (sample(5), sample(5, seed=1))),
}


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("name", COMPILED)
def test_compile_without_a_break(name: str, backend: str) -> None:
    compile_agrees(*COMPILED[name], backend)


def test_compile_with_inductor() -> None:
    function = lambda a, b: 2 * sg.swiglu(a.t()[:, ::2] + 1, b)  # noqa: E731
    compile_agrees(function, (sample(8, 6), sample(6, 4, seed=1)), "inductor")


def compile_agrees(function: Any, inputs: tuple[Tensor, ...], backend: str) -> None:
    leaves = [x.clone().requires_grad_() for x in inputs]
    compiled = torch.compile(function, backend=backend, fullgraph=True)
    results, expected = compiled(*leaves), function(*leaves)
    torch.testing.assert_close(results, expected, rtol=1e-15, atol=1e-15)
    grad = sample(*expected.shape, seed=9)
    grads = [torch.autograd.grad(y, leaves, grad) for y in (results, expected)]
    torch.testing.assert_close(*grads)


@pytest.mark.parametrize("strided", [False, True], ids=["dense", "strided"])
def test_torchs_own_checks_of_operators(strided: bool) -> None:
    def made(seed: int) -> Tensor:
        x = sample(8, 6, seed=seed)
        return (x.t()[:, ::2] if strided else x).detach().requires_grad_()

    rest, (a, b, grad) = ("swiglu", [1.0], ""), map(made, range(3))
    evaluated = ("swiglu", [1, 0], [1.0], "")
    torch.library.opcheck(torch.ops.softgate.evaluate_two.default, (a, b, *evaluated))
    torch.library.opcheck(torch.ops.softgate.backward_two.default, (a, b, grad, *rest))
    torch.library.opcheck(torch.ops.softgate.evaluate.default, (a, "gelu", [0], [], ""))
    torch.library.opcheck(torch.ops.softgate.backward.default, (a, grad, "gelu", [], ""))


def test_compiled_functorch_is_right() -> None:
    total = torch.func.grad(lambda a, b: sg.swiglu(a, b).sum() + sg.glu(a, b).sum(), (0, 1))
    compiled = torch.compile(total, backend="aot_eager", fullgraph=True)
    a, b = sample(5), sample(5, seed=1)
    torch.testing.assert_close(compiled(a, b), total(a, b))


def test_what_is_compiled_is_the_kernel() -> None:
    seen: list[str] = []

    def backend(module: torch.fx.GraphModule, inputs: Any) -> Any:
        seen.extend(str(node.target) for node in module.graph.nodes)
        return module.forward

    torch.compile(sg.swiglu, backend=backend, fullgraph=True)(sample(5), sample(5, seed=1))
    assert "softgate.evaluate_two" in seen
    assert not any("mul" in name for name in seen)


class Model(torch.nn.Module):
    """A gated function as an exporter wants it."""

    def __init__(self, function: Activation) -> None:
        super().__init__()
        self.function = function

    def forward(self, a: Tensor, b: Tensor) -> Tensor:
        result: Tensor = self.function(a, b)
        return result


@EACH
def test_export_needs_no_softgate_to_run(function: Activation) -> None:
    a, b = sample(5, dtype=torch.float32), sample(5, seed=1, dtype=torch.float32)
    program = torch.export.export(Model(function), (a, b))
    used = {str(node.target) for node in program.graph.nodes if node.op == "call_function"}
    assert all("softgate" not in name for name in used)
    torch.testing.assert_close(program.module()(a, b), function(a, b), rtol=2e-5, atol=1e-6)


def test_onnx_runs_what_is_exported() -> None:
    a, b = sample(5, dtype=torch.float32), sample(5, seed=1, dtype=torch.float32)
    with warnings.catch_warnings():  # whatever the exporter has to say of itself
        warnings.simplefilter("ignore")
        program = torch.onnx.export(Model(sg.swiglu), (a, b), dynamo=True, verbose=False)
    session = onnxruntime.InferenceSession(
        program.model_proto.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    names = [argument.name for argument in session.get_inputs()]
    (result,) = session.run(None, dict(zip(names, (a.numpy(), b.numpy()), strict=True)))
    assert np.allclose(result, sg.swiglu(a, b), rtol=1e-5, atol=1e-6)


def test_jit_trace() -> None:
    a, b = sample(5), sample(5, seed=1)
    traced = torch.jit.trace(sg.geglu, (a, b))
    torch.testing.assert_close(traced(a + 1, b), sg.geglu(a + 1, b))
    halves = torch.jit.trace(lambda x: sg.glu(x, axis=0), sample(4, 3))
    torch.testing.assert_close(halves(sample(8, 3)), sg.glu(sample(8, 3), axis=0))


def test_modes_see_the_operator() -> None:
    with Count() as seen:
        sg.swiglu(sample(4), sample(4, seed=1))
    assert any("softgate.evaluate_two" in name for name in seen.names)
