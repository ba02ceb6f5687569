"""The models of tasks, with softgate's activations, and how their weights are drawn.

Weights are drawn from a trial's seed alone, as standard normal numbers that are then scaled: all
elementwise activations begin with the same ones (but for a factor where `init="fitted"` asks for
it). A gated model has other shapes and so other weights, from the same seed.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.flop_counter import FlopCounterMode

from softgate.frameworks.block_arguments import gate_activation
from softgate.runtime.activation import Activation
from softgate.runtime.gated import Gated
from softgate.torch import Stack, make

from .functions import function
from .trial import Trial

INITS = ("he", "fitted", "rows")
"""√2 for every activation; its own gain; each unit's weights with a norm of 1, as the GELU paper
has them."""


def gain(function: Activation | Gated, init: str) -> float:
    """Return the factor of the weights that read an activation's outputs.

    Of a gated one, f(gate)·up with both from N(0,1), E (f·up)² = E f²: the gate's own gain.

    Examples
    --------
    >>> import softgate as sg
    >>> round(gain(sg.relu, "fitted") ** 2, 6), round(gain(sg.gelu, "fitted"), 4)
    (2.0, 1.5335)
    >>> gain(sg.gelu, "he") ** 2
    2.0000000000000004
    """
    if init == "he":
        return math.sqrt(2)
    if init == "rows":
        return 1.0
    activation = gate_activation(function) if isinstance(function, Gated) else function
    found = activation.properties.gain
    if found is None:
        raise ValueError(
            f"{activation.name} has no gain: E f(z)² is 0, or no number; use init='he'"
        )
    return found


MATCHES = ("parameters", "flops")


def parameters(model: nn.Module) -> int:
    """Return how many numbers are learnt."""
    return sum(p.numel() for p in model.parameters() if p.requires_grad)


def products(model: nn.Module) -> float:
    """Return the operations of all linear layers for one input of each: 2·inputs·outputs."""
    linear = (m for m in model.modules() if isinstance(m, nn.Linear))
    return float(sum(2 * m.in_features * m.out_features for m in linear))


def operations(model: nn.Module, example: Tensor) -> float:
    """Return the operations of a forward pass of one example, in matrix products alone.

    That is what torch's own counter counts: activations, norms and sums are left out, and so is
    attention where it is fused, the same for all arms.
    """
    counter = FlopCounterMode(display=False)
    model.eval()
    with torch.no_grad(), counter:
        model(example[None])
    model.train()
    return float(counter.get_total_flops())


def nearest(count: Callable[[int], float], target: float, start: int) -> int:
    """Return the width whose count, which rises with it, is nearest to `target`.

    Examples
    --------
    >>> nearest(lambda width: 2 * width**2, 128**2, 128)
    91
    """
    low, high = 1, max(2, start)
    while count(high) < target:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if count(middle) < target else (low, middle)
    return min((low, high), key=lambda width: (abs(count(width) - target), width))


Function = Activation | Gated
Built = TypeVar("Built", bound=nn.Module)


NEAR = 0.1
"""What `up` adds to 1 at first has this standard deviation, for inputs of mean square 1."""


class Weight(NamedTuple):
    """A weight matrix and the factor of its standard deviation 1/√fan_in."""

    values: Tensor
    factor: float


class Gate(nn.Module):
    """activation(gate(x))·up(x).

    silu(gate)·up is quadratic in a large x: eight such layers raise a signal to the 256th power,
    and overflow at the first step whatever the weights. In transformers a norm stands before, and a
    perceptron has one here, too. There a residual passes by as well; here `up` begins near 1, or
    eight products would fit noise alone.
    """

    def __init__(self, inputs: int, width: int, function: Gated) -> None:
        super().__init__()
        self.gate, self.up = nn.Linear(inputs, width), nn.Linear(inputs, width)
        self.act = make(gate_activation(function))

    def forward(self, x: Tensor) -> Tensor:
        """Return the product."""
        y: Tensor = self.act(self.gate(x)) * self.up(x)
        return y


class Norm(nn.Module):
    """x over its root mean square: learns nothing."""

    def forward(self, x: Tensor) -> Tensor:
        """Return x, brought to a mean square of 1."""
        return functional.rms_norm(x, x.shape[-1:])


class Perceptron(nn.Sequential):
    """Hidden layers of one width, each followed by dropout where there is any, and a linear one."""

    def __init__(self, widths: list[int], function: Function, dropout: float, norm: str) -> None:
        *hidden, outputs = widths
        normed = {"all": True, "none": False, "gated": isinstance(function, Gated)}[norm]
        layers: dict[str, nn.Module] = {}
        for i, (a, b) in enumerate(pairwise(hidden), 1):
            if normed:
                layers[f"norm{i}"] = Norm()
            if isinstance(function, Gated):
                layers[f"gate{i}"] = Gate(a, b, function)
            else:
                layers[f"linear{i}"], layers[f"act{i}"] = nn.Linear(a, b), make(function)
            if dropout:
                layers[f"dropout{i}"] = nn.Dropout(dropout)
        super().__init__(OrderedDict(layers, out=nn.Linear(hidden[-1], outputs)))
        self.normed = normed

    def weights(self, init: str, gain: float) -> Iterator[Weight]:
        """Yield the weights with their factors.

        Inputs have a mean square of 1, as activations' outputs have after He's √2 for relu. So the
        first layer has He's factor as all others have, and the output's is 1; where factors are
        fitted, the first layer's is 1, and the output's the activation's. What a norm made has a
        mean square of 1, too.
        """
        first, last = (1.0, gain) if init == "fitted" else (gain, 1.0)
        *hidden, out = [m for m in self if isinstance(m, nn.Linear | Gate)]
        for i, layer in enumerate(hidden):
            factor = first if i == 0 or self.normed else gain
            if isinstance(layer, Gate):
                yield Weight(layer.gate.weight, factor)
                yield Weight(layer.up.weight, NEAR)
            else:
                yield Weight(layer.weight, factor)
        yield Weight(out.weight, last)  # type: ignore[arg-type]


class Reader(nn.Module):
    """A stack of transformer blocks over positions: outputs at each of them, or for all at once."""

    def __init__(
        self, embed: nn.Module, length: int, outputs: int, stack: Stack, d_model: int
    ) -> None:
        super().__init__()
        self.embed, self.stack = embed, stack
        self.position = nn.Parameter(torch.empty(length, d_model))
        self.out = nn.Linear(d_model, outputs)
        self.causal = isinstance(embed, nn.Embedding)

    def forward(self, x: Tensor) -> Tensor:
        """Return outputs at each position of characters, or one of an image's rows."""
        h = self.stack(self.embed(x) + self.position[: x.shape[1]])
        y: Tensor = self.out(h if self.causal else h.mean(1))
        return y

    def weights(self, init: str, gain: float) -> Iterator[Weight]:
        """Yield the weights with their factors.

        Blocks read what a norm made, of mean square 1; only the last layer of a feed-forward block
        reads the activation. What is added to the residual is smaller by √(2·blocks), as in GPT-2.
        """
        blocks = self.stack.blocks
        small = 1 / math.sqrt(2 * len(blocks))
        embedding: Any = self.embed.weight
        yield Weight(embedding, math.sqrt(embedding.shape[1]) if self.causal else 1.0)
        yield Weight(self.position, 0.1 * math.sqrt(self.position.shape[1]))
        for block in blocks:
            module: Any = block
            yield Weight(module.attention.in_proj_weight, 1.0)
            yield Weight(module.attention.out_proj.weight, small)
            *first, last = [m for m in module.feed_forward.children() if isinstance(m, nn.Linear)]
            for linear in first:
                yield Weight(linear.weight, 1.0)
            yield Weight(last.weight, gain * small)
        yield Weight(self.out.weight, 1.0)


def draw(model: Any, seed: int, init: str, factor: float) -> None:
    """Draw all weights from a seed, the same numbers whatever their scale; biases are not drawn."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for module in model.modules():
            if isinstance(module, nn.Linear):
                module.bias.zero_()
        for module in model.modules():
            if isinstance(module, Gate):
                module.up.bias.fill_(1.0)
        for values, scale in model.weights(init, factor):
            drawn = torch.randn(values.shape, generator=generator)
            if init == "rows":
                drawn /= drawn.norm(dim=1, keepdim=True)
            else:
                drawn /= math.sqrt(values.shape[1])
            values.copy_(drawn * scale)


def built(trial: Trial, width: int, make_model: Callable[[int, Function], Built]) -> Built:
    """Return the model of a trial: of a width that matches the plain one's, with drawn weights."""
    meant, settings = function(trial.activation), trial.settings
    if isinstance(meant, Gated):
        plain, match = gate_activation(meant), settings["match"]

        def count(width: int, function: Function = meant) -> float:
            with torch.device("meta"):
                model = make_model(width, function)
            return parameters(model) if match == "parameters" else products(model)

        width = nearest(count, count(width, plain), width)
    with torch.random.fork_rng(devices=[]):  # torch draws weights of its own, which are not kept
        model = make_model(width, meant)
    init = str(settings["init"])
    draw(model, trial.seed, init, gain(meant, init))
    return model


def perceptron(inputs: int, outputs: int, trial: Trial) -> Perceptron:
    """Return a trial's perceptron; a gated one is as narrow as it must be to match a plain one."""
    settings: Any = trial.settings
    layers, dropout, norm = (settings[name] for name in ("layers", "dropout", "norm"))

    def make_model(width: int, function: Function) -> Perceptron:
        return Perceptron([inputs, *[width] * layers, outputs], function, dropout, norm)

    return built(trial, settings["width"], make_model)


def reader(embed: Callable[[int], nn.Module], outputs: int, length: int, trial: Trial) -> Reader:
    """Return a trial's stack of transformer blocks over what `embed`, given a width, makes.

    Characters are read from left to right with norms before the sublayers, as GPT-2 does; rows of
    an image all at once with norms after them, as BERT does.
    """
    settings: Any = trial.settings
    d_model = settings["width"]

    def make_model(hidden: int, function: Function) -> Reader:
        first = embed(d_model)
        causal = isinstance(first, nn.Embedding)
        stack = Stack(
            settings["layers"],
            d_model,
            settings["heads"],
            hidden,
            activation=function,
            norm="pre" if causal else "post",
            causal=causal,
            batch_first=True,
            dropout=settings["dropout"],
        )
        return Reader(first, length, outputs, stack, d_model)

    return built(trial, settings["hidden"], make_model)
