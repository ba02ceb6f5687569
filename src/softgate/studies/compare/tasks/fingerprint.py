"""A hash of all that decides how trials of a task end and that their settings do not say.

Code counts as it stands, not by its version alone: who changes a kernel or a model between two runs
gets new trials. What only shows or stores results does not count.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PACKAGE = Path(__file__).parents[3]
FOLDERS = (
    "formula", "blocks", "catalogue", "lower", "runtime", "frameworks/torch", "torch",
    "studies/diagnose", "studies/properties",
)  # fmt: skip
"""Packages whose code takes part in a trial."""
COMPARE = (
    "data", "functions", "initialization", "goals", "matching", "models", "training", "tasks/*",
)  # fmt: skip
"""Modules of `studies.compare` that take part in a trial."""
DISTRIBUTIONS = {"sklearn": "scikit-learn"}


@cache
def code() -> str:
    """Return a hash of the source that computes."""
    files = list((PACKAGE / "frameworks").glob("*.py"))
    for folder in FOLDERS:
        files += (PACKAGE / folder).rglob("*.py")
    for name in COMPARE:
        files += (PACKAGE / "studies" / "compare").glob(f"{name}.py")
    found = hashlib.sha256()
    for file in sorted(set(files)):
        found.update(str(file.relative_to(PACKAGE)).encode())
        found.update(hashlib.sha256(file.read_bytes()).digest())
    return found.hexdigest()


def fingerprint(packages: Iterable[str], *sources: bytes) -> str:
    """Return a hash of the code, of packages by their versions, and of what data is made of."""
    found = hashlib.sha256(code().encode())
    for package in sorted({"numpy", "torch", *packages}):
        found.update(f"{package} {_version(package)}\n".encode())
    for source in sources:
        found.update(hashlib.sha256(source).digest())
    return found.hexdigest()[:32]


def _version(package: str) -> str:
    try:
        return version(DISTRIBUTIONS.get(package, package))
    except PackageNotFoundError:
        return "none"
