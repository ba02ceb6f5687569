"""Attack softgate for some time, and print the number of cases and failures of each attack.

    python tools/fuzz [--seconds 300] [--only arrays,npz] [--seed 1] [--write]

Each attack runs in processes of its own, so that a crash or a hang is a failure that is counted. A
failure is printed with the command that repeats it. With --write, docs/security.md has the table.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "security.md"
BLOCK = re.compile(r"(<!-- fuzz -->\n).*?(<!-- end of fuzz -->)", re.DOTALL)
SILENT_S = 300.0
"""Seconds after which a process without a finished case counts as hung."""
MORE_S = 30.0
"""Seconds of a process that continues an attack with too few cases."""
MOST_SHOWN = 5
sys.path[:0] = [str(Path(__file__).parent), str(ROOT / "tests" / "support")]

Case = Callable[[Random], int]
SHARES = {
    "arrays": 6, "tensors": 4, "guard pages": 4, "formulas": 2, "csv": 2, "killed comparisons": 3,
}  # fmt: skip
"""Parts of the time; other attacks have one."""
LEAST = {"scanned models": 100_000}
"""The least cases of an attack in a run of all of them, whatever time they take."""


def attacks() -> dict[str, Case]:
    """Return every attack by its name; each runs some cases and returns their number."""
    import arrays
    import files
    import interrupts
    import texts

    return {
        "arrays": arrays.attack_arrays,
        "guard pages": arrays.attack_guard_pages,
        "tensors": arrays.attack_tensors,
        "first calls in threads": arrays.attack_threads,
        "texts": texts.attack_grammar,
        "formulas": texts.attack_formulas,
        "options": texts.attack_options,
        "environment": texts.attack_environment,
        "records": files.attack_records,
        "saved trials and states": files.attack_saved_trials,
        "npz": files.npz,
        "safetensors": files.safetensors,
        "csv": files.tables,
        "idx": files.images,
        "onnx": files.onnx,
        "scanned models": files.attack_scanned_models,
        "swapped models": files.attack_swapped_models,
        "random models": files.attack_random_models,
        "random torch models": files.attack_random_torch_models,
        "random keras models": files.attack_random_keras_models,
        "keras": files.attack_keras,
        "interrupted compilation": interrupts.attack_compilation,
        "interrupted threads": interrupts.attack_threaded_calls,
        "interrupted sweeps": interrupts.attack_sweeps,
        "interrupted commands": interrupts.attack_commands,
        "killed comparisons": interrupts.attack_compare,
    }


@dataclass
class Result:
    """What an attack found."""

    name: str
    cases: int = 0
    seconds: float = 0.0
    failures: list[str] = field(default_factory=list)


def run(name: str, seed: int, seconds: float, least: int = 0) -> Result:
    """Run an attack in new processes until the time is over; a process that dies is replaced.

    It is continued until there are at least as many cases as stated.
    """
    result, first = Result(name), 0
    end = time.monotonic() + seconds
    while len(result.failures) < 100:
        left = end - time.monotonic()
        if left <= 0 and result.cases < least:
            left = MORE_S
        if left <= 0:
            break
        start = time.monotonic()
        process = subprocess.Popen(
            [sys.executable, __file__, "--child", name, "--seed", str(seed), "--first", str(first),
             "--seconds", str(left)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        try:
            out, err = process.communicate(timeout=left + SILENT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            err = "it hung"
        lines = [json.loads(line) for line in out.splitlines() if line.startswith("{")]
        done = [line for line in lines if "cases" in line]
        begun = [line["begin"] for line in lines if "begin" in line]
        result.cases += sum(line["cases"] for line in done)
        result.failures += [line["failure"] for line in done if line["failure"]]
        if process.returncode != 0:
            last = begun[-1] if begun else first
            tail = err.strip().splitlines()[-1:] or [""]
            result.failures.append(f"case {last}: exit code {process.returncode}: {tail[0][:300]}")
        first = (begun[-1] if begun else first) + 1
        result.seconds += time.monotonic() - start
    return result


def child(name: str, seed: int, first: int, seconds: float) -> None:
    """Run the cases of one attack from number `first` on; print a line before and after each."""
    case = attacks()[name]
    end, number = time.monotonic() + seconds, first
    while time.monotonic() < end:
        print(json.dumps({"begin": number}), flush=True)
        count, failure = 1, ""
        try:
            count = case(Random(f"{name} {seed} {number}"))
        except BaseException as error:  # an interrupt that escaped is a failure too
            place = traceback.extract_tb(error.__traceback__)[-1]
            text = " ".join(str(error).split())[:300]
            failure = (
                f"case {number}: {type(error).__name__}: {text} "
                f"({Path(place.filename).name}, line {place.lineno})"
            )
        print(json.dumps({"cases": count, "failure": failure}), flush=True)
        number += 1


def table(results: list[Result]) -> str:
    """Return the results as Markdown, with the machine and the packages."""
    from softgate.runtime.machine import this_machine

    machine = this_machine()
    versions = ", ".join(
        f"{name} {machine.versions[name]}"
        for name in ("numpy", "llvmlite", "torch", "onnxruntime", "keras")
        if machine.versions.get(name)
    )
    rows = [f"| {r.name} | {r.cases:,} | {len(r.failures)} |" for r in results]
    total = sum(r.cases for r in results), sum(len(r.failures) for r in results)
    seconds = sum(r.seconds for r in results)
    return "\n".join([
        f"`make fuzz` on {machine.processor}, {machine.system}, Python {machine.python}, "
        f"{versions}: {seconds:,.0f} s.",
        "",
        "| attack | cases | failures |",
        "| --- | ---: | ---: |",
        *rows,
        f"| all | {total[0]:,} | {total[1]} |",
    ])  # fmt: skip


def main() -> int:
    """Run the chosen attacks, print the table, and return 1 if there was a failure."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=300.0, help="for all attacks together")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="names of attacks, separated by commas")
    parser.add_argument("--write", action="store_true", help="write the table to docs/security.md")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--first", type=int, default=0, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(options.child, options.seed, options.first, options.seconds)
        return 0
    known = attacks()
    chosen = [name.strip() for name in options.only.split(",") if name.strip()] or list(known)
    for name in chosen:
        if name not in known:
            parser.error(f"--only {name}: choose from {', '.join(known)}")
    results: list[Any] = []
    for name in chosen:
        part = SHARES.get(name, 1) / sum(SHARES.get(other, 1) for other in chosen)
        least = 0 if options.only else LEAST.get(name, 0)
        result = run(name, options.seed, part * options.seconds, least)
        results.append(result)
        print(f"{name}: {result.cases:,} cases, {len(result.failures)} failures", flush=True)
        for failure in result.failures[:MOST_SHOWN]:
            again = f"python tools/fuzz --child {name!r} --seed {options.seed} --seconds 1 --first"
            print(f"  {failure}\n    {again} {failure.split()[1].rstrip(':')}", flush=True)
    text = table(results)
    print(f"\n{text}")
    if options.write:
        page = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(BLOCK.sub(rf"\g<1>{text}\n\g<2>", page), encoding="utf-8")
    return 1 if any(result.failures for result in results) else 0


if __name__ == "__main__":
    sys.exit(main())
