"""Checks of kernels in TensorFlow's graphs, and of all that needs operators in their place."""

from __future__ import annotations

import gc
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import keras
import ml_dtypes
import numpy as np
import tensorflow as tf
from checking import raises
from tensorflow.python.autograph.impl import api as autograph

import softgate as sg
import softgate.keras
from softgate.frameworks.tensorflow import cpu_kernels
from softgate.frameworks.tensorflow.derivatives import derivatives

RANDOM = np.random.default_rng(11)
WORDS = {2: np.uint16, 4: np.uint32, 8: np.uint64}
X = RANDOM.normal(size=(24, 8)).astype(np.float32)
TENSOR = tf.constant(X)
CLOSE = {"rtol": 1e-5, "atol": 1e-6}


@contextmanager
def operators_only() -> Iterator[None]:
    """Run graphs in TensorFlow's operators, as on other devices and where there is no op."""
    tf.config.optimizer.set_experimental_options({"implementation_selector": False})
    try:
        yield
    finally:
        tf.config.optimizer.set_experimental_options({"implementation_selector": True})


def patterns(kind: Any) -> np.ndarray:
    """All inputs of a 16-bit format; of a wider one random bits, with subnormals and NaN."""
    word = WORDS[np.dtype(kind).itemsize]
    if np.dtype(kind).itemsize == 2:
        return np.arange(1 << 16, dtype=word).view(kind)
    bits = RANDOM.integers(0, np.iinfo(word).max, 1 << 15, dtype=word)
    tiny = RANDOM.integers(0, 1 << 22, 1 << 10, dtype=word)
    return np.concatenate([bits, tiny]).view(kind)


def different(result: Any, wanted: Any) -> int:
    """Count the elements with other bits."""
    first, other = np.asarray(result), np.asarray(wanted)
    assert first.shape == other.shape
    assert first.dtype == other.dtype
    word = WORDS[first.dtype.itemsize]
    return int(np.sum(np.ascontiguousarray(first).view(word) != other.view(word)))


def gradient(call: Any, x: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = call(x)
    return y, tape.gradient(y, x)


def second(call: Any, x: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        slope = gradient(call, x)[1]
    return tape.gradient(slope, x)


def check_graphs_have_numpys_bits() -> None:
    assert cpu_kernels.unavailable(in_graphs=True) is None
    functions = {
        np.float16: (sg.gelu, sg.relu),
        ml_dtypes.bfloat16: (sg.relu, sg.softplus),
        np.float32: (sg.gelu, sg.relu, sg.softplus),
        np.float64: (sg.gelu,),
    }
    for kind, chosen in functions.items():
        x = patterns(kind)
        tensor, one = tf.constant(x), np.ones_like(x)
        for function in chosen:

            @tf.function(autograph=False)
            def run(x: Any, function: Any = function) -> Any:
                return *gradient(function, x), second(function, x), function.curvature(x)

            with np.errstate(all="ignore"):
                curvature = function.curvature(x)
                wanted = (function(x), function.backward(x, one), curvature, curvature)
            for name, result, exact in zip(
                ("value", "slope", "second", "curvature"), run(tensor), wanted, strict=True
            ):
                other = exact
                if name == "second":  # a product of TensorFlow, which flushes subnormal numbers
                    size = np.abs(exact.astype(np.float64))
                    normal = np.isfinite(size) & (size >= ml_dtypes.finfo(kind).smallest_normal)
                    other = np.where(normal, exact, result)
                assert different(result, other) == 0, (function, kind, name)


def check_the_count_of_different_bits_can_fail() -> None:
    assert different(np.array([0.0, np.nan]), np.array([-0.0, np.nan])) == 1
    with operators_only():
        x = tf.constant(patterns(np.float32))
        assert different(tf.function(sg.gelu)(x), sg.gelu(x.numpy())) > 0


def check_autograph_does_not_rewrite_softgate() -> None:
    """It would take seconds, as the sources of all functions that a call runs are parsed."""
    rewritten: list[str] = []

    def record(entity: Any, context: Any) -> Any:
        rewritten.append(entity.__module__)
        return original(entity, context)

    original = autograph._convert_actual
    try:
        autograph._convert_actual = record
        tf.function(lambda x: (sg.elu(x), sg.elu.slope(x), sg.swiglu(x, x)))(TENSOR)
        tf.function(sg.elu)(TENSOR)
    finally:
        autograph._convert_actual = original
    assert set(rewritten) == {__name__}


def check_parameters_arithmetic_and_formulas_in_graphs() -> None:
    leaky = tf.function(lambda x: sg.leaky_relu(x, slope=0.3))
    assert different(leaky(TENSOR), sg.leaky_relu(X, slope=0.3)) == 0
    wide = tf.function(lambda x: sg.gelu(x, arithmetic="float64"))
    assert different(wide(TENSOR), sg.gelu(X, arithmetic="float64")) == 0


def check_a_graph_outlives_its_function() -> None:
    @sg.activation
    def mine(f: Any, x: Any) -> Any:
        return x * f.sigmoid(2 * x)

    wanted = mine(X)
    graph = tf.function(lambda x, act=mine: act(x)).get_concrete_function(TENSOR)
    del mine
    derivatives.cache_clear()
    gc.collect()
    assert different(graph(TENSOR), wanted) == 0
    assert different(tf.function(lambda x: graph(x) + 0.0)(TENSOR), wanted) == 0


def check_control_flow_and_shapes() -> None:
    three = sg.gelu(sg.gelu(sg.gelu(X)))

    @tf.function
    def loop(x: Any) -> Any:
        for _ in tf.range(3):
            x = sg.gelu(x)
        return x

    assert different(loop(TENSOR), three) == 0
    branch = tf.function(lambda x: tf.cond(x[0, 0] > 9, lambda: x, lambda: sg.gelu(x)))
    assert different(branch(TENSOR), sg.gelu(X)) == 0
    unknown = tf.function(sg.gelu, input_signature=[tf.TensorSpec(None, tf.float32)])
    for x in (X, X[:0], X[0, 0].reshape(())):
        assert different(unknown(tf.constant(x)), sg.gelu(x)) == 0
        assert different(sg.gelu(tf.constant(x)), sg.gelu(x)) == 0
    known = tf.function(sg.gelu).get_concrete_function(tf.TensorSpec([None, 3], tf.float32))
    assert known.output_shapes.as_list() == [None, 3]
    assert different(tf.map_fn(sg.gelu, TENSOR), sg.gelu(X)) == 0


def check_several_threads() -> None:
    x = RANDOM.normal(size=1 << 18).astype(np.float32)
    tensor, wanted, errors = tf.constant(x), sg.gelu(x), []
    call = tf.function(sg.gelu)
    call(tensor)

    def work() -> None:
        errors.extend(different(f(tensor), wanted) for f in (call, sg.gelu) * 5)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == [0] * 40
    child = os.fork()
    if child == 0:
        try:
            same = different(sg.gelu(x), wanted) == 0
        finally:
            os._exit(0 if same else 1)
    assert os.waitpid(child, 0)[1] == 0


def check_xla_and_maps_see_operators() -> None:
    """Also of a function that was traced, and ran with the kernel, before."""
    plain = tf.function(sg.gelu)
    assert different(plain(TENSOR), sg.gelu(X)) == 0
    inside = tf.function(lambda x: plain(x) * 2.0, jit_compile=True)
    assert np.allclose(inside(TENSOR), 2 * sg.gelu(X), **CLOSE)
    slope = tf.function(lambda x: gradient(plain, x)[1], jit_compile=True)
    assert np.allclose(slope(TENSOR), sg.gelu.slope(X), **CLOSE)
    mapped = tf.data.Dataset.from_tensor_slices(TENSOR).map(plain, num_parallel_calls=2)
    for result in (
        tf.vectorized_map(sg.gelu, TENSOR),
        tf.vectorized_map(plain, TENSOR),
        np.stack(list(mapped.as_numpy_iterator())),
    ):
        assert np.allclose(result, sg.gelu(X), **CLOSE)
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        x = tf.compat.v1.placeholder(tf.float32, X.shape)
        y = sg.gelu(x)
        result, slope = session.run([y, tf.gradients(y, x)[0]], {x: X})
    assert np.allclose(result, sg.gelu(X), **CLOSE)
    assert np.allclose(slope, sg.gelu.slope(X), **CLOSE)


def check_tflite() -> None:
    plain = tf.function(sg.relu)
    plain(TENSOR)
    convert = tf.lite.TFLiteConverter.from_concrete_functions
    converter = convert([plain.get_concrete_function(tf.TensorSpec(X.shape, tf.float32))], plain)
    interpreter = tf.lite.Interpreter(model_content=converter.convert())
    interpreter.allocate_tensors()
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], X)
    interpreter.invoke()
    result = interpreter.get_tensor(interpreter.get_output_details()[0]["index"])
    assert np.array_equal(result, sg.relu(X))


class Module(tf.Module):
    @tf.function(input_signature=[tf.TensorSpec([None, 8], tf.float32)])
    def __call__(self, x: Any) -> Any:
        return sg.gelu(x)

    @tf.function(input_signature=[tf.TensorSpec([None, 8], tf.float32)])
    def slope(self, x: Any) -> Any:
        return gradient(sg.gelu, x)[1]


def trained(activation: Any, **options: Any) -> Any:
    """Return a Keras model after one epoch, and its loss."""
    keras.utils.set_random_seed(0)
    layers = [keras.layers.Dense(16, activation=activation), keras.layers.Dense(1)]
    model = keras.Sequential([keras.Input((8,)), *layers])
    model.compile("sgd", "mse", **options)
    history = model.fit(X, X[:, :1], batch_size=8, verbose=0, shuffle=False)
    return model, history.history["loss"][0]


def check_files_are_written() -> None:
    """Files of functions and models that have run; tensorflow_files.py loads them."""
    folder = sys.argv[1]
    module = Module()
    assert different(module(TENSOR), sg.gelu(X)) == 0
    slope = module.slope(TENSOR)
    model, _ = trained(softgate.keras.gelu)
    options = tf.saved_model.SaveOptions(experimental_custom_gradients=True)
    tf.saved_model.save(module, f"{folder}/module", options=options)
    model.save(f"{folder}/model.keras")
    model.export(f"{folder}/exported", verbose=False)
    tf.saved_model.save(model, f"{folder}/saved")
    y = model.predict(X, verbose=0)
    np.savez(f"{folder}/stored.npz", x=X, y=y, value=module(TENSOR), slope=slope)


def check_keras_trains_alike_in_every_mode() -> None:
    """Without `jit_compile` Keras compiles with XLA wherever a model allows it."""
    _, wanted = trained("gelu", jit_compile=False)
    strategy = tf.distribute.MirroredStrategy(["CPU:0"])
    for options in ({"jit_compile": False}, {"run_eagerly": True}, {"jit_compile": True}):
        assert np.isclose(trained(softgate.keras.gelu, **options)[1], wanted, rtol=1e-5), options
    with strategy.scope():
        assert np.isclose(trained(softgate.keras.gelu)[1], wanted, rtol=1e-5)
    for policy, jit in (("mixed_float16", True), ("mixed_bfloat16", False)):
        keras.mixed_precision.set_global_policy(policy)
        try:
            loss = trained(softgate.keras.gelu, jit_compile=jit)[1]
            assert np.isclose(loss, wanted, rtol=0.05), policy
        finally:
            keras.mixed_precision.set_global_policy("float32")


def check_nodes_that_cannot_run() -> None:
    kernel = derivatives(sg.gelu, (), None)._kernel("backward", tf.float32)
    error = tf.errors.InvalidArgumentError
    raises(error, "different sizes", lambda: cpu_kernels.evaluate(kernel, TENSOR, TENSOR[0]))
    original = cpu_kernels.PROCESS
    try:
        cpu_kernels.PROCESS = original + 1
        raises(error, "of another process", lambda: cpu_kernels.evaluate(kernel, TENSOR, TENSOR))
    finally:
        cpu_kernels.PROCESS = original

    @tf.function
    def forward_mode(x: Any) -> Any:
        with tf.autodiff.ForwardAccumulator(x, tf.ones_like(x)) as forward:
            y = sg.gelu(x)
        return forward.jvp(y)

    raises(NotImplementedError, "use tf.GradientTape", lambda: forward_mode(TENSOR))


def check_eager_kernels_are_bounded() -> None:
    limit = cpu_kernels.MOST_EAGER
    cpu_kernels.MOST_EAGER = 0
    try:
        parameters = {"slope": 0.625}
        y, slope = gradient(lambda x: sg.leaky_relu(x, **parameters), TENSOR)
    finally:
        cpu_kernels.MOST_EAGER = limit
    assert different(y, sg.leaky_relu(X, **parameters)) == 0
    assert different(slope, sg.leaky_relu.slope(X, **parameters)) == 0


def explained(x: Any, **options: Any) -> str:
    lines: list[str] = []
    tf.function(lambda x: lines.append(str(sg.explain(x, **options))) or x)(x)
    return lines[0]


def check_explain_names_the_path() -> None:
    where = "where TensorFlow runs the graph (its operators under XLA and in files)"
    assert explained(TENSOR) == f"gelu of float32[24, 8]: the float32 kernel {where}; " + (
        "input not copied; 1 thread"
    )
    narrow = explained(tf.cast(TENSOR, tf.bfloat16))
    assert "a table of the 65,536 bfloat16 results, correctly rounded where" in narrow
    size = cpu_kernels.threads(None)
    wide = f"up to {size} threads" if size > 1 else "1 thread"
    assert str(sg.explain(tf.zeros(1 << 22))).endswith(f"input not copied; {wide}")
    with operators_only():
        line = explained(tf.cast(TENSOR, tf.bfloat16), activation="silu")
    assert line.startswith("silu of bfloat16[24, 8]: the float32 kernel's formula in TensorFlow")
    assert "rounded once to bfloat16 (no kernels in graphs: tf.config.optimizer" in line
