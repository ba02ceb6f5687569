"""Adapter for torch tensors.

- a plain CPU tensor in eager mode: the kernels, called directly (`eager`), by an operator without
  Python if it is small (`small_tensors`);
- the same under functorch, forward mode, a dispatch mode, or as a subclass: `operators`;
- under torch.compile: `operators`, which inductor fuses with their neighbours (`compiled`);
- exported, traced, or on another device: torch's operators (`decompositions`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from softgate.records.packages import check as check_version
from softgate.records.packages import missing

try:
    import torch
except ModuleNotFoundError as error:
    raise missing("torch", error) from error
else:
    check_version("torch", torch.__version__)

from torch import Tensor
from torch.compiler import is_dynamo_compiling

from softgate.runtime.arrays import KERNEL_DTYPES
from softgate.runtime.dispatch import NO_PARAMETERS, Call, Explanation

from ..gated import refuse_out
from . import openmp, operators, private, proxies, registration, small_tensors
from .compiled import compiled, compiled_backward, explain_compiled
from .cpu_kernels import DTYPES, BoundActivation, dense, has_memory, of_result
from .decompositions import QUANTITIES, functionalizing
from .dispatch import PLAIN_NAMES, as_floats, integer_value, is_integer, is_nested, path, plain
from .eager import from_one
from .gated import compute_gated, explain_gated
from .operators import bind

if TYPE_CHECKING:
    from softgate.runtime.activation import Activation

__all__ = ["compute", "explain", "proxies"]
"""The `Adapter`; `proxies` is the one for `torch.fx.Proxy`."""

operators.register()


def compute(call: Call) -> Any:
    """Return the results of a call as tensors, gradients included."""
    function, quantity, operands, arithmetic, parameters = (
        call.function,
        call.quantity,
        call.operands,
        call.arithmetic,
        call.parameters,
    )
    if function.nin == 2:
        return compute_gated(function, call)
    activation = function
    slopes = parameters.get(activation.entry.tensor_slope)
    if isinstance(slopes, Tensor):
        name = activation.name
        if quantity != "value" or call.out is not None or arithmetic is not None:
            raise TypeError(
                f"the {quantity} of {name} with a tensor of slopes: call {name}(x, "
                f"{activation.entry.tensor_slope}=tensor) without options, and autograd for its "
                "derivatives"
            )
        if operands[0].dtype.itemsize == 1:
            raise TypeError(
                f"{name} of a {operands[0].dtype} tensor with a tensor of slopes: expected "
                f"{KERNEL_DTYPES}; convert x, because tables need numbers as parameters"
            )
        return with_slopes(operands[0], slopes)
    if quantity == "backward":
        refuse_out(call)
        return backward(activation, operands[0], operands[1], arithmetic, parameters)
    if call.out is not None:
        raise TypeError(
            "out= is for arrays: to overwrite a tensor, write "
            f"softgate.torch.functional.{activation.name}_(x)"
        )
    return evaluate(activation, quantity, operands[0], arithmetic, parameters)


def with_slopes(x: Tensor, slope: Tensor) -> Tensor:
    """Return x where x > 0, else slope·x, differentiable in both; `slope` broadcasts with x.

    One of the two terms is 0, so the sum is exact; both derivatives are finite at ±inf.
    """
    (x,) = as_floats(x)
    return torch.relu(x) + slope.to(x.dtype) * torch.clamp(x, max=0)


def evaluate(
    activation: Activation,
    quantity: str,
    x: Tensor,
    arithmetic: str | None = None,
    parameters: Mapping[str, float] = NO_PARAMETERS,
) -> Tensor:
    """Return a quantity at each element of a tensor, gradients included."""
    if x.dtype not in DTYPES and is_integer(x):
        integers = integer_value(activation, quantity, x, parameters)
        if integers is not None:
            return integers
        (x,) = as_floats(x)
    if is_dynamo_compiling():
        return compiled(activation, quantity, x, arithmetic, parameters)
    if not activation.fast_path_types:
        activation.use_fast_path(fast_path(activation), (Tensor, torch.nn.Parameter))
    bound: BoundActivation = bind(activation, arithmetic, parameters)
    if plain(x):
        if not (x.requires_grad and torch.is_grad_enabled()):
            return bound.unary(quantity, x)
        if quantity == "value":
            result: Tensor = from_one(x, (bound.unary("value", x), bound))
            return result
    check_dtype(bound, x)
    operators.prepare_sharding(x)
    if is_nested(x):
        values = dict(bound.parameters)
        parts = [evaluate(activation, quantity, part, arithmetic, values) for part in x.unbind()]
        return torch.nested.as_nested_tensor(parts)
    if path(x) == "torch":
        return bound.forms(QUANTITIES.index(quantity), x)
    key, p, a = bound.arguments
    return operators.operators.evaluate(x, key, quantity, p, a)


def backward(
    activation: Activation,
    x: Any,
    grad: Any,
    arithmetic: str | None = None,
    parameters: Mapping[str, float] = NO_PARAMETERS,
) -> Tensor:
    """Return slope(x)·grad for tensors, itself differentiable."""
    if not (isinstance(x, Tensor) and isinstance(grad, Tensor)):
        kinds = f"{type(x).__name__} and {type(grad).__name__}"
        raise TypeError(f"x and grad are {kinds}: expected two tensors, or two arrays")
    if x.dtype != grad.dtype or x.device != grad.device:
        raise TypeError(
            f"x is {x.dtype} on {x.device} and grad {grad.dtype} on {grad.device}: "
            "convert one of them"
        )
    x, grad = as_floats(x, grad)
    if is_dynamo_compiling():
        return compiled_backward(activation, x, grad, arithmetic, parameters)
    bound: BoundActivation = bind(activation, arithmetic, parameters)
    check_dtype(bound, x)
    x, grad = torch.broadcast_tensors(x, grad)
    if path(x) == "torch":
        return bound.forms.times_slope(x, grad)
    recorded = (x.requires_grad or grad.requires_grad) and torch.is_grad_enabled()
    if plain(x) and plain(grad) and not recorded:
        return bound.binary("backward", x, grad)
    operators.prepare_sharding(x, grad)
    result: Tensor = operators.operators.backward(x, grad, *bound.arguments)
    return result


def fast_path(activation: Activation) -> Callable[[Tensor], Tensor]:
    """Return a function that computes the value of small plain tensors with the least overhead."""
    bound: BoundActivation = bind(activation, None, {})
    unary, table = small_tensors.operators.get().unary, bound.tables["value"]
    compiling, grad_enabled = is_dynamo_compiling, torch.is_grad_enabled
    forward_mode = private.forward_mode.get()

    def value(x: Tensor) -> Tensor:
        if not compiling() and forward_mode._current_level < 0:
            y = unary(x, table.address)
            if y is not None:
                if not (x.requires_grad and grad_enabled()):
                    return y
                result: Tensor = from_one(x, (y, bound))
                return result
        return evaluate(activation, "value", x)

    return value


def check_dtype(bound: BoundActivation, x: Tensor) -> None:
    """Raise if there is no kernel for a tensor's dtype."""
    if x.dtype not in DTYPES:
        bound.route("value", x.dtype)


def explain(call: Call) -> Explanation:
    """Return how a call is computed."""
    function, quantity = call.function, call.quantity
    if function.nin == 2:
        return explain_gated(function, call)
    activation, x = function, call.operands[0]
    bound: BoundActivation = bind(activation, call.arithmetic, call.parameters)
    by_torch = Explanation(
        activation=activation.name,
        quantity=quantity,
        shape=tuple(x.shape),
        dtype=str(x.dtype).removeprefix("torch."),
        computed_by=f"torch's own operator, of integers, on {x.device.type}",
        memory="memory managed by torch",
        threads=torch.get_num_threads(),
    )
    if is_integer(x):
        if integer_value(activation, quantity, x, call.parameters) is not None:
            return by_torch
        of_floats = explain(call._replace(operands=as_floats(x)))
        memory = f"converted to {of_floats.dtype} first"
        return replace(of_floats, dtype=by_torch.dtype, memory=memory)
    check_dtype(bound, x)
    if path(x) == "torch":
        how = f"{bound.forms.describe(quantity, x)}, on {x.device.type}"
        if registration.failures:
            how += f" ({registration.failures[0]})"
        elif functionalizing():
            how += private.costs(private.functionalizing)
        return replace(by_torch, computed_by=how)
    if not has_memory(x):
        how = f"nothing: a tensor on {x.device.type} that has a shape and no elements"
        return replace(by_torch, computed_by=how, memory="none", threads=1)
    route = bound.route(quantity, x.dtype)
    copied = dense(x) is not x
    memory = "copied first: not contiguous" if copied else "input not copied"
    memory += of_result(x.nbytes)
    recorded = quantity == "value" and x.requires_grad and torch.is_grad_enabled()
    if recorded:
        saved = "result" if bound.saves_output(x.dtype) else "input"
        memory += f", {saved} saved for the gradient"
    moved = x.element_size() * (len(route.inputs) + route.results)
    threads = openmp.plan(x.numel(), moved)
    how = route.describe()
    if not call.compiled:
        how += small_tensors.describe(quantity, x) if plain(x) else private.costs(*PLAIN_NAMES)
        how += private.costs(private.straight) if recorded else ""
    explanation = replace(by_torch, computed_by=how, memory=memory, threads=threads)
    return explain_compiled(explanation, x.dtype) if call.compiled else explanation
