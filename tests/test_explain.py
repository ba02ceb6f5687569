"""`explain` says what runs, and what runs is what it says."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import softgate as sg


@pytest.mark.parametrize(
    ("x", "keywords", "phrases"),
    [
        (np.zeros(4, np.float32), {}, ["the float32 kernel;", "read where it lies", "1 thread"]),
        (np.zeros(4), {}, ["the float64 kernel;"]),
        (np.zeros(4, np.float32), {"arithmetic": "float64"}, ["float64 kernel, rounded once"]),
        (np.zeros(4, np.float32), {"quantity": "curvature"}, ["float64 kernel, rounded once"]),
        (np.zeros(4, np.float16), {}, ["a table of the 65,536 float16 results"]),
        (np.zeros(4, ml_dtypes.bfloat16), {"quantity": "backward"}, ["bfloat16 slopes in float32"]),
        (np.zeros(4, np.float16), {"activation": "relu"}, ["the float32 kernel, rounded once"]),
        (np.zeros((4, 4))[:, ::2], {}, ["copied first: not one piece of memory"]),
        (np.zeros(4, ">f8"), {}, ["copied first: not in native byte order"]),
        (np.zeros(33, np.uint8)[1:].view(np.float64), {}, ["copied first: not aligned"]),
        ([1, 2], {}, ["float64[2]"]),
    ],
)
def test_paths(x: Any, keywords: dict[str, Any], phrases: list[str]) -> None:
    text = str(sg.explain(x, **keywords))
    for phrase in phrases:
        assert phrase in text


@pytest.mark.usefixtures("all_threads")
def test_threads_and_in_place() -> None:
    x = np.zeros(1 << 22, np.float32)
    explanation = sg.explain(x, sg.gelu, out=x)
    assert explanation.threads == 4
    assert explanation.memory == "in place"
    assert "up to 4 threads" in str(explanation)


def test_memory_is_what_happens() -> None:
    x = np.zeros(9, np.float32)
    for arguments, phrase in [
        ({"x": x[:4], "out": x[1:5]}, "copied first: it overlaps out"),
        (
            {"x": x[:4], "out": np.zeros(8, np.float32)[::2]},
            "read where it lies, and copied to out",
        ),
        ({"x": x, "out": x.view()}, "in place"),
        ({"x": [1.0]}, "made an array first"),
        ({"x": np.arange(3)}, "converted to float64 first"),
        ({"x": np.zeros((2, 3)), "out": np.zeros((3, 2)).T}, "copied to out, then in place"),
    ]:
        assert phrase in sg.explain(arguments["x"], out=arguments.get("out")).memory
    with pytest.raises(TypeError, match="out is a str"):
        sg.explain(x, out="nonsense")
    with pytest.raises(TypeError, match="activation is a int"):
        sg.explain(x, 3)  # type: ignore[arg-type]


def test_wrong_questions() -> None:
    with pytest.raises(ValueError, match="unknown activation 'gleu': known are"):
        sg.explain([1.0], "gleu")
    with pytest.raises(ValueError, match="unknown quantity 'area': known are value"):
        sg.explain([1.0], "relu", quantity="area")
    with pytest.raises(TypeError, match="accepted are"):
        sg.explain("text", "relu")
