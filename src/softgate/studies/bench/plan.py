"""What is asked for, checked before anything is started or allocated."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache

from softgate.runtime.activation import Activation
from softgate.runtime.machine import Machine
from softgate.runtime.registry import activations, label
from softgate.runtime.threads import available

from ..peers import IMPLEMENTATIONS, Peer, absent, peers
from ..properties import named
from . import sizes
from .inputs import dtype_of
from .record import OURS, RELU, Settings

QUANTITIES = ("value", "backward")
BUFFERS = ("reused", "fresh")
ALL = "all"
FEW = 4
"""So many functions are shown in full, a row for each implementation."""
Names = str | Iterable[str]


@dataclass(frozen=True)
class Cell:
    """One function in one setting: all who take part are timed together."""

    activation: Activation
    quantity: str
    dtype: str
    count: int
    size: str
    threads: int
    inputs: str
    buffers: str

    def __str__(self) -> str:
        threads = "1 thread" if self.threads == 1 else f"{self.threads} threads"
        text = f"{label(self.activation)} {self.quantity}, {self.dtype}, {self.size}, {threads}"
        return text + "".join(f", {it}" for it in (self.inputs, self.buffers) if it in RARE)


RARE = ("mix", "fresh")


@dataclass(frozen=True)
class Plan:
    """The cells of a benchmark, and who takes part."""

    activations: tuple[Activation, ...]
    cells: tuple[Cell, ...]
    settings: Settings
    not_run: tuple[str, ...]

    def peers(self, cell: Cell) -> dict[str, Peer]:
        """Return who takes part in a cell; ours is first."""
        found = _peers(cell.activation, self.settings.implementations)
        backward = cell.quantity == "backward"
        return {
            name: peer
            for name, peer in found.items()
            if IMPLEMENTATIONS[name].backward or not backward
        }

    def homes(self, cells: Iterable[Cell]) -> tuple[str, ...]:
        """Return the rooms that cells need, the one of NumPy's arrays first."""
        used = {IMPLEMENTATIONS[name].home for cell in cells for name in self.peers(cell)}
        order = dict.fromkeys(one.home for one in IMPLEMENTATIONS.values())
        return tuple(home for home in order if home in used)

    def groups(self) -> Iterator[tuple[tuple[int, str], tuple[Cell, ...]]]:
        """Yield the cells that share their processes: one number of threads, one kind of buffer."""
        for key in dict.fromkeys((cell.threads, cell.buffers) for cell in self.cells):
            yield key, tuple(c for c in self.cells if (c.threads, c.buffers) == key)


@cache
def _peers(activation: Activation, implementations: tuple[str, ...]) -> dict[str, Peer]:
    return peers(activation, implementations)


def make_plan(asked: Settings, chosen: tuple[Activation, ...], machine: Machine) -> Plan:
    """Return the cells of what was asked for; relu, a limit of every table, is among them."""
    functions = chosen
    if RELU not in {label(one) for one in functions}:
        functions = (*functions, activations()[RELU])
    spans = {
        (text, dtype): sizes.size(text, dtype_of(dtype).itemsize, machine)
        for text in asked.sizes
        for dtype in asked.dtypes
    }
    cells = tuple(
        Cell(activation, quantity, dtype, spans[text, dtype].count, spans[text, dtype].label,
             threads, inputs, buffers)
        for threads in asked.threads
        for buffers in asked.buffers
        for dtype in asked.dtypes
        for text in asked.sizes
        for inputs in asked.inputs
        for quantity in asked.quantities
        for activation in functions
    )  # fmt: skip
    not_run = (*left_out(asked.implementations), *lacking(chosen, asked.implementations))
    plan = Plan(functions, cells, asked, not_run)
    counts = {(cell.count, dtype_of(cell.dtype).itemsize) for cell in cells}
    sizes.check_memory(counts, len(plan.homes(cells)))
    return plan


def choose_functions(
    given: str | Activation | Iterable[str | Activation] | None,
) -> tuple[Activation, ...]:
    """Return the activations that were named; all of the catalogue where none was."""
    if given is None:
        return tuple(activations().values())
    asked = [given] if isinstance(given, str | Activation) else list(given)
    if not asked:
        raise ValueError("no function was named: name some, or leave it out for all of them")
    found = [named(one) for one in asked]
    for one in found:
        if one.entry.user is not None and one.__module__ == "__main__":
            raise ValueError(
                f"{one.name} is defined in the program itself, and other processes cannot import "
                "it: put it into a module"
            )
    return tuple({label(one): one for one in found}.values())


def choose(name: str, given: Names, known: Iterable[str]) -> tuple[str, ...]:
    """Return what was asked for in the usual order; ValueError with the nearest name else."""
    known = tuple(known)
    asked = given.split(",") if isinstance(given, str) else list(given)
    asked = [part.strip() for part in asked if part.strip()]
    if not asked:
        raise ValueError(f"{name} is empty: expected some of {', '.join(known)}")
    for one in asked:
        if one not in known:
            near = get_close_matches(one, known, 1)
            meant = f"; did you mean {near[0]!r}?" if near else ""
            raise ValueError(f"{name} {one!r}: expected some of {', '.join(known)}{meant}")
    return tuple(one for one in known if one in asked)


def choose_implementations(given: Names | None) -> tuple[str, ...]:
    """Return who is timed: what was named and is installed, ours always among them."""
    if given is None:
        return tuple(
            name for name, one in IMPLEMENTATIONS.items() if not one.slow and not absent(name)
        )
    if given == ALL:
        return tuple(name for name in IMPLEMENTATIONS if not absent(name))
    if given == "none":
        return (OURS,)
    asked = choose("peers", given, IMPLEMENTATIONS)
    for name in asked:
        if why := absent(name):
            raise ValueError(f"peers {name!r} cannot run here: {why}")
    return tuple(dict.fromkeys((OURS, *asked)))


def choose_threads(given: str | int | Iterable[str | int]) -> tuple[int, ...]:
    """Return numbers of threads: "all" is every core that may be used."""
    asked = given.split(",") if isinstance(given, str) else given
    parts = [asked] if isinstance(asked, int) else list(asked)
    found: dict[int, None] = {}
    for part in parts:
        text = str(part).strip()
        count = available() if text == ALL else int(text) if text.isdigit() else 0
        if not 1 <= count <= available():
            raise ValueError(
                f"threads {text!r}: expected numbers from 1 to {available()}, or 'all'"
            )
        found[count] = None
    if not found:
        raise ValueError("threads is empty: expected a number, or 'all'")
    return tuple(found)


def lacking(chosen: Iterable[Activation], implementations: tuple[str, ...]) -> tuple[str, ...]:
    """Return who has no such function, a line each, where few functions were asked for."""
    functions = tuple(chosen)
    if len(functions) > FEW:
        return ()  # a table of many has an empty cell for each
    has = {label(one): _peers(one, implementations) for one in functions}
    missing = {name: [text for text in has if name not in has[text]] for name in implementations}
    return tuple(f"{name}: has no {', '.join(texts)}" for name, texts in missing.items() if texts)


def left_out(implementations: Iterable[str]) -> tuple[str, ...]:
    """Return who is not timed, and why, a line for each reason."""
    timed, why = set(implementations), dict[str, list[str]]()
    for name, one in IMPLEMENTATIONS.items():
        if name not in timed:
            why.setdefault(absent(name) or one.slow or "not asked for", []).append(name)
    return tuple(f"{', '.join(names)}: {reason}" for reason, names in why.items())
