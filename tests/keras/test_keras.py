"""softgate.keras with `swap` and `Watch` on TensorFlow, JAX and torch, each in its own process.

What the torch process writes (blocks' weights, outputs, gradients; saved models) every backend
reads.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from checking import all_hold, made_once, report


def checked(backend: str, folder: Path, *modules: str) -> dict[str, Any]:
    """Return what the checks of some modules found on a backend.

    Compiling would take most of the time, and what is compiled runs once.
    """
    environment = {"XLA_FLAGS": "--xla_backend_optimization_level=0", "OMP_NUM_THREADS": "1"}
    if backend == "jax":
        from xla_once import quick_flags

        environment |= quick_flags()
    return report(backend, *modules, arguments=(str(folder),), **environment)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the torch process has written, and the report of its checks."""
    pytest.importorskip("torch", reason="PyTorch is not installed")
    modules = "keras_used", "keras_written", "keras_read", "keras_swapped"
    return made_once(
        "softgate-keras", lambda folder: checked("torch", folder, *modules), tmp_path_factory
    )


@pytest.mark.parametrize("backend", ["torch", "tensorflow", "jax"])
def test_everything_holds_on(backend: str, written: Path) -> None:
    pytest.importorskip(backend, reason=f"{backend} is not installed")
    if backend == "torch":
        result = json.loads((written / "report.json").read_text("utf-8"))
    else:
        result = checked(backend, written, "keras_used", "keras_read", "keras_swapped")
    all_hold(result)
    assert result["checked"][0] == "check_plain_functions_are_saved"
    assert {"check_blocks_equal_torchs", "check_watch_makes_the_record_of_torch"} <= set(
        result["checked"]
    )


def run(code: str, path: Path | None = None) -> str:
    """Return the last line of the traceback of a failing Python."""
    environment = dict(os.environ) | ({} if path is None else {"PYTHONPATH": str(path)})
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 1, done.stderr
    return done.stderr.strip().splitlines()[-1]


ABSENT = """
import os, sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name == {missing!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

os.environ["KERAS_BACKEND"] = {backend!r}
sys.meta_path.insert(0, Absent())
import softgate.keras
"""


@pytest.mark.parametrize(
    ("missing", "backend", "message"),
    [
        ("keras", "torch", 'needs Keras: pip install "softgate[keras]"'),
        ("tensorflow", "tensorflow", 'pip install "softgate[keras,tensorflow]"'),
        ("jax", "jax", 'pip install "softgate[keras,jax]"'),
    ],
)
def test_what_is_missing_is_said_with_the_extra(missing: str, backend: str, message: str) -> None:
    output = run(ABSENT.format(missing=missing, backend=backend))
    assert output.startswith("ImportError: ")
    assert message in output


def stub(folder: Path, package: str, version: str, code: str = "") -> None:
    """Write a package with nothing but a version and some code."""
    (folder / package).mkdir()
    text = f"__version__ = {version!r}\n{code}\n"
    (folder / package / "__init__.py").write_text(text, "utf-8")


@pytest.mark.parametrize(
    ("package", "version", "module", "message"),
    [
        ("keras", "3.8.0", "softgate.keras", "softgate needs Keras 3.9 or newer, and 3.8.0"),
        ("keras", "2.15.0", "softgate.frameworks.keras", "Keras 3.9 or newer, and 2.15.0"),
        ("tensorflow", "2.16.1", "softgate.frameworks.tensorflow", "TensorFlow 2.18 or newer"),
    ],
)
def test_what_is_too_old_is_said_at_import(
    package: str, version: str, module: str, message: str, tmp_path: Path
) -> None:
    stub(tmp_path, package, version)
    output = run(f"import {module}", tmp_path)
    assert output.startswith("ImportError: ")
    assert message in output
    assert f'"softgate[{package}]"' in output


@pytest.mark.parametrize(
    ("backend", "version"), [("torch", "2.3.1"), ("tensorflow", "2.17.0"), ("jax", "0.4.38")]
)
def test_a_backend_that_is_too_old_is_said_at_import(
    backend: str, version: str, tmp_path: Path
) -> None:
    """Of Keras, what softgate reads before it checks: the real one takes seconds to import."""
    stub(tmp_path, backend, version)
    name = f"import {backend}, types; backend = types.SimpleNamespace(backend=lambda: {backend!r})"
    stub(tmp_path, "keras", "3.9.0", name)
    output = run("import softgate.keras", tmp_path)
    assert output.startswith("ImportError: ")
    assert f"and {version} is installed" in output
    assert f'"softgate[{backend}]"' in output
