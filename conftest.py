"""Skip what needs a framework that is not installed, tests and doctests alike.

PyTorch, for one, has no CPU build for every Python: see `make test`. Skipped are modules that
cannot be imported without it, and tests that fail because softgate names the extra to install or
because a test, or a module of softgate for that framework, imports it. Where any other module of
softgate needs a framework, the test fails.
"""

from __future__ import annotations

import os
import re
from collections.abc import Generator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent
PACKAGE = ROOT / "src" / "softgate"
EXTRAS = {
    "compare": "torch",
    "jax": "jax",
    "keras": "keras",
    "tensorflow": "tensorflow",
    "torch": "torch",
}
"""The extras that softgate asks to install, and what they bring."""
PACKAGES = {*EXTRAS.values(), "accelerate", "pytorch_lightning", "sklearn", "statsmodels"}
FOR_A_FRAMEWORK = re.compile(
    r"(^|/)(torch|keras|jax|tensorflow)(?![a-z])"
    r"|^(lower/inductor|studies/(compare|diagnose|models|swap|bench/layer_modules)|reporting/sections)\b"
)
"""The modules of softgate that may import a framework."""
IMPORTED = re.compile(
    r'File "([^"]+)", line [^\n]*\n(?:(?!.*File ")[^\n]*\n){0,2}?'
    r"E? *ModuleNotFoundError: No module named '(\w+)"
)
"""The end of a traceback: the file that imports, and what."""
COLLECTED = re.compile(
    r"^(\S+\.py):\d+: in [^\n]*\n(?:(?!\S+\.py:\d+: in )[^\n]*\n)*?"
    r"E +ModuleNotFoundError: No module named '(\w+)",
    re.MULTILINE,
)
"""The same where pytest could not import a test module."""


# Doctests import Keras. TensorFlow, its default, is imported by no other test in this process.
os.environ.setdefault("KERAS_BACKEND", "jax")


def missing(package: str) -> bool:
    """Tell whether a package that tests can do without is not installed."""
    return package in PACKAGES and find_spec(package) is None


def needed(error: BaseException | None, text: str) -> str | None:
    """Return the missing package that a failure is about, from its exception and its message."""
    for extra in re.findall(r'pip install "softgate\[(\w+)\]"', text):
        if missing(EXTRAS.get(extra, "")):
            return EXTRAS[extra]
    if isinstance(error, ModuleNotFoundError) and missing(error.name or ""):
        return error.name if may_import(importing_file(error)) else None
    for package in re.findall(
        r"(?:cannot be imported: No|there is no) module (?:named )?'(\w+)'", text
    ):
        if missing(package):  # what a test certifies or compares
            return str(package)
    for file, package in IMPORTED.findall(text):  # in a process that a test started
        if missing(package) and may_import(file):
            return str(package)
    return None


def may_import(file: str) -> bool:
    """Tell whether a file is a test or tool, code in a string, or a module for a framework."""
    path = Path(file)
    if file.startswith("<") or any(path.is_relative_to(ROOT / f) for f in ("tests", "tools")):
        return True
    inside = path.is_relative_to(PACKAGE)
    return inside and FOR_A_FRAMEWORK.search(path.relative_to(PACKAGE).as_posix()) is not None


def importing_file(error: BaseException) -> str:
    """Return the file whose import statement raised."""
    trace, file = error.__traceback__, ""
    while trace is not None:
        name = trace.tb_frame.f_code.co_filename
        file = file if "importlib" in name else name
        trace = trace.tb_next
    return file


def skip(report: Any, place: Path, line: int, package: str) -> None:
    """Turn a failure into a skip with its reason."""
    report.outcome = "skipped"
    report.longrepr = (str(place), line, f"Skipped: {package} is not installed")


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Skip a module that cannot be imported."""
    report = yield
    match = COLLECTED.search(report.longreprtext) if report.failed else None
    if match and missing(match[2]) and may_import(str(ROOT / match[1])):
        skip(report, collector.path, 0, match[2])
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[Any]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Skip a test that needs what is missing."""
    report = yield
    if report.failed and call.excinfo is not None:
        error = call.excinfo.value
        error = getattr(error, "exc_info", (None, error))[1]  # a doctest wraps it
        package = needed(error, str(error))
        if package is not None:
            skip(report, item.path, item.reportinfo()[1] or 0, package)
    return report
