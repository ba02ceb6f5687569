"""Names that JAX may change: without each, and with another meaning, results are right."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import jax_results
import numpy as np
import pytest
from xla_once import run_once

import softgate as sg
import softgate.frameworks.jax as adapter
from softgate.frameworks.capability import CAPABILITIES, find
from softgate.frameworks.jax import cpu_kernels, derivatives, private

NAMES = [(each.name, name) for each in CAPABILITIES["jax"].values() for name in each.names]


def forget() -> None:
    """Forget what has been found and traced."""
    jax.clear_caches()
    private.unusable.cache_clear()
    adapter._usual.clear()
    derivatives.bound_function.cache_clear()


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """Use the adapter as in a new process."""
    forget()
    for each in CAPABILITIES["jax"].values():
        monkeypatch.setattr(each, "_result", None)
    monkeypatch.setattr(private, "failures", [])
    monkeypatch.setattr(cpu_kernels, "_compared", set())
    monkeypatch.setattr(cpu_kernels, "_targets", {})
    yield monkeypatch
    monkeypatch.undo()
    forget()


def check(reason: str) -> None:
    """Raise unless results are right, and the explanation states the reason."""
    jax_results.compare(run_once(jax_results.results, jax_results.X, jax_results.GRAD), "compiled")
    jax_results.compare(jax_results.results(jnp.asarray(jax_results.X), jax_results.GRAD), "called")
    exported = jax.export.export(jax.jit(sg.hard_swish))(np.ones(3, np.float32))
    assert "custom_call" not in exported.mlir_module()
    explanation = str(sg.explain(jnp.ones(3)))
    assert reason in explanation
    assert "\n" not in explanation


@pytest.mark.parametrize(("capability", "name"), NAMES)
def test_without_a_name(capability: str, name: str, fresh: pytest.MonkeyPatch) -> None:
    module, _, attribute = name.rpartition(".")
    fresh.delattr(find(module), attribute)
    check(f"there is no {name}")
    assert CAPABILITIES["jax"][capability].reason


class Registry(dict[Any, Any]):
    """A registry of JAX that stores other rules than it is given."""

    def __init__(self, name: str, change: Callable[[Any], Any]) -> None:
        self.registry, self.change = find(name), change

    def __setitem__(self, key: Any, rule: Any) -> None:
        self.registry[key] = self.change(rule)


def first_axes(rule: Any) -> Any:
    return lambda operands, axes, **options: rule(
        operands, [None if axis is None else 0 for axis in axes], **options
    )


def reversed_tangents(rule: Any) -> Any:
    return lambda primals, tangents, **options: rule(primals, tangents[::-1], **options)


def doubled_cotangents(rule: Any) -> Any:
    return lambda cotangents, *operands, **options: rule(
        [2 * cotangent for cotangent in cotangents], *operands, **options
    )


def refusing(*_: Any, **__: Any) -> Any:
    raise RuntimeError("refused by the test")


def flushing(call: Any, *arguments: Any) -> Any:
    """Return a call of a float32 kernel that takes positive subnormal results for 0."""
    kernel = call(*arguments)
    return lambda *operands: [jnp.where(part < 1 << 23, 0, part) for part in kernel(*operands)]


BATCHERS = "jax.interpreters.batching.primitive_batchers"
JVPS, TRANSPOSES = (f"jax.interpreters.ad.primitive_{name}" for name in ("jvps", "transposes"))
CHANGES: dict[str, tuple[str, Any, str]] = {
    "axes": (BATCHERS, Registry(BATCHERS, first_axes), "incompatible shapes"),
    "tangents": (JVPS, Registry(JVPS, reversed_tangents), "a wrong jvp"),
    "cotangents": (TRANSPOSES, Registry(TRANSPOSES, doubled_cotangents), "a wrong vjp"),
    "registry": (JVPS, {}, "NotImplementedError"),
    "zeros": ("jax.interpreters.ad.Zero", type("Zero", (), {}), "cannot be used"),
    "primitive": ("jax.extend.core.Primitive", lambda **_: None, "TypeError"),
    "operators": ("jax.interpreters.mlir.lower_fun", lambda f: f, "TypeError"),
    "lowering": ("jax.interpreters.mlir.register_lowering", lambda *_, **__: 0, "cannot be used"),
    "header": ("jax.ffi.include_dir", lambda: "nowhere", "without its headers"),
    "registration": ("jax.ffi.register_ffi_target", refusing, "refused by the test"),
    "capsule": ("jax.ffi.pycapsule", refusing, "refused by the test"),
    "call": ("jax.ffi.ffi_lowering", refusing, "refused by the test"),
    "kernel": ("jax.ffi.ffi_call", flushing, "called by XLA has other results than the kernel"),
    "types": ("jax.typeof", lambda _: SimpleNamespace(vma=frozenset()), "over which it varies"),
    "axes of meshes": ("jax.lax.pcast", lambda array, _, to: array, "over which it varies"),
}
"""What a name refers to in its place, and a part of the reason."""


@pytest.mark.parametrize("change", CHANGES)
def test_with_another_meaning(change: str, fresh: pytest.MonkeyPatch) -> None:
    name, replacement, reason = CHANGES[change]
    module, _, attribute = name.rpartition(".")
    if replacement is flushing:
        replacement = partial(flushing, find(name))
    fresh.setattr(find(module), attribute, replacement)
    check(reason)


ONE_DEVICE = SimpleNamespace(num_devices=1)
CONTEXTS: dict[str, tuple[Any, str]] = {
    "renamed": (SimpleNamespace(), "no attribute 'axis_context'"),
    "without the mode": (SimpleNamespace(axis_context=ONE_DEVICE), "'lowering_parameters'"),
    "of another kind": (
        SimpleNamespace(axis_context=object(), lowering_parameters=SimpleNamespace(for_export=0)),
        "a program of this process is not recognised",
    ),
    "with another mode": (
        SimpleNamespace(axis_context=ONE_DEVICE, lowering_parameters=SimpleNamespace(for_export=0)),
        "the export of a program is not recognised",
    ),
}
"""What a lowering rule gets in place of JAX's context of a module."""


@pytest.mark.parametrize("change", CONTEXTS)
def test_with_another_context_of_lowering(change: str, fresh: pytest.MonkeyPatch) -> None:
    runs_here, (context, reason) = private.runs_here, CONTEXTS[change]
    fresh.setattr(private, "runs_here", lambda _: runs_here(context))
    check(reason)


def test_all_names_are_used(fresh: pytest.MonkeyPatch) -> None:
    check("the float32 kernel, called by XLA for cpu")
    assert not [each.reason for each in CAPABILITIES["jax"].values() if each.reason]
    assert cpu_kernels._compared


@pytest.mark.parametrize("modes", [(), ("disable_jit", "debug_nans", "checking_leaks")], ids=repr)
def test_the_first_use_is_in_a_trace(modes: tuple[str, ...], fresh: pytest.MonkeyPatch) -> None:
    x = jnp.ones((2, 3))
    with ExitStack() as stack:
        for mode in modes:
            stack.enter_context(getattr(jax, mode)(*[True] * (mode != "checking_leaks")))
        slopes = jax.vmap(jax.vmap(jax.grad(jax.jit(sg.gelu))))(x)
    np.testing.assert_array_equal(slopes, sg.gelu.slope(np.ones((2, 3), np.float32)))
    check("the float32 kernel, called by XLA for cpu")


def test_import_without_any_name() -> None:
    """In another process, on two devices."""
    done = subprocess.run(
        [sys.executable, jax_results.__file__, *(name for _, name in NAMES)],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "there is no jax.extend.core.Primitive" in done.stdout
