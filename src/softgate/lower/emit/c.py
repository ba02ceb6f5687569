"""Stable forms as C99: a scalar function that inlines, and a loop that compilers vectorise.

Only fma is required, one instruction on current CPUs. The operations are those of the kernels, so
the error bounds hold as long as the compiler keeps to IEEE arithmetic.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import groupby
from typing import ClassVar

from softgate.formula.formats import FLOAT32, FLOAT64, FORMATS, Format

from . import body as source
from .body import Syntax
from .language import EmittedActivation, EmittedFunction, Language, limit

REAL = {"float32": "float", "float64": "double"}
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

INCLUDES = "#include <math.h>\n#include <stddef.h>\n"
INCLUDES_OF_HELPERS = "#include <stdint.h>\n#include <string.h>\n"
PRAGMAS = """\
#if defined(__FAST_MATH__)
#error "softgate: this code needs IEEE arithmetic, which -ffast-math gives up"
#endif
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#endif"""

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

TAKEN = """\
Those with _with in their names take {names}, in double, after n: 0 where the
function has it, or at least 2^-100 in size."""

LONGEST_OPTIONS = 88
"""Characters of the longest line of options in a comment."""


def called(function: EmittedFunction) -> str:
    """Return the name of a loop; with `softgate_` before it that of the scalar function."""
    return f"{function.label}{'_with' if function.arguments else ''}_{function.suffix}"


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


class C(Language):
    """C99; a dialect replaces what differs in it."""

    name, title = "c", "C99"
    extensions: ClassVar[tuple[str, ...]] = ("c", "h")
    contents = "a function of numbers and a loop over arrays for each format"
    words = frozenset({
        "auto", "break", "case", "char", "const", "continue", "default", "do", "double", "else",
        "enum", "extern", "float", "for", "goto", "if", "inline", "int", "long", "register",
        "restrict", "return", "short", "signed", "sizeof", "static", "struct", "switch", "typedef",
        "union", "unsigned", "void", "volatile", "while",
    })  # fmt: skip
    """Names end with the format, so these would compile; they are rejected as misleading."""
    parameters = "both"
    marks = "/*", " * ", " */"

    purpose, certified = "To compile", " and to certify"
    build = f"    cc {FLAGS} \\\n        -shared -fPIC {{file}}.c -o {{file}}.so -lm"
    inline = "static inline"
    """Qualifiers of a function of numbers."""
    exported = "void"
    """Qualifiers and type of a loop over arrays."""
    memory, count = "", "size_t"
    """The address space of arrays, and the type of their size."""
    each = "for (size_t i = 0; i < n; i++)"
    address = "&{}[i]"
    """Where a function of several results writes one of a loop."""
    ending = "f"
    """The end of the names of C's functions in float."""
    taken = TAKEN
    """How the loops with `_with` in their names take parameters."""
    helpers: Mapping[str, str] = BITS
    """Templates of the functions that operations call, by operation."""

    def program(self, units: Sequence[EmittedActivation], closing: Sequence[str], form: str) -> str:
        parts: list[str] = []
        helpers: dict[tuple[str, str], str] = {}
        for unit in units:
            functions = (*unit.inner, *unit.functions)
            for condition, group in groupby(functions, self.condition):
                texts: list[str] = []
                for function in group:
                    text, used = self.scalar(function)
                    texts += [text, *([self.loop(function)] if function in unit.functions else [])]
                    for key in ((name, fmt) for name in self.helpers for fmt in REAL):
                        if key in used:
                            helpers[key] = self.helper(*key)
                parts += [f"#ifdef {condition}", *texts, "#endif"] if condition else texts
        file = units[0].name
        certify = [line for unit in units for line in self.certification(file, unit)]
        middle = [
            f"{self.purpose}{self.certified if certify else ''}:",
            *self.build.format(file=file).split("\n"),
            *certify,
            "",
            *self.notes(units).split("\n"),
        ]
        head = [self.comment(units, middle, closing), self.opening(bool(helpers))]
        return "\n\n".join([*head, *helpers.values(), *parts, *self.kernels(units)]) + "\n"

    def condition(self, function: EmittedFunction) -> str:
        """Return the macro without which a function is left out, or nothing."""
        return ""

    def opening(self, helpers: bool) -> str:
        """Return the lines before the first function."""
        return f"{INCLUDES}{INCLUDES_OF_HELPERS if helpers else ''}\n{PRAGMAS}"

    def notes(self, units: Sequence[EmittedActivation]) -> str:
        """Return what the results depend on."""
        bounds = any(unit.bounded for unit in units)
        # Vectorisation is tested with gcc and clang for the catalogue only.
        mostly = any(unit.user_defined for unit in units)
        return NOTES.format(
            flags=FLAGS,
            kept="The bounds hold" if bounds else "Results are those of softgate",
            loops="Such loops mostly vectorise" if mostly else "The loops vectorise",
        )

    def kernels(self, units: Sequence[EmittedActivation]) -> list[str]:
        """Return what stands after functions and loops."""
        return []

    def syntax(self, fmt: Format) -> Syntax:
        """Return the syntax of a format."""
        end = self.ending if fmt is FLOAT32 else ""
        operations = {
            "where": source.CHOOSE,
            "fma": source.call(f"fma{end}", 3),
            "abs": source.call(f"fabs{end}", 1),
            "sqrt": source.call(f"sqrt{end}", 1),
            "copysign": source.call(f"copysign{end}", 2),
            **{n: source.call(f"softgate_{n}_f{fmt.bits}", source.BITS[n]) for n in BITS},
        }
        line = f"const {REAL[fmt.name]} {{}} = {{}};"
        return Syntax(source.OPERATORS | operations, partial(literal, fmt), line)

    def scalar(self, function: EmittedFunction) -> tuple[str, set[tuple[str, str]]]:
        """Return the function of one number each, and the operations it uses with their formats.

        It returns its result; two results are written to addresses.
        """
        fmt, real = function.fmt, REAL[function.fmt.name]
        several = len(function.outputs) > 1
        arguments = [f"{real} {name}" for name in function.operands]
        arguments += [f"{kind} {name}" for kind, name in self.parameters_of(function)]
        arguments += [f"{real} *{name}" for name in function.outputs] if several else []
        kind = "void" if several else real
        opening = f"{self.inline} {kind} softgate_{called(function)}({', '.join(arguments)})"
        needed: set[tuple[str, str]] = set()
        if function.widened:
            lines = rounded(function)
        else:
            leaves = dict(function.inputs)
            for name, _ in function.arguments:
                wide = fmt is not FLOAT32
                leaves |= {name: name} if wide else {name: f"{name}_hi", f"{name}.lo": f"{name}_lo"}
            syntax = self.syntax(fmt)
            body = source.Body(function.roots, fmt, syntax, leaves, function.constants)
            needed |= {(name, fmt.name) for name in body.used}
            if any(name.endswith(".lo") for name in body.used):
                needed.add(("sub", "float64"))
            lines = [*self.conversions(function, body.used), *body.lines]
            if several:
                results = zip(function.outputs, body.results, strict=True)
                lines += [f"*{name} = {result};" for name, result in results]
            else:
                lines += [f"return {body.results[0]};"]
        text = "".join(f"    {line}\n" for line in lines)
        return f"{opening}\n{{\n{text}}}", needed

    def parameters_of(self, function: EmittedFunction) -> list[tuple[str, str]]:
        """Return the types and names of the arguments that are parameters."""
        return [("double", name) for name, _ in function.arguments]

    def conversions(self, function: EmittedFunction, used: set[str]) -> list[str]:
        """Return the lines that convert arguments for the body: in float, two floats each."""
        lines = [f"(void){name};" for leaf, name in function.inputs if leaf not in used]
        minus = self.syntax(FLOAT64).operations["sub"][0]
        for name, _ in function.arguments:
            if name not in used and f"{name}.lo" not in used:
                lines.append(f"(void){name};")
            elif function.fmt is FLOAT32:
                lines.append(f"const float {name}_hi = (float){name};")
                if f"{name}.lo" in used:
                    rest = minus.format(name, f"(double){name}_hi")
                    lines.append(f"const float {name}_lo = (float)({rest});")
        return lines

    def loop(self, function: EmittedFunction) -> str:
        """Return the loop over arrays; parameters are the last arguments."""
        return (
            f"{self.exported} {called(function)}({self.signature(function)})\n{{\n"
            f"    {self.each}\n"
            f"        {self.at_index(function)}\n}}"
        )

    def signature(self, function: EmittedFunction) -> str:
        """Return the arguments of a loop: operands, results, their number, parameters."""
        real = REAL[function.fmt.name]
        arguments = [f"{self.memory}const {real} *{name}" for name in function.operands]
        arguments += [f"{self.memory}{real} *{name}" for name in function.outputs]
        parameters = (f"{kind} {name}" for kind, name in self.parameters_of(function))
        return ", ".join([*arguments, f"{self.count} n", *parameters])

    def at_index(self, function: EmittedFunction) -> str:
        """Return the statement that computes element i."""
        several = len(function.outputs) > 1
        arguments = [f"{name}[i]" for name in function.operands]
        arguments += [name for _, name in self.parameters_of(function)]
        arguments += map(self.address.format, function.outputs) if several else []
        value = f"softgate_{called(function)}({', '.join(arguments)});"
        return value if several else f"{function.outputs[0]}[i] = {value}"

    def helper(self, name: str, fmt: str) -> str:
        """Return the function of an operation; guarded, so that emitted files can be joined."""
        bits, shift = FORMATS[fmt].bits, FORMATS[fmt].mantissa_bits
        word = f"uint{bits}_t"
        text = self.helpers[name].format(
            inline=self.inline,
            real=REAL[fmt],
            word=word,
            suffix=f"f{bits}",
            f="f" if fmt == "float32" else "",
            kind="f" if fmt == "float32" else "d",
            shift=shift,
            whole=f"(({word}){FORMATS[fmt].max_exponent + shift} << {shift})",
        )
        guard = f"SOFTGATE_{name}_f{bits}".upper()
        return f"#ifndef {guard}\n#define {guard}\n{text}\n#endif"

    def listed(self, unit: EmittedActivation) -> list[str]:
        rows = [(called(f), f.described(REAL[f.fmt.name])) for f in unit.functions]
        names = ", ".join(dict.fromkeys(name for f in unit.functions for name, _ in f.arguments))
        taken = self.taken.format(names=names).split("\n") if names else []
        return [*unit.listing(rows), *taken]

    def certification(self, file: str, unit: EmittedActivation) -> list[str]:
        """Return the commands that certify the loops with default parameters, one per format."""
        commands, calls = list[str](), list[str]()
        fixed = [f for f in unit.certifiable if not f.arguments]
        for fmt in REAL:
            loops = {f.quantity: f for f in fixed if f.fmt.name == fmt}
            if not loops:
                continue
            symbols = {quantity: f"./{file}.so:{called(f)}" for quantity, f in loops.items()}
            subject = symbols.get("value", symbols.get("slope"))
            slope = f', slope="{symbols["slope"]}"' if "slope" in symbols else ""
            only = "" if "value" in symbols else ', quantity="slope"'
            calls.append(f'"{subject}", {unit.name}{slope}{only}')
            bound = max((f.bound for f in loops.values() if f.bound is not None), default=None)
            options = [f"--slope {symbols['slope']}"] if slope else []
            options += ["--quantity slope"] if only else []
            options += [f"--reference {unit.command}{limit(bound)}"]
            joint = " " if sum(map(len, options)) <= LONGEST_OPTIONS else " \\\n        "
            commands.append(f"    softgate certify {subject} \\")
            commands += f"        {joint.join(options)}".split("\n")
        if unit.command is None and calls:
            return unit.in_python(*calls)
        return commands


def rounded(function: EmittedFunction) -> list[str]:
    """Return the lines that call the float64 function and round its results."""
    inner = f"softgate_{function.label}_f64"
    operands = ", ".join(f"(double){name}" for name in function.operands)
    if len(function.outputs) == 1:
        return [f"return (float){inner}({operands});"]
    names = [f"{name}_f64" for name in function.outputs]
    addresses = ", ".join(f"&{name}" for name in names)
    lines = [f"double {', '.join(names)};", f"{inner}({operands}, {addresses});"]
    return lines + [f"*{name} = (float){name}_f64;" for name in function.outputs]


LANGUAGE = C()
