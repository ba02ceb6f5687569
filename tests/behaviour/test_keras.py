"""Keras models in `scan`, `swap`, `parity` and `Watch`, on the backend of the tests."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from golden import check_golden

import softgate as sg

keras = pytest.importorskip("keras", reason="reads Keras models")
import small_keras  # noqa: E402

import softgate.keras as sk  # noqa: E402


def functions(model: Any) -> list[str]:
    return [row.function for row in sg.scan(model).activations]


def test_the_activations_of_a_model_and_of_its_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run_here: Callable[..., Any]
) -> None:
    monkeypatch.chdir(tmp_path)
    model = small_keras.layers()
    check_golden("scan-keras", sg.scan(model).to_json(), close={"max_difference": 1e-2})
    model.save("layers.keras")
    done = run_here("scan", "layers.keras", "--json")
    assert done.returncode == 0
    assert [row["function"] for row in json.loads(done.stdout)["activations"]] == functions(model)


def test_code_in_a_file_is_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run_here: Callable[..., Any]
) -> None:
    monkeypatch.chdir(tmp_path)
    code = keras.layers.Lambda(lambda x: (open("ran", "w").close(), x)[1])  # noqa: PTH123
    keras.Sequential([keras.Input((4,)), code]).save("code.keras")
    assert Path("ran").exists()  # Keras ran it to build the model
    Path("ran").unlink()
    np.savez("x.npz", x=small_keras.samples())
    listed = run_here("scan", "code.keras")  # other layers would be listed
    refused = run_here("parity", "code.keras", "code.keras", "--inputs", "x.npz")
    assert (listed.returncode, refused.returncode) == (0, 2)
    assert "Lambda" in listed.stdout
    assert "Lambda" in refused.stderr
    assert not Path("ran").exists()


def test_every_layer_is_swapped() -> None:
    model, x = small_keras.layers(), small_keras.samples()
    before = np.asarray(model(x))
    clone = sk.swap(model, {"gelu": "silu"})
    check_golden("swap-keras", clone.softgate_swap.to_json())
    assert functions(clone) == ["silu", "relu", "silu"]
    expected = small_keras.layers()
    for layer in (expected.get_layer("first"), expected.get_layer("third")):
        layer.activation = keras.activations.silu
    np.testing.assert_allclose(np.asarray(clone(x)), np.asarray(expected(x)), atol=1e-5)
    np.testing.assert_array_equal(np.asarray(model(x)), before)
    with pytest.raises(ValueError, match="mish"):
        sk.swap(model, {"mish": "silu"})


def test_two_models() -> None:
    model, x = small_keras.layers(), small_keras.samples()
    record = sg.parity(model, sk.swap(model, {"gelu": "gelu_tanh"}), x)
    rounded = dict.fromkeys(("max_difference", "relative", "first", "second"), 1e-4)
    check_golden("parity-keras", record.to_json(), measured=["ulps", "index"], close=rounded)
    assert sg.parity(model, model, x).equal


def test_a_watched_training_has_the_dead_unit() -> None:
    model, x = small_keras.layers(), small_keras.samples()
    model.compile("sgd", "mse")
    model.optimizer.learning_rate = 0.0
    watch = sk.Watch()
    before = np.asarray(model(x))
    model.fit(x, np.zeros((64, 2), np.float32), batch_size=16, verbose=0, callbacks=[watch])
    record = json.loads(watch.report().to_json())
    assert record["steps"] == 4
    sites = {site["name"]: site for site in record["sites"]}
    assert sites["second"]["function"] == "relu"
    assert 5 in sites["second"]["unit"]["dead"]
    np.testing.assert_array_equal(np.asarray(model(x)), before)
