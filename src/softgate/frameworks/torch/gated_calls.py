"""Gated activations of tensors: which way a call takes, and taking it.

The ways are those of plain activations. On other devices and in exported graphs it is act(gate),
as a plain activation gives it, times other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.compiler import is_dynamo_compiling

from softgate.runtime.arrays import SERIAL

from . import gated_operators, openmp, sharding
from .compiled import numbers
from .dispatch import both_plain, inside_functorch, is_nested, path, plain
from .gated_eager import both_ways, from_halves, from_pair
from .gated_memory import Pair
from .gated_operands import cut, halves, spread, together
from .integers import as_floats
from .native_ops import constant_when_compiled
from .operators import Evaluate

if TYPE_CHECKING:
    from softgate.runtime.activation import Activation
    from softgate.runtime.gated import Gated


def gated(
    function: Gated,
    operands: tuple[Any, ...],
    axis: int | None,
    gate_first: bool,
    out: object,
    arithmetic: str | None,
    parameters: Mapping[str, float],
) -> Tensor:
    """Return act(gate)·other of two tensors, or of the halves of one, gradients included."""
    _no(out)
    operands = as_floats(*operands)
    if len(operands) == 1:
        dim = cut(function.name, operands[0], axis)
        if is_nested(operands[0]):
            if dim >= 0:
                raise ValueError(f"axis = {dim} of a nested tensor: count axes from the end")
            rest = (dim, gate_first, out, arithmetic, parameters)
            parts = [gated(function, (part,), *rest) for part in operands[0].unbind()]
            return torch.nested.as_nested_tensor(parts)
        gate, other = halves(operands[0], dim, gate_first)
    else:
        a, b = together(function.name, operands, axis)
        gate, other = (a, b) if gate_first else (b, a)
    if is_dynamo_compiling():
        parameters = numbers(parameters)
        key, values = _constants(function, arithmetic, parameters, gate.dtype)
        if portable(gate, other) or inside_functorch():
            options = (arithmetic, parameters)
            return composed(function.act, "value", gate, other, None, *options)[0]
        return torch.ops.softgate.gated(gate, other, key, values, arithmetic or "")
    if not function.short_for:
        function.short_way = short_way(function)
        function.short_for = (Tensor, torch.nn.Parameter)
    pair = bind(function, arithmetic, parameters)
    if len(operands) == 1 and plain(operands[0]):
        pair.route("value", gate.dtype)
        return _of_halves(pair, operands[0], dim, gate_first)
    return product(pair, gate, other)


def product(pair: Pair, gate: Tensor, other: Tensor) -> Tensor:
    """Return act(gate)·other of two tensors of one shape and format, outside of compilers."""
    if both_plain(gate, other):
        if _recorded(gate, other):
            result: Tensor = from_pair(gate, other, pair)
            return result
        return pair.value(gate, other)
    pair.route("value", gate.dtype)
    if portable(gate, other):
        act, parameters = pair.act.activation, dict(pair.parameters)
        return composed(act, "value", gate, other, None, pair.arithmetic, parameters)[0]
    sharding.prepare(gate, other)
    rest = (pair.key, pair.values, pair.arithmetic or "")
    return gated_operators.Product.apply(gate, other, *rest)


def gated_quantity(
    function: Gated,
    quantity: str,
    operands: tuple[Any, ...],
    axis: int | None,
    gate_first: bool,
    out: object,
    arithmetic: str | None,
    parameters: Mapping[str, float],
) -> Any:
    """Return slope, curvature or backward as `Gated` has them, themselves differentiable.

    Slope and backward of one tensor have its shape; of two they come in the order of the operands.
    Curvature is that by the gate twice, by both, and by the other operand twice.
    """
    _no(out)
    operands = as_floats(*operands)
    grad = None
    if quantity == "backward":
        operands, grad = operands[:-1], operands[-1]
    split = len(operands) == 1
    if split:
        dim = cut(function.name, operands[0], axis)
        gate, other = halves(operands[0], dim, gate_first)
    else:
        a, b = together(function.name, operands, axis)
        if isinstance(grad, Tensor):
            a, b = (x.expand(torch.broadcast_shapes(x.shape, grad.shape)) for x in (a, b))
        gate, other = (a, b) if gate_first else (b, a)
    if quantity == "backward":
        grad = spread(grad, gate)
    results = _pair_of_results(function, quantity, gate, other, grad, arithmetic, parameters)
    if quantity == "curvature":
        return *results, torch.zeros_like(gate)
    ordered = results if gate_first else results[::-1]
    return torch.cat(ordered, dim) if split else ordered


def _pair_of_results(
    function: Gated,
    quantity: str,
    gate: Tensor,
    other: Tensor,
    grad: Tensor | None,
    arithmetic: str | None,
    parameters: Mapping[str, float],
) -> tuple[Tensor, ...]:
    rest = (gate, other, grad, arithmetic, parameters)
    if is_dynamo_compiling():
        return composed(function.act, quantity, *rest)
    pair = bind(function, arithmetic, parameters)
    pair.route(quantity, gate.dtype)  # raises for a dtype that has no kernel
    if portable(gate, other):
        return composed(function.act, quantity, *rest)
    operands = (gate, other) if grad is None else (gate, other, grad)
    if all(plain(x) for x in operands) and not _recorded(*operands):
        return pair.compute(quantity, *operands)
    sharding.prepare(*operands)
    if quantity == "curvature":
        act = (pair.act.key, pair.act.values, pair.arithmetic or "")
        twice, once = (
            Evaluate.apply(gate, act[0], order, *act[1:]) for order in ("curvature", "slope")
        )
        return twice * other, once
    return both_ways(pair, gate, other, torch.ones_like(gate) if grad is None else grad)


def composed(
    act: Activation,
    quantity: str,
    gate: Tensor,
    other: Tensor,
    grad: Tensor | None,
    arithmetic: str | None,
    parameters: Mapping[str, float],
) -> tuple[Tensor, ...]:
    """Return a quantity computed from the activation of the gate and products."""
    if quantity == "value":
        return (act(gate, arithmetic=arithmetic, **parameters) * other,)
    slope = act.slope(gate, arithmetic=arithmetic, **parameters)
    if quantity == "curvature":
        bend: Tensor = act.curvature(gate, arithmetic=None, **parameters)
        return bend * other, slope
    value = act(gate, arithmetic=arithmetic, **parameters)
    if grad is None:
        return slope * other, value
    return slope * (other * grad), value * grad


def short_way(function: Gated) -> Callable[..., Tensor]:
    """Return the value of tensors with as little ado as possible: small ones wait for Python."""
    pair, name = bind(function, None, function.parameters), function.name
    gate_first = function.entry.position == "first"
    parameters, runners = dict(function.parameters), pair.runners
    empty_like, compiling = torch.empty_like, is_dynamo_compiling

    def of_two(a: Tensor, b: Tensor) -> Tensor:
        gate, other = (a, b) if gate_first else (b, a)
        if _recorded(a, b):
            result: Tensor = from_pair(gate, other, pair)
            return result
        runner, count = runners["value", a.dtype], a.numel()
        if count < SERIAL and a.is_contiguous() and b.is_contiguous():
            out = empty_like(a)
            addresses = (out.data_ptr(), gate.data_ptr(), other.data_ptr())
            runner.run(*addresses, runner.address, count)
            return out
        return pair.value(gate, other)

    def value(a: Tensor, b: Tensor | None = None, axis: int | None = None) -> Tensor:
        if not compiling():
            if b is None:
                if plain(a) and ("value", a.dtype) in pair.in_rows:
                    return _of_halves(pair, a, cut(name, a, axis), gate_first)
            elif (
                axis is None
                and both_plain(a, b)
                and a.dtype is b.dtype
                and a.shape == b.shape
                and ("value", a.dtype) in runners
            ):
                return of_two(a, b)
        operands = (a,) if b is None else (a, b)
        return gated(function, operands, axis, gate_first, None, None, parameters)

    return value


def _of_halves(pair: Pair, x: Tensor, dim: int, gate_first: bool) -> Tensor:
    if _recorded(x):
        result: Tensor = from_halves(x, dim, gate_first, pair)
        return result
    return pair.halves(x, dim, gate_first)


@constant_when_compiled
def _constants(
    function: Gated, arithmetic: str | None, parameters: Mapping[str, float], dtype: torch.dtype
) -> Any:
    """Return what names the kernels to an operator, checked while the call is traced."""
    pair = bind(function, arithmetic, dict(parameters))
    pair.route("value", dtype)
    sharding.prepare()
    return pair.key, pair.values


def bind(function: Gated, arithmetic: str | None, parameters: Mapping[str, float]) -> Pair:
    """Return the kernels of a gated activation with these parameters."""
    values = function.gating.parameters(parameters)
    key = gated_operators.key_of(function)
    return gated_operators.pair_of(key, [value for _, value in values], arithmetic or "")


@lru_cache(maxsize=256)
def pair_for(activation: Activation) -> Pair | None:
    """Return the kernels of the gated activation with this gate, if the catalogue has one."""
    from softgate.runtime.registry import gated as known

    for function in known().values():
        if function.entry.act.definition is activation.entry.definition:
            return bind(function.bind(**activation.parameters), None, activation.parameters)
    return None


@constant_when_compiled
def constants_for(activation: Activation) -> Any:
    """Return what names the kernels of the gated activation with this gate, or None."""
    pair = pair_for(activation)
    return None if pair is None else (pair.key, pair.values)


def portable(gate: Tensor, other: Tensor) -> bool:
    """Tell whether torch's own operators compute for these tensors."""
    return path(gate) == "torch" or path(other) == "torch" or gate.device != other.device


def _recorded(*tensors: Tensor) -> bool:
    return torch.is_grad_enabled() and any(x.requires_grad for x in tensors)


def _no(out: object) -> None:
    if out is not None:
        raise TypeError("out= is for arrays, not for tensors")


def describe_gated(
    function: Gated,
    quantity: str,
    operands: tuple[Any, ...],
    axis: int | None,
    gate_first: bool,
    arithmetic: str | None,
    parameters: Mapping[str, float],
) -> tuple[tuple[int, ...], str, str, str, int]:
    """Return shape, dtype, what computes, what is done with memory, and the threads."""
    operands = as_floats(*operands)
    if len(operands) == 1:
        shape = tuple(operands[0].shape)
        gate, other = halves(operands[0], cut(function.name, operands[0], axis), gate_first)
    else:
        gate, other = together(function.name, operands, axis)
        shape = tuple(gate.shape)
    pair = bind(function, arithmetic, parameters)
    route = pair.route(quantity, gate.dtype)
    name = str(gate.dtype).removeprefix("torch.")
    if portable(gate, other):
        how = f"{function.entry.act.name} in torch operators, times the other operand"
        threads = torch.get_num_threads()
        return shape, name, f"{how}, on {gate.device.type}", "as torch has it", threads
    memory = pair.memory(quantity, gate, other)
    tensors = {"value": 3, "backward": 5}.get(quantity, 4)
    threads = openmp.plan(gate.numel(), gate.element_size() * tensors)
    return shape, name, route.describe(), memory, threads
