"""softgate.keras on TensorFlow, JAX and torch, each in a process of its own.

What a torch process writes (blocks' weights, outputs, gradients; saved models) every backend reads.
"""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest
from checking import HERE, all_hold, report

QUICK = "--xla_backend_optimization_level=0"
"""Compiling takes most of the time, and what is compiled here runs once."""


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """What torch has written, once for all processes of a test run."""
    pytest.importorskip("torch", reason="PyTorch is not installed")
    base = tmp_path_factory.getbasetemp()
    folder = (base if worker_id == "master" else base.parent) / "softgate-keras"
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            made = tmp_path_factory.mktemp("keras")
            subprocess.run(
                [sys.executable, str(HERE / "keras_written.py"), str(made)],
                env=os.environ | {"KERAS_BACKEND": "torch"},
                capture_output=True,
                check=True,
                timeout=600,
            )
            made.rename(folder)
    return folder


@pytest.mark.parametrize("backend", ["torch", "tensorflow", "jax"])
def test_everything_holds_on(backend: str, written: Path) -> None:
    pytest.importorskip(backend, reason=f"{backend} is not installed")
    result = report("keras_checks.py", str(written), KERAS_BACKEND=backend, XLA_FLAGS=QUICK)
    all_hold(result)
    assert result["checked"][0] == "check_plain_functions_are_saved"
    assert "check_blocks_equal_torchs" in result["checked"]


def run(code: str, path: Path | None = None) -> str:
    """Return the last line of the traceback of a failing Python."""
    environment = dict(os.environ) | ({} if path is None else {"PYTHONPATH": str(path)})
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
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
    (tmp_path / package).mkdir()
    (tmp_path / package / "__init__.py").write_text(f"__version__ = {version!r}\n", "utf-8")
    output = run(f"import {module}", tmp_path)
    assert output.startswith("ImportError: ")
    assert message in output
    assert f'"softgate[{package}]"' in output


@pytest.mark.parametrize(
    ("backend", "version"), [("torch", "2.3.1"), ("tensorflow", "2.17.0"), ("jax", "0.4.38")]
)
def test_a_backend_that_is_too_old_is_said_at_import(
    backend: str, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip(backend, reason=f"{backend} is not installed")
    monkeypatch.setenv("KERAS_BACKEND", backend)
    code = f"import {backend}; {backend}.__version__ = {version!r}; import keras"
    output = run(f"{code}; import softgate.keras")
    assert output.startswith("ImportError: ")
    assert f"and {version} is installed" in output
    assert f'"softgate[{backend}]"' in output
