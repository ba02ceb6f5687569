"""Adapter for torch tensors.

- plain CPU tensors in eager mode: the kernels, called directly (`eager`), by an operator without
  Python if they are small (`small_tensors`);
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

from . import openmp, operators, private, proxies, registration, small_tensors
from .compiled import compiled, explain_compiled
from .cpu_kernels import DTYPES, has_memory
from .decompositions import functionalizing, orders_of
from .dispatch import (
    PLAIN_NAMES,
    all_plain,
    as_floats,
    both_plain,
    integer_value,
    is_integer,
    is_nested,
    plain,
    uses_torch,
)
from .eager import recorded_value
from .operands import Operands, split_axis
from .operators import backward_of, bind, derivative

if TYPE_CHECKING:
    from softgate.runtime.activation import Activation

    from .cpu_kernels import BoundFunction

__all__ = ["compute", "explain", "proxies"]
"""The `Adapter`; `proxies` is the one for `torch.fx.Proxy`."""

operators.register()


def compute(call: Call) -> Any:
    """Return the results of a call as tensors, gradients included.

    Slope and backward of one tensor that is split have its shape.
    """
    function, quantity, arithmetic, parameters = (
        call.function,
        call.quantity,
        call.arithmetic,
        call.parameters,
    )
    x, name = call.operands[0], function.name
    slopes = parameters.get(function.entry.tensor_slope)
    if isinstance(slopes, Tensor):
        if quantity != "value" or call.out is not None or arithmetic is not None:
            raise TypeError(
                f"the {quantity} of {name} with a tensor of slopes: call {name}(x, "
                f"{function.entry.tensor_slope}=tensor) without options, and autograd for its "
                "derivatives"
            )
        if x.dtype.itemsize == 1:
            raise TypeError(
                f"{name} of a {x.dtype} tensor with a tensor of slopes: expected "
                f"{KERNEL_DTYPES}; convert x, because tables need numbers as parameters"
            )
        return with_slopes(x, slopes)
    if call.out is not None:
        instead = ": to overwrite a tensor, write softgate.torch.functional."
        in_place = function.nin == 1 and quantity != "backward"
        raise TypeError(
            f"out= is for arrays{f'{instead}{name}_(x)' if in_place else ', not for tensors'}"
        )
    if function.nin == 1 and quantity != "backward":
        return evaluate(function, quantity, x, arithmetic, parameters)
    call.check_axis()
    if call.splits and quantity == "value":
        dim = split_axis(name, x, call.axis)
        if is_nested(x):
            if dim >= 0:
                raise ValueError(f"axis = {dim} of a nested tensor: count axes from the end")
            parts = [compute(call._replace(operands=(part,))) for part in x.unbind()]
            return torch.nested.as_nested_tensor(parts)
        swapped = function.position(call.gate) != function.position(None)
        if not is_dynamo_compiling() and not is_integer(x) and plain(x):
            bound = bind(function, arithmetic, parameters)
            if not function.fast_path_types:
                _set_fast_path(function)
            return of_halves(bound, x, dim, swapped)
    operands = Operands.of(
        function, call.operands, call.axis, call.gate, backward=quantity == "backward"
    )
    results = results_of(function, quantity, operands.tensors, arithmetic, parameters)
    return operands.result(quantity, results)


def with_slopes(x: Tensor, slope: Tensor) -> Tensor:
    """Return x where x > 0, else slope·x, differentiable in both; `slope` broadcasts with x.

    One of the two terms is 0, so the sum is exact; both derivatives are finite at ±inf.
    """
    (x,) = as_floats(x)
    return torch.relu(x) + slope.to(x.dtype) * torch.clamp(x, max=0)


def evaluate(
    function: Activation,
    quantity: str,
    x: Tensor,
    arithmetic: str | None = None,
    parameters: Mapping[str, float] = NO_PARAMETERS,
) -> Tensor:
    """Return a quantity of a function of one operand at each element of a tensor."""
    if x.dtype not in DTYPES and is_integer(x):
        integers = integer_value(function, quantity, x, parameters)
        if integers is not None:
            return integers
        (x,) = as_floats(x)
    result: Tensor
    if not is_dynamo_compiling() and function.fast_path_types and plain(x) and not _recorded(x):
        result = bind(function, arithmetic, parameters).compute(quantity, x)
    else:
        (result,) = results_of(function, quantity, (x,), arithmetic, parameters)
    return result


def results_of(
    function: Activation,
    quantity: str,
    tensors: tuple[Tensor, ...],
    arithmetic: str | None,
    parameters: Mapping[str, float],
) -> tuple[Tensor, ...]:
    """Return the results of a quantity for tensors of one shape and format."""
    if is_dynamo_compiling():
        return compiled(function, quantity, tensors, arithmetic, parameters)
    if not function.fast_path_types:
        _set_fast_path(function)
    bound = bind(function, arithmetic, parameters)
    results: Any
    if all_plain(*tensors):
        recorded = _recorded(*tensors)
        if not recorded or quantity == "value":
            results = bound.compute(quantity, *tensors)
            if recorded:
                results = recorded_value((results, bound, None), *tensors)
            return results if isinstance(results, tuple) else (results,)
    if is_nested(tensors[0]):
        each_part = [
            results_of(function, quantity, parts, arithmetic, parameters)
            for parts in zip(*(x.unbind() for x in tensors), strict=True)
        ]
        return tuple(torch.nested.as_nested_tensor(list(x)) for x in zip(*each_part, strict=True))
    bound.route("value", tensors[0].dtype)  # raises for a dtype without a kernel
    operators.prepare_sharding(*tensors)
    by_torch = uses_torch(*tensors)
    if quantity == "backward":
        if by_torch:
            return bound.forms.backward(*tensors)
        results = backward_of(function.nin)(*tensors, *bound.arguments)
        return tuple(results) if function.nin > 1 else (results,)
    each = orders_of(quantity, function.nin)
    if by_torch:
        return tuple([bound.forms(orders, *tensors) for orders in each])
    return tuple([derivative(tensors, orders, *bound.arguments) for orders in each])


def _recorded(*tensors: Tensor) -> bool:
    if torch.is_grad_enabled():
        for x in tensors:  # a generator takes longer than a small tensor's kernel
            if x.requires_grad:
                return True
    return False


def of_halves(bound: BoundFunction, x: Tensor, dim: int, swapped: bool) -> Tensor:
    """Return the value at the halves of a plain tensor."""
    y = bound.halves(x, dim, swapped)
    if not _recorded(x):
        return y
    result: Tensor = recorded_value((y, bound, (dim, swapped)), x)
    return result


def _set_fast_path(function: Activation) -> None:
    path = fast_path(function) if function.nin == 1 else fast_path_of_two(function)
    function.use_fast_path(path, (Tensor, torch.nn.Parameter))


def fast_path(function: Activation) -> Callable[[Tensor], Tensor]:
    """Return a function that computes the value of small plain tensors with the least overhead."""
    bound = bind(function, None, {})
    unary, table = small_tensors.operators.get().unary, bound.tables["value"]
    compiling, grad_enabled = is_dynamo_compiling, torch.is_grad_enabled
    forward_mode = private.forward_mode.get()

    def value(x: Tensor) -> Tensor:
        if not compiling() and forward_mode._current_level < 0:
            y = unary(x, table.address)
            if y is None and x.dtype in DTYPES and plain(x):
                y = bound.compute("value", x)
            if y is not None:
                if not (x.requires_grad and grad_enabled()):
                    return y
                result: Tensor = recorded_value((y, bound, None), x)
                return result
        return evaluate(function, "value", x)

    return value


def fast_path_of_two(function: Activation) -> Callable[..., Any]:
    """Return the same for a function of two operands, and for one tensor that is split."""
    bound = bind(function, None, {})
    binary, table = small_tensors.operators.get().binary, bound.tables["value"]
    compiling, forward_mode = is_dynamo_compiling, private.forward_mode.get()

    def value(a: Tensor, b: Tensor | None = None) -> Any:
        if not compiling():
            if b is None:
                if plain(a) and ("value", a.dtype) in bound.in_rows:
                    return of_halves(bound, a, split_axis(function.name, a, None), False)
            elif forward_mode._current_level < 0:
                y = binary(a, b, table.address)
                # A tracer would record a comparison of shapes.
                if (y is not None or both_plain(a, b)) and a.shape == b.shape:
                    if y is None and a.dtype is b.dtype and a.dtype in DTYPES:
                        y = bound.compute("value", a, b)
                    if y is not None:
                        return recorded_value((y, bound, None), a, b) if _recorded(a, b) else y
        return compute(Call(function, "value", (a,) if b is None else (a, b)))

    return value


def explain(call: Call) -> Explanation:
    """Return how a call is computed; `grad` is not among its operands."""
    function, quantity, x = call.function, call.quantity, call.operands[0]
    if function.nin == 1 and is_integer(x):
        by_torch = Explanation(
            activation=function.name,
            quantity=quantity,
            shape=tuple(x.shape),
            dtype=str(x.dtype).removeprefix("torch."),
            computed_by=f"torch's own operator, of integers, on {x.device.type}",
            memory="memory managed by torch",
            threads=torch.get_num_threads(),
        )
        if integer_value(function, quantity, x, call.parameters) is not None:
            return by_torch
        of_floats = explain(call._replace(operands=as_floats(x)))
        memory = f"converted to {of_floats.dtype} first"
        return replace(of_floats, dtype=by_torch.dtype, memory=memory)
    call._replace(quantity="value").check_axis()
    operands = Operands.of(function, call.operands, call.axis, call.gate, backward=False)
    tensors, whole = operands.tensors, operands.whole
    first = tensors[0]
    bound = bind(function, call.arithmetic, call.parameters)
    route = bound.route(quantity, first.dtype)
    explanation = Explanation(
        activation=function.name,
        quantity=quantity,
        shape=tuple((first if whole is None else whole).shape),
        dtype=str(first.dtype).removeprefix("torch."),
        computed_by=route.describe(),
        memory="memory managed by torch",
        threads=torch.get_num_threads(),
    )
    if uses_torch(*tensors):
        how = f"{bound.forms.describe(quantity, first)}, on {first.device.type}"
        if registration.failures:
            how += f" ({registration.failures[0]})"
        elif functionalizing():
            how += private.costs(private.functionalizing)
        return replace(explanation, computed_by=how)
    if not has_memory(first):
        how = f"nothing: a tensor on {first.device.type} that has a shape and no elements"
        return replace(explanation, computed_by=how, memory="none", threads=1)
    memory = bound.memory(*tensors)
    recorded = quantity == "value" and _recorded(*tensors)
    if recorded:
        saved = "result" if bound.saves_output(first.dtype) else "input"
        memory += f", {saved} saved for the gradient"
    moved = first.element_size() * (len(route.inputs) + route.results)
    threads = openmp.plan(first.numel(), moved)
    how = explanation.computed_by
    if not call.compiled:
        if not all_plain(*tensors):
            how += private.costs(*PLAIN_NAMES)
        elif whole is None:
            how += small_tensors.describe(quantity, *tensors)
        how += private.costs(private.straight) if recorded else ""
    explanation = replace(explanation, computed_by=how, memory=memory, threads=threads)
    return explain_compiled(explanation, first.dtype) if call.compiled else explanation
