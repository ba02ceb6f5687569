"""Run the commands and scripts of benchmarks/speed.toml: docs/speed.md and two pictures.

    python tools/docs/speed_page.py [--check] [--records FOLDER] [-o FILE]

The page is what they print: commands are run with --json, and their records shown as Markdown;
scripts are shown as they print. Takes some fifteen minutes, on a machine that should do nothing
else. `--check` runs everything with next to no rounds and peers, and writes nothing. With
`--records` the records are kept in a folder, and what is there already is not measured again: after
an interrupt, or to change the page alone.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import subprocess
import sys
import tempfile
import tomllib
from dataclasses import dataclass
from pathlib import Path

from softgate.records.record import Grid
from softgate.runtime.machine import Machine, this_machine
from softgate.studies.bench.interleave import SystemLoad
from softgate.studies.bench.layer_record import Layer
from softgate.studies.bench.pareto_record import Pareto
from softgate.studies.bench.plots import pareto_chart, time_chart
from softgate.studies.bench.record import Bench

ROOT = Path(__file__).resolve().parents[2]
DEFINITIONS = ROOT / "benchmarks" / "speed.toml"
PAGE = ROOT / "docs" / "speed.md"

Timed = Bench | Layer | Pareto
KINDS: dict[str, type[Timed]] = {kind.schema: kind for kind in (Bench, Layer, Pareto)}

QUICK = "--budget 0.2 "
CHECKS = {
    "--layer": QUICK + "--d-model 16 --d-hidden 64 --tokens 8",
    "--pareto": QUICK + "--peers none --size 4096 --samples 2000",
    "": QUICK + "--peers none --size 4096",
}
"""What is added to a command to run in a second or two: of two options the last counts."""


EXPLAINED = ("note", "x copy", "x relu", "~")
"""Legends of single tables that the page states once, in its introduction."""


@dataclass(frozen=True)
class Section:
    """One command of the page, as the definitions have it."""

    title: str
    command: str
    text: str = ""
    figure: tuple[str, ...] = ()

    def arguments(self, folder: Path, check: bool) -> list[str]:
        """Return the command's arguments, its picture in `folder`."""
        picture = folder / picture_name(self.command)
        command = self.command.replace("{pareto}", shlex.quote(str(picture)))
        if check:
            command += " " + next(more for name, more in CHECKS.items() if name in self.command)
        return [*shlex.split(command), "--json"]

    @property
    def file(self) -> str:
        """The name of the section's record in a folder of records."""
        return f"{self.title.replace(' ', '-')}.json"

    @property
    def shown(self) -> str:
        """The command as a reader types it."""
        return "softgate " + self.command.replace("{pareto}", picture_name(self.command))


@dataclass(frozen=True)
class Script:
    """One script of the page: what it prints is shown as it is."""

    title: str
    command: str
    quick: str
    text: str = ""

    @property
    def file(self) -> str:
        """The name of the printed text in a folder of records."""
        return f"{self.title.replace(' ', '-')}.txt"


def picture_name(command: str) -> str:
    """Return the file of a section's picture."""
    return "speed-pareto.svg" if "{pareto}" in command else "speed.svg"


def definitions() -> tuple[str, list[Section], list[Script]]:
    """Return the introduction, the sections and the scripts."""
    content = tomllib.loads(DEFINITIONS.read_text(encoding="utf-8"))
    sections = [
        Section(**{**it, "figure": tuple(it.get("figure", ()))}) for it in content["section"]
    ]
    return content["introduction"].strip(), sections, [Script(**it) for it in content["script"]]


def run(section: Section, folder: Path, check: bool, records: Path | None = None) -> Timed:
    """Run a section's command, unless it was run before, and return its record."""
    arguments = section.arguments(folder, check)
    saved = None if records is None else records / section.file
    if saved is not None and saved.exists():
        return read(saved.read_text(encoding="utf-8"))
    print("softgate " + shlex.join(arguments), file=sys.stderr)
    done = subprocess.run(
        [sys.executable, "-m", "softgate", *arguments], stdout=subprocess.PIPE, check=True
    )
    text = done.stdout.decode()
    if saved is not None:
        saved.parent.mkdir(parents=True, exist_ok=True)
        saved.write_text(text, encoding="utf-8")
    return read(text)


def script_text(script: Script, check: bool, records: Path | None = None) -> str:
    """Run a script, unless it was run before, and return its section of the page."""
    saved = None if records is None else records / script.file
    if saved is not None and saved.exists():
        printed = saved.read_text(encoding="utf-8")
    else:
        printed = run_script(script, check)
        if saved is not None:
            saved.parent.mkdir(parents=True, exist_ok=True)
            saved.write_text(printed, encoding="utf-8")
    parts = [f"## {script.title}", script.text.strip(), f"```\npython {script.command}\n```",
             f"```text\n{printed}```"]  # fmt: skip
    return "\n\n".join(part for part in parts if part)


def run_script(script: Script, check: bool) -> str:
    """Return what a script prints, below the CPU and the CPU use of other processes."""
    command = f"{script.command} {script.quick}" if check else script.command
    print("python " + command, file=sys.stderr)
    load = SystemLoad(lambda: sum(os.times()[:4]))
    done = subprocess.run(
        [sys.executable, *shlex.split(command)], stdout=subprocess.PIPE, check=True, cwd=ROOT
    )
    others = load.share()
    head = this_machine().processor
    if others is not None:
        head += f"; other processes used {others:.0%} of the cores"
    lines = [line.rstrip() for line in done.stdout.decode().splitlines()]
    return "\n".join([head, *lines]) + "\n"


def read(text: str) -> Timed:
    """Return the record that a command printed."""
    return KINDS[json.loads(text)["schema"]].from_json(text)


def markdown(grid: Grid) -> str:
    """Return a grid as Markdown: words as a list, numbers as a table."""
    if grid.text:
        return _words(grid)
    lines = [f"**{_cell(grid.title)}**", ""] if grid.title else []
    lines.append("| " + " | ".join(_cell(cell) or " " for cell in grid.header) + " |")
    rule = ["---" if i < grid.labels else "---:" for i in range(len(grid.header))]
    lines.append("| " + " | ".join(rule) + " |")
    lines += ["| " + " | ".join(map(_cell, row)) + " |" for row in grid.rows]
    return "\n".join(lines)


def _words(grid: Grid) -> str:
    head = [] if grid.header[0] in EXPLAINED else [f"**{_cell(grid.header[0])}**", ""]
    rows = [row for row in grid.rows if row[0] not in EXPLAINED]
    return "\n".join([*head, *("- " + ": ".join(map(_cell, row)) for row in rows)])


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("~", "\\~")


def machine_lines(machine: Machine) -> str:
    """Return what the figures come from."""
    versions = ", ".join(f"{name} {version}" for name, version in sorted(machine.versions.items()))
    return f"Machine: {machine}.\n\nVersions: {versions}."


def section_text(section: Section, record: Timed, folder: Path) -> str:
    """Return a section of the page, its picture drawn."""
    parts = [f"## {section.title}"]
    if section.text:
        parts.append(section.text.strip())
    parts.append(f"```\n{section.shown}\n```")
    picture = folder / picture_name(section.command)
    if section.figure:
        assert isinstance(record, Bench)
        chart = time_chart(record, section.figure)
        chart.save(picture)
        parts.append(f"![{chart.alternative}]({picture.name})")
    elif isinstance(record, Pareto):
        pareto_chart(record).save(picture)
        parts.append(f"![{record.alternative()}]({picture.name})")
    parts += [markdown(grid) for grid in record.grids() if not is_machine(grid)]
    return "\n\n".join(parts)


def is_machine(grid: Grid) -> bool:
    """Tell whether a grid names the machine, which the page does once, at its head."""
    return grid.text and grid.header[:1] == ("machine",)


def write(page: Path, check: bool, records: Path | None) -> None:
    """Run everything and write the page beside its pictures."""
    introduction, sections, scripts = definitions()
    texts: list[str] = []
    machines: dict[str, str] = {}
    for section in sections:
        record = run(section, page.parent, check, records)
        machines[record.machine.processor] = machine_lines(record.machine)
        texts.append(section_text(section, record, page.parent))
        for warning in record.warnings:
            print(f"  Warning: {warning}", file=sys.stderr)
    texts += [script_text(script, check, records) for script in scripts]
    purpose, _, rest = introduction.partition("\n\n")
    head = ["# Speed", purpose, *machines.values(), rest]
    page.write_text("\n\n".join([*head, *texts]) + "\n", encoding="utf-8")
    print(f"Wrote {page}", file=sys.stderr)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("-o", "--output", type=Path, default=PAGE)
    parser.add_argument("--check", action="store_true", help="few rounds, and nothing is written")
    parser.add_argument("--records", type=Path, metavar="FOLDER", help="keep records there")
    options = parser.parse_args()
    if not options.check:
        write(options.output, False, options.records)
        return
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "speed.md"
        write(page, True, None)
        print(page.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
