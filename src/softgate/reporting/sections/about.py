"""About: the machine, the versions, the command, and the time of each study."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from softgate.records.record import Cell, Grid, Record
from softgate.runtime.machine import Machine, in_bytes

from ..elements import Results, Section, shown, table


@dataclass(frozen=True)
class About(Record):
    """The machine, versions and command of a report; `seconds` has the time of each study."""

    schema: ClassVar[str] = "softgate.report.about"

    machine: Machine
    softgate: str
    """The version of softgate."""
    command: str
    when: str
    seconds: Mapping[str, float] = field(default_factory=dict, hash=False)
    model: str = ""
    """The name of the user's model, if one was passed."""

    def lines(self) -> list[tuple[str, str]]:
        """Return names and values, for the table."""
        machine = self.machine
        memory = "unknown" if machine.memory_bytes is None else in_bytes(machine.memory_bytes)
        caches = ", ".join(f"{name} {in_bytes(size)}" for name, size in machine.caches.items())
        return [
            ("softgate", self.softgate),
            ("processor", machine.processor),
            ("vector features", ", ".join(machine.features) or "none detected"),
            ("cores, threads used", f"{machine.cores}, {machine.threads}"),
            ("caches", caches or "unknown"),
            ("memory", memory),
            ("system", machine.system),
            ("Python", machine.python),
            *machine.versions.items(),
            ("created", self.when),
        ]

    def grids(self) -> tuple[Grid, ...]:
        """Return a row for each name."""
        return (Grid("", ("", ""), tuple(self.lines()), text=True),)

    def table(self) -> tuple[tuple[str, ...], list[tuple[Cell, ...]]]:
        """Return the names and values as rows."""
        return ("name", "value"), [(name, value) for name, value in self.lines()]


TITLE = "About"


def section(results: Results) -> Section:
    """Return the machine, the versions, the command and the time of each study."""
    record = results.take("about", About)
    times = [(name, f"{seconds:.1f} s") for name, seconds in record.seconds.items()]
    total = sum(record.seconds.values())
    body = (
        "<p>Every number on this page was computed on this machine by the studies below. To make "
        "the page again:</p>"
        f'<pre tabindex="0" role="region" aria-label="Command"><code>{shown(record.command)}'
        "</code></pre>"
        + table("Machine and versions", ("name", "value"), record.lines(), kind="words")
        + (
            table(f"Time of the studies, {total:.0f} s in total", ("study", "time"), times)
            if times
            else ""
        )
        + "<p class='note'>Charts are drawn by Vega (BSD 3-clause), which this file includes. The "
        "page makes no network requests.</p>"
    )
    return Section("about", TITLE, body)
