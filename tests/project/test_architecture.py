"""The layer contract, what `import softgate` loads, and how modules are named."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from places import ROOT

PACKAGE = ROOT / "src" / "softgate"
FILES = sorted(PACKAGE.rglob("*.py"))
VAGUE = {"utils", "util", "common", "misc", "helper", "helpers", "manager", "base"}
HEAVY = {
    "flint",
    "jax",
    "keras",
    "llvmlite",
    "matplotlib",
    "mpmath",
    "onnx",
    "onnxruntime",
    "pandas",
    "ray",
    "scipy",
    "sympy",
    "tensorflow",
    "torch",
}

REPORT_HEAVY = f"import sys; print(*sorted({HEAVY!r} & set(sys.modules)))"


def relative(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def python(*arguments: str, path: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run Python in a process of its own; modules under `path` come first."""
    environment = dict(os.environ)
    if path is not None:
        environment["PYTHONPATH"] = str(path)
    return subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        encoding="utf-8",
        cwd=path or ROOT,
        env=environment | {"PYTHONIOENCODING": "utf-8", "COLUMNS": "200"},
        timeout=600,
        check=False,
    )


def contract(source: Path) -> subprocess.CompletedProcess[str]:
    """Hold the package in `source` to the contract in pyproject.toml."""
    command = "from importlinter.cli import lint_imports_command as run; run()"
    options = ("--config", str(ROOT / "pyproject.toml"), "--no-cache", "--no-logo")
    return python("-c", command, *options, path=source)


def test_the_layer_contract_holds() -> None:
    result = contract(PACKAGE.parent)
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize(
    ("file", "line", "complaint"),
    [
        (
            "formula/graph.py",
            "from softgate import catalogue",
            "graph -> softgate.catalogue",
        ),
        (
            "runtime/kernels.py",
            "from softgate import studies",
            "kernels -> softgate.studies",
        ),
        (
            "lower/exact.py",
            "from softgate.runtime import kernels",
            "lower.exact -> softgate.runtime",
        ),
        (
            "studies/models/probing.py",
            "from softgate.studies import scan",
            "probing -> softgate.studies.scan",
        ),
        ("unlisted.py", "", "softgate.unlisted"),
    ],
)
def test_the_layer_contract_catches(tmp_path: Path, file: str, line: str, complaint: str) -> None:
    copy = tmp_path / "softgate"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    with (copy / file).open("a", encoding="utf-8") as target:
        target.write(f"\n{line}\n")
    result = contract(tmp_path)
    assert result.returncode == 1, result.stdout + result.stderr
    assert complaint in result.stdout


LIGHT = {"click", "ml_dtypes", "numpy", "rich", "softgate"}
"""Packages that any module may import at the top."""
LOADED_LATE = {
    "lower": {"flint", "llvmlite", "torch"},
    "plotting": {"matplotlib"},
    "studies/accuracy": {"llvmlite"},
    "studies/bench": {"torch"},
    "studies/compare": {"torch"},
    "studies/diagnose": {"torch"},
    "studies/models": {"torch"},
    "studies/subjects/peers": {"scipy"},
    "studies/swap": {"torch"},
}
"""Packages that modules of a folder import at the top, since they are themselves imported inside
functions."""


def imported_at_the_top(code: str) -> set[str]:
    """Return the packages that are imported when a module is, outside of functions."""
    packages, statements = set[str](), list[ast.AST](ast.parse(code).body)
    while statements:
        node = statements.pop()
        if isinstance(node, ast.Import):
            packages |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            packages.add(node.module.partition(".")[0])
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            statements += node.orelse
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            statements += ast.iter_child_nodes(node)
    return packages


def needless(file: str, code: str) -> set[str]:
    """Return the external packages that a module must import inside functions.

    A module imports a package at its top if its path names the package, as `frameworks/torch` and
    `models/onnx_fused.py` do, or if it is in a folder of `LOADED_LATE`.
    """
    parts = file.removesuffix(".py").split("/")
    allowed = set[str]().union(*(p for f, p in LOADED_LATE.items() if file.startswith(f"{f}/")))
    return {
        package
        for package in imported_at_the_top(code) - allowed - LIGHT - sys.stdlib_module_names
        if not any(part.startswith(package.removesuffix("runtime")) for part in parts)
    }


@pytest.mark.parametrize("path", FILES, ids=relative)
def test_external_packages_are_imported_where_they_are_used(path: Path) -> None:
    assert needless(relative(path), path.read_text(encoding="utf-8")) == set()


@pytest.mark.parametrize(
    ("file", "code", "named"),
    [
        ("runtime/kernels.py", "import llvmlite.binding as llvm", {"llvmlite"}),
        (
            "runtime/kernels.py",
            "try:\n    from torch import nn\nfinally: ...",
            {"torch"},
        ),
        ("studies/identify/__init__.py", "class A:\n    import jax", {"jax"}),
        ("runtime/kernels.py", "def late():\n    import torch", set()),
        ("records/files.py", "import os, numpy, filelock", {"filelock"}),
        ("studies/models/onnx_fused.py", "import onnxruntime", set()),
        ("frameworks/jax/operands.py", "import jax, torch", {"torch"}),
    ],
)
def test_where_a_package_is_imported_is_seen(file: str, code: str, named: set[str]) -> None:
    assert needless(file, code) == named


def test_import_loads_no_framework_and_no_compiler() -> None:
    result = python("-W", "error", "-c", f"import softgate; {REPORT_HEAVY}")
    assert (result.returncode, result.stdout.split()) == (0, []), result.stdout + result.stderr


def test_what_an_import_loads_is_seen() -> None:
    heavy = "import softgate.lower.exact, softgate.lower.llvm"
    result = python("-c", f"{heavy}; {REPORT_HEAVY}")
    assert result.stdout.split() == ["flint", "llvmlite"], result.stderr


def test_names_say_what_a_module_is() -> None:
    paths = [path.relative_to(PACKAGE).with_suffix("") for path in FILES]
    assert not [path for path in paths if {part.strip("_") for part in path.parts} & VAGUE]


def test_the_package_has_few_entries() -> None:
    entries = {path.name for path in PACKAGE.iterdir()} - {"__pycache__"}
    packages = entries - {"__init__.py", "__init__.pyi", "__main__.py", "py.typed"}
    assert len(packages) <= 15, sorted(packages)
    assert not [name for name in packages if name.startswith("_")]


def test_paths_in_the_architecture_page_exist() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    paths = re.findall(r"`([\w/]+(?:/|\.py|\.toml|\.c|\.ll))`", text)
    assert len(paths) > 20
    assert [p for p in paths if not ((PACKAGE / p).exists() or (ROOT / p).exists())] == []


def test_paths_in_the_makefile_exist() -> None:
    """Several test processes report a file that is missing as "no tests ran" only."""
    paths = re.findall(r"\b(?:tests|tools|benchmarks)/[\w./]+\w", (ROOT / "Makefile").read_text())
    assert "tests/runtime" in paths
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_there_are_files_to_look_at() -> None:
    assert {"__init__.py", "formula/graph.py", "lower/llvm.py", "catalogue/relu.py"} <= set(
        map(relative, FILES)
    )
