"""Gated functions of tensors: two operands of one shape and format, or the halves of one.

They are computed by kernels or operators, like activations. On other devices and in exported graphs
the activation of the gate is multiplied by the other operand.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

import torch
from torch import Tensor
from torch.compiler import is_dynamo_compiling

from softgate.records.text import a_type
from softgate.runtime.dispatch import Call, Explanation
from softgate.runtime.registry import gated as gated_functions

from ..gated import refuse_out
from . import openmp, operators, private, small_tensors
from .compiled import arguments, explain_compiled, key_for
from .cpu_kernels import BoundGated, halves
from .dispatch import PLAIN_NAMES, as_floats, both_plain, is_nested, path, plain
from .eager import from_halves, from_pair, partials
from .operators import bind
from .private import constant_when_compiled

if TYPE_CHECKING:
    from softgate.runtime.activation import Activation


def compute_gated(function: Activation, call: Call) -> Any:
    """Return the results of a call, gradients included.

    Slope and backward of one tensor have its shape; those of two are in the order of the operands.
    """
    quantity, arithmetic, parameters = call.quantity, call.arithmetic, call.parameters
    refuse_out(call)
    gate_first = function.position(call.gate) == "first"
    operands = as_floats(*call.operands)
    grad = None
    if quantity == "backward":
        operands, grad = operands[:-1], operands[-1]
    split = len(operands) == 1
    dim = -1
    if split:
        dim = _split_axis(function.name, operands[0], call.axis)
        if quantity == "value" and is_nested(operands[0]):
            if dim >= 0:
                raise ValueError(f"axis = {dim} of a nested tensor: count axes from the end")
            parts = [
                compute_gated(function, call._replace(operands=(part,), axis=dim))
                for part in operands[0].unbind()
            ]
            return torch.nested.as_nested_tensor(parts)
        gate, other = halves(operands[0], dim, gate_first)
    else:
        call.check_axis()
        a, b = _together(*operands)
        if isinstance(grad, Tensor):
            a, b = (x.expand(torch.broadcast_shapes(x.shape, grad.shape)) for x in (a, b))
        gate, other = (a, b) if gate_first else (b, a)
    if quantity == "value":
        if is_dynamo_compiling():
            return _compiled(function, gate, other, arithmetic, parameters)
        if not function.fast_path_types:
            function.use_fast_path(fast_path(function), (Tensor, torch.nn.Parameter))
        bound: BoundGated = bind(function, arithmetic, parameters)
        if split and plain(operands[0]):
            bound.route("value", gate.dtype)
            return _of_halves(bound, operands[0], dim, gate_first)
        return product(bound, gate, other)
    if quantity == "backward":
        grad = _broadcast_grad(grad, gate)
    results = _derivatives(function, quantity, gate, other, grad, arithmetic, parameters)
    if quantity == "curvature":
        results = (*results, torch.zeros_like(gate))
    ordered = results if gate_first else results[::-1]
    return torch.cat(ordered, dim) if split and quantity != "curvature" else ordered


def _compiled(
    function: Activation,
    gate: Tensor,
    other: Tensor,
    arithmetic: str | None,
    parameters: Mapping[str, float],
) -> Tensor:
    key, values, numbers = arguments(_constants, parameters, function, arithmetic, gate.dtype)
    if composes(gate, other):
        return composed(function, "value", gate, other, None, arithmetic, dict(numbers))[0]
    return torch.ops.softgate.gated(gate, other, key, values, arithmetic or "")


def product(bound: BoundGated, gate: Tensor, other: Tensor) -> Tensor:
    """Return act(gate)·other of two tensors of one shape and format, outside of compilers."""
    if both_plain(gate, other):
        if _recorded(gate, other):
            result: Tensor = from_pair(gate, other, (bound.value(gate, other), bound))
            return result
        return bound.value(gate, other)
    bound.route("value", gate.dtype)
    if composes(gate, other):
        parameters = dict(bound.parameters)
        return composed(bound.function, "value", gate, other, None, bound.arithmetic, parameters)[0]
    operators.prepare_sharding(gate, other)
    return operators.operators.gated(gate, other, *bound.arguments)


def _derivatives(
    function: Activation,
    quantity: str,
    gate: Tensor,
    other: Tensor,
    grad: Tensor | None,
    arithmetic: str | None,
    parameters: Mapping[str, float],
) -> tuple[Tensor, ...]:
    """Return two derivatives, that by the gate first; for the curvature, the mixed one second."""
    rest = (gate, other, grad, arithmetic, parameters)
    if is_dynamo_compiling():
        return composed(function, quantity, *rest)
    bound: BoundGated = bind(function, arithmetic, parameters)
    bound.route(quantity, gate.dtype)  # raises for a dtype without a kernel
    if composes(gate, other):
        return composed(function, quantity, *rest)
    operands = (gate, other) if grad is None else (gate, other, grad)
    if all(plain(x) for x in operands) and not _recorded(*operands):
        return bound.compute(quantity, *operands)[:2]
    operators.prepare_sharding(*operands)
    if quantity == "curvature":
        key, values, wider = bound.act.arguments
        twice, once = (
            operators.operators.evaluate(gate, key, order, values, wider)
            for order in ("curvature", "slope")
        )
        if bound.factor is None:
            return twice * other, once
        factor, values, wider = bound.factor.arguments
        times = operators.operators.evaluate(other, factor, "value", values, wider)
        return twice * times, operators.operators.backward(other, once, factor, values, wider)
    return partials(bound, gate, other, torch.ones_like(gate) if grad is None else grad)


def composed(
    function: Activation,
    quantity: str,
    gate: Tensor,
    other: Tensor,
    grad: Tensor | None,
    arithmetic: str | None,
    parameters: Mapping[str, float],
) -> tuple[Tensor, ...]:
    """Return a quantity composed of the functions of gate and other operand, and products."""
    act = function.gate_activation
    options: dict[str, Any] = {"arithmetic": arithmetic, **parameters}
    assert act is not None
    factor = other if function.factor is None else function.factor(other, **options)
    if quantity == "value":
        return (act(gate, **options) * factor,)
    if quantity == "curvature":
        bend: Tensor = act.curvature(gate, arithmetic=None, **parameters)
        by_gate, by_other = bend * factor, act.slope(gate, **options)
    elif grad is None:
        by_gate, by_other = act.backward(gate, factor, **options), act(gate, **options)
    else:
        by_gate = act.backward(gate, factor * grad, **options)
        by_other = act(gate, **options) * grad
    if function.factor is not None:
        by_other = function.factor.backward(other, by_other, **options)
    return by_gate, by_other


def fast_path(function: Activation) -> Callable[..., Tensor]:
    """Return a function that computes the value of plain tensors with the least overhead."""
    bound: BoundGated = bind(function, None, function.parameters)
    name, gate_first = function.name, function.position(None) == "first"
    binary, table = small_tensors.operators.get().binary, bound.tables["value"]
    compiling, forward_mode = is_dynamo_compiling, private.forward_mode.get()

    def value(a: Tensor, b: Tensor | None = None, axis: int | None = None) -> Tensor:
        if not compiling():
            if b is None:
                if plain(a) and ("value", a.dtype) in bound.in_rows:
                    return _of_halves(bound, a, _split_axis(name, a, axis), gate_first)
            elif axis is None and forward_mode._current_level < 0:
                gate, other = (a, b) if gate_first else (b, a)
                product = binary(gate, other, table.address)
                if product is not None and a.shape == b.shape:
                    if not _recorded(a, b):
                        return product
                    result: Tensor = from_pair(gate, other, (product, bound))
                    return result
        operands = (a,) if b is None else (a, b)
        return cast("Tensor", compute_gated(function, Call(function, "value", operands, axis=axis)))

    return value


def _of_halves(bound: BoundGated, x: Tensor, dim: int, gate_first: bool) -> Tensor:
    if _recorded(x):
        result: Tensor = from_halves(x, dim, gate_first, bound)
        return result
    return bound.halves(x, dim, gate_first)


@constant_when_compiled
def _constants(
    parameters: Mapping[str, float],
    function: Activation,
    arithmetic: str | None,
    dtype: torch.dtype,
) -> Any:
    """Return an operator's arguments for the kernels, and the parameters; checked in tracing."""
    bound = bind(function, arithmetic, dict(parameters))
    bound.route("value", dtype)
    operators.prepare_sharding()
    return key_for(bound), bound.values, tuple(parameters.items())


@lru_cache(maxsize=256)
def gated_with(activation: Activation) -> BoundGated | None:
    """Return the kernels of the catalogue's act(gate)·other with this gate, or None."""
    for function in gated_functions().values():
        gating = function.entry.gating
        assert gating is not None
        same_gate = gating.activation.definition is activation.entry.definition
        if same_gate and function.factor is None:
            values = activation.parameters
            return cast(BoundGated, bind(function.bind(**values), None, values))
    return None


@constant_when_compiled
def constants_for(activation: Activation) -> Any:
    """Return an operator's arguments for the gated function with this gate, or None."""
    bound = gated_with(activation)
    return None if bound is None else (key_for(bound), bound.values)


def composes(gate: Tensor, other: Tensor) -> bool:
    """Return whether these tensors are computed by torch's operators."""
    return path(gate) == "torch" or path(other) == "torch" or gate.device != other.device


def _recorded(*tensors: Tensor) -> bool:
    return torch.is_grad_enabled() and any(x.requires_grad for x in tensors)


def explain_gated(function: Activation, call: Call) -> Explanation:
    """Return how a call is computed."""
    operands = as_floats(*call.operands)
    gate, other = gate_and_other(function, operands, call.axis, call.gate)
    shape = tuple((operands[0] if len(operands) == 1 else gate).shape)
    bound: BoundGated = bind(function, call.arithmetic, call.parameters)
    route = bound.route(call.quantity, gate.dtype)
    moved = gate.element_size() * (len(route.inputs) + route.results)
    explanation = Explanation(
        activation=function.name,
        quantity=call.quantity,
        shape=shape,
        dtype=str(gate.dtype).removeprefix("torch."),
        computed_by=route.describe(),
        memory="memory managed by torch",
        threads=torch.get_num_threads(),
    )
    if composes(gate, other):
        factor = function.factor
        times = "the other operand" if factor is None else factor.name
        assert function.gate_activation is not None
        how = f"{function.gate_activation.name} in torch operators, times {times}"
        return replace(explanation, computed_by=f"{how}, on {gate.device.type}")
    threads = openmp.plan(gate.numel(), moved)
    explanation = replace(explanation, memory=bound.memory(gate, other), threads=threads)
    if call.compiled:
        return explain_compiled(explanation, gate.dtype)
    recorded = call.quantity == "value" and _recorded(gate, other)
    slower = private.costs(*PLAIN_NAMES, *((private.straight,) if recorded else ()))
    return replace(explanation, computed_by=explanation.computed_by + slower)


def gate_and_other(
    function: Activation, operands: tuple[Any, ...], axis: Any, gate: str | None
) -> tuple[Tensor, Tensor]:
    """Return the gate and the other operand of a call, in one shape and format."""
    gate_first = function.position(gate) == "first"
    if len(operands) == 1:
        return halves(operands[0], _split_axis(function.name, operands[0], axis), gate_first)
    Call(function, "value", operands, axis=axis).check_axis()
    a, b = _together(*operands)
    return (a, b) if gate_first else (b, a)


def _split_axis(name: str, x: Tensor, axis: Any) -> int:
    """Return the axis along which `x` is split into two equal halves, or raise."""
    try:
        dim = -1 if axis is None else operator.index(axis)
    except TypeError:
        raise TypeError(f"axis = {axis!r}: expected a whole number") from None
    if not -x.dim() <= dim < x.dim():
        raise ValueError(f"axis = {dim} is out of range: x has {x.dim()} dimensions")
    # A tracer would record the result of the comparison as a constant.
    if not _traced() and not x.is_nested and x.shape[dim] % 2:
        raise ValueError(
            f"{name} splits x in two equal halves, and x has the odd length {x.shape[dim]} along "
            f"axis {dim % x.dim()} (its shape is {tuple(x.shape)}): its length must be even"
        )
    return dim


def _together(a: Any, b: Any) -> tuple[Tensor, Tensor]:
    """Return two operands as tensors of one shape and dtype, promoted as in a product."""
    if not isinstance(a, Tensor):
        a = _number_like(a, b)
    elif not isinstance(b, Tensor):
        b = _number_like(b, a)
    if a.dtype != b.dtype:
        dtype = torch.result_type(a, b)
        a, b = a.to(dtype), b.to(dtype)
    if _traced() or a.shape != b.shape:
        a, b = torch.broadcast_tensors(a, b)
    return a, b


def _traced() -> bool:
    return torch.jit.is_tracing()


def _number_like(number: Any, tensor: Tensor) -> Tensor:
    if not isinstance(number, int | float):
        raise TypeError(f"{a_type(number)} beside a tensor: expected two tensors, or two arrays")
    return tensor.new_full((), number)


def _broadcast_grad(grad: Any, like: Tensor) -> Tensor:
    """Return a gradient in the shape of the value, or raise."""
    if not isinstance(grad, Tensor):
        raise TypeError(f"grad is {a_type(grad)}: expected a tensor, as its operands are")
    if grad.dtype != like.dtype or grad.device != like.device:
        raise TypeError(
            f"the operands are {like.dtype} on {like.device} and grad is {grad.dtype} on "
            f"{grad.device}: convert one of them"
        )
    try:
        return grad.expand(like.shape)
    except RuntimeError:
        raise ValueError(
            f"grad has shape {tuple(grad.shape)}: the value has {tuple(like.shape)}"
        ) from None
