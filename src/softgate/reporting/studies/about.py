"""How the report came about: the machine, the versions, the command, and what each study took."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from softgate.runtime.machine import Machine, in_bytes
from softgate.runtime.records import Cell, Grid, Record


@dataclass(frozen=True)
class About(Record):
    """What the report was made on and with; `seconds` has the time of each study."""

    schema: ClassVar[str] = "softgate.report.about"

    machine: Machine
    softgate: str
    """Its version."""
    command: str
    when: str
    seconds: Mapping[str, float] = field(default_factory=dict, hash=False)

    def lines(self) -> list[tuple[str, str]]:
        """Return names and values."""
        here = self.machine
        memory = "unknown" if here.memory_bytes is None else in_bytes(here.memory_bytes)
        caches = ", ".join(f"{name} {in_bytes(size)}" for name, size in here.caches.items())
        return [
            ("softgate", self.softgate),
            ("processor", here.processor),
            ("vector features", ", ".join(here.features) or "none known"),
            ("cores, threads used", f"{here.cores}, {here.threads}"),
            ("caches", caches or "unknown"),
            ("memory", memory),
            ("system", here.system),
            ("Python", here.python),
            *here.versions.items(),
            ("made", self.when),
        ]

    def grids(self) -> tuple[Grid, ...]:
        """Return a line for each thing."""
        return (Grid("", ("", ""), tuple(self.lines()), text=True),)

    def table(self) -> tuple[tuple[str, ...], list[tuple[Cell, ...]]]:
        """Return the same."""
        return ("name", "value"), [(name, value) for name, value in self.lines()]
