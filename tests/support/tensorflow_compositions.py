"""Activations inside larger expressions in tf.function, under XLA and in Keras (checking.py).

With the argument "all" every activation is put into every expression, which takes minutes.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

os.environ["KERAS_BACKEND"] = "tensorflow"

import keras
import numpy as np
import tensorflow as tf
from checking import run_checks
from compositions import SHAPES, expressions, mismatches, operands, reductions
from tensorflow_native import operators_only

import softgate as sg
import softgate.keras
from softgate.runtime.activation import Activation

ALL = sys.argv[1:] == ["all"]
UNSCALED = (sg.sigmoid, sg.elu, sg.celu, sg.softplus, sg.log_sigmoid, sg.tanh)
"""The activations whose value, slope or curvature ends in a product with 2**-64."""


def derivative(call: Callable[[Any], Any], x: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = call(x)
    return tape.gradient(y, x)


@operators_only()  # a compiler cannot simplify kernels
def check(activation: Activation, shape: str, thorough: bool, xla: bool = False) -> None:
    x, y = operands(shape)
    narrow = [tf.constant(v, tf.float32) for v in (x, y)]
    results = {}
    # Each in a function of its own: Grappler leaves alone what has several consumers.
    calls = expressions(activation, derivative, thorough)
    if shape == "several":
        calls |= reductions(activation, tf.reduce_sum, tf.reduce_prod)
    for name, call in calls.items():
        results[name] = tf.function(call, jit_compile=xla)(*narrow).numpy()
    wrong = mismatches(activation, x, y, results)
    assert not wrong, (activation, shape, xla, wrong)


def check_expressions_in_a_function() -> None:
    for activation in sg.activations().values():
        for shape in SHAPES if ALL else ["one element"]:
            check(activation, shape, ALL)


def check_unscaled_activations_in_a_function() -> None:
    for shape in SHAPES:
        check(sg.elu, shape, thorough=True)
    check(sg.sigmoid, "broadcast", thorough=True)


def check_expressions_under_xla() -> None:
    for activation in sg.activations().values() if ALL else UNSCALED[:2]:
        for shape in SHAPES:
            check(activation, shape, ALL, xla=True)


def check_products_of_layers_in_keras() -> None:
    keras.utils.set_random_seed(0)
    inputs = keras.Input((4,))
    outputs = {}
    for name, activation in sg.activations().items():
        first, second = (keras.layers.Dense(3, activation) for _ in range(2))
        outputs[name] = first(inputs) * second(inputs)
    model = keras.Model(inputs, outputs)
    x = 4 * np.random.default_rng(0).normal(size=(50, 4)).astype(np.float32)  # above thresholds
    eager, predicted = model(x), model.predict(x, verbose=0)
    for name in outputs:
        assert np.allclose(predicted[name], eager[name], rtol=1e-5, atol=1e-5), name
        assert np.any(predicted[name] != 0), name


if __name__ == "__main__":
    run_checks(globals())
