"""What feed-forward blocks save: half of what torch's own layers do, with the same gradients."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from softgate.runtime.activation import Activation
from softgate.torch import FeedForward, GatedFeedForward, saved_bytes

LIMIT = 0.56
"""Saved bytes at 768/3072, over those of torch's own layers."""


class Llama(nn.Module):
    """A gated block in torch's own operators."""

    def __init__(self, d_model: int, d_hidden: int) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(d_model, d_hidden, bias=False)
        self.up_proj = nn.Linear(d_model, d_hidden, bias=False)
        self.down_proj = nn.Linear(d_hidden, d_model, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.down_proj(nn.functional.silu(self.gate_proj(x)) * self.up_proj(x))


def sequential(d_model: int, d_hidden: int) -> nn.Module:
    return nn.Sequential(nn.Linear(d_model, d_hidden), nn.GELU(), nn.Linear(d_hidden, d_model))


def test_saved_bytes_of_a_plain_block() -> None:
    x = torch.randn(32, 768, requires_grad=True)
    theirs = saved_bytes(sequential(768, 3072), x)
    assert theirs == 32 * 4 * (768 + 2 * 3072)
    assert saved_bytes(FeedForward(768, 3072), x) == 32 * 4 * (768 + 3072) <= LIMIT * theirs
    assert saved_bytes(FeedForward(768, 3072, save="all"), x) == theirs


def test_saved_bytes_of_a_gated_block() -> None:
    x = torch.randn(32, 768, requires_grad=True)
    theirs = saved_bytes(Llama(768, 2048), x)
    assert theirs == 32 * 4 * (768 + 4 * 2048)
    ours = saved_bytes(GatedFeedForward(768, 2048), x)
    assert ours == 32 * 4 * (768 + 2 * 2048) <= LIMIT * theirs
    # Gate, up and their product: a fused product keeps no act(gate).
    assert saved_bytes(GatedFeedForward(768, 2048, save="all"), x) == 32 * 4 * (768 + 3 * 2048)


def test_a_dropped_hidden_layer_is_saved_as_a_mask() -> None:
    x = torch.randn(32, 8, requires_grad=True)
    block = FeedForward(8, 24, hidden_dropout=0.5)
    assert saved_bytes(block, x) == 32 * (4 * (8 + 24) + 24)


def test_no_activation_saves_more_than_torchs_way(activation: Activation) -> None:
    x = torch.randn(16, 8, requires_grad=True)
    ours, theirs = (FeedForward(8, 24, activation, save=s) for s in ("preactivation", "all"))
    assert saved_bytes(ours, x) <= min(saved_bytes(theirs, x), 16 * 4 * (8 + 24))


def test_gradients_are_those_of_torchs_own_layers() -> None:
    theirs = sequential(768, 3072)
    ours = FeedForward.from_linears(theirs[0], theirs[2], "gelu")
    x = torch.randn(64, 768, requires_grad=True)
    agree(ours, theirs, x)


def test_gradients_of_a_gated_block_are_those_of_torchs_own_layers() -> None:
    theirs = Llama(768, 2048)
    ours = GatedFeedForward(768, 2048)
    ours.load_state_dict(theirs.state_dict())
    x = torch.randn(64, 768, requires_grad=True)
    agree(ours, theirs, x)


def test_saved_bytes_are_counted_once_and_without_weights() -> None:
    """A check of the check: a block that saves something else is seen to."""

    class Doubled(nn.Linear):
        def forward(self, x: Tensor) -> Tensor:
            return super().forward(x * x)  # saves x, and x * x

    x = torch.randn(4, 8, requires_grad=True)
    assert saved_bytes(nn.Linear(8, 2), x) == 4 * 8 * 4
    assert saved_bytes(Doubled(8, 2), x) == 2 * 4 * 8 * 4


def agree(ours: nn.Module, theirs: nn.Module, x: Tensor) -> None:
    grad = torch.randn(x.shape)
    actual = torch.autograd.grad(ours(x), [x, *ours.parameters()], grad)
    expected = torch.autograd.grad(theirs(x), [x, *theirs.parameters()], grad)
    for first, other in zip(actual, expected, strict=True):
        assert (first - other).norm() < 1e-6 * other.norm()
