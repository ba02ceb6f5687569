"""softgate's kernels inside JAX programs on CPUs: bits of NumPy arrays under transformations."""

from __future__ import annotations

import gc
import hashlib
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import equinox
import flax.linen
import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from xla_once import run_once

import softgate as sg
import softgate.jax
from softgate.frameworks.jax import cpu_kernels, private
from softgate.runtime import kernels
from softgate.runtime.activation import Activation

WORDS = {2: np.uint16, 4: np.uint32, 8: np.uint64}


def patterns(dtype: Any, count: int = 1000, seed: int = 0) -> Any:
    """Return random bit patterns, numbers around 1, and special values."""
    rng = np.random.default_rng(seed)
    word = WORDS[np.dtype(dtype).itemsize]
    bits = rng.integers(0, np.iinfo(word).max, count, dtype=word, endpoint=True).view(dtype)
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-40, -1e-45, -13.4, 5e-324])
    return np.concatenate([bits, rng.normal(0, 4, count).astype(dtype), special.astype(dtype)])


def differing(result: Any, expected: Any) -> int:
    """Return how many elements have other bits; every NaN is equal to every other."""
    x, y = np.asarray(result), np.asarray(expected)
    assert (x.shape, x.dtype) == (y.shape, y.dtype)
    word = WORDS[x.itemsize]
    with np.errstate(invalid="ignore"):
        both_nan = np.isnan(x.astype(np.float64)) & np.isnan(y.astype(np.float64))
    return int(np.sum((x.view(word) != y.view(word)) & ~both_nan))


def check_quantities(activation: Activation, x: Any, grad: Any, **parameters: float) -> None:
    """Compare value, slope, backward and the gradient under jit with those of NumPy arrays."""

    def quantities(x: Any, grad: Any) -> dict[str, Any]:
        def value(x: Any) -> Any:
            return activation(x, **parameters)

        return {
            "value": value(x),
            "slope": activation.slope(x, **parameters),
            "backward": activation.backward(x, grad, **parameters),
            "gradient": jax.vjp(value, x)[1](grad)[0],
        }

    results = jax.jit(quantities)(x, grad)
    backward = activation.backward(x, grad, **parameters)
    expected = {
        "value": activation(x, **parameters),
        "slope": activation.slope(x, **parameters),
        "backward": backward,
        "gradient": backward,
    }
    counts = {name: differing(results[name], expected[name]) for name in expected}
    assert not any(counts.values()), counts


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_bits_are_those_of_numpy(activation: Activation, dtype: Any) -> None:
    with jax.enable_x64(dtype is np.float64):
        check_quantities(activation, patterns(dtype), patterns(dtype, seed=1))


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_all_inputs_of_16_bits(activation: Activation, dtype: Any) -> None:
    x = np.arange(1 << 16, dtype=np.uint16).view(dtype)
    check_quantities(activation, x, np.random.default_rng(0).permutation(x))


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_parameters(dtype: Any) -> None:
    x, grad = patterns(dtype), patterns(dtype, seed=1)
    for activation, parameters in (
        (sg.silu, {"beta": 1.7}),
        (sg.elu, {"alpha": 0.3}),
        (sg.leaky_relu, {"slope": 0.2}),
        (sg.silu, {"beta": 1e-35}),  # computed in float64
    ):
        check_quantities(activation, x, grad, **parameters)
    bound = sg.elu.bind(alpha=0.3)
    assert not differing(jax.jit(bound)(x), bound(x))


def test_float64_inside_float32_and_formulas() -> None:
    @sg.activation
    def wavy(f: Any, x: Any, *, k: float = 2.0) -> Any:
        return x * f.sigmoid(k * x) + f.sin(x)

    x, grad = patterns(np.float32), patterns(np.float32, seed=1)
    check_quantities(wavy, x, grad)  # computed in float64, though JAX has none
    check_quantities(wavy, x, grad, k=0.7)
    with jax.enable_x64(True):
        exact = sg.gelu(jnp.asarray(x), arithmetic="float64")
        assert not differing(exact, sg.gelu(x, arithmetic="float64"))
        check_quantities(wavy, x, grad)


def test_two_formulas_of_one_name_are_two_kernels() -> None:
    results = []
    for scale in (2, 3):

        @sg.activation
        def same_name(f: Any, x: Any, scale: int = scale) -> Any:
            return f.tanh(x) * scale

        results.append(float(same_name(jnp.float32(1.0))))
    assert results == [float(np.float32(np.tanh(1.0) * scale)) for scale in (2, 3)]


@pytest.mark.parametrize("bits", [32, 16])
@pytest.mark.parametrize("function", sg.gated().values(), ids=sg.gated())
def test_gated_functions(function: Activation, bits: int) -> None:
    """In float32, and in one of the 16-bit formats, in turn."""
    place = list(sg.gated().values()).index(function)
    dtype = np.float32 if bits == 32 else (np.float16, ml_dtypes.bfloat16)[place % 2]
    a, b, grad = (patterns(dtype, 300, seed)[:600].reshape(3, 200) for seed in range(3))

    def quantities(a: Any, b: Any, grad: Any) -> tuple[Any, ...]:
        pull = jax.vjp(function, a, b)[1](grad)
        of_halves = function(a), function.slope(a), function.backward(a, grad[:, :100])
        pairs = *function.slope(a, b), *function.backward(a, b, grad), *pull
        return function(a, b), function(a, b, gate="second"), *of_halves, *pairs

    program = jax.jit(quantities).lower(a, b, grad).compile()
    halves = function(a), function.slope(a), function.backward(a, grad[:, :100])
    backward = function.backward(a, b, grad)
    expected = function(a, b), function(a, b, gate="second"), *halves, *function.slope(a, b)
    expected = *expected, *backward, *backward
    counts = list(map(differing, program(a, b, grad), expected))
    assert not any(counts), counts
    # XLA merges equal calls: the gradient of both operands is that of `backward`.
    repeated = function.position(None) == "second"
    assert program.as_text().count("custom-call(") == 7 - repeated


def test_transformations_keep_the_bits() -> None:
    x, grad = (patterns(np.float32, 600, seed)[:1200].reshape(6, 200) for seed in (0, 1))
    f, ones = sg.gelu, np.ones_like(x)
    value, slope, backward = f(x), f.backward(x, ones), f.backward(x, grad)

    def total(x: Any) -> Any:
        return f(x).sum()

    def scanned(x: Any) -> Any:
        return jax.lax.scan(lambda carry, row: (carry, f(row)), 0, x)[1]

    results: dict[str, tuple[Any, Any]] = {
        "eager": (f(jnp.asarray(x)), value),
        "vmap": (jax.vmap(f, 1, 1)(x), value),
        "vmap of backward": (jax.vmap(f.backward, (0, None))(x, 1.0), slope),
        "grad": (jax.grad(total)(x), slope),
        "vmap of grad": (jax.vmap(jax.vmap(jax.grad(f)))(x), slope),
        "jvp": (jax.jvp(f, (x,), (grad,))[1], backward),
        "linearize": (jax.linearize(f, x)[1](grad), backward),
        "scan": (scanned(x), value),
        "vjp of scan": (jax.vjp(scanned, x)[1](grad)[0], backward),
        "cond": (jax.vjp(lambda x: jax.lax.cond(True, f, jnp.sin, x), x)[1](grad)[0], backward),
        "checkpoint": (jax.vjp(jax.checkpoint(f), x)[1](grad)[0], backward),
        "pmap": (jax.pmap(f)(x[None])[0], value),
        "jacfwd": (jnp.diag(jax.jacfwd(f)(x[0])), slope[0]),
        "jacrev": (jnp.diag(jax.jacrev(f)(x[0])), slope[0]),
        "transposed": (jax.jit(lambda x: f(x.T))(x), value.T),
        "donated": (jax.jit(f, donate_argnums=0)(jnp.array(x)), value),
    }
    counts = {name: differing(*pair) for name, pair in results.items()}
    assert not any(counts.values()), counts


def test_flax_and_equinox_keep_the_bits() -> None:
    class Model(flax.linen.Module):
        @flax.linen.compact
        def __call__(self, x: Any) -> Any:
            return sg.mish(x)

    x, grad = patterns(np.float32), patterns(np.float32, seed=1)
    applied = jax.jit(lambda x: Model().apply({}, x))
    assert not differing(applied(x), sg.mish(x))
    layer = equinox.nn.Lambda(sg.mish)
    value, pull = jax.vjp(equinox.filter_jit(layer), jnp.asarray(x))
    assert not differing(value, sg.mish(x))
    assert not differing(pull(jnp.asarray(grad))[0], sg.mish.backward(x, grad))


def test_shapes_memory_and_modes() -> None:
    x = patterns(np.float32)
    assert jax.jit(sg.gelu)(np.zeros((0, 3), np.float32)).shape == (0, 3)
    assert jax.jit(sg.gelu)(np.float32(1e-40)) == sg.gelu(np.float32(1e-40)) != 0
    unaligned = np.frombuffer(b"\0" + x.tobytes(), np.uint8)[1:].view(np.float32)
    assert not differing(jax.jit(sg.gelu)(unaligned), sg.gelu(x))
    with jax.disable_jit():
        assert not differing(sg.gelu(jnp.asarray(x)), sg.gelu(x))
    shape = jax.eval_shape(jax.grad(sg.gelu), jax.ShapeDtypeStruct((), jnp.bfloat16))
    assert (shape.shape, shape.dtype) == ((), jnp.bfloat16)
    with jax.debug_nans(True), pytest.raises(FloatingPointError):
        jax.jit(lambda x: sg.gelu(x) * 1)(jnp.float32(np.nan))


def composed(a: Any, b: Any, grad: Any) -> Any:
    """Return swiglu's backward in JAX operators."""
    return jax.vjp(lambda a, b: jax.nn.silu(a) * b, a, b)[1](grad)


def test_derivatives_of_backward() -> None:
    ones = (1.0, 1.0, 1.0)

    def evaluated(x: Any, grad: Any) -> dict[str, Any]:
        pair = jnp.stack([x, grad])
        return {
            "by x": jax.grad(sg.gelu.backward)(x, grad),
            "by grad": jax.grad(sg.gelu.backward, 1)(x, grad),
            "along": jax.jvp(sg.gelu.backward, (x, grad), (3.0, 4.0))[1],
            "flat": jax.jvp(sg.relu.backward, (-x, np.inf), (1.0, np.inf)),
            "gated": jax.jvp(sg.swiglu.backward, (x, grad, 3.0), ones)[1],
            "composed": jax.jvp(composed, (x, grad, 3.0), ones)[1],
            "hessian": jax.hessian(lambda x: sg.swiglu(x[0], x[1]))(pair),
            "composed hessian": jax.hessian(lambda x: jax.nn.silu(x[0]) * x[1])(pair),
        }

    results = run_once(evaluated, 0.5, 2.0)
    slope, curvature = (float(q(np.float32(0.5))) for q in (sg.gelu.slope, sg.gelu.curvature))
    assert np.isclose(results["by x"], 2 * curvature)
    assert np.isclose(results["by grad"], slope)
    assert np.isclose(results["along"], 6 * curvature + 4 * slope)
    assert results["flat"] == (0.0, 0.0)
    assert np.allclose(results["gated"], results["composed"], rtol=1e-5)
    assert np.allclose(results["hessian"], results["composed hessian"], rtol=1e-5)


def test_large_arrays_on_several_threads_at_once() -> None:
    x = np.random.default_rng(0).normal(size=150_001).astype(np.float32)
    expected, program, wrong = sg.gelu(x), jax.jit(sg.gelu), []

    def work() -> None:
        wrong.extend(i for i in range(5) if differing(program(x), expected))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_flushing_is_turned_off_for_kernels_only() -> None:
    x = jnp.asarray(np.full(100_000, 1e-39, np.float32))
    program = jax.jit(lambda x: (sg.gelu(x), x * 0.5, sg.gelu(x * 2)))
    for _ in range(100):  # which thread runs what is left differs from call to call
        kernel, product, after = program(x)
        assert np.all(np.asarray(kernel) == np.float32(5e-40))
        assert not np.any(np.asarray(product))  # flushed by XLA
        assert not np.any(np.asarray(after))


def test_a_registered_kernel_outlives_its_function() -> None:
    @sg.activation
    def temporary(f: Any, x: Any) -> Any:
        return f.tanh(x) + x * 7

    x = np.linspace(-2, 2, 50, dtype=np.float32)
    expected = temporary(x)
    program = jax.jit(temporary).lower(x).compile()
    del temporary
    kernels._by_graph.clear()
    gc.collect()
    for k in range(3):  # other code may take the place of what was freed
        sg.activation(lambda f, x, k=k: f.tanh(x) * (k + 1.5), name="other")(x)
    assert not differing(program(x), expected)


def test_a_call_with_other_operands_is_an_error() -> None:
    x = jnp.ones(3)
    sg.gelu(x).block_until_ready()
    name = next(
        name for name in cpu_kernels._registered if name.startswith("softgate.gelu.value.f")
    )
    with pytest.raises(jax.errors.JaxRuntimeError, match="number of operands or results"):
        jax.block_until_ready(jax.ffi.ffi_call(name, x)(x, x))


@pytest.mark.parametrize(
    ("header", "reason"),
    [
        (None, "jaxlib was installed without its headers"),
        ("#define XLA_FFI_API_MAJOR 1\n#define XLA_FFI_API_MINOR 0", "interface 1.0 is not supp"),
        ("#define XLA_FFI_API_MAJOR 0\n#define XLA_FFI_API_MINOR 9", "interface 0.9 is not supp"),
    ],
)
def test_operators_run_where_the_interface_is_unknown(
    header: str | None, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if header is not None:
        folder = tmp_path / "xla" / "ffi" / "api"
        folder.mkdir(parents=True)
        (folder / "c_api.h").write_text(header, encoding="utf-8")
    monkeypatch.setattr(jax.ffi, "include_dir", lambda: str(tmp_path))
    monkeypatch.setattr(private.foreign_calls, "_result", None)
    monkeypatch.setattr(private, "unusable", private.unusable.__wrapped__)
    x = jnp.float32(1e-40)
    assert reason in str(sg.explain(x))
    assert sg.gelu(x) == 0.0  # flushed by XLA


PROCESS = """
import hashlib, sys
sys.modules["softgate"] = None
import jax, numpy as np
program = jax.export.deserialize(open(sys.argv[1], "rb").read())
assert np.allclose(program.call(np.ones(3, np.float32)), 0.8413447, rtol=1e-6)
del sys.modules["softgate"]
import softgate as sg
hits = []
jax.monitoring.register_event_listener(lambda event, **_: hits.append(event))
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
jax.config.update("jax_compilation_cache_dir", sys.argv[2])
x = np.linspace(-9, 9, 1000, dtype=np.float32)
result = jax.jit(lambda x: sg.gelu(x) + sg.silu(x, beta=2.0))(x)
print(hashlib.sha256(np.asarray(result).tobytes()).hexdigest())
print(len([event for event in hits if event == "/jax/compilation_cache/cache_hits"]))
large = np.ones(1 << 22, np.float32)
later = [jax.jit(sg.mish)(large) for _ in range(8)]  # XLA's threads run while the process exits
"""


def test_other_processes(tmp_path: Path) -> None:
    # An exported program runs without softgate; a cached one calls the kernels of its process.
    exported = tmp_path / "gelu"
    export: Callable[..., Any] = jax.export.export(
        jax.jit(sg.gelu), platforms=("cpu", "cuda", "tpu")
    )
    program = export(np.ones(3, np.float32))
    assert "custom_call" not in program.mlir_module()
    exported.write_bytes(program.serialize())
    outputs = []
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", PROCESS, str(exported), str(tmp_path / "cache")],
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        outputs.append(done.stdout.split())
    x = np.linspace(-9, 9, 1000, dtype=np.float32)
    expected = np.asarray(jnp.asarray(sg.gelu(x)) + jnp.asarray(sg.silu(x, beta=2.0)))
    digest = hashlib.sha256(expected.tobytes()).hexdigest()
    assert outputs[0][0] == outputs[1][0] == digest
    assert int(outputs[1][1]) > int(outputs[0][1])


@pytest.mark.parametrize("platform", ["cpu", "cuda", "tpu"])
def test_exports_contain_no_call_of_softgate(platform: str) -> None:
    def program(x: Any) -> Any:
        narrow = x.astype(jnp.bfloat16)
        pair = jax.vjp(sg.swiglu, x, x)[1](x)
        return sg.silu(x, beta=2.0), sg.elu(narrow, alpha=0.5), jax.vjp(sg.gelu, x)[1](x), pair

    exported = jax.export.export(jax.jit(program), platforms=[platform])(np.ones(3, np.float32))
    assert "custom_call" not in exported.mlir_module()
