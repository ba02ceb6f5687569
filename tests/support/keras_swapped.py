"""Checks of `softgate.keras.swap` and `softgate.keras.Watch` on one backend (checking.py)."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

import keras
import numpy as np
from checking import raises

import softgate as sg
import softgate.keras
from softgate.studies.swap import SwapError

if sys.modules.get("torch", sys) is None:
    del sys.modules["torch"]  # which checking.py hides: `Watch` computes with it

layers = keras.layers
X = np.random.default_rng(3).normal(size=(6, 8)).astype(np.float32)


@sg.activation
def bent(f: Any, x: Any) -> Any:
    """x·tanh(exp(x))."""
    return x * f.tanh(f.exp(x))


@keras.saving.register_keras_serializable(package="test")
def cubic(x: Any) -> Any:
    return x**3 - x


def functional(first: str = "gelu", second: Any = "relu") -> Any:
    """A functional model with an activation, a layer, an operation and a nested model."""
    x = keras.Input((8,))
    y = layers.Dense(6, activation=first, name="up")(x)
    y = layers.LeakyReLU(0.2, name="leaky")(y)
    inner = keras.Sequential([keras.Input((6,)), layers.Dense(4, activation=second, name="in")])
    y = keras.ops.silu(inner(y))
    return keras.Model(x, layers.Dense(2, activation="softmax", name="head")(y), name="model")


def values(model: Any, x: Any = X) -> Any:
    return keras.ops.convert_to_numpy(model(x))


def check_a_clone_has_the_weights_and_other_functions() -> None:
    model = functional()
    clone = softgate.keras.swap(model, {"gelu": "gelu_tanh", "leaky": bent, "silu": "mish"})
    record = clone.softgate_swap
    assert record.counts == {
        "gelu -> gelu_tanh": 1,
        "leaky_relu:slope=0.2 -> bent": 1,
        "silu -> mish": 1,
    }
    assert all(map(np.array_equal, clone.get_weights(), model.get_weights()))
    assert sg.scan(model).counts == {"gelu": 1, "leaky_relu(slope=0.2)": 1, "relu": 1, "silu": 1}
    assert sg.scan(clone).counts == {"gelu_tanh": 1, "relu": 1, "mish": 1}
    dense, last = model.get_layer("up"), model.get_layer("head")
    inner = next(layer for layer in model.layers if isinstance(layer, keras.Sequential))
    y = X @ dense.get_weights()[0] + dense.get_weights()[1]
    y = sg.mish(np.maximum(bent(sg.gelu_tanh(y)) @ inner.get_weights()[0], 0))
    expected = y @ last.get_weights()[0]
    expected = np.exp(expected) / np.exp(expected).sum(-1, keepdims=True)
    assert np.allclose(values(clone), expected, atol=1e-5)
    assert not np.allclose(values(model), values(clone), atol=1e-4)


def check_softgates_version_of_each_and_a_saved_clone() -> None:
    model = functional(second="tanh")
    model.compile("sgd", "mse")
    clone = softgate.keras.swap(model)
    assert len(clone.softgate_swap.swapped) == 4
    assert np.allclose(values(clone), values(model), atol=1e-6)
    assert softgate.keras.swap(clone).softgate_swap.swapped == ()
    clone.fit(X, X[:, :2], verbose=0)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "clone.keras"
        clone.save(file)
        loaded = keras.saving.load_model(file)
    assert np.array_equal(values(loaded), values(clone))
    assert loaded.get_layer("up").activation is softgate.keras.gelu


def check_paths_patterns_and_recurrent_layers() -> None:
    model = keras.Sequential(
        [keras.Input((4, 8)), layers.LSTM(3, name="rnn"), layers.Dense(2, "tanh", name="out")]
    )
    clone = softgate.keras.swap(model, {"rnn": "softsign", "o*": "relu"})
    cell = clone.get_layer("rnn").cell
    assert cell.activation is cell.recurrent_activation is softgate.keras.softsign
    assert clone.get_layer("out").activation is softgate.keras.relu
    assert len(clone.softgate_swap.swapped) == 3
    x = np.tile(X[:, None], (1, 4, 1))
    assert not np.allclose(values(model, x), values(clone, x), atol=1e-4)


def check_what_cannot_be_swapped_is_listed() -> None:
    class Own(layers.Layer):
        """A layer that creates an activation layer."""

        def __init__(self, **options: Any) -> None:
            super().__init__(**options)
            self.dense, self.act = layers.Dense(8, "gelu", name="d"), layers.ReLU(name="act")

        def call(self, x: Any) -> Any:
            return self.act(self.dense(x))

    model = keras.Sequential([keras.Input((8,)), Own(name="own")])
    raises(SwapError, "act: relu (ReLU)", lambda: softgate.keras.swap(model, {"relu": "gelu"}))
    clone = softgate.keras.swap(model, partial=True)
    (swapped,) = clone.softgate_swap.swapped
    assert (swapped.path.split("/")[-2:], swapped.after) == (["own", "d"], "gelu")
    assert [u.function for u in clone.softgate_swap.unswapped] == ["relu"]
    assert np.allclose(values(clone), values(model), atol=1e-6)


def check_a_function_that_is_not_called_is_not_swapped() -> None:
    class Cached(layers.Layer):
        """A layer that calls another attribute than its activation."""

        def __init__(self, activation: Any = "gelu", **options: Any) -> None:
            super().__init__(**options)
            self.activation = self.function = keras.activations.get(activation)

        def call(self, x: Any) -> Any:
            return self.function(x)

    model = keras.Sequential([keras.Input((8,)), layers.Dense(4, "gelu"), Cached(name="own")])
    replacements = {"gelu": "relu"}
    message = "own: gelu (gelu): the layer does not call this attribute"
    raises(SwapError, message, lambda: softgate.keras.swap(model, replacements))
    record = softgate.keras.swap(model, replacements, partial=True).softgate_swap
    assert (len(record.swapped), len(record.unswapped)) == (1, 1)
    assert "functions in the call of" not in str(record.notes)


def check_lambda_layers() -> None:
    twice = layers.Lambda(lambda x: 2 * x, name="twice")
    model = keras.Sequential([keras.Input((8,)), layers.Dense(4, "gelu"), twice])
    clone = softgate.keras.swap(model, {"gelu": "relu"})
    dense = model.layers[0]
    assert np.allclose(values(clone), 2 * np.maximum(X @ dense.get_weights()[0], 0), atol=1e-5)
    wrapped = keras.Sequential([keras.Input((3, 8)), layers.TimeDistributed(twice)])
    wrapped.add(layers.Dense(4, "gelu"))
    message = "Keras does not copy the Python lambda of twice inside another layer"
    raises(ValueError, message, lambda: softgate.keras.swap(wrapped, {"gelu": "relu"}))
    with tempfile.TemporaryDirectory() as folder:
        file = str(Path(folder) / "lambda.keras")
        model.save(file)
        scan = sg.scan(file)
        assert [a.answer for a in scan.activations] == ["gelu"]
        assert any("twice" in note and "not read" in note for note in scan.notes)


def check_a_function_that_is_not_identified() -> None:
    model = keras.Sequential([keras.Input((8,)), layers.Dense(2, cubic, name="odd")])
    raises(SwapError, "no function of softgate has its values", lambda: softgate.keras.swap(model))
    assert softgate.keras.swap(model, {"odd": "relu"}).softgate_swap.counts == {
        "unknown -> relu": 1
    }


def check_wrong_arguments() -> None:
    model = functional()
    for replacements, message in (
        ({"gleu": "relu"}, "'gleu' is not a path in model"),
        ({"mish": "relu"}, "'mish' selects nothing in model; it has gelu at up"),
        ({"gelu": "swiglu"}, "takes two arrays"),
        ({}, "is empty"),
    ):
        raises(ValueError, message, lambda r=replacements: softgate.keras.swap(model, r))
    raises(TypeError, "expected a keras.Model", lambda: softgate.keras.swap(3))
    raises(TypeError, "replacements is an int", lambda: softgate.keras.swap(model, 3))


def watched(model: Any, run: Any = "fit", rows: int = 256, **options: Any) -> Any:
    """The record of one step for each 64 rows, in which the weights do not change."""
    x = np.random.default_rng(5).normal(size=(rows, 8)).astype(np.float32)
    model.compile(keras.optimizers.SGD(0.0), "mse", metrics=["mae"])
    watch = softgate.keras.Watch(**options)
    more = {"shuffle": False, "validation_data": (x, x[:, :2])} if run == "fit" else {}
    getattr(model, run)(x, x[:, :2], batch_size=64, verbose=0, callbacks=[watch], **more)
    return x, watch.report()


def two_layers() -> Any:
    model = keras.Sequential(
        [
            keras.Input((8,)),
            layers.Dense(5, name="up"),
            layers.ReLU(name="act"),
            layers.Dense(3, "tanh", name="mid"),
            layers.Dense(2, "softmax", name="head"),
        ]
    )
    weights, bias = model.get_layer("up").get_weights()
    bias[1] = -100
    model.get_layer("up").set_weights([weights, bias])
    return model


def check_watch_makes_the_record_of_torch() -> None:
    model = two_layers()
    x, record = watched(model)
    assert (record.steps, record.observed_steps, record.unseen) == (4, 4, ())
    relu, tanh = record.sites
    assert (relu.function, relu.units, relu.inputs, relu.calls) == ("relu", 5, 256, 4)
    assert (tanh.function, tanh.name.split("/")[-1], tanh.units) == ("tanh", "mid", 3)
    assert relu.unit.dead == (1,)
    assert [finding.kind for finding in record.findings] == ["dead"]
    a = np.maximum(x @ model.get_layer("up").get_weights()[0] + model.get_layer("up").bias, 0)
    a = np.asarray(a, np.float64)
    assert np.isclose(relu.mean, a.mean(), rtol=1e-4)
    assert np.isclose(relu.sd, a.std(), rtol=1e-4)
    (w, b), (v, c) = model.get_layer("mid").get_weights(), model.get_layer("head").get_weights()
    squares = []
    for rows in np.split(np.arange(256), 4):
        t = np.tanh(a[rows] @ w + b)
        p = np.exp(t @ v + c)
        p /= p.sum(-1, keepdims=True)
        d = 2 * (p - x[rows, :2]) / p.size
        d = p * (d - (d * p).sum(-1, keepdims=True)) @ v.T
        squares.append([(d**2).sum(), ((d * (1 - t**2)) ** 2).sum()])
    output, inputs = np.sqrt(np.mean(squares, 0))
    assert np.isclose(tanh.gradient_output, output, rtol=1e-3)
    assert np.isclose(tanh.gradient_input, inputs, rtol=1e-3)
    assert relu.gradient_input is not None


def check_watch_leaves_the_model_as_it_was() -> None:
    model = two_layers()
    act = model.get_layer("mid").activation
    _, record = watched(model, every=3, gradients=False)
    assert (record.steps, record.observed_steps) == (4, 2)
    assert record.sites[0].gradient_output is None
    assert model.get_layer("mid").activation is act
    assert not model.run_eagerly
    assert not {"train_step", "test_step"} & set(vars(model))
    assert "call" not in vars(model.get_layer("act"))
    _, record = watched(model, "evaluate")
    assert (record.steps, [site.function for site in record.sites]) == (4, ["relu", "tanh"])

    class Stop(keras.callbacks.Callback):
        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            raise RuntimeError("stopped")

    watch = softgate.keras.Watch()
    raises(RuntimeError, "stopped", lambda: model.fit(X, X[:, :2], callbacks=[watch, Stop()]))
    assert model.get_layer("mid").activation is act
    watch.close()
    assert not model.run_eagerly
    raises(ValueError, "every = 0", lambda: softgate.keras.Watch(every=0))


def check_watch_reports_what_it_cannot_identify() -> None:
    model = keras.Sequential([keras.Input((8,)), layers.Dense(2, cubic, name="odd")])
    _, record = watched(model)
    assert record.sites == ()
    assert record.unseen[0].names[0].endswith("odd")
