"""Feed-forward blocks: the same results whatever is saved, wherever they run."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import softgate as sg
from softgate.runtime.activation import Activation
from softgate.torch import FeedForward, GatedFeedForward, Swish

# torch itself still uses, in forward mode, what it deprecates.
pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")

Block = FeedForward | GatedFeedForward


def plain(save: Any = "preactivation", **options: Any) -> FeedForward:
    return FeedForward(8, 24, save=save, **options)


def gated(save: Any = "preactivation", **options: Any) -> GatedFeedForward:
    return GatedFeedForward(8, 24, save=save, **options)


KINDS = [plain, gated]
Make = Callable[..., Block]


def twins(make: Make, **options: Any) -> tuple[Block, Block]:
    """The same block in both ways of saving."""
    torch.manual_seed(0)
    ours, theirs = make("preactivation", **options), make("all", **options)
    theirs.load_state_dict(ours.state_dict())
    return ours, theirs


def gradients(block: nn.Module, x: Tensor, create_graph: bool = False) -> list[Tensor]:
    """Return output and gradients for a fixed gradient of the output."""
    torch.manual_seed(1)
    y = block(x)
    grad = torch.randn(y.shape, generator=torch.Generator().manual_seed(2)).to(y.dtype)
    trained = [t for t in (x, *block.parameters()) if t.requires_grad]
    return [y, *torch.autograd.grad(y, trained, grad, create_graph=create_graph)]


def test_nothing_is_hidden_in_the_graph() -> None:
    """No node of the graph holds a tensor but through save_for_backward."""
    block = gated(hidden_dropout=0.3)
    y = block(torch.randn(4, 8, requires_grad=True))
    (node,) = [n for n in nodes(y.grad_fn) if "RecomputedLinear" in n.name()]
    held = [value for value in vars(node).values() if isinstance(value, Tensor)]
    assert held == []


def nodes(root: Any) -> list[Any]:
    nodes, waiting = [], [root]
    while waiting:
        node = waiting.pop()
        if node is not None and node not in nodes:
            nodes.append(node)
            waiting += [child for child, _ in node.next_functions]
    return nodes


def test_both_ways_give_the_same(activation: Activation) -> None:
    ways_agree(plain, activation, torch.float32)


@pytest.mark.parametrize("name", sg.gated())
def test_both_ways_give_the_same_gated(name: str) -> None:
    ways_agree(gated, name, torch.float32)


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("make", KINDS)
def test_both_ways_in_every_format(make: Make, dtype: torch.dtype) -> None:
    ways_agree(make, sg.silu, dtype)


def ways_agree(make: Make, activation: str | Activation, dtype: torch.dtype) -> None:
    ours, theirs = twins(make, activation=activation, hidden_dropout=0.25, dropout=0.1, dtype=dtype)
    x = torch.randn(2, 3, 8, dtype=dtype, requires_grad=True)
    tolerance = 16 * torch.finfo(dtype).eps
    for actual, expected in zip(gradients(ours, x), gradients(theirs, x), strict=True):
        assert (actual - expected).norm() <= tolerance * expected.norm() + tolerance


@pytest.mark.parametrize("make", KINDS)
def test_in_float32_gelu_is_the_same_bit_for_bit(make: Make) -> None:
    activation = sg.gelu if make is plain else sg.geglu
    ours, theirs = twins(make, activation=activation, hidden_dropout=0.25)
    x = torch.randn(5, 8, requires_grad=True)
    for actual, expected in zip(gradients(ours, x), gradients(theirs, x), strict=True):
        assert torch.equal(actual, expected)


@pytest.mark.parametrize(
    "shape", [(8,), (5, 8), (2, 3, 8), (0, 8), (2, 0, 8), (1, 1, 1, 8)], ids=str
)
@pytest.mark.parametrize("make", KINDS)
def test_shapes(make: Make, shape: tuple[int, ...]) -> None:
    ours, theirs = twins(make)
    x = torch.randn(shape, requires_grad=True)
    for actual, expected in zip(gradients(ours, x), gradients(theirs, x), strict=True):
        assert actual.shape == expected.shape
        assert torch.allclose(actual, expected, atol=1e-6)


@pytest.mark.parametrize("make", KINDS)
def test_strides(make: Make) -> None:
    ours, theirs = twins(make)
    x = torch.randn(8, 3, 4).permute(2, 1, 0)[::2].requires_grad_()
    for actual, expected in zip(gradients(ours, x), gradients(theirs, x), strict=True):
        assert torch.allclose(actual, expected, atol=1e-6)
    for block in (ours, theirs):  # a gradient of stride 0
        block(x).sum().backward()
    for (name, found_), expected_ in zip(ours.named_parameters(), theirs.parameters(), strict=True):
        assert torch.allclose(found_.grad, expected_.grad, atol=1e-5), name


@pytest.mark.parametrize("frozen", ["x", "fc1.", "fc2.", "fc2.bias", "fc2.weight", "x fc1."])
def test_what_is_frozen_gets_no_gradient(frozen: str) -> None:
    ours, theirs = twins(plain)
    x = torch.randn(5, 8, requires_grad="x" not in frozen)
    for block in (ours, theirs):
        for name, parameter in block.named_parameters():
            parameter.requires_grad_(not any(name.startswith(part) for part in frozen.split()))
    for actual, expected in zip(gradients(ours, x), gradients(theirs, x), strict=True):
        assert torch.allclose(actual, expected, atol=1e-6)


@pytest.mark.parametrize(
    ("trained", "products"), [("fc2.bias", 2), ("fc2.weight", 3), ("fc1.weight", 4), ("", 6)]
)
def test_no_needless_products(trained: str, products: int) -> None:
    """Two products forward; each layer's way back takes one for its weight, one for its input."""
    from torch.utils.flop_counter import FlopCounterMode

    block, x = FeedForward(8, 24), torch.randn(5, 8, requires_grad=not trained)
    for name, parameter in block.named_parameters():
        parameter.requires_grad_(not trained or name == trained)
    counter = FlopCounterMode(display=False)
    with counter:
        block(x).sum().backward()
    assert counter.get_total_flops() == products * 2 * 5 * 8 * 24


@pytest.mark.parametrize("make", KINDS)
def test_autocast_does_as_torchs_layers_do(make: Make) -> None:
    ours, theirs = twins(make)
    x = torch.randn(5, 8, requires_grad=True)
    with torch.autocast("cpu", torch.bfloat16):
        y, expected = ours(x), theirs(x)
    assert y.dtype is expected.dtype is torch.bfloat16
    assert torch.equal(y, expected)
    y.float().square().sum().backward()
    grad, x.grad = x.grad, None
    expected.float().square().sum().backward()
    assert torch.equal(grad, x.grad)
    for actual, wanted in zip(ours.parameters(), theirs.parameters(), strict=True):
        assert actual.grad.dtype is torch.float32
        assert torch.equal(actual.grad, wanted.grad)


def test_autocast_is_torchs_sequential() -> None:
    theirs = nn.Sequential(nn.Linear(8, 24), nn.GELU(), nn.Linear(24, 8))
    ours = FeedForward.from_linears(theirs[0], theirs[2])
    x = torch.randn(5, 8)
    with torch.autocast("cpu", torch.bfloat16):
        y, expected = ours(x), theirs(x)
    assert y.dtype is expected.dtype
    assert (y - expected).abs().max() <= 2**-7 * expected.abs().max()


def test_autocast_forgets_no_gradient_of_a_shared_weight() -> None:
    block, x = plain(), torch.randn(5, 8, requires_grad=True)
    with torch.autocast("cpu", torch.bfloat16):
        (block(x) + nn.functional.linear(x, block.fc2.weight.t())[..., :8]).sum().backward()
    both = block.fc2.weight.grad.clone()
    block.zero_grad()
    with torch.autocast("cpu", torch.bfloat16):
        block(x).sum().backward()
    assert not torch.equal(both, block.fc2.weight.grad)


@pytest.mark.parametrize("kind", [FeedForward, GatedFeedForward])
def test_second_derivatives(kind: Any) -> None:
    block = kind(2, 3, bias=True, dtype=torch.float64)
    x = torch.randn(2, 2, dtype=torch.float64, requires_grad=True)
    parameters = dict(block.named_parameters())

    def call(x: Tensor, *values: Tensor) -> Tensor:
        argument = dict(zip(parameters, values, strict=True))
        y: Tensor = torch.func.functional_call(block, argument, (x,))
        assert any("RecomputedLinear" in node.name() for node in nodes(y.grad_fn))
        return y

    assert torch.autograd.gradcheck(call, (x, *parameters.values()))
    assert torch.autograd.gradgradcheck(call, (x, *parameters.values()))


@pytest.mark.parametrize("make", KINDS)
def test_functorch(make: Make) -> None:
    block = make()
    parameters, x = dict(block.named_parameters()), torch.randn(5, 3, 8)

    def loss(parameters: dict[str, Tensor], x: Tensor) -> Tensor:
        return torch.func.functional_call(block, parameters, (x,)).square().sum()

    each = torch.func.vmap(torch.func.grad(loss), (None, 0))(parameters, x)
    block(x).square().sum().backward()
    for name, parameter in parameters.items():
        assert torch.allclose(each[name].sum(0), parameter.grad, atol=1e-5)
    tangent = torch.func.jvp(block, (x,), (torch.ones_like(x),))[1]
    step = 1e-3
    with torch.no_grad():
        difference = (block(x + step) - block(x - step)) / (2 * step)
    assert torch.allclose(tangent, difference, atol=1e-3)


@pytest.mark.parametrize("make", KINDS)
def test_batched_gradients(make: Make) -> None:
    block, x = make(), torch.randn(3, 8, requires_grad=True)
    y, grads = block(x), torch.randn(4, 3, 8)
    wanted = (x, *block.parameters())
    batched = torch.autograd.grad(y, wanted, grads, is_grads_batched=True, retain_graph=True)
    for i, grad in enumerate(grads):
        for actual, expected in zip(
            batched, torch.autograd.grad(y, wanted, grad, retain_graph=True), strict=True
        ):
            assert torch.allclose(actual[i], expected, atol=1e-6)


@pytest.mark.parametrize("make", KINDS)
def test_compile(make: Make) -> None:
    block, x = make(), torch.randn(3, 8, requires_grad=True)
    compiled = torch.compile(block, fullgraph=True, backend="aot_eager")
    actual, expected = gradients(compiled, x), gradients(block, x)
    torch._dynamo.reset()
    for first, other in zip(actual, expected, strict=True):
        assert torch.allclose(first, other, atol=1e-6)


def test_hooks_see_saved_tensors_and_may_move_them() -> None:
    ours, theirs = twins(plain)
    x = torch.randn(5, 8, requires_grad=True)
    with torch.autograd.graph.save_on_cpu():
        actual = gradients(ours, x)
    for first, other in zip(actual, gradients(theirs, x), strict=True):
        assert torch.equal(first, other)


def test_an_overwritten_preactivation_is_noticed() -> None:
    block = plain()
    saved: list[Tensor] = []
    block.fc1.register_forward_hook(lambda module, args, output: saved.append(output))
    y = block(torch.randn(5, 8))
    with torch.no_grad():
        saved[0].zero_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


@pytest.mark.parametrize("layer", ["act", "fc2"])
def test_whoever_hooks_a_layer_is_told(layer: str) -> None:
    block = plain()
    x = torch.randn(5, 8)
    expected = block(x)
    calls: list[tuple[int, ...]] = []
    handle = getattr(block, layer).register_forward_hook(
        lambda module, args, output: calls.append(tuple(output.shape))
    )
    assert torch.equal(block(x), expected)
    assert calls == [(5, 24) if layer == "act" else (5, 8)]
    handle.remove()
    block(x)
    assert len(calls) == 1


@pytest.mark.parametrize("save", ["preactivation", "all"])
@pytest.mark.parametrize(("make", "layer"), [(plain, "act"), (plain, "fc2"), (gated, "down_proj")])
def test_a_replaced_forward_is_called(make: Make, layer: str, save: str) -> None:
    """As accelerate replaces it to bring weights from elsewhere."""
    block = make(save=save)
    part = getattr(block, layer)
    width = 24 if layer == "act" else 8
    part.forward = lambda h: torch.full((5, width), 0.5)
    x = torch.randn(5, 8)
    expected = torch.full((5, 24), 0.5) if layer == "act" else None
    y = torch.full((5, 8), 0.5) if expected is None else block.fc2(expected)
    assert torch.equal(block(x), y)
    del part.forward
    assert not torch.equal(block(x), y)


def test_layers_may_be_replaced() -> None:
    block = plain()
    x = torch.randn(5, 8)
    block.act = nn.ReLU()
    assert torch.equal(block(x), block.fc2(block.fc1(x).relu()))
    torch.nn.utils.parametrizations.weight_norm(block.fc2)
    with torch.no_grad():
        block.fc2.parametrizations.weight.original0.zero_()
    assert torch.equal(block(x), block.fc2.bias.expand(5, 8))


def test_a_module_that_learns_its_activation() -> None:
    block = plain(activation=Swish(learnable=True))
    block(torch.randn(5, 8)).sum().backward()
    assert block.act.beta.grad is not None
    with pytest.raises(
        TypeError, match=r"alpha: Swish\(beta=1\) is a module: give the parameters to the module"
    ):
        plain(activation=Swish(), alpha=1.0)


def test_state_dicts_and_pickles() -> None:
    block = plain(activation=sg.leaky_relu, slope=0.3)
    assert list(block.state_dict()) == ["fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias"]
    assert list(gated().state_dict()) == [f"{n}_proj.weight" for n in ("gate", "up", "down")]
    again = pickle.loads(pickle.dumps(block))
    x = torch.randn(5, 8)
    assert torch.equal(again(x), block(x))
    assert again.act.activation.parameters == {"slope": 0.3}


@pytest.mark.parametrize(
    ("name", "function"),
    [("gelu", "gelu"), ("gelu_new", "gelu_tanh"), ("quick_gelu", "gelu_sigmoid"), ("SiLU", "silu")],
)
def test_names_of_other_frameworks(name: str, function: str) -> None:
    assert plain(activation=name).act.activation is sg.activations()[function]


@pytest.mark.parametrize("name", sg.gated())
def test_gates_are_softgates_own(name: str) -> None:
    function = sg.gated()[name]
    block = gated(activation=name)
    x = torch.randn(5, 8)
    with torch.no_grad():
        gate, up = block.gate_proj(x), block.up_proj(x)
        product = function(gate.numpy(), up.numpy(), gate="first")
        expected = block.down_proj(torch.from_numpy(product))
        assert torch.allclose(block(x), expected, atol=1e-6)
    assert gated(activation=function).act.activation is block.act.activation
