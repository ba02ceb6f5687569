"""Stable forms as a JavaScript module: the float64 kernels' operations, one by one.

JavaScript has no fma, which these forms need: fma(a, b, -a*b) is the rounding error of a product.
`fma` is therefore composed of error-free sums and products (Dekker, Knuth), rounded once. Results
equal those of the kernels bit for bit, at about ten times the cost of an instruction.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from textwrap import wrap
from typing import ClassVar

from softgate.formula.formats import FLOAT64

from . import body as source
from .body import Syntax
from .language import EmittedActivation, EmittedFunction, Language

FMA = """\
// a*b + c, rounded once. p + e is the product exactly (Dekker), s + d the sum p + c (Knuth), u + v
// the sum d + e; s + u + v rounds as s + u does unless that is a tie, which v decides.
function fma(a, b, c) {
  const p = a * b, s = p + c;
  if (c === 0 || (Math.abs(p) < 2 ** -900 && Math.abs(c) < 2 ** -800)) return fma_scaled(a, b, c);
  let t = 134217729 * a;
  const ah = t - (t - a), al = a - ah;
  t = 134217729 * b;
  const bh = t - (t - b), bl = b - bh;
  const e = ah * bh - p + ah * bl + al * bh + al * bl;
  t = s - p;
  const d = p - (s - t) + (c - t);
  const u = d + e, r = s + u, w = u - (r - s);
  t = u - d;
  const v = d - (u - t) + (e - t);
  if (v !== 0 && w !== 0 && v > 0 === w > 0) {
    const next = r + 2 * w;
    if (next - r === 2 * w) return next;
  }
  return r - r === 0 ? r : fma_scaled(a, b, c);
}

// The same where parts of the product underflow or overflow, or nothing is added.
function fma_scaled(a, b, c) {
  const p = a * b;
  if (c === 0) return p === 0 && a !== 0 && b !== 0 ? p : p + c; // an underflow keeps its sign
  if (!(Math.abs(a) < Infinity && Math.abs(b) < Infinity && Math.abs(c) < Infinity)) return p + c;
  const k = Math.abs(p) < 1 ? 2 ** 200 : 2 ** -200;
  if (Math.abs(a) > Math.abs(b) === k < 1) a *= k;
  else b *= k;
  c *= k;
  const r = fma(a, b, c);
  if (k < 1 || Math.abs(r) >= 2 ** -822) return r / k;
  // The result is subnormal, and r / k would round a second time. Beside m, whose last place is
  // theirs, the sum is rounded as a subnormal number is.
  const m = r < 0 ? -(2 ** -822) : 2 ** -822;
  return c + m - m === c ? ((fma(a, b, c + m) - m) / k || r * 0) : r / k;
}"""

WORDS = """\
// The bits of a number, as two words of 32.
const number = new Float64Array(1);
const words = new Int32Array(number.buffer);
const HIGH = new Uint8Array(new Uint16Array([1]).buffer)[0]; // 1 where bytes are little-endian
const LOW = 1 - HIGH;"""

BITS = {
    "add_exponent": """\
// x times 2 to the integer in the low bits of t, by one addition into the exponent.
function add_exponent(x, t) {
  number[0] = t;
  const power = words[LOW] << 20;
  number[0] = x;
  words[HIGH] += power;
  return number[0];
}""",
    "exponent_only": """\
// The number whose exponent field is the integer in the low bits of t.
function exponent_only(t) {
  number[0] = t;
  words[HIGH] = words[LOW] << 20;
  words[LOW] = 0;
  return number[0];
}""",
    "exponent_field": """\
// 2 to the 52 plus the exponent field of x >= 0.
function exponent_field(x) {
  number[0] = x;
  return 4503599627370496 + (words[HIGH] >>> 20);
}""",
    "copysign": """\
// The size of x with the sign of y.
function copysign(x, y) {
  number[0] = y;
  return words[HIGH] < 0 ? -Math.abs(x) : Math.abs(x);
}""",
}
"""Operations without a JavaScript operator."""


def literal(value: float) -> str:
    """Return a JavaScript literal."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return repr(value).removesuffix(".0")


SYNTAX = Syntax(
    operations=source.OPERATORS
    | {
        "eq": ("{} === {}", *source.OPERATORS["eq"][1:]),
        "where": source.CHOOSE,
        "fma": source.call("fma", 3),
        "abs": source.call("Math.abs", 1),
        "sqrt": source.call("Math.sqrt", 1),
        **{name: source.call(name, operands) for name, operands in source.BITS.items()},
    },
    literal=literal,
    line="const {} = {};",
)

USE = {
    "module": 'An ES module, as in import {{ {name} }} from "./{file}.mjs".',
    "script": "A plain script, whole or within another one. It declares softgate, as in\n"
    "softgate.{name}(1), and no other name; twice on a page it would clash with itself.",
}
OPENING = 'const softgate = (() => {\n"use strict";'
CLOSING = "return {{\n{names}\n}};\n}})();"


def written(
    function: EmittedFunction, usual: bool = False, export: bool = False, folded: bool = False
) -> tuple[str, set[str]]:
    """Return the source of one function, and the operations it uses.

    With `usual` it calls another function, compiled with the default parameters, if it receives
    these; `folded` is whether this is that other function.
    """
    leaves = dict(function.inputs) | {name: name for name, _ in function.arguments}
    body = source.Body(function.roots, FLOAT64, SYNTAX, leaves, function.constants)
    arguments = "".join(f", {name} = {literal(value)}" for name, value in function.arguments)
    results = ", ".join(body.results)
    lines = [*body.lines, f"return {f'[{results}]' if len(body.results) > 1 else results};"]
    operands = ", ".join(function.operands)
    if usual:
        same = " && ".join(f"{name} === {literal(value)}" for name, value in function.arguments)
        lines.insert(0, f"if ({same}) return {function.label}_usual({operands});")
    ending, note = ("_usual", " with the defaults") if folded else ("", "")
    exported = "export " if export else ""
    text = "".join(f"  {line}\n" for line in lines)
    return (
        f"// The {function.quantity} of {function.name}{note}.\n"
        f"{exported}function {function.label}{ending}({operands}{arguments}) {{\n{text}}}"
    ), body.used


class JavaScript(Language):
    """JavaScript, whose numbers are float64.

    A module exports its functions. A script, for pages without modules, declares one object that
    contains them.
    """

    name, title, extensions, spellings = "js", "JavaScript", ("mjs", "js"), ("javascript",)
    contents = "functions of numbers, and of operands and parameters"
    words = frozenset({
        "Float64Array", "HIGH", "Infinity", "Int32Array", "LOW", "Math", "NaN", "Uint16Array",
        "Uint8Array", "add_exponent", "arguments", "await", "break", "case", "catch", "class",
        "const", "continue", "copysign", "debugger", "default", "delete", "do", "else", "enum",
        "eval", "exponent_field", "exponent_only", "export", "extends", "false", "finally", "fma",
        "fma_scaled", "for", "function", "if", "implements", "import", "in", "instanceof",
        "interface", "let", "new", "null", "number", "package", "private", "protected", "public",
        "return", "softgate", "static", "super", "switch", "this", "throw", "true", "try", "typeof",
        "undefined", "var", "void", "while", "with", "words", "yield",
    })  # fmt: skip
    dtypes = default_dtypes = ("float64",)
    forms: ClassVar = {"module": "an ES module", "script": "a script that declares one object"}
    parameters = "inner"
    marks = "", "// ", ""

    def program(self, units: Sequence[EmittedActivation], closing: Sequence[str], form: str) -> str:
        parts, used = [], set[str]()
        for unit in units:
            usual = {function.label for function in unit.inner}
            texts = [written(f, f.label in usual, form == "module") for f in unit.functions]
            for text, operations in texts + [written(f, folded=True) for f in unit.inner]:
                parts.append(text)
                used |= operations
        bits = [text for name, text in BITS.items() if name in used]
        parts = [*([FMA] if "fma" in used else []), *([WORDS, *bits] if bits else []), *parts]
        if form == "script":
            names = [function.label for unit in units for function in unit.functions]
            shown = wrap(f"{', '.join(names)},", 98, initial_indent="  ", subsequent_indent="  ")
            parts = [OPENING, *parts, CLOSING.format(names="\n".join(shown))]
        use = USE[form].format(name=units[0].functions[0].label, file=units[0].name)
        certify = [line for unit in units for line in unit.certify_kernels("float64")]
        middle = [
            *use.split("\n"),
            "",
            "The operations are those of softgate's float64 kernels, fma included, and so are the",
            f"results, bit for bit.{' To certify the kernels:' if certify else ''}",
            *certify,
        ]
        return "\n\n".join([self.comment(units, middle, closing), *parts]) + "\n"

    def listed(self, unit: EmittedActivation) -> list[str]:
        usual = {function.label: function for function in unit.inner}
        rows = []
        for f in unit.functions:
            what = usual.get(f.label, f).described("float64").replace(" in float64", "")
            others = f"; {f.bound:g} with other parameters" if f.label in usual else ""
            rows.append((f.label, what + others))
        return unit.listing(rows)


LANGUAGE = JavaScript()
