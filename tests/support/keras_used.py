"""Checks of softgate.keras inside models of users, on one backend.

A model saved before softgate.keras is imported, layers as activations, names with two meanings.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import keras
import numpy as np
from checking import raises

import softgate as sg

BACKEND = keras.backend.backend()
FOLDER = Path(sys.argv[1])
X = np.random.default_rng(3).normal(size=(6, 8)).astype(np.float32)


@sg.activation
def capped_gate(f: Any, gate: Any, up: Any, limit: float = 7.0) -> Any:
    return gate * f.sigmoid(gate) * f.minimum(up, limit)


def check_plain_functions_are_saved() -> None:
    """Runs first, while softgate.keras is not imported: no call of Keras imports it.

    keras_read.py loads the model, in this process and in those of the other backends.
    """
    assert "softgate.keras" not in sys.modules
    layers = keras.layers
    model = keras.Sequential(
        [
            keras.Input((8,)),
            layers.Dense(6, activation=sg.gelu),
            layers.Activation(sg.elu.bind(alpha=0.5)),
            layers.Dense(4, activation=keras.activations.relu),
            layers.Activation(sg.swiglu.bind(gate="second")),
        ]
    )
    model.compile("sgd", "mse")
    model.fit(X, X[:, :2], verbose=0)
    y = model.predict(X, verbose=0)
    copy = keras.models.clone_model(model)
    copy.set_weights(model.get_weights())
    assert np.array_equal(copy.predict(X, verbose=0), y)
    model.save(FOLDER / f"plain_{BACKEND}.keras")
    np.savez(FOLDER / f"plain_{BACKEND}.npz", x=X, y=y)

    @sg.activation
    def local(f: Any, x: Any) -> Any:
        return x * f.Phi(x)

    unnamed = keras.Sequential([keras.Input((8,)), layers.Dense(2, activation=local)])
    raises(TypeError, "cannot be pickled", lambda: unnamed.save(FOLDER / "unnamed.keras"))


def check_a_layer_is_built_with_its_block() -> None:
    import softgate.keras as sk

    block = sk.FeedForward(8, 12, keras.layers.PReLU())
    block.build((None, 8))
    assert [tuple(w.shape) for w in block.act.weights] == [(12,)]
    assert len(block.weights) == 5
    block(X)
    assert len(block.weights) == 5
    whole = sk.TransformerBlock(8, 2, 12, keras.layers.PReLU(shared_axes=[1]), batch_first=True)
    whole.build((None, 3, 8))
    assert [tuple(w.shape) for w in whole.feed_forward.act.weights] == [(1, 12)]

    class Subclassed(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.block = sk.FeedForward(8, 12, keras.layers.PReLU("ones"))

        def build(self, shape: Any) -> None:
            self.block.build(shape)

        def call(self, x: Any) -> Any:
            return self.block(x)

    written, read = Subclassed(), Subclassed()
    written(X)
    written.block.act.alpha.assign(np.full(12, 0.75))
    written.save_weights(FOLDER / f"sub_{BACKEND}.weights.h5")
    read.build((None, 8))
    read.load_weights(FOLDER / f"sub_{BACKEND}.weights.h5")
    assert np.allclose(read.predict(X, verbose=0), written.predict(X, verbose=0), atol=1e-6)


class Doubled(keras.layers.Layer):
    """Twice its input in training, the input itself elsewhere."""

    def call(self, x: Any, training: bool = False) -> Any:
        return 2.0 * x if training else x


def check_layers_are_trained_as_activations() -> None:
    """What is kept for the gradient changes no weight, whatever the layer holds."""
    import softgate.keras as sk

    makers = (
        keras.layers.PReLU,
        Doubled,
        lambda: keras.layers.GaussianNoise(0.5, seed=4),
        keras.layers.BatchNormalization,
    )
    for make in makers:
        trained = []
        for save in ("preactivation", "all"):
            keras.utils.set_random_seed(2)
            block = sk.FeedForward(8, 12, make(), save=save)
            model = keras.Sequential([keras.Input((8,)), block])
            model.compile(keras.optimizers.SGD(0.1), "mse")
            model.fit(X, np.abs(X), epochs=2, verbose=0, shuffle=False)
            block(X, training=True)
            block(X, training=True)  # a state that is a leaked tracer raises here
            trained.append(model.get_weights())
        for first, other in zip(*trained, strict=True):
            assert np.allclose(first, other, atol=1e-6), type(block.act)


def check_names_with_two_meanings() -> None:
    import softgate.keras as sk

    both = "leaky_relu(x, slope=0.01) in softgate and leaky_relu(x, slope=0.2) in Keras"
    for call in (
        lambda: sk.get("leaky_relu"),
        lambda: sk.Activation("leaky_relu"),
        lambda: sk.FeedForward(2, 3, "leaky_relu"),
        lambda: sk.TransformerBlock(2, 1, 3, "leaky_relu"),
    ):
        raises(ValueError, both, call)
    assert sk.get("leaky_relu", slope=0.3) is sk.get("leaky_relu", negative_slope=0.3)
    assert sk.get("leaky_relu", source="keras") is sk.leaky_relu.bind(slope=0.2)
    assert sk.get(sg.leaky_relu) is sk.leaky_relu
    assert sk.FeedForward(2, 3, "leaky_relu", negative_slope=0.3).act is sk.get(
        "leaky_relu", slope=0.3
    )
    assert sk.get("gelu", approximate=True) is sk.gelu_tanh
    raises(TypeError, "gelu has no parameter 'slope'", lambda: sk.get("gelu", slope=1.0))


def check_variables_are_attended() -> None:
    """TensorFlow's own variables have no ndim; Keras' own are taken, too."""
    import softgate.keras as sk

    x = np.random.default_rng(1).normal(size=(5, 3, 8)).astype(np.float32)
    argument: list[Any] = [keras.Variable(x)]
    if BACKEND == "tensorflow":
        import tensorflow as tf

        argument.append(tf.Variable(x))
    for make in (sk.SelfAttention, lambda *widths: sk.TransformerBlock(*widths, 12)):
        layer = make(8, 2)
        wanted = keras.ops.convert_to_numpy(layer(x))
        for variable in argument:
            assert np.allclose(keras.ops.convert_to_numpy(layer(variable)), wanted, atol=1e-6)


def check_gated_names() -> None:
    import softgate.keras as sk

    raises(ValueError, "did you mean 'swiglu'", lambda: sk.Activation("swiglo"))
    raises(ValueError, "it is 'geglu'", lambda: sk.GatedFeedForward(4, 8, "gelu"))
    assert sk.Activation("swiglu", beta=2.0) == sk.get("swiglu", beta=2.0)
    raises(TypeError, "no parameter 'gate'", lambda: sk.gelu.bind(gate="second"))
    raises(TypeError, "expected a name", lambda: sk.Activation(len))


def check_files_of_version_0_1() -> None:
    """They have a class of its own for gated functions."""
    import softgate.keras as sk

    config = {"function": "swiglu", "parameters": {"beta": 2.0}, "gate": "second"}
    saved = {
        "module": "softgate.keras.activation",
        "class_name": "GatedActivation",
        "config": config,
        "registered_name": "softgate>GatedActivation",
    }
    loaded = keras.saving.deserialize_keras_object(saved)
    assert loaded is sk.swiglu.bind(gate="second", beta=2.0)
    again = keras.saving.serialize_keras_object(loaded)
    assert again == saved | {"class_name": "Activation", "registered_name": "softgate>Activation"}


def check_formulas_of_two_operands() -> None:
    import softgate.keras as sk

    inputs = [keras.Input((8,)), keras.Input((8,))]
    function = sk.get(capped_gate, limit=0.5)
    outputs = [function(*inputs), *capped_gate.slope(*inputs), function(inputs[0])]
    file = FOLDER / f"formula_of_two_{BACKEND}.keras"
    keras.Model(inputs, outputs).save(file)
    other = X[:, ::-1].copy()
    wanted = [capped_gate(X, other, limit=0.5), *capped_gate.slope(X, other)]
    wanted += [capped_gate(X, limit=0.5)]
    results = keras.saving.load_model(file).predict([X, other], verbose=0)
    for result, exact in zip(results, wanted, strict=True):
        assert np.allclose(result, exact, rtol=1e-6, atol=1e-7)
