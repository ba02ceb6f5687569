"""What would happen at once if a model's activation were another one: a record, nothing trained.

Two things happen when an activation is exchanged: the layers behind it get what they were not
trained for, which shows at once in the outputs and the loss, and units that were alive may be dead,
which shows only in further training. The first is counted before the second.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from softgate.runtime.records import Cell, Grid, Record


@dataclass(frozen=True)
class Exchanged:
    """One site, before and after; shares of units and of inputs."""

    name: str
    before: str
    after: str
    units: int
    moved: float
    """How far its outputs move, as a share of their norm."""
    dead_before: float
    dead_after: float
    flat_before: float
    flat_after: float


@dataclass(frozen=True)
class WhatIf(Record):
    """The same model and data with another activation."""

    schema: ClassVar[str] = "softgate.what_if"

    model: str
    replacement: str
    batches: int
    outputs_moved: float
    """The norm of the difference of all outputs over that of the outputs."""
    loss: str
    """What the loss is of; empty where there is none."""
    loss_before: float | None
    loss_after: float | None
    sites: tuple[Exchanged, ...]

    @property
    def units(self) -> int:
        """How many units were exchanged."""
        return sum(site.units for site in self.sites)

    @property
    def dead_before(self) -> float:
        """The share of these that are flat on every input as the model is."""
        return self._dead("dead_before")

    @property
    def dead_after(self) -> float:
        """The same with the other activation."""
        return self._dead("dead_after")

    def _dead(self, which: str) -> float:
        dead = sum(float(getattr(site, which)) * site.units for site in self.sites)
        return dead / max(self.units, 1)

    def grids(self) -> tuple[Grid, ...]:
        """Return what moves, and a row for each site."""
        parts = [f"outputs move by {100 * self.outputs_moved:.3g} % of their norm"]
        if self.loss_before is not None and self.loss_after is not None:
            parts.append(f"{self.loss}: {self.loss_before:.4g} → {self.loss_after:.4g}")
        dead = f"{100 * self.dead_before:.3g} % → {100 * self.dead_after:.3g} %"
        parts.append(f"dead units: {dead} of {self.units:,}")
        title = f"What if {self.model} had {self.replacement}, untrained: {'; '.join(parts)}"
        header = ("site", "now", "then", "units", "moves", "dead", "then", "flat", "then")
        rows = tuple(
            (
                site.name,
                site.before,
                site.after,
                f"{site.units:,}",
                *(
                    f"{100 * value:.3g}%"
                    for value in (site.moved, site.dead_before, site.dead_after,
                                  site.flat_before, site.flat_after)
                ),
            )
            for site in self.sites
        )  # fmt: skip
        return (Grid(title, header, rows),)

    def table(self) -> tuple[tuple[str, ...], list[tuple[Cell, ...]]]:
        """Return a row for each site."""
        header = ("name", "before", "after", "units", "moved", "dead_before", "dead_after",
                  "flat_before", "flat_after")  # fmt: skip
        return header, [tuple(getattr(site, name) for name in header) for site in self.sites]
