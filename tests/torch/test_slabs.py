"""Feed-forward blocks without gradients, in slabs of tokens: the results of the whole layer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import softgate as sg
from softgate.frameworks.torch import low_memory_feed_forward as low_memory
from softgate.torch import FeedForward, GatedFeedForward

pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")

Block = FeedForward | GatedFeedForward
TOKENS = 8


@pytest.fixture(autouse=True)
def _small_slabs(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(low_memory, "SLAB_TOKENS", TOKENS)
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def buffers(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of slabs of each block that was computed in slabs."""
    counts: list[int] = []
    compute = low_memory.compute_in_slabs

    def counted(*arguments: Any) -> Tensor:
        counts.append(arguments[-1])
        return compute(*arguments)

    monkeypatch.setattr(low_memory, "compute_in_slabs", counted)
    return counts


def whole(block: Block, x: Tensor) -> Tensor:
    """Return the output in torch's linear layers."""
    if isinstance(block, FeedForward):
        return block.fc2(block.act(block.fc1(x)))
    return block.down_proj(block.act(block.gate_proj(x)) * block.up_proj(x))


MAKERS: list[Callable[..., Block]] = [
    lambda **options: FeedForward(8, 24, **options),
    lambda **options: FeedForward(8, 24, "elu", bias=False, alpha=2.0, **options),
    lambda **options: GatedFeedForward(8, 24, **options),
    lambda **options: GatedFeedForward(8, 24, sg.mish, bias=True, **options),
]


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize(
    "dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16], ids=str
)
def test_results_are_those_of_the_whole_layer(
    make: Callable[..., Block], dtype: torch.dtype, buffers: list[int]
) -> None:
    torch.manual_seed(0)
    block = make(dtype=dtype)
    x = torch.randn(3, 7, 8).to(dtype)
    before = x.clone()
    with torch.no_grad():
        result, expected = block(x), whole(block, x)
    assert buffers == [3]  # 21 tokens in slabs of at most 8
    assert result.shape == expected.shape
    assert result.dtype is dtype
    assert torch.equal(x, before)
    steps = torch.finfo(dtype).eps * expected.abs().max()
    assert (result - expected).abs().max() <= 8 * steps


def test_inputs_of_any_layout(buffers: list[int]) -> None:
    block = FeedForward(8, 24)
    for x in (
        torch.randn(8, 40).t(),
        torch.randn(40, 1).expand(40, 8),
        torch.randn(40, 16)[:, ::2],
    ):
        with torch.inference_mode():
            torch.testing.assert_close(block(x), whole(block, x))
    assert buffers == [5, 5, 5]


def test_larger_slabs_on_several_threads(buffers: list[int]) -> None:
    block, x = FeedForward(8, 24), torch.randn(40, 8)
    torch.set_num_threads(2)
    with torch.no_grad():
        torch.testing.assert_close(block(x), whole(block, x))
        block(x[: 4 * TOKENS - 1])
    assert buffers == [3]  # of at most 16 tokens


def test_without_parameters_that_require_grad(buffers: list[int]) -> None:
    """Slabs depend on whether a gradient is needed, not on the mode alone."""
    block, x = FeedForward(8, 24).requires_grad_(False), torch.randn(40, 8)
    torch.testing.assert_close(block(x), whole(block, x))
    assert buffers == [5]
    x.requires_grad_()
    assert block(x).requires_grad
    block.fc2.requires_grad_()
    assert block(x.detach()).requires_grad
    assert buffers == [5]


def hooked(block: FeedForward) -> None:
    block.fc1.register_forward_hook(lambda *_: None)


def own_activation(block: FeedForward) -> None:
    block.act = nn.GELU()


def own_layer(block: FeedForward) -> None:
    block.fc1 = nn.Sequential(block.fc1)  # type: ignore[assignment]


@pytest.mark.parametrize("change", [hooked, own_activation, own_layer])
def test_observed_layers_are_called(
    change: Callable[[FeedForward], None], buffers: list[int]
) -> None:
    block, x = FeedForward(8, 24), torch.randn(40, 8)
    change(block)
    with torch.no_grad():
        torch.testing.assert_close(block(x), whole(block, x))
    assert not buffers


def test_where_slabs_are_not_used(buffers: list[int]) -> None:
    block, x = FeedForward(8, 24, hidden_dropout=0.5), torch.randn(40, 8)
    with torch.no_grad():
        block(x)  # dropout of the hidden layer
        block.eval()
        block(x[: 2 * TOKENS - 1])
        block(x[0])
        with torch.autocast("cpu", torch.bfloat16):
            assert block(x).dtype is torch.bfloat16
        torch.func.vmap(block)(x.reshape(2, 20, 8))
        torch.jit.trace(block, x, check_trace=False)
        torch.export.export(block, (x,))
        block.to("meta")(x.to("meta"))
    assert not buffers


def test_compiled(buffers: list[int]) -> None:
    block, x = FeedForward(8, 24), torch.randn(40, 8)
    with torch.no_grad():
        result = torch.compile(block, backend="eager", fullgraph=True)(x)
        assert not buffers
        torch.testing.assert_close(result, block(x))
    assert buffers == [5]


@pytest.mark.parametrize("make", MAKERS)
def test_errors_are_those_of_the_linear_layer(make: Callable[..., Block]) -> None:
    with torch.no_grad(), pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
        make()(torch.randn(40, 9))
    with torch.no_grad(), pytest.raises(RuntimeError, match="same dtype"):
        make()(torch.randn(40, 8, dtype=torch.float64))


def test_explain() -> None:
    block, x = FeedForward(8, 24), torch.zeros(40, 8)
    with torch.no_grad():
        explanation = sg.explain(x, block)
    assert explanation.computed_by == "5 slabs of 8 tokens"
    assert "in a buffer of" in explanation.memory
    assert explanation.activation == "FeedForward with gelu"
    assert "recomputed for the gradient" in str(sg.explain(x, block))
    assert "recomputed" not in str(sg.explain(x, FeedForward(8, 24, save="all")))
    with pytest.raises(TypeError, match="explain of a FeedForward: expected no further options"):
        sg.explain(x, block, quantity="slope")
