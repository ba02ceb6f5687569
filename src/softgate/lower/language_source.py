"""A stable form as readable source text, for C, CUDA, JavaScript and Triton.

Constants are folded in the float format, so every printed operation is a machine operation. Signs,
comparisons and short terms that are used once are printed inline; all other operations are
assigned to a name. The spelling of each operation is in the language's table.
"""

from __future__ import annotations

import keyword
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from softgate.formula.formats import FLOAT32, Format
from softgate.formula.graph import COMPARISONS, Node, walk

from .evaluation import ARITHMETIC, COMPARE
from .notation import ATOM, CHOICE, PRODUCT, SIGN, SUM

Constant = float | bool
Operation = tuple[str, int, tuple[int, ...]]
"""A template, its precedence, and the least precedence of each operand."""

SHORT = 36
"""Longer terms are assigned to a name, on a separate line."""
TERMS = frozenset({"add", "sub", "mul", "div", "abs", "sqrt", "copysign"})
"""Operations that may be printed inline. Steps of polynomials are clearer one per line."""
BITS = {"add_exponent": 2, "exponent_only": 1, "exponent_field": 1, "copysign": 2}
"""Operations on the bits of their operands, and the number of operands."""
MIRRORED = {"lt": "gt", "le": "ge"}
"""Comparisons with swapped operands."""

OPERATORS: dict[str, Operation] = {
    "add": ("{} + {}", SUM, (SUM, PRODUCT)),
    "sub": ("{} - {}", SUM, (SUM, PRODUCT)),
    "mul": ("{} * {}", PRODUCT, (PRODUCT, SIGN)),
    "div": ("{} / {}", PRODUCT, (PRODUCT, SIGN)),
    "neg": ("-{}", SIGN, (ATOM,)),
    "lt": ("{} < {}", CHOICE, (SUM, SUM)),
    "le": ("{} <= {}", CHOICE, (SUM, SUM)),
    "eq": ("{} == {}", CHOICE, (SUM, SUM)),
    "gt": ("{} > {}", CHOICE, (SUM, SUM)),
    "ge": ("{} >= {}", CHOICE, (SUM, SUM)),
}
"""Operators that all these languages share."""


def call(name: str, operands: int) -> Operation:
    """Return a call of the function `name`."""
    return f"{name}({', '.join(['{}'] * operands)})", ATOM, (CHOICE,) * operands


CHOOSE: Operation = ("{} ? {} : {}", CHOICE, (SUM, SUM, SUM))
"""The conditional operator of C and JavaScript."""


@dataclass(frozen=True)
class Language:
    """How one language writes the operations of a stable form in one float format."""

    operations: Mapping[str, Operation]
    literal: Callable[[float], str]
    line: str
    """Template of an assignment, as in "const float {} = {};"."""
    typed: str = "{}"
    """Template that converts a number to the format if no other operand has it."""


@dataclass(frozen=True)
class EmittedFunction:
    """One quantity of one activation in one format, to be printed."""

    name: str
    quantity: str
    fmt: Format
    roots: tuple[Node, ...]
    """The graphs of the results: two for the slope and the backward of a gated activation."""
    bound: float | None
    """Largest error in ulps, or None if unknown."""
    inputs: tuple[tuple[str, str], ...] = (("x", "x"),)
    """The operands, in the order of a call: the name in the graph and the printed one."""
    outputs: tuple[str, ...] = ("y",)
    """The names of the results, in the order of the operands."""
    arguments: tuple[tuple[str, float], ...] = ()
    """Parameters that are arguments, and their defaults."""
    constants: Mapping[str, float] = field(default_factory=dict)
    """Parameters that are constants."""
    widened: bool = False
    """Whether it is the float64 function's result, rounded; `roots` are the float64 graphs."""

    @property
    def label(self) -> str:
        """The name, followed by the quantity unless that is the value."""
        return self.name if self.quantity == "value" else f"{self.name}_{self.quantity}"

    @property
    def operands(self) -> list[str]:
        """The printed names of the operands."""
        return [printed for _, printed in self.inputs]


@dataclass(frozen=True)
class EmittedActivation:
    """One activation to be printed."""

    name: str
    command: str | None
    """Its name on the command line, with parameters that are not the defaults; None for a formula
    that exists only in the running program."""
    heading: tuple[str, ...]
    """Description, in lines of plain text."""
    functions: tuple[EmittedFunction, ...]
    gated: bool
    """Whether it is x·g(x): errors of its slope are measured on another scale."""
    notes: tuple[str, ...] = ()
    """What its bounds assume, in lines of plain text."""
    user_defined: bool = False
    """Whether it is a user's formula."""
    inner: tuple[EmittedFunction, ...] = ()
    """Functions that only the others call."""


@dataclass(frozen=True)
class FunctionText:
    """The lines of a function, the expressions of its results, and the operations that occur."""

    lines: tuple[str, ...]
    results: tuple[str, ...]
    used: frozenset[str]
    """The operations printed, and the names of the leaves."""

    @property
    def result(self) -> str:
        """The expression of the only result."""
        (result,) = self.results
        return result


SCALE = (
    "Errors of slopes are in ulps of max(|g|, |x*g'|), the function being x*g: beside a root of",
    "the slope, an ulp of the slope is not a useful unit.",
)


IN_PYTHON = "No command can name this formula; in Python, where it is {name}:"


def certifiable(unit: EmittedActivation) -> list[EmittedFunction]:
    """Return the functions that `certify` measures: values and slopes of one operand."""
    return [f for f in unit.functions if f.operands == ["x"]]


def described(function: EmittedFunction, real: str) -> str:
    """Return the quantity of a function, its format, called `real`, and its error bound as text."""
    exact = within(function)
    if function.quantity != "backward":
        what = "slopes" if len(function.outputs) > 1 else function.quantity
        return f"{what} in {real}, {exact}"
    what = "slopes" if len(function.outputs) > 1 else "slope"
    if function.bound is None:
        return f"{what} times grad in {real}, {exact}"
    exact = exact.removesuffix(" of the exact result")
    return f"{what} times grad in {real}: {what} {exact}, product rounded"


def remarks(unit: EmittedActivation) -> list[str]:
    """Return what the bounds of an activation refer to, in lines of plain text."""
    derivatives = any(f.quantity != "value" for f in unit.functions)
    measured = any(f.bound for f in unit.functions)
    known = ("These bounds are measured, not proven.",) if measured else ()
    return [*known, *(SCALE if unit.gated and derivatives else ()), *unit.notes]


def limit(bound: float | None) -> str:
    """Return the option of `certify` that fails above a bound; correctly rounded is 0.5 ulp."""
    return "" if bound is None else f" --max-ulp {bound or 0.5:g}"


def within(function: EmittedFunction) -> str:
    """Return the error bound of a function as text."""
    if function.bound is None:
        return "no bound known"
    if function.bound == 0:
        return "correctly rounded"
    return f"within {function.bound:g} ulp of the exact result"


def bounded(units: Iterable[EmittedActivation]) -> bool:
    """Return whether any function has a known bound."""
    return any(f.bound is not None for unit in units for f in unit.functions)


def shortest(value: float, fmt: Format) -> str:
    """Return the fewest digits that round to `value` in `fmt`, directly or through float64.

    Examples
    --------
    >>> shortest(float(np.float32(0.1)), FLOAT32)
    '0.1'
    """
    if fmt is not FLOAT32:
        return repr(value)
    text = str(np.float32(value))
    return text if float(np.float32(float(text))) == value else repr(value)


def body(
    roots: Node | tuple[Node, ...],
    fmt: Format,
    language: Language,
    leaves: Mapping[str, str],
    constants: Mapping[str, float] | None = None,
) -> FunctionText:
    r"""Return the body that computes the roots; `leaves` has the names of inputs and parameters.

    Parameters in `constants` are folded, and branches that constants decide are left out.

    Examples
    --------
    >>> from softgate.formula.arithmetic import FloatArithmetic
    >>> f = FloatArithmetic(FLOAT32)
    >>> x = f.graph.input("x")
    >>> operations = OPERATORS | {"fma": call("fmaf", 3), "where": CHOOSE}
    >>> c = Language(operations, lambda v: f"{shortest(v, FLOAT32)}f", "const float {} = {};")
    >>> lines = body(f.where(x < 0, -x, f.fma(x, x, 1)), FLOAT32, c, {"x": "x"})
    >>> print(*lines.lines, lines.result, sep="\n")
    const float t1 = fmaf(x, x, 1.0f);
    (x < 0.0f) ? -x : t1
    """
    several = roots if isinstance(roots, tuple) else (roots,)
    return _Printer(several, fmt, language, leaves, constants or {}).body()


def _is(operand: Node | Constant, number: float) -> bool:
    """Return whether an operand is this number (comparing a node would build a node)."""
    return not isinstance(operand, Node) and operand == number


def fold_constants(
    order: Iterable[Node], fmt: Format, parameters: Mapping[str, float]
) -> dict[Node, Node | Constant]:
    """Return the constant that each node folds to, the branch that it selects, or the node.

    Operands precede the nodes that use them. Constants are folded in the arithmetic of `fmt`.
    """
    real = np.float32 if fmt is FLOAT32 else np.float64
    resolved: dict[Node, Node | Constant] = {}
    with np.errstate(all="ignore"):  # the branch not taken may overflow
        for node in order:
            args = [resolved[arg] for arg in node.args]
            numbers = [float(arg) for arg in args if not isinstance(arg, Node)]
            if node.op == "const":
                assert isinstance(node.attr, Fraction)
                resolved[node] = fmt.round(node.attr)
            elif node.op == "parameter" and node.attr in parameters:
                resolved[node] = float(real(parameters[str(node.attr)]))
            elif node.op == "where" and isinstance(args[0], bool):
                resolved[node] = args[1] if args[0] else args[2]
            elif node.op == "mul" and any(_is(arg, 1.0) for arg in args):
                resolved[node] = args[1] if _is(args[0], 1.0) else args[0]
            elif numbers and len(numbers) == len(args):
                resolved[node] = _fold(node, fmt, real, *numbers)
            else:
                resolved[node] = node
    return resolved


def _fold(node: Node, fmt: Format, real: Any, *numbers: float) -> Node | Constant:
    if node.op == "fma" and all(map(math.isfinite, numbers)):
        a, b, c = map(Fraction, numbers)
        return fmt.round(a * b + c) or numbers[0] * numbers[1] + numbers[2]
    operands = (real(number) for number in numbers)
    if node.op in ARITHMETIC:
        return float(ARITHMETIC[node.op](*operands))
    if node.op in COMPARE:
        return bool(COMPARE[node.op](*operands))
    return node


class _Printer:
    """One function being printed."""

    def __init__(
        self,
        roots: tuple[Node, ...],
        fmt: Format,
        language: Language,
        leaves: Mapping[str, str],
        constants: Mapping[str, float],
    ) -> None:
        self.fmt, self.language, self.leaves = fmt, language, leaves
        self.order = tuple(walk(*roots))
        self.resolved = fold_constants(self.order, fmt, constants)
        self.roots = [self.resolved[root] for root in roots]
        self.uses, self.branches = self._count()
        self.texts: dict[Node, tuple[str, int]] = {}
        self.lines: list[str] = []
        self.used: set[str] = set()

    def body(self) -> FunctionText:
        fixed: set[Node] = set()
        for node in self.order:
            if node.op != "input" and fixed.issuperset(node.args):
                fixed.add(node)
            # A choice that does not depend on x is printed right before its use: gcc 12 merges
            # several adjacent ones into a branch and no longer vectorises the loop.
            late = node.op == "where" and node.args[0] in fixed
            if self.uses[node] and self.resolved[node] is node and not late:
                self.texts[node] = self._print(node)
        results = tuple(self._operand(root)[0] for root in self.roots)
        return FunctionText(tuple(self.lines), results, frozenset(self.used))

    def _count(self) -> tuple[Counter[Node], set[Node]]:
        """Return the number of uses of each node, and the nodes that are branches of a choice."""
        uses: Counter[Node] = Counter()
        branches: set[Node] = set()
        uses.update(root for root in self.roots if isinstance(root, Node))
        for node in reversed(self.order):
            if not uses[node] or self.resolved[node] is not node:
                continue
            for i, arg in enumerate(node.args):
                operand = self.resolved[arg]
                if isinstance(operand, Node):
                    uses[operand] += 1
                    if node.op == "where" and i:
                        branches.add(operand)
        return uses, branches

    def _print(self, node: Node) -> tuple[str, int]:
        """Return a node as text: an inline term, or the name that a new line assigns to it."""
        if node.op in ("input", "parameter"):
            self.used.add(str(node.attr))
            return self.leaves[str(node.attr)], ATOM
        op, *args = self._plain(node)
        self.used.add(op)
        template, binds, least = self.language.operations[op]
        operands = []
        for arg, needed in zip(args, least, strict=True):
            text, tight = self._operand(arg)
            if op in BITS and not isinstance(arg, Node):
                text, tight = self.language.typed.format(text), ATOM
            operands.append(text if tight >= needed else f"({text})")
        if op == "where" and not isinstance(args[1], Node) and not isinstance(args[2], Node):
            operands[1] = self.language.typed.format(operands[1])
        text = template.format(*operands)
        is_result = self.uses[node] == 1 and any(node is root for root in self.roots)
        if is_result or self._is_inline(node, text):
            return text, binds
        name = f"t{len(self.lines) + 1}"
        self.lines.append(self.language.line.format(name, text))
        return name, ATOM

    def _plain(self, node: Node) -> tuple[str, *tuple[Node | Constant, ...]]:
        """Return an equivalent operation in its usual notation."""
        op, args = node.op, [self.resolved[arg] for arg in node.args]
        if op in MIRRORED and not isinstance(args[0], Node):
            return MIRRORED[op], args[1], args[0]
        if op not in ("mul", "fma"):
            return op, *args
        for a, b in (args[:2], args[1::-1]):
            if _is(a, -1.0):
                return ("neg", b) if op == "mul" else ("sub", args[2], b)
            if _is(a, 1.0) and op == "fma":
                return "add", b, args[2]
        return op, *args

    def _is_inline(self, node: Node, text: str) -> bool:
        """Return whether a term is printed inline.

        Branches of a choice are not: computing both first lets compilers avoid a jump.
        """
        if node.op in COMPARISONS:
            return True
        if text.startswith("-") and node.op in ("neg", "mul"):
            return len(text) <= SHORT
        if self.uses[node] > 1 or node in self.branches:
            return False
        return node.op in TERMS and len(text) <= SHORT

    def _operand(self, operand: Node | Constant) -> tuple[str, int]:
        if isinstance(operand, Node):
            if operand not in self.texts:
                self.texts[operand] = self._print(operand)
            return self.texts[operand]
        text = self.language.literal(float(operand))
        return text, SIGN if text.startswith("-") else ATOM


_C_WORDS = frozenset({
    "auto", "break", "case", "char", "const", "continue", "default", "do", "double", "else",
    "enum", "extern", "float", "for", "goto", "if", "inline", "int", "long", "register",
    "restrict", "return", "short", "signed", "sizeof", "static", "struct", "switch", "typedef",
    "union", "unsigned", "void", "volatile", "while",
})  # fmt: skip
"""C appends a format suffix to names, so these would compile; they are rejected as misleading."""

_JAVASCRIPT_WORDS = frozenset({
    "Float64Array", "HIGH", "Infinity", "Int32Array", "LOW", "Math", "NaN", "Uint16Array",
    "Uint8Array", "add_exponent", "arguments", "await", "break", "case", "catch", "class",
    "const", "continue", "copysign", "debugger", "default", "delete", "do", "else", "enum",
    "eval", "exponent_field", "exponent_only", "export", "extends", "false", "finally", "fma",
    "fma_scaled", "for", "function", "if", "implements", "import", "in", "instanceof",
    "interface", "let", "new", "null", "number", "package", "private", "protected", "public",
    "return", "softgate", "static", "super", "switch", "this", "throw", "true", "try", "typeof",
    "undefined", "var", "void", "while", "with", "words", "yield",
})  # fmt: skip

_TRITON_WORDS = frozenset({
    "BLOCK", "TypeError", "_split", "float", "once_differentiable", "staticmethod", "tl",
    "torch", "triton",
} | {*keyword.kwlist})  # fmt: skip

RESERVED = {"C": _C_WORDS, "JavaScript": _JAVASCRIPT_WORDS, "Triton": _TRITON_WORDS}
"""Names that an emitted function must not have: keywords, and names that the file uses."""
