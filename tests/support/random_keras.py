"""Random Keras models whose activations are known, and what scan and swap must say about them.

A model is functional: layers with activations by name, by function and as formulas, activation
layers, operations, recurrent layers, heads behind means, weighted channels, layers inside layers,
shared layers, and a layer of a user whose operators scan can only name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any

import keras
import numpy as np

import softgate as sg
import softgate.keras

layers = keras.layers
TIME, WIDTH = 3, 8

NAMES = {
    "gelu": "gelu", "relu": "relu", "silu": "silu", "mish": "mish", "tanh": "tanh", "elu": "elu",
    "sigmoid": "sigmoid", "selu": "selu", "softplus": "softplus", "softsign": "softsign",
    "hard_sigmoid": "hard_sigmoid", "hard_silu": "hard_swish", "relu6": "relu6",
    "log_sigmoid": "log_sigmoid", "tanh_shrink": "tanhshrink", "hard_tanh": "hard_tanh",
}  # fmt: skip
"""Keras' names of activations, and the functions that they are."""
LAYERS: dict[str, Callable[[], Any]] = {
    "relu": layers.ReLU,
    "relu6": lambda: layers.ReLU(max_value=6.0),
    "elu": layers.ELU,
    "leaky_relu(slope=0.2)": lambda: layers.LeakyReLU(0.2),
    "gelu": lambda: layers.Activation("gelu"),
    "leaky_relu(slope=0.25)": lambda: layers.PReLU(keras.initializers.Constant(0.25)),
}
OPERATIONS: dict[str, Callable[[Any], Any]] = {
    "gelu_tanh": keras.ops.gelu,
    "silu": keras.ops.silu,
    "sigmoid": keras.ops.sigmoid,
    "hard_swish": keras.ops.hard_silu,
    "relu": keras.ops.relu,
}


def quick_gelu(x: Any) -> Any:
    """A formula of the user."""
    return x * keras.ops.sigmoid(1.702 * x)


def squared_relu(x: Any) -> Any:
    """Another one."""
    return keras.ops.square(keras.ops.relu(x))


FORMULAS = {"gelu_sigmoid": quick_gelu, "squared_relu": squared_relu}


@keras.saving.register_keras_serializable("random_keras")
class Opaque(layers.Layer):
    """A layer of the user that calls an activation and is not one."""

    def call(self, x: Any) -> Any:
        return keras.ops.relu(x) / (1 + keras.ops.max(keras.ops.abs(x)))


class RandomModel:
    """A random model; `functions` are the activations in its layers."""

    def __init__(self, random: Random, blocks: int) -> None:
        self.random, self.functions, self.opaque = random, Counter[str](), 0
        inputs = x = keras.Input((TIME, WIDTH))
        for _ in range(blocks):
            x = random.choice(BLOCKS)(self, x)
        self.model = keras.Model(inputs, layers.Dense(2)(x))

    def activation(self) -> Any:
        """Return an activation for a layer, and count it."""
        if self.random.random() < 0.3:
            name = self.random.choice(sorted(FORMULAS))
            self.functions[name] += 1
            return FORMULAS[name]
        name = self.random.choice(sorted(NAMES))
        self.functions[NAMES[name]] += 1
        return name if self.random.random() < 0.5 else keras.activations.get(name)


def dense(m: RandomModel, x: Any) -> Any:
    """A layer with an activation."""
    return layers.Dense(WIDTH, activation=m.activation())(x)


def layer(m: RandomModel, x: Any) -> Any:
    """An activation layer."""
    name = m.random.choice(sorted(LAYERS))
    m.functions[name] += 1
    return LAYERS[name]()(layers.Dense(WIDTH)(x))


def operation(m: RandomModel, x: Any) -> Any:
    """An operation of a functional model."""
    name = m.random.choice(sorted(OPERATIONS))
    m.functions[name] += 1
    return OPERATIONS[name](layers.Dense(WIDTH)(x))


def recurrent(m: RandomModel, x: Any) -> Any:
    """A recurrent layer, sometimes in both directions."""
    kind = m.random.choice([layers.LSTM, layers.GRU, layers.SimpleRNN])
    both = m.random.random() < 0.4
    functions = {"activation": "tanh", "recurrent_activation": "sigmoid"}
    if kind is layers.SimpleRNN:
        del functions["recurrent_activation"]
    for name in functions.values():
        m.functions[name] += 2 if both else 1
    inner = kind(WIDTH, return_sequences=True, **functions)
    return layers.Bidirectional(inner, merge_mode="sum")(x) if both else inner(x)


def excitation(m: RandomModel, x: Any) -> Any:
    """Channels weighted by what is computed from their mean."""
    h = layers.Dense(WIDTH, activation=m.activation())(layers.GlobalAveragePooling1D()(x))
    m.functions["sigmoid"] += 1
    return x * keras.ops.expand_dims(layers.Dense(WIDTH, activation="sigmoid")(h), 1)


def branches(m: RandomModel, x: Any) -> Any:
    """Two blocks, their sum, and the input."""
    return layers.Dense(WIDTH)(layers.Add()([x, dense(m, x), layer(m, x)]))


def nested(m: RandomModel, x: Any) -> Any:
    """Layers inside a model, which are called twice."""
    parts = [layers.Dense(WIDTH, activation=m.activation()) for _ in range(2)]
    inner = keras.Sequential([keras.Input((TIME, WIDTH)), *parts])
    return inner(layers.LayerNormalization()(inner(x)))


def distributed(m: RandomModel, x: Any) -> Any:
    """A layer inside another one."""
    return layers.TimeDistributed(layers.Dense(WIDTH, activation=m.activation()))(x)


def opaque(m: RandomModel, x: Any) -> Any:
    """A layer of the user."""
    m.opaque += 1
    return Opaque()(x)


BLOCKS = (
    dense,
    dense,
    layer,
    operation,
    recurrent,
    excitation,
    branches,
    nested,
    distributed,
    opaque,
)


def functions(scan: Any) -> Counter[str]:
    """Return how often each function is in a layer."""
    return Counter(row.answer for row in scan.activations)


def check(seed: int, blocks: int = 5) -> int:
    """Raise AssertionError if scan or swap of a random model is wrong; return the checks made."""
    random = Random(seed)
    keras.utils.set_random_seed(random.getrandbits(31))
    known = RandomModel(random, blocks)
    scan = sg.scan(known.model)
    assert functions(scan) == known.functions, (functions(scan), known.functions)
    rows = sum(row.counted for row in (*scan.activations, *scan.unidentified))
    unlisted = sum(operator.count for operator in scan.unlisted)
    assert scan.operators == rows + unlisted, scan.closing
    assert all(row.counted for row in scan.activations), scan.activations
    assert (unlisted, len(scan.unlisted)) == (known.opaque, known.opaque), scan.closing
    x = np.random.default_rng(seed).standard_normal((2, TIME, WIDTH)).astype(np.float32)
    before = np.asarray(keras.ops.convert_to_numpy(known.model(x, training=False)))
    clone = sg.keras.swap(known.model, partial=True)
    record = clone.softgate_swap
    left = [(u.path, u.function) for u in (*record.unswapped, *record.unchanged) if u.function]
    named = Counter(left + [(s.path, s.before) for s in record.swapped])
    rows_of = Counter((a.path, a.label) for a in scan.activations)
    assert rows_of == Counter({key: named[key] for key in rows_of}), (rows_of, named)
    after = sg.scan(clone)
    assert functions(after) == known.functions, (functions(after), known.functions)
    result = np.asarray(keras.ops.convert_to_numpy(clone(x, training=False)))
    assert np.allclose(result, before, 1e-3, 1e-4)
    return 3
