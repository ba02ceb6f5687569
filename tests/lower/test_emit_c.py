"""Emitted C compiles without a warning, keeps the catalogue's bounds, and vectorises."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import compiled
import formulas
import numpy as np
import pytest
from checks import bound, call, holds, points
from compiled import FAST, Library, same_bits

import softgate as sg
from softgate.formula.formats import FLOAT32, FLOAT64, Format
from softgate.runtime.activation import Activation
from softgate.studies import accuracy
from softgate.studies.accuracy import samples

OWN = [formulas.snake, formulas.swish, formulas.isru, formulas.tanhexp]
pytestmark = pytest.mark.skipif(compiled.COMPILER is None, reason=compiled.MISSING)


@pytest.fixture(scope="module")
def catalogue(tmp_path_factory: pytest.TempPathFactory) -> Library:
    """All of the catalogue in one library: helpers are shared, names do not clash."""
    text = sg.emit(sg.activations().values(), "c")
    path, _ = compiled.compiled(text, tmp_path_factory.mktemp("c"), "catalogue")
    return Library(path)


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> tuple[Library, Library]:
    """Formulas of one's own: in both formats, and in float32 alone."""
    folder = tmp_path_factory.mktemp("own")
    both, _ = compiled.compiled(sg.emit(OWN, "c"), folder, "both")
    narrow, _ = compiled.compiled(sg.emit(OWN, "c", dtype="float32"), folder, "narrow")
    return Library(both), Library(narrow)


def label(activation: Activation, quantity: str) -> str:
    return activation.name if quantity == "value" else f"{activation.name}_{quantity}"


def inputs(activation: Activation, fmt: Format) -> Any:
    """Inputs of every kind, special values too."""
    return samples.stratified(fmt, activation.entry.intervals, 2000, seed=5)


def check_bound(library: Library, activation: Activation, quantity: str) -> None:
    """Hold an emitted float32 loop to the bound that the catalogue states."""
    x = points(activation, FLOAT32, 60_000, seed=3)
    y = library(label(activation, quantity), x)
    errors = accuracy.Reference(activation.entry, quantity).against_kernel(x, y, FLOAT32)
    holds(errors, bound(activation, quantity, FLOAT32, {}), f"{activation.name} {quantity}")


def test_float32_keeps_the_bound(catalogue: Library, activation: Activation) -> None:
    for quantity in ("value", "slope"):
        check_bound(catalogue, activation, quantity)


def test_float64_keeps_the_bound(catalogue: Library, activation: Activation) -> None:
    x = np.random.default_rng(2).permutation(points(activation, FLOAT64, 300, seed=1))[:300]
    for quantity in ("value", "slope"):
        y = catalogue(label(activation, quantity), x)
        reference = accuracy.Reference(activation.entry, quantity, activation.parameters)
        errors = reference.against_arb(x, y, FLOAT64)
        holds(errors, bound(activation, quantity, FLOAT64, {}), f"{activation.name} {quantity}")


def test_results_are_the_kernels_own(
    catalogue: Library, variant: tuple[Activation, dict[str, float]]
) -> None:
    """Bit for bit, special values too: with the defaults, and with parameters handed over."""
    activation, parameters = variant
    argument = activation.check_parameters(parameters) if parameters else ()
    for fmt in (FLOAT32, FLOAT64):
        x = inputs(activation, fmt)
        for quantity in ("value", "slope"):
            name = label(activation, quantity) + ("_with" if argument else "")
            y = catalogue(name, x, *(value for _, value in argument))
            assert same_bits(y, call(activation, quantity, x, **parameters)), (name, fmt.name)


def test_bound_parameters_are_written_in(tmp_path: Path) -> None:
    leaky = sg.leaky_relu.bind(slope=0.2)
    text = sg.emit(leaky, "c")
    assert "slope = 0.2\n" in text
    assert "_with" not in text
    path, _ = compiled.compiled(text, tmp_path, "leaky")
    for fmt in (FLOAT32, FLOAT64):
        x = inputs(leaky, fmt)
        assert same_bits(Library(path)("leaky_relu", x), leaky(x))
        assert same_bits(Library(path)("leaky_relu_slope", x), leaky.slope(x))


def test_a_parameter_that_no_two_floats_hold(tmp_path: Path) -> None:
    """float32 is computed in float64, as softgate itself does it, and rounded once."""
    tiny = sg.elu.bind(alpha=1e-35)
    path, _ = compiled.compiled(sg.emit(tiny, "c", dtype="float32"), tmp_path, "tiny")
    x = inputs(tiny, FLOAT32)
    with np.errstate(under="ignore"):
        expected = tiny(x.astype(np.float64)).astype(np.float32)
    assert same_bits(Library(path)("elu", x), expected)


@pytest.mark.parametrize("quantity", ["value", "slope"])
@pytest.mark.parametrize("formula", OWN, ids=lambda formula: formula.name)
def test_formulas_of_ones_own(
    own: tuple[Library, Library], formula: Activation, quantity: str
) -> None:
    """float32 is float64 rounded once, and results at infinity are the formula's limits."""
    both, narrow = own
    name = label(formula, quantity)
    x = inputs(formula, FLOAT64)
    assert same_bits(both(name, x), call(formula, quantity, x))
    x = inputs(formula, FLOAT32)
    expected = call(formula, quantity, x)
    assert same_bits(both(name, x), expected)
    assert same_bits(narrow(name, x), expected)


def vectorised(text: str, folder: Path) -> tuple[set[str], set[str]]:
    """Return the loops of a source, and those that gcc vectorises with the comment's flags."""
    flags = (*FAST, "-fno-ipa-icf", "-fopt-info-vec-optimized")  # two that are alike stay two
    _, output = compiled.compiled(text, folder, "fast", flags)
    lines = text.split("\n")
    loops = {i + 1: lines[i - 2] for i, line in enumerate(lines) if "for (size_t i" in line}
    vectorised = {
        int(line.split(":")[1]) for line in output.split("\n") if "loop vectorized" in line
    }
    return set(loops.values()), {loops[line] for line in vectorised & set(loops)}


def check_loops(functions: list[Activation], dtype: str, folder: Path) -> None:
    loops, result = vectorised(sg.emit(functions, "c", dtype=dtype), folder)
    several = sum(bool(function.parameters) for function in functions)
    assert len(loops) == 2 * (len(functions) + several)
    assert loops - result == set()


@pytest.mark.parametrize("turn", [0, 1])
def test_every_loop_vectorises(turn: int, tmp_path: Path) -> None:
    """All of the catalogue, with and without parameters, in one format, as the comment states."""
    functions = [*sg.activations().values(), *sg.gated().values()]
    check_loops(functions[turn::2], ("float32", "float64")[turn], tmp_path)


@pytest.mark.exhaustive
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_every_loop_vectorises_in_both_formats(dtype: str, tmp_path: Path) -> None:
    check_loops([*sg.activations().values(), *sg.gated().values()], dtype, tmp_path)


def test_a_loop_with_a_branch_is_seen_not_to_vectorise(tmp_path: Path) -> None:
    text = sg.emit("relu", "c", dtype="float32", quantity="value")
    body = "return (x < 0.0f) ? 0.0f : x;"
    assert body in text
    slow = text.replace(
        body, "for (int i = 0; x > 1.0f && i < 9; i++)\n        x /= 3.0f;\n    return x;"
    )
    assert vectorised(text, tmp_path)[1]
    assert not vectorised(slow, tmp_path)[1]


def test_a_vectorised_loop_gives_the_same_bits(tmp_path: Path) -> None:
    path, _ = compiled.compiled(sg.emit("gelu", "c"), tmp_path, "fast", FAST)
    for fmt in (FLOAT32, FLOAT64):
        x = inputs(sg.gelu, fmt)
        assert same_bits(Library(path)("gelu", x), sg.gelu(x))
        assert same_bits(Library(path)("gelu_slope", x[:-3]), sg.gelu.slope(x[:-3]))


def test_a_gated_function_whose_parameter_no_two_floats_hold(tmp_path: Path) -> None:
    """float32 is computed in float64 and rounded once: value, slopes and backward."""
    tiny = sg.swiglu.bind(beta=1e-35)
    text = sg.emit(tiny, "c", dtype="float32", quantity="value,slope,backward")
    library = Library(compiled.compiled(text, tmp_path, "tiny")[0])
    x = inputs(sg.silu, FLOAT32)
    operands = (x, x[::-1].copy(), np.full_like(x, 0.7))
    wide = tuple(operand.astype(np.float64) for operand in operands)
    with np.errstate(all="ignore"):
        for quantity, count, results in (("value", 2, 1), ("slope", 2, 2), ("backward", 3, 2)):
            name = label(tiny, quantity)
            result = library(name, operands[:count], results=results)
            method = tiny if quantity == "value" else getattr(tiny, quantity)
            expected = method(*wide[:count])
            for pair in zip(np.atleast_2d(result), np.atleast_2d(expected), strict=True):
                assert same_bits(pair[0], pair[1].astype(np.float32))


def test_results_may_overwrite_operands(tmp_path: Path) -> None:
    text = sg.emit("swiglu", "c", dtype="float32", quantity="slope")
    library = Library(compiled.compiled(text, tmp_path, "swiglu", FAST)[0])
    a = np.linspace(-4, 4, 1001, dtype=np.float32)
    b = a[::-1].copy()
    expected = sg.swiglu.slope(a, b)
    loop = library.symbols["swiglu_slope_f32"]
    pointers = [ctypes.c_void_p(array.ctypes.data) for array in (a, b, a, b)]
    loop(*pointers, ctypes.c_size_t(a.size))
    assert same_bits(a, expected[0])
    assert same_bits(b, expected[1])


def test_emitted_files_can_be_joined(tmp_path: Path) -> None:
    text = sg.emit("gelu", "c") + sg.emit("silu", "c")
    text += sg.emit("swiglu", "c")
    path, _ = compiled.compiled(text, tmp_path, "joined")
    assert Library(path)("silu", np.ones(3))[0] == sg.silu(1.0)


def test_the_measurement_catches_a_wrong_constant(tmp_path: Path) -> None:
    text = sg.emit("gelu", "c", dtype="float32")
    wrong = text.replace("-0x1p-64f", "-0x1.00001p-64f")
    assert wrong != text
    path, _ = compiled.compiled(wrong, tmp_path, "wrong")
    with pytest.raises(AssertionError, match="ulp"):
        check_bound(Library(path), sg.gelu, "value")


def test_fast_math_is_refused(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="needs IEEE arithmetic"):
        compiled.compiled(sg.emit("relu", "c"), tmp_path, "fast", ("-O1", "-ffast-math"))


def test_it_passes_certify(tmp_path: Path) -> None:
    path, _ = compiled.compiled(sg.emit("gelu", "c"), tmp_path, "gelu")
    for suffix, stated in (("f32", 3.3), ("f64", 4.1)):
        certificate = sg.certify(
            f"{path}:gelu_{suffix}", "gelu", slope=f"{path}:gelu_slope_{suffix}", samples=1000
        )
        assert {m.quantity for m in certificate.measurements} >= {"value", "slope"}
        assert not certificate.failures(stated)
        assert certificate.failures(0.5)
