"""Calls traced by torch.compile: operators are recorded, and fused by inductor, its compiler.

Kernels are looked up during tracing. torch.compile replaces a float that changes between calls by a
symbol. Kernels need numbers: the symbol is converted to one, with a guard that recompiles if the
number differs.

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
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import torch

from softgate import __version__
from softgate.lower import inductor
from softgate.runtime.dispatch import Explanation
from softgate.runtime.parameters import finite_number
from softgate.runtime.routes import Route

from . import decompositions
from .cpu_kernels import BoundFunction
from .decompositions import QUANTITIES, constant_when_compiled
from .dispatch import path
from .operators import FINGERPRINT, OPERATORS, bind, bound_of, prepare_sharding
from .registration import failures

if TYPE_CHECKING:
    import torch.fx.experimental.symbolic_shapes

    from softgate.lower.llvm import Loop
    from softgate.runtime.activation import Activation

_lowered: list[Any] = []
"""The operators whose lowerings are registered with inductor."""


def compiled(
    activation: Activation,
    quantity: str,
    x: torch.Tensor,
    arithmetic: str | None,
    parameters: Mapping[str, float],
) -> torch.Tensor:
    """Record softgate's operator; in exports and on other devices, torch's operators."""
    composed, exact = path(x) == "torch", decompositions.must_match_kernels(x)
    key, values, form = arguments(
        _constants, parameters, activation, quantity, arithmetic, x.dtype, composed, exact
    )
    if composed:
        return getattr(decompositions.COMPILED, form)(x, *values)
    return torch.ops.softgate.evaluate(x, key, quantity, values, arithmetic or "")


def compiled_backward(
    activation: Activation,
    x: torch.Tensor,
    grad: torch.Tensor,
    arithmetic: str | None,
    parameters: Mapping[str, float],
) -> torch.Tensor:
    """Return slope(x)·grad, recorded as by `compiled`."""
    x, grad = torch.broadcast_tensors(x, grad)
    composed, exact = path(x) == "torch", decompositions.must_match_kernels(x)
    key, values, form = arguments(
        _constants, parameters, activation, "slope", arithmetic, x.dtype, composed, exact
    )
    if composed:
        return getattr(decompositions.COMPILED, form)(x, *values) * grad
    return torch.ops.softgate.backward(x, grad, key, values, arithmetic or "")


def arguments(make: Callable[..., Any], parameters: Mapping[str, Any], *others: Any) -> Any:
    """Return make(parameters, *others), constants of the graph, with numbers as parameters.

    A parameter may be a symbol of the compiler. At one that is a tensor the graph ends, since a
    kernel needs its number; `make` then runs outside of the compiler.
    """
    if any(isinstance(value, torch.Tensor) for value in parameters.values()):
        _disable_reader()
        return decompositions.COMPILED.read(make, parameters, *others)
    # Every compiler of torch has imported this module, which imports sympy for half a second.
    symbols = torch.fx.experimental.symbolic_shapes
    return make({n: symbols.guard_scalar(v) for n, v in parameters.items()}, *others)


@constant_when_compiled
def _disable_reader() -> None:
    """Set `COMPILED.read`, at which a graph ends.

    Called during a trace, because `torch.compiler.disable` imports torch's compiler.
    """
    if not hasattr(decompositions.COMPILED, "read"):
        decompositions.COMPILED.read = torch.compiler.disable(_read, reason="a tensor parameter")


def _read(make: Callable[..., Any], parameters: Mapping[str, Any], *others: Any) -> Any:
    return make({name: finite_number(name, v) for name, v in parameters.items()}, *others)


@constant_when_compiled
def _constants(
    parameters: Mapping[str, float],
    activation: Activation,
    quantity: str,
    arithmetic: str | None,
    dtype: torch.dtype,
    composed: bool,
    ours: bool,
) -> Any:
    """Return an operator's arguments for the kernels, and the name of a form in torch operators.

    Arguments are checked during tracing.
    """
    bound = bind(activation, arithmetic, dict(parameters))
    bound.runner("value", dtype)
    prepare_sharding()
    if not composed:
        return key_for(bound), bound.values, ""
    order, operator = QUANTITIES.index(quantity), None
    if dtype.itemsize > 1:
        operator = bound.forms.operator(ours)
    # dynamo does not support dots in the names of attributes
    name = f"form of {quantity} of {bound.key} with {bound.values} in {dtype}"
    name = name.replace(".", "_point_")
    if order == 0 and operator is not None:
        name = f"operator of {name}"
        setattr(decompositions.COMPILED, name, lambda x, *_: operator(x))
    else:
        setattr(decompositions.COMPILED, name, bound.forms.form(order, dtype))
    return bound.key, bound.values, name


def key_for(bound: BoundFunction) -> str:
    """Return the string by which a traced graph refers to a function.

    It has a fingerprint if inductor is the compiler and fuses; the lowerings are registered then.
    """
    # Imported before inductor's backend traces; another backend need not wait for that.
    loaded = "torch._inductor.lowering" in sys.modules
    if not loaded or failures or inductor.unavailable() is not None:
        return bound.key
    if len(_lowered) < len(OPERATORS):
        try:
            _register_lowerings()
        except Exception:  # inductor calls the operators
            return bound.key
    if bound.fingerprint is None:
        bound.fingerprint = _fingerprint(bound)
    return f"{bound.key}{FINGERPRINT}{bound.fingerprint}"


def _fingerprint(bound: BoundFunction) -> str:
    """Return a hash of every graph that operators may compute for a function."""
    digests = [
        bound.route(quantity, dtype).digest()
        for dtype in (torch.float32, torch.float64)
        for quantity in ("value", "slope", "curvature", "backward")
    ]
    return hashlib.sha256(" ".join([__version__, *digests]).encode()).hexdigest()[:16]


def _register_lowerings() -> None:
    from torch._inductor.lowering import fallback_handler, register_lowering

    for name, (tensors, quantity) in OPERATORS.items():
        operator = getattr(torch.ops.softgate, name).default
        if operator in _lowered:  # before an interrupt
            continue
        opaque = fallback_handler(operator, add_to_fallback_set=False)
        lower = partial(_lower, opaque, tensors, quantity)
        register_lowering(operator, type_promotion_kind=None)(lower)
        _lowered.append(operator)


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


def explain_compiled(explanation: Explanation, dtype: torch.dtype) -> Explanation:
    """Return how a call is computed inside torch.compile, from how it is computed outside."""
    reason = not_fused(dtype)
    if reason is not None:
        how = f"{explanation.computed_by}, called by torch.compile as an operator: {reason}"
        return replace(explanation, computed_by=how)
    how = f"{explanation.computed_by}'s graph, fused by torch.compile with its neighbours"
    memory = "memory managed by torch"
    return replace(explanation, computed_by=how, memory=memory, threads=torch.get_num_threads())
