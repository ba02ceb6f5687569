"""A network watched while it learns digits, once with relu and once with gelu; or one's own model.

Network, data and steps are small enough for a few seconds, and the same for both activations: what
differs is what the activation does. Dead units need no bad luck here: they are there after the
usual start already, for eight layers without normalisation push many inputs below 0.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from softgate.runtime.records import Cell, Grid, Record
from softgate.studies.diagnose.record import Diagnosis
from softgate.studies.diagnose.what_if import WhatIf
from softgate.studies.identify import UNKNOWN

if TYPE_CHECKING:
    from .own_model import Own

REPLACEMENTS = ("relu", "gelu")
"""What a model's own activation is replaced by, without training."""

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Watched:
    """A network that was watched; `right` is the share of digits it tells that it never saw."""

    title: str
    seen: Diagnosis
    right: float | None = None


@dataclass(frozen=True)
class UnitStudy(Record):
    """What was watched, and what other activations would do at once."""

    schema: ClassVar[str] = "softgate.report.units"

    about: str
    watched: tuple[Watched, ...]
    exchanged: tuple[WhatIf, ...]
    notes: tuple[str, ...] = ()

    def grids(self) -> tuple[Grid, ...]:
        """Return the tables of all."""
        seen = [grid for one in self.watched for grid in one.seen.grids()]
        return (*seen, *(grid for one in self.exchanged for grid in one.grids()))

    def table(self) -> tuple[tuple[str, ...], list[tuple[Cell, ...]]]:
        """Return a row for each site of each network."""
        found: list[tuple[Cell, ...]] = []
        header: tuple[str, ...] = ()
        for one in self.watched:
            header, rows = one.seen.table()
            found += [(one.title, *row) for row in rows]
        return ("network", *header), found


def units(own: Own | None, progress: Progress | None = None) -> UnitStudy:
    """Return the study of a model of the user's, or of digits."""
    if own is None:
        from .digits import digits

        return digits(progress)
    return own_study(own)


def own_study(own: Own) -> UnitStudy:
    """Diagnose a model, and run it with other activations in place of what it has most of."""
    from softgate.torch import diagnose, what_if

    batches = own.batches[: own.limit]
    with own.told():
        seen = diagnose(own.model, batches, loss=own.loss)
        most = most_used(seen)
        others = [name for name in REPLACEMENTS if most not in (None, name)]
        exchanged = tuple(
            what_if(own.model, batches, name, only=most, loss=own.loss) for name in others
        )
    notes = []
    if len(batches) < len(own.batches):
        notes.append(
            f"{len(batches)} of {len(own.batches)} batches: all would take some "
            f"{own.seconds:.0f} s here; softgate diagnose runs them all"
        )
    if most is None and seen.sites:
        notes.append("no activation is a known one: there is nothing to replace by another")
    about = (
        f"{own.name} on {own.data}, {len(batches)} batch{'es' if len(batches) > 1 else ''}: it is "
        "evaluated, and not trained. The same is printed by `softgate diagnose`."
    )
    return UnitStudy(about, (Watched(own.name, seen),), exchanged, tuple(notes))


def most_used(seen: Diagnosis) -> str | None:
    """Return the function that most units have; None where none is known."""
    counts: Counter[str] = Counter()
    for site in seen.sites:
        if site.function != UNKNOWN:
            counts[site.function] += site.units
    return counts.most_common(1)[0][0] if counts else None
