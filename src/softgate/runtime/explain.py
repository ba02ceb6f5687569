"""How a call would be computed: kernel or table, copies, threads."""

from __future__ import annotations

from math import prod
from typing import Any, Protocol

from softgate.records.text import a_type

from . import arrays, split_halves
from .activation import Activation, Function
from .dispatch import Call, Explanation, adapter_for
from .gated import Gated
from .kernels import QUANTITIES
from .registry import functions
from .threads import POOL


class Explainable(Protocol):
    """An object that explains its own calls: a feed-forward block."""

    def explain(self, x: Any) -> Explanation:
        """Return how it is computed at `x`."""


def explain(
    x: Any,
    activation: Activation | Gated | Explainable | str = "gelu",
    *,
    quantity: str = "value",
    out: Any = None,
    arithmetic: str | None = None,
    compiled: bool = False,
    **parameters: Any,
) -> Explanation:
    """Return how `activation(x)` would be computed: kernel or table, copies, threads.

    Parameters
    ----------
    x : number, list, array or tensor
        The operand of the call; of a gated function, a tuple of both operands, or the one that is
        split in two.
    activation : Activation, Gated, str or feed-forward block
        The function, or its name; or a block of `softgate.torch`, without further options.
    quantity : {"value", "slope", "curvature", "backward"}
        What would be computed.
    out, arithmetic, **parameters
        As in the call; for a gated function also `axis` and `gate`.
    compiled : bool
        Whether the call is inside torch.compile with its default backend, inductor.

    Returns
    -------
    Explanation
        Its string is one line.

    Examples
    --------
    >>> import numpy as np, softgate as sg
    >>> print(sg.explain(np.zeros((2, 3), np.float32)[:, ::-1], "relu"))
    relu of float32[2, 3]: the float32 kernel; copied first: not contiguous; 1 thread
    >>> print(sg.explain((np.zeros(4), np.zeros(4)), sg.swiglu))
    swiglu of float64[4]: the float64 kernel; input not copied; 1 thread
    """
    function: Any = functions().get(activation) if isinstance(activation, str) else activation
    if function is None:
        known = ", ".join(functions())
        raise ValueError(f"unknown activation {activation!r}: choose from {known}")
    if hasattr(function, "explain"):
        options = (out, arithmetic, *parameters.values())
        if quantity != "value" or compiled or any(option is not None for option in options):
            raise TypeError(f"explain of a {type(function).__name__}: expected no further options")
        explanation: Explanation = function.explain(x)
        return explanation
    if not isinstance(function, Function):
        raise TypeError(
            f"activation is {a_type(function)}: expected an activation, its name, or a "
            "feed-forward block"
        )
    if quantity not in QUANTITIES:
        raise ValueError(f"unknown quantity {quantity!r}: choose from {', '.join(QUANTITIES)}")
    if isinstance(function, Gated):
        axis, gate = parameters.pop("axis", None), parameters.pop("gate", None)
        operands = x if isinstance(x, tuple) and len(x) == 2 else (x,)
        call = Call(function, quantity, operands, out, arithmetic, parameters, axis, gate, compiled)
    else:
        call = Call(function, quantity, (x,), out, arithmetic, parameters, compiled=compiled)
    adapter = adapter_for(call.operands)
    if compiled and getattr(adapter, "__name__", "") != "softgate.frameworks.torch":
        raise TypeError(
            f"compiled=True with a {type(call.operands[0]).__name__}: expected a torch tensor"
        )
    if adapter is not None:
        return adapter.explain(call)
    return _of_gated(function, call) if isinstance(function, Gated) else _of_arrays(call)


def _of_arrays(call: Call) -> Explanation:
    (x,) = call.operands
    array = arrays.as_array(x)
    route = call.function.route(call.quantity, array.dtype, call.arithmetic, call.parameters)
    return Explanation(
        activation=call.function.name,
        quantity=call.quantity,
        shape=array.shape,
        dtype=array.dtype.name,
        computed_by=route.describe(),
        memory=arrays.memory(x, array, call.out),
        threads=POOL.plan(array.size, array.itemsize * (len(route.inputs) + route.results)),
    )


def _of_gated(function: Gated, call: Call) -> Explanation:
    first = function.position(call.gate) == "first"
    names = ("a", "b") if len(call.operands) == 2 else ("x",)
    named = dict(zip(names, call.operands, strict=True))
    x, *others = operands = arrays.same_format(named)
    route = function.route(call.quantity, x.dtype, call.arithmetic, call.parameters)
    if others:
        function.no_axis(call.axis)
        shape = value_shape = arrays.broadcast_shape(dict(zip(names, operands, strict=True)))
        targets = arrays.check_outs(call.out, route.results, shape, x.dtype)
        memory = arrays.memory_of_pair(operands if first else operands[::-1], shape, targets)
    else:
        parts = split_halves.split(x, -1 if call.axis is None else call.axis, function.name)
        shape, value_shape, memory = x.shape, parts.shape, split_halves.memory_of_halves(x, parts)
    moved = len(route.inputs) + route.results
    return Explanation(
        activation=function.name,
        quantity=call.quantity,
        shape=shape,
        dtype=x.dtype.name,
        computed_by=route.describe(),
        memory=memory,
        threads=POOL.plan(prod(value_shape), x.itemsize * moved),
    )
