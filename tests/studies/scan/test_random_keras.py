"""Random Keras models: what scan finds is what was built, also after swap.

`make fuzz` runs more of them.
"""

from __future__ import annotations

import pytest

pytest.importorskip("keras")
from tests.support import random_keras

pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")


@pytest.mark.parametrize("seed", [1, 2])
def test_the_functions_of_a_random_model_are_found(seed: int) -> None:
    assert random_keras.check(seed, blocks=7) == 3


def test_the_check_fails_for_another_function(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(random_keras, "NAMES", dict.fromkeys(random_keras.NAMES, "celu"))
    monkeypatch.setattr(random_keras, "BLOCKS", (random_keras.dense, random_keras.distributed))
    with pytest.raises(AssertionError):
        random_keras.check(0, blocks=4)
