"""Random PyTorch models whose activations are known, and what scan and swap must say about them.

A model is a chain of blocks of [4, 16] values: layers with modules, calls and formulas, branches,
weighted channels, norms, gates, recurrent layers, modules inside modules, and modules that are
called twice. The same functions must be found in it, in its trace, and after a swap.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

import softgate as sg
import softgate.torch

ROWS, WIDTH = 4, 16
Function = Callable[[Tensor], Tensor]

MODULES: dict[str, Callable[[], nn.Module]] = {
    "gelu": nn.GELU,
    "gelu_tanh": lambda: nn.GELU(approximate="tanh"),
    "relu": nn.ReLU,
    "relu6": nn.ReLU6,
    "silu": nn.SiLU,
    "mish": nn.Mish,
    "tanh": nn.Tanh,
    "sigmoid": nn.Sigmoid,
    "elu": nn.ELU,
    "elu(alpha=0.5)": lambda: nn.ELU(0.5),
    "selu": nn.SELU,
    "hard_swish": nn.Hardswish,
    "hard_sigmoid": nn.Hardsigmoid,
    "hard_tanh": nn.Hardtanh,
    "softplus": nn.Softplus,
    "log_sigmoid": nn.LogSigmoid,
    "leaky_relu(slope=0.2)": lambda: nn.LeakyReLU(0.2),
    "leaky_relu(slope=0.25)": nn.PReLU,
    "tanhshrink": nn.Tanhshrink,
}
CALLS: dict[str, Function] = {
    "gelu": F.gelu,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "relu": torch.relu,
    "relu6": F.relu6,
    "silu": F.silu,
    "mish": F.mish,
    "tanh": torch.tanh,
    "sigmoid": Tensor.sigmoid,
    "elu": F.elu,
    "hard_swish": F.hardswish,
    "softplus": F.softplus,
    "leaky_relu": F.leaky_relu,
    "hard_tanh": lambda x: x.clamp(-1, 1),
}
FORMULAS: dict[str, tuple[Function, int]] = {
    "gelu": (lambda x: 0.5 * x * (1 + torch.erf(x / 2**0.5)), 1),
    "gelu_tanh": (
        lambda x: 0.5 * x * (1 + torch.tanh((2 / torch.pi) ** 0.5 * (x + 0.044715 * x**3))), 1,
    ),
    "gelu_sigmoid": (lambda x: x * torch.sigmoid(1.702 * x), 1),
    "silu": (lambda x: x / (1 + torch.exp(-x)), 0),
    "mish": (lambda x: x * torch.tanh(F.softplus(x)), 2),
    "hard_swish": (lambda x: x * F.relu6(x + 3) / 6, 1),
    "squared_relu": (lambda x: torch.relu(x).square(), 1),
    "softsign": (lambda x: x / (1 + x.abs()), 0),
    "relu": (lambda x: torch.maximum(x, torch.zeros(())), 0),
}  # fmt: skip
"""Activations written in other operators, with the number of those that are counted."""


@dataclass
class Known:
    """What a model computes in one run."""

    functions: Counter[str]
    operators: int = 0
    """Activation operators, those that are not listed included."""
    unlisted: int = 0


class Block(nn.Module):
    """A layer with an activation: a module, a call or a formula."""

    def __init__(self, random: Random, known: Known) -> None:
        super().__init__()
        self.layer = nn.Linear(WIDTH, WIDTH)
        kind = random.randrange(3)
        self.act: Any
        if kind == 0:
            name = random.choice(sorted(MODULES))
            self.act, count = MODULES[name](), 1
        elif kind == 1:
            name = random.choice(sorted(CALLS))
            self.act, count = CALLS[name], 1
        else:
            name = random.choice(sorted(FORMULAS))
            self.act, count = FORMULAS[name]
        known.functions[name] += 1
        known.operators += count

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = self.act(self.layer(x))
        return result


class Branches(nn.Module):
    """Two blocks, their sum, and the input."""

    def __init__(self, random: Random, known: Known) -> None:
        super().__init__()
        self.left, self.right = Block(random, known), Block(random, known)
        self.mix = nn.Linear(WIDTH, WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        if bool(x.sum() < -1e9):
            return torch.tanh(x)  # never
        mixed: Tensor = self.mix(x + self.left(x) + self.right(x))
        return mixed


class Assembled(nn.Module):
    """Two blocks that are written into slices of a new tensor, and one in place on a view of it."""

    def __init__(self, random: Random, known: Known) -> None:
        super().__init__()
        self.left, self.right = Block(random, known), Block(random, known)
        self.mix = nn.Linear(2 * WIDTH, WIDTH)
        known.functions["sigmoid"] += 1
        known.operators += 1

    def forward(self, x: Tensor) -> Tensor:
        parts = torch.zeros_like(torch.cat([x, x], 1))
        parts[:, :WIDTH] = self.left(x)
        parts[:, WIDTH:] = self.right(x)
        mixed: Tensor = self.mix(parts)
        mixed.view(-1).sigmoid_()
        return mixed


class Excitation(nn.Module):
    """Channels weighted by what is computed from their mean."""

    def __init__(self, random: Random, known: Known) -> None:
        super().__init__()
        self.squeeze, self.up = Block(random, known), nn.Linear(WIDTH, WIDTH)
        known.functions["sigmoid"] += 1
        known.operators += 1

    def forward(self, x: Tensor) -> Tensor:
        weight = torch.sigmoid(self.up(self.squeeze(x.mean(dim=0, keepdim=True))))
        return x * weight


class Gate(nn.Module):
    """A gated unit: torch's own, or an activation times a layer."""

    def __init__(self, random: Random, known: Known) -> None:
        super().__init__()
        self.own = random.random() < 0.5
        self.both, self.gate = nn.Linear(WIDTH, 2 * WIDTH), Block(random, Known(Counter()))
        if self.own:
            known.functions["sigmoid"] += 1
            known.operators += 1
        else:
            self.gate = Block(random, known)

    def forward(self, x: Tensor) -> Tensor:
        if self.own:
            return F.glu(self.both(x))
        result: Tensor = self.gate(x) * self.both(x)[:, :WIDTH]
        return result


class Norm(nn.Module):
    """A norm with a limited divisor, which is no activation but an operator, or torch's own."""

    def __init__(self, random: Random, known: Known) -> None:
        super().__init__()
        self.own = random.random() < 0.5
        self.norm = nn.LayerNorm(WIDTH)
        known.operators += int(not self.own)

    def forward(self, x: Tensor) -> Tensor:
        if self.own:
            result: Tensor = self.norm(x)
            return result
        return x / x.square().mean(dim=1, keepdim=True).clamp(min=1e-6).sqrt()


class Recurrent(nn.Module):
    """An LSTM, whose activations torch computes inside one operator for each layer."""

    def __init__(self, random: Random, known: Known) -> None:
        super().__init__()
        self.layer = nn.LSTM(WIDTH, WIDTH, num_layers=random.choice([1, 2]))
        known.operators += 3 * self.layer.num_layers
        known.unlisted += 3 * self.layer.num_layers

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = self.layer(x)[0]
        return result


class Twice(nn.Module):
    """A module that is called twice."""

    def __init__(self, random: Random, known: Known) -> None:
        super().__init__()
        once = Known(Counter())
        self.part = random.choice(INNER)(random, once)
        for _ in range(2):
            known.functions += once.functions
            known.operators += once.operators
            known.unlisted += once.unlisted

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = self.part(self.part(x) / 2 + 0 * x.amax())
        return result


class Chain(nn.Module):
    """Blocks one after the other, in a list."""

    def __init__(self, random: Random, known: Known, length: int = 2) -> None:
        super().__init__()
        kinds = INNER if length == 2 else BLOCKS
        self.parts = nn.ModuleList(random.choice(kinds)(random, known) for _ in range(length))

    def forward(self, x: Tensor) -> Tensor:
        for part in self.parts:
            x = part(x)
        return x


INNER: tuple[Callable[[Random, Known], nn.Module], ...] = (
    Block, Branches, Assembled, Excitation, Gate, Norm, Recurrent,
)  # fmt: skip
BLOCKS = (*INNER, Block, Twice, Chain)


def build(seed: int, blocks: int) -> tuple[nn.Module, Known]:
    """Return a random model, and what it computes."""
    random, known = Random(seed), Known(Counter())
    with torch.random.fork_rng():
        torch.manual_seed(random.getrandbits(32))
        model = Chain(random, known, blocks).eval()
    return model, known


def functions(scan: Any) -> Counter[str]:
    """Return how often each function is computed."""
    counts: Counter[str] = Counter()
    for row in scan.activations:
        counts[row.answer] += row.calls
    return counts


def check_scan(scan: Any, known: Known) -> None:
    """Raise AssertionError unless a scan shows what a model computes, and each operator once."""
    assert functions(scan) == known.functions, (functions(scan), known.functions)
    rows = sum(row.counted for row in (*scan.activations, *scan.unidentified))
    unlisted = sum(operator.count for operator in scan.unlisted)
    assert (scan.operators, unlisted) == (known.operators, known.unlisted), scan.unlisted
    assert rows + unlisted == scan.operators


def check(seed: int, blocks: int = 6) -> int:
    """Raise AssertionError if scan or swap of a random model is wrong; return the checks made."""
    model, known = build(seed, blocks)
    x = torch.randn(ROWS, WIDTH, generator=torch.Generator().manual_seed(seed % 2**32))
    scan = sg.scan(model, data=x)
    check_scan(scan, known)
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")  # a trace keeps the branch that was taken
        before = model(x)
        traced = torch.jit.trace(model, x, check_trace=False)
    again = sg.scan(traced, data=x)
    assert functions(again) == known.functions, (functions(again), known.functions)
    assert again.operators == known.operators
    swap = sg.torch.swap(model, data=x, partial=True)
    left = [(u.path, u.function) for u in (*swap.unswapped, *swap.unchanged) if u.function]
    named = Counter(left + [(s.path, s.before) for s in swap.swapped])
    rows = Counter((a.path, a.label) for a in scan.activations)
    assert rows == Counter({key: named[key] for key in rows}), (rows, named)
    after = sg.scan(model, data=x)
    assert functions(after) == known.functions, (functions(after), known.functions)
    with torch.no_grad():
        assert torch.allclose(model(x), before, 1e-3, 1e-4)
        swap.undo()
        assert torch.equal(model(x), before)
    return 4
