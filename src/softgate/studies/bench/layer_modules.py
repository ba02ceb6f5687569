"""Feed-forward layers, torch's and softgate's, that measure the time of their activation in a run.

The activation is timed inside the layer, which is possible because CPU operators are synchronous.
Its backward is an autograd node, or `HiddenLayer.pull` if the layer recomputes its hidden layer.
Caches are therefore in the same state as in real use, and no time is computed by subtraction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter_ns
from typing import Any

import torch
from torch import Tensor, nn

from softgate.frameworks.torch import low_memory_feed_forward as low_memory
from softgate.frameworks.torch.decompositions import Native, native
from softgate.runtime.activation import Activation
from softgate.torch import FeedForward, GatedFeedForward

from .layer_record import OURS, THEIRS

IMPLEMENTATIONS = (THEIRS, OURS)


@contextmanager
def torch_state(threads: int, seed: int) -> Iterator[None]:
    """Set torch's thread count and seed its generator; restore both afterwards."""
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            yield
    finally:
        torch.set_num_threads(before)


class Stopwatch:
    """Stopwatch that sums the times from each `begin` to the next `end`."""

    def __init__(self) -> None:
        self.spent_ns = self._since = 0

    def begin(self, *_: object) -> None:
        """Start the clock."""
        self._since = perf_counter_ns()

    def end(self, *_: object) -> None:
        """Stop the clock."""
        self.spent_ns += perf_counter_ns() - self._since


class TorchHiddenLayer(low_memory.HiddenLayer):
    """The hidden layer with torch's operators: act(h), or act(gate)·up."""

    def __init__(self, act: Native) -> None:
        self.act = act

    def value(self, *inputs: Tensor) -> Tensor:
        """Return the hidden layer."""
        gate, *up = inputs
        return self.act(gate) * up[0] if up else self.act(gate)

    def pull(self, grad: Tensor, needs: Sequence[bool], *inputs: Tensor) -> tuple[Any, ...]:
        """Never called: autograd computes torch's backward."""
        raise NotImplementedError("torch's operators are differentiated by autograd")

    def keeps_one(self) -> bool:
        """Never called: torch decides what it saves."""
        return False


class TimedHiddenLayer(low_memory.HiddenLayer):
    """A hidden layer that starts and stops a watch, forward and backward."""

    def __init__(self, hidden: low_memory.HiddenLayer, watch: Stopwatch) -> None:
        self.hidden, self.watch = hidden, watch

    def value(self, *inputs: Tensor) -> Tensor:
        """Return the hidden layer, with hooks on its autograd nodes that time the backward."""
        self.watch.begin()
        result = self.hidden.value(*inputs)
        self.watch.end()
        if result.grad_fn is not None:
            for node in _between(result.grad_fn, {tensor.grad_fn for tensor in inputs}):
                node.register_prehook(self.watch.begin)
                node.register_hook(self.watch.end)
        return result

    def pull(self, grad: Tensor, needs: Sequence[bool], *inputs: Tensor) -> tuple[Any, ...]:
        """Return the gradients of the inputs."""
        self.watch.begin()
        gradients = self.hidden.pull(grad, needs, *inputs)
        self.watch.end()
        return gradients

    def keeps_one(self) -> bool:
        """Return what the hidden layer does."""
        return self.hidden.keeps_one()


def _between(last: Any, first: set[Any]) -> Iterator[Any]:
    """Yield the autograd nodes from `last` back to the nodes in `first`, exclusive."""
    seen, left = set(first), [last]
    while left:
        node = left.pop()
        if node in seen:
            continue
        seen.add(node)
        yield node
        left += [before for before, _ in node.next_functions if before is not None]


class FeedForwardBlock(nn.Module):
    """One or two parallel linear layers, a hidden layer of their outputs, one linear layer."""

    def __init__(
        self,
        before: Sequence[nn.Module],
        hidden: low_memory.HiddenLayer,
        after: nn.Linear,
        ours: bool,
    ) -> None:
        super().__init__()
        self.before, self.after, self.watch = nn.ModuleList(before), after, Stopwatch()
        self.hidden = TimedHiddenLayer(hidden, self.watch)
        self.linear = low_memory.linear if ours else low_memory.composed

    def forward(self, x: Tensor) -> Tensor:
        """Return the layer's output."""
        inputs = tuple(layer(x) for layer in self.before)
        return self.linear(self.hidden, inputs, self.after.weight, self.after.bias)


@dataclass(frozen=True)
class LayerShape:
    """The sizes and the format of a layer."""

    d_model: int
    d_hidden: int
    tokens: int
    dtype: str


class SharedLinears:
    """The linear layers of one shape, plain or gated, which all activations share."""

    def __init__(self, shape: LayerShape, gated: bool) -> None:
        dtype = getattr(torch, shape.dtype)
        module: nn.Module
        self.before: tuple[nn.Linear, ...]
        if gated:
            module = GatedFeedForward(
                shape.d_model, shape.d_hidden, match="parameters", dtype=dtype
            )
            self.before = (module.gate_proj, module.up_proj)
            self.after = module.down_proj
        else:
            module = FeedForward(shape.d_model, shape.d_hidden, dtype=dtype)
            self.before, self.after = (module.fc1,), module.fc2
        self.d_hidden = int(self.after.in_features)

    def shapes(self) -> list[tuple[int, int]]:
        """Return the shapes of the linear layers."""
        return [(int(m.in_features), int(m.out_features)) for m in (*self.before, self.after)]


def make(
    function: Activation, linears: SharedLinears, implementation: str
) -> FeedForwardBlock | None:
    """Return the layer with this activation, or None if torch has no operator for it."""
    gated = function.nin == 2
    act = function.gate_activation if gated else function
    ours = implementation == OURS
    hidden: low_memory.HiddenLayer
    if act is None or function.factor is not None:
        if not ours:  # torch has no such operator
            return None
        hidden = low_memory.HiddenLayer(function.bind(gate="first"))
    elif ours:
        hidden = low_memory.GatedHiddenLayer(act) if gated else low_memory.HiddenLayer(act)
    else:
        operator = native(act, act.parameters)
        if operator is None:
            return None
        hidden = TorchHiddenLayer(operator)
    return FeedForwardBlock(linears.before, hidden, linears.after, ours)


def inputs(shape: LayerShape) -> tuple[Tensor, Tensor]:
    """Return a standard normal input, as after a normalisation, and a gradient of the output."""
    size, dtype = (shape.tokens, shape.d_model), getattr(torch, shape.dtype)
    return torch.randn(size, dtype=dtype).requires_grad_(), torch.randn(size, dtype=dtype)


@dataclass(frozen=True)
class LayerTimes:
    """One run: the layer's time and that of the activation in it."""

    whole_ns: int
    activation_ns: int


def runner(
    block: FeedForwardBlock, phase: str, x: Tensor, grad: Tensor
) -> Callable[[], LayerTimes]:
    """Return a function that runs a layer once, forward alone or with backward."""
    leaves = [x, *block.parameters()]
    watch = block.watch

    def forward() -> None:
        with torch.no_grad():
            block(x)

    def step() -> None:
        torch.autograd.grad(block(x), leaves, grad)

    call = forward if phase == "forward" else step

    def run() -> LayerTimes:
        watch.spent_ns = 0
        start = perf_counter_ns()
        call()
        return LayerTimes(perf_counter_ns() - start, watch.spent_ns)

    return run
