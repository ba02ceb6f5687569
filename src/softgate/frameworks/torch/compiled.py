"""Calls traced by torch.compile: kernels are looked up during tracing, operators are recorded.

torch.compile replaces a float that changes between calls by a symbol. Kernels need numbers: the
symbol is converted to one, with a guard that recompiles if the number differs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import torch

from . import decompositions, inductor, sharding
from .decompositions import QUANTITIES, constant_when_compiled
from .dispatch import inside_functorch, path
from .operators import bind

if TYPE_CHECKING:
    import torch.fx.experimental.symbolic_shapes

    from softgate.runtime.activation import Activation


def compiled(
    activation: Activation,
    quantity: str,
    x: torch.Tensor,
    arithmetic: str | None,
    parameters: Mapping[str, float],
) -> torch.Tensor:
    """Record softgate's operator; inside functorch and exports, torch's operators."""
    wanted = _wanted(x)
    options = (arithmetic, numbers(parameters), x.dtype, wanted, decompositions.must_be_ours(x))
    key, values, form = _constants(activation, quantity, *options)
    if wanted:
        return getattr(decompositions.COMPILED, form)(x, *values)
    return torch.ops.softgate.evaluate(x, key, quantity, values, arithmetic or "")


def compiled_backward(
    activation: Activation,
    x: torch.Tensor,
    grad: torch.Tensor,
    arithmetic: str | None,
    parameters: Mapping[str, float],
) -> torch.Tensor:
    """Return slope(x)·grad, recorded as by `compiled`."""
    x, grad = torch.broadcast_tensors(x, grad)
    wanted = _wanted(x)
    options = (arithmetic, numbers(parameters), x.dtype, wanted, decompositions.must_be_ours(x))
    key, values, form = _constants(activation, "slope", *options)
    if wanted:
        return getattr(decompositions.COMPILED, form)(x, *values) * grad
    return torch.ops.softgate.backward(x, grad, key, values, arithmetic or "")


def _wanted(x: torch.Tensor) -> str:
    """Return the form in torch operators that is needed, "" for softgate's operator."""
    if inside_functorch():
        return "definition"
    return "form" if path(x) == "torch" else ""


def follows(
    activation: Activation, parameters: Mapping[str, float], dtype: torch.dtype, compiling: bool
) -> bool:
    """Return whether the gradient of tensors of `dtype` is computed from the value."""
    return _follows(activation, numbers(parameters) if compiling else parameters, dtype)


def numbers(parameters: Mapping[str, float]) -> dict[str, float]:
    """Return parameters as numbers, including those that a compiler replaced by symbols."""
    # Every compiler of torch has imported this module, which imports sympy for half a second.
    symbols = torch.fx.experimental.symbolic_shapes
    return {name: symbols.guard_scalar(value) for name, value in parameters.items()}


@constant_when_compiled
def _follows(activation: Activation, parameters: Mapping[str, float], dtype: torch.dtype) -> bool:
    saves_value: bool = bind(activation, None, dict(parameters)).saves_value(dtype)
    return saves_value


@constant_when_compiled
def _constants(
    activation: Activation,
    quantity: str,
    arithmetic: str | None,
    parameters: Mapping[str, float],
    dtype: torch.dtype,
    wanted: str,
    ours: bool,
) -> Any:
    """Return an operator's arguments for the kernels, and the name of a form in torch operators.

    Arguments are checked during tracing.
    """
    bound = bind(activation, arithmetic, dict(parameters))
    bound.runner("value", dtype)
    sharding.prepare()
    if not wanted:
        return inductor.key_for(bound), bound.values, ""
    order, operator = QUANTITIES.index(quantity), None
    if dtype.itemsize > 1:
        operator = bound.forms.operator(ours)
    # dynamo does not support dots in the names of attributes
    name = f"{wanted} of {quantity} of {bound.key} with {bound.values} in {dtype}"
    name = name.replace(".", "_point_")
    if order == 0 and operator is not None:
        name = f"operator of {name}"
        setattr(decompositions.COMPILED, name, lambda x, *_: operator(x))
    elif wanted == "definition" and dtype.itemsize > 1:
        setattr(decompositions.COMPILED, name, bound.forms.defined(order))
    else:
        setattr(decompositions.COMPILED, name, bound.forms.form(order, dtype))
    return bound.key, bound.values, name
