"""`softgate.keras.swap` on TensorFlow, JAX and torch, each in a process of its own."""

from __future__ import annotations

import pytest
from checking import all_hold, report


@pytest.mark.parametrize("backend", ["torch", "tensorflow", "jax"])
def test_everything_holds_on(backend: str) -> None:
    pytest.importorskip("keras", reason="Keras is not installed")
    pytest.importorskip(backend, reason=f"{backend} is not installed")
    all_hold(report("keras_swapped.py", KERAS_BACKEND=backend))
