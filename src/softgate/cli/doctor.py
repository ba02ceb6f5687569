"""`softgate doctor`: installed packages, the CPU, and a check against the published bits."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen, TimeoutExpired
from textwrap import wrap
from typing import Any, ClassVar

import click

from softgate.records.files import TABLES
from softgate.records.packages import PACKAGES, install_command
from softgate.records.record import Cell, Grid, Record

from .output import Format, echo, emit, formats, save, window_width

CORE = ("numpy", "llvmlite", "ml_dtypes", "python-flint", "click", "rich")
NAMED = ("timm",)
"""Another package whose names `softgate names` lists."""
PRIVATE = ("torch", "jax", "tensorflow")
"""The frameworks of which adapters use private names."""
EXAMINATION_S = 120
"""Seconds that the import of a framework and the checks of its private names may take."""


def optional() -> dict[str, str]:
    """Return the optional packages by the names that pip installs, with their imports."""
    return {package.distribution: name for name, package in PACKAGES.items()}


def machine() -> dict[str, Any]:
    """Return the CPU as detected by LLVM, its caches, and the threads in use."""
    from softgate.runtime.machine import this_machine

    here = this_machine()
    return {
        "system": here.system,
        "python": here.python,
        "cpu": here.architecture,
        "processor": here.processor,
        "features": list(here.features),
        "caches": dict(here.caches),
        "cores": here.cores,
        "threads": here.threads,
    }


@dataclass(frozen=True)
class Installation(Record):
    """What is installed here, and whether it computes the published bits."""

    schema: ClassVar[str] = "softgate.doctor"
    version: ClassVar[int] = 2

    softgate: str
    machine: Mapping[str, Any]
    packages: Mapping[str, str | None]
    reproducibility: Mapping[str, Any]
    findings: tuple[tuple[str, str], ...]
    """The text that is printed: what was examined, and the finding."""

    def table(self) -> tuple[tuple[str, ...], list[tuple[Cell, ...]]]:
        """Return one row for each finding."""
        return ("item", "finding"), list(self.findings)

    def grids(self) -> tuple[Grid, ...]:
        """Return the findings as one table."""
        return (Grid("", ("item", "finding"), self.findings, text=True),)


@click.command()
@click.option("--full", is_flag=True, help="Check every published digest: about half a minute.")
@click.option(
    "--frameworks",
    metavar="NAMES",
    default="",
    help="Check also the values and gradients of frameworks: some of "
    "torch,torch.compile,jax,tensorflow,keras, or all that are installed (without torch.compile).",
)
@formats(*TABLES)
def command(full: bool, frameworks: str, form: Format, output: tuple[Path, ...]) -> int:
    """Print what is installed on this machine, and check that it computes the published bits.

    By default digests of every function's value in float16, bfloat16, float32 and float64 and of
    its backward in float64 are compared with the published ones; with --full all digests. The
    gradients that a framework computes, in training, have the digests of backward: --frameworks.
    Exit code 1 if a kernel computes other bits.

    Each private name of PyTorch, JAX and TensorFlow that softgate uses to be fast is looked up; one
    that is missing or has changed costs speed, which a line says.

    \b
    softgate doctor
    softgate doctor --json
    softgate doctor --full -o doctor.html
    softgate doctor --frameworks torch,jax
    """
    from softgate import __version__
    from softgate.runtime.activation import without_compiled_calls
    from softgate.runtime.machine import installed
    from softgate.studies.reproducibility import check_bits

    examined = {name: _examination(name) for name in PRIVATE if installed(name)}
    reproduction = check_bits(full=full, frameworks=frameworks or ())
    here = machine()
    packages = {name: installed(name) for name in (*CORE, *optional(), *NAMED)}
    rows = [("softgate", __version__), *_of_machine(here), *_of_packages(packages)]
    rows += [row for name, process in examined.items() for row in _of_private(name, process)]
    if why := without_compiled_calls():
        rows.append(("internals", f"calls take about 0.5 µs longer than they could: {why}"))
    first, *rest = str(reproduction).splitlines()
    rows += [("bits", first), *(("", line) for line in rest)]
    record = Installation(
        softgate=__version__,
        machine=here,
        packages=packages,
        reproducibility=json.loads(reproduction.to_json()) | {"ok": reproduction.ok},
        findings=tuple(rows),
    )
    if form == "text":
        save(record, output)
        for line in aligned(rows, window_width()):
            echo(line)
    else:
        emit(record, form, output)
    return 0 if reproduction.ok else 1


def _examination(framework: str) -> Popen[str]:
    """Start a process that imports a framework and looks for the private names softgate uses."""
    code = (
        f"import sys; sys.path[:] = {sys.path!r}; from softgate.frameworks.capability import "
        f"report; report({framework!r})"
    )
    return Popen([sys.executable, "-c", code], stdin=DEVNULL, stdout=PIPE, stderr=PIPE, text=True)


def _of_private(framework: str, process: Popen[str]) -> Iterator[tuple[str, str]]:
    label = PACKAGES[framework].label
    try:
        output, errors = process.communicate(timeout=EXAMINATION_S)
        count, missing = json.loads(output.splitlines()[-1])
    except TimeoutExpired:
        process.kill()
        yield "internals", f"{label}: not examined, no answer in {EXAMINATION_S} seconds"
    except (IndexError, ValueError):
        line = (errors.strip().splitlines() or [f"exit code {process.returncode}"])[-1]
        yield "internals", f"{label}: not examined: {line}"
    else:
        if count:
            used = f"{count - len(missing)} of {count} capabilities in use"
            yield "internals", f"{label}: {used}, which need its private names"
        yield from (("", f"  {line}") for line in missing)


def _of_machine(here: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    from softgate.runtime.machine import in_bytes

    yield "python", here["python"]
    yield "system", here["system"]
    features = " ".join(here["features"]) or "no vector features known"
    yield "cpu", f"{here['processor']} ({here['cpu']}: {features})"
    if here["caches"]:
        sizes = (f"{name} {in_bytes(size)}" for name, size in here["caches"].items())
        yield "caches", ", ".join(sizes)
    yield "threads", f"{here['threads']} of {here['cores']} cores"


def _of_packages(packages: Mapping[str, str | None]) -> Iterator[tuple[str, str]]:
    for name, version in packages.items():
        missing = "not installed"
        if name in optional():
            missing += f": {install_command(optional()[name])}"
        yield name, version or missing


def aligned(rows: Iterable[tuple[str, str]], width: int | None) -> Iterator[str]:
    """Yield lines of names and texts in two columns, no line longer than `width` if possible.

    A line starts further to the right where it continues the text of the line above.
    """
    rows = list(rows)
    start = max(len(name) for name, _ in rows) + 2
    for name, text in rows:
        parts = [text]
        if width is not None:
            indent = " " * (len(text) - len(text.lstrip()))
            parts = wrap(
                text,
                max(width - start, 20),
                subsequent_indent=indent + "  ",
                break_long_words=False,
                break_on_hyphens=False,
            )
        for i, part in enumerate(parts):
            yield f"{'' if i else name:<{start}}{part}"
