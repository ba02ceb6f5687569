"""Mistakes in Python: the type of the exception, the value that is wrong, and no file written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import softgate as sg

X = np.zeros((2, 4), np.float32)


def diagnose(*arguments: Any, **options: Any) -> Any:
    pytest.importorskip("torch", reason="diagnoses PyTorch models")
    import softgate.torch as st

    return st.diagnose(*arguments, **options)


@pytest.mark.parametrize(
    ("call", "error", "named"),
    [
        (lambda: sg.bench("gelv"), ValueError, "gelv"),
        (lambda: sg.bench("gelu", budget=-1), ValueError, "-1"),
        (lambda: sg.certify("nowhere.py:f", "gelu"), ValueError, "nowhere.py"),
        (lambda: sg.certify("softgate:gelu", dtype="float31"), ValueError, "float31"),
        (lambda: sg.certify(5, "gelu"), ValueError, "5"),
        (lambda: sg.identify("nowhere.py:f"), ValueError, "nowhere.py"),
        (lambda: sg.identify(5), ValueError, "5"),
        (lambda: sg.compare("digitz"), ValueError, "digitz"),
        (lambda: sg.compare("digits", activations=["gelv"]), ValueError, "gelv"),
        (lambda: sg.compare("digits", alpha=2), ValueError, "2"),
        (lambda: diagnose(5, [X]), TypeError, "an int"),
        (lambda: sg.scan("nowhere.onnx"), ValueError, "nowhere.onnx"),
        (lambda: sg.scan(5), TypeError, "an int"),
        (lambda: sg.swap("nowhere.onnx", "silu", output="new.onnx"), ValueError, "nowhere.onnx"),
        (lambda: sg.swap(5, "silu"), TypeError, "an int"),
        (lambda: sg.parity("nowhere.onnx", "other.onnx", X), ValueError, "nowhere.onnx"),
        (lambda: sg.parity("nowhere.onnx", inputs=X), ValueError, "expected"),
        (lambda: sg.report(budget=0), ValueError, "0"),
        (lambda: sg.report("nowhere.py:f"), ValueError, "nowhere.py"),
    ],
)
def test_the_exception_names_the_mistake(
    call: Callable[[], Any],
    error: type[Exception],
    named: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error, match=named):
        call()
    assert list(tmp_path.iterdir()) == []
