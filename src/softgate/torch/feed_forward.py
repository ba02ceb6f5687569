"""Feed-forward blocks, linear - activation - linear, that train with about half the memory.

With `save="preactivation"` a block keeps its input and what goes into the activation; the hidden
layer is made again for the gradient. Results and gradients are those of `save="all"`, bit for bit
in float32 and float64 except where the slope is told from the value there (tanh and its like).

Activation checkpointing (`torch.utils.checkpoint`) keeps the input alone and runs the first
product again as well: less memory still, at the price of that product.
"""

from __future__ import annotations

from typing import Any, Literal, get_args

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from softgate.frameworks.block_arguments import check_share, check_widths, gated_width
from softgate.frameworks.torch import feedforward
from softgate.runtime.activation import Activation
from softgate.runtime.gated import Gated

from . import modules, naming

Save = Literal["preactivation", "all"]


class FeedForward(nn.Module):
    """linear - activation - linear, as in BERT, GPT-2 and ViT.

    Parameters
    ----------
    d_model, d_hidden : int
        Width of input and output, and of the hidden layer.
    activation : str, Activation or Module
        Any name that softgate knows, an activation, or a module (which then keeps what it wants).
    bias : bool
        Whether the linear layers have biases.
    dropout : float
        Share of outputs set to 0 in training (where BERT and GPT-2 have it).
    hidden_dropout : float
        The same for the hidden layer, after the activation (where T5 has it).
    save : {"preactivation", "all"}
        What is kept for the gradient: the input and the pre-activation, or all that torch keeps.
    **parameters
        The activation's own, such as `slope` for leaky_relu.

    Notes
    -----
    The layers are `fc1`, `act` and `fc2`. If one of the last two is replaced or hooked, or its
    `forward` is, it is called as a module, and memory is as with `save="all"`.

    Examples
    --------
    >>> import torch
    >>> block = FeedForward(768, 3072)
    >>> block(torch.zeros(2, 10, 768)).shape
    torch.Size([2, 10, 768])
    >>> sum(parameter.numel() for parameter in block.parameters())
    4722432
    """

    def __init__(  # noqa: PLR0913 - torch.nn's layers have as many
        self,
        d_model: int,
        d_hidden: int,
        activation: str | Activation | nn.Module = "gelu",
        bias: bool = True,
        dropout: float = 0.0,
        save: Save = "preactivation",
        *,
        hidden_dropout: float = 0.0,
        device: Any = None,
        dtype: torch.dtype | None = None,
        **parameters: float,
    ) -> None:
        super().__init__()
        d_model, d_hidden = check_widths(d_model=d_model, d_hidden=d_hidden)
        self.save = check_save(save)
        self.dropout = check_share("dropout", dropout)
        self.hidden_dropout = check_share("hidden_dropout", hidden_dropout)
        self.fc1 = nn.Linear(d_model, d_hidden, bias, device, dtype)
        self.act = as_module(activation, parameters)
        self.fc2 = nn.Linear(d_hidden, d_model, bias, device, dtype)

    @classmethod
    def from_linears(
        cls, fc1: nn.Linear, fc2: nn.Linear, activation: Any = "gelu", **options: Any
    ) -> FeedForward:
        """Return a block around two existing layers, which it shares.

        Examples
        --------
        >>> from torch import nn
        >>> layers = nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 4))
        >>> block = FeedForward.from_linears(layers[0], layers[2], "gelu")
        >>> block.fc1.weight is layers[0].weight
        True
        """
        check_linears(fc1=fc1, fc2=fc2)
        if fc1.out_features != fc2.in_features or fc1.in_features != fc2.out_features:
            raise ValueError(f"{fc1} and {fc2} do not follow each other there and back")
        block = cls(fc1.in_features, fc1.out_features, activation, device="meta", **options)
        block.fc1, block.fc2 = fc1, fc2
        return block

    def forward(self, x: Tensor) -> Tensor:
        """Return the block's output for the last axis of `x`."""
        h = self.fc1(x)
        p = self.hidden_dropout if self.training else 0.0
        act = self.act
        if isinstance(act, modules.Activation) and unobserved(h, act, self.fc2):
            hidden = feedforward.Activated(act.activation)
            linear = feedforward.linear if self.save == "preactivation" else feedforward.composed
            y = linear(hidden, (h,), self.fc2.weight, self.fc2.bias, p)
        else:
            y = self.fc2(F.dropout(act(h), p, p > 0))
        return F.dropout(y, self.dropout, self.training)

    def extra_repr(self) -> str:
        """Say what is dropped and what is saved."""
        return describe(self)


class GatedFeedForward(nn.Module):
    """down(activation(gate(x))·up(x)): SwiGLU, GEGLU, ReGLU and GLU blocks.

    Parameters
    ----------
    d_model : int
        Width of input and output.
    d_hidden : int, optional
        Width of the hidden layer; by default such that the block has as many parameters as a plain
        one of 4·d_model.
    activation : {"swiglu", "geglu", "geglu_tanh", "reglu", "glu"}, Gated or Activation
        The gated activation, in any spelling ("SwiGLU"), or what to apply to the gate.
    bias, dropout, hidden_dropout, save, **parameters
        As in `FeedForward`; the pre-activations are gate and up.
    match : {"parameters"}, optional
        Take `d_hidden` as the width of a plain block and choose the width, about 2/3 of it, that
        gives the same number of parameters.
    multiple_of : int
        Round a matched width up to a multiple of this, as LLaMA does to 256.

    Notes
    -----
    The layers are `gate_proj`, `up_proj` and `down_proj`, as in Hugging Face's LLaMA, Mistral and
    Gemma: their state dicts load as they are.

    Examples
    --------
    >>> GatedFeedForward(4096, match="parameters", multiple_of=256, device="meta").d_hidden
    11008
    """

    def __init__(  # noqa: PLR0913 - torch.nn's layers have as many
        self,
        d_model: int,
        d_hidden: int | None = None,
        activation: str | Gated | Activation = "swiglu",
        bias: bool = False,
        dropout: float = 0.0,
        save: Save = "preactivation",
        *,
        hidden_dropout: float = 0.0,
        match: Literal["parameters"] | None = None,
        multiple_of: int = 1,
        device: Any = None,
        dtype: torch.dtype | None = None,
        **parameters: float,
    ) -> None:
        super().__init__()
        (d_model,) = check_widths(d_model=d_model)
        d_hidden = gated_width(d_model, d_hidden, bias, match, multiple_of)
        self.d_hidden, self.save = d_hidden, check_save(save)
        self.dropout = check_share("dropout", dropout)
        self.hidden_dropout = check_share("hidden_dropout", hidden_dropout)
        self.gate_proj = nn.Linear(d_model, d_hidden, bias, device, dtype)
        self.up_proj = nn.Linear(d_model, d_hidden, bias, device, dtype)
        self.act = modules.Activation(naming.gate(activation, **parameters))
        self.down_proj = nn.Linear(d_hidden, d_model, bias, device, dtype)

    def forward(self, x: Tensor) -> Tensor:
        """Return the block's output for the last axis of `x`."""
        gate, up = self.gate_proj(x), self.up_proj(x)
        p = self.hidden_dropout if self.training else 0.0
        act, down = self.act, self.down_proj
        if unobserved(gate, act, down):
            hidden = feedforward.Gated(act.activation)
            linear = feedforward.linear if self.save == "preactivation" else feedforward.composed
            y = linear(hidden, (gate, up), down.weight, down.bias, p)
        else:
            y = down(F.dropout(act(gate) * up, p, p > 0))
        return F.dropout(y, self.dropout, self.training)

    def extra_repr(self) -> str:
        """Say what is dropped and what is saved."""
        return describe(self)


def as_module(activation: str | Activation | nn.Module, parameters: dict[str, float]) -> nn.Module:
    """Return the module that applies an activation; a module is taken as it is."""
    if isinstance(activation, nn.Module):
        if parameters:
            given = ", ".join(parameters)
            raise TypeError(f"{given}: parameters of {activation}, a module, are given to itself")
        return activation
    return modules.Activation(naming.plain_activation(activation, **parameters))


def unobserved(h: object, *layers: nn.Module) -> bool:
    """Tell whether layers do what their classes say and nobody asked to be told when they run.

    Who traces symbolically, with something that is no tensor, watches them all.
    """
    return isinstance(h, Tensor) and not (
        nn.modules.module._has_any_global_hook() or any(map(_watched, layers))
    )


def _watched(module: nn.Module) -> bool:
    hooked = (
        module._forward_hooks
        or module._forward_pre_hooks
        or module._backward_hooks
        or module._backward_pre_hooks
    )
    own = "forward" in vars(module) or type(module) not in (nn.Linear, modules.Activation)
    return bool(hooked) or own


def describe(block: FeedForward | GatedFeedForward) -> str:
    """Return the options that are not layers."""
    shown = [f"save={block.save!r}"]
    for name in ("dropout", "hidden_dropout"):
        if getattr(block, name):
            shown.insert(0, f"{name}={getattr(block, name):g}")
    return ", ".join(shown)


def check_save(save: Save) -> Save:
    """Return what to save, or raise."""
    if save not in get_args(Save):
        known = " and ".join(map(repr, get_args(Save)))
        raise ValueError(f"save = {save!r}: accepted are {known}")
    return save


def check_linears(**layers: Any) -> None:
    """Raise unless each is an nn.Linear."""
    for name, layer in layers.items():
        if not isinstance(layer, nn.Linear):
            raise TypeError(
                f"{name} is a {type(layer).__name__}: expected torch.nn.Linear (of a Conv1D, copy "
                "the transposed weight into one)"
            )
