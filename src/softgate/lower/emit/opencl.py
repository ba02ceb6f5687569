"""Stable forms as OpenCL C: functions of numbers, and a kernel over arrays for each.

Bits of numbers are read as integers without a function. A device may have no float64: code that
needs it is left out there, and in float32 a parameter is the sum of two arguments.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from softgate.formula.formats import FLOAT32, Format

from ..notation import ATOM, CHOICE, Operation
from . import body as source
from .body import Syntax
from .c import REAL, C
from .language import EmittedActivation, EmittedFunction

BUILD = """\
    clBuildProgram(program, 1, &device,
        "-cl-std=CL1.2 -cl-fp32-correctly-rounded-divide-sqrt", NULL, NULL);"""

NOTES = """\
The operations are those of softgate's kernels, fma included. So are the results, bit for bit, on
a device whose CL_DEVICE_SINGLE_FP_CONFIG has CL_FP_DENORM, CL_FP_INF_NAN and
CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT; others flush subnormal numbers to 0, or divide less exactly
and refuse that option. Never use -cl-unsafe-math-optimizations or -cl-denorms-are-zero. Run with
PoCL on a CPU, not on a GPU.
Kernels take any global size; an operand and a result may be the same array. What computes in
double is left out where the device has no cl_khr_fp64."""

TAKEN = """\
Those with _with in their names take {names} after n:
in double, or in float two numbers each, the nearest float and what it lacks. The sum is 0 where
the function has it, or at least 2^-100 in size."""

PRAGMAS = """\
#if defined(__FAST_RELAXED_MATH__)
#error "softgate: this code needs IEEE arithmetic, which -cl-fast-relaxed-math gives up"
#endif
#pragma OPENCL FP_CONTRACT OFF"""


class OpenCL(C):
    """OpenCL C."""

    name, title, extensions = "opencl", "OpenCL C", ("cl",)
    contents = "functions of numbers, and a kernel over arrays for each"
    purpose, build, taken = "To build", BUILD, TAKEN
    certified = ", and to certify softgate's kernels, which have the same results"
    exported, memory, count = "__kernel void", "__global ", "ulong"
    each = "for (size_t i = get_global_id(0); i < n; i += get_global_size(0))"
    address, ending = "&{}_i", ""
    helpers: Mapping[str, str] = {}

    def condition(self, function: EmittedFunction) -> str:
        return "cl_khr_fp64" if function.widened or function.fmt is not FLOAT32 else ""

    def opening(self, helpers: bool) -> str:
        return PRAGMAS

    def notes(self, units: Sequence[EmittedActivation]) -> str:
        return NOTES

    def certification(self, file: str, unit: EmittedActivation) -> list[str]:
        return unit.certify_kernels()

    def syntax(self, fmt: Format) -> Syntax:
        real, word = REAL[fmt.name], {32: "uint", 64: "ulong"}[fmt.bits]
        shift = fmt.mantissa_bits
        whole = f"(({word}){fmt.max_exponent + shift} << {shift})"
        bits = {
            "add_exponent": f"as_{real}(as_{word}({{}}) + (as_{word}({{}}) << {shift}))",
            "exponent_only": f"as_{real}(as_{word}({{}}) << {shift})",
            "exponent_field": f"as_{real}((as_{word}({{}}) >> {shift}) | {whole})",
        }
        operations: dict[str, Operation] = {
            name: (text, ATOM, (CHOICE,) * source.BITS[name]) for name, text in bits.items()
        }
        syntax = super().syntax(fmt)
        return replace(syntax, operations={**syntax.operations, **operations})

    def parameters_of(self, function: EmittedFunction) -> list[tuple[str, str]]:
        if function.fmt is not FLOAT32:
            return super().parameters_of(function)
        return [("float", f"{name}_{part}") for name, _ in function.arguments
                for part in ("hi", "lo")]  # fmt: skip

    def conversions(self, function: EmittedFunction, used: set[str]) -> list[str]:
        return []

    def at_index(self, function: EmittedFunction) -> str:
        text = super().at_index(function)
        if len(function.outputs) == 1:
            return text
        local = ", ".join(f"{name}_i" for name in function.outputs)
        stores = " ".join(f"{name}[i] = {name}_i;" for name in function.outputs)
        return f"{{ {REAL[function.fmt.name]} {local}; {text} {stores} }}"


LANGUAGE = OpenCL()
