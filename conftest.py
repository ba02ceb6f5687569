"""Skip what needs a framework that is not installed, tests and doctests alike.

PyTorch, for one, has no CPU build for every Python: see `make test`. Skipped are modules that
cannot be imported without it, and tests in which a test, a doctest or a module of softgate for that
framework imports it. Where the rest of softgate imports a framework, the test fails.
"""

from __future__ import annotations

import re
from collections.abc import Generator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent
OPTIONAL = (
    "accelerate",
    "jax",
    "keras",
    "pytorch_lightning",
    "sklearn",
    "statsmodels",
    "tensorflow",
    "torch",
)
FOR_A_FRAMEWORK = re.compile(r"/(torch|keras|jax|tensorflow|comparison)(/|\.py|_)|/report/studies/")
"""The modules of softgate that may import a framework at their top."""


def missing(text: str) -> str | None:
    """Return the optional package whose import failed, None where it is installed or another."""
    match = re.search(r"No module named '(\w+)", text)
    name = match[1] if match else ""
    return name if name in OPTIONAL and find_spec(name) is None else None


def in_a_test(file: str) -> bool:
    """Tell whether a file is a test, a doctest or a module of softgate for a framework."""
    path = Path(file)
    if file.startswith("<doctest") or path.is_relative_to(ROOT / "tests"):
        return True
    package = ROOT / "src" / "softgate"
    return path.is_relative_to(package) and bool(
        FOR_A_FRAMEWORK.search(f"/{path.relative_to(package)}")
    )


def reason(name: str) -> str:
    """Return what is printed beside a skipped test."""
    return f"Skipped: {name} is not installed"


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Skip a module that cannot be imported."""
    report = yield
    name = missing(report.longreprtext) if report.failed else None
    if name is not None:
        report.outcome = "skipped"
        report.longrepr = (str(collector.path), 0, reason(name))
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[Any]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Skip a test whose import failed."""
    report = yield
    error = call.excinfo.value if call.excinfo is not None and report.failed else None
    while error is not None and not isinstance(error, ModuleNotFoundError):
        error = error.__cause__ or getattr(error, "exc_info", (None, None))[1]
    name = missing(str(error)) if error is not None else None
    if name is not None and error is not None and in_a_test(importing_file(error)):
        report.outcome = "skipped"
        report.longrepr = (str(item.path), item.reportinfo()[1] or 0, reason(name))
    return report


def importing_file(error: BaseException) -> str:
    """Return the file whose import statement raised."""
    trace, file = error.__traceback__, ""
    while trace is not None:
        name = trace.tb_frame.f_code.co_filename
        file = file if "importlib" in name else name
        trace = trace.tb_next
    return file
