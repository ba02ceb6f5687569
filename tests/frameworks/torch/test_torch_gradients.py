"""Gradients of autograd have the bits of `backward` at the input, whichever path training takes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

import softgate as sg
import softgate.torch.functional as F

# torch itself still uses, in forward mode and in inductor, what it deprecates.
pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")

KINDS = {
    "float16": np.float16,
    "bfloat16": ml_dtypes.bfloat16,
    "float32": np.float32,
    "float64": np.float64,
}
FROM_OUTPUT = {"relu", "relu6", "leaky_relu", "prelu", "rrelu", "hard_tanh"}
"""Piecewise-linear functions whose gradient has the same bits from the output."""
SATURATING = ("tanh", "sigmoid", "elu", "celu", "exponential")
"""Functions whose slope is a simple formula of the output, and differs from it once rounded."""


@pytest.fixture(autouse=True)
def dynamo_as_found() -> Iterator[None]:
    """Empty dynamo's caches: its limit on compilations of one function counts over all tests."""
    yield
    torch._dynamo.reset()


def inputs(dtype: str) -> tuple[Any, Any]:
    """Return inputs, the tails included, and gradients that are no powers of 2."""
    dense = np.linspace(-120.0, 120.0, 1999)
    small = np.ldexp(1.37, np.arange(-140, 7))
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, 6.0, 1.0, -1.0]
    x = np.concatenate([dense, small, -small, special])
    grad = np.linspace(-1.7, 2.3, x.size)
    with np.errstate(over="ignore", under="ignore"):
        return x.astype(KINDS[dtype]), grad.astype(KINDS[dtype])


def tensor(x: Any) -> Tensor:
    if x.dtype == ml_dtypes.bfloat16:
        return torch.from_numpy(x.view(np.int16).copy()).view(torch.bfloat16)
    return torch.from_numpy(x.copy())


def bits(x: Any) -> Any:
    """Return the bits of a tensor or an array, with every NaN the same."""
    if isinstance(x, Tensor):
        x = x.detach().contiguous()
        x = (
            x.view(torch.int16).numpy().view(ml_dtypes.bfloat16)
            if x.dtype == torch.bfloat16
            else x.numpy()
        )
    x = np.where(np.isnan(x), x.dtype.type(np.nan), x)
    return np.ascontiguousarray(x).view(f"u{x.dtype.itemsize}")


def differing(result: Tensor, expected: Tensor, x: Any, copied: bool = False) -> list[float]:
    """Return some of the inputs at which the bits are not the expected ones.

    With `copied`, zeros have any sign: the gradient of torch's `copy_` adds 0 to each element.
    """
    if copied:
        result, expected = result + 0, expected + 0
    return list(x[np.flatnonzero(bits(result) != bits(expected))[:5]])


def in_place(name: str) -> Callable[[Tensor], Tensor]:
    """Return torch's spelling of a function that overwrites its argument."""
    spelled = {"hard_tanh": "hardtanh", "threshold": "threshold"}.get(name, name)
    return getattr(F, f"{spelled}_")  # type: ignore[no-any-return]


def _with_hooks(function: Any, x: Tensor) -> Tensor:
    with torch.autograd.graph.save_on_cpu():
        return function(x)  # type: ignore[no-any-return]


PATHS: dict[str, Callable[[Any, Tensor], Tensor]] = {
    "eager": lambda f, x: f(x),
    "a column": lambda f, x: f(torch.stack([x, x.detach()], 1)[:, 0]),
    "many elements": lambda f, x: f(torch.cat([x, *[x.detach()] * 63]))[: x.numel()],
    "checkpoint": lambda f, x: checkpoint(f, x, use_reentrant=False),
    "hooks": _with_hooks,
    "in place": lambda f, x: in_place(f.name)(x * 1),
    "in place in a view": lambda f, x: in_place(f.name)((x * 1)[:]),
}


@pytest.mark.parametrize("dtype", KINDS)
@pytest.mark.parametrize("name", [name for name in sg.activations() if name != "threshold"])
def test_gradients_are_those_of_the_input(name: str, dtype: str) -> None:
    function = sg.activations()[name]
    x, grad = inputs(dtype)
    with np.errstate(all="ignore"):
        expected = tensor(function.backward(x, grad))
    for path, call in PATHS.items():
        leaf = tensor(x).requires_grad_()
        (result,) = torch.autograd.grad(call(function, leaf), leaf, tensor(grad))
        assert differing(result, expected, x, "view" in path) == [], path


@pytest.mark.parametrize("dtype", ["bfloat16", "float32"])
@pytest.mark.parametrize("name", [*SATURATING, "gelu", "relu"])
def test_transforms_and_compilers_give_the_same_gradients(name: str, dtype: str) -> None:
    function = sg.activations()[name]
    x, grad = inputs(dtype)
    expected = tensor(function.backward(x, grad))
    _, pull = torch.func.vjp(function, tensor(x))
    assert differing(pull(tensor(grad))[0], expected, x) == []
    _, along = torch.func.jvp(function, (tensor(x),), (tensor(grad),))
    assert differing(along, expected, x) == []
    calls = {"out of place": function, "in place": lambda x: in_place(name)(x * 1)}
    for path, call in calls.items():
        leaf = tensor(x).requires_grad_()
        y = torch.compile(call, backend="aot_eager", fullgraph=True)(leaf)
        (result,) = torch.autograd.grad(y, leaf, tensor(grad))
        assert differing(result, expected, x, path == "in place") == [], path


TRANSFORMS: dict[str, Callable[[Any], Callable[[Tensor, Tensor], Tensor]]] = {
    "vjp": lambda f: lambda x, grad: torch.func.vjp(f, x)[1](grad)[0],
    "jvp": lambda f: lambda x, grad: torch.func.jvp(f, (x,), (grad,))[1],
    "grad": lambda f: torch.func.grad(lambda x, grad: (f(x) * grad).sum()),
    "vmap": lambda f: torch.func.vmap(torch.func.grad(lambda x, grad: f(x) * grad)),
    "grad of grad": lambda f: torch.func.vmap(
        torch.func.grad(lambda x, grad: torch.func.grad(f)(x) * grad)
    ),
}
"""Compositions of torch.func; each returns a derivative times `grad`."""


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_compiled_transforms_have_the_bits_of_the_kernels(transform: str) -> None:
    """torch.compile traces softgate's operators through every level of torch.func."""
    x, grad = inputs("float32")
    x, grad = x[np.isfinite(x)][::9], grad[np.isfinite(x)][::9]
    second = transform == "grad of grad"
    for name in ("tanh", "elu", "gelu", "relu", "geglu"):
        function = sg.get(name)
        f = function if name != "geglu" else lambda v: sg.geglu(v, torch.full_like(v, 1e9))
        derive = TRANSFORMS[transform](f)
        compiled = torch.compile(derive, backend="aot_eager", fullgraph=True)
        result = compiled(tensor(x), tensor(grad))
        assert differing(result, derive(tensor(x), tensor(grad)), x) == [], name
        if name != "geglu":
            expected = function.curvature(x) * grad if second else function.backward(x, grad)
            assert differing(result, tensor(expected), x, copied=True) == [], name


@pytest.mark.parametrize(
    ("name", "x", "dtype", "slope"),
    [("elu", -7.0, "bfloat16", 0.00091171264), ("tanh", 9.0, "float32", 6.0919919e-8),
     ("celu", -12.0, "float32", 6.1442124e-6), ("sigmoid", 20.0, "float32", 2.0611537e-9)],
)  # fmt: skip
def test_saturated_inputs_keep_their_gradient(
    name: str, x: float, dtype: str, slope: float
) -> None:
    leaf = torch.tensor([x], dtype=getattr(torch, dtype), requires_grad=True)
    (gradient,) = torch.autograd.grad(sg.get(name)(leaf), leaf, torch.ones_like(leaf))
    assert gradient.item() == pytest.approx(slope, rel=2**-8 if dtype == "bfloat16" else 2**-21)


@pytest.mark.parametrize("name", sg.activations())
def test_what_is_saved(name: str) -> None:
    """Out of place one tensor; in place a copy of the input, unless the output is enough."""
    if name == "threshold":
        pytest.skip("torch's threshold_ has no default parameters")
    function = sg.activations()[name]
    x = torch.randn(64, requires_grad=True)
    saved: list[Tensor] = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: saved.append(t) or t, lambda t: t):
        y = function(x)
        overwritten = in_place(name)(x * 1)
    first, second = (t.data_ptr() for t in saved)
    assert first == (y if name in FROM_OUTPUT else x).data_ptr()
    assert (second == overwritten.data_ptr()) == (name in FROM_OUTPUT)
    assert [t.nbytes for t in saved] == [x.nbytes, x.nbytes]


@pytest.mark.parametrize("name", [*SATURATING, "relu", "leaky_relu"])
def test_explain_names_what_is_saved(name: str) -> None:
    x = torch.randn(64, requires_grad=True)
    saved = "result saved" if name in FROM_OUTPUT else "input saved"
    assert saved in str(sg.explain(x, name))
    assert "saved" not in str(sg.explain(x.detach(), name))
    with torch.no_grad():
        assert "saved" not in str(sg.explain(x, name))


@pytest.mark.parametrize("name", SATURATING)
def test_without_gradients_nothing_is_saved(name: str) -> None:
    x = torch.randn(64, requires_grad=True) * 1
    expected, saved = sg.activations()[name](x.detach().clone()), []
    with (
        torch.no_grad(),
        torch.autograd.graph.saved_tensors_hooks(lambda t: saved.append(t) or t, lambda t: t),
    ):
        y = in_place(name)(x)
    assert y is x
    assert saved == []
    assert torch.equal(x, expected)


@pytest.mark.parametrize("name", [*SATURATING, "gelu", "relu"])
def test_blocks_have_the_gradients_of_their_parts(name: str) -> None:
    """A block that saves only the pre-activations has the bits of one that saves everything."""
    torch.manual_seed(0)
    block = sg.torch.FeedForward(6, 24, activation=name)
    kept = sg.torch.FeedForward(6, 24, activation=name, save="all")
    kept.load_state_dict(block.state_dict())
    x = 40 * torch.randn(30, 6)
    gradients = []
    for module in (block, kept):
        leaf = x.clone().requires_grad_()
        gradients.append(torch.autograd.grad(module(leaf).sum(), [leaf, *module.parameters()]))
    assert all(torch.equal(a, b) for a, b in zip(*gradients, strict=True))


@pytest.mark.parametrize("name", ["Tanh", "Sigmoid", "ELU", "CELU"])
def test_networks_train_as_with_the_exact_slope(name: str) -> None:
    """A saturated unit recovers at the rate of the exact gradient, in place or not."""
    function = getattr(sg.torch, name)
    modules = [function(), function(inplace=True)] if name in ("ELU", "CELU") else [function()]
    x = torch.tensor([[-18.0]])
    for module in modules:
        net = nn.Sequential(nn.Linear(1, 1, bias=False), module)
        nn.init.ones_(net[0].weight)
        net(x).sum().backward()
        slope = sg.get(name.lower()).slope(np.float32(-18.0))
        assert net[0].weight.grad.item() == np.float32(-18.0) * slope != 0
