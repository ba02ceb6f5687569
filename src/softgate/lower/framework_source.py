"""A graph as the source of a Python function in some framework's operators.

One fold serves every framework: constants are folded, each operation becomes one line, and its
spelling comes from the framework's `Dialect`. Source code rather than a chain of closures, because
tracing compilers can process it and it can be inspected.

To add a framework, write a module with a `Dialect`:

- `operations` has a template for each operation, operands as {0}, {1}, {2} (or {} in order). For
  definitions these are the arithmetic, the comparisons, `where`, and those of `formula.FUNCTIONS`.
  For stable forms (graphs over a `KernelArithmetic`) they are arithmetic, comparisons, `where`,
  `sqrt`, and `BIT_OPERATIONS`, methods of a `Bits` in `modules`; `lower.without_fma` must be run
  first if the framework has no fma;
- `modules` are the objects that the templates name;
- `whole` returns an array like the first operand, {like}, filled with a number: for a root that
  depends on no operand;
- `scalar` returns a number in the format of {like}: for a `where` between two numbers.
  Everywhere else a number is a Python float and must take the other operand's format.

Templates that depend on the float format (masks, shifts) are made per format: a `Dialect` for each.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any

from softgate.formula.formats import Format
from softgate.formula.graph import COMPARISONS, Node, fold

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
    **{n: f"bits.{n}({{}}, {{}})" for n in ("add_exponent", "copysign", "unscale")},
    **{n: f"bits.{n}({{}})" for n in ("exponent_only", "exponent_field", "high", "keep")},
}
"""Operations on bits of stable forms without fma, as methods of a `Bits` called `bits`."""


@dataclass(frozen=True)
class Bits:
    """The operations on the bits of one float format, from the casts and shifts of a framework."""

    fmt: Format
    word: Callable[[Any], Any]
    """Returns the bits of a tensor or number as signed integers; `real` their floats."""
    real: Callable[[Any], Any]
    integer: Callable[[int], Any]
    """Returns a number in the type of the bits."""
    left: Callable[[Any, Any], Any]
    right: Callable[[Any, Any], Any]
    """Shifts; to the right only integers of at least 0 are shifted."""
    where: Callable[[Any, Any, Any], Any] | None = None
    keep: Callable[[Any], Any] | None = None
    """Returns its operand so that optimisers do not simplify across it."""

    def _mask(self, value: int) -> Any:
        top = 1 << (self.fmt.bits - 1)
        return self.integer(value - 2 * top if value & top else value)

    def _to_exponent(self, t: Any) -> Any:
        return self.left(self.word(t), self.integer(self.fmt.mantissa_bits))

    def add_exponent(self, x: Any, t: Any) -> Any:
        """Return x·2**n, n in the low bits of t."""
        return self.real(self.word(x) + self._to_exponent(t))

    def exponent_only(self, t: Any) -> Any:
        """Return the float with the low bits of t as its exponent field."""
        return self.real(self._to_exponent(t))

    def exponent_field(self, x: Any) -> Any:
        """Return 2**mantissa_bits, where one ulp is 1, plus the exponent field of x >= 0."""
        mantissa = self.fmt.mantissa_bits
        field = self.right(self.word(x), self.integer(mantissa))
        return self.real(field | self.integer((self.fmt.max_exponent + mantissa) << mantissa))

    def copysign(self, magnitude: Any, sign: Any) -> Any:
        """Return the magnitude with the sign bit of `sign`."""
        top = 1 << (self.fmt.bits - 1)
        size = self.word(magnitude) & self._mask(top - 1)
        return self.real(size | (self.word(sign) & self._mask(top)))

    def high(self, x: Any) -> Any:
        """Return x with the lower half of its significand cleared."""
        low = (1 << (self.fmt.precision - self.fmt.precision // 2)) - 1
        return self.real(self.word(x) & self._mask((1 << self.fmt.bits) - 1 - low))

    def unscale(self, x: Any, factor: float) -> Any:
        """Return x·factor, a power of two below 1, without a product where that is normal."""
        assert self.where is not None
        shift, bits, mantissa = 1 - math.frexp(factor)[1], self.word(x), self.fmt.mantissa_bits
        size = bits & self._mask((1 << (self.fmt.bits - 1)) - 1)
        ends = (shift + 1, 2 * self.fmt.max_exponent + 1)
        least, infinity = (self._mask(field << mantissa) for field in ends)
        normal = (size >= least) & (size < infinity)
        return self.where(normal, self.real(bits - self._mask(shift << mantissa)), x * factor)


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

    For several roots it returns a tuple. A dot in a parameter's name becomes an underscore; a name
    of `dialect.modules` gets one at its end.

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
    leaves = {name: name.replace(".", "_") for name in (*inputs, *parameters)}
    leaves = {n: f"{leaf}_" if leaf in dialect.modules else leaf for n, leaf in leaves.items()}
    names = (name for i in count() if (name := f"t{i}") not in leaves.values())
    lines: list[str] = []

    def visit(node: Node, args: list[float | str]) -> float | str:
        """Return a number, or the name of a leaf or of the line that is added for a node."""
        numbers = [arg for arg in args if isinstance(arg, float)]
        fixed = len(numbers) == len(args)
        if node.op in ("input", "parameter"):
            return leaves[str(node.attr)]
        if node.op == "const":
            return float(node.attr or 0)
        if node.op == "pi":
            return math.pi
        if node.op in FOLDED and fixed:
            return float(FOLDED[node.op](*numbers))
        if node.op in COMPARISONS and fixed:
            raise ValueError(f"{node!r} compares two numbers")
        operands = [f"({arg})" if isinstance(arg, float) and arg < 0 else str(arg) for arg in args]
        if node.op == "where" and len(numbers) == 2:
            operands[1] = dialect.scalar.format(args[1], like=leaves[inputs[0]])
        name = next(names)
        lines.append(f"{name} = {dialect.operations[node.op].format(*operands)}")
        return name

    outputs: tuple[Node, ...] = roots if isinstance(roots, tuple) else (roots,)
    values = fold(visit, *outputs)
    results = [
        dialect.whole.format(value, like=leaves[inputs[0]]) if isinstance(value, float) else value
        for value in map(values.__getitem__, outputs)
    ]
    lines.append(
        f"return ({', '.join(results)},)" if isinstance(roots, tuple) else f"return {results[0]}"
    )
    return "\n    ".join([f"def form({', '.join(leaves.values())}):", *lines]) + "\n"


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
