"""Modules with torch.nn's arguments: in place, training, trainable parameters, names, tracing."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as theirs
from torch import Tensor, nn

import softgate as sg
import softgate.torch.functional as F
from softgate.torch import FeedForward, GatedFeedForward, TransformerBlock

# torch itself still uses, in forward mode, what it deprecates.
pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")

INF = float("inf")
OVERWRITING = [
    "CELU", "ELU", "Hardsigmoid", "Hardswish", "Hardtanh", "LeakyReLU", "Mish", "ReLU", "ReLU6",
    "RReLU", "SELU", "SiLU",
]  # fmt: skip


@pytest.fixture(autouse=True)
def random_numbers_as_found() -> Iterator[None]:
    """Leave torch's random numbers as they were, and dynamo's caches empty."""
    with torch.random.fork_rng():
        yield
    torch.compiler.reset()


def points(**options: Any) -> Tensor:
    return torch.linspace(-4.0, 4.0, 12, dtype=torch.float64, **options)


def both(name: str, **arguments: Any) -> tuple[nn.Module, nn.Module]:
    ours, torchs = (getattr(lib, name)(**arguments).eval() for lib in (sg.torch, nn))
    return ours, torchs


@pytest.mark.parametrize("name", OVERWRITING)
@pytest.mark.parametrize("view", [lambda h: h, lambda h: h[::2], lambda h: h.view(3, 4).t()])
def test_modules_overwrite_and_train_as_torchs_do(name: str, view: Callable[[Any], Any]) -> None:
    seen = []
    for module in both(name, inplace=True):
        x = points(requires_grad=True)
        hidden = x * 1.5
        part = view(hidden)
        y = module(part)
        assert y is part
        (grad,) = torch.autograd.grad((y * y).sum() + hidden.sum(), x)
        seen.append((hidden.detach(), y.detach(), grad))
    torch.testing.assert_close(*seen)


@pytest.mark.parametrize("name", ["SELU", "SiLU", "Mish", "Hardsigmoid", "Hardswish"])
def test_overwriting_is_differentiable_again_and_transformed(name: str) -> None:
    module = getattr(sg.torch, name)(inplace=True)
    apart = getattr(sg.torch, name)()
    x = points(requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: module(x * 1), (x,))
    assert torch.autograd.gradgradcheck(lambda x: module(x * 1), (x,))
    rows = torch.stack([points(), points().flip(0)])
    actual = torch.vmap(torch.func.grad(lambda x: module(x * 1).sum()))(rows)
    torch.testing.assert_close(actual, torch.func.grad(lambda x: apart(x).sum())(rows))


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("name", ["SiLU", "Hardswish", "ReLU"])
def test_overwriting_compiles_and_trains(name: str, backend: str) -> None:
    ours, torchs = both(name, inplace=True)

    def step(module: nn.Module, x: Tensor) -> tuple[Tensor, Tensor]:
        hidden = x * 1.5
        return module(hidden).square().sum(), hidden

    seen = []
    for module in (torch.compile(step, backend=backend, fullgraph=True), step):
        x = points(requires_grad=True)
        loss, hidden = module(ours if module is not step else torchs, x)
        seen.append((loss.detach(), hidden.detach(), torch.autograd.grad(loss, x)[0]))
    torch.testing.assert_close(*seen)


@pytest.mark.parametrize("name", ["SiLU", "Mish", "ReLU"])
def test_a_leaf_is_left_as_it_was(name: str) -> None:
    x = points(requires_grad=True)
    for leaf in (x, x[::2]):
        with pytest.raises(RuntimeError, match="leaf"):
            getattr(sg.torch, name)(inplace=True)(leaf)
    assert torch.equal(x.detach(), points())


@pytest.mark.parametrize(
    ("name", "arguments", "named"),
    [
        ("leaky_relu_", (0.2,), {"negative_slope": 0.2}),
        ("elu_", (0.5,), {"alpha": 0.5}),
        ("celu_", (0.5,), {"alpha": 0.5}),
        ("hardtanh_", (-2, 1.5), {"min_val": -2, "max_val": 1.5}),
        ("threshold_", (0.1, 0.7), {"threshold": 0.1, "value": 0.7}),
        ("rrelu_", (0.1, 0.3), {"lower": 0.1, "upper": 0.3}),
        ("relu_", (), {}),
        ("selu_", (), {}),
    ],
)
def test_twins_take_torchs_arguments(name: str, arguments: Any, named: dict[str, Any]) -> None:
    expected = getattr(theirs, name)(points(), *arguments)
    for call in ((arguments, {}), ((), named)):
        x = points()
        assert getattr(F, name)(x, *call[0], **call[1]) is x
        torch.testing.assert_close(x, expected)


def test_twins_refuse_other_arguments() -> None:
    x = points()
    for wrong in ({"slope": 0.2}, {"negative_slope": 0.2}):
        with pytest.raises(TypeError, match="its arguments are input, negative_slope"):
            F.leaky_relu_(x, 0.3, **wrong)
    with pytest.raises(TypeError, match=r"relu_\(input, 1\): its arguments are input"):
        F.relu_(x, 1)
    assert torch.equal(x, points())


def test_all_of_torchs_activations_are_here_or_said_not_to_be() -> None:
    for record in sg.names("torch.nn.functional"):
        if "softm" not in record.name:
            assert callable(getattr(F, record.name))
            continue
        with pytest.raises(
            AttributeError, match=f"over a whole axis|of a whole axis.*{record.path}"
        ):
            getattr(F, record.name)
    for record in sg.names("torch.nn"):
        if record.path.startswith("torch.nn.functional") or "oftm" in record.name:
            continue
        assert issubclass(getattr(sg.torch, record.name), getattr(nn, record.name))


def test_rrelu_and_threshold() -> None:
    ours, torchs = both("RReLU", lower=0.1, upper=0.4)
    torch.testing.assert_close(ours(points()), torchs(points()))
    for x in (points(), torch.linspace(-9, 9, 999, dtype=torch.float64)):
        assert torch.equal(ours(x), sg.rrelu(x, lower=0.1, upper=0.4))
        assert torch.equal(sg.torch.RReLU().eval()(x), sg.rrelu(x))
    results = []
    for module in (ours.train(), torchs.train()):
        torch.manual_seed(4)
        results.append(module(points()))
    assert torch.equal(*results)
    assert not torch.equal(results[0], ours.eval()(points()))
    ours, torchs = both("Threshold", threshold=0.1, value=20.0)
    assert torch.equal(ours(points()), torchs(points()))


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("Softplus", {"threshold": 1.0}),
        ("Softplus", {"beta": 2.0, "threshold": 3.0}),
        ("Softplus", {"beta": -1.0}),
        ("CELU", {"alpha": -1.0}),
        ("ELU", {"alpha": -1.0}),
        ("Hardshrink", {"lambd": -1.0}),
        ("LeakyReLU", {"negative_slope": -0.5}),
    ],
    ids=str,
)
def test_what_torch_accepts_is_computed_as_torch_does(name: str, arguments: dict[str, Any]) -> None:
    seen = []
    for module in both(name, **arguments):
        x = points(requires_grad=True)
        y = module(x)
        seen.append((y.detach(), torch.autograd.grad(y.sum(), x)[0]))
    torch.testing.assert_close(*seen)


def test_a_threshold_that_nobody_sees_is_not_applied() -> None:
    x = torch.tensor(21.0, dtype=torch.float64)
    assert sg.torch.Softplus()(x) > x == theirs.softplus(x)


@pytest.mark.parametrize("channels", [1, 3])
def test_prelu_is_torchs(channels: int) -> None:
    seen = []
    for module in both("PReLU", num_parameters=channels):
        x = torch.tensor([-INF, -1.0, -0.0, 0.0, 2.0, INF]).repeat(3, 1).t().clone()
        x.requires_grad_()
        y = module(x)
        y.nan_to_num(neginf=0.0, posinf=0.0).sum().backward()
        seen.append((y.detach(), x.grad, module.weight.grad))
    torch.testing.assert_close(*seen, equal_nan=True)


TRACED: list[tuple[str, tuple[Any, ...]]] = [
    ("GELU", ("tanh",)), ("ReLU", ()), ("LeakyReLU", (0.2,)), ("RReLU", ()), ("Threshold", (0, 1)),
    ("Softplus", (2.0,)), ("Hardtanh", ()), ("GLU", ()), ("PReLU", ()), ("Swish", (1.5,)),
    ("Swish", (1.5, True)), ("Activation", ("squareplus",)), ("SiLU", ()), ("Tanhshrink", ()),
    ("FeedForward", (6, 8)), ("GatedFeedForward", (6, 8)),
]  # fmt: skip


@pytest.mark.parametrize(("name", "arguments"), TRACED, ids=str)
def test_symbolic_traces(name: str, arguments: tuple[Any, ...]) -> None:
    model = nn.Sequential(nn.Linear(6, 6), getattr(sg.torch, name)(*arguments)).eval()
    traced = torch.fx.symbolic_trace(model)
    x = torch.randn(4, 6)
    for graph in (traced, copy.deepcopy(traced), pickle.loads(pickle.dumps(traced))):
        torch.testing.assert_close(graph(x), model(x))


def test_a_formula_of_ones_own_is_traced_as_one_call() -> None:
    @sg.activation
    def bent(f: Any, x: Any) -> Any:
        return x * f.sigmoid(x) + x

    traced = torch.fx.symbolic_trace(sg.torch.Activation(bent))
    x = torch.randn(4)
    assert [node.target for node in traced.graph.nodes if node.op == "call_function"] == [bent]
    assert torch.equal(traced(x), bent(x))


GLU = ["glu", "GLU", "torch.nn.GLU", "torch.nn.functional.glu"]
SWIGLU = ["swiglu", "SwiGLU", "SWIGLU", sg.swiglu]


@pytest.mark.parametrize("name", [*GLU, *SWIGLU], ids=str)
def test_gated_names_mean_the_same_in_every_spelling(name: Any) -> None:
    act = "silu" if name in SWIGLU else "sigmoid"
    block = TransformerBlock(8, 2, 16, name)
    assert isinstance(block.feed_forward, GatedFeedForward)
    assert block.feed_forward.act.activation is sg.activations()[act]
    assert GatedFeedForward(8, 16, name).act.activation is sg.activations()[act]
    with pytest.raises(ValueError, match="use GatedFeedForward"):
        FeedForward(8, 16, name)
    with pytest.raises(ValueError, match="use GatedFeedForward"):
        sg.torch.Activation(name)
    if name in GLU:
        assert type(sg.torch.make(name)) is sg.torch.GLU
    else:
        with pytest.raises(ValueError, match="use GatedFeedForward"):
            sg.torch.make(name)


def test_names_are_accepted_and_suggested() -> None:
    made = sg.torch.make("torch.nn.PReLU", init=0.1)
    assert type(made) is sg.torch.PReLU
    assert made.weight.item() == pytest.approx(0.1)
    assert repr(sg.torch.make("rrelu")) == repr(nn.RReLU())
    assert sg.torch.Activation("gelu_new").activation is sg.gelu_tanh
    with pytest.raises(ValueError, match=r"did you mean 'gelu'\? Choose from: celu, .*swiglu"):
        sg.torch.Activation("gellu")
    for wrong, meant in (("gellu", "gelu"), ("leaky_rellu_", "leaky_relu_"), ("ReLU", "relu")):
        with pytest.raises(AttributeError, match=f"has no '{wrong}'; did you mean '{meant}'"):
            getattr(F, wrong)


def test_numpy_integers_are_widths() -> None:
    block = TransformerBlock(np.int64(8), np.int32(2), np.int16(12))
    assert repr(block) == repr(TransformerBlock(8, 2, 12))
    gated = GatedFeedForward(np.int64(8), np.int64(16), match="parameters")
    assert type(gated.d_hidden) is int
    with pytest.raises(ValueError, match="d_model = True: expected a positive integer"):
        FeedForward(True, 8)
    with pytest.raises(TypeError, match="dropout = 'a' is a str: expected a probability"):
        FeedForward(8, 8, dropout="a")  # type: ignore[arg-type]
