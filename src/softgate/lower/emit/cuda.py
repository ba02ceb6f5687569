"""Stable forms as CUDA C: functions for host and device, kernels, and loops that check them.

Compilers for GPUs contract a·b + c to an fma unless told otherwise. Sums, products, quotients and
roots are therefore intrinsics in device code, which round once whatever the flags are; on the host
they are operators. Everything else is shared with `c`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from softgate.formula.formats import Format

from . import body as source
from .body import Syntax
from .c import BITS, C, called
from .language import EmittedActivation

OPERANDS = {"add": "+", "sub": "-", "mul": "*", "div": "/"}
"""Operations that are intrinsics on the device and operators on the host."""

BUILD = """\
    g++ -x c++ -O3 -ffp-contract=off -march=native \\
        -shared -fPIC {file}.cu -o {file}.so"""

NOTES = """\
Not run on a GPU. Compiled by nvcc, its instructions are those of IEEE arithmetic with the fmas
written here; compiled for the host by g++, its results are those of softgate's kernels, bit for
bit. Sums, products, quotients and roots are intrinsics in device code, which nvcc does not
contract. Never use -use_fast_math or -ftz=true, which flush subnormal numbers to 0. The host
needs -ffp-contract=off (with nvcc -Xcompiler -ffp-contract=off).
Functions whose names start with softgate_ are for host and device, loops for the host. Kernels
are launched with any numbers of blocks and threads, as in
    {kernel}<<<blocks, threads>>>({arguments})"""

KERNEL = """\
__global__ void {}_kernel({})
{{
    const size_t step = (size_t)gridDim.x * blockDim.x;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step)
        {}
}}"""

QUALIFIERS = """\
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


def helper(name: str, operands: str, device: str, host: str) -> str:
    """Return the template of an operation that differs on device and host."""
    arguments = ", ".join(f"{{real}} {operand}" for operand in operands)
    return OPERATION.format(name=name, arguments=arguments, device=device, host=host)


class Cuda(C):
    """CUDA C."""

    name, title, extensions, spellings = "cuda", "CUDA C", ("cu", "cuh"), ("cu",)
    contents = "functions for host and device, kernels, and loops for the host"
    purpose = "To compile for the host"
    build = BUILD
    inline = "SOFTGATE_FUNCTION"
    exported = 'extern "C" void'
    helpers: Mapping[str, str] = {
        **{
            name: helper(name, "ab", f"__{{kind}}{name}_rn(a, b)", f"a {sign} b")
            for name, sign in OPERANDS.items()
        },
        "fma": helper("fma", "abc", "__fma{f}_rn(a, b, c)", "fma{f}(a, b, c)"),
        "sqrt": helper("sqrt", "a", "__{kind}sqrt_rn(a)", "sqrt{f}(a)"),
        **BITS,
    }

    def opening(self, helpers: bool) -> str:
        return f"{super().opening(True)}\n{QUALIFIERS}"

    def notes(self, units: Sequence[EmittedActivation]) -> str:
        first = units[0].functions[0]
        names = [*first.operands, *first.outputs, "n", *(name for name, _ in first.arguments)]
        return NOTES.format(kernel=f"{called(first)}_kernel", arguments=", ".join(names))

    def syntax(self, fmt: Format) -> Syntax:
        syntax, counts = super().syntax(fmt), {**dict.fromkeys(OPERANDS, 2), "fma": 3, "sqrt": 1}
        calls = {name: source.call(f"softgate_{name}_f{fmt.bits}", n) for name, n in counts.items()}
        return replace(syntax, operations={**syntax.operations, **calls})

    def kernels(self, units: Sequence[EmittedActivation]) -> list[str]:
        kernels = (
            KERNEL.format(called(f), self.signature(f), self.at_index(f))
            for unit in units
            for f in unit.functions
        )
        return ["#ifdef __CUDACC__", *kernels, "#endif"]


LANGUAGE = Cuda()
