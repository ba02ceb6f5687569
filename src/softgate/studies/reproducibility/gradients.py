"""Values and gradients as training computes them: by the automatic derivative of a framework.

Every framework has the digests of `value` and `backward`, because it runs the same kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from softgate.records.packages import require
from softgate.runtime.activation import Activation
from softgate.runtime.machine import installed

from ..subjects.backends import from_tensor, to_tensor
from .digests import Floats, operands

FRAMEWORKS = ("torch", "torch.compile", "jax", "tensorflow", "keras")
"""What `check_bits` accepts as `frameworks`."""
TOGETHER = 8
"""Functions in one graph of torch.compile: a graph starts the C++ compiler once."""

Arrays = tuple[Floats, ...]
Evaluate = Callable[[Sequence[Any], Sequence[Arrays]], Iterator[Arrays]]
"""From functions and the operands of their `backward`, for each the value and the gradients."""


def chosen(frameworks: str | Sequence[str]) -> tuple[str, ...]:
    """Return frameworks by name, "all" for those that are installed; raise if one is not.

    torch.compile, which takes a minute, is not part of "all".
    """
    if frameworks == "all":
        return tuple(name for name in FRAMEWORKS if installed(name) is not None)
    names = frameworks.split(",") if isinstance(frameworks, str) else frameworks
    for name in names:
        if name not in FRAMEWORKS:
            raise ValueError(f"frameworks = {name!r}: expected some of {', '.join(FRAMEWORKS)}")
        require(name.partition(".")[0], purpose="its gradients")
    return tuple(names)


def results(
    framework: str, functions: Sequence[Activation], dtype: str
) -> Iterator[tuple[Floats, Arrays]]:
    """Yield the value of each function at its fixed operands, and its gradients."""
    arguments = [operands(function, "backward", dtype) for function in functions]
    called: list[Callable[..., Any]] = list(functions)
    if framework == "keras":
        import keras

        framework, called = keras.backend.backend(), [_in_keras(f, dtype) for f in functions]
    evaluate: Evaluate = {
        "torch": _torch, "torch.compile": _compiled, "jax": _jax, "tensorflow": _tensorflow
    }[framework]  # fmt: skip
    for value, *gradients in evaluate(called, arguments):
        yield value, tuple(gradients)


def _in_keras(function: Activation, dtype: str) -> Callable[..., Any]:
    """Return a layer with an activation; a gated function as it is called in a layer."""
    import keras

    layer: Callable[..., Any] = import_module("softgate.keras").get(function)
    if function.nin == 1:
        layer = keras.layers.Activation(layer, dtype=dtype)
    return layer


def _torch(functions: Sequence[Any], arguments: Sequence[Arrays]) -> Iterator[Arrays]:
    import torch

    for function, (*inputs, grad) in zip(functions, arguments, strict=True):
        leaves = [to_tensor(x.copy()).requires_grad_() for x in inputs]
        y = function(*leaves)
        gradients = torch.autograd.grad(y, leaves, to_tensor(grad.copy()))
        yield tuple(map(from_tensor, (y, *gradients)))


def _compiled(functions: Sequence[Any], arguments: Sequence[Arrays]) -> Iterator[Arrays]:
    import torch

    for first in range(0, len(functions), TOGETHER):
        part = slice(first, first + TOGETHER)
        yield from _compiled_together(torch, functions[part], arguments[part])


def _compiled_together(
    torch: Any, functions: Sequence[Any], arguments: Sequence[Arrays]
) -> Iterator[Arrays]:
    def every(*inputs: Any) -> list[Any]:
        return [function(*x) for function, x in zip(functions, inputs, strict=True)]

    torch._dynamo.reset()  # it limits how often code is compiled
    leaves = [[to_tensor(x.copy()).requires_grad_() for x in inputs] for *inputs, _ in arguments]
    values = torch.compile(every, fullgraph=True)(*leaves)
    grads = [to_tensor(grad.copy()) for *_, grad in arguments]
    gradients = iter(torch.autograd.grad(values, [x for group in leaves for x in group], grads))
    for y, group in zip(values, leaves, strict=True):
        yield tuple(map(from_tensor, (y, *(next(gradients) for _ in group))))


def _jax(functions: Sequence[Any], arguments: Sequence[Arrays]) -> Iterator[Arrays]:
    import jax

    before = jax.config.values["jax_enable_x64"]
    try:
        for function, arrays in zip(functions, arguments, strict=True):
            jax.config.update("jax_enable_x64", arrays[0].dtype == np.float64)  # type: ignore[no-untyped-call]

            def both(*operands: Any, function: Any = function) -> Any:
                y, pull_back = jax.vjp(function, *operands[:-1])
                return y, *pull_back(operands[-1])

            yield tuple(map(np.asarray, jax.jit(both)(*map(jax.numpy.array, arrays))))
    finally:
        jax.config.update("jax_enable_x64", before)  # type: ignore[no-untyped-call]


def _tensorflow(functions: Sequence[Any], arguments: Sequence[Arrays]) -> Iterator[Arrays]:
    import tensorflow as tf

    for function, arrays in zip(functions, arguments, strict=True):
        *inputs, grad = map(tf.constant, arrays)
        with tf.GradientTape() as tape:
            for x in inputs:
                tape.watch(x)
            y = function(*inputs)
        gradients = tape.gradient(y, inputs, output_gradients=grad)
        yield tuple(tensor.numpy() for tensor in (y, *gradients))
