"""Stable forms as a JavaScript module: the float64 kernels' operations, one by one.

JavaScript has no fma, which these forms need: fma(a, b, -a*b) is the rounding error of a product.
`fma` is therefore composed of error-free sums and products (Dekker, Knuth), rounded once. Results
equal those of the kernels bit for bit, at about ten times the cost of an instruction.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from textwrap import wrap

from softgate.formula.formats import FLOAT64

from . import language_source as source
from .language_source import EmittedActivation, EmittedFunction, Language

Written = tuple[str, frozenset[str]]
"""A function's source, and the operations it uses."""

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


LANGUAGE = Language(
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


MODULE, SCRIPT = "module", "script"
FORMS = (MODULE, SCRIPT)
"""A module exports its functions. A script, for pages without modules, declares one object that
contains them."""
USE = {
    MODULE: 'An ES module, as in import {{ {name} }} from "./{file}.mjs".',
    SCRIPT: "A plain script, whole or within another one. It declares softgate, as in\n"
    "softgate.{name}(1), and no other name; twice on a page it would clash with itself.",
}
OPENING = 'const softgate = (() => {\n"use strict";'
CLOSING = "return {{\n{names}\n}};\n}})();"


def written(
    function: EmittedFunction, usual: bool = False, export: bool = False, folded: bool = False
) -> Written:
    """Return the source of one function, and the operations it uses.

    With `usual` it calls another function, compiled with the default parameters, if it receives
    these; `folded` is whether this is that other function.
    """
    leaves = dict(function.inputs) | {name: name for name, _ in function.arguments}
    body = source.body(function.roots, FLOAT64, LANGUAGE, leaves, function.constants)
    arguments = "".join(f", {name} = {literal(value)}" for name, value in function.arguments)
    several = f"[{', '.join(body.results)}]"
    lines = [*body.lines, f"return {several if len(body.results) > 1 else body.result};"]
    operands = ", ".join(function.operands)
    if usual:
        same = " && ".join(f"{name} === {literal(value)}" for name, value in function.arguments)
        lines.insert(0, f"if ({same}) return {function.label}_usual({operands});")
    ending, note = ("_usual", " with the defaults") if folded else ("", "")
    comment = f"// The {function.quantity} of {function.name}{note}."
    exported = "export " if export else ""
    opening = f"{exported}function {function.label}{ending}({operands}{arguments})"
    text = "".join(f"  {line}\n" for line in lines)
    return f"{comment}\n{opening} {{\n{text}}}", body.used


def program(units: Sequence[EmittedActivation], closing: Sequence[str], form: str = MODULE) -> str:
    """Return the JavaScript source of some activations."""
    parts, used = [], set[str]()
    for unit in units:
        usual = {function.label for function in unit.inner}
        texts = [written(f, f.label in usual, form == MODULE) for f in unit.functions]
        texts += [written(f, folded=True) for f in unit.inner]
        for text, operations in texts:
            parts.append(text)
            used |= operations
    needed = [FMA] if "fma" in used else []
    bits = [text for name, text in BITS.items() if name in used]
    needed += [WORDS, *bits] if bits else []
    parts = [*needed, *parts]
    if form == SCRIPT:
        names = [function.label for unit in units for function in unit.functions]
        shown = wrap(f"{', '.join(names)},", 98, initial_indent="  ", subsequent_indent="  ")
        parts = [OPENING, *parts, CLOSING.format(names="\n".join(shown))]
    return "\n\n".join([_comment(units, closing, form), *parts]) + "\n"


def _comment(units: Sequence[EmittedActivation], closing: Sequence[str], form: str) -> str:
    lines: list[str] = []
    for unit in units:
        lines += [*unit.heading, "", *_listing(unit), ""]
    first = units[0]
    certify = [line for unit in units for line in _certify(unit)]
    lines += [
        *USE[form].format(name=first.functions[0].label, file=first.name).split("\n"),
        "",
        "The operations are those of softgate's float64 kernels, fma included, and so are the",
        f"results, bit for bit.{' To certify the kernels:' if certify else ''}",
        *certify,
        "",
        *closing,
    ]
    return "\n".join(f"// {line}".rstrip() for line in lines)


def _certify(unit: EmittedActivation) -> list[str]:
    if not source.certifiable(unit):
        return []
    if unit.command is None:
        call = f'    print(sg.certify({unit.name}, dtype="float64"))'
        return [source.IN_PYTHON.format(name=unit.name), call]
    subject = unit.command if unit.user_defined else f"softgate:{unit.command}"
    return [f"    softgate certify {subject} --dtype float64"]


def _listing(unit: EmittedActivation) -> list[str]:
    usual = {function.label: function for function in unit.inner}
    width = max(len(function.label) for function in unit.functions)
    lines = []
    for f in unit.functions:
        what = source.described(usual.get(f.label, f), "float64").replace(" in float64", "")
        others = f"; {f.bound:g} with other parameters" if f.label in usual else ""
        lines.append(f"    {f.label:{width}}  {what}{others}")
    return [*lines, *source.remarks(unit)]
