"""`scan` of recurrent layers, PReLU, Lambda layers and custom functions of Keras, and its count."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import softgate as sg

keras = pytest.importorskip("keras")
import softgate.keras  # noqa: E402

layers = keras.layers

pytestmark = [
    pytest.mark.filterwarnings("ignore:The object being serialized:UserWarning"),
    pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning"),
]


def sequential(shape: tuple[int, ...], *parts: Any) -> Any:
    return keras.Sequential([keras.Input(shape), *parts])


def answers(scan: Any) -> list[str]:
    return [a.answer for a in scan.activations]


def complete(scan: Any) -> bool:
    """Return whether each activation operator is in one row."""
    rows = sum(row.counted for row in (*scan.activations, *scan.unidentified))
    return bool(scan.operators == rows and scan.unlisted == ())


@pytest.mark.parametrize(
    ("layer", "expected"),
    [
        (lambda: layers.LSTM(3), ["tanh", "sigmoid"]),
        (lambda: layers.GRU(3, activation="relu"), ["relu", "sigmoid"]),
        (lambda: layers.SimpleRNN(3), ["tanh"]),
        (lambda: layers.Bidirectional(layers.LSTM(3)), ["tanh", "sigmoid"] * 2),
        (lambda: layers.RNN([layers.LSTMCell(3), layers.GRUCell(2)]), ["tanh", "sigmoid"] * 2),
        (lambda: layers.TimeDistributed(layers.Dense(3, activation="silu")), ["silu"]),
    ],
)
def test_a_recurrent_layer_and_its_cell_are_one(layer: Any, expected: list[str]) -> None:
    scan = sg.scan(sequential((5, 4), layer()))
    assert answers(scan) == expected
    assert complete(scan)


def test_parity_of_a_recurrent_model() -> None:
    model = sequential((5, 4), layers.LSTM(3))
    x = np.random.default_rng(0).standard_normal((2, 5, 4)).astype(np.float32)
    assert sg.parity(model, model, x).equal


def test_prelu_is_listed() -> None:
    def slopes(values: Any) -> Any:
        model = sequential((4,), layers.PReLU())
        model.layers[0].set_weights([np.asarray(values, np.float32)])
        return sg.scan(model)

    assert answers(slopes([0.25] * 4)) == ["leaky_relu(slope=0.25)"]
    assert complete(slopes([0.25] * 4))
    several = slopes([0.1, 0.2, 0.3, 0.4])
    assert several.activations == ()
    assert [row.operators for row in several.unidentified] == ["PReLU"]
    assert any("several slopes" in note for note in several.notes)
    assert complete(several)


class Odd(layers.Layer):
    """Calls an activation and more, so that it is not one."""

    def call(self, x: Any) -> Any:
        return keras.ops.relu(x) / keras.ops.sum(x)


def test_operators_that_are_not_listed_are_named(run_here: Any) -> None:
    scan = sg.scan(sequential((4,), layers.Dense(3, activation="gelu"), Odd(name="odd")))
    assert answers(scan) == ["gelu"]
    assert [(o.operator, o.count) for o in scan.unlisted] == [("relu", 1)]
    assert "odd" in scan.unlisted[0].path
    assert scan.closing.startswith("1 of 2 activation operators that the model ran are not listed:")


def test_operations_and_swapped_models_are_counted() -> None:
    x = keras.Input((4,))
    h = keras.ops.gelu(layers.Dense(4)(x))
    model = keras.Model(x, keras.ops.relu(h) * keras.ops.sigmoid(h))
    scan = sg.scan(model)
    assert answers(scan) == ["gelu_tanh", "relu", "sigmoid"]
    assert complete(scan)
    clone = softgate.keras.swap(model)
    after = sg.scan(clone)
    assert answers(after) == answers(scan)
    assert complete(after)
    assert after.operators == 3


def test_the_model_is_unchanged() -> None:
    model = sequential((5, 4), layers.LSTM(3), layers.Dense(2, activation="gelu"))
    function = model.layers[1].activation
    states = [np.asarray(w) for w in model.get_weights()]
    sg.scan(model)
    assert model.layers[1].activation is function
    assert all(np.array_equal(a, b) for a, b in zip(states, model.get_weights(), strict=True))
    assert "call" not in vars(model.layers[0])


def test_a_model_that_cannot_be_run_says_so() -> None:
    scan = sg.scan(keras.Sequential([layers.Dense(3, activation="relu")]))
    assert scan.operators is None
    assert any("not run" in note for note in scan.notes)


def with_lambda(folder: Path) -> Path:
    model = sequential(
        (4,),
        layers.Dense(3, activation="gelu", name="first"),
        layers.Lambda(lambda x: x * 2, name="secret"),
        sequential((3,), layers.Dense(2, activation="selu", name="inner")),
    )
    model.save(folder / "m.keras")
    return folder / "m.keras"


def test_a_lambda_hides_no_other_layer(tmp_path: Path, run_here: Any) -> None:
    file = with_lambda(tmp_path)
    scan = sg.scan(file)
    assert answers(scan) == ["gelu", "selu"]
    assert any("secret" in note and "not read" in note for note in scan.notes)
    done = run_here("scan", str(file))
    assert done.returncode == 0, done.stderr
    assert "secret" in done.stdout
    with pytest.raises(ValueError, match="secret"):
        sg.parity(file, file, np.ones((1, 4), np.float32))


def renamed(file: Path, old: str, new: str) -> None:
    """Replace a name in the configuration in a .keras file."""
    with zipfile.ZipFile(file) as archive:
        content = {name: archive.read(name) for name in archive.namelist()}
    content["config.json"] = content["config.json"].replace(old.encode(), new.encode())
    with zipfile.ZipFile(file, "w") as archive:
        for name, data in content.items():
            archive.writestr(name, data)


@keras.saving.register_keras_serializable("elsewhere")
def present(x: Any) -> Any:
    """A function that a file names."""
    return keras.ops.gelu(x)


@keras.saving.register_keras_serializable("elsewhere")
class Present(layers.Layer):
    """A layer that a file names."""

    def call(self, x: Any) -> Any:
        return x


@pytest.mark.parametrize(
    ("part", "old", "new"),
    [
        (lambda: layers.Dense(3, activation=present), "elsewhere>present", "elsewhere>absent"),
        (Present, "elsewhere>Present", "elsewhere>Absent"),
    ],
)
def test_an_unknown_custom_object_is_named(
    part: Any, old: str, new: str, tmp_path: Path, run_here: Any
) -> None:
    file = tmp_path / "m.keras"
    sequential((4,), layers.Dense(4, activation="relu"), part()).save(file)
    renamed(file, old, new)
    if part is Present:
        renamed(file, '"module": "test_scan_keras_layers"', '"module": "nowhere"')
    with pytest.raises(ValueError, match=new):
        sg.scan(file)
    done = run_here("scan", str(file))
    assert (done.returncode, done.stdout) == (2, "")
    assert new in done.stderr


def test_swap_lists_what_it_leaves() -> None:
    model = sequential(
        (4,),
        layers.Dense(3, activation="gelu", name="up"),
        Odd(name="odd"),
        layers.ReLU(name="act"),
    )
    record = softgate.keras.swap(model, {"gelu": "silu"}).softgate_swap
    left = [(u.path.rpartition("/")[2], u.function or u.operators) for u in record.unchanged]
    assert left == [("act", "relu"), ("odd", "relu")]
    assert (
        softgate.keras.swap(sequential((4,), layers.ReLU()), "silu").softgate_swap.unchanged == ()
    )
