"""Random PyTorch models: what scan finds is what was built, also in a trace and after swap.

`make fuzz` runs more of them.
"""

from __future__ import annotations

import pytest

pytest.importorskip("torch")
from tests.support import random_torch


@pytest.mark.parametrize("seed", [3, 8])
def test_the_functions_of_a_random_model_are_found(seed: int) -> None:
    assert random_torch.check(seed, blocks=7) == 4


def test_the_check_fails_for_another_function(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    def other(*x: torch.Tensor) -> object:
        return torch.nn.ELU(0.9)(*x) if x else torch.nn.ELU(0.9)

    for table in (random_torch.MODULES, random_torch.CALLS):
        for name in table:
            monkeypatch.setitem(table, name, other)
    for name in random_torch.FORMULAS:
        monkeypatch.setitem(random_torch.FORMULAS, name, (other, 1))
    with pytest.raises(AssertionError):
        random_torch.check(0, blocks=2)
