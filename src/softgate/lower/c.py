"""Stable forms as C99: a scalar function that inlines, and a loop that compilers vectorise.

Only fma is required, one instruction on current CPUs. The operations are those of the kernels, so
the error bounds hold as long as the compiler keeps to IEEE arithmetic.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial

from softgate.formula.formats import FLOAT32, Format

from . import source
from .source import Function, Language, Unit

SUFFIX = {"float32": "f32", "float64": "f64"}
REAL = {"float32": "float", "float64": "double"}
WORD = {"float32": "uint32_t", "float64": "uint64_t"}
FLAGS = "-std=c99 -O3 -march=native -ffp-contract=off -fno-math-errno -fno-trapping-math"
"""Flags that keep the bounds and vectorise."""

NOTES = """\
{kept} as long as the compiler keeps to IEEE arithmetic: with
-ffp-contract=off (gcc contracts a*b + c otherwise) and never with -ffast-math or -Ofast. On x86
-march=native or -mfma makes an fma one instruction; without it each is a call into libm, right
and slow.
{loops} in gcc (12 and later) and clang with
    {flags}
(gcc: -fno-trapping-math lets it compute both sides of a choice; no result changes.)
x and y may be the same array. fma(a, b, 0) stands for a product that may underflow: AMD's CPUs
are slow at multiplications that do, and fast at an fma."""

BITS = {
    "add_exponent": """\
/* x times 2 to the integer in the low bits of t, by one addition into the exponent. */
static inline {real} softgate_add_exponent_{suffix}({real} x, {real} t)
{{
    {word} sum, power;
    memcpy(&sum, &x, sizeof sum);
    memcpy(&power, &t, sizeof power);
    sum += power << {shift};
    memcpy(&x, &sum, sizeof x);
    return x;
}}""",
    "exponent_only": """\
/* The number whose exponent field is the integer in the low bits of t. */
static inline {real} softgate_exponent_only_{suffix}({real} t)
{{
    {word} field;
    memcpy(&field, &t, sizeof field);
    field <<= {shift};
    memcpy(&t, &field, sizeof t);
    return t;
}}""",
    "exponent_field": """\
/* 2 to the {shift} plus the exponent field of x >= 0. */
static inline {real} softgate_exponent_field_{suffix}({real} x)
{{
    {word} field;
    memcpy(&field, &x, sizeof field);
    return {whole} + ({real})(field >> {shift});
}}""",
}
"""Operations without a C operator."""


def literal(fmt: Format, value: float) -> str:
    """Return a C literal of a format; large and small powers of two in hexadecimal."""
    end = "f" if fmt is FLOAT32 else ""
    if math.isnan(value):
        return "NAN"
    if math.isinf(value):
        return "INFINITY" if value > 0 else "-INFINITY"
    mantissa, exponent = math.frexp(value)
    if abs(mantissa) == 0.5 and not -10 < exponent < 17:
        return f"{'-' if value < 0 else ''}0x1p{exponent - 1:+d}{end}"
    return f"{source.shortest(value, fmt)}{end}"


def language(fmt: Format) -> Language:
    """Return the C language table of a format."""
    end, suffix = ("f" if fmt is FLOAT32 else ""), SUFFIX[fmt.name]
    return Language(
        operations=source.OPERATORS
        | {
            "where": source.CHOOSE,
            "fma": source.call(f"fma{end}", 3),
            "abs": source.call(f"fabs{end}", 1),
            "sqrt": source.call(f"sqrt{end}", 1),
            "copysign": source.call(f"copysign{end}", 2),
            **{n: source.call(f"softgate_{n}_{suffix}", source.BITS[n]) for n in BITS},
        },
        literal=partial(literal, fmt),
        line=f"const {REAL[fmt.name]} {{}} = {{}};",
    )


def called(function: Function) -> str:
    """Return the name of a loop; with `softgate_` before it that of the scalar function."""
    with_ = "_with" if function.arguments else ""
    return f"{function.label}{with_}_{SUFFIX[function.fmt.name]}"


def scalar(function: Function) -> tuple[str, frozenset[str]]:
    """Return the function of one number, and the operations it uses."""
    fmt, real = function.fmt, REAL[function.fmt.name]
    signature = "".join(f", double {name}" for name, _ in function.arguments)
    opening = f"static inline {real} softgate_{called(function)}({real} x{signature})\n{{\n"
    if function.widened:
        inner = f"softgate_{function.label}_{SUFFIX['float64']}"
        return f"{opening}    return (float){inner}((double)x);\n}}", frozenset()
    leaves = {"x": "x"}
    for name, _ in function.arguments:
        wide = fmt is not FLOAT32
        leaves |= {name: name} if wide else {name: f"{name}_hi", f"{name}.lo": f"{name}_lo"}
    body = source.body(function.root, fmt, language(fmt), leaves, function.constants)
    lines = [*_arguments(function, body.used), *body.lines, f"return {body.result};"]
    text = "".join(f"    {line}\n" for line in lines)
    return f"{opening}{text}}}", body.used


def _arguments(function: Function, used: frozenset[str]) -> list[str]:
    """Return the lines that convert arguments for the body: in float, two floats each."""
    lines = [] if "x" in used else ["(void)x;"]
    for name, _ in function.arguments:
        if name not in used and f"{name}.lo" not in used:
            lines.append(f"(void){name};")
        elif function.fmt is FLOAT32:
            lines.append(f"const float {name}_hi = (float){name};")
            if f"{name}.lo" in used:
                lines.append(f"const float {name}_lo = (float)({name} - (double){name}_hi);")
    return lines


def loop(function: Function) -> str:
    """Return the loop over arrays; parameters are the last arguments."""
    real = REAL[function.fmt.name]
    signature = "".join(f", double {name}" for name, _ in function.arguments)
    names = "".join(f", {name}" for name, _ in function.arguments)
    return (
        f"void {called(function)}(const {real} *x, {real} *y, size_t n{signature})\n{{\n"
        "    for (size_t i = 0; i < n; i++)\n"
        f"        y[i] = softgate_{called(function)}(x[i]{names});\n}}"
    )


def bits(name: str, fmt: Format) -> str:
    """Return a function of exponent bits; guarded, so that emitted files can be joined."""
    shift = fmt.mantissa_bits
    text = BITS[name].format(
        real=REAL[fmt.name],
        word=WORD[fmt.name],
        suffix=SUFFIX[fmt.name],
        shift=shift,
        whole=literal(fmt, 2.0**shift),
    )
    guard = f"SOFTGATE_{name}_{SUFFIX[fmt.name]}".upper()
    return f"#ifndef {guard}\n#define {guard}\n{text}\n#endif"


def program(units: Sequence[Unit], closing: Sequence[str]) -> str:
    """Return the C source of some activations."""
    parts: list[str] = []
    needed: dict[tuple[str, str], str] = {}
    for unit in units:
        for function in (*unit.inner, *unit.functions):
            text, used = scalar(function)
            parts.append(text)
            if function in unit.functions:
                parts.append(loop(function))
            for name in BITS:
                if name in used:
                    needed[name, function.fmt.name] = bits(name, function.fmt)
    headers = ["math.h", "stddef.h", *(["stdint.h", "string.h"] if needed else [])]
    includes = "\n".join(f"#include <{header}>" for header in headers)
    head = [_comment(units, closing), includes, PRAGMAS]
    return "\n\n".join([*head, *needed.values(), *parts]) + "\n"


PRAGMAS = """\
#if defined(__FAST_MATH__)
#error "softgate: this code needs IEEE arithmetic, which -ffast-math gives up"
#endif
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#endif"""


def _comment(units: Sequence[Unit], closing: Sequence[str]) -> str:
    lines: list[str] = []
    for unit in units:
        lines += [*unit.heading, "", *_listing(unit), ""]
    file = units[0].name
    lines += ["To compile and to certify:"]
    lines += [f"    cc {FLAGS} \\", f"        -shared -fPIC {file}.c -o {file}.so -lm"]
    for unit in units:
        lines += _certify(file, unit)
    kept = "The bounds hold" if source.bounded(units) else "Results are those of softgate"
    # Vectorisation is tested with gcc and clang for the catalogue only.
    loops = (
        "Such loops mostly vectorise"
        if any(u.user_defined for u in units)
        else "The loops vectorise"
    )
    notes = NOTES.format(flags=FLAGS, kept=kept, loops=loops).split("\n")
    lines += ["", *notes, "", *closing]
    return "\n".join(["/*", *(f" * {line}".rstrip() for line in lines), " */"])


def _listing(unit: Unit) -> list[str]:
    """Return a list of the loops: quantity, format and error bound."""
    width = max(len(called(function)) for function in unit.functions)
    lines = [
        f"    {called(f):{width}}  {f.quantity} in {REAL[f.fmt.name]}, {source.within(f)}"
        for f in unit.functions
    ]
    if unit.gated and any(f.quantity == "slope" for f in unit.functions):
        lines += source.SCALE
    general = next((f for f in unit.functions if f.arguments), None)
    if general is not None:
        names = ", ".join(name for name, _ in general.arguments)
        lines += [f"Those with _with in their names take {names}, in double, after n: 0 where the"]
        lines += ["function has it, or at least 2^-100 in size."]
    return lines


def _certify(file: str, unit: Unit) -> list[str]:
    """Return the commands that certify the loops with default parameters, one per format."""
    lines = []
    for name in REAL:
        loops = {f.quantity: f for f in unit.functions if f.fmt.name == name and not f.arguments}
        symbols = {quantity: f"./{file}.so:{called(f)}" for quantity, f in loops.items()}
        bounds = [f.bound for f in loops.values() if f.bound is not None]
        if loops and unit.command is None:
            lines += [f"    {_in_python(unit.name, symbols)}"]
        elif loops:
            lines += _command(f"{unit.command}", symbols, max(bounds, default=None))
    return [source.IN_PYTHON.format(name=unit.name), *lines] if unit.command is None else lines


def _command(named: str, symbols: Mapping[str, str], bound: float | None) -> list[str]:
    options = [f"--slope {symbols['slope']}"] if "slope" in symbols else []
    options += ["--quantity slope"] if "value" not in symbols else []
    options += [f"--reference {named}"]
    options += [f"--max-ulp {bound:g}"] if bound is not None else []
    subject = symbols.get("value", symbols.get("slope"))
    return [f"    softgate certify {subject} \\", f"        {' '.join(options)}"]


def _in_python(named: str, symbols: Mapping[str, str]) -> str:
    slope = f', slope="{symbols["slope"]}"' if "slope" in symbols else ""
    only = "" if "value" in symbols else ', quantities="slope"'
    subject = symbols.get("value", symbols.get("slope"))
    return f'print(sg.certify("{subject}", {named}{slope}{only}))'
