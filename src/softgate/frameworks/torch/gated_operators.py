"""act(gate)·other as torch operators, for what looks inside a call.

`softgate::gated` and `softgate::gated_backward` are to gated activations what `operators` has for
plain ones. Second derivatives follow from the gate's activation, whose operators go on from there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

import torch

from . import operators
from .gated_memory import Pair, matched
from .operators import Backward, Evaluate

if TYPE_CHECKING:
    from softgate.runtime.gated import Gated

_own: WeakValueDictionary[str, Gated] = WeakValueDictionary()
_bound: dict[tuple[str, tuple[float, ...], str], Pair] = {}


def key_of(function: Gated) -> str:
    """Return the string that names a gated activation to the operators."""
    from softgate.runtime.registry import gated

    if gated().get(function.name) is function:
        return function.name
    key = f"{function.name}@{id(function):x}"
    _own[key] = function
    return key


def pair_of(key: str, parameters: list[float], arithmetic: str) -> Pair:
    """Return the kernels that an operator's arguments name."""
    from softgate.runtime.registry import gated

    index = (key, tuple(parameters), arithmetic)
    found = _bound.get(index)
    if found is None:
        function = gated().get(key) or _own.get(key)
        if function is None:
            raise RuntimeError(f"the gated activation {key!r} of a traced graph no longer exists")
        values = tuple(zip(function.parameters, parameters, strict=True))
        found = Pair(function, key, values, arithmetic or None)
        if len(_bound) > 1024:  # a sweep over a parameter must not pile up
            _bound.clear()
        _bound[index] = found
    return found


def _value(gate: torch.Tensor, other: torch.Tensor, key: str, p: list[float], a: str) -> Any:
    return pair_of(key, p, a).value(gate, *matched(gate, other))


def _backward(
    gate: torch.Tensor, other: torch.Tensor, grad: torch.Tensor, key: str, p: list[float], a: str
) -> Any:
    return pair_of(key, p, a).compute("backward", gate, *matched(gate, other, grad))


_ARGUMENTS = "str function, float[] parameters, str arithmetic"
_LIBRARY = operators.LIBRARY
_LIBRARY.define(
    f"gated(Tensor gate, Tensor other, {_ARGUMENTS}) -> Tensor",
    tags=(torch.Tag.pt2_compliant_tag,),
)
_LIBRARY.define(
    f"gated_backward(Tensor gate, Tensor other, Tensor grad, {_ARGUMENTS}) -> (Tensor, Tensor)",
    tags=(torch.Tag.pt2_compliant_tag,),
)
_LIBRARY.impl("gated", _value, "CPU")
_LIBRARY.impl("gated_backward", _backward, "CPU")
torch.library.register_fake(
    "softgate::gated", lambda gate, *_: torch.empty_like(gate), lib=_LIBRARY
)
torch.library.register_fake(
    "softgate::gated_backward",
    lambda gate, *_: (torch.empty_like(gate), torch.empty_like(gate)),
    lib=_LIBRARY,
)


class Product(torch.autograd.Function):
    """act(gate)·other, differentiable as often as one likes, in both modes."""

    @staticmethod
    def forward(
        gate: torch.Tensor, other: torch.Tensor, key: str, p: list[float], a: str
    ) -> torch.Tensor:
        """Return the product from the kernel or, of fake tensors, its shape."""
        with torch._C._AutoDispatchBelowAutograd():
            return operators.operators.gated(gate, other, key, p, a)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        """Keep both operands."""
        gate, other, *ctx.rest = inputs
        ctx.save_for_backward(gate, other)
        ctx.save_for_forward(gate, other)

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> Any:
        """Return both partial derivatives times `grad`, those that are needed."""
        gate, other = ctx.saved_tensors
        if not ctx.needs_input_grad[0]:
            return None, Product.apply(gate, grad, *ctx.rest), None, None, None
        return *BothWays.apply(gate, other, grad, *ctx.rest), None, None, None

    @staticmethod
    def jvp(ctx: Any, along_gate: Any, along_other: Any, *_: Any) -> torch.Tensor:
        """Return slope(gate)·other·along_gate + act(gate)·along_other."""
        gate, other = ctx.saved_tensors
        change = torch.zeros_like(gate)
        if along_gate is not None:
            change = Backward.apply(gate, other * along_gate, *_act(*ctx.rest))
        if along_other is not None:
            change = change + Product.apply(gate, along_other, *ctx.rest)
        return change

    @staticmethod
    def vmap(
        info: Any, in_dims: Any, gate: torch.Tensor, other: torch.Tensor, *rest: Any
    ) -> tuple[torch.Tensor, int]:
        """Bring both batches to the front."""
        both = operators.batched(info.batch_size, in_dims, gate, other)
        return Product.apply(*both, *rest), 0


class BothWays(torch.autograd.Function):
    """slope(gate)·other·grad and act(gate)·grad in one pass, differentiable in all three."""

    @staticmethod
    def forward(
        gate: torch.Tensor,
        other: torch.Tensor,
        grad: torch.Tensor,
        key: str,
        p: list[float],
        a: str,
    ) -> Any:
        """Return both from the kernel or, of fake tensors, their shapes."""
        with torch._C._AutoDispatchBelowAutograd():
            return operators.operators.gated_backward(gate, other, grad, key, p, a)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        """Keep all three."""
        gate, other, grad, *ctx.rest = inputs
        ctx.save_for_backward(gate, other, grad)
        ctx.save_for_forward(gate, other, grad)

    @staticmethod
    def backward(ctx: Any, to_gate: torch.Tensor, to_other: torch.Tensor) -> Any:
        """Return what gate, other and grad did to both results."""
        gate, other, grad = ctx.saved_tensors
        act = _act(*ctx.rest)
        of_gate = _bend(gate, other * grad * to_gate, act)
        of_gate = of_gate + Backward.apply(gate, grad * to_other, *act)
        of_other = Backward.apply(gate, grad * to_gate, *act)
        of_grad = Backward.apply(gate, other * to_gate, *act)
        of_grad = of_grad + Product.apply(gate, to_other, *ctx.rest)
        return of_gate, of_other, of_grad, None, None, None

    @staticmethod
    def jvp(ctx: Any, along_gate: Any, along_other: Any, along_grad: Any, *_: Any) -> Any:
        """Return the change of both results along three tangents."""
        gate, other, grad = ctx.saved_tensors
        act = _act(*ctx.rest)
        first, second = torch.zeros_like(gate), torch.zeros_like(gate)
        if along_gate is not None:
            first = _bend(gate, other * grad * along_gate, act)
            second = Backward.apply(gate, grad * along_gate, *act)
        if along_other is not None:
            first = first + Backward.apply(gate, grad * along_other, *act)
        if along_grad is not None:
            first = first + Backward.apply(gate, other * along_grad, *act)
            second = second + Product.apply(gate, along_grad, *ctx.rest)
        return first, second

    @staticmethod
    def vmap(
        info: Any,
        in_dims: Any,
        gate: torch.Tensor,
        other: torch.Tensor,
        grad: torch.Tensor,
        *rest: Any,
    ) -> tuple[Any, tuple[int, int]]:
        """Bring all batches to the front."""
        all_three = operators.batched(info.batch_size, in_dims, gate, other, grad)
        return BothWays.apply(*all_three, *rest), (0, 0)


def _act(key: str, p: list[float], a: str) -> tuple[str, list[float], str]:
    """Return what names the gate's activation to the operators of plain ones."""
    act = pair_of(key, p, a).act
    return act.key, act.values, act.arithmetic or ""


def _bend(gate: torch.Tensor, factor: torch.Tensor, act: tuple[str, list[float], str]) -> Any:
    key, p, a = act
    return factor * Evaluate.apply(gate, key, "curvature", p, a)


_LIBRARY.impl("gated", Product.apply, "Autograd")
_LIBRARY.impl("gated_backward", BothWays.apply, "Autograd")
torch.library.register_vmap("softgate::gated", Product.vmap, lib=_LIBRARY)
torch.library.register_vmap("softgate::gated_backward", BothWays.vmap, lib=_LIBRARY)
