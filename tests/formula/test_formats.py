"""Rounding to a format, and the spacing of its numbers."""

from __future__ import annotations

import numpy as np
import pytest

from softgate.formula.formats import BFLOAT16, FLOAT16, FLOAT32, FLOAT64, Format, ulp


@pytest.mark.parametrize("fmt", [FLOAT16, BFLOAT16, FLOAT32, FLOAT64], ids=lambda fmt: fmt.name)
def test_spacing(fmt: Format) -> None:
    smallest = 2.0**fmt.smallest_exponent
    y = np.array([0.0, -0.0, smallest, -3 * smallest, 1.0, -1.5, np.inf, np.nan])
    epsilon = 2.0**-fmt.mantissa_bits
    assert ulp(y, fmt).tolist() == [smallest] * 4 + [epsilon] * 4


def test_spacing_is_numpys() -> None:
    y = np.float32([0.0, 1e-45, 1e-38, 0.1, 1.0, 3e38])
    assert ulp(y.astype(np.float64), FLOAT32).tolist() == np.spacing(y).tolist()
