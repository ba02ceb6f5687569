"""Activations inside larger expressions in tf.function, under XLA and in Keras (checking.py).

With the argument "all" every activation is put into every expression, which takes minutes.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import lru_cache
from typing import Any

os.environ["KERAS_BACKEND"] = "tensorflow"

import keras
import numpy as np
import tensorflow as tf
from checking import run_checks
from compositions import SHAPES, expressions, mismatches, operands, quantity, reductions

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


@lru_cache(maxsize=256)
def traced(activation: Activation, name: str, shape: tuple[int, ...]) -> tuple[Any, str, str]:
    """Return the graph of a quantity, and the names of its input and output."""
    with tf.Graph().as_default() as graph:
        x = tf.compat.v1.placeholder(tf.float32, shape)
        y = quantity(activation, name)(x)
    return graph.as_graph_def(), x.name, y.name


def copied(activation: Activation, name: str) -> Callable[[Any], Any]:
    """Return a quantity whose operations are copied from one trace into each expression.

    The copy is the graph that tracing again gives, in less time.
    """

    def call(x: Any) -> Any:
        graph, operand, result = traced(activation, name, tuple(x.shape))
        return tf.graph_util.import_graph_def(graph, {operand: x}, [result], name="")[0]

    return call


def check(activation: Activation, shape: str, thorough: bool, xla: bool = False) -> None:
    x, y = operands(shape)
    narrow = [tf.constant(v, tf.float32) for v in (x, y)]
    results = {}
    # Each in a function of its own: Grappler leaves alone what has several consumers.
    of = quantity if xla else copied  # XLA compiles no placeholder, and a copy brings its own
    calls = expressions(activation, derivative, thorough, of)
    if shape == "several":
        calls |= reductions(activation, tf.reduce_sum, tf.reduce_prod, of)
    for name, call in calls.items():
        results[name] = tf.function(call, jit_compile=xla)(*narrow).numpy()
    wrong = mismatches(activation, x, y, results)
    assert not wrong, (activation, shape, xla, wrong)


def check_expressions_in_a_function() -> None:
    for activation in sg.activations().values():
        for shape in SHAPES if ALL else ["one element"]:
            check(activation, shape, ALL)


def check_unscaled_activations_in_a_function() -> None:
    for activation in UNSCALED[:2]:
        for shape in SHAPES:
            check(activation, shape, thorough=True)


def check_expressions_under_xla() -> None:
    for activation in sg.activations().values() if ALL else UNSCALED[:2]:
        for shape in SHAPES:
            check(activation, shape, ALL, xla=True)


def check_products_of_layers_in_keras() -> None:
    inputs = keras.Input((4,))
    outputs = {}
    for name, activation in sg.activations().items():
        first, second = (keras.layers.Dense(3, activation) for _ in range(2))
        outputs[name] = first(inputs) * second(inputs)
    model = keras.Model(inputs, outputs)
    x = 4 * np.random.default_rng(0).normal(size=(50, 4)).astype(np.float32)  # above thresholds
    eager, predicted = model(x), model.predict(x, verbose=0)
    for name in outputs:
        assert np.allclose(predicted[name], eager[name], rtol=1e-5, atol=1e-7), name
        assert np.any(predicted[name] != 0), name


if __name__ == "__main__":
    run_checks(globals())
