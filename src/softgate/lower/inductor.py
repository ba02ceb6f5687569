"""A graph in the operations of inductor, the compiler behind torch.compile, for CPUs.

inductor prints C++ with vector types. Unlike torch's operators its operations include fma and bit
casts, so that a fused loop has the results of the kernels, bit for bit. They are internals of torch
without a stable interface: `differs` and `unsafe_setting` check each property that the results
depend on.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import torch

from softgate.formula.graph import Node, walk

from . import framework_source
from .constants import fold_constants

if TYPE_CHECKING:
    from .llvm import Loop

DTYPES = {"float32": (torch.float32, torch.int32), "float64": (torch.float64, torch.int64)}
"""The dtypes of a format's numbers and of their bits."""

NAMES = {
    **{name: name for name in ("fma", "add", "sub", "mul", "neg", "abs", "sqrt", "copysign")},
    **{name: name for name in ("lt", "le", "eq", "where")},
    "div": "truediv",
}
"""The operations of a graph that inductor has, and their names there."""
BIT_OPERATIONS = ("add_exponent", "exponent_only", "exponent_field")

PRINTED = {
    "CppOverrides": {
        "fma": "std::fma(a, b, c)",
        "truediv": "a / b",
        "neg": "decltype(a)(-a)",
        "abs": "std::abs(a)",
        "sqrt": "std::sqrt(a)",
        "copysign": "std::copysign(a, b)",
        "lt": "a < b",
        "le": "a <= b",
        "eq": "a == b",
        "where": "a ? b : c",
        "bitwise_or": "decltype(a)(a | b)",
    },
    "CppVecOverrides": {
        "fma": "fmadd(a, b, c)",
        "add": "a + b",
        "sub": "a - b",
        "mul": "a * b",
        "truediv": "a / b",
        "neg": "a.neg()",
        "abs": "a.abs()",
        "sqrt": "a.sqrt()",
        "copysign": "a.copysign(b)",
        "bitwise_left_shift": "a << b",
        "bitwise_right_shift": "a >> b",
    },
}
"""The C++ of each operation that can be printed without a kernel: scalar, and of vectors."""


def unsafe_setting(config: Any, is_gcc: Callable[[], bool]) -> str | None:
    """Return why inductor would not compute the kernels' bits as it is set, or None if it does."""
    if config.cpu_backend != "cpp":
        return f"inductor's CPU backend is {config.cpu_backend!r}"
    if config.cpp.enable_floating_point_contract_flag != "off":
        return "inductor is set to contract products and sums"
    if config.cpp.enable_unsafe_math_opt_flag:
        return "inductor is set to use unsafe optimizations of floating point"
    # inductor ignores the sign of zeros; gcc does not use that for intrinsics, clang does.
    return None if is_gcc() else "inductor's C++ compiler is not gcc"


def differs(cpp: Any) -> str | None:
    """Return how inductor, with this module for C++, differs from what `emit` needs, or None."""
    machine = platform.machine()
    if machine not in ("x86_64", "AMD64"):
        return f"its fma is not checked on {machine}"
    for kind, operations in PRINTED.items():
        for name, expected in operations.items():
            operands = [letter for letter in "abc" if letter in _letters(expected)]
            if str(getattr(getattr(cpp, kind), name)(*operands)) != expected:
                return f"it prints {name} differently"
    return None


def _letters(expression: str) -> set[str]:
    """Return the names a, b and c that occur in an expression as operands."""
    words = "".join(c if c.isalnum() or c == "_" else " " for c in expression).split()
    return {word for word in words if word in ("a", "b", "c")}


def supports(loop: Loop, parameters: Mapping[str, float]) -> bool:
    """Return whether `emit` has every operation of a loop, for tensors of its storage format."""
    if loop.storage.name not in DTYPES:
        return False
    order = tuple(walk(*loop.roots))
    resolved = fold_constants(order, loop.arithmetic, parameters)
    known = {*BIT_OPERATIONS, *NAMES}
    for node in order:
        if node.op != "input" and resolved[node] is node:
            constant = all(not isinstance(resolved[arg], Node) for arg in node.args)
            if node.op not in known or constant:  # inductor would fold it in float64
                return False
    return True


def emit(ops: Any, loop: Loop, parameters: Mapping[str, float], index: int, *operands: Any) -> Any:
    """Return the result of this index in inductor's operations; operands as in `loop.inputs`.

    Constants are folded first: inductor folds them in float64.
    """
    fmt, stored = loop.arithmetic, DTYPES[loop.storage.name][0]
    real, word = DTYPES[fmt.name]
    inputs = dict(zip(loop.inputs, operands, strict=True))
    if fmt is not loop.storage:
        inputs = {name: ops.to_dtype(x, real, stored) for name, x in inputs.items()}
    bits = framework_source.Bits(
        fmt,
        word=lambda x: ops.to_dtype_bitcast(x, word, real),
        real=lambda bits: ops.to_dtype_bitcast(bits, real, word),
        integer=lambda value: ops.constant(value, word),
        left=ops.bitwise_left_shift,
        right=ops.bitwise_right_shift,
    )
    operations = {name: getattr(ops, theirs) for name, theirs in NAMES.items()}
    operations |= {name: getattr(bits, name) for name in BIT_OPERATIONS}
    root = loop.roots[index]
    order = tuple(walk(root))
    resolved = fold_constants(order, fmt, parameters)
    values: dict[Any, Any] = {}
    for node in order:
        meaning = resolved[node]
        if not isinstance(meaning, Node):
            if not isinstance(meaning, bool):  # a choice by a constant is folded
                values[node] = ops.constant(meaning, real)
        elif meaning is not node:
            values[node] = values[meaning]
        elif node.op == "input":
            values[node] = inputs[str(node.attr)]
        else:
            values[node] = operations[node.op](*(values[arg] for arg in node.args))
    result = values[root]
    return result if fmt is loop.storage else ops.to_dtype(result, stored, real)
