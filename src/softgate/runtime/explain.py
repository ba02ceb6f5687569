"""How a call would be computed: kernel or table, copies, threads."""

from __future__ import annotations

from typing import Any, Protocol

from softgate.records.text import a_type

from .activation import Activation
from .arrays import as_array
from .dispatch import Call, Explanation, adapter_for
from .halves import Halves
from .kernels import QUANTITIES
from .lookup import lookup


class Explainable(Protocol):
    """An object that explains its own calls: a feed-forward block."""

    def explain(self, x: Any) -> Explanation:
        """Return how it is computed at `x`."""


def explain(
    x: Any,
    activation: Activation | Explainable | str = "gelu",
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
        The operand of the call; of a function of two, a tuple of both operands, or the one that is
        split in two.
    activation : Activation, str or feed-forward block
        The function, or its name; or a block of `softgate.torch`, without further options.
    quantity : {"value", "slope", "curvature", "backward"}
        What would be computed.
    out, arithmetic, **parameters
        As in the call; for a function of two operands also `axis`, for a gated one `gate`.
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
    function: Any = lookup(activation) if isinstance(activation, str) else activation
    if hasattr(function, "explain"):
        options = (out, arithmetic, *parameters.values())
        if quantity != "value" or compiled or any(option is not None for option in options):
            raise TypeError(f"explain of a {type(function).__name__}: expected no further options")
        explanation: Explanation = function.explain(x)
        return explanation
    if not isinstance(function, Activation):
        raise TypeError(
            f"activation is {a_type(function)}: expected an activation, its name, or a "
            "feed-forward block"
        )
    if quantity not in QUANTITIES:
        raise ValueError(f"unknown quantity {quantity!r}: choose from {', '.join(QUANTITIES)}")
    operands = x if isinstance(x, tuple) and len(x) == function.nin > 1 else (x,)
    adapter = adapter_for(operands)
    if compiled and getattr(adapter, "__name__", "") != "softgate.frameworks.torch":
        raise TypeError(
            f"compiled=True with a {type(operands[0]).__name__}: expected a torch tensor"
        )
    if adapter is not None and not hasattr(adapter, "plan"):
        axis, gate = (parameters.pop(name, None) for name in ("axis", "gate"))
        call = Call(function, quantity, operands, out, arithmetic, parameters, axis, gate, compiled)
        return adapter.explain(call)
    if quantity == "backward":
        operands = (*operands, _grad(function, operands, parameters))
    return function.plan(quantity, operands, out, arithmetic, parameters).describe()


def _grad(function: Activation, operands: tuple[Any, ...], parameters: dict[str, Any]) -> Any:
    """Return an operand that has the shape and the memory of a usual gradient."""
    (first, *others) = operands
    if others or function.nin == 1:
        return first
    x = as_array(first) if adapter_for(operands) is None else first
    return Halves.of(tuple(x.shape), parameters.get("axis"), function.name).views(x)[0]
