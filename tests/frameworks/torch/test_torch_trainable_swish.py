"""x·sigmoid(beta·x) with a learnt beta: the fixed function's numbers, gradients of all kinds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import Tensor

import softgate as sg
import softgate.torch.functional as F

# torch itself still uses, in forward mode, what it deprecates.
pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")

INF = float("inf")


@pytest.fixture(autouse=True)
def caches_as_found() -> Iterator[None]:
    """Leave dynamo's caches empty."""
    yield
    torch.compiler.reset()


def points(**options: Any) -> Tensor:
    return torch.linspace(-4.0, 4.0, 12, dtype=torch.float64, **options)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("beta", [1.0, 0.3, -2.0, 0.0, 1.702, 1e-35])
def test_a_learnt_beta_computes_as_a_fixed_one(beta: float, dtype: torch.dtype) -> None:
    edges = torch.tensor([-INF, -1e30, -120.0, -0.0, 0.0, 3.0, 1e30, INF])
    x = torch.cat([edges, points().float()]).to(dtype).requires_grad_()
    learnt = torch.tensor(beta, dtype=torch.float64, requires_grad=True)
    y, fixed = F.swish(x, learnt), sg.silu(x, beta=beta)
    assert y.dtype == dtype
    torch.testing.assert_close(y, fixed, rtol=torch.finfo(dtype).eps, atol=0)
    assert torch.equal(y.signbit(), fixed.signbit())
    grads = [torch.autograd.grad(v.nan_to_num(posinf=0.0).sum(), x)[0] for v in (y, fixed)]
    torch.testing.assert_close(*grads, rtol=4 * torch.finfo(dtype).eps, atol=0)


@pytest.mark.parametrize("of", [F.swish, F.trainable_swish.composed], ids=["kernel", "composed"])
def test_gradients_of_beta_are_stable(of: Callable[..., Tensor]) -> None:
    x = torch.tensor([-INF, -1e30, -60.0, 0.0, 60.0, 1e30, INF])
    for beta in (1.0, -1.0):
        learnt = torch.tensor(beta, requires_grad=True)
        y = of(x, learnt)
        (grad,) = torch.autograd.grad(y, learnt, torch.ones_like(y), create_graph=True)
        assert 0 <= grad < 1e-20
        assert torch.isfinite(torch.autograd.grad(grad, learnt)[0])
    x = torch.randn(500, generator=torch.Generator().manual_seed(2)) * 3
    exact = x.double()
    slope = torch.sigmoid(1.3 * exact) * torch.sigmoid(-1.3 * exact)
    for dtype in (torch.float32, torch.bfloat16):
        learnt = torch.tensor(1.3, requires_grad=True)
        of(x.to(dtype), learnt).sum().backward()
        assert learnt.grad is not None
        assert learnt.grad.dtype == torch.float32
        tolerance = 1e-6 if dtype is torch.float32 else 1e-3
        assert learnt.grad.item() == pytest.approx((exact**2 * slope).sum().item(), rel=tolerance)


@pytest.mark.parametrize("beta", [1.0, 0.3, -2.0, 0.0])
def test_a_learnt_beta_is_differentiable_in_all_ways(beta: float) -> None:
    learnt = torch.tensor(beta, dtype=torch.float64, requires_grad=True)
    x = points(requires_grad=True)
    assert torch.autograd.gradcheck(F.swish, (x, learnt), check_batched_grad=True)
    assert torch.autograd.gradgradcheck(F.swish, (x, learnt))
    primals = (points(), learnt.detach())
    for which in (0, 1):
        along = tuple(torch.ones_like(p) if i == which else p * 0 for i, p in enumerate(primals))
        forward = torch.func.jvp(F.swish, primals, along)[1]
        assert torch.autograd.grad(F.swish(x, learnt).sum(), (x, learnt))[which].sum() == (
            pytest.approx(forward.sum().item())
        )
    betas = torch.tensor([0.5, 1.0, 2.0], dtype=torch.float64)
    gradient = torch.func.grad(lambda b: F.swish(points(), b).sum())
    apart = torch.stack([gradient(b) for b in betas])
    torch.testing.assert_close(torch.vmap(gradient)(betas), apart)


def test_a_learnt_beta_keeps_the_input_and_itself() -> None:
    saved: list[int] = []
    x = torch.randn(1000, requires_grad=True)
    swish = sg.torch.Swish(learnable=True)
    with torch.autograd.graph.saved_tensors_hooks(
        lambda t: saved.append(t.nbytes) or t, lambda t: t
    ):
        swish(x)
    assert saved == [4000, 4]
    assert swish(torch.tensor(1.0, dtype=torch.bfloat16)).dtype == torch.bfloat16


def test_a_learnt_beta_compiles_and_is_exported() -> None:
    swish = sg.torch.Swish(1.3, learnable=True)
    x = torch.linspace(-3, 3, 7).requires_grad_()
    compiled = torch.compile(swish, backend="aot_eager", fullgraph=True)
    seen = [
        torch.autograd.grad(module(x).square().sum(), (x, swish.beta))
        for module in (compiled, swish)
    ]
    torch.testing.assert_close(*seen)
    program = torch.export.export(swish, (x.detach(),))
    torch.testing.assert_close(program.module()(x), swish(x))


def test_repr_of_what_has_no_number_yet() -> None:
    assert repr(sg.torch.Swish(1.5, learnable=True)) == "Swish(beta=1.5, learnable=True)"
    assert repr(sg.torch.Swish(learnable=True, device="meta")) == "Swish(learnable=True)"


@pytest.mark.parametrize("shape", [(), (3,), (4, 1), (4, 3)])
def test_prelu_with_a_tensor_of_slopes(shape: tuple[int, ...]) -> None:
    x = points().reshape(4, 3).requires_grad_()
    generator = torch.Generator().manual_seed(5)
    slope = torch.rand(shape, dtype=torch.float64, generator=generator).requires_grad_()
    y = sg.prelu(x, slope=slope)
    torch.testing.assert_close(y, torch.where(x > 0, x, slope * x), rtol=0, atol=0)
    by_x, by_slope = torch.autograd.grad(y.sum(), (x, slope))
    torch.testing.assert_close(by_x, torch.where(x > 0, 1.0, slope.expand(4, 3)))
    torch.testing.assert_close(by_slope, x.clamp(max=0).sum_to_size(shape))
    assert torch.autograd.gradcheck(lambda x, slope: sg.prelu(x, slope=slope), (x, slope))
    end, steep = torch.tensor(INF, requires_grad=True), torch.tensor(0.5, requires_grad=True)
    assert torch.autograd.grad(sg.prelu(end, slope=steep), (end, steep)) == (1.0, 0.0)
    with pytest.raises(TypeError, match="autograd"):
        sg.prelu.slope(x, slope=slope)


def test_the_module_trains_its_slopes() -> None:
    module = sg.torch.PReLU(3)
    x = torch.linspace(-1, 1, 12, dtype=torch.float64).reshape(4, 3)
    module(x).sum().backward()
    torch.testing.assert_close(module.weight.grad.double(), x.clamp(max=0).sum(0))


def test_wrong_betas() -> None:
    with pytest.raises(ValueError, match="finite"):
        sg.torch.Swish(float("nan"), learnable=True)
    with pytest.raises(ValueError, match="single number"):
        F.swish(points(), torch.ones(12))
    with pytest.raises(TypeError, match="complex64"):
        F.swish(torch.ones(3, dtype=torch.complex64), torch.tensor(1.0))
    lost = torch.tensor(float("nan"), requires_grad=True)
    assert F.swish(torch.ones(2), lost).isnan().all()  # training that diverged goes on as it is
