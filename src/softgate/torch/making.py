"""A module for a name: torch's twin where there is one, `Activation` for the rest."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from torch import nn

from softgate.runtime.activation import Activation as Function
from softgate.runtime.registry import activations, gated

from . import modules as m
from .naming import function, plain_activation

_TWINS: dict[str, Callable[..., nn.Module]] = {  # called with the parameters in their order
    "celu": m.CELU,
    "elu": m.ELU,
    "gelu": m.GELU,
    "gelu_sigmoid": partial(m.GELU, "sigmoid"),
    "gelu_tanh": partial(m.GELU, "tanh"),
    "hard_swish": m.Hardswish,
    "hard_tanh": m.Hardtanh,
    "hardshrink": m.Hardshrink,
    "identity": m.Identity,
    "leaky_relu": m.LeakyReLU,
    "log_sigmoid": m.LogSigmoid,
    "mish": m.Mish,
    "relu": m.ReLU,
    "relu6": m.ReLU6,
    "selu": m.SELU,
    "sigmoid": m.Sigmoid,
    "silu": lambda beta: m.SiLU() if beta == 1 else m.Swish(beta),
    "softplus": m.Softplus,
    "softshrink": m.Softshrink,
    "softsign": m.Softsign,
    "tanh": m.Tanh,
    "tanhshrink": m.Tanhshrink,
}

_MODULES: dict[str, Callable[..., nn.Module]] = {
    "prelu": m.PReLU,
    "rrelu": m.RReLU,
    "threshold": m.Threshold,
}
"""What is no function of an element alone: learnt, random, or without defaults."""


def make(name: str | Function, **parameters: float) -> nn.Module:
    """Return a module for an activation by any name that a framework has for it.

    softgate's own names come first, then what torch and Hugging Face mean, then the others'.

    Parameters
    ----------
    name : str or Activation
        Such as "gelu_new", "quick_gelu", "HardSwish", or an activation itself. Of the gated ones
        only glu is a layer in torch; the others belong into a `GatedFeedForward`.
    **parameters : float
        The formula's own parameters; those of torch.nn where softgate has no formula (PReLU).

    Examples
    --------
    >>> make("gelu_new")
    GELU(approximate='tanh')
    >>> make("squareplus", b=1.0)
    Activation(squareplus, b=1)
    """
    if isinstance(name, str) and (module := _MODULES.get(name.rpartition(".")[2].casefold())):
        return module(**parameters)
    if isinstance(name, str) and not parameters and function(name) is gated()["glu"]:
        return m.GLU()
    activation = plain_activation(name, **parameters)
    known = activations().get(activation.name)
    if known is None or known.entry.definition is not activation.entry.definition:
        return m.Activation(activation)
    if activation.name == "hard_sigmoid" and activation.parameters["width"] == 6:
        return m.Hardsigmoid()
    twin = _TWINS.get(activation.name)
    return m.Activation(activation) if twin is None else twin(*activation.parameters.values())
