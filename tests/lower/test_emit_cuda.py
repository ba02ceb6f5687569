"""Emitted CUDA C, compiled for the host and, where nvcc is installed, for a GPU.

The published digests of all functions are compared in test_reproducibility.py. Nothing is run on a
GPU: the tests check the instructions that nvcc chooses.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import compiled
import formulas
import numpy as np
import pytest
from compiled import Library, same_bits

import softgate as sg
from softgate.formula.formats import FLOAT32
from softgate.studies.accuracy import samples

NVCC = shutil.which("nvcc")
OPERATIONS = ("fma", "div", "mul", "add", "sub")
needs_host = pytest.mark.skipif(compiled.HOST_COMPILER is None, reason="needs g++")
needs_nvcc = pytest.mark.skipif(NVCC is None, reason="needs nvcc, of the CUDA toolkit")


def on_host(text: str, folder: Path) -> Library:
    path, _ = compiled.compiled(
        text, folder, "host", compiler=compiled.HOST_COMPILER, extension="cu"
    )
    return Library(path)


def assembly(text: str, folder: Path, *flags: str) -> str:
    """Return the PTX of a source; every warning is an error."""
    source, output = folder / "device.cu", folder / "device.ptx"
    source.write_text(text, encoding="utf-8")
    result = subprocess.run(
        [str(NVCC), "-ptx", "-Werror", "all-warnings", *flags, str(source), "-o", str(output)],
        capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    return output.read_text(encoding="utf-8")


@needs_host
def test_formulas_of_the_user_on_the_host(tmp_path: Path) -> None:
    library = on_host(sg.emit(formulas.swish, "cuda"), tmp_path)
    x = samples.stratified(FLOAT32, formulas.swish.entry.intervals, 500, seed=5)
    assert same_bits(library("swish", x), formulas.swish(x))
    assert same_bits(library("swish_slope", x), formulas.swish.slope(x))


@needs_host
def test_it_passes_certify_on_the_host(tmp_path: Path) -> None:
    text = sg.emit("silu", "cuda", dtype="float32", quantity="value")
    on_host(text, tmp_path)
    bound = sg.silu.entry.bounds["float32"].value
    assert "softgate certify ./silu.so:silu_f32" in text
    assert f"--reference silu --max-ulp {bound:g}\n" in text
    certificate = sg.certify(f"{tmp_path / 'host.so'}:silu_f32", "silu", samples=1000)
    assert not certificate.failures(bound)
    assert certificate.failures(0.5)


@needs_host
def test_fast_math_is_refused_on_the_host(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="needs IEEE arithmetic"):
        compiled.compiled(
            sg.emit("relu", "cuda"), tmp_path, "fast", ("-O1", "-ffast-math"),
            compiled.HOST_COMPILER, "cu",
        )  # fmt: skip


@needs_nvcc
def test_instructions_are_those_of_ieee(tmp_path: Path) -> None:
    """As many of each as are written: none is contracted, approximated or flushed to 0."""
    text = sg.emit("gelu", "cuda", quantity="value,backward")
    functions = text[text.index("softgate_gelu_f32(float x)") :]
    written = {
        (name, bits): functions.count(f"softgate_{name}_f{bits}(")
        for name in OPERATIONS
        for bits in (32, 64)
    }
    result = re.findall(
        r"\b((?:fma|div|mul|add|sub|rcp|sqrt|ex2)\.[a-z0-9.]*f(?:32|64))", assembly(text, tmp_path)
    )
    counts = Counter("div.rn.f64" if name == "rcp.rn.f64" else name for name in result)
    assert counts == {f"{name}.rn.f{bits}": count for (name, bits), count in written.items()}


@needs_nvcc
def test_the_catalogue_compiles_for_a_gpu(tmp_path: Path) -> None:
    """Gated functions and parameters; the host part of the same file too."""
    text = sg.emit(["softplus", "squareplus", "elu", "swiglu", "glu"], "cuda", dtype="float32")
    ptx = assembly(text, tmp_path)
    kernels = set(re.findall(r"\.entry \w*?(\w+_f32)_kernel", ptx))
    assert len(kernels) == text.count("__global__ void")
    source, target = tmp_path / "device.cu", tmp_path / "device.so"
    flags = ["-shared", "-Xcompiler", "-fPIC,-ffp-contract=off,-march=native", "-O1"]
    command = [str(NVCC), *flags, str(source), "-o", str(target)]
    subprocess.run(command, capture_output=True, timeout=600, check=True)
    x = np.linspace(-6, 6, 1001, dtype=np.float32)
    assert same_bits(Library(target)("softplus", x), sg.softplus(x))


def test_the_comment_states_what_was_checked() -> None:
    text = sg.emit("gelu", "cuda")
    assert "Not run on a GPU." in text
    assert "gelu_f32_kernel<<<blocks, threads>>>(x, y, n)" in text
