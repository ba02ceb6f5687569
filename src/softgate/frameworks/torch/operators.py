"""The kernels as torch operators, for compilers, functorch, dispatch modes and fake tensors.

They refer to a function by a string key, so that four operators suffice: `softgate::evaluate` and
`backward` (slope(x)·grad) for activations, `gated` and `gated_backward` for gated functions. They
have derivatives of every order and forward mode. Plain tensors in eager mode do not need them:
`eager` calls the kernels directly, because an operator written in Python takes several times as
long as a small tensor's kernel.

Their sharding rules for `torch.distributed.tensor.DTensor` are registered when the first DTensor
arrives, because that module takes long to import. Each operator is elementwise on operands of one
shape, so any axis may be sharded, the same for all operands and results; a tensor that is a partial
sum is reduced first.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

import torch
from torch import Tensor

from softgate.runtime.registry import functions, gated

from . import private
from .cpu_kernels import BoundActivation, BoundFunction, BoundGated, matched
from .registration import define, failures, has_kernel, implement, library

if TYPE_CHECKING:
    from softgate.runtime.activation import Activation

_users: WeakValueDictionary[str, Activation] = WeakValueDictionary()
"""Functions outside of the catalogue, by their key."""
_bound: dict[tuple[str, tuple[float, ...], str], BoundFunction] = {}


FINGERPRINT = "#"
"""What precedes a fingerprint of the formulas in the key of a function in a compiled graph."""


def key_of(function: Activation) -> str:
    """Return the string by which operators refer to a function."""
    known = functions().get(function.name) or _parts().get(function.name)
    if known is not None and known.entry is function.entry:
        return function.name
    key = f"{function.name}@{id(function):x}"
    _users[key] = function
    return key


@cache
def _parts() -> dict[str, Activation]:
    """Return the activations and factors that only gated functions have, by name."""
    parts = (
        part
        for function in gated().values()
        for part in (function.gate_activation, function.factor)
    )
    return {part.name: part for part in parts if part is not None and part.name not in functions()}


def bound_of(key: str, parameters: list[float], arithmetic: str) -> Any:
    """Return the `BoundActivation` or `BoundGated` that an operator's arguments refer to."""
    index = (key, tuple(parameters), arithmetic)
    bound = _bound.get(index)
    if bound is None:
        name = key.partition(FINGERPRINT)[0]
        function = functions().get(name) or _parts().get(name) or _users.get(name)
        if function is None:
            raise RuntimeError(f"the function {key!r} of a traced graph no longer exists")
        values = tuple(zip(function.parameters, parameters, strict=True))
        if function.nin == 2:
            assert function.gate_activation is not None
            act = bound_of(function.gate_activation.name, parameters, arithmetic)
            factor = None
            if function.factor is not None:
                factor = bound_of(function.factor.name, parameters, arithmetic)
            bound = BoundGated(function, key, values, arithmetic or None, act, factor)
        else:
            bound = BoundActivation(function, key, values, arithmetic or None)
        if len(_bound) > 1024:  # bounds the memory of a sweep over a parameter
            _bound.clear()
        _bound[index] = bound
    return bound


def bind(function: Activation, arithmetic: str | None, parameters: Mapping[str, float]) -> Any:
    """Return the kernels of a function with these parameters, after checking them."""
    key = function.check_parameters(parameters)
    return bound_of(key_of(function), [value for _, value in key], arithmetic or "")


operators: Any = torch.ops.softgate

OPERATORS = {
    "evaluate": (1, None),
    "backward": (2, "backward"),
    "gated": (2, "value"),
    "gated_backward": (3, "backward"),
}
"""The number of tensors and the quantity of each operator; None if it is an argument."""
_sharded: list[Any] = []
"""The operators whose sharding rules are registered."""


_derivatives: Any = private.derivatives.get()


class Evaluate(torch.autograd.Function):
    """A quantity of an activation, with derivatives of every order, in both modes."""

    @staticmethod
    def forward(x: Tensor, key: str, quantity: str, p: list[float], a: str) -> Tensor:
        """Return the quantity from the kernel, or a fake tensor."""
        with _derivatives.below():
            return operators.evaluate(x, key, quantity, p, a)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        """Save the input, or the value if it gives the same gradient."""
        x, *ctx.rest = inputs
        key, quantity, p, a = ctx.rest
        from_output = quantity == "value" and bound_of(key, p, a).saves_output(x.dtype)
        saved = output if from_output else x
        ctx.save_for_backward(saved)
        ctx.save_for_forward(saved)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        """Return the next derivative times `grad`."""
        return Evaluate.jvp(ctx, grad), None, None, None, None

    @staticmethod
    def jvp(ctx: Any, tangent: Tensor, *_: Any) -> Tensor:
        """Return the next derivative times the tangent."""
        (saved,) = ctx.saved_tensors
        key, quantity, p, a = ctx.rest
        if quantity == "value":
            return operators.backward(saved, tangent, key, p, a)
        if quantity == "slope":
            return tangent * operators.evaluate(saved, key, "curvature", p, a)
        # Beyond curvature there are no kernels: the definition's derivative, in torch operators.
        return tangent * bound_of(key, p, a).forms(3, saved)

    @staticmethod
    def vmap(info: Any, in_dims: Any, x: Tensor, *rest: Any) -> tuple[Tensor, Any]:
        """Return the quantity of the batch; it is elementwise, so the batch axis stays."""
        return operators.evaluate(x, *rest), in_dims[0]


def _saving(count: int) -> Any:
    """Return a `setup_context` that saves the first `count` inputs, all of them tensors."""

    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        ctx.rest = inputs[count:]
        ctx.save_for_backward(*inputs[:count])
        ctx.save_for_forward(*inputs[:count])

    return staticmethod(setup_context)


def _batched(size: int, in_dims: Any, *tensors: Tensor) -> list[Tensor]:
    """Return tensors with vmap's axis moved to the front; those without it are expanded."""
    return [
        t.expand(size, *t.shape) if dim is None else t.movedim(dim, 0)
        for t, dim in zip(tensors, in_dims, strict=False)
    ]


class Backward(torch.autograd.Function):
    """slope(x)·grad in one pass, differentiable in both operands."""

    @staticmethod
    def forward(x: Tensor, grad: Tensor, key: str, p: list[float], a: str) -> Tensor:
        """Return the product from the kernel or, of fake tensors, its shape."""
        with _derivatives.below():
            return operators.backward(x, grad, key, p, a)

    setup_context = _saving(2)

    @staticmethod
    def backward(ctx: Any, outer: Tensor) -> Any:
        """Return outer·grad·curvature(x) and outer·slope(x)."""
        x, grad = ctx.saved_tensors
        key, p, a = ctx.rest
        change = outer * grad * operators.evaluate(x, key, "curvature", p, a)
        return change, operators.backward(x, outer, key, p, a), None, None, None

    @staticmethod
    def jvp(ctx: Any, along_x: Any, along_grad: Any, *_: Any) -> Tensor:
        """Return the change of slope·grad along both tangents."""
        x, grad = ctx.saved_tensors
        key, p, a = ctx.rest
        change = torch.zeros_like(x)
        if along_x is not None:
            change = along_x * grad * operators.evaluate(x, key, "curvature", p, a)
        if along_grad is not None:
            change = change + operators.backward(x, along_grad, key, p, a)
        return change

    @staticmethod
    def vmap(info: Any, in_dims: Any, x: Tensor, grad: Tensor, *rest: Any) -> tuple[Tensor, int]:
        """Return the product for batches, both brought to the front."""
        return operators.backward(*_batched(info.batch_size, in_dims, x, grad), *rest), 0


class Product(torch.autograd.Function):
    """act(gate)·factor(other), with derivatives of every order, in both modes."""

    @staticmethod
    def forward(gate: Tensor, other: Tensor, key: str, p: list[float], a: str) -> Tensor:
        """Return the product from the kernel or, of fake tensors, its shape."""
        with _derivatives.below():
            return operators.gated(gate, other, key, p, a)

    setup_context = _saving(2)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        """Return both partial derivatives times `grad`, those that are needed."""
        gate, other = ctx.saved_tensors
        if not ctx.needs_input_grad[0] and _factor(*ctx.rest) is None:
            return None, operators.gated(gate, grad, *ctx.rest), None, None, None
        return *operators.gated_backward(gate, other, grad, *ctx.rest), None, None, None

    @staticmethod
    def jvp(ctx: Any, along_gate: Any, along_other: Any, *_: Any) -> Tensor:
        """Return slope(gate)·factor·along_gate + act(gate)·factor'·along_other."""
        gate, other = ctx.saved_tensors
        change = torch.zeros_like(gate)
        if along_gate is not None:
            factor = _of_other(other, *ctx.rest)
            change = operators.backward(gate, factor * along_gate, *_act(*ctx.rest))
        if along_other is not None:
            along = _by_other(other, along_other, *ctx.rest)
            change = change + _gate_times(gate, along, *ctx.rest)
        return change

    @staticmethod
    def vmap(
        info: Any, in_dims: Any, gate: Tensor, other: Tensor, *rest: Any
    ) -> tuple[Tensor, int]:
        """Return the product for batches, both brought to the front."""
        return operators.gated(*_batched(info.batch_size, in_dims, gate, other), *rest), 0


class Partials(torch.autograd.Function):
    """slope(gate)·factor·grad and act(gate)·factor'·grad in one pass, differentiable in all three.

    The factor is piecewise linear: its slope has no derivative.
    """

    @staticmethod
    def forward(gate: Tensor, other: Tensor, grad: Tensor, key: str, p: list[float], a: str) -> Any:
        """Return both from the kernel or, of fake tensors, their shapes."""
        with _derivatives.below():
            return operators.gated_backward(gate, other, grad, key, p, a)

    setup_context = _saving(3)

    @staticmethod
    def backward(ctx: Any, to_gate: Tensor, to_other: Tensor) -> Any:
        """Return the derivatives of both results by gate, other and grad."""
        gate, other, grad = ctx.saved_tensors
        act, factor = _act(*ctx.rest), _of_other(other, *ctx.rest)
        to_other = _by_other(other, to_other, *ctx.rest)
        of_gate = _bend(gate, factor * grad * to_gate, act)
        of_gate = of_gate + operators.backward(gate, grad * to_other, *act)
        of_other = _by_other(other, operators.backward(gate, grad * to_gate, *act), *ctx.rest)
        of_grad = operators.backward(gate, factor * to_gate, *act)
        of_grad = of_grad + _gate_times(gate, to_other, *ctx.rest)
        return of_gate, of_other, of_grad, None, None, None

    @staticmethod
    def jvp(ctx: Any, along_gate: Any, along_other: Any, along_grad: Any, *_: Any) -> Any:
        """Return the change of both results along three tangents."""
        gate, other, grad = ctx.saved_tensors
        act, factor = _act(*ctx.rest), _of_other(other, *ctx.rest)
        first, second = torch.zeros_like(gate), torch.zeros_like(gate)
        if along_gate is not None:
            first = _bend(gate, factor * grad * along_gate, act)
            second = operators.backward(gate, grad * along_gate, *act)
        if along_other is not None:
            along = _by_other(other, grad * along_other, *ctx.rest)
            first = first + operators.backward(gate, along, *act)
        if along_grad is not None:
            first = first + operators.backward(gate, factor * along_grad, *act)
            second = second + _gate_times(gate, along_grad, *ctx.rest)
        return first, _by_other(other, second, *ctx.rest)

    @staticmethod
    def vmap(
        info: Any, in_dims: Any, gate: Tensor, other: Tensor, grad: Tensor, *rest: Any
    ) -> tuple[Any, tuple[int, int]]:
        """Return both for batches, all brought to the front."""
        tensors = _batched(info.batch_size, in_dims, gate, other, grad)
        return operators.gated_backward(*tensors, *rest), (0, 0)


Arguments = tuple[str, list[float], str]


def _act(key: str, p: list[float], a: str) -> Arguments:
    """Return the arguments that refer to the activation of the gate."""
    arguments: Arguments = bound_of(key, p, a).act.arguments
    return arguments


def _factor(key: str, p: list[float], a: str) -> Arguments | None:
    """Return the arguments that refer to the function of the other operand, if it has one."""
    factor: BoundActivation | None = bound_of(key, p, a).factor
    return None if factor is None else factor.arguments


def _of_other(other: Tensor, *rest: Any) -> Tensor:
    """Return the factor: `other`, or its function."""
    factor = _factor(*rest)
    if factor is None:
        return other
    key, p, a = factor
    result: Tensor = operators.evaluate(other, key, "value", p, a)
    return result


def _by_other(other: Tensor, change: Tensor, *rest: Any) -> Tensor:
    """Return `change` times the slope of the factor."""
    factor = _factor(*rest)
    if factor is None:
        return change
    result: Tensor = operators.backward(other, change, *factor)
    return result


def _gate_times(gate: Tensor, change: Tensor, *rest: Any) -> Tensor:
    """Return act(gate)·change."""
    result: Tensor
    if _factor(*rest) is None:
        result = operators.gated(gate, change, *rest)
    else:
        key, p, a = _act(*rest)
        result = change * operators.evaluate(gate, key, "value", p, a)
    return result


def _bend(gate: Tensor, factor: Tensor, act: Arguments) -> Any:
    key, p, a = act
    return factor * operators.evaluate(gate, key, "curvature", p, a)


def _evaluate(x: Tensor, key: str, quantity: str, p: list[float], a: str) -> Any:
    return bound_of(key, p, a).unary(quantity, x)


def _backward(x: Tensor, grad: Tensor, key: str, p: list[float], a: str) -> Any:
    return bound_of(key, p, a).binary("backward", x, grad)


def _gated(gate: Tensor, other: Tensor, key: str, p: list[float], a: str) -> Any:
    return bound_of(key, p, a).value(gate, *matched(gate, other))


def _gated_backward(
    gate: Tensor, other: Tensor, grad: Tensor, key: str, p: list[float], a: str
) -> Any:
    return bound_of(key, p, a).compute("backward", gate, *matched(gate, other, grad))


def _register(
    name: str, arguments: str, kernel: Callable[..., Any], function: Any, results: int
) -> None:
    """Define an operator with its kernel, its derivatives, and its rule for vmap."""
    returned = "Tensor" if results == 1 else "(Tensor, Tensor)"
    schema = f"{name}({arguments}, float[] parameters, str arithmetic) -> {returned}"
    define(schema, (torch.Tag.pt2_compliant_tag,))
    implement(name, kernel, "CPU")
    implement(name, _derivatives.one_level(function), "Autograd")

    def fake(x: Tensor, *_: Any) -> Any:
        return torch.empty_like(x) if results == 1 else (torch.empty_like(x), torch.empty_like(x))

    if not has_kernel(name, "Meta"):
        torch.library.register_fake(f"softgate::{name}", fake, lib=library())
    if not has_kernel(name, "FuncTorchBatched"):
        torch.library.register_vmap(f"softgate::{name}", function.vmap, lib=library())


REGISTRATIONS: tuple[tuple[str, str, Callable[..., Any], Any, int], ...] = (
    ("evaluate", "Tensor x, str function, str quantity", _evaluate, Evaluate, 1),
    ("backward", "Tensor x, Tensor grad, str function", _backward, Backward, 1),
    ("gated", "Tensor gate, Tensor other, str function", _gated, Product, 1),
    (
        "gated_backward",
        "Tensor gate, Tensor other, Tensor grad, str function",
        _gated_backward,
        Partials,
        2,
    ),
)


def register() -> None:
    """Register the operators; after an interrupt, those that are missing.

    Called after the import: an interrupted import executes this module again, and the dispatcher
    would refer to the functions of the first time. If torch refuses, its own operators compute what
    is traced or transformed.
    """
    try:
        if _derivatives is None:
            raise RuntimeError(private.derivatives.reason)
        for registration in REGISTRATIONS:
            _register(*registration)
    except Exception as error:
        failures[:] = [f"torch does not register softgate's operators: {error}"]
        for name, _, kernel, function, _ in REGISTRATIONS:  # of plain tensors, with derivatives
            function.forward = staticmethod(kernel)
            setattr(operators, name, function.apply)


def prepare_sharding(*tensors: Any) -> None:
    """Register the operators' sharding rules if one of the tensors is a DTensor.

    Without tensors, register if the class is imported: under a compiler no tensor is available.
    """
    module = sys.modules.get("torch.distributed.tensor")
    if module is not None and not failures and len(_sharded) < len(OPERATORS):
        kind = getattr(module, "DTensor", ())  # absent while the module is being imported
        if kind and (not tensors or any(isinstance(x, kind) for x in tensors)):
            _register_sharding()


def _register_sharding() -> None:
    from torch.distributed.tensor import Replicate, Shard
    from torch.distributed.tensor.experimental import register_sharding

    for name, _, _, _, results in REGISTRATIONS:
        operator, tensors = getattr(operators, name).default, OPERATORS[name][0]
        if operator in _sharded:  # before an interrupt
            continue

        def alike(x: Any, *_: Any, operands: int = tensors, results: int = results) -> Any:
            placements = [Replicate(), *map(Shard, range(x.ndim))]
            return [([p] * results, [p] * operands) for p in placements]

        register_sharding(operator)(alike)
        _sharded.append(operator)
