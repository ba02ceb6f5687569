"""TensorFlow without Keras: eager tensors, tf.function and XLA, in a process of its own."""

from __future__ import annotations

import pytest
from checking import all_hold, report


def test_everything_holds() -> None:
    pytest.importorskip("tensorflow", reason="TensorFlow is not installed")
    all_hold(report("tensorflow_checks.py"))


@pytest.mark.exhaustive
def test_every_expression_around_every_activation() -> None:
    pytest.importorskip("tensorflow", reason="TensorFlow is not installed")
    all_hold(report("tensorflow_compositions.py", "all"))
