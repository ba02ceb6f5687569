"""Checks of TensorFlow tensors, eager, in tf.function and under XLA (checking.py)."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from typing import Any

import float8
import ml_dtypes
import numpy as np
import tensorflow as tf
from checking import raises
from tensorflow_native import operators_only

import softgate as sg
from softgate.formula.formats import FLOAT32, FLOAT64, Format, ulp
from softgate.frameworks.tensorflow.cpu_kernels import aligned_like, array_of, tensor_of
from softgate.studies.accuracy import Reference
from softgate.studies.accuracy.samples import stratified
from softgate.studies.reproducibility.digests import digest, operands, published_digest

FORMATS = {
    tf.float16: np.float16,
    tf.bfloat16: ml_dtypes.bfloat16,
    tf.float32: np.float32,
    tf.float64: np.float64,
}
ULP = 4.0
"""The largest error of operators, in ulps; kernels return the bits of NumPy arrays."""
QUANTITIES = ("value", "slope")


@sg.activation
def wave(f: Any, x: Any, a: float = 1.0) -> Any:
    return x + f.sin(a * x) / a


def quantity(function: Any, name: str) -> Any:
    return function if name == "value" else getattr(function, name)


def points(function: Any, fmt: Format, kind: Any) -> np.ndarray:
    """Finite inputs, down to the smallest normal number: TensorFlow flushes subnormals to 0."""
    x = stratified(fmt, function.entry.intervals, 800).astype(kind)
    x = x[np.isfinite(x) & (np.abs(x) > 1e-30) & (np.abs(x) < 1e18)][:4000]
    tiny = np.geomspace(1, 64, 40) * np.finfo(kind).smallest_normal
    return np.concatenate([x, tiny, -tiny]).astype(kind)


def check_eager_tensors_have_numpys_bits() -> None:
    """Of each function one quantity in each of three formats, in turn.

    check_eager_tensors_have_the_published_bits looks at the values of all in float32.
    """
    names = (*QUANTITIES, "curvature")
    for i, function in enumerate(sg.activations().values()):
        narrow = (tf.float16, tf.bfloat16)[i % 2]
        chosen = {tf.float32: names[i % 3], tf.float64: names[(i + 1) % 3]}
        if i % 4 < 2:
            chosen[narrow] = "value"  # a table
        for dtype, name in chosen.items():
            x = np.linspace(-8, 8, 333).astype(FORMATS[dtype])
            result = quantity(function, name)(tf.constant(x))
            assert result.dtype == dtype
            wanted = np.asarray(quantity(function, name)(x))
            assert array_of(result).tobytes() == wanted.tobytes(), (function, name, dtype)


def check_eager_float8_tensors_have_numpys_bits() -> None:
    for name in ("float8_e4m3fn", "float8_e5m2", "float4_e2m1fn"):
        array = float8.patterns(name)
        x = tf.constant(array)
        for compute in (sg.gelu, sg.gelu.slope, sg.gelu.curvature):
            found = compute(x)
            assert found.dtype == x.dtype
            assert found.numpy().tobytes() == compute(array).tobytes()
        products = sg.gelu.backward(x, x)
        assert products.numpy().tobytes() == sg.gelu.backward(array, array).tobytes()
        for call in (tf.function(sg.gelu), lambda x: sg.swiglu(x, x)):
            raises(TypeError, "expected float16, bfloat16", lambda f=call, x=x: f(x))


def check_eager_tensors_have_the_published_bits() -> None:
    for name, function in sg.activations().items():
        (x,) = operands(function, "value", "float32")
        computed = digest(np.ascontiguousarray(array_of(function(tf.constant(x)))))
        assert computed == published_digest(name, "value", "float32"), name


def check_memory_is_neither_copied_nor_kept() -> None:
    out = aligned_like(np.zeros((3, 5), np.float32))
    out[:] = 2.0
    assert out.ctypes.data % 64 == 0
    assert np.shares_memory(array_of(tensor_of(out)), out)
    results = [sg.gelu(tf.fill((1 << 16,), float(i))) for i in range(8)]
    for i, y in enumerate(results):
        assert np.all(y.numpy() == sg.gelu(np.float32(i)))
    wide = tf.random.stateless_normal((1 << 18,), (1, 2))
    assert np.array_equal(sg.gelu(wide).numpy(), sg.gelu(wide.numpy()))
    assert np.array_equal(sg.gelu(wide[3:-2]).numpy(), sg.gelu(wide.numpy()[3:-2]))
    assert sg.gelu(tf.zeros((0, 3), tf.bfloat16)).shape == (0, 3)
    assert sg.gelu(tf.constant(1.0)).shape == ()
    assert np.array_equal(sg.gelu(tf.Variable([1.0])).numpy(), sg.gelu(np.ones(1, np.float32)))


def error_ulp(function: Any, name: str, fmt: Format, x: np.ndarray, y: np.ndarray) -> float:
    """The largest error against the float64 kernel (float32) or arb (float64)."""
    wide = x.astype(np.float64)
    truth = np.asarray(quantity(function, name)(wide))
    if fmt is FLOAT64:
        normal = np.flatnonzero((np.abs(truth) > 2.0**-1020) | (truth == 0))
        few = normal[:: max(1, normal.size // 150)]
        parameters = dict(function.parameters)
        return Reference(function.entry, name, parameters).against_arb(x[few], y[few], fmt).max_ulp
    scale = np.abs(truth)
    if name == "slope":
        scale = np.maximum(scale, np.abs(wide * function.curvature(wide)))
    if getattr(function.entry, "terms", None) is not None:  # it has a root where they cancel
        scale = Reference(function.entry, name, dict(function.parameters)).scale(wide, truth)
    normal = (np.abs(truth) > 2.0**-124) & (scale < 2.0**127)
    return float(np.max((np.abs(y - truth) / ulp(scale, fmt))[normal], initial=0.0))


@operators_only()
def check_operators_are_exact_in_functions() -> None:
    """In graphs of known and of unknown shape, after all that Grappler does to them.

    Limits at ±inf, and NaN, are those of the kernels.
    """
    ends = np.array([-np.inf, np.inf, np.nan])
    for fmt, dtype in ((FLOAT32, tf.float32), (FLOAT64, tf.float64)):
        for known in (False, True):  # the shape, when it is traced: for every other function
            functions = list(sg.activations().values())[known::2]
            xs = [points(function, fmt, FORMATS[dtype]) for function in functions]
            spec = [tf.TensorSpec(x.size + ends.size if known else None, dtype) for x in xs]
            # One of the quantities in float32, the other one in float64, in turn.
            names = [(QUANTITIES[(i + (fmt is FLOAT64)) % 2],) for i in range(len(xs))]

            @tf.function(input_signature=[spec], autograph=False)
            def evaluated(xs: Any, functions: Any = functions, names: Any = names) -> Any:
                cases = zip(functions, names, xs, strict=True)
                return [[quantity(f, name)(x) for name in chosen] for f, chosen, x in cases]

            results = evaluated([tf.constant(np.append(x, ends), dtype) for x in xs])
            for function, x, chosen, computed in zip(functions, xs, names, results, strict=True):
                for name, y in zip(chosen, computed, strict=True):
                    error = error_ulp(function, name, fmt, x, y.numpy()[: x.size])
                    assert error <= ULP, (function, name, fmt.name, error)
                    limits = quantity(function, name)(ends.astype(x.dtype))
                    close = np.allclose(y[x.size :], limits, 1e-6, 1e-37, equal_nan=True)
                    assert close, (function, name, fmt.name, y[x.size :])


def check_operators_are_exact_under_xla() -> None:
    chosen = [sg.gelu, sg.gelu_tanh, sg.silu, sg.elu, sg.phi]
    for fmt, dtype in ((FLOAT32, tf.float32), (FLOAT64, tf.float64)):
        xs = [points(function, fmt, FORMATS[dtype]) for function in chosen]

        @tf.function(jit_compile=True)
        def evaluated(xs: Any) -> Any:
            pairs = list(zip(chosen, xs, strict=True))
            return {"value": [f(x) for f, x in pairs], "slope": [f.slope(x) for f, x in pairs]}

        for name, results in evaluated([tf.constant(x) for x in xs]).items():
            for function, x, y in zip(chosen, xs, results, strict=True):
                error = error_ulp(function, name, fmt, x, y.numpy())
                assert error <= ULP, (function, name, fmt.name, error)


def check_the_measure_sees_tensorflows_own_error() -> None:
    """tf.nn.gelu rounds its constants to float32 whatever x is."""
    x = np.linspace(-3, 3, 101)
    for function, approximate in ((sg.gelu, False), (sg.gelu_tanh, True)):
        theirs = tf.nn.gelu(tf.constant(x), approximate=approximate).numpy()
        assert error_ulp(function, "value", FLOAT64, x, theirs) > 1e6
        for call in (function, tf.function(function), tf.function(function, jit_compile=True)):
            ours = call(tf.constant(x)).numpy()
            assert error_ulp(function, "value", FLOAT64, x, ours) <= ULP
            assert np.max(np.abs(ours - function(x))) < 1e-15


def derivative(call: Callable[[Any], Any], x: Any, order: int) -> Any:
    if order == 0:
        return call(x)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = derivative(call, x, order - 1)
    return tape.gradient(y, x)


def derivatives_up_to(order: int, call: Callable[[Any], Any], x: Any) -> list[Any]:
    """Return the value and the derivatives, each from a tape around the one before."""
    if order == 0:
        return [call(x)]
    with tf.GradientTape() as tape:
        tape.watch(x)
        lower = derivatives_up_to(order - 1, call, x)
    return [*lower, tape.gradient(lower[-1], x)]


def check_gradients_of_every_order() -> None:
    grid = np.linspace(-5, 5, 41)  # with 0, where |x| has no slope
    for dtype, kind in FORMATS.items():
        functions = (sg.gelu, sg.relu) if dtype.size == 2 else (sg.gelu, sg.softplus, sg.relu)
        x = tf.constant(grid.astype(kind))
        close = {2: 2.0**-7, 4: 1e-6, 8: 1e-14}[dtype.size]
        wanted = [q(array_of(x)) for f in functions for q in (f.slope, f.curvature)]

        def derived(x: Any, functions: Any = functions) -> Any:
            return [y for f in functions for y in derivatives_up_to(2, f, x)[1:]]

        for call in (derived, tf.function(derived)):
            for i, (result, exact) in enumerate(zip(call(x), wanted, strict=True)):
                error = np.abs(array_of(result).astype(np.float64) - exact.astype(np.float64))
                assert error.max() <= close * 2, (functions[i // 2], dtype, i % 2, error.max())


def check_third_derivatives_jacobians_and_forward_mode() -> None:
    grid = np.linspace(-4, 4, 33)
    x = tf.constant(grid)
    third = (grid**3 - 4 * grid) * np.exp(-grid * grid / 2) / np.sqrt(2 * np.pi)
    jit = tf.function(lambda x: derivative(sg.gelu, x, 3), jit_compile=True)
    for result in (derivative(sg.gelu, x, 3), jit(x)):
        assert np.max(np.abs(result.numpy() - third)) < 1e-13
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = sg.gelu(x)
    jacobian = tape.jacobian(y, x).numpy()
    assert np.max(np.abs(jacobian - np.diag(sg.gelu.slope(grid)))) < 1e-14
    with tf.autodiff.ForwardAccumulator(x, tf.ones_like(x)) as forward:
        y = sg.gelu(x)
    assert np.max(np.abs(forward.jvp(y).numpy() - sg.gelu.slope(grid))) < 1e-14


def check_tapes_around_functions() -> None:
    """Every order, where the function is traced first and differentiated from without.

    squareplus has the smallest graphs: (x + r)/2, r = sqrt(x*x + 4).
    """
    grid = np.linspace(-4, 4, 17)
    x = tf.constant(grid)
    third = -6 * grid / (grid * grid + 4) ** 2.5
    function = sg.squareplus
    true = (function(grid), function.slope(grid), function.curvature(grid), third)
    plain, compiled = tf.function(function), tf.function(function, jit_compile=True)
    for highest, call in ((3, plain), (2, compiled), (2, tf.function(plain))):
        for order, result in enumerate(derivatives_up_to(highest, call, x)):
            assert np.max(np.abs(result.numpy() - true[order])) < 1e-13, order
    for call in (plain, compiled):
        inside = tf.function(lambda x, call=call: derivative(call, x, 2))
        assert np.max(np.abs(derivative(inside, x, 1).numpy() - third)) < 1e-13
        with tf.autodiff.ForwardAccumulator(x, tf.ones_like(x)) as forward:
            y, slope = call(x), derivative(call, x, 1)
        assert np.max(np.abs(forward.jvp(y).numpy() - true[1])) < 1e-13
        assert np.max(np.abs(forward.jvp(slope).numpy() - true[2])) < 1e-13
    for function in (sg.relu, lambda x: sg.swiglu(x, x)):
        wanted = derivative(function, x, 2).numpy()
        result = derivative(tf.function(function), x, 2).numpy()
        assert np.max(np.abs(result - wanted)) < 1e-13


def check_backward_gated_and_formulas() -> None:
    x, other = np.linspace(-4, 4, 24, dtype=np.float32).reshape(2, 12), np.float32(1.5)
    tensor = tf.constant(x)
    ends = tf.constant([-np.inf, np.inf, np.nan, 2.0], tf.float32)

    def evaluated(x: Any, ends: Any) -> Any:
        gates = [(f(x), f(x, x + 1, gate="second")) for f in sg.gated().values()]
        pulled = sg.gelu.backward(x, tf.constant(other))
        return (
            gates,
            pulled,
            wave(ends, a=2.0),
            sg.leaky_relu(x, slope=0.3),
            sg.gelu(x, arithmetic="float64"),
        )

    for call in (evaluated, tf.function(evaluated)):
        gates, pulled, waves, leaky, once = call(tensor, ends)
        for function, (halves, both) in zip(sg.gated().values(), gates, strict=True):
            assert np.allclose(halves.numpy(), function(x), rtol=1e-6, atol=1e-7), function
            wanted = function(x, x + np.float32(1), gate="second")
            assert np.allclose(both.numpy(), wanted, rtol=1e-6, atol=1e-7), function
        assert np.allclose(pulled, sg.gelu.backward(x, other), rtol=1e-6, atol=0)
        assert np.array_equal(waves[:3], [-np.inf, np.inf, np.nan], equal_nan=True)
        assert waves[3] == wave(np.float32(2.0), a=2.0)
        assert np.allclose(leaky, sg.leaky_relu(x, slope=0.3), rtol=1e-6)
        assert np.array_equal(once, sg.gelu(x, arithmetic="float64"))


def check_derivatives_of_gated_functions() -> None:
    x = np.linspace(-4, 4, 24, dtype=np.float32).reshape(2, 12)
    tensor = tf.constant(x)
    for function in (sg.swiglu, sg.reglu):

        @tf.function
        def traced(x: Any, function: Any = function) -> Any:
            derived = (*function.slope(x, x + 1), *function.curvature(x, x + 1))
            return *derived, function.backward(x, x[:, :6])

        wanted = (*function.slope(x, x + 1), *function.curvature(x, x + 1))
        for first, other in zip(
            traced(tensor), (*wanted, function.backward(x, x[:, :6])), strict=True
        ):
            assert np.allclose(first.numpy(), other, rtol=1e-5, atol=1e-6), function
        for first, other in zip(function.slope(tensor, 2.0), function.slope(x, 2.0), strict=True):
            assert np.allclose(first.numpy(), other, rtol=1e-5, atol=1e-6), function


@operators_only()
def check_the_smallest_normal_numbers() -> None:
    """A product on the way, with less than half of the result, must not be taken for 0."""
    size = np.geomspace(1.2e-38, 1e-36, 500).astype(np.float32)
    x = np.concatenate([-size, size])
    wanted = sg.selu(x)
    result = tf.function(sg.selu)(tf.constant(x)).numpy()
    assert np.max(np.abs(result - wanted.astype(np.float64)) / np.spacing(np.abs(wanted))) <= 2


def check_third_derivatives_far_out() -> None:
    far = tf.constant([-np.inf, -1e30, -1e6, 1e6, 1e30, np.inf], tf.float32)
    slow = {"sqrtsoftplus": 1e-15, "log_ndtr": 1e-15}  # as x**-2.5 and x**-3
    for name, function in sg.activations().items():
        at = far[:3] if name == "exponential" else far  # it is its own derivative
        result = derivative(function, at, 3).numpy()
        assert np.allclose(result, 0.0, rtol=0, atol=slow.get(name, 1e-20)), (function, result)
    for wrap in (tf.function, lambda f: f):
        result = derivative(wrap(sg.softplus), far, 4).numpy()
        assert np.array_equal(result, np.zeros(6)), result


def check_saved_functions() -> None:
    class Module(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec([None, 3], tf.float32)])
        def __call__(self, x: Any) -> Any:
            return sg.gelu(x)

    with tempfile.TemporaryDirectory() as folder:
        tf.saved_model.save(Module(), folder)
        loaded = tf.saved_model.load(folder)
        result, slope = (derivative(loaded, tf.ones((2, 3)), order).numpy() for order in (0, 1))
    assert np.allclose(result, sg.gelu(np.ones((2, 3), np.float32)), rtol=1e-6)
    assert np.allclose(slope, sg.gelu.slope(np.ones((2, 3), np.float32)), rtol=1e-6)


def check_what_explain_says() -> None:
    x = tf.zeros((2, 3))
    message = "gelu of float32[2, 3]: the float32 kernel; input not copied; 1 thread"
    assert str(sg.explain(x)) == message
    assert str(sg.explain((x, x), sg.swiglu)) == message.replace("gelu", "swiglu")


def check_what_is_refused() -> None:
    x = tf.constant([1.0])
    raises(TypeError, "gelu of a int32 tensor", lambda: sg.gelu(tf.constant([1])))
    raises(TypeError, "out=", lambda: sg.gelu(x, out=np.zeros(1, np.float32)))
    raises(TypeError, "no parameter 'slope'", lambda: sg.gelu(x, slope=1.0))
    raises(ValueError, 'expected "float64"', lambda: sg.gelu(x, arithmetic="float32"))
    raises(TypeError, "convert one of them", lambda: sg.gelu.backward(x, np.ones(1)))
    double = tf.constant([1.0], tf.float64)
    raises(TypeError, "convert one of them", lambda: sg.gelu.backward(x, double))
    raises(ValueError, "odd length 3", lambda: sg.swiglu(tf.zeros((2, 3))))
    raises(TypeError, "with two operands", lambda: sg.swiglu(x, x, axis=0))
    raises(TypeError, "float32 and float64", lambda: sg.swiglu(x, tf.cast(x, tf.float64)))
    ragged, sparse = tf.ragged.constant([[1.0], []]), tf.sparse.from_dense([[1.0, 0.0]])
    raises(TypeError, "tf.ragged.map_flat_values", lambda: sg.gelu(ragged))
    raises(TypeError, "x.values", lambda: sg.gelu(sparse))
    assert tf.ragged.map_flat_values(sg.gelu, ragged).flat_values[0] == sg.gelu(np.float32(1))


def check_backward_takes_numbers_and_arrays() -> None:
    x = np.linspace(-2, 2, 9, dtype=np.float32)
    tensor = tf.constant(x)
    assert np.array_equal(sg.gelu.backward(tensor, 2.0), sg.gelu.backward(x, np.float32(2)))
    assert np.array_equal(sg.gelu.backward(tensor, x), sg.gelu.backward(x, x))
    assert np.array_equal(sg.gelu.backward(x, tensor), sg.gelu.backward(x, x))
