"""softgate's operators as fused loops of inductor, the compiler behind torch.compile.

Without a lowering, inductor calls an operator between its own loops: its operands and results go
through memory. With one, it prints the kernel's graph into the loop of the neighbouring operations.
float32 and float64 are fused. Narrower formats are not: their results are from tables, and inductor
does not round them between fused operations.

inductor saves compiled loops on disk under a hash of the graph, in which an operator refers to its
function by a string. A fused operator's string has a fingerprint of the formulas, so that a loop of
another version of softgate, or of another formula of that name, is not loaded.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import torch

from softgate import __version__
from softgate.lower import inductor
from softgate.runtime.dispatch import Explanation
from softgate.runtime.routes import Route

from .cpu_kernels import BoundActivation, BoundFunction
from .operators import FINGERPRINT, bound_of

if TYPE_CHECKING:
    from softgate.lower.llvm import Loop

_registered: list[Any] = []

OPERATORS = {
    "evaluate": (1, None),
    "backward": (2, "backward"),
    "from_value": (2, "from_value"),
    "gated": (2, "value"),
    "gated_backward": (3, "backward"),
}
"""The number of tensors and the quantity of each operator; None if it is an argument."""


def key_for(bound: BoundFunction) -> str:
    """Return the string by which a traced graph refers to a function.

    It has a fingerprint if inductor is the compiler and fuses; the lowerings are registered then.
    """
    # Imported before inductor's backend traces; another backend need not wait for that.
    if "torch._inductor.lowering" not in sys.modules or inductor.unavailable() is not None:
        return bound.key
    if not _registered:
        _register()
    if bound.fingerprint is None:
        bound.fingerprint = _fingerprint(bound)
    return f"{bound.key}{FINGERPRINT}{bound.fingerprint}"


def _fingerprint(bound: BoundFunction) -> str:
    """Return a hash of every graph that operators may compute for a function."""
    quantities = ["value", "slope", "curvature", "backward"]
    if isinstance(bound, BoundActivation) and bound.from_value:
        quantities.append("from_value")
    digests = [
        bound.route(quantity, dtype).digest()
        for dtype in (torch.float32, torch.float64)
        for quantity in quantities
    ]
    return hashlib.sha256(" ".join([__version__, *digests]).encode()).hexdigest()[:16]


def _register() -> None:
    from torch._inductor.lowering import fallback_handler, register_lowering

    for name, (tensors, quantity) in OPERATORS.items():
        operator = getattr(torch.ops.softgate, name).default
        opaque = fallback_handler(operator, add_to_fallback_set=False)
        lower = partial(_lower, opaque, tensors, quantity)
        register_lowering(operator, type_promotion_kind=None)(lower)
        _registered.append(operator)


def _lower(
    opaque: Callable[..., Any], tensors: int, quantity: str | None, *arguments: Any, **options: Any
) -> Any:
    """Return an operator's results as inductor's pointwise nodes, or as a call of the operator."""
    from torch._inductor.lowering import make_pointwise

    operands = arguments[:tensors]
    fused = None if options else _fused(quantity, operands, *arguments[tensors:])
    if fused is None:
        return opaque(*arguments, **options)
    loop, parameters = fused
    results = [
        make_pointwise(partial(inductor.emit, loop, parameters, index))(*operands)
        for index in range(len(loop.roots))
    ]
    return results[0] if len(results) == 1 else tuple(results)


def _fused(
    quantity: str | None, operands: tuple[Any, ...], key: str, *rest: Any
) -> tuple[Loop, dict[str, float]] | None:
    """Return the loop of an operator that is fused, and its parameters; None if it is called."""
    if quantity is None:
        quantity, *rest = rest  # type: ignore[assignment]
    parameters, arithmetic = rest
    first = operands[0]
    alike = all(
        x.get_dtype() is first.get_dtype()
        and x.get_device().type == "cpu"
        and tuple(x.get_size()) == tuple(first.get_size())
        for x in operands
    )
    if FINGERPRINT not in key or not alike or not_fused(first.get_dtype()):
        return None
    route: Route = bound_of(key, parameters, arithmetic).route(quantity, first.get_dtype())
    loop, values = route.loop()
    named = dict(zip(loop.parameters, values, strict=True))
    return (loop, named) if inductor.supports(loop, named) else None


def not_fused(dtype: torch.dtype) -> str | None:
    """Return why inductor calls the operator for tensors of this dtype, or None if it fuses."""
    if dtype not in (torch.float32, torch.float64):
        return f"inductor does not round {str(dtype).removeprefix('torch.')} between operations"
    return inductor.unavailable()


def explain(explanation: Explanation, dtype: torch.dtype) -> Explanation:
    """Return how a call is computed inside torch.compile, from how it is computed outside."""
    reason = not_fused(dtype)
    if reason is not None:
        how = f"{explanation.computed_by}, called by torch.compile as an operator: {reason}"
        return replace(explanation, computed_by=how)
    how = f"{explanation.computed_by}'s graph, fused by torch.compile with its neighbours"
    memory = "memory managed by torch"
    return replace(explanation, computed_by=how, memory=memory, threads=torch.get_num_threads())
