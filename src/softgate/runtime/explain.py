"""Which path would run for this input, and why."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

from . import arrays, pairs
from .activation import Activation
from .dispatch import adapter_of
from .gated import Gated, adapter_for
from .gated_call import RESULTS, Options
from .kernels import QUANTITIES
from .registry import activations, gated
from .threads import POOL


@dataclass(frozen=True)
class Explanation:
    """The path that one call takes."""

    activation: str
    quantity: str
    shape: tuple[int, ...]
    dtype: str
    computed_by: str
    memory: str
    threads: int

    def __str__(self) -> str:
        call = self.activation if self.quantity == "value" else f"{self.activation}.{self.quantity}"
        threads = "1 thread" if self.threads == 1 else f"up to {self.threads} threads"
        what = f"{call} of {self.dtype}{list(self.shape)}"
        return f"{what}: {self.computed_by}; {self.memory}; {threads}"


def explain(
    x: Any,
    activation: Activation | Gated | str = "gelu",
    *,
    quantity: str = "value",
    out: Any = None,
    arithmetic: str | None = None,
    **parameters: float,
) -> Explanation:
    """Say which path `activation(x)` would take: kernel or table, copies, threads.

    Parameters
    ----------
    x : number, list, array or tensor
        What the activation would be called with; of a gated one, a tuple of both operands, or
        what is cut in two.
    activation : Activation, Gated or str
        Which one, itself or by name.
    quantity : {"value", "slope", "curvature", "backward"}
        What would be computed.
    out, arithmetic, **parameters
        As in the call; `axis` and `gate` too, of a gated one.

    Returns
    -------
    Explanation
        Printed, it is one line.

    Examples
    --------
    >>> import numpy as np, softgate as sg
    >>> print(sg.explain(np.zeros((2, 3), np.float32)[:, ::-1], "relu"))
    relu of float32[2, 3]: the float32 kernel; copied first: not one piece of memory; 1 thread
    >>> print(sg.explain((np.zeros(4), np.zeros(4)), sg.swiglu))
    swiglu of float64[4]: the float64 kernel; read where it lies; 1 thread
    """
    if isinstance(activation, str):
        known: dict[str, Activation | Gated] = {**activations(), **gated()}
        if activation not in known:
            raise ValueError(f"unknown activation {activation!r}: known are {', '.join(known)}")
        activation = known[activation]
    if isinstance(activation, Gated):
        return _explain_gated(activation, x, quantity, out, arithmetic, parameters)
    if not isinstance(activation, Activation):
        raise TypeError(f"activation is a {type(activation).__name__}: expected one, or its name")
    _check_quantity(quantity)
    adapter = adapter_of(x)
    if adapter is not None:
        described = adapter.describe(activation, quantity, x, arithmetic, parameters)
        return Explanation(activation.name, quantity, *described)
    array = arrays.as_array(x)
    route = activation.route(quantity, array.dtype, arithmetic, parameters)
    operands = 3 if quantity == "backward" else 2
    return Explanation(
        activation=activation.name,
        quantity=quantity,
        shape=array.shape,
        dtype=array.dtype.name,
        computed_by=route.describe(),
        memory=arrays.memory(x, array, out),
        threads=POOL.plan(array.size, array.itemsize * operands),
    )


def _check_quantity(quantity: str) -> None:
    if quantity not in QUANTITIES:
        raise ValueError(f"unknown quantity {quantity!r}: known are {', '.join(QUANTITIES)}")


def _explain_gated(
    function: Gated,
    x: Any,
    quantity: str,
    out: Any,
    arithmetic: str | None,
    said: dict[str, Any],
) -> Explanation:
    """Explain the path of two operands, which come as a tuple, or of one that is cut in two."""
    _check_quantity(quantity)
    axis, gate = said.pop("axis", None), said.pop("gate", None)
    first = function.gating.position(gate) == "first"
    values = {**function.parameters, **said}
    operands = x if isinstance(x, tuple) and len(x) == 2 else (x,)
    adapter = adapter_for(*operands)
    if adapter is not None:
        described = adapter.describe_gated(
            function, quantity, operands, axis, first, arithmetic, values
        )
        return Explanation(function.name, quantity, *described)
    names = ("a", "b") if len(operands) == 2 else ("x",)
    named = dict(zip(names, operands, strict=True))
    named = dict(zip(names, pairs.same_format(named), strict=True))
    x, *_ = given = list(named.values())
    route = function.gating.route(quantity, x.dtype, Options(out, arithmetic, gate, said))
    if len(operands) == 2:
        function.no_axis(axis)
        shape = value_shape = pairs.broadcast_shape(named)
        outs = pairs.check_outs(out, RESULTS[quantity], shape, x.dtype)
        memory = pairs.memory(given if first else given[::-1], shape, outs)
    else:
        cut = pairs.split(x, -1 if axis is None else axis, function.name)
        shape, value_shape, memory = x.shape, cut.shape, pairs.memory_of_halves(x, cut)
    moved = len(route.entry.inputs(quantity)) + RESULTS[quantity]
    return Explanation(
        activation=function.name,
        quantity=quantity,
        shape=shape,
        dtype=x.dtype.name,
        computed_by=route.describe(),
        memory=memory,
        threads=POOL.plan(prod(value_shape), x.itemsize * moved),
    )
