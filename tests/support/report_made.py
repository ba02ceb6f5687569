"""The page of `report_records` in a file, with a formula whose texts are hostile."""

from __future__ import annotations

import fcntl
from pathlib import Path
from typing import Any

import pytest
import report_records

import softgate as sg
from softgate.reporting import Results, render_page
from softgate.reporting.sections import build_sections

HOSTILE = "</script><script>window.hacked = 1</script>"


@sg.activation(formula=HOSTILE, paper=HOSTILE)
def wavy(f: Any, x: Any, a: float = 1.0) -> Any:
    return x + f.sin(a * x) ** 2


def made() -> str:
    """Return the page."""
    result = Results(report_records.records((wavy,)))
    return render_page(build_sections(result), "softgate report", HOSTILE)


def shared(factory: pytest.TempPathFactory, worker: str) -> Path:
    """Return the file of the page, made once for all processes of a test run."""
    base = factory.getbasetemp() if worker == "master" else factory.getbasetemp().parent
    file = base / "softgate-report.html"
    with (base / "softgate-report.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not file.exists():
            file.write_text(made(), encoding="utf-8")
    return file
