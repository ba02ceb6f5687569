"""An optional package that is missing or too old: the message names the extra that has it."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from places import ROOT

import softgate as sg
from softgate.records.packages import FRAMEWORKS, PACKAGES, check, explained, missing, require

HERE = ("torch", "jax")
"""Those whose facades are tested here."""


def imported(facade: str, before: str) -> str:
    """Import a facade in a process of its own, after some code; return the error's last line."""
    result = subprocess.run(
        [sys.executable, "-c", f"{before}\nimport softgate.{facade}"],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert result.returncode == 1, result.stderr
    return result.stderr.strip().splitlines()[-1]


@pytest.mark.parametrize("package", HERE)
def test_a_missing_framework(package: str) -> None:
    said = imported(package, f"import sys; sys.modules[{package!r}] = None")
    name = FRAMEWORKS[package].label
    assert (
        said == f'ImportError: softgate.{package} needs {name}: pip install "softgate[{package}]"'
    )


@pytest.mark.parametrize("package", HERE)
def test_one_too_old(package: str) -> None:
    old = f"import sys, types; old = types.ModuleType({package!r}); old.__version__ = '0.4.30'"
    said = imported(package, f"{old}; sys.modules[{package!r}] = old")
    assert said.startswith("ImportError: softgate needs ")
    assert "0.4.30 is installed" in said
    assert f'pip install --upgrade "softgate[{package}]"' in said


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


def test_the_packages_are_those_of_the_extras() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = {
        extra: {re.split("[><;]", requirement)[0]: requirement for requirement in requirements}
        for extra, requirements in project["optional-dependencies"].items()
        if extra not in ("all", "docs", "test", "test-core")
    }
    named = {name for requirements in extras.values() for name in requirements}
    known = {p.distribution: p for p in PACKAGES.values() if p.extra is not None}
    assert {name for name in named if not name.startswith("softgate[")} == set(known)
    for name, package in known.items():
        assert package.extra is not None
        requirement = extras[package.extra][name]
        if package.oldest is not None:
            oldest = ".".join(map(str, package.oldest))
            assert requirement.partition(";")[0] == f"{name}>={oldest}"


def test_several_missing_packages_are_named_with_one_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    hide(monkeypatch, "torch", "sklearn")
    message = r'the study needs PyTorch and scikit-learn: pip install "softgate\[compare\]"'
    with pytest.raises(ImportError, match=message) as caught:
        require("torch", "numpy", "sklearn", purpose="the study", extra="compare")
    assert caught.value.name == "torch"
    require("numpy", purpose="the study")


def hide(monkeypatch: pytest.MonkeyPatch, *packages: str) -> None:
    """Make packages look as if they were not installed."""
    for package in packages:
        for name in [n for n in sys.modules if n == package or n.startswith(f"{package}.")]:
            monkeypatch.delitem(sys.modules, name)
        monkeypatch.setitem(sys.modules, package, None)


@pytest.mark.parametrize(
    ("package", "call", "message"),
    [
        ("pandas", lambda: sg.table("gelu").to_pandas(), 'pandas: pip install "pandas"'),
        ("matplotlib", lambda: sg.plot("gelu"), 'matplotlib: pip install "softgate[plot]"'),
        ("sklearn", lambda: sg.compare("digits", activations=["gelu", "relu"]),
         'scikit-learn: pip install "softgate[compare]"'),
        ("torch", lambda: sg.compare(lambda f: None, ([[1.0]] * 8, [0, 1] * 4), ["gelu", "relu"]),
         'PyTorch: pip install "softgate[compare]"'),
        ("onnxruntime", lambda: sg.identify("model.onnx"),
         'onnxruntime: pip install "softgate[onnx]"'),
    ],
)  # fmt: skip
def test_a_call_that_needs_a_missing_package_names_the_extra(
    package: str, call: Callable[[], object], message: str,
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.onnx").touch()
    hide(monkeypatch, package)
    with pytest.raises((ImportError, ValueError), match=re.escape(f" needs {message}")):
        call()


def test_an_import_that_is_not_explained_where_it_fails() -> None:
    error = ModuleNotFoundError("No module named 'ray'", name="ray.util")
    assert explained(error) == 'this needs Ray: pip install "softgate[ray]"'
    other = ModuleNotFoundError("No module named 'mine'", name="mine")
    assert explained(other) == "No module named 'mine'"
    assert explained(ImportError("too old", name="torch")) == "too old"
