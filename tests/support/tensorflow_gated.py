"""Gated functions of TensorFlow tensors and in Keras: the bits of NumPy arrays (checking.py)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import keras
import ml_dtypes
import numpy as np
import tensorflow as tf

import softgate as sg
import softgate.keras

WORDS = {2: np.uint16, 4: np.uint32, 8: np.uint64}
KINDS = (np.float16, ml_dtypes.bfloat16, np.float32, np.float64)
MODES = ("eager", "function", "gradients")


def pairs(kind: Any) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Twelve gates and other operands; the smallest values of gates, times large numbers."""
    random = np.random.default_rng(30)
    largest = float(ml_dtypes.finfo(kind).max) / 4
    row = np.linspace(-12, 12, 97)
    for gate, other in (
        ([-14.0], [min(1e9, largest)]),
        ([-200.0], [min(1e30, largest)]),
        (row, np.ones(97)),
        (row, np.full(97, largest / 16)),
        (np.linspace(-40, 5, 301), np.full(301, min(3e4, largest))),
        (np.linspace(-110, -12, 301), np.full(301, -min(1e12, largest))),
        (np.linspace(-760, -80, 301), np.full(301, largest)),
        (random.normal(size=300), random.normal(size=300)),
        (8 * random.normal(size=(3, 7)), 1e-3 * random.normal(size=(3, 7))),
        ([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0], [1.0, -1.0, 2.0, 3.0, 4.0, np.nan]),
        (random.normal(size=(4, 1)), random.normal(size=(4, 1))),
        (np.zeros((0, 3)), np.zeros((0, 3))),
    ):
        yield np.asarray(gate).astype(kind), np.asarray(other).astype(kind)


def flat(x: Any) -> np.ndarray:
    return np.ascontiguousarray(x)


def same_bits(results: Any, wanted: Any) -> bool:
    for found, exact in zip(map(flat, results), map(flat, wanted), strict=True):
        word = WORDS[exact.dtype.itemsize]
        if (found.shape, found.dtype) != (exact.shape, exact.dtype):
            return False
        if not np.array_equal(found.view(word), exact.view(word)):
            return False
    return True


def gradients(function: Any, a: Any, b: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch((a, b))
        y = function(a, b)
    return tape.gradient(y, (a, b))


def values(function: Any, pairs: Any) -> Any:
    return [(function(a, b),) for a, b in pairs]


def slopes(function: Any, pairs: Any) -> Any:
    return [gradients(function, a, b) for a, b in pairs]


def computed(function: Any, mode: str, pairs: Any) -> list[tuple[Any, ...]]:
    """Return the results of each pair; the gradients are those of both modes."""
    if mode == "eager":
        return values(function, pairs)
    if mode == "function":
        return tf.function(lambda pairs: values(function, pairs))(pairs)
    traced = tf.function(lambda pairs: slopes(function, pairs))(pairs)
    return [(*a, *b) for a, b in zip(slopes(function, pairs), traced, strict=True)]


def check_864_results_have_numpys_bits() -> None:
    count, different = 0, []
    for name, function in sg.gated().items():
        for kind, mode in product(KINDS, MODES):
            arrays = [(b, a) if name == "glu" else (a, b) for a, b in pairs(kind)]
            results = computed(function, mode, [tuple(map(tf.constant, pair)) for pair in arrays])
            for i, (a, b) in enumerate(arrays):
                with np.errstate(all="ignore"):
                    pulled = function.backward(a, b, np.ones_like(a))
                    wanted = (*pulled, *pulled) if mode == "gradients" else (function(a, b),)
                count += 1
                if not same_bits(results[i], wanted):
                    different.append((name, np.dtype(kind).name, mode, i))
    assert count == 864
    assert not different, different


def check_different_bits_are_seen() -> None:
    zero = np.zeros(1, np.float32)
    assert not same_bits([zero], [-zero])
    assert not same_bits([zero], [zero.astype(np.float64)])
    assert not same_bits([np.zeros(2, np.float32)], [zero])


def check_other_calls_have_numpys_bits() -> None:
    """Halves, broadcast operands, numbers, parameters, all quantities; eager and in a function."""
    x = np.linspace(-30, 9, 48, dtype=np.float32).reshape(4, 12)
    row, grad = np.float32([[1e9], [2.0], [-3.0], [1e30]]), x[:, ::-1].copy()
    for function in sg.gated().values():
        second = function.bind(gate="second")
        calls = {
            "halves": lambda x, row, grad, f=function: [f(x), f(x, axis=0)],
            "broadcast": lambda x, row, grad, f=function: [f(x, row), f(row, x), f(x, 3.0)],
            "gate": lambda x, row, grad, f=second: [f(x), f(x, row)],
            "slope": lambda x, row, grad, f=function: [*f.slope(x, row), f.slope(x)],
            "curvature": lambda x, row, grad, f=function: [*f.curvature(x, row), *f.curvature(x)],
            "backward": lambda x, row, grad, f=function: [
                *f.backward(x, row, grad),
                f.backward(x, grad[:, :6]),
            ],
            "float64": lambda x, row, grad, f=function: [f(x, row, arithmetic="float64")],
        }
        if function.name == "swiglu":
            calls["beta"] = lambda x, row, grad: [sg.swiglu(x, row, beta=1.5)]
        for what, call in calls.items():
            with np.errstate(all="ignore"):
                wanted = call(x, row, grad)
            tensors = [tf.constant(v) for v in (x, row, grad)]
            unknown = [tf.TensorSpec([None, None], tf.float32)] * 3
            graphs = tf.function(call), tf.function(call, input_signature=unknown)
            for run in (call, *graphs):
                assert same_bits(run(*tensors), wanted), (function, what, run)
    for kind in KINDS[:2]:  # rounded from float64
        half = x.astype(kind)
        assert same_bits(
            sg.swiglu.curvature(tf.constant(half), tf.constant(half)),
            sg.swiglu.curvature(half, half),
        )


def check_second_derivatives() -> None:
    gate, other = np.linspace(-4, 4, 33), np.linspace(3, -2, 33)
    for function in (sg.geglu, sg.swiglu, sg.clamped_swiglu):
        twice, mixed, _ = function.curvature(gate, other)

        def second(a: Any, b: Any, function: Any = function) -> Any:
            with tf.GradientTape() as tape:
                tape.watch((a, b))
                by_gate, _ = gradients(function, a, b)
            return tape.gradient(by_gate, (a, b))

        for run in (second, tf.function(second), tf.function(second, jit_compile=True)):
            results = run(tf.constant(gate), tf.constant(other))
            for result, exact in zip(results, (twice, mixed), strict=True):
                assert np.allclose(result, exact, rtol=1e-12, atol=1e-14), function


def check_third_derivatives() -> None:
    """The gradients of the three results of a curvature."""
    gate, other = np.linspace(-4, 4, 33), np.linspace(3, -2, 33)
    third = (sg.silu.curvature(gate + 1e-5) - sg.silu.curvature(gate - 1e-5)) / 2e-5

    def derivatives(a: Any, b: Any, part: int) -> Any:
        with tf.GradientTape() as tape:
            tape.watch((a, b))
            y = sg.swiglu.curvature(a, b)[part]
        return tape.gradient(y, (a, b), unconnected_gradients="zero")

    zero = np.zeros_like(gate)
    bent = sg.silu.curvature(gate)
    for part, wanted in enumerate([(third * other, bent), (bent, zero), (zero, zero)]):
        for run in (derivatives, tf.function(derivatives)):
            results = run(tf.constant(gate), tf.constant(other), part)
            for result, exact in zip(results, wanted, strict=True):
                assert np.allclose(result, exact, rtol=1e-8, atol=1e-9), part


def check_one_tensor_as_both_operands() -> None:
    """x²·sigmoid(x), whose third derivative the tapes of tapes return."""
    x = np.linspace(-4, 4, 17)
    s = sg.sigmoid(x)
    d1, d2 = sg.sigmoid.slope(x), sg.sigmoid.curvature(x)
    d3 = d2 * (1 - 2 * s) - 2 * d1 * d1
    wanted = (x * x * s, 2 * x * s + x * x * d1, 2 * s + 4 * x * d1 + x * x * d2)
    wanted = (*wanted, 6 * d1 + 6 * x * d2 + x * x * d3)

    def derivative(x: Any, order: int) -> Any:
        if order == 0:
            return sg.swiglu(x, x)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = derivative(x, order - 1)
        return tape.gradient(y, x)

    for order, exact in enumerate(wanted):
        traced = tf.function(lambda x, order=order: derivative(x, order))
        for result in (derivative(tf.constant(x), order), traced(tf.constant(x))):
            assert np.allclose(result, exact, rtol=1e-12, atol=1e-13), order


def check_normal_results_under_xla() -> None:
    """XLA flushes subnormal numbers: a small value of the gate times a large number is normal."""
    assert tf.function(sg.geglu, jit_compile=True)(-14.0, 1e9) != 0
    for name, function in sg.gated().items():
        gate = np.linspace(-100, 6, 2001, dtype=np.float32)
        other = np.full_like(gate, 1e12)
        operands = (other, gate) if name == "glu" else (gate, other)
        wide = [x.astype(np.float64) for x in operands]
        by_a, by_b = function.backward(*wide, np.ones(2001))

        @tf.function(jit_compile=True)
        def run(a: Any, b: Any, function: Any = function) -> Any:
            return function(a, b), *gradients(function, a, b)

        # A tail whose value alone is no float32, not even a subnormal one, is 0 in kernels too.
        tail = np.abs(function.gate_activation(gate.astype(np.float64))) > 1e-44
        results = run(*map(tf.constant, operands))
        for result, exact in zip(results, (function(*wide), by_a, by_b), strict=True):
            shown = tail & (np.abs(exact) > 2.4e-38)
            assert np.allclose(result.numpy()[shown], exact[shown], rtol=1e-5, atol=0), name


def check_products_keep_their_factors_apart() -> None:
    """No optimiser may merge a factor outside with the other operand, to infinity."""
    for jit in (False, True):
        outside = tf.function(lambda x, y: 1e20 * sg.swiglu(x, y), jit_compile=jit)
        assert outside(tf.constant(-200.0), tf.constant(1e30)) == 0
        constant = tf.function(lambda: 1e20 * sg.swiglu(-200.0, tf.constant(1e30)), jit_compile=jit)
        assert constant() == 0


def check_keras_models() -> None:
    gate, other = np.float32([[-14.0], [2.0]]), np.float32([[1e9], [3.0]])
    for name, function in sg.gated().items():
        operands = (other, gate) if name == "glu" else (gate, other)
        inputs = [keras.Input((1,)), keras.Input((1,))]
        model = keras.Model(inputs, getattr(softgate.keras, name)(*inputs))
        model.compile("sgd", "mse", jit_compile=False)
        copied = type(model).from_config(model.get_config())
        copied.compile("sgd", "mse", jit_compile=False)
        for one in (model, copied):
            result = one.predict(list(operands), verbose=0)
            assert same_bits([result], [function(*operands)]), name
        variables = [keras.Variable(x) for x in operands]
        assert same_bits([function(*variables)], [function(*operands)]), name
    block = softgate.keras.GatedFeedForward(1, 1, "geglu")
    block.build((None, 1))
    block.set_weights([np.float32([[-14.0]]), np.float32([[1e9]]), np.float32([[1.0]])])
    assert block(np.float32([[1.0]])).numpy() == sg.geglu(gate[:1], other[:1])


def check_keras_shapes() -> None:
    x = keras.Input((6, 4), dtype="float64")
    assert sg.swiglu(x).shape == (None, 6, 2)
    assert sg.swiglu(x, axis=1).shape == (None, 3, 4)
    assert sg.swiglu(x, x[:, :1]).shape == (None, 6, 4)
    assert [y.shape for y in sg.swiglu.slope(x, x)] == [(None, 6, 4)] * 2
    assert sg.swiglu.slope(x).shape == (None, 6, 4)
    assert [y.shape for y in sg.swiglu.curvature(x)] == [(None, 6, 2)] * 3
    value = np.linspace(-3, 3, 48).reshape(2, 6, 4)
    model = keras.Model(x, [*sg.swiglu.slope(x, 2.0), sg.swiglu.backward(x, x[..., :2])])
    wanted = (*sg.swiglu.slope(value, 2.0), sg.swiglu.backward(value, value[..., :2]))
    assert same_bits(model(value), wanted)


def check_explain_names_the_kernel() -> None:
    x = tf.constant(np.ones((3, 8), np.float32))
    line = str(sg.explain(x, activation="swiglu"))
    assert line.startswith("swiglu of float32[3, 8]: the float32 kernel")
    assert "input not copied" in line
