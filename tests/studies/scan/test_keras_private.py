"""Scans of Keras models without the private names that softgate uses, or with others."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

import softgate as sg

keras = pytest.importorskip("keras")
from softgate.frameworks import capability  # noqa: E402
from softgate.frameworks.capability import CAPABILITIES, Changed  # noqa: E402
from softgate.studies.models import keras_private  # noqa: E402

find = capability.find


@pytest.fixture
def look_up(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str, Any], None]]:
    """Yield a function that replaces a private name, or removes it; restore all afterwards."""

    def replace(name: str, other: Any) -> None:
        def another(path: str) -> Any:
            if path != name:
                return find(path)
            if other is None:
                raise Changed(f"there is no {name}")
            return other

        monkeypatch.setattr(capability, "find", another)
        forget()

    def forget() -> None:
        for each in CAPABILITIES["keras"].values():
            each._result = None

    yield replace
    forget()


def model() -> Any:
    layers = keras.layers
    x = keras.Input((5, 4))
    y = layers.Bidirectional(layers.LSTM(3))(keras.ops.gelu(x))
    inner = keras.Sequential([keras.Input((6,)), layers.Dense(2, "silu"), layers.ReLU()])
    return keras.Model(x, inner(y))


EXPECTED = sorted(["gelu_tanh", "tanh", "sigmoid", "tanh", "sigmoid", "silu", "relu"])
OPERATORS = 3 + 2 * 5
"""An LSTM calls tanh twice, and sigmoid three times."""


def test_nothing_is_missing_here() -> None:
    assert [str(each) for each in capability.missing("keras")] == []
    scan = sg.scan(model())
    assert sorted(a.answer for a in scan.activations) == EXPECTED
    assert scan.operators == OPERATORS
    assert scan.notes == ()


def test_the_walk_over_attributes_finds_all_layers() -> None:
    def names(layers: list[Any]) -> list[str]:
        return sorted(x.name for x in layers if not isinstance(x, keras.layers.InputLayer))

    one = model()
    assert len(names(keras_private.walk(one))) == 8
    assert names(keras_private.walk(one)) == names(keras_private.all_layers.get()(one))


OTHERS = {
    "all_layers": [None, lambda *_, **__: [], lambda model: model.layers],
    "backend": [None, SimpleNamespace(), keras.ops],
}


def test_every_capability_is_tested() -> None:
    assert set(OTHERS) == set(CAPABILITIES["keras"])


@pytest.mark.parametrize(
    ("name", "other"), [(name, other) for name, others in OTHERS.items() for other in others]
)
def test_a_private_name_that_is_missing_or_differs(
    name: str, other: Any, look_up: Callable[[str, Any], None]
) -> None:
    each = CAPABILITIES["keras"][name]
    look_up(each.names[0], other)
    scan = sg.scan(model())
    assert sorted(a.answer for a in scan.activations) == EXPECTED
    assert capability.missing("keras") == [each]
    if name == "all_layers":
        assert (scan.operators, scan.unlisted) == (OPERATORS, ())
    else:  # a scan states what it does not check
        assert scan.operators is None
        assert any(each.reason in note for note in scan.notes)
