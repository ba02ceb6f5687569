"""Emitted Triton kernels, run by Triton's interpreter on the CPU, give softgate's results."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import formulas
import numpy as np
import pytest
from checks import CONTRACT_ULP, holds
from compiled import same_bits
from places import SUPPORT
from variants import named, parameter_sets

import softgate as sg
from softgate.formula.formats import (
    BFLOAT16,
    FLOAT16,
    FLOAT32,
    FLOAT64,
    FORMATS,
    Format,
    round_to,
    ulp,
)
from softgate.runtime import kernels
from softgate.runtime.activation import Activation
from softgate.studies import accuracy
from softgate.studies.accuracy import samples

APART = Path(sys.prefix) / "triton"
"""Where `make` installs Triton. In one process with TensorFlow it aborts (two LLVMs), and torch's
compiler imports it wherever it is found: so it is not among the other packages."""
pytestmark = pytest.mark.skipif(
    not APART.is_dir() and find_spec("triton") is None,
    reason="needs Triton: make install, or pip install 'softgate[triton]'",
)
WITH_TRITON = dict(os.environ) | {"PYTHONPATH": str(APART)}
SCRIPT = SUPPORT / "interpret_triton.py"
WIDE = [sg.gelu, sg.silu, sg.softplus, sg.tanh, sg.squareplus]
"""What is run in float64 too: the interpreter is slow."""
OWN = [formulas.snake, formulas.swish]
GATED: list[tuple[Activation, dict[str, float]]] = [
    (sg.glu, {}),
    (sg.reglu, {}),
    (sg.swiglu, {"beta": 0.5}),  # not the default, for which softgate has another kernel
]
Variant = tuple[Activation, dict[str, float]]
Results = dict[tuple[str, str], tuple[Any, Any]]


def inputs(activation: Activation, fmt: Format) -> tuple[Any, Any]:
    """Inputs of every kind, special values too, and gradients for them."""
    act = activation.gate_activation or activation
    x = samples.stratified(fmt, act.entry.intervals, 1000, seed=9)
    rng = np.random.default_rng(10)
    x = np.concatenate([samples.specials(fmt), rng.permutation(x)[:1000]])
    return x, rng.standard_normal(x.size).astype(x.dtype)


def wider(dtype: str) -> Format:
    return FLOAT64 if dtype == "float64" else FLOAT32


def jobs() -> Iterator[tuple[str, Activation, dict[str, float], str]]:
    """Module, activation, parameters and dtype of every run."""
    for activation in sg.activations().values():
        for parameters in parameter_sets(activation):
            yield "float32.py", activation, parameters, "float32"
    for activation in WIDE:
        yield "float64.py", activation, {}, "float64"
    for fmt in (FLOAT16, BFLOAT16):
        yield "float32.py", sg.gelu, {}, fmt.name
    for formula in OWN:
        yield "own.py", formula, {}, "float32"
    for gated, parameters in GATED:
        yield "gated.py", gated, parameters, "float32"
    yield "wrong.py", sg.gelu, {}, "float32"


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """The value and the gradient of every job, by module and name."""
    folder = tmp_path_factory.mktemp("triton")
    right = sg.emit("gelu", "triton")
    texts = {
        "float32.py": sg.emit(sg.activations().values(), "triton"),
        "float64.py": sg.emit(WIDE, "triton", dtype="float64"),
        "own.py": sg.emit(OWN, "triton"),
        "gated.py": sg.emit(sg.gated().values(), "triton"),
        "wrong.py": right.replace("0.5)", "0.500001)"),
    }
    assert texts["wrong.py"] != right
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    calls = []
    for i, (file, activation, parameters, dtype) in enumerate(jobs()):
        for name, array in zip(("x", "grad"), inputs(activation, wider(dtype)), strict=True):
            np.save(folder / f"{i}.{name}.npy", array)
        if activation.nin == 2:
            x, _ = inputs(activation, wider(dtype))
            np.save(folder / f"{i}.b.npy", x[::-1].copy())
        called = f"{activation.name}_f64" if dtype == "float64" else activation.name
        argument = dict(activation.check_parameters(parameters)) if parameters else {}
        calls.append([file, called, argument, dtype])
    (folder / "jobs.json").write_text(json.dumps(calls), encoding="utf-8")
    result = subprocess.run(
        [sys.executable, str(SCRIPT), str(folder)],
        env=WITH_TRITON | {"TRITON_INTERPRET": "1"},
        capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    return {
        (f"{file}:{dtype}", named(activation, parameters)): (
            np.load(folder / f"{i}.value.npy"), np.load(folder / f"{i}.backward.npy"),
        )
        for i, (file, activation, parameters, dtype) in enumerate(jobs())
    }  # fmt: skip


@pytest.mark.parametrize(("gated", "parameters"), GATED)
def test_gated(results: Results, gated: Activation, parameters: dict[str, float]) -> None:
    """The value and both gradients are the kernels', bit for bit."""
    a, grad = inputs(gated, FLOAT32)
    b = a[::-1].copy()
    value, backward = results["gated.py:float32", named(gated, parameters)]
    with np.errstate(all="ignore"):
        assert same_bits(value.astype(np.float32), gated(a, b, **parameters))
        expected = np.stack(gated.backward(a, b, grad, **parameters))
        assert same_bits(backward.astype(np.float32), expected)


def kernel(activation: Activation, quantity: str, fmt: Format, parameters: dict[str, float]) -> Any:
    """What the kernel gives that reads its parameters, as the emitted one does."""
    entry, operands = activation.entry, inputs(activation, fmt)
    values = dict(activation.check_parameters(parameters))
    which = kernels.Specification(entry, quantity, fmt, fmt, specialised=not entry.parameters)
    packed = kernels.pack(entry, values, fmt, quantity)
    out = np.empty_like(operands[0])
    arrays = [array.ctypes.data for array in operands[: len(which.inputs)]]
    kernels.compiled(which)(out.ctypes.data, *arrays, packed.ctypes.data, out.size)
    return out


def check(result: tuple[Any, Any], activation: Activation, fmt: Format, **argument: float) -> None:
    """Hold value and gradient to the kernels', bit for bit."""
    for quantity, results in zip(("value", "backward"), result, strict=True):
        expected = kernel(activation, quantity, fmt, argument)
        with np.errstate(invalid="ignore"):
            assert same_bits(results.astype(expected.dtype), expected), quantity


def test_float32(results: Results, variant: Variant) -> None:
    activation, parameters = variant
    result = results["float32.py:float32", named(activation, parameters)]
    check(result, activation, FLOAT32, **parameters)
    x, _ = inputs(activation, FLOAT32)
    finite = np.isfinite(x)
    values = dict(activation.check_parameters(parameters))
    errors = accuracy.Reference(activation.entry, "value", values).against_kernel(
        x[finite], result[0][finite], FLOAT32
    )
    holds(errors, CONTRACT_ULP, named(activation, parameters))


def beyond(activation: Activation, argument: dict[str, float], backward: Any) -> Any:
    """Return where slope times grad breaks its bound: the slope's times grad, and one rounding."""
    x, grad = inputs(activation, FLOAT32)
    values = dict(activation.check_parameters(argument))
    wide, usual = x.astype(np.float64), np.isfinite(x) & np.isfinite(backward)
    with np.errstate(all="ignore"):
        slope = activation.slope(wide, **argument)
        size = accuracy.Reference(activation.entry, "slope", values).scale(wide, slope)
        exact = slope * grad
        entry = activation.entry  # with parameters to be given the contract's bound is stated
        stated = CONTRACT_ULP if entry.parameters else max(entry.bounds["float32"].slope, 0.5)
        allowed = stated * ulp(size, FLOAT32) * np.abs(grad)
        allowed += 0.51 * ulp(exact, FLOAT32)
        return usual & (np.abs(backward - exact) > allowed)


def test_backward_keeps_its_bound(results: Results, variant: Variant) -> None:
    activation, parameters = variant
    backward = results["float32.py:float32", named(activation, parameters)][1].astype(np.float64)
    assert not beyond(activation, parameters, backward).any()
    assert beyond(activation, parameters, backward * (1 + 2.0**-20)).any() == backward.any()


def test_the_bounds_are_stated() -> None:
    text = sg.emit("gelu", "triton")
    stated = sg.gelu.entry.bounds["float32"]
    assert f"value in float32, within {stated.value:g} ulp of the exact result" in text
    assert f"slope times grad in float32: slope within {stated.slope:g} ulp, product" in text
    assert "slope correctly rounded, product rounded" in sg.emit("squared_relu", "triton")


@pytest.mark.parametrize("activation_", WIDE, ids=lambda a: a.name)
def test_float64(results: Results, activation_: Activation) -> None:
    check(results["float64.py:float64", activation_.name], activation_, FLOAT64)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_16_bits_are_computed_in_float32(results: Results, dtype: str) -> None:
    fmt = FORMATS[dtype]
    x, grad = (
        round_to(array.astype(np.float64), fmt).astype(np.float32)
        for array in inputs(sg.gelu, FLOAT32)
    )
    exact = (sg.gelu(x), sg.gelu.backward(x, grad))
    for result, wide in zip(results[f"float32.py:{dtype}", "gelu"], exact, strict=True):
        if dtype == "float16":
            assert same_bits(result, round_to(wide.astype(np.float64), fmt))
        else:  # where Triton's interpreter cuts bits off, and subnormal numbers are 0
            usual = np.isfinite(wide) & (np.minimum(np.abs(x), np.abs(wide)) >= 2.0**-120)
            assert usual.mean() > 0.5
            error = np.abs(result[usual] - wide[usual]) / ulp(wide[usual], fmt)
            assert np.max(error) < 1


@pytest.mark.parametrize("formula", OWN, ids=lambda formula: formula.name)
def test_formulas_of_ones_own(results: Results, formula: Activation) -> None:
    x, grad = inputs(formula, FLOAT32)
    value, backward = results["own.py:float32", formula.name]
    assert same_bits(value.astype(np.float32), formula(x))
    assert same_bits(backward.astype(np.float32), formula.backward(x, grad))


def test_the_comparison_catches_a_wrong_constant(results: Results) -> None:
    with pytest.raises(AssertionError, match="value"):
        check(results["wrong.py:float32", "gelu"], sg.gelu, FLOAT32)


COMPILE = """
import sys
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
sys.path.insert(0, sys.argv[1])
import emitted
for kernel, real in ((emitted.gelu_kernel_f32, "fp32"), (emitted.gelu_kernel_f64, "fp64")):
    types = {"x_ptr": f"*{real}", "y_ptr": f"*{real}", "n": "i32", "BLOCK": "constexpr"}
    source = ASTSource(kernel, types, {(3,): 128})
    target = GPUTarget("cuda", 80, 32)
    print(triton.compile(source, target, {"enable_fp_fusion": False}).asm["ptx"])
"""


def test_a_gpus_instructions_are_those_of_ieee(tmp_path: Path) -> None:
    """Compiled for a GPU that is not here: fma where requested, correct rounding, no flush to 0."""
    pytest.importorskip("torch")  # which emitted code imports
    text = sg.emit("gelu", "triton", quantity="value")
    text += sg.emit("gelu", "triton", quantity="value", dtype="float64")
    (tmp_path / "emitted.py").write_text(text, encoding="utf-8")
    environment = WITH_TRITON | {"TRITON_CACHE_DIR": str(tmp_path / "cache")}
    environment.pop("TRITON_INTERPRET", None)
    result = subprocess.run(
        [sys.executable, "-c", COMPILE, str(tmp_path)],
        env=environment, capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    computed = set(
        re.findall(r"\b((?:fma|div|mul|add|sub|rcp|sqrt|ex2)\.[a-z0-9.]*f(?:32|64))", result.stdout)
    )
    assert computed == {
        f"{name}.rn.f{bits}" for name in ("fma", "div", "mul", "add", "sub") for bits in (32, 64)
    }
