"""Checks that TensorFlow gets right results when private names are missing or mean something else.

The module is imported before the adapter, whose import must not need a private name.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import numpy as np
import tensorflow as tf
from checking import raises

import softgate as sg
from softgate.frameworks import capability
from softgate.frameworks.capability import CAPABILITIES, Changed

assert "softgate.frameworks.tensorflow" not in sys.modules
X = np.array([-np.inf, -90, -14, -3, -0.5, -1e-40, 0, 1e-40, 0.7, 3, 90, np.inf, np.nan], "f")
ONES, TENSOR = np.ones_like(X), tf.constant(X)
find = capability.find
PACKED = SimpleNamespace(tangents=[1])

ANOTHER_MEANING: dict[str, dict[str, dict[str, Callable[[Any], Any]]]] = {
    "not_rewritten": {
        "without rules": {"config": lambda _: SimpleNamespace()},
        "other rules": {"config": lambda _: SimpleNamespace(CONVERSION_RULES=None)},
    },
    "eager_op": {
        "other arguments": {"TFE_Py_FastPathExecute": lambda _: lambda context, op: None},
        "other results": {
            "TFE_Py_FastPathExecute": lambda _: lambda c, op, n, x, *_: tf.stack(x) + 1
        },
        "not recorded": {
            "TFE_Py_FastPathExecute": lambda _: (
                lambda c, op, n, x, *_: tf.stop_gradient(tf.stack(x, 1))
            )
        },
    },
    "has_tangent": {
        "always": {"pack_tangents": lambda _: lambda _: PACKED},
        "never": {"pack_tangents": lambda _: lambda _: SimpleNamespace(tangents=[])},
        "no longer a list": {"pack_tangents": lambda _: lambda _: None},
    },
    "kernel_op": {"no C API": {"get_lib": lambda _: lambda: "/nosuch"}},
    "kernels_in_graphs": {},  # `check_graphs_that_differ_have_no_kernels`
}
"""What a private name could be in another version, by capability: each is noticed."""


@contextmanager
def looked_up(another: Callable[[str], Any]) -> Iterator[None]:
    """Look up all capabilities again, with other objects for some names."""
    try:
        with patch.object(capability, "find", another):
            forget()
            yield
    finally:
        forget()


def forget() -> None:
    for each in CAPABILITIES.get("tensorflow", {}).values():
        each._result = None
    derivatives = sys.modules.get("softgate.frameworks.tensorflow.derivatives")
    if derivatives is not None:
        derivatives.derivatives.cache_clear()


def without(*names: str) -> Callable[[str], Any]:
    def another(name: str) -> Any:
        if name in names:
            raise Changed(f"there is no {name}")
        return find(name)

    return another


def same(result: Any, wanted: Any) -> None:
    np.testing.assert_array_equal(np.asarray(result).view(np.uint32), wanted.view(np.uint32))


def close(result: Any, wanted: Any) -> None:
    """Compare with operators: subnormal operands and results are flushed."""
    np.testing.assert_allclose(np.asarray(result), wanted, 1e-5, 1e-30)


class Module(tf.Module):
    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
    def __call__(self, x: Any) -> Any:
        return sg.gelu(x)


def gradients(x: Any) -> tuple[Any, ...]:
    """Return values, gradients and second derivatives of gelu, and the gradients of swiglu."""
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = sg.gelu(x)
        slope = inner.gradient(y, x)
        gate, up = tf.identity(x), tf.reverse(x, [0])
        tape.watch((gate, up))
        z = sg.swiglu(gate, up)
    return y, slope, z, *tape.gradient(z, (gate, up)), tape.gradient(slope, x)


def right_results() -> None:
    """Check values, gradients and files, eager, in graphs and under XLA."""
    from softgate.frameworks.tensorflow import cpu_kernels

    in_graphs = cpu_kernels.unavailable(in_graphs=True) is None
    with np.errstate(all="ignore"):
        by_gate, by_up = sg.swiglu.backward(X, X[::-1].copy(), ONES)
        exact = sg.gelu(X), sg.gelu.backward(X, ONES), sg.swiglu(X, X[::-1].copy()), by_gate, by_up
        second = sg.gelu.curvature(X)
    for kind in ("eager", "graph", "XLA"):
        call = gradients
        if kind != "eager":
            call = tf.function(gradients, autograph=False, jit_compile=kind == "XLA")
        *results, last = call(TENSOR)
        compare = same if kind == "eager" or (kind == "graph" and in_graphs) else close
        for result, wanted in zip(results, exact, strict=True):
            compare(result, wanted)
        close(last, second)  # a product of TensorFlow
    rewritten = tf.function(sg.gelu, autograph=True)
    (same if in_graphs else close)(rewritten(TENSOR), exact[0])
    with TemporaryDirectory() as folder:
        tf.saved_model.save(Module(), folder)
        close(tf.saved_model.load(folder)(TENSOR), exact[0])
    with tf.autodiff.ForwardAccumulator(TENSOR, tf.constant(ONES)) as forward:
        y = sg.gelu(TENSOR)
    close(forward.jvp(y), exact[1])

    @tf.function(autograph=False)
    def forward_mode(x: Any) -> Any:
        with tf.autodiff.ForwardAccumulator(x, tf.ones_like(x)) as forward:
            y = sg.gelu(x)
        return forward.jvp(y)

    raises(NotImplementedError, "use tf.GradientTape", lambda: forward_mode(TENSOR))


def check_the_adapter_without_any_private_name() -> None:
    with looked_up(lambda name: without(name)(name)):
        import softgate.frameworks.tensorflow

        right_results()
        for each in CAPABILITIES["tensorflow"].values():
            assert f"there is no {each.names[0]}" in each.reason
        assert softgate.frameworks.tensorflow.private.not_rewritten.reason


def check_that_nothing_is_missing_here() -> None:
    assert [str(each) for each in capability.missing("tensorflow")] == []
    right_results()


def missing() -> list[Any]:
    """Return what cannot be used; without an op no graph has kernels."""
    found = {each.name: each for each in capability.missing("tensorflow")}
    if "kernel_op" in found:
        assert "there is no op that runs kernels" in found.pop("kernels_in_graphs").reason
    return list(found.values())


def check_each_name_missing() -> None:
    assert set(ANOTHER_MEANING) == set(CAPABILITIES["tensorflow"])
    for each in CAPABILITIES["tensorflow"].values():
        for name in each.names:
            with looked_up(without(name)):
                right_results()
                assert missing() == [each]
                assert f"there is no {name}" in str(each)


def check_each_name_with_another_meaning() -> None:
    for name, meanings in ANOTHER_MEANING.items():
        each = CAPABILITIES["tensorflow"][name]
        for others in meanings.values():

            def another(path: str, others: Any = others) -> Any:
                change = others.get(path.rpartition(".")[2])
                return change(find(path)) if change else find(path)

            with looked_up(another):
                right_results()
                assert missing() == [each], others


def check_explain_names_what_is_missing() -> None:
    from softgate.frameworks.tensorflow import private

    with looked_up(without(private.eager_op.names[0])):
        line = str(sg.explain(TENSOR))
        assert f"the float32 kernel ({private.eager_op.reason}); input not" in line


def explained_in_graph() -> str:
    lines: list[str] = []
    tf.function(lambda x: lines.append(str(sg.explain(x))) or x)(TENSOR)
    return lines[0]


def check_graphs_that_differ_have_no_kernels() -> None:
    """What Grappler selects is compared with the kernel at fixed operands, never those of users."""
    from softgate.frameworks.tensorflow import cpu_kernels

    native, traced, call = cpu_kernels._op, cpu_kernels._traced, tf.function

    def flushed(kernel: Any) -> Any:
        def run(*operands: Any) -> Any:
            results = native(kernel)(*operands)
            return [tf.where(tf.abs(y) < 2e-38, tf.zeros_like(y), y) for y in results]

        return run

    def unselected(function: Any, spec: Any, attributes: Any) -> Any:
        return traced(function, spec, {})

    def without_attributes(*arguments: Any, **options: Any) -> Any:
        if "experimental_attributes" in options:
            raise TypeError("unexpected argument 'experimental_attributes'")
        return call(*arguments, **options)

    for change, why in (
        (patch.object(cpu_kernels, "_op", flushed), "in a graph silu (value) of -inf is 0.0"),
        (patch.object(cpu_kernels, "_traced", unselected), "of -inf is inf, and the kernel's -0.0"),
        (patch.object(tf, "function", without_attributes), "experimental_attributes"),
    ):
        with looked_up(find), change:
            reason = cpu_kernels.unavailable(in_graphs=True)
            assert reason is not None
            assert why in reason, reason
            assert f"(no kernels in graphs: {reason})" in explained_in_graph()
            right_results()
    assert cpu_kernels.unavailable(in_graphs=True) is None
