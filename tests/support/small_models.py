"""Small models and inputs whose weights are multiples of 1/8.

Sums of products of them are exact, in any order: results are the same bits on every CPU, except
where a framework's own activation enters.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor, nn

import softgate.torch as st


def eighths(*shape: int, seed: int, size: int = 8) -> Tensor:
    """Return multiples of 1/8 from -size/8 to size/8."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(-size, size + 1, shape, generator=generator) / 8


def exact(model: nn.Module) -> nn.Module:
    """Return the model with multiples of 1/8 as weights."""
    with torch.no_grad():
        for i, parameter in enumerate(model.parameters()):
            parameter.copy_(eighths(*parameter.shape, seed=i))
    return model.eval()


def dead() -> nn.Module:
    """A ReLU with one dead unit of eight, and a GELU of softgate."""
    layers = nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 6), st.GELU(), nn.Linear(6, 2)
    model = exact(nn.Sequential(*layers))
    with torch.no_grad():
        layers[0].bias[3] = -100.0
    return model


def batches(count: int = 16) -> Iterator[Tensor]:
    """Return batches of 16 inputs."""
    return (eighths(16, 4, seed=100 + i, size=16) for i in range(count))


class Pooled(nn.Module):
    """GELU before and after a mean, a written-out sigmoid gate, and ReLU6."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.gate = nn.Linear(4, 8), nn.Linear(8, 8), nn.Linear(8, 8)
        self.act, self.clip = nn.GELU(), nn.ReLU6()

    def forward(self, x: Tensor) -> Tensor:
        """Return the output for x of shape (…, steps, 4)."""
        pooled = self.act(self.first(x)).mean(-2)
        return self.clip(self.act(self.second(pooled)) * (1 / (1 + torch.exp(-self.gate(pooled)))))


def pooled() -> nn.Module:
    """Return the model with exact weights."""
    return exact(Pooled())


def pooled_tanh() -> nn.Module:
    """Return the same model with the tanh approximation of GELU."""
    model = exact(Pooled())
    model.act = nn.GELU(approximate="tanh")
    return model


def steps() -> Tensor:
    """Return inputs of `pooled`."""
    return eighths(2, 3, 4, seed=7, size=16)


def check_unchanged(model: nn.Module, before: Tensor, x: Tensor | None = None) -> None:
    """Check that a model in evaluation mode has its outputs, and neither hooks nor gradients."""
    assert torch.equal(model(steps() if x is None else x), before)
    for module in model.modules():
        assert not module.training
        assert not module._forward_hooks
        assert not module._forward_pre_hooks
        assert not module._backward_hooks
    assert [p.grad for p in model.parameters() if p.grad is not None] == []
