"""Activations inside larger expressions in tf.function, under XLA and in Keras (checking.py).

With the argument "all" every activation is put into every expression, which takes minutes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from compositions import (
    QUANTITIES,
    SHAPES,
    UNSCALED,
    expressions,
    in_turn,
    mismatches,
    operands,
    reductions,
)
from tensorflow_native import operators_only

import softgate as sg
import softgate.keras
from softgate.runtime.activation import Activation

ALL = "all" in sys.argv


def derivative(call: Callable[[Any], Any], x: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = call(x)
    return tape.gradient(y, x)


@operators_only()  # a compiler cannot simplify kernels
def check(
    activation: Activation,
    shape: str,
    thorough: bool,
    xla: bool = False,
    quantities: tuple[str, ...] = QUANTITIES,
) -> None:
    x, y = operands(shape)
    calls = expressions(activation, derivative, thorough, quantities=quantities)
    if shape == "several":
        calls |= reductions(activation, tf.reduce_sum, tf.reduce_prod, quantities)

    @tf.function(autograph=False, jit_compile=xla)
    def evaluated(pairs: Any) -> Any:
        return [call(*pair) for call, pair in zip(calls.values(), pairs, strict=True)]

    # Each with operands of its own: Grappler leaves alone what has several consumers.
    pairs = [[tf.constant(v, tf.float32) for v in (x, y)] for _ in calls]
    results = dict(zip(calls, evaluated(pairs), strict=True))
    wrong = mismatches(activation, x, y, results)
    assert not wrong, (activation, shape, xla, wrong)


def check_expressions_in_a_function() -> None:
    """Of one quantity of every other activation, in turn, and all of the unscaled ones.

    `make exhaustive` puts all of them into all shapes; test_jax_compositions.py looks at all.
    """
    for i, activation in enumerate(sg.activations().values()):
        if not ALL and (i % 2 == 0 or activation in UNSCALED):
            check(activation, "one element", thorough=False, quantities=in_turn(activation))
        for shape in SHAPES if ALL else ():
            check(activation, shape, thorough=True)


def check_unscaled_activations_in_a_function() -> None:
    for i, shape in enumerate(SHAPES):
        check(sg.elu, shape, thorough=True, quantities=QUANTITIES if ALL else (QUANTITIES[i % 3],))
    check(sg.sigmoid, "broadcast", thorough=True)


def check_expressions_under_xla() -> None:
    """Of sigmoid and elu, in turn; test_jax_compositions.py looks at all activations under XLA."""
    for i, shape in enumerate(SHAPES):
        for activation in sg.activations().values() if ALL else [UNSCALED[i % 2]]:
            check(activation, shape, ALL, xla=True)


MULTIPLIED = list(sg.activations())[:: 1 if ALL else 4]
MULTIPLIED += [f.name for f in UNSCALED if f.name not in MULTIPLIED]


class Products(keras.Model):
    """The products of two layers' outputs, each after every one of some activations."""

    def __init__(self) -> None:
        super().__init__()
        self.both = [keras.layers.Dense(3 * len(MULTIPLIED)) for _ in range(2)]

    def call(self, x: Any) -> Any:
        first, second = (keras.ops.split(layer(x), len(MULTIPLIED), axis=-1) for layer in self.both)
        functions = [getattr(softgate.keras, name) for name in MULTIPLIED]
        products = [f(a) * f(b) for f, a, b in zip(functions, first, second, strict=True)]
        return dict(zip(MULTIPLIED, products, strict=True))


def check_products_of_layers_in_keras() -> None:
    keras.utils.set_random_seed(0)
    model = Products()
    x = 4 * np.random.default_rng(0).normal(size=(50, 4)).astype(np.float32)  # above thresholds
    eager, predicted = model(x), model.predict(x, verbose=0)
    for name in MULTIPLIED:
        assert np.allclose(predicted[name], eager[name], rtol=1e-5, atol=1e-5), name
        assert np.any(predicted[name] != 0), name
