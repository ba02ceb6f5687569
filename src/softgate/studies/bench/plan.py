"""The plan of a benchmark: settings checked before anything is started or allocated."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from typing import Any

from softgate.runtime.activation import Activation
from softgate.runtime.machine import Machine
from softgate.runtime.registry import activations, label
from softgate.runtime.threads import available

from .. import counted
from ..subjects import PassedFunction, resolved
from ..subjects.peers import IMPLEMENTATIONS, Peer, absent, peers
from .inputs import check_memory, dtype_of, size
from .record import OURS, RELU, Settings

QUANTITIES = ("value", "backward")
BUFFERS = ("reused", "fresh")
ALL = "all"
FEW = 4
"""Up to this number of functions, a table has a row for each implementation."""
Names = str | Iterable[str]
Function = Activation | PassedFunction
"""A function of softgate, or code that is called as it was passed."""


@dataclass(frozen=True)
class BenchCell:
    """One function in one setting; its implementations are timed together."""

    function: Function
    quantity: str
    dtype: str
    count: int
    size: str
    threads: int
    inputs: str
    buffers: str

    def __str__(self) -> str:
        threads = counted(self.threads, "thread")
        text = f"{label(self.function)} {self.quantity}, {self.dtype}, {self.size}, {threads}"
        return text + "".join(f", {name}" for name in (self.inputs, self.buffers) if name in RARE)


RARE = ("mix", "fresh")


@dataclass(frozen=True)
class BenchPlan:
    """The cells of a benchmark."""

    functions: tuple[Function, ...]
    cells: tuple[BenchCell, ...]
    settings: Settings
    not_run: tuple[str, ...]

    def peers(self, cell: BenchCell) -> dict[str, Peer]:
        """Return the implementations timed in a cell, softgate's first; of code there are none."""
        if isinstance(cell.function, PassedFunction):
            return {}
        known = _peers(cell.function, self.settings.implementations)
        backward = cell.quantity == "backward"
        return {
            name: peer
            for name, peer in known.items()
            if IMPLEMENTATIONS[name].backward or not backward
        }

    def frameworks(self, cells: Iterable[BenchCell]) -> tuple[str, ...]:
        """Return the workers that cells need, NumPy's first."""
        cells = tuple(cells)
        used = {IMPLEMENTATIONS[name].framework for cell in cells for name in self.peers(cell)}
        code = {c.function.framework for c in cells if isinstance(c.function, PassedFunction)}
        known = (implementation.framework for implementation in IMPLEMENTATIONS.values())
        return tuple(name for name in dict.fromkeys((*known, *code)) if name in used | code)

    def groups(self) -> Iterator[tuple[tuple[int, str], tuple[BenchCell, ...]]]:
        """Yield the cells that share workers: the same thread count and the same kind of buffer."""
        for key in dict.fromkeys((cell.threads, cell.buffers) for cell in self.cells):
            yield key, tuple(c for c in self.cells if (c.threads, c.buffers) == key)


@cache
def _peers(activation: Activation, implementations: tuple[str, ...]) -> dict[str, Peer]:
    return peers(activation, implementations)


def make_plan(settings: Settings, chosen: tuple[Function, ...], machine: Machine) -> BenchPlan:
    """Return the plan of these settings; relu is always included, as a limit in every table."""
    functions = chosen
    if RELU not in map(label, functions):
        functions = (*functions, activations()[RELU])
    spans = {
        (text, dtype): size(text, dtype_of(dtype).itemsize, machine)
        for text in settings.sizes
        for dtype in settings.dtypes
    }
    cells = tuple(
        BenchCell(function, quantity, dtype, spans[text, dtype].count, spans[text, dtype].label,
             threads, inputs, buffers)
        for threads in settings.threads
        for buffers in settings.buffers
        for dtype in settings.dtypes
        for text in settings.sizes
        for inputs in settings.inputs
        for quantity in settings.quantities
        for function in functions
        if quantity == "value" or has_backward(function)
    )  # fmt: skip
    catalogued = [f for f in chosen if isinstance(f, Activation)]
    not_run = (
        *left_out(settings.implementations),
        *lacking(catalogued, settings.implementations),
        *(
            f"backward: {label(f)} is {f.framework} code, which has no derivatives"
            for f in chosen
            if isinstance(f, PassedFunction) and "backward" in settings.quantities
            if not has_backward(f)
        ),
    )
    plan = BenchPlan(functions, cells, settings, not_run)
    counts = {(cell.count, dtype_of(cell.dtype).itemsize) for cell in cells}
    check_memory(counts, len(plan.frameworks(cells)))
    return plan


def has_backward(function: Function) -> bool:
    """Return whether a function has a gradient that can be timed."""
    return isinstance(function, Activation) or "slope" in function.quantities


def choose_functions(
    functions: str | Callable[..., Any] | Iterable[str | Callable[..., Any]] | None,
) -> tuple[Function, ...]:
    """Return the functions that are named; the whole catalogue for None.

    After code that computes a function of the catalogue follows that function.
    """
    if functions is None:
        return tuple(activations().values())
    names = resolved.several(functions)
    if not names:
        raise ValueError("functions is empty: name some, or leave it out for the whole catalogue")
    chosen: list[Function] = []
    for function in map(resolved.one_array_as_passed, names):
        chosen.append(function)
        if isinstance(function, PassedFunction):
            in_program = not function.importable
            same_as = function.identification.activation
            chosen += [] if same_as is None else [same_as]
        else:
            in_program = function.entry.user is not None and function.__module__ == "__main__"
        if in_program:
            raise ValueError(
                f"{function.name} is defined in the program itself, and other processes cannot "
                "import it: put it into a module"
            )
    return tuple({label(function): function for function in chosen}.values())


def choose(name: str, choice: Names, known: Iterable[str]) -> tuple[str, ...]:
    """Return the chosen names in the order of `known`; raise ValueError for an unknown one."""
    known = tuple(known)
    parts = choice.split(",") if isinstance(choice, str) else list(choice)
    chosen = [part.strip() for part in parts if part.strip()]
    if not chosen:
        raise ValueError(f"{name} is empty: expected some of {', '.join(known)}")
    for part in chosen:
        if part not in known:
            near = get_close_matches(part, known, 1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise ValueError(f"{name} {part!r}: expected some of {', '.join(known)}{hint}")
    return tuple(part for part in known if part in chosen)


def choose_implementations(choice: Names | None) -> tuple[str, ...]:
    """Return the implementations to time, softgate's included; raise if one is not installed."""
    if choice is None:
        return tuple(
            name for name, known in IMPLEMENTATIONS.items() if not known.slow and not absent(name)
        )
    if choice == ALL:
        return tuple(name for name in IMPLEMENTATIONS if not absent(name))
    if choice == "none":
        return (OURS,)
    chosen = choose("peers", choice, IMPLEMENTATIONS)
    for name in chosen:
        if why := absent(name):
            raise ValueError(f"peers {name!r} cannot run here: {why}")
    return tuple(dict.fromkeys((OURS, *chosen)))


def choose_threads(choice: str | int | Iterable[str | int]) -> tuple[int, ...]:
    """Return the thread counts; "all" stands for the number of available cores."""
    split = choice.split(",") if isinstance(choice, str) else choice
    parts = [split] if isinstance(split, int) else list(split)
    counts: dict[int, None] = {}
    for part in parts:
        text = str(part).strip()
        count = available() if text == ALL else int(text) if text.isdigit() else 0
        if not 1 <= count <= available():
            raise ValueError(
                f"threads {text!r}: expected numbers from 1 to {available()}, or 'all'"
            )
        counts[count] = None
    if not counts:
        raise ValueError("threads is empty: expected a number, or 'all'")
    return tuple(counts)


def lacking(chosen: Iterable[Activation], implementations: tuple[str, ...]) -> tuple[str, ...]:
    """Return the implementations without a function, a line each, if there are few functions."""
    functions = tuple(chosen)
    if len(functions) > FEW:
        return ()  # a table of many functions has an empty cell for each
    has = {label(function): _peers(function, implementations) for function in functions}
    missing = {name: [text for text in has if name not in has[text]] for name in implementations}
    return tuple(f"{name}: has no {', '.join(texts)}" for name, texts in missing.items() if texts)


def left_out(implementations: Iterable[str]) -> tuple[str, ...]:
    """Return the implementations that are not timed, a line for each reason."""
    timed, why = set(implementations), dict[str, list[str]]()
    for name, known in IMPLEMENTATIONS.items():
        if name not in timed:
            why.setdefault(absent(name) or known.slow or "not selected", []).append(name)
    return tuple(f"{', '.join(names)}: {reason}" for reason, names in why.items())
