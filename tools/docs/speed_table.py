"""Write the README's table of times from docs/speed.toml, which has a row for each CPU measured.

    python tools/docs/speed_table.py [--measure] [--budget SECONDS]

With --measure, the functions are timed on this machine first, and its row in the file is added or
replaced. Takes a minute and a half, on a machine that should do nothing else.
"""

from __future__ import annotations

import argparse
import datetime
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import readme_blocks

from softgate.runtime.machine import this_machine
from softgate.studies.bench.record import DISTURBED, OURS, Bench

FILE = Path(__file__).resolve().parents[2] / "docs" / "speed.toml"
FUNCTIONS = ("gelu", "gelu_tanh", "silu", "mish", "tanh")
DTYPES = ("float32", "bfloat16")
QUANTITIES = ("value", "backward")
HEAD = """\
# Times per element in ns, a table for each CPU: the value in softgate and in PyTorch, then the
# backward in softgate and in PyTorch. `python tools/docs/speed_table.py --measure` writes the table
# of this machine, and the README's from all of them. `background_load`, where it is known, is the
# share of the cores that other processes used.
"""


def measure(budget: float) -> dict[str, Any]:
    """Return the times of softgate and PyTorch on this machine, as the file has them."""
    machine: dict[str, Any] = {"cpu": this_machine().processor}
    machine["date"] = datetime.date.today().isoformat()
    machine["background_load"] = 0.0
    for dtype in DTYPES:
        command = ["bench", *FUNCTIONS, "--dtype", dtype, "--peers", "torch"]
        done = subprocess.run(
            [sys.executable, "-m", "softgate", *command, "--budget", str(budget), "--json"],
            stdout=subprocess.PIPE, check=True,
        )  # fmt: skip
        bench = Bench.from_json(done.stdout.decode())
        for warning in bench.warnings:
            print(f"Warning: {warning}", file=sys.stderr)
        used = {name: bench.machine.versions[name] for name in ("torch", "numpy", "llvmlite")}
        machine["versions"] = readme_blocks.versions(used)
        share = round(bench.background_load or 0.0, 2)
        machine["background_load"] = max(machine["background_load"], share)
        machine[dtype] = {name: times(bench, name) for name in FUNCTIONS}
    return machine


def times(bench: Bench, function: str) -> list[float]:
    """Return the value's times in softgate and PyTorch, then the backward's."""
    least = [
        bench.find(function, implementation, quantity=quantity).least_ns
        for quantity in QUANTITIES
        for implementation in (OURS, "torch")
    ]
    return [round(time_ns, 3) for time_ns in least if time_ns is not None]


def read(file: Path = FILE) -> list[dict[str, Any]]:
    """Return the machines of the file."""
    machines: list[dict[str, Any]] = tomllib.loads(file.read_text(encoding="utf-8"))["machine"]
    for machine in machines:
        for dtype in DTYPES:
            for name in FUNCTIONS:
                if len(machine[dtype][name]) != len(QUANTITIES) * 2:
                    raise ValueError(
                        f"{file.name}: {machine['cpu']}, {dtype}, {name} has the times "
                        f"{machine[dtype][name]}: expected softgate's and PyTorch's, of "
                        f"{' and '.join(QUANTITIES)}"
                    )
    return machines


def written(machines: list[dict[str, Any]]) -> str:
    """Return the text of the file."""
    lines = [HEAD]
    for machine in machines:
        lines.append("[[machine]]")
        lines += [f'{key} = "{machine[key]}"' for key in ("cpu", "date", "versions")]
        if "background_load" in machine:
            lines.append(f"background_load = {machine['background_load']}")
        for dtype in DTYPES:
            lines.append(f"[machine.{dtype}]")
            lines += [f"{name} = {machine[dtype][name]}" for name in FUNCTIONS]
        lines.append("")
    return "\n".join(lines)


def table(machines: list[dict[str, Any]]) -> str:
    """Return the README's block: value and backward together first, as in a training step."""
    rows = []
    for machine in machines:
        for dtype in DTYPES:
            for label, parts in (("value + backward", (0, 2)), ("value", (0,))):
                cells = []
                for name in FUNCTIONS:
                    ours, torch = (
                        sum(machine[dtype][name][part + other] for part in parts)
                        for other in (0, 1)
                    )
                    cells.append(f"{ours:.2f} / {torch:.2f}")
                rows.append((f"{machine['cpu']}, {dtype}, {label}", *cells))
    header = ("ns per element, softgate / torch", *FUNCTIONS)
    measured = ";\n".join(
        f"{it['cpu']}: {it['date']}, {it['versions']}{load(it)}" for it in machines
    )
    return f"""\
Arrays of 4 MiB, one thread, outputs reused, the least of many interleaved turns. Measured by
`python tools/docs/speed_table.py --measure`, which adds the CPU that it runs on.
{measured}.

{readme_blocks.table(header, rows)}

PyTorch's backward of tanh takes the output and computes no exponential; softgate's takes x.
[docs/speed.md](docs/speed.md) has other functions, dtypes, sizes and libraries, on one CPU."""


def load(machine: dict[str, Any]) -> str:
    """Return what other processes used while a CPU was measured, if that disturbed the times."""
    share = machine.get("background_load", 0.0)
    return f", while other processes used {share:.0%} of the cores" if share > DISTURBED else ""


def main() -> None:
    """Write the README's block, with --measure after timing this machine."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--measure", action="store_true", help="time this machine first")
    parser.add_argument("--budget", type=float, default=40.0, help="seconds for each dtype")
    options = parser.parse_args()
    machines = read()
    if options.measure:
        here = measure(options.budget)
        others = [it for it in machines if it["cpu"] != here["cpu"]]
        machines = [*others, here]
        FILE.write_text(written(machines), encoding="utf-8")
    readme_blocks.replace("speed", table(machines))


if __name__ == "__main__":
    main()
