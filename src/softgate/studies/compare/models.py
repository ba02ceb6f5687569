"""The models of tasks: perceptrons and transformer stacks, their widths and initial weights.

Weights are drawn from a trial's seed as standard normal numbers and then scaled: all elementwise
activations start from the same weights (up to a factor if init="fitted"). A gated model has other
shapes and so other weights, from the same seed.

A layer whose weights have variance g²/fan_in gives outputs of variance g²·E h² for inputs h. With
h = f(z), z from N(0,1), and g = 1/√E f(z)² that is 1 again: an activation's gain keeps the signal
at the scale at which the gain was computed. He's √2 is relu's gain.

A gated layer has two matrix products where a plain one has one, and would have an advantage by size
at the same width. Its width is chosen to come nearest to the plain model's parameters or
operations; a trial records the actual numbers.
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
from softgate.torch import Stack, make

from .trial import Trial
from .trial_functions import Function, function

Model = TypeVar("Model", bound=nn.Module)

UP_STD = 0.1
"""Initial standard deviation of up(x) - 1 for inputs of mean square 1."""


def gain(function: Activation, init: str) -> float:
    """Return the factor of the weights that follow an activation.

    `init` is "he": √2 for all; "fitted": the activation's gain; or "rows": 1, for weights of norm
    1 per unit, as in the GELU paper. For a gated function f(gate)·up with both from N(0,1),
    E (f·up)² = E f², so the gain is that of f.

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
    activation = gate_activation(function) if function.nin == 2 else function
    fitted = activation.properties.gain
    if fitted is None:
        raise ValueError(
            f"{activation.name} has no gain: E f(z)² is 0, infinite or NaN; use init='he'"
        )
    return fitted


def parameters(model: nn.Module) -> int:
    """Return the number of trainable parameters."""
    return sum(p.numel() for p in model.parameters() if p.requires_grad)


def products(model: nn.Module) -> float:
    """Return the operations of all linear layers for one input each: 2·inputs·outputs."""
    linear = (m for m in model.modules() if isinstance(m, nn.Linear))
    return float(sum(2 * m.in_features * m.out_features for m in linear))


def operations(model: nn.Module, example: Tensor) -> float:
    """Return the matrix-product operations of a forward pass of one example.

    Counted by torch's FlopCounterMode: activations, norms and sums are left out, and so is fused
    attention, for all activations alike.
    """
    counter = FlopCounterMode(display=False)
    model.eval()
    with torch.no_grad(), counter:
        model(example[None])
    model.train()
    return float(counter.get_total_flops())


def nearest(count: Callable[[int], float], target: float, start: int) -> int:
    """Return the width with the `count`, an increasing function, that is nearest to `target`.

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


class Weight(NamedTuple):
    """A weight matrix and the factor of its standard deviation 1/√fan_in."""

    values: Tensor
    factor: float


class GatedLayer(nn.Module):
    """activation(gate(x))·up(x).

    silu(gate)·up is quadratic for large x: eight such layers raise the signal to the 256th power
    and overflow at the first step for any weights. As in transformers, a norm precedes each layer.
    Instead of a residual connection, `up` is initialised near 1, since eight products of random
    factors would fit noise.
    """

    def __init__(self, inputs: int, width: int, function: Activation) -> None:
        super().__init__()
        self.gate, self.up = nn.Linear(inputs, width), nn.Linear(inputs, width)
        self.function = function.bind(gate="first")
        self.act = make(gate_activation(function))

    def forward(self, x: Tensor) -> Tensor:
        """Return the product."""
        gate, up = self.gate(x), self.up(x)
        y: Tensor = self.act(gate) * up if self.function.factor is None else self.function(gate, up)
        return y


class RMSNorm(nn.Module):
    """x divided by its root mean square, without parameters."""

    def forward(self, x: Tensor) -> Tensor:
        """Return x scaled to a mean square of 1."""
        return functional.rms_norm(x, x.shape[-1:])


class Perceptron(nn.Sequential):
    """Hidden layers of one width, each followed by dropout if any, and a linear output layer."""

    def __init__(self, widths: list[int], function: Function, dropout: float, norm: str) -> None:
        *hidden, outputs = widths
        normed = {"all": True, "none": False, "gated": function.nin == 2}[norm]
        layers: dict[str, nn.Module] = {}
        for i, (a, b) in enumerate(pairwise(hidden), 1):
            if normed:
                layers[f"norm{i}"] = RMSNorm()
            if function.nin == 2:
                layers[f"gate{i}"] = GatedLayer(a, b, function)
            else:
                layers[f"linear{i}"], layers[f"act{i}"] = nn.Linear(a, b), make(function)
            if dropout:
                layers[f"dropout{i}"] = nn.Dropout(dropout)
        super().__init__(OrderedDict(layers, out=nn.Linear(hidden[-1], outputs)))
        self.normed = normed

    def weights(self, init: str, gain: float) -> Iterator[Weight]:
        """Yield the weights with their factors.

        Inputs and the outputs of norms have a mean square of 1, relu's outputs with He's rule too.
        With He's rule the factor is √2, and 1 for the output layer. With fitted gains it is the
        activation's gain, and 1 for the first layer and for layers after a norm.
        """
        first, last = (1.0, gain) if init == "fitted" else (gain, 1.0)
        *hidden, out = [m for m in self if isinstance(m, nn.Linear | GatedLayer)]
        for i, layer in enumerate(hidden):
            factor = first if i == 0 or self.normed else gain
            if isinstance(layer, GatedLayer):
                yield Weight(layer.gate.weight, factor)
                yield Weight(layer.up.weight, UP_STD)
            else:
                yield Weight(layer.weight, factor)
        yield Weight(out.weight, last)  # type: ignore[arg-type]


class Transformer(nn.Module):
    """A stack of transformer blocks, with outputs at each position or for the mean of them."""

    def __init__(
        self, embed: nn.Module, length: int, outputs: int, stack: Stack, d_model: int
    ) -> None:
        super().__init__()
        self.embed, self.stack = embed, stack
        self.position = nn.Parameter(torch.empty(length, d_model))
        self.out = nn.Linear(d_model, outputs)
        self.causal = isinstance(embed, nn.Embedding)

    def forward(self, x: Tensor) -> Tensor:
        """Return outputs at each position of characters, or one output for an image's rows."""
        h = self.stack(self.embed(x) + self.position[: x.shape[1]])
        y: Tensor = self.out(h if self.causal else h.mean(1))
        return y

    def weights(self, init: str, gain: float) -> Iterator[Weight]:
        """Yield the weights with their factors.

        The inputs of blocks are outputs of a norm, of mean square 1; only the last layer of a
        feed-forward block follows an activation. Layers that add to the residual stream are scaled
        by 1/√(2·blocks), as in GPT-2.
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


def draw_weights(model: Any, seed: int, init: str, gain: float) -> None:
    """Draw all weights from a seed, the same numbers for any scale; set biases to constants."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for module in model.modules():
            if isinstance(module, nn.Linear):
                module.bias.zero_()
        for module in model.modules():
            if isinstance(module, GatedLayer):
                # clamped_swiglu multiplies by up + 1.
                module.up.bias.fill_(1.0 if module.function.factor is None else 0.0)
        for values, factor in model.weights(init, gain):
            drawn = torch.randn(values.shape, generator=generator)
            if init == "rows":
                drawn /= drawn.norm(dim=1, keepdim=True)
            else:
                drawn /= math.sqrt(values.shape[1])
            values.copy_(drawn * factor)


def build(trial: Trial, width: int, make_model: Callable[[int, Function], Model]) -> Model:
    """Return the model of a trial with drawn weights; the width of a gated one is matched."""
    activation, settings = function(trial.activation), trial.settings
    if activation.nin == 2:
        plain, match = gate_activation(activation), settings["match"]

        def count(width: int, function: Function = activation) -> float:
            with torch.device("meta"):
                model = make_model(width, function)
            return parameters(model) if match == "parameters" else products(model)

        width = nearest(count, count(width, plain), width)
    with torch.random.fork_rng(devices=[]):  # torch draws weights, which are overwritten
        model = make_model(width, activation)
    init = str(settings["init"])
    draw_weights(model, trial.seed, init, gain(activation, init))
    return model


def perceptron(inputs: int, outputs: int, trial: Trial) -> Perceptron:
    """Return a trial's perceptron; a gated one is narrower, to match a plain one."""
    settings: Any = trial.settings
    layers, dropout, norm = (settings[name] for name in ("layers", "dropout", "norm"))

    def make_model(width: int, function: Function) -> Perceptron:
        return Perceptron([inputs, *[width] * layers, outputs], function, dropout, norm)

    return build(trial, settings["width"], make_model)


def transformer(
    embed: Callable[[int], nn.Module], outputs: int, length: int, trial: Trial
) -> Transformer:
    """Return a trial's stack of transformer blocks; `embed` makes the input layer for a width.

    Characters are read causally with norms before the sublayers, as in GPT-2; an image's rows all
    at once with norms after them, as in BERT.
    """
    settings: Any = trial.settings
    d_model = settings["width"]

    def make_model(hidden: int, function: Function) -> Transformer:
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
        return Transformer(first, length, outputs, stack, d_model)

    return build(trial, settings["hidden"], make_model)
