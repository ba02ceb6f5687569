"""`softgate doctor`: installed packages, the CPU, and a check against the published bits."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import click

from softgate.runtime.files import write_file
from softgate.runtime.packages import PACKAGES, install_command

from .output import checked_files, echo, echo_json, output_option, window_width

if TYPE_CHECKING:
    from softgate.studies.reproducibility import Reproduction
    from softgate.studies.selftest import SelfTestResult

CORE = ("numpy", "llvmlite", "ml_dtypes", "mpmath", "click", "rich")
NAMED = ("timm",)
"""Another package whose names `softgate names` lists."""


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


def kernel_checks() -> list[SelfTestResult]:
    """Return the self-test of gelu's kernel for each dtype."""
    import ml_dtypes
    import numpy as np

    from softgate.runtime.registry import activations
    from softgate.studies.selftest import run_selftest

    kinds = (np.float32, np.float64, np.float16, ml_dtypes.bfloat16)
    return [run_selftest(activations()["gelu"], np.dtype(kind)) for kind in kinds]


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
@output_option("json")
@click.option("--full", is_flag=True, help="Check every published digest: about half a minute.")
def command(as_json: bool, full: bool, output: tuple[str, ...]) -> int:
    """Print what is installed on this machine, and check that it computes the published bits.

    By default digests of every function's float32 value and float64 backward are compared with the
    published ones; with --full all digests. Exit code 1 if a kernel does not compile, misses its
    bound or computes other bits.
    """
    from softgate import __version__
    from softgate.runtime.machine import installed
    from softgate.studies.reproducibility import check_bits

    files = checked_files(output, ["json"])
    checks, reproduction = kernel_checks(), check_bits(full=full)
    report: dict[str, Any] = {
        "softgate": __version__,
        "machine": machine(),
        "packages": {name: installed(name) for name in (*CORE, *optional(), *NAMED)},
        "kernels": [asdict(check) | {"ok": check.ok} for check in checks],
        "reproducibility": json.loads(reproduction.to_json()) | {"ok": reproduction.ok},
    }
    for file in files:
        write_file(file, json.dumps(report, indent=2) + "\n")
        echo(f"Wrote {file}", err=True)
    if as_json:
        echo_json(report)
    else:
        show(report, checks, reproduction)
    return 0 if reproduction.ok and all(check.ok for check in checks) else 1


def show(report: dict[str, Any], checks: list[SelfTestResult], reproduction: Reproduction) -> None:
    """Print the findings, one line each; in a terminal, lines are wrapped to its width."""
    rows: list[tuple[str, str]] = [("softgate", report["softgate"])]
    here = report["machine"]
    rows += [("python", here["python"]), ("system", here["system"])]
    features = " ".join(here["features"]) or "no vector features known"
    rows += [("cpu", f"{here['processor']} ({here['cpu']}: {features})")]
    if here["caches"]:
        from softgate.runtime.machine import in_bytes

        held = (f"{name} {in_bytes(size)}" for name, size in here["caches"].items())
        rows += [("caches", ", ".join(held))]
    rows += [("threads", f"{here['threads']} of {here['cores']} cores")]
    for name, version in report["packages"].items():
        missing = "not installed"
        if name in optional():
            missing += f": {install_command(optional()[name])}"
        rows.append((name, version or missing))
    rows += [(f"kernel {check.dtype}", str(check)) for check in checks]
    first, *rest = str(reproduction).splitlines()
    rows += [("bits", first), *(("", line) for line in rest)]
    for line in aligned(rows, window_width()):
        echo(line)


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
