"""identify does not take a step or a kink near 0 for a steep or a plain function."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import softgate as sg


def gradual_relu(x: Any) -> Any:
    """Return x·clip(5000·x + 1/2, 0, 1), which differs from relu below 1e-4 only."""
    return x * np.clip(x * x.dtype.type(5000) + x.dtype.type(0.5), 0, 1)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("function", [np.sign, gradual_relu, lambda x: (x > 0).astype(x.dtype),
                                      lambda x: np.clip(x * x.dtype.type(1e6), -1, 1)])  # fmt: skip
def test_what_differs_near_zero_only_is_unknown(function: Callable[[Any], Any], dtype: str) -> None:
    found = sg.identify(function, dtype=dtype, framework="numpy")
    assert found.function == "unknown", str(found)
