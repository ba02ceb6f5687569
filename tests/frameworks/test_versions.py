"""A framework that is missing or too old is said when its adapter is imported, with what helps."""

from __future__ import annotations

import subprocess
import sys
import tomllib

import pytest
from places import ROOT

from softgate.frameworks.versions import FRAMEWORKS, check, missing

HERE = ("torch", "jax")
"""Those whose facades are tested here."""


def imported(facade: str, before: str) -> str:
    """Import a facade in a process of its own, after some code; return the error's last line."""
    result = subprocess.run(
        [sys.executable, "-c", f"{before}\nimport softgate.{facade}"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert result.returncode == 1, result.stderr
    return result.stderr.strip().splitlines()[-1]


@pytest.mark.parametrize("package", HERE)
def test_a_missing_framework(package: str) -> None:
    message = imported(package, f"import sys; sys.modules[{package!r}] = None")
    name = FRAMEWORKS[package].label
    assert (
        message
        == f'ImportError: softgate.{package} needs {name}: pip install "softgate[{package}]"'
    )


@pytest.mark.parametrize("package", HERE)
def test_one_too_old(package: str) -> None:
    old = f"import sys, types; old = types.ModuleType({package!r}); old.__version__ = '0.4.30'"
    message = imported(package, f"{old}; sys.modules[{package!r}] = old")
    assert message.startswith("ImportError: softgate needs ")
    assert "0.4.30 is installed" in message
    assert f'pip install --upgrade "softgate[{package}]"' in message


def test_what_a_framework_itself_lacks_is_not_hidden() -> None:
    error = ModuleNotFoundError("No module named 'jaxlib'", name="jaxlib")
    assert missing("jax", error) is error


@pytest.mark.parametrize("package", FRAMEWORKS)
def test_versions(package: str) -> None:
    first, second = FRAMEWORKS[package].oldest
    for version in (f"{first}.{second}", f"{first}.{second}.0rc1", f"{first + 1}.0", "unknown"):
        check(package, version)
    too_old = f"{first}.{second - 1}.9" if second else f"{first - 1}.9"
    with pytest.raises(ImportError, match=r"or newer, and .* is installed: pip install --upgrade"):
        check(package, too_old)


def test_the_extras_ask_for_the_same_versions() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    for package, framework in FRAMEWORKS.items():
        if framework.install == f"softgate[{package}]":
            oldest = ".".join(map(str, framework.oldest))
            assert extras[package][0].partition(";")[0] == f"{package}>={oldest}"
