"""Random ONNX models: what scan finds is what was built, also after onnxruntime and after swap.

`make fuzz` runs more of them.
"""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
import random_onnx


@pytest.mark.parametrize("seed", [15, 17])
def test_the_functions_of_a_random_model_are_found(seed: int, tmp_path: Path) -> None:
    assert random_onnx.check(seed, tmp_path) == 5


def test_the_check_fails_for_another_function(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = [random_onnx.operator("Elu", alpha=0.9)]
    for name in random_onnx.SPELLINGS:
        monkeypatch.setitem(random_onnx.SPELLINGS, name, wrong)
    with pytest.raises(AssertionError):
        random_onnx.check(0, tmp_path, blocks=2)
