"""The kernels as torch operators, for what looks inside a call: compilers, functorch, fake tensors.

`softgate::evaluate` and `softgate::backward` name the activation by a string, so that two operators
serve all. They carry derivatives of every order and forward mode. In eager mode on plain tensors
nothing needs them, and `eager` calls the kernels without them: an operator written in Python costs
several times what a small tensor's kernel does.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

import torch

from .memory import Bound

if TYPE_CHECKING:
    from softgate.runtime.activation import Activation

_own: WeakValueDictionary[str, Activation] = WeakValueDictionary()
_bound: dict[tuple[str, tuple[float, ...], str], Bound] = {}


def key_of(activation: Activation) -> str:
    """Return the string that names an activation to the operators."""
    from softgate.runtime.registry import activations

    if activations().get(activation.name) is activation:
        return activation.name
    key = f"{activation.name}@{id(activation):x}"
    _own[key] = activation
    return key


def bind(
    activation: Activation, parameters: tuple[tuple[str, float], ...], arithmetic: str | None
) -> Bound:
    """Return the kernels of an activation with these parameters."""
    return Bound(activation, key_of(activation), parameters, arithmetic)


def find(key: str) -> Activation:
    """Return the activation that a key names."""
    from softgate.runtime.registry import activations

    found = activations().get(key) or _own.get(key)
    if found is None:
        raise RuntimeError(f"the activation {key!r} of a traced graph no longer exists")
    return found


def bound_of(key: str, parameters: list[float], arithmetic: str) -> Bound:
    """Return the kernels that an operator's arguments name."""
    index = (key, tuple(parameters), arithmetic)
    found = _bound.get(index)
    if found is None:
        activation = find(key)
        values = tuple(zip(activation.parameters, parameters, strict=True))
        found = Bound(activation, key, values, arithmetic or None)
        if len(_bound) > 1024:  # a sweep over a parameter must not pile up
            _bound.clear()
        _bound[index] = found
    return found


def binding(
    activation: Activation, arithmetic: str | None, parameters: Mapping[str, float]
) -> Bound:
    """Return the kernels of an activation with these parameters, once they are checked."""
    key = activation.check_parameters(parameters)
    return bound_of(key_of(activation), [value for _, value in key], arithmetic or "")


def _evaluate(x: torch.Tensor, key: str, quantity: str, p: list[float], a: str) -> torch.Tensor:
    return bound_of(key, p, a).unary(quantity, x)


def _backward(x: torch.Tensor, grad: torch.Tensor, key: str, p: list[float], a: str) -> Any:
    return bound_of(key, p, a).binary("backward", x, grad)


def _like(x: torch.Tensor, *_: Any) -> torch.Tensor:
    return torch.empty_like(x)


LIBRARY = torch.library.Library("softgate", "DEF")
_ARGUMENTS = "str activation, {}float[] parameters, str arithmetic"
LIBRARY.define(
    f"evaluate(Tensor x, {_ARGUMENTS.format('str quantity, ')}) -> Tensor",
    tags=(torch.Tag.pt2_compliant_tag,),
)
LIBRARY.define(
    f"backward(Tensor x, Tensor grad, {_ARGUMENTS.format('')}) -> Tensor",
    tags=(torch.Tag.pt2_compliant_tag,),
)
LIBRARY.impl("evaluate", _evaluate, "CPU")
LIBRARY.impl("backward", _backward, "CPU")
torch.library.register_fake("softgate::evaluate", _like, lib=LIBRARY)
torch.library.register_fake("softgate::backward", _like, lib=LIBRARY)
operators = torch.ops.softgate


class Evaluate(torch.autograd.Function):
    """A quantity of an activation, differentiable as often as one likes, in both modes."""

    @staticmethod
    def forward(x: torch.Tensor, key: str, quantity: str, p: list[float], a: str) -> torch.Tensor:
        """Return the quantity, from the kernel or, of a fake tensor, its shape."""
        with torch._C._AutoDispatchBelowAutograd():
            return operators.evaluate(x, key, quantity, p, a)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        """Keep the input; the value where that is enough, for the input may be overwritten."""
        x, *ctx.rest = inputs
        key, quantity, p, a = ctx.rest
        ctx.at_value = quantity == "value" and bound_of(key, p, a).from_value
        kept = output if ctx.at_value else x
        ctx.save_for_backward(kept)
        ctx.save_for_forward(kept)

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> Any:
        """Return the next derivative times `grad`."""
        return Evaluate.jvp(ctx, grad), None, None, None, None

    @staticmethod
    def jvp(ctx: Any, tangent: torch.Tensor, *_: Any) -> torch.Tensor:
        """Return the next derivative times the tangent."""
        (kept,) = ctx.saved_tensors
        key, quantity, p, a = ctx.rest
        if ctx.at_value:
            from .backward_from_output import AtValue

            return AtValue.apply(kept, tangent, key, p, a)
        return next_derivative(kept, tangent, key, quantity, p, a)

    @staticmethod
    def vmap(info: Any, in_dims: Any, x: torch.Tensor, *rest: Any) -> tuple[torch.Tensor, Any]:
        """Pass the batch on: an element is an element."""
        return Evaluate.apply(x, *rest), in_dims[0]


class Backward(torch.autograd.Function):
    """slope(x)·grad in one pass, differentiable in both."""

    @staticmethod
    def forward(
        x: torch.Tensor, grad: torch.Tensor, key: str, p: list[float], a: str
    ) -> torch.Tensor:
        """Return the product from the kernel or, of fake tensors, its shape."""
        with torch._C._AutoDispatchBelowAutograd():
            return operators.backward(x, grad, key, p, a)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        """Keep both inputs."""
        x, grad, *ctx.rest = inputs
        ctx.save_for_backward(x, grad)
        ctx.save_for_forward(x, grad)

    @staticmethod
    def backward(ctx: Any, outer: torch.Tensor) -> Any:
        """Return outer·grad·curvature(x) and outer·slope(x)."""
        x, grad = ctx.saved_tensors
        key, p, a = ctx.rest
        bend = Evaluate.apply(x, key, "curvature", p, a)
        return outer * grad * bend, Backward.apply(x, outer, key, p, a), None, None, None

    @staticmethod
    def jvp(ctx: Any, along_x: Any, along_grad: Any, *_: Any) -> torch.Tensor:
        """Return the change of slope(x)·grad along both tangents."""
        x, grad = ctx.saved_tensors
        key, p, a = ctx.rest
        change = torch.zeros_like(x)
        if along_x is not None:
            change = along_x * grad * Evaluate.apply(x, key, "curvature", p, a)
        if along_grad is not None:
            change = change + Backward.apply(x, along_grad, key, p, a)
        return change

    @staticmethod
    def vmap(
        info: Any, in_dims: Any, x: torch.Tensor, grad: torch.Tensor, *rest: Any
    ) -> tuple[torch.Tensor, int]:
        """Bring both batches to the front."""
        return Backward.apply(*batched(info.batch_size, in_dims, x, grad), *rest), 0


def batched(size: int, in_dims: Any, *tensors: torch.Tensor) -> list[torch.Tensor]:
    """Return tensors with the axis that vmap maps over in front; who has none is repeated."""
    return [
        t.expand(size, *t.shape) if dim is None else t.movedim(dim, 0)
        for t, dim in zip(tensors, in_dims, strict=False)
    ]


def next_derivative(
    x: torch.Tensor, factor: torch.Tensor, key: str, quantity: str, p: list[float], a: str
) -> torch.Tensor:
    """Return the derivative of a quantity, times `factor`."""
    if quantity == "value":
        return Backward.apply(x, factor, key, p, a)
    if quantity == "slope":
        return factor * Evaluate.apply(x, key, "curvature", p, a)
    # Beyond curvature there are no kernels: the definition's own derivative, in torch operators.
    return factor * bound_of(key, p, a).forms(3, x)


LIBRARY.impl("evaluate", Evaluate.apply, "Autograd")
LIBRARY.impl("backward", Backward.apply, "Autograd")
torch.library.register_vmap("softgate::evaluate", Evaluate.vmap, lib=LIBRARY)
torch.library.register_vmap("softgate::backward", Backward.vmap, lib=LIBRARY)
