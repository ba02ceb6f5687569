"""Which path would run for this input, and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from . import arrays
from ._activation import Activation
from .kernels import QUANTITIES
from .protocol import adapter_of
from .registry import activations
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
    activation: Activation | str = "gelu",
    *,
    quantity: str = "value",
    out: Any = None,
    arithmetic: str | None = None,
    **parameters: float,
) -> Explanation:
    """Say which path `activation(x)` would take: kernel or table, copies, threads.

    Parameters
    ----------
    x : number, list or array
        What the activation would be called with.
    activation : Activation or str
        Which one, itself or by name.
    quantity : {"value", "slope", "curvature", "backward"}
        What would be computed.
    out, arithmetic, **parameters
        As in the call.

    Returns
    -------
    Explanation
        Printed, it is one line.

    Examples
    --------
    >>> import numpy as np, softgate as sg
    >>> print(sg.explain(np.zeros((2, 3), np.float32)[:, ::-1], "relu"))
    relu of float32[2, 3]: the float32 kernel; copied first: not one piece of memory; 1 thread
    """
    if isinstance(activation, str):
        known = activations()
        if activation not in known:
            raise ValueError(f"unknown activation {activation!r}: known are {', '.join(known)}")
        activation = known[activation]
    if not isinstance(activation, Activation):
        raise TypeError(f"activation is a {type(activation).__name__}: expected one, or its name")
    if quantity not in QUANTITIES:
        raise ValueError(f"unknown quantity {quantity!r}: known are {', '.join(QUANTITIES)}")
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
