"""TensorFlow, alone and under Keras: eager tensors, tf.function and XLA, in two processes.

The first writes files, and the second reads them before it imports softgate.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from checking import all_hold, made_once, report

pytest.importorskip("tensorflow", reason="TensorFlow is not installed")


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the checks of the first process have written, and their report."""
    modules = "tensorflow_native", "tensorflow_compositions"
    return made_once(
        "softgate-tensorflow",
        lambda folder: report("tensorflow", *modules, arguments=(str(folder),)),
        tmp_path_factory,
    )


def test_kernels_and_compositions_in_graphs(written: Path) -> None:
    result = json.loads((written / "report.json").read_text("utf-8"))
    all_hold(result)
    assert {"check_files_are_written", "check_expressions_under_xla"} <= set(result["checked"])


def test_files_and_tensors(written: Path) -> None:
    modules = "tensorflow_files", "tensorflow_checks", "tensorflow_gated", "tensorflow_two_operands"
    result = report("tensorflow", *modules, arguments=(str(written),))
    all_hold(result)
    assert result["checked"][0] == "check_files_without_softgate"


@pytest.mark.exhaustive
def test_every_expression_around_every_activation() -> None:
    all_hold(report("tensorflow", "tensorflow_compositions", arguments=("all",)))
