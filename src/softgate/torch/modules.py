"""Activations as modules: subclasses of torch.nn's that compute with softgate's kernels.

Arguments, `repr`, state dicts, pickles and `isinstance` are torch's; only `forward` is new.
Functions that torch.nn lacks are `Swish` and `Activation`. `make` returns the module for a name.

`torch.fx.symbolic_trace` records a module as one call of `softgate.torch.functional`.
`torch.jit.script` raises, since it cannot compile kernels; torch has deprecated it for
`torch.compile` and `torch.export`. `torch.jit.trace` works.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from softgate.frameworks.block_arguments import activation_of_block, function_of_block
from softgate.runtime import registry
from softgate.runtime.activation import Activation as Function
from softgate.runtime.names import get, names

from . import functional as F

NAME_SOURCES = ("torch", "huggingface")
"""Frameworks whose names take precedence, after softgate's, in this package."""


def _forward(function: Callable[..., Tensor], *attributes: str) -> Callable[..., Tensor]:
    """Return the `forward` of a module: a function of the input and the module's attributes."""
    count = len(attributes)

    def forward(self: nn.Module, input: Tensor) -> Tensor:
        """Return the value."""
        if count == 0:
            return function(input)
        if count == 1:  # without a list, which takes as long as a small tensor's kernel
            return function(input, getattr(self, attributes[0]))
        return function(input, *[getattr(self, name) for name in attributes])

    return forward


class GELU(nn.GELU):
    """x·Phi(x) (`approximate="none"`), its tanh form ("tanh") or its sigmoid form ("sigmoid")."""

    def __init__(self, approximate: str = "none") -> None:
        F._gelu_form(approximate)
        super().__init__(approximate)

    forward = _forward(F.gelu, "approximate")


class ReLU(nn.ReLU):
    """max(x, 0)."""

    forward = _forward(F.relu, "inplace")


class ReLU6(nn.ReLU6):
    """min(max(x, 0), 6)."""

    forward = _forward(F.relu6, "inplace")


class LeakyReLU(nn.LeakyReLU):
    """x where x > 0, else negative_slope·x."""

    forward = _forward(F.leaky_relu, "negative_slope", "inplace")


class PReLU(nn.PReLU):
    """x where x > 0, else weight·x with a trainable weight: torch's operator."""

    forward = _forward(F.prelu, "weight")


class RReLU(nn.RReLU):
    """x where x > 0, else a·x, a random in training (torch's operator), else its mean."""

    forward = _forward(F.rrelu, "lower", "upper", "training", "inplace")


class Threshold(nn.Threshold):
    """x where x > threshold, else `value`: torch's operator."""


class ELU(nn.ELU):
    """x where x > 0, else alpha·(exp(x) - 1)."""

    forward = _forward(F.elu, "alpha", "inplace")


class CELU(nn.CELU):
    """x where x > 0, else alpha·(exp(x/alpha) - 1)."""

    forward = _forward(F.celu, "alpha", "inplace")


class SELU(nn.SELU):
    """The self-normalising elu."""

    forward = _forward(F.selu, "inplace")


class SiLU(nn.SiLU):
    """x·sigmoid(x)."""

    forward = _forward(F.silu, "inplace")


class Mish(nn.Mish):
    """x·tanh(softplus(x))."""

    forward = _forward(F.mish, "inplace")


class Sigmoid(nn.Sigmoid):
    """1/(1 + exp(-x))."""

    forward = _forward(F.sigmoid)


class Tanh(nn.Tanh):
    """tanh(x)."""

    forward = _forward(F.tanh)


class Softplus(nn.Softplus):
    """log(1 + exp(beta·x))/beta; x beyond `threshold` if the jump is visible in float32."""

    forward = _forward(F.softplus, "beta", "threshold")


class Softsign(nn.Softsign):
    """x/(1 + |x|)."""

    forward = _forward(F.softsign)


class Tanhshrink(nn.Tanhshrink):
    """x - tanh(x)."""

    forward = _forward(F.tanhshrink)


class Softshrink(nn.Softshrink):
    """x moved towards 0 by lambd, and 0 where |x| <= lambd."""

    forward = _forward(F.softshrink, "lambd")


class Hardshrink(nn.Hardshrink):
    """x where |x| > lambd, else 0."""

    forward = _forward(F.hardshrink, "lambd")


class Hardtanh(nn.Hardtanh):
    """x between min_val and max_val."""

    forward = _forward(F.hardtanh, "min_val", "max_val", "inplace")


class Hardsigmoid(nn.Hardsigmoid):
    """x/6 + 1/2 between 0 and 1."""

    forward = _forward(F.hardsigmoid, "inplace")


class Hardswish(nn.Hardswish):
    """x·hardsigmoid(x)."""

    forward = _forward(F.hardswish, "inplace")


class LogSigmoid(nn.LogSigmoid):
    """log(sigmoid(x))."""

    forward = _forward(F.logsigmoid)


class GLU(nn.GLU):
    """a·sigmoid(b), a and b the halves of x along `dim`."""

    forward = _forward(F.glu, "dim")


class Identity(nn.Identity):
    """x itself."""


class Swish(nn.Module):
    """x·sigmoid(beta·x); with `learnable`, beta is a parameter of the model.

    Examples
    --------
    >>> Swish(beta=1.5)
    Swish(beta=1.5)
    >>> [name for name, _ in Swish(learnable=True).named_parameters()]
    ['beta']
    """

    beta: Any

    def __init__(
        self, beta: float = 1.0, learnable: bool = False, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        registry.activations()["silu"].check_parameters({"beta": beta})
        if learnable:
            self.beta = nn.Parameter(torch.tensor(float(beta), device=device, dtype=dtype))
        else:
            self.beta = float(beta)

    def forward(self, input: Tensor) -> Tensor:
        """Return the value."""
        return F.swish(input, self.beta)

    def extra_repr(self) -> str:
        """Return beta and whether it is learnable."""
        if isinstance(self.beta, Tensor):
            known = "" if self.beta.is_meta else f"beta={self.beta.item():g}, "
            return f"{known}learnable=True"
        return f"beta={self.beta:g}"


class Activation(nn.Module):
    """Any activation, by any framework's name or user-defined, with its parameters.

    Examples
    --------
    >>> Activation("gelu_new")
    Activation(gelu_tanh)
    >>> Activation("squareplus", b=1.0)
    Activation(squareplus, b=1)
    """

    def __init__(self, activation: Any, **parameters: float) -> None:
        super().__init__()
        self.activation = activation_of_block(activation, NAME_SOURCES, **parameters)

    def forward(self, input: Tensor) -> Tensor:
        """Return the value."""
        result: Tensor = self.activation(input)
        return result

    def extra_repr(self) -> str:
        """Return the function's name and parameters."""
        values = (f"{name}={value:g}" for name, value in self.activation.parameters.items())
        return ", ".join((self.activation.name, *values))


_TORCH_MODULES: dict[str, Callable[..., nn.Module]] = {  # called with the parameters in their order
    "celu": CELU,
    "elu": ELU,
    "gelu": GELU,
    "gelu_sigmoid": partial(GELU, "sigmoid"),
    "gelu_tanh": partial(GELU, "tanh"),
    "hard_swish": Hardswish,
    "hard_tanh": Hardtanh,
    "hardshrink": Hardshrink,
    "identity": Identity,
    "leaky_relu": LeakyReLU,
    "log_sigmoid": LogSigmoid,
    "mish": Mish,
    "relu": ReLU,
    "relu6": ReLU6,
    "selu": SELU,
    "sigmoid": Sigmoid,
    "silu": lambda beta: SiLU() if beta == 1 else Swish(beta),
    "softplus": Softplus,
    "softshrink": Softshrink,
    "softsign": Softsign,
    "tanh": Tanh,
    "tanhshrink": Tanhshrink,
    "threshold": Threshold,
}

_MODULES: dict[str, Callable[..., nn.Module]] = {
    "prelu": PReLU,
    "rrelu": RReLU,
}
"""Modules that are more than a formula: trainable, or random in training."""


def make(name: str | Function, source: str | None = None, **parameters: Any) -> nn.Module:
    """Return a module for an activation by any name that a framework has for it.

    softgate's names take precedence, then those of torch and Hugging Face, then the others.

    Parameters
    ----------
    name : str or Activation
        Such as "gelu_new", "quick_gelu", "HardSwish", or an activation. Of the gated functions only
        "glu" is a layer; for the others use `GatedFeedForward`.
    source : str, optional
        The framework of the name, as in `softgate.get`, whose parameters are then accepted.
    **parameters : float
        Parameters of the formula; those of torch.nn for PReLU and RReLU.

    Examples
    --------
    >>> make("gelu_new")
    GELU(approximate='tanh')
    >>> make("squareplus", b=1.0)
    Activation(squareplus, b=1)
    >>> make("gelu", source="jax")
    GELU(approximate='tanh')
    """
    function: Any = name
    if isinstance(name, str):
        special = _MODULES.get(name.rpartition(".")[2].casefold())
        if special and (source is None or names(source)[0].source == "torch"):
            return special(**parameters)
        if source is None:
            function = function_of_block(name, NAME_SOURCES, **parameters)
        else:
            function = get(name, source, **parameters)
        if function is registry.gated()["glu"]:
            return GLU()
    elif source is not None:
        raise TypeError(f"source = {source!r} needs a name as a string: name = {name!r}")
    elif parameters:
        function = name.bind(**parameters)
    activation = activation_of_block(function, NAME_SOURCES)
    known = registry.activations().get(activation.name)
    if known is None or known.entry.definition is not activation.entry.definition:
        return Activation(activation)
    if activation.name == "hard_sigmoid" and activation.parameters["width"] == 6:
        return Hardsigmoid()
    module = _TORCH_MODULES.get(activation.name)
    return Activation(activation) if module is None else module(*activation.parameters.values())
