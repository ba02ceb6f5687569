"""Write the README's table of systems, CPUs and Pythons from docs/support.toml.

    python tools/docs/support_table.py [--add "all tests"] [--note "emulated by QEMU"]

With --add, a run on this machine is added first: say what was run and passed.
"""

from __future__ import annotations

import argparse
import tomllib
from pathlib import Path

import readme_blocks

from softgate.runtime.machine import Machine, this_machine

FILE = Path(__file__).resolve().parents[2] / "docs" / "support.toml"
FIELDS = ("checked", "system", "cpu", "python")


def read(file: Path = FILE) -> list[dict[str, str]]:
    """Return the runs, each with the fields above."""
    runs: list[dict[str, str]] = tomllib.loads(file.read_text(encoding="utf-8"))["run"]
    for run in runs:
        if set(run) != set(FIELDS):
            raise ValueError(f"{file.name}: a run has {sorted(run)}: expected {sorted(FIELDS)}")
    return runs


def entry(checked: str, machine: Machine, note: str = "") -> str:
    """Return a run on `machine` as the file has it."""
    cpu = f"{machine.processor}, {note}" if note else machine.processor
    python = ".".join(machine.python.split(".")[:2])
    values = dict(zip(FIELDS, (checked, machine.system, cpu, python), strict=True))
    return "\n[[run]]\n" + "".join(f'{name} = "{value}"\n' for name, value in values.items())


def table(runs: list[dict[str, str]]) -> str:
    """Return Markdown: a row for each system and CPU, with what was run in which Pythons."""
    places: dict[tuple[str, str], dict[str, list[str]]] = {}
    for run in runs:
        checks = places.setdefault((run["system"], run["cpu"]), {})
        pythons = checks.setdefault(run["checked"], [])
        if run["python"] not in pythons:
            pythons.append(run["python"])
    lines = ["| system | CPU | what was run, in which Python |", "| --- | --- | --- |"]
    for (system, cpu), checks in places.items():
        cells = "; ".join(f"{checked}: {', '.join(result)}" for checked, result in checks.items())
        lines.append(f"| {system} | {cpu} | {cells} |")
    return "\n".join(lines)


def main() -> None:
    """Add a run where one is given, and write the README's block."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--add", metavar="CHECKED", help="what was run on this machine and passed")
    parser.add_argument("--note", default="", help="stands beside the CPU, as 'emulated by QEMU'")
    options = parser.parse_args()
    if options.add is not None:
        with FILE.open("a", encoding="utf-8") as file:
            file.write(entry(options.add, this_machine(), options.note))
    readme_blocks.replace("support", table(read()))


if __name__ == "__main__":
    main()
