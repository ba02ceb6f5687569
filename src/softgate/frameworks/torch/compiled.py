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
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import torch

from softgate import __version__
from softgate.lower import inductor
from softgate.runtime.dispatch import Explanation
from softgate.runtime.parameters import finite_number
from softgate.runtime.registry import functions

from . import decompositions, private
from .cpu_kernels import BoundFunction
from .dispatch import uses_torch
from .operators import FINGERPRINT, OPERATORS, Operator, bind, bound_of, prepare_sharding
from .private import constant_when_compiled
from .registration import failures

if TYPE_CHECKING:
    import torch.fx.experimental.symbolic_shapes

    from softgate.lower.llvm import Loop
    from softgate.runtime.activation import Activation

_lowered: list[Any] = []
"""The operators whose lowerings are registered with inductor."""


def compiled(
    function: Activation,
    quantity: str,
    operands: Sequence[torch.Tensor],
    arithmetic: str | None,
    parameters: Mapping[str, float],
) -> tuple[torch.Tensor, ...]:
    """Record softgate's operators; in exports and on other devices, torch's operators."""
    first, wider = operands[0], arithmetic or ""
    composed, exact = uses_torch(*operands), decompositions.must_match_kernels(first)
    key, values, form = arguments(
        _constants, parameters, function, quantity, arithmetic, first.dtype, composed, exact
    )
    results: tuple[torch.Tensor, ...]
    if composed:
        results = getattr(decompositions.COMPILED, form)(*operands, *values)
        return results
    known = torch.ops.softgate
    if quantity != "backward":
        evaluate = known.evaluate if len(operands) == 1 else known.evaluate_two
        each = decompositions.orders_of(quantity, len(operands))
        return tuple([evaluate(*operands, key, list(orders), values, wider) for orders in each])
    if len(operands) == 2:
        return (known.backward(*operands, key, values, wider),)
    results = known.backward_two(*operands, key, values, wider)
    return results


def arguments(make: Callable[..., Any], parameters: Mapping[str, Any], *others: Any) -> Any:
    """Return make(parameters, *others), constants of the graph, with numbers as parameters.

    A parameter may be a symbol of the compiler. At one that is a tensor the graph ends, since a
    kernel needs its number; `make` then runs outside of the compiler.
    """
    tensors = any(isinstance(value, torch.Tensor) for value in parameters.values())
    if tensors or not private.guards_numbers():
        _disable_reader()
        return decompositions.COMPILED.read(make, parameters, *others)
    return make(private.numbers(parameters), *others)


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
    function: Activation,
    quantity: str,
    arithmetic: str | None,
    dtype: torch.dtype,
    composed: bool,
    ours: bool,
) -> Any:
    """Return an operator's arguments for the kernels, and the name of a form in torch operators.

    Arguments are checked during tracing.
    """
    bound = bind(function, arithmetic, dict(parameters))
    bound.runner("value", dtype)
    prepare_sharding()
    if not composed:
        return key_for(bound), bound.values, ""
    preferred = not ours or decompositions.torch_preferred()
    # dynamo does not support dots in the names of attributes
    name = f"form of {quantity} of {bound.key} with {bound.values} in {dtype}, {preferred}"
    name = name.replace(".", "_point_")
    setattr(decompositions.COMPILED, name, bound.forms.traced(quantity, dtype, ours))
    return bound.key, bound.values, name


def key_for(bound: BoundFunction) -> str:
    """Return the string by which a traced graph refers to a function.

    It has a fingerprint if inductor is the compiler and fuses; the lowerings are registered then.
    """
    # Imported before inductor's backend traces; another backend need not wait for that.
    loaded = "torch._inductor.lowering" in sys.modules
    if not loaded or failures or _unavailable() is not None:
        return bound.key
    if len(_lowered) < len(OPERATORS):
        try:
            _register_lowerings()
        except Exception:  # inductor calls the operators
            return bound.key
    return f"{bound.key}{FINGERPRINT}{_fingerprint(bound)}"


def _unavailable() -> str | None:
    """Return why inductor would not compute the kernels' bits, or None if it does."""
    parts = private.inductor.get()
    if parts is None:
        return private.inductor.reason
    return inductor.unsafe_setting(parts.config, parts.is_gcc)


PROBE = "probe"
"""What begins the fingerprint of a function in the graph of `differs`."""


@cache
def differs() -> str | None:
    """Return how a loop that inductor compiles differs from the kernels, or None.

    At fixed points: tails, subnormal and infinite numbers, NaN. It is compiled once in a process,
    before the first operator is fused.
    """
    try:
        return private.in_new_thread(_probe)
    except Exception as error:  # whatever an unknown version raises
        return f"inductor does not compile a probe ({type(error).__name__}: {error})"


PROBED: tuple[tuple[str, Mapping[str, float], torch.dtype], ...] = (
    ("gelu", {}, torch.float32),
    ("gelu", {}, torch.float64),
    ("elu", {"alpha": 0.7}, torch.float32),
)
"""The functions of the probe, with value and backward: their parameters and the dtype."""


def _probe() -> str | None:
    parts = private.inductor.get()
    assert parts is not None
    graph = torch.fx.Graph()
    examples: list[torch.Tensor] = []
    nodes: list[torch.fx.Node] = []
    expected: list[tuple[str, torch.Tensor, torch.Tensor]] = []
    for name, parameters, dtype in PROBED:
        bound = bind(functions()[name], None, parameters)
        x = _probe_points(dtype)
        inputs = [graph.placeholder(f"x{len(examples) + i}") for i in range(2)]
        examples += (x, x.flip(0))
        rest = (f"{bound.key}{FINGERPRINT}{PROBE}{_fingerprint(bound)}", bound.values, "")
        value = (inputs[0], rest[0], [0], *rest[1:])
        nodes.append(graph.call_function(torch.ops.softgate.evaluate.default, value))
        expected.append((name, x, bound.compute("value", x)))
        nodes.append(graph.call_function(torch.ops.softgate.backward.default, (*inputs, *rest)))
        expected.append((f"{name}.backward", x, bound.compute("backward", *examples[-2:])))
    for i, node in enumerate(graph.find_nodes(op="placeholder")):
        node.meta["val"] = examples[i]
    for node, (_, _, exact) in zip(nodes, expected, strict=True):
        node.meta["val"] = exact
    graph.output(tuple(nodes))
    results = parts.compiled(torch.fx.GraphModule({}, graph), *examples)(*examples)
    for result, (name, x, exact) in zip(results, expected, strict=True):
        bits = torch.int32 if exact.dtype is torch.float32 else torch.int64
        same = (result.view(bits) == exact.view(bits)) | (result.isnan() & exact.isnan())
        if not same.all():
            return f"inductor's loop for {name} has other bits at {x[~same][0].item():g}"
    return None


def _probe_points(dtype: torch.dtype) -> torch.Tensor:
    """Return special numbers, tails and ordinary ones, the last ones in no full vector."""
    info = torch.finfo(dtype)
    positive = [0.0, math.inf, info.max, info.tiny, info.tiny / 8, info.tiny * info.eps]
    special = torch.tensor([*positive, *(-x for x in positive), math.nan], dtype=dtype)
    tails = torch.linspace(-40, 12, 53, dtype=dtype)
    ordinary = torch.linspace(-2, 2, 32, dtype=dtype)
    return torch.cat([special, tails, ordinary, special])


def _fingerprint(bound: BoundFunction) -> str:
    """Return a hash of every graph that operators may compute for a function."""
    if bound.fingerprint is None:
        digests = [
            bound.route(quantity, dtype).digest()
            for dtype in (torch.float32, torch.float64)
            for quantity in ("value", "slope", "curvature", "backward")
        ]
        text = " ".join([__version__, *digests])
        bound.fingerprint = hashlib.sha256(text.encode()).hexdigest()[:16]
    return bound.fingerprint


def _register_lowerings() -> None:
    parts = private.inductor.get()
    assert parts is not None
    for operator in OPERATORS:
        overload = getattr(torch.ops.softgate, operator.name).default
        if overload in _lowered:  # before an interrupt
            continue
        opaque = parts.fallback_handler(overload, add_to_fallback_set=False)
        lower = partial(_lower, opaque, operator)
        parts.register_lowering(overload, type_promotion_kind=None)(lower)
        _lowered.append(overload)


def _lower(opaque: Callable[..., Any], operator: Operator, *arguments: Any, **options: Any) -> Any:
    """Return an operator's results as inductor's pointwise nodes, or as a call of the operator."""
    parts = private.inductor.get()
    assert parts is not None
    fused = None if options else _fused(operator, arguments)
    if fused is None:
        return opaque(*arguments, **options)
    loop, parameters = fused
    operands = arguments[: operator.tensors]
    results = [
        parts.make_pointwise(partial(inductor.emit, parts.ops, loop, parameters, index))(*operands)
        for index in range(len(loop.roots))
    ]
    return results[0] if len(results) == 1 else tuple(results)


def _fused(operator: Operator, arguments: Sequence[Any]) -> tuple[Loop, dict[str, float]] | None:
    """Return the loop of an operator that is fused, and its parameters; None if it is called."""
    operands, key = arguments[: operator.tensors], arguments[operator.tensors]
    parameters, arithmetic = arguments[-2:]
    first = operands[0]
    alike = all(
        x.get_dtype() is first.get_dtype()
        and x.get_device().type == "cpu"
        and tuple(x.get_size()) == tuple(first.get_size())
        for x in operands
    )
    fingerprint = key.partition(FINGERPRINT)[2]
    if not fingerprint or not alike or not_fused(first.get_dtype()):
        return None
    if not fingerprint.startswith(PROBE) and differs() is not None:
        return None
    quantity, result = operator.quantity(arguments)
    route = bound_of(key, parameters, arithmetic).route(quantity, first.get_dtype(), result)
    loop, values = route.loop()
    named = dict(zip(loop.parameters, values, strict=True))
    return (loop, named) if inductor.supports(loop, named) else None


def not_fused(dtype: torch.dtype) -> str | None:
    """Return why inductor calls the operator for tensors of this dtype, or None if it fuses."""
    if dtype not in (torch.float32, torch.float64):
        return f"inductor does not round {str(dtype).removeprefix('torch.')} between operations"
    return _unavailable()


def explain_compiled(explanation: Explanation, dtype: torch.dtype) -> Explanation:
    """Return how a call is computed inside torch.compile, from how it is computed outside."""
    reason = not_fused(dtype) or differs()
    if reason is not None:
        how = f"{explanation.computed_by}, called by torch.compile as an operator: {reason}"
        return replace(explanation, computed_by=how)
    how = f"{explanation.computed_by}'s graph, fused by torch.compile with its neighbours"
    memory = "memory managed by torch"
    return replace(explanation, computed_by=how, memory=memory, threads=torch.get_num_threads())
