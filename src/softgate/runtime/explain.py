"""How a call would be computed: kernel or table, copies, threads."""

from __future__ import annotations

from math import prod
from typing import Any, Protocol

import numpy as np

from softgate.records.text import a_type

from . import arrays
from .activation import Activation, Function
from .arrays import check_call
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
    relu of float32[2, 3]: the float32 kernel; copied in blocks: not contiguous; 1 thread
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
    axis, gate = (parameters.pop(name, None) for name in ("axis", "gate"))
    operands = x if isinstance(x, tuple) and len(x) == function.nin > 1 else (x,)
    call = Call(function, quantity, operands, out, arithmetic, parameters, axis, gate, compiled)
    adapter = adapter_for(call.operands)
    if compiled and getattr(adapter, "__name__", "") != "softgate.frameworks.torch":
        raise TypeError(
            f"compiled=True with a {type(call.operands[0]).__name__}: expected a torch tensor"
        )
    return _of_arrays(call) if adapter is None else adapter.explain(call)


def _of_arrays(call: Call) -> Explanation:
    """Return how NumPy computes a call; of backward, at one operand without the gradient."""
    function = call.function
    other = next((type(x).__name__ for x in call.operands if arrays.overrides(x)), None)
    operands = tuple(np.asarray(x) if arrays.overrides(x) else x for x in call.operands)
    call = call._replace(operands=operands)
    varying = [name for name, x in call.parameters.items() if isinstance(x, np.ndarray) and x.ndim]
    function.parameter_arrays(call.parameters)  # raises if one is invalid
    numbers = {name: x for name, x in call.parameters.items() if name not in varying}
    pair = function.pair_of(call)
    plan = function.plan_arrays(call._replace(operands=pair, parameters=numbers))
    route, inputs = plan.route, plan.inputs
    assert route is not None
    whole = len(operands) < function.nin  # split in two
    outs = call.out if isinstance(call.out, tuple) else (call.out,) * route.results
    for out in outs:
        if not isinstance(out, np.ndarray | None):
            raise TypeError(f"out is {a_type(out)}: expected a numpy.ndarray")
    check_call(dict(zip(plan.names, inputs, strict=False)), outs, route.results)
    if whole and call.quantity in ("slope", "backward"):
        outs = (None,) * route.results
    shape = np.broadcast_shapes(*(x.shape for x in inputs))
    first = arrays.as_array(operands[0])
    computed_by = route.describe()
    if varying:
        if route.uses_table:
            computed_by = f"the float64 kernel, correctly rounded to {route.storage.name}"
        computed_by += f", {' and '.join(varying)} per element"
    memory = arrays.memory(inputs if whole else operands, inputs, outs)
    return Explanation(
        activation=function.name,
        quantity=call.quantity,
        shape=first.shape if whole else shape,
        dtype=first.dtype.name,
        computed_by=computed_by,
        memory=f"called by the {other}" if other else memory,
        threads=POOL.plan(prod(shape), first.itemsize * (len(route.inputs) + route.results)),
    )
