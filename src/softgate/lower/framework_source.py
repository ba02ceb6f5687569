"""A graph as the source of a Python function in some framework's operators.

One walk serves every framework: constants are folded, each operation becomes one line, and its
spelling comes from the framework's `Dialect`. Source code rather than a chain of closures, because
tracing compilers can process it and it can be inspected.

To add a framework, write a module with a `Dialect`:

- `operations` has a template for each operation, operands as {0}, {1}, {2} (or {} in order). For
  definitions these are the arithmetic, the comparisons, `where`, and those of `formula.FUNCTIONS`.
  For stable forms (graphs over a `KernelArithmetic`) they are arithmetic, comparisons, `where`,
  `sqrt`, `copysign`, the three operations on exponent bits of `formula.FloatArithmetic`, and the
  two of `lower.without_fma`, which must be run first if the framework has no fma;
- `modules` are the objects that the templates name;
- `whole` returns an array like `x` filled with a number: for a root that does not depend on `x`;
- `scalar` returns a number in the format of `x`: for a `where` between two numbers.
  Everywhere else a number is a Python float and must take the other operand's format.

Templates that depend on the float format (masks, shifts) are made per format: a `Dialect` for each.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from softgate.formula.graph import COMPARISONS, Node, walk

from .evaluation import ARITHMETIC as PYTHON_ARITHMETIC

FOLDED: dict[str, Callable[..., float]] = {
    **PYTHON_ARITHMETIC,
    "exp": math.exp,
    "log": math.log,
    "sqrt": math.sqrt,
}
"""Operations folded when every operand is a constant."""

ARITHMETIC = {
    "add": "{} + {}",
    "sub": "{} - {}",
    "mul": "{} * {}",
    "div": "{} / {}",
    "neg": "-{}",
    "lt": "{} < {}",
    "le": "{} <= {}",
    "eq": "{} == {}",
}
"""Operations that are Python operators in every framework."""

SQRT_HALF, DENSITY_AT_0 = 0.7071067811865476, 0.3989422804014327
"""sqrt(1/2) and 1/sqrt(2·pi): Phi(x) = erfc(-x·sqrt(1/2))/2, phi(x) = exp(-x²/2)/sqrt(2·pi)."""
NORMAL_DENSITY = f"({{0}} * {{0}} * -0.5) * {DENSITY_AT_0!r}"
NORMAL_DISTRIBUTION = f"(-{SQRT_HALF!r} * {{}})"
"""Templates of phi(x) and 2·Phi(x), after the framework's names of exp and erfc."""

BIT_OPERATIONS = {
    **dict.fromkeys(("add_exponent", "copysign", "unscale"), "({}, {})"),
    **dict.fromkeys(("exponent_only", "exponent_field", "high", "keep"), "({})"),
}
"""Operations on bits of stable forms without fma, and the templates of their arguments."""


@dataclass(frozen=True)
class Dialect:
    """How one framework writes the operations of a graph."""

    modules: Mapping[str, Any]
    operations: Mapping[str, str]
    whole: str
    scalar: str


def source(
    roots: Node | tuple[Node, ...],
    dialect: Dialect,
    parameters: tuple[str, ...] = (),
    inputs: tuple[str, ...] = ("x",),
) -> str:
    """Return the Python source of `form(*inputs, *parameters)`, which computes the roots.

    For several roots it returns a tuple. A dot in a parameter's name becomes an underscore.

    Examples
    --------
    >>> from softgate.formula.arithmetic import ExactArithmetic
    >>> f = ExactArithmetic()
    >>> x = f.graph.input("x")
    >>> print(source(x * 2 + f.pi, Dialect({}, ARITHMETIC, "full({})", "{}")))
    def form(x):
        t0 = x * 2.0
        t1 = t0 + 3.141592653589793
        return t1
    """
    several = isinstance(roots, tuple)
    outputs: tuple[Node, ...] = roots if isinstance(roots, tuple) else (roots,)
    leaves = {name: _identifier(name, dialect) for name in (*inputs, *parameters)}
    emitter = _Emitter(dialect, leaves)
    emitter.emit(*outputs)
    results = [emitter.result(root) for root in outputs]
    body = "".join(f"    {line}\n" for line in emitter.lines)
    returned = f"({', '.join(results)},)" if several else results[0]
    return f"def form({', '.join(leaves.values())}):\n{body}    return {returned}\n"


def form(
    roots: Node | tuple[Node, ...],
    dialect: Dialect,
    parameters: tuple[str, ...] = (),
    inputs: tuple[str, ...] = ("x",),
) -> Callable[..., Any]:
    """Return the function compiled from `source(roots, dialect, parameters, inputs)`."""
    names = dict(dialect.modules)
    text = source(roots, dialect, parameters, inputs)
    what = "several" if isinstance(roots, tuple) else roots.op
    exec(compile(text, f"<softgate {what}>", "exec"), names)
    function: Callable[..., Any] = names["form"]
    return function


def _identifier(name: str, dialect: Dialect) -> str:
    """Return a leaf's name in the source: without dots, and not a name of `dialect.modules`."""
    identifier = name.replace(".", "_")
    return f"{identifier}_" if identifier in dialect.modules else identifier


class _Emitter:
    """The lines of one function."""

    def __init__(self, dialect: Dialect, leaves: Mapping[str, str]) -> None:
        self.dialect, self.leaves = dialect, leaves
        self.lines: list[str] = []
        self.names: dict[Node, str] = {}
        self.numbers: dict[Node, float] = {}
        self._count = 0

    def emit(self, *roots: Node) -> None:
        """Emit the nodes that the roots need."""
        for node in walk(*roots):
            if node.op in ("input", "parameter"):
                self.names[node] = self.leaves[str(node.attr)]
            elif (number := self._number(node)) is not None:
                self.numbers[node], self.names[node] = number, repr(number)
            else:
                name = self._fresh()
                self.lines.append(f"{name} = {self._operation(node)}")
                self.names[node] = name

    def result(self, root: Node) -> str:
        """Return the expression of a root."""
        name = self.names[root]
        return self.dialect.whole.format(name) if root in self.numbers else name

    def _fresh(self) -> str:
        while (name := f"t{self._count}") in self.leaves.values():
            self._count += 1
        self._count += 1
        return name

    def _number(self, node: Node) -> float | None:
        if node.op == "const":
            assert node.attr is not None
            return float(node.attr)
        if node.op == "pi":
            return math.pi
        if node.op in FOLDED and all(arg in self.numbers for arg in node.args):
            return float(FOLDED[node.op](*(self.numbers[arg] for arg in node.args)))
        return None

    def _operation(self, node: Node) -> str:
        numbers = self.numbers
        args = [
            f"({self.names[a]})" if numbers.get(a, 0.0) < 0 else self.names[a] for a in node.args
        ]
        if node.op == "where":
            yes, no = node.args[1:]
            if yes in numbers and no in numbers:
                args[1] = self.dialect.scalar.format(self.names[yes])
        if node.op in COMPARISONS and all(a in numbers for a in node.args):
            raise ValueError(f"{node!r} compares two numbers")
        return self.dialect.operations[node.op].format(*args)
