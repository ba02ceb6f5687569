"""What `emit` prints: functions to be printed, and what each language states and prints of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from softgate.formula.formats import Format
from softgate.formula.graph import Node


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

    @property
    def suffix(self) -> str:
        """The format as the end of a name."""
        return f"f{self.fmt.bits}"

    def described(self, real: str) -> str:
        """Return the quantity, the format, called `real`, and the error bound as text."""
        exact = "no bound known"
        if self.bound is not None:
            exact = f"within {self.bound:g} ulp" if self.bound else "correctly rounded"
        what = "slopes" if len(self.outputs) > 1 else self.quantity
        if self.quantity == "backward":
            what = what if what == "slopes" else "slope"
            if self.bound is not None:
                return f"{what} times grad in {real}: {what} {exact}, product rounded"
            what = f"{what} times grad"
        return f"{what} in {real}, {exact}{' of the exact result' if self.bound else ''}"


SCALE = (
    "Errors of slopes are in ulps of max(|g|, |x*g'|), the function being x*g: beside a root of",
    "the slope, an ulp of the slope is not a useful unit.",
)


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

    @property
    def bounded(self) -> bool:
        """Whether any function has a known bound."""
        return any(f.bound is not None for f in self.functions)

    @property
    def certifiable(self) -> list[EmittedFunction]:
        """The functions that `certify` measures: values and slopes of one operand."""
        return [f for f in self.functions if f.operands == ["x"]]

    def listing(self, rows: Sequence[tuple[str, str]]) -> list[str]:
        """Return names and what each is as a list, and what the bounds refer to."""
        width = max(len(name) for name, _ in rows)
        return [*(f"    {name:{width}}  {what}" for name, what in rows), *self.remarks()]

    def remarks(self) -> list[str]:
        """Return what the bounds refer to, in lines of plain text."""
        derivatives = any(f.quantity != "value" for f in self.functions)
        measured = any(f.bound for f in self.functions)
        known = ("These bounds are measured, not proven.",) if measured else ()
        return [*known, *(SCALE if self.gated and derivatives else ()), *self.notes]

    def in_python(self, *calls: str) -> list[str]:
        """Return calls of `certify` for a formula that no command can name."""
        return [
            f"No command can name this formula; in Python, where it is {self.name}:",
            *(f"    print(sg.certify({call}))" for call in calls),
        ]

    def certify_kernels(self, dtype: str | None = None) -> list[str]:
        """Return the command that certifies the kernels, whose results the emitted code has."""
        if not self.certifiable:
            return []
        if self.command is None:
            return self.in_python(self.name + (f', dtype="{dtype}"' if dtype else ""))
        subject = self.command if self.user_defined else f"softgate:{self.command}"
        return [f"    softgate certify {subject}" + (f" --dtype {dtype}" if dtype else "")]


class Language(ABC):
    """What one language has, what is printed by default, and its printer."""

    name: ClassVar[str]
    title: ClassVar[str]
    contents: ClassVar[str]
    """What a file has."""
    extensions: ClassVar[tuple[str, ...]]
    """The extensions of its files, the usual one first."""
    spellings: ClassVar[tuple[str, ...]] = ()
    """Its other names."""
    words: ClassVar[frozenset[str]] = frozenset()
    """Names that an emitted function must not have: keywords, and names that the file uses."""
    dtypes: ClassVar[tuple[str, ...]] = ("float32", "float64")
    default_dtypes: ClassVar[tuple[str, ...]] = ("float32", "float64")
    default_quantities: ClassVar[tuple[str, ...]] = ("value", "slope")
    forms: ClassVar[Mapping[str, str]] = {}
    """The values of `form` and what they mean, the default first."""
    parameters: ClassVar[Literal["arguments", "defaults", "both", "inner"]] = "arguments"
    """Whether functions take parameters as arguments or have the defaults written in; of "both"
    there are two functions, of "inner" the second one is called only by the first."""
    fused: ClassVar[bool] = True
    """Whether it has fma. Without it results are computed in float64, and rounded."""
    marks: ClassVar[tuple[str, str, str]] = ("", "", "")
    """What stands before a comment, before each of its lines, and after it."""

    @abstractmethod
    def program(self, units: Sequence[EmittedActivation], closing: Sequence[str], form: str) -> Any:
        """Return the file of some activations; its comment ends with the lines `closing`."""

    @abstractmethod
    def listed(self, unit: EmittedActivation) -> list[str]:
        """Return a list of what is printed, with the error bounds, in lines of plain text."""

    def text(self, program: Any) -> str:
        """Return a program as text."""
        return str(program)

    def content(self, program: Any) -> str | bytes:
        """Return the content of a program's file."""
        return self.text(program)

    def comment(
        self, units: Sequence[EmittedActivation], middle: Sequence[str], closing: Sequence[str]
    ) -> str:
        """Return the comment of a file: formulas, functions and bounds, then lines of its own."""
        lines: list[str] = []
        for unit in units:
            lines += [*unit.heading, "", *self.listed(unit), ""]
        first, mark, last = self.marks
        lines = [f"{mark}{line}".rstrip() for line in (*lines, *middle, "", *closing)]
        return "\n".join([*([first] if first else ()), *lines, *([last] if last else ())])


def limit(bound: float | None) -> str:
    """Return the option of `certify` that fails above a bound; correctly rounded is 0.5 ulp."""
    return "" if bound is None else f" --max-ulp {bound or 0.5:g}"
