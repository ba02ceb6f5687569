"""Tensors of every kind torch makes: no memory, other formats, views, forks, compilers, exports."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as TF
from places import SUPPORT
from torch import Tensor, nn
from torch._subclasses import FakeTensorMode
from torch.autograd import forward_ad
from torch.autograd.graph import saved_tensors_hooks

import softgate as sg
import softgate.torch.functional as F
from softgate.frameworks.torch import openmp

# torch itself still uses, in forward mode, in inductor and for exports, what it deprecates.
pytestmark = [
    pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors:UserWarning"),
]
POINTS = [-2.3, -1.1, -0.4, 0.3, 0.9, 1.7, 3.6, -5.5]
WAYS: list[Callable[[Tensor], Tensor]] = [
    sg.gelu,
    sg.tanh,
    sg.swiglu,
    lambda x: sg.geglu(x, 2 * x),
]
"""The value from x kept, from the value kept, from halves, from two tensors."""
FEED = [
    lambda **o: sg.torch.FeedForward(4, 8, **o),
    lambda **o: sg.torch.GatedFeedForward(4, 8, **o),
]


@pytest.fixture(autouse=True)
def _dynamo() -> Iterator[None]:
    yield
    torch._dynamo.reset()


def points(**options: Any) -> Tensor:
    return torch.tensor(POINTS, **options)


# Tensors without memory


@pytest.mark.parametrize("make", FEED, ids=["plain", "gated"])
def test_training_on_meta_computes_shapes(make: Any) -> None:
    block = make(device="meta")
    x = torch.empty(2, 4, device="meta", requires_grad=True)
    block(x).sum().backward()
    assert x.grad is not None
    assert x.grad.shape == x.shape
    assert all(p.grad is not None for p in block.parameters())


@pytest.mark.parametrize("way", WAYS)
def test_meta_and_fake_tensors_have_derivatives(way: Any) -> None:
    x = torch.empty(6, device="meta", requires_grad=True)
    assert torch.autograd.grad(way(x).sum(), x)[0].is_meta
    with FakeTensorMode():
        fake = torch.empty(6, requires_grad=True)
        assert torch.autograd.grad(way(fake).sum(), fake)[0].shape == (6,)
    # and outside of the mode, where a fake tensor still is one
    assert torch.autograd.grad(way(fake).sum(), fake)[0].shape == (6,)


def test_a_tensor_without_memory_is_explained() -> None:
    for x in (torch.empty(3, device="meta"), FakeTensorMode().from_tensor(torch.empty(3))):
        explanation = sg.explain(x)
        assert "no elements" in explanation.computed_by
        assert explanation.memory == "none"
    assert "copied" in sg.explain(torch._efficientzerotensor(3)).memory


@pytest.mark.parametrize("name", ["gelu", "tanh", "swiglu"])
def test_freed_storage_is_refused(name: str) -> None:
    function = {**sg.activations(), **sg.gated()}[name]
    for count in (200, 40_000):
        x = torch.ones(count)
        function(x)
        x.untyped_storage().resize_(0)
        with pytest.raises(RuntimeError, match="no memory"):
            function(x)
    assert function(torch.ones(0)).shape == (0,)


@pytest.mark.parametrize("count", [200, 40_000])
def test_freed_storage_of_one_of_two_operands_is_refused(count: int) -> None:
    x, y = torch.ones(count), torch.ones(count)
    sg.swiglu(x, y)
    x.untyped_storage().resize_(0)
    for operands in ((x, y), (y, x)):
        with pytest.raises(RuntimeError, match="no memory"):
            sg.swiglu(*operands)
    assert sg.swiglu(torch.ones(0), torch.ones(0)).shape == (0,)


@pytest.mark.parametrize("way", WAYS)
def test_gradients_that_are_nothing_but_zero(way: Any) -> None:
    x = points(requires_grad=True)
    y = way(x)
    (grad,) = torch.autograd.grad(y, x, torch._efficientzerotensor(*y.shape))
    assert torch.equal(grad, torch.zeros_like(x))
    assert torch.equal(way(torch._efficientzerotensor(8)), way(torch.zeros(8)))


# What was kept comes back otherwise


@pytest.mark.parametrize("way", WAYS)
def test_hooks_may_give_back_another_format(way: Any) -> None:
    x = points().requires_grad_()
    with saved_tensors_hooks(lambda t: t.bfloat16(), lambda t: t):
        y = way(x)
    (grad,) = torch.autograd.grad(y.sum(), x)
    with saved_tensors_hooks(lambda t: t.bfloat16(), lambda t: t.float()):
        y = way(x)
    (expected,) = torch.autograd.grad(y.sum(), x)
    assert grad.dtype == torch.float32
    torch.testing.assert_close(grad, expected, rtol=0, atol=0)


def test_operators_do_not_misread_another_format() -> None:
    x, grad = points(), points(dtype=torch.float64)
    expected = sg.gelu.backward(x, grad.float())
    assert torch.equal(torch.ops.softgate.backward(x, grad, "gelu", [], ""), expected)
    both = torch.ops.softgate.backward_two(x, grad, grad, "geglu", [], "")
    for result, true in zip(both, sg.geglu.backward(x, x, x), strict=True):
        torch.testing.assert_close(result, true)


# In place


IN_PLACE = ["relu_", "tanh_", "elu_", "leaky_relu_"]


@pytest.mark.parametrize(
    ("name", "backend"),
    [("ReLU", "eager"), ("ELU", "eager"), ("Hardtanh", "eager"), ("ReLU", "aot_eager")],
)
def test_in_place_modules_train_when_compiled(name: str, backend: str) -> None:
    results = []
    for library in (sg.torch, nn):
        torch.manual_seed(1)
        net = nn.Sequential(nn.Linear(4, 4), getattr(library, name)(inplace=True), nn.Linear(4, 2))
        if library is sg.torch:
            torch.compile(net, fullgraph=True, backend=backend)(torch.ones(2, 4)).sum().backward()
        else:
            net(torch.ones(2, 4)).sum().backward()
        results.append([p.grad for p in net.parameters()])
    for ours, theirs in zip(*results, strict=True):
        torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("name", IN_PLACE)
def test_in_place_under_functorch_and_on_meta(name: str) -> None:
    in_place, activation = getattr(F, name), sg.activations()[name.removesuffix("_")]
    x = points(dtype=torch.float64)
    grad = torch.func.grad(lambda v: in_place(v * 1).sum())
    torch.testing.assert_close(grad(x), activation.slope(x))
    second = torch.func.vmap(torch.func.grad(torch.func.grad(lambda v: in_place(v * 1))))
    torch.testing.assert_close(second(x), activation.curvature(x))
    meta = torch.empty(3, device="meta", requires_grad=True)
    in_place(meta * 1).sum().backward()
    assert meta.grad is not None


def test_functionalize() -> None:
    x = points()
    for function in (sg.gelu, sg.squareplus, lambda v: F.relu_(v * 1), sg.swiglu):
        assert torch.allclose(torch.func.functionalize(function)(x), function(x), atol=1e-6)
    slope = torch.func.functionalize(torch.func.grad(lambda v: sg.gelu(v).sum()))(x)
    torch.testing.assert_close(slope, sg.gelu.slope(x))


@pytest.mark.parametrize(
    "take",
    [
        lambda w: w,
        lambda w: w.view(2, 4),
        lambda w: (w * 1).chunk(2)[0],
        lambda w: (w * 1).split(3)[1],
        lambda w: (w * 1).unbind()[0],
    ],
    ids=["leaf", "view of a leaf", "chunk", "split", "unbind"],
)
def test_what_may_not_be_overwritten_is_not(take: Any) -> None:
    x = take(points(requires_grad=True))
    before = x.detach().clone()
    with pytest.raises(RuntimeError):
        TF.relu_(take(points(requires_grad=True)))
    with pytest.raises(RuntimeError, match="cannot be overwritten"):
        F.tanh_(x)
    assert torch.equal(x, before)
    with torch.no_grad():
        assert torch.equal(F.tanh_(x), sg.tanh(before))


@pytest.mark.parametrize("name", ["relu_", "gelu_"])
def test_inference_tensors_stay_as_they_are(name: str) -> None:
    with torch.inference_mode():
        x = points()
    before = torch.tensor(POINTS)
    with pytest.raises(RuntimeError, match="inference"):
        getattr(F, name)(x)
    assert torch.equal(x, before)
    with torch.inference_mode():
        getattr(F, name)(x)
    assert not torch.equal(x, before)


def test_views_that_may_be_overwritten_are() -> None:
    w = points(requires_grad=True)
    x = w * 1
    y = F.tanh_(x[2:5])
    assert torch.equal(x[2:5], sg.tanh(w[2:5]))
    (grad,) = torch.autograd.grad(y.sum() + x.sum(), w)
    expected = torch.ones(8)
    expected[2:5] = 2 * sg.tanh.slope(w.detach()[2:5])
    torch.testing.assert_close(grad, expected)


# Forward mode, compilers


@pytest.mark.parametrize("way", [*WAYS, sg.gelu.slope])
def test_forward_mode_over_a_recorded_graph(way: Any) -> None:
    x = points(requires_grad=True, dtype=torch.float64)
    y = way(x)
    with forward_ad.dual_level():
        along = torch.linspace(1, 2, y.numel(), dtype=torch.float64)
        dual = forward_ad.make_dual(torch.ones_like(y), along)
        (grad,) = torch.autograd.grad(y, x, dual)
        tangent = forward_ad.unpack_dual(grad).tangent
    assert tangent is not None
    torch.testing.assert_close(tangent, torch.autograd.grad(way(x), x, along)[0])


@pytest.mark.parametrize(
    "view",
    [
        lambda x: x.permute(3, 1, 2, 0)[::2],
        lambda x: x.to(memory_format=torch.channels_last)[:, ::2],
        lambda x: x.to(memory_format=torch.channels_last)[:, :, 1:],
        lambda x: x.to(memory_format=torch.channels_last),
        lambda x: x[:, :1].expand(-1, 5, -1, -1),
    ],
)
def test_layouts_are_torchs(view: Any) -> None:
    x = view(torch.randn(2, 4, 6, 8, generator=torch.Generator().manual_seed(1)))
    assert sg.gelu(x).stride() == TF.gelu(x).stride()
    compiled = torch.compile(lambda v: sg.gelu(v) * 2, fullgraph=True, backend="aot_eager")
    assert torch.equal(compiled(x), 2 * sg.gelu(x))


def test_parameters_may_change_under_compile() -> None:
    module, x = sg.torch.ELU(0.5), points()
    compiled = torch.compile(module, fullgraph=True, backend="eager")
    for alpha in (0.5, 2.0, 3.0):
        module.alpha = alpha
        assert torch.equal(compiled(x), sg.elu(x, alpha=alpha))
    leaky = torch.compile(F.leaky_relu, fullgraph=True, backend="eager")
    gate = torch.compile(lambda v, a: sg.swiglu(v, beta=a), fullgraph=True, backend="eager")
    for slope in (0.1, 0.2, 0.3):
        assert torch.equal(leaky(x, slope), sg.leaky_relu(x, slope=slope))
        assert torch.equal(gate(x, slope), sg.swiglu(x, beta=slope))
    for slope in (0.1, 0.2, 0.3):
        compiled_module = torch.compile(sg.torch.LeakyReLU(slope), fullgraph=True, backend="eager")
        assert torch.equal(compiled_module(x), sg.leaky_relu(x, slope=slope))


QUANTITIES: dict[str, Callable[[Tensor], Tensor]] = {
    "gelu.backward": lambda x: sg.gelu.backward(x, 2 * x),
    "gelu.slope": sg.gelu.slope,
    "elu.backward": lambda x: sg.elu.backward(x, x, alpha=0.3),
    "swiglu.backward": lambda x: sg.swiglu.backward(x, x[:4]),
    "GLU": sg.torch.GLU(),
}


def test_other_quantities_under_compile_and_export() -> None:
    """All in one model, since each compilation and each export takes a while for any model."""

    class Model(nn.Module):
        def forward(self, x: Tensor) -> dict[str, Tensor]:
            return {name: quantity(x) for name, quantity in QUANTITIES.items()}

    x = points(dtype=torch.float64)
    expected = Model()(x)
    compiled = torch.compile(Model(), fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(compiled(x), expected)
    for strict in (False, True):
        program = torch.export.export(Model(), (x,), strict=strict)
        torch.testing.assert_close(program.module()(x), expected)


def test_backward_under_compile_is_differentiable() -> None:
    x = points(requires_grad=True, dtype=torch.float64)
    compiled = torch.compile(
        lambda v: sg.gelu.backward(v, torch.ones_like(v)), fullgraph=True, backend="aot_eager"
    )
    (gradient,) = torch.autograd.grad(compiled(x).sum(), x)
    torch.testing.assert_close(gradient, sg.gelu.curvature(x.detach()))


# Nested tensors


@pytest.mark.parametrize("layout", [torch.strided, torch.jagged], ids=str)
@pytest.mark.parametrize("function", [sg.gelu, sg.squareplus, sg.swiglu, sg.gelu.slope])
def test_nested_tensors(function: Any, layout: torch.layout) -> None:
    parts = [torch.linspace(-3, 3, 8).reshape(2, 4), torch.linspace(-1, 5, 12).reshape(3, 4)]
    leaves = [part.clone().requires_grad_() for part in parts]
    y = function(torch.nested.as_nested_tensor(leaves, layout=layout))
    assert y.is_nested
    for result, leaf in zip(y.unbind(), leaves, strict=True):
        torch.testing.assert_close(result, function(leaf), rtol=1e-5, atol=1e-6)
    sum(result.sum() for result in y.unbind()).backward()
    for leaf, part in zip(leaves, parts, strict=True):
        alone = part.clone().requires_grad_()
        function(alone).sum().backward()
        torch.testing.assert_close(leaf.grad, alone.grad, rtol=1e-5, atol=1e-6)


def test_a_number_has_no_halves() -> None:
    with pytest.raises(ValueError, match="0 dimensions"):
        sg.swiglu(torch.tensor(1.0))


# Forks


@pytest.fixture(scope="module")
def statuses() -> dict[str, int]:
    """The exit codes of processes that one with torch alone starts: JAX warns of every fork."""
    command = [sys.executable, "-W", "ignore", str(SUPPORT / "torch_processes.py")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    result: dict[str, int] = json.loads(done.stdout)
    return result


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.parametrize(
    "start",
    [
        "no temporary folder",
        "before softgate is imported",
        "before the first tensor",
        "after the first tensor",
        "forked DataLoader",
        "spawned DataLoader",
    ],
)
def test_child_processes(statuses: dict[str, int], start: str) -> None:
    """Children do not wait for threads that are gone, and need no temporary folder."""
    assert statuses[start] == 0


def test_linux_says_what_was_forked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    status = tmp_path / "stat"
    monkeypatch.setattr(openmp, "STATUS", status)
    assert not openmp._born_by_fork()
    for flags, forked in ((0x400000, False), (0x400040, True)):
        status.write_text(f"17 (a (name) of 64) R 1 17 17 0 -1 {flags} 5000 0")
        assert openmp._born_by_fork() is forked
