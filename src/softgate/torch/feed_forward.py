"""Feed-forward blocks, linear - activation - linear, that train with about half the memory.

With `save="preactivation"` a block saves its input and the pre-activation; the hidden layer is
recomputed for the gradient. Results and gradients are those of `save="all"`, bit for bit.

Without gradients, many tokens are computed in slabs that share one buffer for the hidden layer, so
that it never exists as a whole.

Activation checkpointing (`torch.utils.checkpoint`) saves only the input and repeats the first
matrix product as well: less memory still, at the cost of that product.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, get_args

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from softgate.frameworks.block_arguments import (
    activation_of_block,
    check_choice,
    check_share,
    check_widths,
    gate_of_block,
    gated_width,
)
from softgate.frameworks.torch import low_memory_feed_forward as low_memory
from softgate.frameworks.torch import private
from softgate.records.text import a_type
from softgate.runtime.activation import Activation
from softgate.runtime.dispatch import Explanation

from . import modules
from .modules import NAME_SOURCES

Save = Literal["preactivation", "all"]
_hooked = private.hooked.get()


class _Block(nn.Module):
    """Base of the plain and the gated block: options, and how the output is computed."""

    act: nn.Module

    def _set_options(self, save: str, dropout: float, hidden_dropout: float) -> None:
        self.save = check_choice("save", save, get_args(Save))
        self.dropout = check_share("dropout", dropout)
        self.hidden_dropout = check_share("hidden_dropout", hidden_dropout)

    def _layers(self) -> tuple[tuple[nn.Linear, ...], nn.Linear]:
        """Return the layers before the hidden layer and the one after it."""
        raise NotImplementedError

    def _parts(
        self, x: Tensor
    ) -> tuple[low_memory.HiddenLayer | None, tuple[nn.Linear, ...], nn.Linear, float, int]:
        """Return the hidden layer, the layers before and after, its dropout, the number of slabs.

        The hidden layer is None if its layers must be called, not fused; slabs of tokens are
        computed one after the other.
        """
        firsts, last = self._layers()
        p = self.hidden_dropout if self.training else 0.0
        act = self.act
        if not isinstance(act, modules.Activation) or not unobserved(x, act, last):
            return None, firsts, last, p, 1
        whole = len(firsts) == act.activation.nin
        kind = low_memory.HiddenLayer if whole else low_memory.GatedHiddenLayer
        sliced = p == 0 and unobserved(x, *firsts)
        slabs = low_memory.slab_count(x, (*firsts, last)) if sliced else 1
        return kind(act.activation), firsts, last, p, slabs

    def forward(self, x: Tensor) -> Tensor:
        """Return the block's output for the last axis of `x`."""
        hidden, firsts, last, p, slabs = self._parts(x)
        if hidden is not None and slabs > 1:
            y = low_memory.compute_in_slabs(hidden, x, firsts, last, slabs)
        else:
            inputs = tuple(layer(x) for layer in firsts)
            if hidden is not None:
                fused = low_memory.linear if self.save == "preactivation" else low_memory.composed
                y = fused(hidden, inputs, last.weight, last.bias, p)
            else:
                y = last(F.dropout(self._product(*inputs), p, p > 0))
        return F.dropout(y, self.dropout, self.training)

    def _product(self, first: Tensor, *factors: Tensor) -> Tensor:
        """Return the hidden layer by a call of the module `act`."""
        if isinstance(self.act, _GatedProduct):
            product: Tensor = self.act(first, *factors)
            return product
        product = self.act(first)
        for factor in factors:
            product = product * factor
        return product

    def explain(self, x: Tensor) -> Explanation:
        """Return how the block computes its output for `x`, as `softgate.explain(x, block)` does.

        Examples
        --------
        >>> import torch
        >>> with torch.no_grad():
        ...     explanation = FeedForward(8, 32).explain(torch.zeros(16_384, 8))
        >>> explanation.memory
        'hidden layer in a buffer of 0.1 MB, not 2.1 MB'
        """
        hidden, firsts, _, p, count = self._parts(x)
        tokens = x.numel() // x.shape[-1]
        size_mb = tokens * x.element_size() * sum(layer.out_features for layer in firsts) / 1e6
        how, memory = "linear layers and the activation", f"hidden layer of {size_mb:.1f} MB"
        if count > 1:
            how = f"{count} slabs of {-(-tokens // count)} tokens"
            memory = f"hidden layer in a buffer of {size_mb / count:.1f} MB, not {size_mb:.1f} MB"
        elif hidden and self.save == "preactivation" and low_memory.recomputes(hidden, p):
            how += ", which is recomputed for the gradient"
            memory += ", not saved"
        act = self.act
        name = act.activation.name if isinstance(act, modules.Activation) else type(act).__name__
        return Explanation(
            activation=f"{type(self).__name__} with {name}",
            quantity="value",
            shape=tuple(x.shape),
            dtype=str(x.dtype).removeprefix("torch."),
            computed_by=how + private.costs(private.hooked, private.transformed),
            memory=memory,
            threads=torch.get_num_threads(),
        )

    def extra_repr(self) -> str:
        """Return the dropout and `save` options."""
        shown = [f"save={self.save!r}"]
        for name in ("dropout", "hidden_dropout"):
            if getattr(self, name):
                shown.insert(0, f"{name}={getattr(self, name):g}")
        return ", ".join(shown)


class _GatedProduct(modules.Activation):
    """A gated function of gate and up, for functions that change both operands."""

    activation: Any

    def __init__(self, function: Any) -> None:
        nn.Module.__init__(self)  # the base refuses gated functions
        self.activation = function

    def forward(self, gate: Tensor, up: Tensor) -> Tensor:  # type: ignore[override]
        """Return the value."""
        result: Tensor = self.activation(gate, up)
        return result


class FeedForward(_Block):
    """linear - activation - linear, as in BERT, GPT-2 and ViT.

    Parameters
    ----------
    d_model, d_hidden : int
        Width of input and output, and of the hidden layer.
    activation : str, Activation or Module
        A name, an activation of softgate, or a module (which saves what its backward needs).
    bias : bool
        Whether the linear layers have biases.
    dropout : float
        Share of outputs set to 0 in training (where BERT and GPT-2 have it).
    hidden_dropout : float
        The same for the hidden layer, after the activation (where T5 has it).
    save : {"preactivation", "all"}
        What is saved for the gradient: the input and the pre-activation, or all that torch saves.
    **parameters
        Parameters of the activation, such as `slope` for leaky_relu.

    Notes
    -----
    The layers are `fc1`, `act` and `fc2`. If `act` or `fc2`, or its `forward`, is replaced or
    hooked, it is called as a module, and memory is as with `save="all"`.

    Examples
    --------
    >>> import torch
    >>> block = FeedForward(768, 3072)
    >>> block(torch.zeros(2, 10, 768)).shape
    torch.Size([2, 10, 768])
    >>> sum(parameter.numel() for parameter in block.parameters())
    4722432
    """

    def __init__(
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
        self._set_options(save, dropout, hidden_dropout)
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
            raise ValueError(f"the shapes of {fc1} and {fc2} are not transposes of each other")
        block = cls(fc1.in_features, fc1.out_features, activation, device="meta", **options)
        block.fc1, block.fc2 = fc1, fc2
        return block

    def _layers(self) -> tuple[tuple[nn.Linear, ...], nn.Linear]:
        return (self.fc1,), self.fc2


class GatedFeedForward(_Block):
    """down(activation(gate(x))·up(x)): SwiGLU, GEGLU, ReGLU and GLU blocks.

    Parameters
    ----------
    d_model : int
        Width of input and output.
    d_hidden : int, optional
        Width of the hidden layer; by default such that the block has as many parameters as a plain
        one of 4·d_model.
    activation : {"swiglu", "geglu", "geglu_tanh", "reglu", "glu", "clamped_swiglu"} or \
Activation
        The gated activation, in any spelling ("SwiGLU"), or the activation of the gate.
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
    Gemma: their state dicts load unchanged.

    Examples
    --------
    >>> GatedFeedForward(4096, match="parameters", multiple_of=256, device="meta").d_hidden
    11008
    """

    def __init__(
        self,
        d_model: int,
        d_hidden: int | None = None,
        activation: str | Activation = "swiglu",
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
        self.d_hidden = d_hidden
        self._set_options(save, dropout, hidden_dropout)
        self.gate_proj = nn.Linear(d_model, d_hidden, bias, device, dtype)
        self.up_proj = nn.Linear(d_model, d_hidden, bias, device, dtype)
        function = gate_of_block(activation, NAME_SOURCES, **parameters)
        self.act = (_GatedProduct if function.nin == 2 else modules.Activation)(function)
        self.down_proj = nn.Linear(d_hidden, d_model, bias, device, dtype)

    def _layers(self) -> tuple[tuple[nn.Linear, ...], nn.Linear]:
        return (self.gate_proj, self.up_proj), self.down_proj


def as_module(activation: str | Activation | nn.Module, parameters: dict[str, float]) -> nn.Module:
    """Return the module of an activation; a module is returned unchanged."""
    if isinstance(activation, nn.Module):
        if parameters:
            names = ", ".join(parameters)
            raise TypeError(f"{names}: {activation} is a module: give the parameters to the module")
        return activation
    return modules.Activation(activation_of_block(activation, NAME_SOURCES, **parameters))


def unobserved(h: object, *layers: nn.Module) -> bool:
    """Return whether layers may be fused: unmodified, unhooked, and called with a tensor.

    Symbolic tracers call them with proxies and must see each layer.
    """
    return isinstance(h, Tensor) and not any(map(_observed, layers))


def _observed(module: nn.Module) -> bool:
    known = type(module) in (nn.Linear, modules.Activation, _GatedProduct)
    return "forward" in vars(module) or not known or _hooked(module)


def check_linears(**layers: Any) -> None:
    """Raise unless each is an nn.Linear."""
    for name, layer in layers.items():
        if not isinstance(layer, nn.Linear):
            raise TypeError(
                f"{name} is {a_type(layer)}: expected torch.nn.Linear (of a Conv1D, copy "
                "the transposed weight into one)"
            )


def saved_bytes(function: Callable[..., Any], *inputs: Any) -> int:
    """Return the bytes that a forward pass keeps for its backward pass.

    Each storage counts once, regardless of how many saved tensors view it. A module's parameters do
    not count, since they exist anyway; its inputs count if they are saved.

    Parameters
    ----------
    function : Callable
        A module, or any function of tensors.
    *inputs
        Its arguments.

    Returns
    -------
    int
        The number of bytes.

    Examples
    --------
    >>> import torch
    >>> from softgate.torch import FeedForward, saved_bytes
    >>> x = torch.zeros(10, 768)
    >>> saved_bytes(FeedForward(768, 3072), x), saved_bytes(FeedForward(768, 3072, save="all"), x)
    (153600, 276480)
    """
    parameters: set[int] = set()
    if isinstance(function, nn.Module):
        parameters = {parameter.untyped_storage().data_ptr() for parameter in function.parameters()}
    sizes: dict[int, int] = {}

    def pack(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in parameters:
            sizes[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        result = function(*inputs)  # kept alive, so that no address is used twice
    del result
    return sum(sizes.values())
