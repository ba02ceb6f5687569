"""`softgate.keras.swap` and `Watch` on TensorFlow, JAX and torch, each in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from checking import HERE, all_hold


@pytest.mark.parametrize("backend", ["torch", "tensorflow", "jax"])
def test_everything_holds_on(backend: str) -> None:
    """Not `checking.report`, which hides torch from other backends: `Watch` computes with it."""
    for package in ("keras", "torch", backend):
        pytest.importorskip(package, reason=f"{package} is not installed")
    environment = {"KERAS_BACKEND": backend, "TF_CPP_MIN_LOG_LEVEL": "3", "OMP_NUM_THREADS": "1"}
    if backend == "jax":
        from xla_once import quick_flags

        environment |= quick_flags()
    done = subprocess.run(
        [sys.executable, str(HERE / "keras_swapped.py")],
        capture_output=True,
        text=True,
        env=os.environ | {"CUDA_VISIBLE_DEVICES": ""} | environment,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    all_hold(json.loads(done.stdout.strip().splitlines()[-1]))
