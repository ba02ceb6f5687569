"""Calls with a `torch.fx.Proxy`: written into the graph that is being traced, as one call each.

`traceable` does this for functions, this module as an adapter for softgate's own objects.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar, cast

from torch.fx import Proxy

from softgate.runtime.registry import activations
from softgate.runtime.registry import gated as gated_functions

if TYPE_CHECKING:
    from softgate.runtime.activation import Activation
    from softgate.runtime.gated import Gated

RECORDS_CALLS = True
"""This adapter takes a call with a Proxy among its operands, whatever the others are."""

Function = TypeVar("Function", bound=Callable[..., Any])


def traceable(function: Function) -> Function:
    """Return a function that a `torch.fx` tracer records as a call when an argument is a Proxy."""

    @wraps(function)
    def call(input: Any, *args: Any, **keywords: Any) -> Any:
        if isinstance(input, Proxy):
            return record(input, call, (input, *args), keywords)
        for argument in (*args, *keywords.values()):
            if isinstance(argument, Proxy):
                return record(argument, call, (input, *args), keywords)
        return function(input, *args, **keywords)

    return cast(Function, call)


def record(
    proxy: Proxy, target: Callable[..., Any], args: tuple[Any, ...], keywords: dict[str, Any]
) -> Proxy:
    """Write a call into the graph that `proxy` belongs to, and return its result's Proxy."""
    return proxy.tracer.create_proxy("call_function", target, args, keywords)


def evaluate(
    activation: Activation,
    quantity: str,
    x: Proxy,
    out: object,
    arithmetic: str | None,
    parameters: Mapping[str, float],
) -> Proxy:
    """Record a call of an activation, or of its slope or curvature."""
    known, parameters = _importable(activation, activations(), parameters)
    target = known if quantity == "value" else getattr(known, quantity)
    return record(x, target, (x,), _keywords(out, arithmetic, parameters))


def backward(
    activation: Activation,
    x: Any,
    grad: Any,
    out: object,
    arithmetic: str | None,
    parameters: Mapping[str, float],
) -> Proxy:
    """Record a call of an activation's `backward`."""
    known, parameters = _importable(activation, activations(), parameters)
    keywords = _keywords(out, arithmetic, parameters)
    return record(_first(x, grad), known.backward, (x, grad), keywords)


def gated(
    function: Gated,
    operands: tuple[Any, ...],
    axis: int | None,
    gate_first: bool,
    out: object,
    arithmetic: str | None,
    parameters: Mapping[str, float],
) -> Proxy:
    """Record a call of a gated activation."""
    return gated_quantity(
        function, "value", operands, axis, gate_first, out, arithmetic, parameters
    )


def gated_quantity(
    function: Gated,
    quantity: str,
    operands: tuple[Any, ...],
    axis: int | None,
    gate_first: bool,
    out: object,
    arithmetic: str | None,
    parameters: Mapping[str, float],
) -> Proxy:
    """Record a call of slope, curvature or backward of a gated activation."""
    known, parameters = _importable(function, gated_functions(), parameters)
    keywords = _gated_keywords(known, axis, gate_first, out, arithmetic, parameters)
    target = known if quantity == "value" else getattr(known, quantity)
    return record(_first(*operands), target, operands, keywords)


def _importable(
    function: Any, catalogue: Mapping[str, Any], parameters: Mapping[str, float]
) -> tuple[Any, Mapping[str, float]]:
    """Return the catalogue's function and the parameters in which the call differs from it.

    A pickled graph names its functions, and what `bind` returns has no name. A formula of the
    user's is returned as it is.
    """
    known = catalogue.get(function.name)
    if known is None or known.entry.formula != function.entry.formula:
        return function, parameters
    values = {**function.parameters, **parameters}
    changed = {
        n: v for n, v in values.items() if isinstance(v, Proxy) or v != known.parameters.get(n)
    }
    return known, changed


def _first(*operands: Any) -> Proxy:
    return next(operand for operand in operands if isinstance(operand, Proxy))


def _keywords(
    out: object, arithmetic: str | None, parameters: Mapping[str, float]
) -> dict[str, Any]:
    keywords: dict[str, Any] = dict(parameters)
    if out is not None:
        keywords["out"] = out
    if arithmetic is not None:
        keywords["arithmetic"] = arithmetic
    return keywords


def _gated_keywords(
    function: Gated,
    axis: int | None,
    gate_first: bool,
    out: object,
    arithmetic: str | None,
    parameters: Mapping[str, float],
) -> dict[str, Any]:
    """Return the keywords of a call, without those that have their default."""
    keywords = _keywords(out, arithmetic, parameters)
    if axis is not None:
        keywords["axis"] = axis
    if gate_first != (function.entry.position == "first"):
        keywords["gate"] = "first" if gate_first else "second"
    return keywords
