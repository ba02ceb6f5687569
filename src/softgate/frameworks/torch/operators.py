"""The kernels as torch operators, for compilers, functorch, dispatch modes and fake tensors.

They refer to a function by a string key, and to a derivative by how often the function is
differentiated by each operand, so that two operators for each number of operands suffice:
`evaluate` for a value or a derivative, `backward` for all first derivatives times grad. Transforms
and compilers need a fixed number of tensors, so functions of two operands have their own,
`evaluate_two` and `backward_two`. They
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
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakValueDictionary

import torch
from torch import Tensor

from softgate.runtime.registry import functions

from . import private
from .cpu_kernels import BoundFunction, kernel_of, matched
from .decompositions import QUANTITIES, Orders, more
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
    known = functions().get(function.name)
    if known is not None and known.entry is function.entry:
        return function.name
    key = f"{function.name}@{id(function):x}"
    _users[key] = function
    return key


def bound_of(key: str, parameters: list[float], arithmetic: str) -> BoundFunction:
    """Return the function that an operator's arguments refer to."""
    index = (key, tuple(parameters), arithmetic)
    bound = _bound.get(index)
    if bound is None:
        name = key.partition(FINGERPRINT)[0]
        function = functions().get(name) or _users.get(name)
        if function is None:
            raise RuntimeError(f"the function {key!r} of a traced graph no longer exists")
        values = tuple(zip(function.parameters, parameters, strict=True))
        bound = BoundFunction(function, key, values, arithmetic or None)
        if len(_bound) > 1024:  # bounds the memory of a sweep over a parameter
            _bound.clear()
        _bound[index] = bound
    return bound


def bind(
    function: Activation, arithmetic: str | None, parameters: Mapping[str, float]
) -> BoundFunction:
    """Return the kernels of a function with these parameters, after checking them."""
    key = function.check_parameters(parameters)
    return bound_of(key_of(function), [value for _, value in key], arithmetic or "")


operators: Any = torch.ops.softgate

_sharded: list[Any] = []
"""The operators whose sharding rules are registered."""


_derivatives: Any = private.derivatives.get()


def evaluate_of(operands: int) -> Any:
    """Return the operator for the derivatives of functions of a number of operands."""
    return operators.evaluate if operands == 1 else operators.evaluate_two


def backward_of(operands: int) -> Any:
    """Return the operator for their first derivatives times grad."""
    return operators.backward if operands == 1 else operators.backward_two


def derivative(operands: Sequence[Tensor], orders: Orders, *rest: Any) -> Tensor:
    """Return a derivative from the operator, or in torch's where there are no kernels."""
    bound = bound_of(*rest)
    result: Tensor
    if bound.forms.vanishes(orders):
        return torch.zeros_like(operands[0])
    if sum(orders) < len(QUANTITIES):
        result = evaluate_of(len(orders))(*operands, rest[0], list(orders), *rest[1:])
    else:  # the definition's derivative
        result = bound.forms(orders, *operands)
    return result


class Evaluate(torch.autograd.Function):
    """A derivative of a function, 0 times or more, with derivatives of every order."""

    @staticmethod
    def forward(*arguments: Any) -> Tensor:
        """Return the results of the kernel, or a fake tensor."""
        with _derivatives.below():
            return evaluate_of(len(arguments) - 4)(*arguments)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        """Save the operands, or the value if it gives the same gradient."""
        *operands, key, orders, p, a = inputs
        ctx.orders, ctx.rest = tuple(orders), (key, p, a)
        if not any(orders) and bound_of(key, p, a).saves_output(output.dtype):
            operands = [output]
        ctx.save_for_backward(*operands)
        ctx.save_for_forward(*operands)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        """Return the next derivatives times `grad`."""
        operands, needed = ctx.saved_tensors, ctx.needs_input_grad
        changes: Any
        if not any(ctx.orders):
            changes = backward_of(len(operands))(*operands, grad, *ctx.rest)
            changes = changes if len(operands) > 1 else (changes,)
        else:
            changes = [
                grad * derivative(operands, more(ctx.orders, k), *ctx.rest) if needed[k] else None
                for k in range(len(operands))
            ]
        return *changes, None, None, None, None

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Tensor:
        """Return the sum of the next derivatives times the tangents."""
        operands, change = ctx.saved_tensors, None
        if len(operands) == 1 and not any(ctx.orders):
            return operators.backward(*operands, tangents[0], *ctx.rest)
        for k in range(len(operands)):
            if tangents[k] is not None:
                along = tangents[k] * derivative(operands, more(ctx.orders, k), *ctx.rest)
                change = along if change is None else change + along
        return torch.zeros_like(operands[0]) if change is None else change

    @staticmethod
    def vmap(info: Any, in_dims: Any, *arguments: Any) -> tuple[Tensor, Any]:
        """Return the result for a batch: it is elementwise, so that one operand's axis stays."""
        count = len(arguments) - 4
        if count == 1:
            return operators.evaluate(*arguments), in_dims[0]
        operands = _batched(info.batch_size, in_dims, *arguments[:count])
        return evaluate_of(count)(*operands, *arguments[count:]), 0


def _batched(size: int, in_dims: Any, *tensors: Tensor) -> list[Tensor]:
    """Return tensors with vmap's axis moved to the front; those without it are expanded."""
    return [
        t.expand(size, *t.shape) if dim is None else t.movedim(dim, 0)
        for t, dim in zip(tensors, in_dims, strict=False)
    ]


class Backward(torch.autograd.Function):
    """All first derivatives times grad in one pass, differentiable in the operands and in grad."""

    @staticmethod
    def forward(*arguments: Any) -> Any:
        """Return the products from the kernel or, of fake tensors, their shapes."""
        with _derivatives.below():
            return backward_of(len(arguments) - 4)(*arguments)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        """Save the operands and grad."""
        *tensors, key, p, a = inputs
        ctx.rest = (key, p, a)
        ctx.save_for_backward(*tensors)
        ctx.save_for_forward(*tensors)

    @staticmethod
    def backward(ctx: Any, *outer: Tensor) -> Any:
        """Return the derivatives of all results, times `outer`, by the operands and by grad."""
        *operands, grad = ctx.saved_tensors
        changes = [_change(ctx, k, outer, grad) for k in range(len(operands))]
        by_grad = None
        for k in range(len(operands)):
            along = _first(ctx, k, outer[k])
            by_grad = along if by_grad is None else by_grad + along
        return *changes, by_grad, None, None, None

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:
        """Return the changes of all results along the tangents."""
        *operands, grad = ctx.saved_tensors
        count, results = len(operands), []
        for k in range(count):
            change = torch.zeros_like(grad)
            for m in range(count):
                if tangents[m] is not None:
                    orders = more(more((0,) * count, k), m)
                    bend = derivative(operands, orders, *ctx.rest)
                    change = change + tangents[m] * grad * bend
            if tangents[count] is not None:
                change = change + _first(ctx, k, tangents[count])
            results.append(change)
        return tuple(results) if count > 1 else results[0]

    @staticmethod
    def vmap(info: Any, in_dims: Any, *arguments: Any) -> tuple[Any, Any]:
        """Return the products for batches, all brought to the front."""
        count = len(arguments) - 4
        tensors = _batched(info.batch_size, in_dims, *arguments[: count + 1])
        results = backward_of(count)(*tensors, *arguments[count + 1 :])
        return results, 0 if count == 1 else (0,) * count


def _first(ctx: Any, position: int, change: Tensor) -> Tensor:
    """Return `change` times the derivative by one operand."""
    *operands, _ = ctx.saved_tensors
    if len(operands) == 1:
        result: Tensor = operators.backward(*operands, change, *ctx.rest)
        return result
    return change * derivative(operands, more((0,) * len(operands), position), *ctx.rest)


def _change(ctx: Any, position: int, outer: tuple[Tensor, ...], grad: Tensor) -> Tensor | None:
    """Return the derivative of all results, times `outer`, by the operand at `position`."""
    *operands, _ = ctx.saved_tensors
    change, bound = None, bound_of(*ctx.rest)
    for k, change_of_result in enumerate(outer):
        orders = more(more((0,) * len(operands), k), position)
        if not bound.forms.vanishes(orders):
            along = change_of_result * grad * derivative(operands, orders, *ctx.rest)
            change = along if change is None else change + along
    return change


def _evaluate(*arguments: Any) -> Any:
    *operands, key, orders, p, a = arguments
    first, *others = operands
    quantity, result = kernel_of(orders)
    return bound_of(key, p, a).compute(quantity, first, *matched(first, *others), result=result)


def _backward(*arguments: Any) -> Any:
    first, *others, key, p, a = arguments
    return bound_of(key, p, a).compute("backward", first, *matched(first, *others))


class Operator(NamedTuple):
    """An operator for the functions of a number of operands."""

    name: str
    operands: int
    is_backward: bool

    @property
    def tensors(self) -> int:
        """How many tensors it takes, all of one shape."""
        return self.operands + self.is_backward

    @property
    def results(self) -> int:
        """How many tensors it returns."""
        return self.operands if self.is_backward else 1

    @property
    def schema(self) -> str:
        """The arguments and results as torch writes them."""
        names = (*"xy"[: self.operands], "grad") if self.is_backward else "xy"[: self.operands]
        tensors = ", ".join(f"Tensor {name}" for name in names)
        orders = "" if self.is_backward else "int[] orders, "
        returned = "Tensor" if self.results == 1 else f"({', '.join(['Tensor'] * self.results)})"
        rest = f"str function, {orders}float[] parameters, str arithmetic"
        return f"{self.name}({tensors}, {rest}) -> {returned}"

    @property
    def kernel(self) -> Callable[..., Any]:
        """What computes plain tensors."""
        return _backward if self.is_backward else _evaluate

    @property
    def function(self) -> Any:
        """Its derivatives."""
        return Backward if self.is_backward else Evaluate

    def quantity(self, arguments: Sequence[Any]) -> tuple[str, int | None]:
        """Return what it computes with these arguments, as `kernel_of` does."""
        return ("backward", None) if self.is_backward else kernel_of(arguments[self.tensors + 1])


OPERATORS = (
    Operator("evaluate", 1, False),
    Operator("backward", 1, True),
    Operator("evaluate_two", 2, False),
    Operator("backward_two", 2, True),
)


def _register(operator: Operator) -> None:
    """Define an operator with its kernel, its derivatives, and its rule for vmap."""
    name, function, results = operator.name, operator.function, operator.results
    define(operator.schema, (torch.Tag.pt2_compliant_tag,))
    implement(name, operator.kernel, "CPU")
    implement(name, _derivatives.one_level(function), "Autograd")

    def fake(x: Tensor, *_: Any) -> Any:
        return torch.empty_like(x) if results == 1 else tuple(map(torch.empty_like, [x] * results))

    if not has_kernel(name, "Meta"):
        torch.library.register_fake(f"softgate::{name}", fake, lib=library())
    if not has_kernel(name, "FuncTorchBatched"):
        torch.library.register_vmap(f"softgate::{name}", function.vmap, lib=library())


def register() -> None:
    """Register the operators; after an interrupt, those that are missing.

    Called after the import: an interrupted import executes this module again, and the dispatcher
    would refer to the functions of the first time. If torch refuses, its own operators compute what
    is traced or transformed.
    """
    try:
        if _derivatives is None:
            raise RuntimeError(private.derivatives.reason)
        for operator in OPERATORS:
            _register(operator)
    except Exception as error:
        failures[:] = [f"torch does not register softgate's operators: {error}"]
        for operator in OPERATORS:  # of plain tensors, with derivatives
            operator.function.forward = staticmethod(operator.kernel)
            setattr(operators, operator.name, operator.function.apply)


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

    for operator in OPERATORS:
        overload = getattr(operators, operator.name).default
        if overload in _sharded:  # before an interrupt
            continue

        def alike(
            x: Any, *_: Any, operands: int = operator.tensors, results: int = operator.results
        ) -> Any:
            placements = [Replicate(), *map(Shard, range(x.ndim))]
            return [([p] * results, [p] * operands) for p in placements]

        register_sharding(overload)(alike)
        _sharded.append(overload)
