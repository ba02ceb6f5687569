"""Activations as modules: subclasses of torch.nn's that compute with softgate's kernels.

Arguments, `repr`, state dicts, pickles and `isinstance` are torch's; only `forward` is new.
Functions that torch.nn lacks are `Swish` and `Activation`. `make` returns the module for a name.
Modules whose `forward` is one call of `softgate.torch.functional` are generated.

`torch.fx.symbolic_trace` records a module as one call of `softgate.torch.functional`.
`torch.jit.script` raises, since it cannot compile kernels; torch has deprecated it for
`torch.compile` and `torch.export`. `torch.jit.trace` works.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from inspect import cleandoc, signature
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from softgate.frameworks.block_arguments import activation_of_block, function_of_block
from softgate.runtime import registry
from softgate.runtime.activation import Activation as Function
from softgate.runtime.lookup import lookup, records_of

from . import functional as F

if TYPE_CHECKING:  # the classes that are generated below, whose arguments are torch's
    from torch.nn import CELU as CELU
    from torch.nn import ELU as ELU
    from torch.nn import GLU as GLU
    from torch.nn import SELU as SELU
    from torch.nn import Hardshrink as Hardshrink
    from torch.nn import Hardsigmoid as Hardsigmoid
    from torch.nn import Hardswish as Hardswish
    from torch.nn import Hardtanh as Hardtanh
    from torch.nn import LeakyReLU as LeakyReLU
    from torch.nn import LogSigmoid as LogSigmoid
    from torch.nn import Mish as Mish
    from torch.nn import PReLU as PReLU
    from torch.nn import ReLU as ReLU
    from torch.nn import ReLU6 as ReLU6
    from torch.nn import RReLU as RReLU
    from torch.nn import Sigmoid as Sigmoid
    from torch.nn import SiLU as SiLU
    from torch.nn import Softplus as Softplus
    from torch.nn import Softshrink as Softshrink
    from torch.nn import Softsign as Softsign
    from torch.nn import Tanh as Tanh
    from torch.nn import Tanhshrink as Tanhshrink
    from torch.nn import Threshold as Threshold

NAME_SOURCES = ("torch", "huggingface")
"""Frameworks whose names take precedence, after softgate's, in this package."""


def _forward(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Return the `forward` of a module, whose attributes are the function's other arguments."""
    attributes = tuple(signature(function).parameters)[1:]
    count = len(attributes)

    def forward(self: nn.Module, input: Tensor) -> Tensor:
        """Return the value."""
        if count == 0:
            return function(input)
        if count == 1:  # without a list, which takes as long as a small tensor's kernel
            return function(input, getattr(self, attributes[0]))
        return function(input, *[getattr(self, name) for name in attributes])

    return forward


def _module(name: str, function: Callable[..., Tensor]) -> type[nn.Module]:
    """Return the subclass of torch's module `name` that calls a function of softgate."""
    documentation = cleandoc(str(function.__doc__)).removeprefix("Return ")
    body = {"__module__": __name__, "__doc__": documentation, "forward": _forward(function)}
    return type(name, (getattr(nn, name),), body)


class GELU(nn.GELU):
    """x·Phi(x) (`approximate="none"`), its tanh form ("tanh") or its sigmoid form ("sigmoid")."""

    def __init__(self, approximate: str = "none") -> None:
        F._gelu_form(approximate)
        super().__init__(approximate)

    forward = _forward(F.gelu)


class Identity(nn.Identity):
    """x itself."""


_CLASSES = {
    record.function: {"gelu": GELU, "identity": Identity}.get(record.function)
    or _module(record.name, getattr(F, F._TORCH_NAMES[record.function]))
    for record in records_of("torch.nn")
    if record.function and record.path == f"torch.nn.{record.name}"
}
"""The modules by the names of softgate's functions."""
globals().update({module.__name__: module for module in _CLASSES.values()})


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


_MODULES: dict[str, Callable[..., nn.Module]] = {
    "prelu": PReLU,
    "rrelu": RReLU,
}
"""Modules that are more than a formula: trainable, or random in training."""

_OF_FORMULAS: dict[str, Callable[..., nn.Module]] = {
    **{name: module for name, module in _CLASSES.items() if name not in _MODULES},
    "gelu_sigmoid": partial(GELU, "sigmoid"),
    "gelu_tanh": partial(GELU, "tanh"),
    "hard_sigmoid": lambda width: (
        Hardsigmoid() if width == 6 else Activation("hard_sigmoid", width=width)
    ),
    "silu": lambda beta: SiLU() if beta == 1 else Swish(beta),
}
"""What to call with the values of a function's parameters, in their order."""


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
        if special and (source is None or records_of(source)[0].source == "torch"):
            return special(**parameters)
        if source is None:
            function = function_of_block(name, NAME_SOURCES, **parameters)
        else:
            function = lookup(name, parameters, source=source)
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
    module = _OF_FORMULAS.get(activation.name)
    return Activation(activation) if module is None else module(*activation.parameters.values())
