"""Adapter for `torch.fx.Proxy`: records each call in the graph that is being traced.

`traceable` does the same for functions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, TypeVar, cast

from torch.fx import Proxy

from softgate.runtime.activation import Activation
from softgate.runtime.dispatch import Call, Explanation
from softgate.runtime.registry import functions

RECORDS_CALLS = True
"""Whether this adapter receives every call with a Proxy, whatever the other operands are."""

AnyFunction = TypeVar("AnyFunction", bound=Callable[..., Any])


def traceable(function: AnyFunction) -> AnyFunction:
    """Return a function that a `torch.fx` tracer records as a call when an argument is a Proxy."""

    @wraps(function)
    def call(input: Any, *args: Any, **keywords: Any) -> Any:
        if isinstance(input, Proxy):
            return record(input, call, (input, *args), keywords)
        for argument in (*args, *keywords.values()):
            if isinstance(argument, Proxy):
                return record(argument, call, (input, *args), keywords)
        return function(input, *args, **keywords)

    return cast(AnyFunction, call)


def record(
    proxy: Proxy, target: Callable[..., Any], args: tuple[Any, ...], keywords: dict[str, Any]
) -> Proxy:
    """Add a call to the graph of `proxy` and return the Proxy of its result."""
    return proxy.tracer.create_proxy("call_function", target, args, keywords)


def compute(call: Call) -> Proxy:
    """Record a call of a function or of one of its derivatives; return its Proxy."""
    function, parameters = _importable(call)
    keywords = call._replace(parameters=parameters).keywords
    if call.out is not None:
        keywords["out"] = call.out
    if function.position(call.gate) == function.position(None):
        keywords.pop("gate", None)
    proxy = next(operand for operand in call.operands if isinstance(operand, Proxy))
    return record(proxy, call._replace(function=function).method, call.operands, keywords)


def explain(call: Call) -> Explanation:
    """Raise TypeError: a Proxy has no elements to compute."""
    raise TypeError(
        f"{call.function.name} of a torch.fx.Proxy is recorded, not computed: "
        "explain it with a tensor"
    )


def _importable(call: Call) -> tuple[Activation, Mapping[str, Any]]:
    """Return the catalogue's function and the parameters in which the call differs from it.

    A pickled graph refers to functions by name, and functions returned by `bind` have none. A
    user's formula is returned unchanged.
    """
    function, known = call.function, functions().get(call.function.name)
    if known is None or known.entry.formula != function.entry.formula:
        return function, call.parameters
    values = {**function.parameters, **call.parameters}
    changed = {
        n: v for n, v in values.items() if isinstance(v, Proxy) or v != known.parameters.get(n)
    }
    return known, changed
