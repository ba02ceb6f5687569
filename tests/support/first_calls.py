"""The first calls of softgate with each framework's tensors, and what they return.

A function of `CALLS` imports a framework, not softgate's adapter, and returns a function that calls
softgate and returns results and expected arrays.
"""

from __future__ import annotations

import pickle
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

import softgate as sg

X = np.linspace(-5, 5, 12, dtype=np.float32).reshape(3, 4)
Results = tuple[list[Any], list[Any]]


def of_numpy() -> Callable[[], Results]:
    sg.set_threads(2)
    x = np.linspace(-5, 5, 300_001)

    def call() -> Results:
        half = sg.relu(x.astype(np.float16))
        results = [sg.relu(x), sg.relu.slope(x[:3]), sg.reglu(x, x), half, sg.gelu(X).argmax()]
        ramp = np.maximum(x, 0)
        return results, [ramp, np.zeros(3), ramp * x, ramp.astype(np.float16), X.argmax()]

    return call


def of_torch() -> Callable[[], Results]:
    import torch

    torch.func.vmap(torch.func.grad(torch.sin))(torch.ones(3))  # imports torch's compiler
    value, slope = sg.gelu(X), sg.gelu.slope(X)
    gated = sg.swiglu(X, X)

    def call() -> Results:
        x = torch.tensor(X, requires_grad=True)
        y = sg.torch.GELU()(x)
        (first,) = torch.autograd.grad(y.sum(), x)
        derivative = torch.func.vmap(torch.func.vmap(torch.func.grad(sg.gelu)))(x.detach())
        product = sg.swiglu(x, x).detach()
        return [y.detach(), first, derivative, product], [value, slope, slope, gated]

    return call


def of_torch_compile() -> Callable[[], Results]:
    import torch

    torch.compile(torch.sin, backend="aot_eager")(torch.ones(3))
    compiled = torch.compile(lambda x: sg.gelu(x) * 1, backend="aot_eager", fullgraph=True)
    value, slope = sg.gelu(X), sg.gelu.slope(X)

    def call() -> Results:
        x = torch.tensor(X, requires_grad=True)
        # Threads start together: each compiles.
        with torch._dynamo.config.patch(recompile_limit=64):
            y = compiled(x)
        (first,) = torch.autograd.grad(y.sum(), x)
        return [y.detach(), first], [value, slope]

    return call


def of_jax() -> Callable[[], Results]:
    import jax

    value, slope = sg.gelu(X), sg.gelu.slope(X)

    def call() -> Results:
        x = jax.numpy.asarray(X)
        results = [sg.gelu(x), jax.jit(sg.gelu)(x), jax.vmap(jax.vmap(jax.grad(sg.gelu)))(x)]
        return results, [value, value, slope]

    return call


def of_tensorflow() -> Callable[[], Results]:
    import tensorflow as tf

    value, slope, in_graph = sg.gelu(X), sg.gelu.slope(X), tf.function(sg.gelu)

    def call() -> Results:
        x = tf.constant(X)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = sg.gelu(x)
        return [y, tape.gradient(y, x), in_graph(x)], [value, slope, value]

    return call


def of_keras() -> Callable[[], Results]:
    import keras

    value = sg.gelu(X)

    def call() -> Results:
        symbol = keras.Input((4,))
        model = keras.Model(symbol, sg.keras.get("gelu")(symbol))
        copy = keras.Model.from_config(model.get_config())
        return [model(X), copy(X)], [value, value]

    return call


def of_pickles() -> Callable[[], Results]:
    value, gated = sg.gelu(X), sg.swiglu(X, X)
    data = pickle.dumps([sg.gelu, sg.swiglu, sg.leaky_relu.bind(slope=0.5)])

    def call() -> Results:
        gelu, swiglu, leaky = pickle.loads(data)
        return [gelu(X), swiglu(X, X), leaky(X)], [value, gated, np.maximum(X, X / 2)]

    return call


CALLS = {
    "numpy": of_numpy,
    "torch": of_torch,
    "torch.compile": of_torch_compile,
    "jax": of_jax,
    "tensorflow": of_tensorflow,
    "keras": of_keras,
    "pickles": of_pickles,
}


def explained(name: str) -> str:
    """Return what computes for a tensor of a framework: the reason too if it refused operators."""
    module = {"torch.compile": "torch", "jax": "jax.numpy", "keras": "tensorflow"}.get(name, name)
    if name in ("numpy", "pickles"):
        return ""
    return str(sg.explain(sys.modules[module].ones(3)))


def in_threads(name: str, count: int = 16) -> None:
    """Make a framework's first call in threads at once; raise unless all results are right."""
    call, barrier = CALLS[name](), threading.Barrier(count)

    def work(_: int) -> None:
        barrier.wait()
        results, expected = call()
        for result, wanted in zip(results, expected, strict=True):
            np.testing.assert_array_equal(np.asarray(result), wanted)

    with ThreadPoolExecutor(count) as pool:
        list(pool.map(work, range(count)))


def refuse(name: str) -> None:
    """Make a framework's registration functions raise for softgate."""
    import importlib

    module, attribute, is_ours = {
        "torch": ("torch.library", "Library.define", lambda library, *_: library.ns == "softgate"),
        "torch.compile": ("torch.library", "Library.__init__", lambda _, ns, *__: ns == "softgate"),
        "jax": ("jax.ffi", "register_ffi_target", lambda *_: True),
        "tensorflow": ("tensorflow", "RegisterGradient", lambda *_: True),
    }[{"keras": "tensorflow"}.get(name, name)]
    owner: Any = importlib.import_module(module)
    *path, attribute = attribute.split(".")
    for part in path:
        owner = getattr(owner, part)
    register = getattr(owner, attribute)

    def refusing(*arguments: Any, **options: Any) -> Any:
        if is_ours(*arguments):
            raise RuntimeError("refused by the test")
        return register(*arguments, **options)

    setattr(owner, attribute, refusing)


def where_refused(name: str) -> None:
    """Make the first call where the framework registers nothing; raise unless results are right."""
    call = CALLS[name]()
    refuse(name)
    for result, expected in zip(*call(), strict=True):
        np.testing.assert_allclose(np.asarray(result), expected, rtol=1e-5, atol=1e-6)
    if name in ("torch", "jax"):
        assert "refused by the test" in explained(name)


if __name__ == "__main__":
    {"threads": in_threads, "refused": where_refused}[sys.argv[2]](sys.argv[1])
