"""Stable forms as CUDA C: functions for host and device, kernels, and loops that check them.

Compilers for GPUs contract a·b + c to an fma unless told otherwise. Sums, products, quotients and
roots are therefore intrinsics in device code, which round once whatever the flags are; on the host
they are operators. Everything else is shared with `c`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from softgate.formula.formats import Format

from . import c
from . import language_source as source
from .language_source import EmittedActivation, EmittedFunction, Language, Operation

OPERANDS = {"add": "+", "sub": "-", "mul": "*", "div": "/"}
"""Operations that are intrinsics on the device and operators on the host."""

FLAGS = "-O3 -ffp-contract=off"

NOTES = """\
Not run on a GPU. Compiled by nvcc, its instructions are those of IEEE arithmetic with the fmas
written here; compiled for the host by g++, its results are those of softgate's kernels, bit for
bit. Sums, products, quotients and roots are intrinsics in device code, which nvcc does not
contract. Never use -use_fast_math or -ftz=true, which flush subnormal numbers to 0. The host
needs -ffp-contract=off (with nvcc -Xcompiler -ffp-contract=off).
Functions whose names start with softgate_ are for host and device, loops for the host. Kernels
are launched with any numbers of blocks and threads, as in
    {kernel}<<<blocks, threads>>>({arguments})"""

QUALIFIERS = """\
#if defined(__FAST_MATH__)
#error "softgate: this code needs IEEE arithmetic, which -ffast-math gives up"
#endif
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#endif
#ifndef SOFTGATE_FUNCTION
#ifdef __CUDACC__
#define SOFTGATE_FUNCTION static __host__ __device__ __forceinline__
#else
#define SOFTGATE_FUNCTION static inline
#endif
#endif"""

OPERATION = """\
{{inline}} {{real}} softgate_{name}_{{suffix}}({arguments})
{{{{
#ifdef __CUDA_ARCH__
    return {device};
#else
    return {host};
#endif
}}}}"""


def _helper(name: str, operands: str, device: str, host: str) -> str:
    arguments = ", ".join(f"{{real}} {operand}" for operand in operands)
    return OPERATION.format(name=name, arguments=arguments, device=device, host=host)


HELPERS = {
    **{
        name: _helper(name, "ab", f"__{{kind}}{name}_rn(a, b)", f"a {sign} b")
        for name, sign in OPERANDS.items()
    },
    "fma": _helper("fma", "abc", "__fma{f}_rn(a, b, c)", "fma{f}(a, b, c)"),
    "sqrt": _helper("sqrt", "a", "__{kind}sqrt_rn(a)", "sqrt{f}(a)"),
    **c.BITS,
}


def language(fmt: Format) -> Language:
    """Return the CUDA language table of a format."""
    table, suffix = c.language(fmt), c.SUFFIX[fmt.name]
    counts = {**dict.fromkeys(OPERANDS, 2), "fma": 3, "sqrt": 1}
    calls: dict[str, Operation] = {
        name: source.call(f"softgate_{name}_{suffix}", count) for name, count in counts.items()
    }
    return replace(table, operations={**table.operations, **calls})


CUDA = c.CDialect(language, HELPERS, "SOFTGATE_FUNCTION", 'extern "C" ')


def kernel(function: EmittedFunction) -> str:
    """Return the kernel over arrays."""
    return (
        f"__global__ void {c.called(function)}_kernel({c.signature(function)})\n{{\n"
        "    const size_t step = (size_t)gridDim.x * blockDim.x;\n"
        "    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step)\n"
        f"        {c.at_index(function)}\n}}"
    )


def program(units: Sequence[EmittedActivation], closing: Sequence[str]) -> str:
    """Return the CUDA source of some activations."""
    helpers, parts = c.definitions(units, CUDA)
    kernels = [kernel(function) for unit in units for function in unit.functions]
    includes = "\n".join(f"#include <{h}>" for h in ("math.h", "stddef.h", "stdint.h", "string.h"))
    launched = "\n\n".join(["#ifdef __CUDACC__", *kernels, "#endif"])
    head = [_comment(units, closing), includes, QUALIFIERS]
    return "\n\n".join([*head, *helpers, *parts, launched]) + "\n"


def _comment(units: Sequence[EmittedActivation], closing: Sequence[str]) -> str:
    first, file = units[0].functions[0], units[0].name
    build = [f"    g++ -x c++ {FLAGS} -march=native \\"]
    build += [f"        -shared -fPIC {file}.cu -o {file}.so"]
    names = [*first.operands, *first.outputs, "n", *(name for name, _ in first.arguments)]
    notes = NOTES.format(kernel=f"{c.called(first)}_kernel", arguments=", ".join(names))
    return c.comment(units, "To compile for the host", build, notes.split("\n"), closing)
