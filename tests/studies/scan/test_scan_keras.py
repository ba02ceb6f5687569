"""`scan` on Keras models and .keras files."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

import softgate as sg

keras = pytest.importorskip("keras")


@keras.saving.register_keras_serializable(package="test", name="swish")
def swish(x):  # type: ignore[no-untyped-def]
    """Named as silu, and computes another function."""
    return keras.ops.gelu(x, approximate=True)


def model(activation: object = "gelu") -> object:
    x = keras.Input((4, 6))
    y = keras.layers.Dense(8, activation=activation, name="up")(x)
    y = keras.layers.LeakyReLU(0.2, name="leaky")(keras.layers.Dense(6, name="down")(y))
    y = keras.ops.silu(y)
    return keras.Model(x, keras.layers.Dense(2, activation="softmax", name="head")(y))


def test_layers_and_operations() -> None:
    scan = sg.scan(model())
    assert [(a.path, a.answer, a.elements) for a in scan.activations] == [
        ("up", "gelu", 32),
        ("leaky", "leaky_relu(slope=0.2)", 24),
        (scan.activations[2].path, "silu", 24),
    ]
    assert [a.path for a in scan.unidentified] == ["head"]
    assert not scan.mismatches


@pytest.mark.filterwarnings("ignore:The object being serialized:UserWarning")
@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")
def test_a_file_is_read_without_running_its_code(tmp_path: Path) -> None:
    model(keras.activations.relu6).save(tmp_path / "m.keras")
    assert sg.scan(tmp_path / "m.keras").activations[0].answer == "relu6"
    model(lambda x: x + 1).save(tmp_path / "code.keras")
    with pytest.raises(ValueError, match="cannot be loaded"):
        sg.scan(tmp_path / "code.keras")


def test_a_name_that_computes_something_else() -> None:
    scan = sg.scan(model(swish))
    (wrong,) = scan.mismatches
    assert (wrong.path, wrong.claim, wrong.answer) == ("up", "silu", "gelu_tanh")
    assert scan.notes == ("up is called silu, but computes gelu_tanh",)


class Exact(keras.layers.Layer):
    """An activation of the user."""

    def call(self, x):  # type: ignore[no-untyped-def]
        return keras.ops.gelu(x, approximate=False)


class Normalised(keras.layers.Layer):
    """Computes an activation and more."""

    def call(self, x):  # type: ignore[no-untyped-def]
        return keras.ops.gelu(x) / keras.ops.sum(x)


@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")
def test_layers_of_the_user_are_listed_or_named() -> None:
    x = keras.Input((4,))
    y = keras.layers.Dense(3, activation="celu", name="equal_to_elu")(x)
    y = Normalised(name="normalised")(Exact(name="exact")(y))
    scan = sg.scan(keras.Model(x, keras.layers.Dense(3, activation="elu", name="last")(y)))
    answers = {a.path: a.answer for a in scan.activations}
    assert answers == {"equal_to_elu": "elu", "exact": "gelu", "last": "elu"}
    assert scan.mismatches == ()
    assert scan.notes == ("functions in the call of normalised (Normalised) are not examined",)


def test_damaged_files_end_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "empty.keras").write_bytes(b"")
    (tmp_path / "text.keras").write_text("no zip")
    with zipfile.ZipFile(tmp_path / "zip.keras", "w") as archive:
        archive.writestr("config.json", "[" * 1000)
    for name in ("empty", "text", "zip"):
        with pytest.raises(ValueError, match=r"cannot be loaded: .*") as raised:
            sg.scan(tmp_path / f"{name}.keras")
        assert "\n" not in str(raised.value)
