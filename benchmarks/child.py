"""A process of its own for one thread setting: cells come in as JSON, rows go out as JSON lines.

The cores are set before any library starts, since some count them only then.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any, TextIO

from cells import Cell


def pin(threads: str) -> int:
    """Bind this process to one core, or leave it all it has; return how many there are now."""
    if not hasattr(os, "sched_setaffinity"):
        return 1 if threads == "1" else os.cpu_count() or 1
    cores = os.sched_getaffinity(0)
    if threads == "1":
        os.sched_setaffinity(0, {max(cores)})  # the first cores serve most interrupts
    return len(os.sched_getaffinity(0))


def about(cores: int) -> dict[str, Any]:
    """Return what the figures were measured with."""
    import importlib
    import platform
    from importlib import metadata

    versions: dict[str, str] = {"python": platform.python_version()}
    for name in ("softgate", "numpy", "llvmlite", "torch", "jax", "scipy"):
        try:
            importlib.import_module(name)
            versions[name] = metadata.version(name)
        except ImportError:
            versions[name] = "not installed"
    return {"versions": versions, "cores": cores}


def main() -> None:
    """Read the cells, time them one after the other, say each as soon as it is known."""
    job = json.load(sys.stdin)
    cores = pin(job["threads"])
    lines = _claim_stdout()
    _say(lines, {"about": about(cores)})

    import numpy as np
    import peers
    from timing import Effort, measure

    peers.set_threads(cores)
    effort = Effort(**job["effort"])
    with np.errstate(all="ignore"):
        for cell in job["cells"]:
            _say(lines, {"row": measure(Cell(**cell), job["seed"], effort).as_json()})


def _claim_stdout() -> TextIO:
    """Keep standard output for rows; what libraries print goes to standard error."""
    lines = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return lines


def _say(lines: TextIO, message: dict[str, Any]) -> None:
    print(json.dumps(message), file=lines, flush=True)


if __name__ == "__main__":
    main()
