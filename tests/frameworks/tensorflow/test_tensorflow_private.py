"""TensorFlow without the private names that softgate uses, or with others of that name."""

from __future__ import annotations

import pytest
from checking import all_hold, report

pytest.importorskip("tensorflow", reason="TensorFlow is not installed")


def test_private_names_cost_speed_alone() -> None:
    result = report("tensorflow", "tensorflow_private")
    all_hold(result)
    assert "check_each_name_with_another_meaning" in result["checked"]
