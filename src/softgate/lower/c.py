"""Stable forms as C99: a scalar function that inlines, and a loop that compilers vectorise.

Only fma is required, one instruction on current CPUs. The operations are those of the kernels, so
the error bounds hold as long as the compiler keeps to IEEE arithmetic.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from softgate.formula.formats import FLOAT32, FLOAT64, FORMATS, Format

from . import language_source as source
from .language_source import EmittedActivation, EmittedFunction, Language

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
An operand and a result may be the same array. fma(a, b, 0) stands for a product that may
underflow: AMD's CPUs are slow at multiplications that do, and fast at an fma."""

BITS = {
    "add_exponent": """\
/* x times 2 to the integer in the low bits of t, by one addition into the exponent. */
{inline} {real} softgate_add_exponent_{suffix}({real} x, {real} t)
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
{inline} {real} softgate_exponent_only_{suffix}({real} t)
{{
    {word} field;
    memcpy(&field, &t, sizeof field);
    field <<= {shift};
    memcpy(&t, &field, sizeof t);
    return t;
}}""",
    "exponent_field": """\
/* 2 to the {shift} plus the exponent field of x >= 0, without a conversion of an integer. */
{inline} {real} softgate_exponent_field_{suffix}({real} x)
{{
    {word} field;
    memcpy(&field, &x, sizeof field);
    field = (field >> {shift}) | {whole};
    memcpy(&x, &field, sizeof x);
    return x;
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


@dataclass(frozen=True)
class CDialect:
    """What differs between C and CUDA C."""

    language: Callable[[Format], Language]
    helpers: Mapping[str, str]
    """Templates of the functions that operations call, by operation."""
    inline: str
    """Qualifiers of a function of numbers."""
    exported: str
    """Qualifiers of a loop over arrays."""


C = CDialect(language, BITS, "static inline", "")
Needed = frozenset[tuple[str, str]]
"""Operations with a helper, each with the name of its format."""


def called(function: EmittedFunction) -> str:
    """Return the name of a loop; with `softgate_` before it that of the scalar function."""
    with_ = "_with" if function.arguments else ""
    return f"{function.label}{with_}_{SUFFIX[function.fmt.name]}"


def scalar(function: EmittedFunction, dialect: CDialect = C) -> tuple[str, Needed]:
    """Return the function of one number each, and the operations it uses.

    It returns its result; two results are written to addresses.
    """
    fmt, real = function.fmt, REAL[function.fmt.name]
    several = len(function.outputs) > 1
    arguments = [f"{real} {name}" for name in function.operands]
    arguments += [f"double {name}" for name, _ in function.arguments]
    arguments += [f"{real} *{name}" for name in function.outputs] if several else []
    kind = "void" if several else real
    opening = f"{dialect.inline} {kind} softgate_{called(function)}({', '.join(arguments)})"
    needed: set[tuple[str, str]] = set()
    if function.widened:
        lines = _rounded(function)
    else:
        leaves = dict(function.inputs)
        for name, _ in function.arguments:
            wide = fmt is not FLOAT32
            leaves |= {name: name} if wide else {name: f"{name}_hi", f"{name}.lo": f"{name}_lo"}
        table = dialect.language(fmt)
        body = source.body(function.roots, fmt, table, leaves, function.constants)
        needed |= {(name, fmt.name) for name in body.used}
        if any(name.endswith(".lo") for name in body.used):
            needed.add(("sub", "float64"))
        lines = [*_arguments(function, body.used, dialect), *body.lines]
        if several:
            results = zip(function.outputs, body.results, strict=True)
            lines += [f"*{name} = {result};" for name, result in results]
        else:
            lines += [f"return {body.result};"]
    text = "".join(f"    {line}\n" for line in lines)
    return f"{opening}\n{{\n{text}}}", frozenset(needed)


def _rounded(function: EmittedFunction) -> list[str]:
    """Return the lines that call the float64 function and round its results."""
    inner = f"softgate_{function.label}_{SUFFIX['float64']}"
    operands = ", ".join(f"(double){name}" for name in function.operands)
    if len(function.outputs) == 1:
        return [f"return (float){inner}({operands});"]
    names = [f"{name}_f64" for name in function.outputs]
    addresses = ", ".join(f"&{name}" for name in names)
    lines = [f"double {', '.join(names)};", f"{inner}({operands}, {addresses});"]
    return lines + [f"*{name} = (float){name}_f64;" for name in function.outputs]


def _arguments(function: EmittedFunction, used: frozenset[str], dialect: CDialect) -> list[str]:
    """Return the lines that convert arguments for the body: in float, two floats each."""
    lines = [f"(void){name};" for leaf, name in function.inputs if leaf not in used]
    minus = dialect.language(FLOAT64).operations["sub"][0]
    for name, _ in function.arguments:
        if name not in used and f"{name}.lo" not in used:
            lines.append(f"(void){name};")
        elif function.fmt is FLOAT32:
            lines.append(f"const float {name}_hi = (float){name};")
            if f"{name}.lo" in used:
                rest = minus.format(name, f"(double){name}_hi")
                lines.append(f"const float {name}_lo = (float)({rest});")
    return lines


def loop(function: EmittedFunction, dialect: CDialect = C) -> str:
    """Return the loop over arrays; parameters are the last arguments."""
    return (
        f"{dialect.exported}void {called(function)}({signature(function)})\n{{\n"
        "    for (size_t i = 0; i < n; i++)\n"
        f"        {at_index(function)}\n}}"
    )


def signature(function: EmittedFunction) -> str:
    """Return the arguments of a loop: operands, results, their number, parameters."""
    real = REAL[function.fmt.name]
    arguments = [f"const {real} *{name}" for name in function.operands]
    arguments += [f"{real} *{name}" for name in function.outputs]
    arguments += ["size_t n", *(f"double {name}" for name, _ in function.arguments)]
    return ", ".join(arguments)


def at_index(function: EmittedFunction) -> str:
    """Return the statement that computes element i."""
    several = len(function.outputs) > 1
    arguments = [f"{name}[i]" for name in function.operands]
    arguments += [name for name, _ in function.arguments]
    arguments += [f"&{name}[i]" for name in function.outputs] if several else []
    value = f"softgate_{called(function)}({', '.join(arguments)});"
    return value if several else f"{function.outputs[0]}[i] = {value}"


def helper(name: str, fmt: str, dialect: CDialect = C) -> str:
    """Return the function of an operation; guarded, so that emitted files can be joined."""
    shift = FORMATS[fmt].mantissa_bits
    text = dialect.helpers[name].format(
        inline=dialect.inline,
        real=REAL[fmt],
        word=WORD[fmt],
        suffix=SUFFIX[fmt],
        f="f" if fmt == "float32" else "",
        kind="f" if fmt == "float32" else "d",
        shift=shift,
        whole=f"(({WORD[fmt]}){FORMATS[fmt].max_exponent + shift} << {shift})",
    )
    guard = f"SOFTGATE_{name}_{SUFFIX[fmt]}".upper()
    return f"#ifndef {guard}\n#define {guard}\n{text}\n#endif"


def definitions(
    units: Sequence[EmittedActivation], dialect: CDialect = C
) -> tuple[list[str], list[str]]:
    """Return the helpers, and the functions and loops of some activations."""
    parts: list[str] = []
    needed: dict[tuple[str, str], str] = {}
    for unit in units:
        for function in (*unit.inner, *unit.functions):
            text, used = scalar(function, dialect)
            parts.append(text)
            if function in unit.functions:
                parts.append(loop(function, dialect))
            for name in dialect.helpers:
                for fmt in REAL:
                    if (name, fmt) in used:
                        needed[name, fmt] = helper(name, fmt, dialect)
    return list(needed.values()), parts


def program(units: Sequence[EmittedActivation], closing: Sequence[str]) -> str:
    """Return the C source of some activations."""
    helpers, parts = definitions(units)
    headers = ["math.h", "stddef.h", *(["stdint.h", "string.h"] if helpers else [])]
    includes = "\n".join(f"#include <{header}>" for header in headers)
    head = [_comment(units, closing), includes, PRAGMAS]
    return "\n\n".join([*head, *helpers, *parts]) + "\n"


PRAGMAS = """\
#if defined(__FAST_MATH__)
#error "softgate: this code needs IEEE arithmetic, which -ffast-math gives up"
#endif
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#endif"""


def _comment(units: Sequence[EmittedActivation], closing: Sequence[str]) -> str:
    file = units[0].name
    build = [f"    cc {FLAGS} \\", f"        -shared -fPIC {file}.c -o {file}.so -lm"]
    statement = "The bounds hold" if source.bounded(units) else "Results are those of softgate"
    # Vectorisation is tested with gcc and clang for the catalogue only.
    loops = (
        "Such loops mostly vectorise"
        if any(u.user_defined for u in units)
        else "The loops vectorise"
    )
    notes = NOTES.format(flags=FLAGS, kept=statement, loops=loops).split("\n")
    return comment(units, "To compile", build, notes, closing)


def comment(
    units: Sequence[EmittedActivation],
    opening: str,
    build: Sequence[str],
    notes: Sequence[str],
    closing: Sequence[str],
) -> str:
    """Return the comment of a file: formulas, bounds, how to compile and to certify, notes."""
    lines: list[str] = []
    for unit in units:
        lines += [*unit.heading, "", *_listing(unit), ""]
    certify = [line for unit in units for line in _certify(units[0].name, unit)]
    lines += [f"{opening}{' and to certify' if certify else ''}:", *build, *certify]
    lines += ["", *notes, "", *closing]
    return "\n".join(["/*", *(f" * {line}".rstrip() for line in lines), " */"])


def _listing(unit: EmittedActivation) -> list[str]:
    """Return a list of the loops: quantity, format and error bound."""
    width = max(len(called(function)) for function in unit.functions)
    lines = [
        f"    {called(f):{width}}  {source.described(f, REAL[f.fmt.name])}" for f in unit.functions
    ]
    lines += source.remarks(unit)
    general = next((f for f in unit.functions if f.arguments), None)
    if general is not None:
        names = ", ".join(name for name, _ in general.arguments)
        lines += [f"Those with _with in their names take {names}, in double, after n: 0 where the"]
        lines += ["function has it, or at least 2^-100 in size."]
    return lines


def _certify(file: str, unit: EmittedActivation) -> list[str]:
    """Return the commands that certify the loops with default parameters, one per format."""
    lines = []
    for name in REAL:
        loops = {
            f.quantity: f
            for f in source.certifiable(unit)
            if f.fmt.name == name and not f.arguments
        }
        symbols = {quantity: f"./{file}.so:{called(f)}" for quantity, f in loops.items()}
        bounds = [f.bound for f in loops.values() if f.bound is not None]
        if loops and unit.command is None:
            lines += [f"    {_in_python(unit.name, symbols)}"]
        elif loops:
            lines += _command(f"{unit.command}", symbols, max(bounds, default=None))
    named = unit.command is not None or not lines
    return lines if named else [source.IN_PYTHON.format(name=unit.name), *lines]


LONGEST = 88
"""Longest line of options in a comment."""


def _command(named: str, symbols: Mapping[str, str], bound: float | None) -> list[str]:
    options = [f"--slope {symbols['slope']}"] if "slope" in symbols else []
    options += ["--quantity slope"] if "value" not in symbols else []
    options += [f"--reference {named}{source.limit(bound)}"]
    subject = symbols.get("value", symbols.get("slope"))
    joint = " " if sum(map(len, options)) <= LONGEST else " \\\n        "
    lines = joint.join(options).split("\n        ")
    return [f"    softgate certify {subject} \\", *(f"        {line}" for line in lines)]


def _in_python(named: str, symbols: Mapping[str, str]) -> str:
    slope = f', slope="{symbols["slope"]}"' if "slope" in symbols else ""
    only = "" if "value" in symbols else ', quantity="slope"'
    subject = symbols.get("value", symbols.get("slope"))
    return f'print(sg.certify("{subject}", {named}{slope}{only}))'
