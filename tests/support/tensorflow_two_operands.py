"""Users' formulas of two operands at TensorFlow tensors and in Keras (checking.py)."""

from __future__ import annotations

from typing import Any

import keras
import ml_dtypes
import numpy as np
import tensorflow as tf
from checking import raises
from tensorflow_gated import gradients, same_bits

import softgate as sg
from softgate.lower import exact
from softgate.runtime.activation import Activation

KINDS = (np.float16, ml_dtypes.bfloat16, np.float32, np.float64)


@sg.activation
def capped_gate(f: Any, gate: Any, up: Any, limit: float = 7.0) -> Any:
    return gate * f.sigmoid(gate) * f.minimum(up, limit)


@sg.activation
def bent(f: Any, t0: Any, bits: Any, k: float = 0.5) -> Any:
    return f.exp(-k * t0 * t0) * f.tanh(bits) + t0 * bits * bits


@sg.activation(fast=True)
def fast_gate(f: Any, a: Any, tf: Any) -> Any:
    return f.softplus(a) * f.sin(tf)


FORMULAS = (capped_gate, bent, fast_gate)
RANDOM = np.random.default_rng(5)


def operands(kind: Any) -> list[np.ndarray]:
    special = np.array([0.0, -0.0, 1e-40, -30.0, np.nan, np.inf, -np.inf, 7.0, 9.0, 1e-7])
    columns = [np.append(3 * RANDOM.normal(size=190), np.roll(special, i)) for i in range(3)]
    return [column.reshape(10, 20).astype(kind) for column in columns]


def quantities(function: Activation, a: Any, b: Any, grad: Any) -> list[Any]:
    half = grad[:, :10]
    return [
        *(function(a, b), *function.slope(a, b), *function.curvature(a, b)),
        *(*function.backward(a, b, grad), function(a, b[:1]), function(a, 2.0)),
        *(function(a), function(a, axis=0), function.slope(a), *function.curvature(a)),
        function.backward(a, half),
    ]


def without_payloads(results: Any) -> list[np.ndarray]:
    """All NaN are one: the sign of a NaN depends on the order in which terms are added."""
    arrays = map(np.asarray, results)
    return [np.where(np.isnan(x.astype(np.float64)), x.dtype.type(np.nan), x) for x in arrays]


def check_eager_tensors_have_numpys_bits() -> None:
    for function in FORMULAS:
        for kind in KINDS:
            arrays = operands(kind)
            with np.errstate(all="ignore"):
                wanted = quantities(function, *arrays)
                pulled = function.backward(*arrays[:2], np.ones_like(arrays[0]))
                results = quantities(function, *map(tf.constant, arrays))
                slopes = gradients(function, *map(tf.constant, arrays[:2]))
                for found, exact_ in ((results, wanted), (slopes, pulled)):
                    pair = without_payloads(found), without_payloads(exact_)
                    assert same_bits(*pair), (function, kind)


def check_graphs_have_numpys_bits() -> None:
    for function in FORMULAS:
        for kind in KINDS:
            arrays = operands(kind)

            def run(a: Any, b: Any, grad: Any, function: Any = function) -> Any:
                return *quantities(function, a, b, grad), *gradients(function, a, b)

            spec = [tf.TensorSpec([None, None], tf.as_dtype(arrays[0].dtype))] * 3
            with np.errstate(all="ignore"):
                wanted = quantities(function, *arrays)
                wanted += function.backward(*arrays[:2], np.ones_like(arrays[0]))
                results = tf.function(run, input_signature=spec)(*map(tf.constant, arrays))
                pair = without_payloads(results), without_payloads(wanted)
                assert same_bits(*pair), (function, kind)


def truth(function: Activation, variables: str, a: Any, b: Any) -> np.ndarray:
    """A derivative of the definition by the first ("a") and second operand ("b")."""
    names = dict(zip("ab", function.entry.operands, strict=True))
    root = function.entry.derivative(*(names[variable] for variable in variables))
    points = [
        {names["a"]: x, names["b"]: y, **function.parameters}
        for x, y in zip(a.tolist(), b.tolist(), strict=True)
    ]
    return np.array([float(exact.truth(root, 80, **point).mid()) for point in points])


def derivative(function: Any, variables: str, a: Any, b: Any) -> Any:
    """The same by tapes around tapes."""
    if not variables:
        return function(a, b)
    x = a if variables[-1] == "a" else b
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = derivative(function, variables[:-1], a, b)
    return tape.gradient(y, x, unconnected_gradients="zero")


def check_derivatives_of_every_order() -> None:
    a, b = np.linspace(-4, 4, 17), np.linspace(3, -2, 17)
    tensors = tf.constant(a), tf.constant(b)
    for function in FORMULAS:
        for variables in ("a", "b", "aa", "ab", "ba", "bb", "aab", "bba", "abab"):
            wanted = truth(function, variables, a, b)

            def run(a: Any, b: Any, function: Any = function, variables: str = variables) -> Any:
                return derivative(function, variables, a, b)

            for call in (run, tf.function(run)):
                result = call(*tensors)
                assert np.allclose(result, wanted, rtol=1e-11, atol=1e-12), (function, variables)


def check_gradients_of_backward() -> None:
    """By both operands and by grad, with grads of both results."""
    a, b = np.linspace(-4, 4, 17), np.linspace(3, -2, 17)
    grad, first, second = RANDOM.normal(size=(3, 17))
    for function in FORMULAS:
        by = {v: truth(function, v, a, b) for v in ("a", "b", "aa", "ab", "bb")}
        wanted = (
            grad * (first * by["aa"] + second * by["ab"]),
            grad * (first * by["ab"] + second * by["bb"]),
            first * by["a"] + second * by["b"],
        )

        def run(a: Any, b: Any, grad: Any, function: Any = function) -> Any:
            with tf.GradientTape() as tape:
                tape.watch((a, b, grad))
                results = function.backward(a, b, grad)
            return tape.gradient(results, (a, b, grad), [tf.constant(x) for x in (first, second)])

        for call in (run, tf.function(run)):
            results = call(*map(tf.constant, (a, b, grad)))
            for result, exact_ in zip(results, wanted, strict=True):
                assert np.allclose(result, exact_, rtol=1e-12, atol=1e-13), function


def check_xla_and_maps() -> None:
    a, b = np.linspace(-4, 4, 24).reshape(4, 6), np.linspace(3, -2, 24).reshape(4, 6)
    tensors = tf.constant(a), tf.constant(b)
    for function in FORMULAS:
        by_a, by_b = function.slope(a, b)

        def run(a: Any, b: Any, function: Any = function) -> Any:
            return function(a, b), *gradients(function, a, b)

        for call in (
            tf.function(run, jit_compile=True),
            lambda a, b, run=run: tf.vectorized_map(lambda pair: run(*pair), (a, b)),
        ):
            for result, wanted in zip(call(*tensors), (function(a, b), by_a, by_b), strict=True):
                assert np.allclose(result, wanted, rtol=1e-12, atol=1e-14), function


def check_parameters() -> None:
    a, b, grad = operands(np.float32)
    tensors = [tf.constant(x) for x in (a, b, grad)]
    with np.errstate(all="ignore"):
        wanted = [capped_gate(a, b, limit=1.5), *capped_gate.backward(a, b, grad, limit=1.5)]
        bound = capped_gate.bind(limit=1.5)
        for function, parameters in ((capped_gate, {"limit": 1.5}), (bound, {})):

            def run(a: Any, b: Any, grad: Any, f: Any = function, p: Any = parameters) -> Any:
                return f(a, b, **p), *f.backward(a, b, grad, **p)

            for call in (run, tf.function(run)):
                found = without_payloads(call(*tensors))
                assert same_bits(found, without_payloads(wanted)), function


def check_what_explain_says() -> None:
    x = tf.zeros((2, 3))
    line = "capped_gate of float32[2, 3]: the float64 kernel, rounded once to float32; input not"
    assert str(sg.explain((x, x), capped_gate)).startswith(line)
    pulled = str(sg.explain(tf.zeros((2, 4)), sg.swiglu, quantity="backward"))
    assert pulled.startswith("swiglu.backward of float32[2, 4]: the float32 kernel; input not")


def check_what_is_refused() -> None:
    x = tf.constant([1.0, 2.0])
    raises(
        TypeError, "with 3 operands: expected capped_gate(gate, up)", lambda: capped_gate(x, x, x)
    )
    raises(TypeError, "no parameter 'gate'", lambda: capped_gate(x, x, gate="second"))
    raises(ValueError, "which do not broadcast", lambda: capped_gate(x, tf.zeros(3)))
    raises(ValueError, "which do not broadcast", lambda: sg.gelu.backward(x, tf.zeros(3)))
    raises(ValueError, "odd length 3", lambda: capped_gate(tf.zeros(3)))
    raises(ValueError, "a half of x has (1,)", lambda: capped_gate.backward(x, tf.zeros(2)))
    raises(TypeError, "with two operands", lambda: capped_gate(x, x, axis=0))


def check_keras() -> None:
    a, b, _ = operands(np.float32)
    inputs = [keras.Input((20,)), keras.Input((20,))]
    outputs = [capped_gate(*inputs), *capped_gate.slope(*inputs), capped_gate(inputs[0])]
    model = keras.Model(inputs, outputs)
    with np.errstate(all="ignore"):
        wanted = [capped_gate(a, b), *capped_gate.slope(a, b), capped_gate(a)]
        copied = type(model).from_config(model.get_config())
        for one in (model, copied):
            found = one([tf.constant(a), tf.constant(b)])
            assert same_bits(without_payloads(found), without_payloads(wanted))
        found = capped_gate(keras.Variable(a), keras.Variable(b))
        assert same_bits(without_payloads([found]), without_payloads(wanted[:1]))
