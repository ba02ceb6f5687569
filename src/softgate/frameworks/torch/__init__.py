"""torch tensors: which way a call takes, and taking it.

- a plain CPU tensor in eager mode: the kernels, by the short way of `eager`;
- the same under functorch, forward mode, a dispatch mode, or as a subclass: `operators`;
- under torch.compile: the operators, or torch's own where functorch is at work inside;
- being exported or traced, or on another device: torch operators (`portable`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from ..versions import check as check_version
from ..versions import missing

try:
    import torch
except ModuleNotFoundError as error:
    raise missing("torch", error) from error
else:
    check_version("torch", torch.__version__)

from torch.compiler import is_dynamo_compiling

from softgate.runtime.arrays import SERIAL

from . import openmp, operators, proxies, sharding
from .asymptotes import QUANTITIES
from .compiled import compiled, compiled_backward, follows
from .dispatch import is_nested, path, plain
from .eager import FromInput, FromValue, straight
from .gated_calls import describe_gated, gated, gated_quantity
from .inplace import InPlace, check_writable
from .integers import as_floats, integer_value, is_integer
from .memory import DTYPES, Bound, dense, has_memory
from .operators import binding as bind

if TYPE_CHECKING:
    from softgate.runtime.activation import Activation
    from softgate.runtime.routes import Runner

NONE: Mapping[str, float] = {}

__all__ = [
    "backward",
    "describe",
    "describe_gated",
    "evaluate",
    "gated",
    "gated_quantity",
    "proxies",
]
"""What softgate asks of an adapter; `proxies` is the one for `torch.fx.Proxy`."""

_FROM_INPUT, _FROM_VALUE, _IN_PLACE = straight(FromInput), straight(FromValue), straight(InPlace)


def evaluate(
    activation: Activation,
    quantity: str,
    x: torch.Tensor,
    out: object = None,
    arithmetic: str | None = None,
    parameters: Mapping[str, float] = NONE,
) -> torch.Tensor:
    """Return a quantity at each element of a tensor, gradients included."""
    if out is not None:
        raise TypeError(
            "out= is for arrays: to overwrite a tensor, write "
            f"softgate.torch.functional.{activation.name}_(x)"
        )
    if x.dtype not in DTYPES and is_integer(x):
        integers = integer_value(activation, quantity, x, parameters)
        if integers is not None:
            return integers
        (x,) = as_floats(x)
    if is_dynamo_compiling():
        return compiled(activation, quantity, x, arithmetic, parameters)
    if not activation.short_for:
        activation.short_way = short_way(activation)
        activation.short_for = (torch.Tensor, torch.nn.Parameter)
    bound = bind(activation, arithmetic, parameters)
    if plain(x):
        recorded = x.requires_grad and torch.is_grad_enabled()
        if not recorded:
            return bound.unary(quantity, x)
        if quantity == "value":
            return (_FROM_VALUE if bound.from_value else _FROM_INPUT)(x, bound)
    return _general(bound, quantity, x)


def backward(
    activation: Activation,
    x: torch.Tensor,
    grad: torch.Tensor,
    out: object = None,
    arithmetic: str | None = None,
    parameters: Mapping[str, float] = NONE,
) -> torch.Tensor:
    """Return slope(x)·grad for tensors, itself differentiable."""
    if out is not None:
        raise TypeError("out= is for arrays, not for tensors")
    tensors: tuple[object, ...] = (x, grad)
    if not all(isinstance(operand, torch.Tensor) for operand in tensors):
        kinds = " and ".join(type(operand).__name__ for operand in tensors)
        raise TypeError(f"x and grad are {kinds}: expected two tensors, or two arrays")
    if x.dtype != grad.dtype or x.device != grad.device:
        raise TypeError(
            f"x is {x.dtype} on {x.device} and grad {grad.dtype} on {grad.device}: "
            "convert one of them"
        )
    x, grad = as_floats(x, grad)
    if is_dynamo_compiling():
        return compiled_backward(activation, x, grad, arithmetic, parameters)
    bound = bind(activation, arithmetic, parameters)
    check(bound, x)
    x, grad = torch.broadcast_tensors(x, grad)
    if path(x) == "torch":
        return bound.forms(1, x) * grad
    recorded = (x.requires_grad or grad.requires_grad) and torch.is_grad_enabled()
    if plain(x) and plain(grad) and not recorded:
        return bound.binary("backward", x, grad)
    sharding.prepare(x, grad)
    arguments = (bound.key, bound.values, bound.arithmetic or "")
    result: torch.Tensor = operators.Backward.apply(x, grad, *arguments)
    return result


def overwrite(
    activation: Activation,
    x: torch.Tensor,
    parameters: Mapping[str, float] = NONE,
    name: str | None = None,
) -> torch.Tensor:
    """Overwrite a tensor with the value at each of its elements, and return it.

    While autograd records, only where the slope follows from the value: the input is gone. `name`
    is the name of the function called, for error messages; by default the activation's.
    """
    name = name or activation.name
    if is_integer(x):
        result = evaluate(activation, "value", x, parameters=parameters)
        if result.dtype != x.dtype:
            raise TypeError(
                f"{name}_ of a {x.dtype} tensor: its result, {result.dtype}, does not fit; "
                f"write y = {name}(x)"
            )
        return x.copy_(result)
    compiling = is_dynamo_compiling()
    recorded = x.requires_grad and torch.is_grad_enabled()
    if recorded and not follows(activation, parameters, compiling):
        raise RuntimeError(
            f"{name}_ would overwrite what its own gradient needs: "
            f"write x = {name}(x), or use torch.no_grad()"
        )
    if compiling or not plain(x):
        return x.copy_(evaluate(activation, "value", x, parameters=parameters))
    bound = bind(activation, None, parameters)
    check(bound, x)
    check_writable(name, x)
    if recorded:
        return _IN_PLACE(x, bound)
    bound.in_place(x)
    torch.autograd.graph.increment_version(x)
    return x


def short_way(activation: Activation) -> Callable[[torch.Tensor], torch.Tensor]:
    """Return the value of tensors with as little ado as possible: small ones wait for Python."""
    bound = operators.bind(activation, activation.check_parameters({}), None)
    runners: dict[torch.dtype, Runner] = {}
    apply = _FROM_VALUE if bound.from_value else _FROM_INPUT
    empty_like, compiling = torch.empty_like, is_dynamo_compiling

    def value(x: torch.Tensor) -> torch.Tensor:
        if not compiling() and plain(x):
            if x.requires_grad and torch.is_grad_enabled():
                return apply(x, bound)
            runner, count = runners.get(x.dtype), x.numel()
            if runner is not None and count < SERIAL and x.is_contiguous():
                address = x.data_ptr()
                if address:
                    out = empty_like(x)
                    runner.run(out.data_ptr(), address, runner.address, count)
                    return out
            if x.dtype in DTYPES:
                runners[x.dtype] = bound.runner("value", x.dtype)
                return bound.unary("value", x)
        return evaluate(activation, "value", x)

    return value


def _general(bound: Bound, quantity: str, x: torch.Tensor) -> torch.Tensor:
    check(bound, x)
    sharding.prepare(x)
    if is_nested(x):
        act, values = bound.activation, dict(bound.parameters)
        parts = [
            evaluate(act, quantity, part, None, bound.arithmetic, values) for part in x.unbind()
        ]
        return torch.nested.as_nested_tensor(parts)
    if path(x) == "torch":
        return bound.forms(QUANTITIES.index(quantity), x)
    return operators.Evaluate.apply(x, bound.key, quantity, bound.values, bound.arithmetic or "")


def describe(
    activation: Activation,
    quantity: str,
    x: torch.Tensor,
    arithmetic: str | None,
    parameters: Mapping[str, float],
) -> tuple[tuple[int, ...], str, str, str, int]:
    """Return shape, dtype, what computes, what is done with memory, and the threads."""
    shape, name = tuple(x.shape), str(x.dtype).removeprefix("torch.")
    bound = bind(activation, arithmetic, parameters)
    if is_integer(x):
        if integer_value(activation, quantity, x, parameters) is not None:
            how = f"torch's own operator, of integers, on {x.device.type}"
            return shape, name, how, "as torch has it", torch.get_num_threads()
        (x,) = as_floats(x)
        _, wide, how, _, threads = describe(activation, quantity, x, arithmetic, parameters)
        return shape, name, how, f"converted to {wide} first", threads
    check(bound, x)
    if path(x) == "torch":
        how = f"{bound.forms.describe(quantity, x)}, on {x.device.type}"
        return shape, name, how, "as torch has it", torch.get_num_threads()
    route = activation.route(quantity, DTYPES[x.dtype], arithmetic, dict(bound.parameters))
    if not has_memory(x):
        how = f"nothing: a tensor on {x.device.type} that has a shape and no elements"
        return shape, name, how, "none", 1
    copied = dense(x) is not x
    memory = "copied first: not one piece of memory" if copied else "read where it lies"
    operands = 3 if quantity == "backward" else 2
    threads = openmp.plan(x.numel(), x.element_size() * operands)
    return shape, name, route.describe(), memory, threads


def check(bound: Bound, x: torch.Tensor) -> None:
    """Raise where there is no kernel for a tensor's dtype."""
    if x.dtype not in DTYPES:
        bound.runner("value", x.dtype)
