"""Tables for 8-bit integers: exact by arb, called on arrays and tensors, against onnxruntime."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from float8 import SURE, truths

import softgate as sg
from softgate.runtime.activation import Activation
from softgate.studies.quantized import Quantized

TOOLS = Path(__file__).resolve().parents[2] / "tools" / "docs"
INT8, UINT8 = np.arange(-128, 128).astype(np.int8), np.arange(256).astype(np.uint8)


@pytest.fixture(scope="module")
def gelu8() -> Quantized:
    return sg.quantized(sg.gelu, 0.05, 0, 0.03, -100)


def check_exact(table: Quantized, function: Activation) -> None:
    """Each entry is the nearest integer, ties to even, or the end of the range."""
    low, high = int(np.iinfo(table.dtype).min), int(np.iinfo(table.dtype).max)
    numbers = {q: Fraction(table.in_scale) * (q - table.in_zero) for q in range(low, high + 1)}
    saturated = 0
    for q, x in numbers.items():
        assert Fraction(float(x)) == x  # scales of few bits: a float64 is exact
        (exact,) = truths(function.entry.define(), [x], **function.parameters).values()
        steps = exact / Fraction(table.out_scale)
        nearest = round(steps)
        if abs(abs(steps - round(steps)) - Fraction(1, 2)) < abs(steps) * Fraction(1, 1 << SURE):
            nearest = 2 * round(steps / 2)  # an even integer, where arb's ball contains the tie
        expected = nearest + table.out_zero
        saturated += not low <= expected <= high
        assert table.entries[q - low] == min(max(expected, low), high), q
        assert table.values[q - low] == pytest.approx(float(exact), rel=2.0**-52, abs=2.0**-890)
    assert table.saturated == saturated


@pytest.mark.parametrize("name", ["gelu", "mish", "hard_swish", "leaky_relu", "relu", "softplus"])
def test_entries_are_exact_and_rounded_once(name: str) -> None:
    function = sg.activations()[name]
    check_exact(sg.quantized(name, 3 / 64, 17, 5 / 128, -90), function)
    check_exact(sg.quantized(function, 0.25, 200, 0.5, 3, dtype="uint8"), function)


def test_an_entry_changed_by_one_is_noticed() -> None:
    table = sg.quantized(sg.relu, 0.25, 0, 0.5, 0)
    wrong = Quantized(**{**vars(table), "entries": (*table.entries[:-1], table.entries[-1] - 1)})
    with pytest.raises(AssertionError):
        check_exact(wrong, sg.relu)


def test_the_error_is_recorded(gelu8: Quantized) -> None:
    exact = np.array(gelu8.values)
    errors = np.abs(gelu8.out_scale * (gelu8.array.astype(float) - gelu8.out_zero) - exact)
    assert gelu8.max_error == pytest.approx(errors.max(), rel=1e-9)
    assert gelu8.max_error_steps == pytest.approx(errors.max() / 0.03, rel=1e-9)
    assert gelu8.max_error_steps <= 0.5
    assert (gelu8.saturated, gelu8.max_saturation_error) == (0, 0.0)
    narrow = sg.quantized(sg.relu, 1.0, 0, 0.5, 0)
    assert narrow.saturated == 64  # from 64 on the result exceeds 127 steps
    assert narrow.max_saturation_error == 127 - 63.5
    assert narrow.max_error == 0


def test_ties_are_rounded_to_even() -> None:
    table = sg.quantized(sg.relu, 1.0, 0, 2.0, 0)
    assert table(np.array([1, 2, 3, 5, 7], np.int8)).tolist() == [0, 1, 2, 2, 4]


def test_text_html_and_json(gelu8: Quantized) -> None:
    assert "output                0.03·(q + 100)" in str(gelu8)
    assert "saturated entries     0 of 256" in str(gelu8)
    assert gelu8._repr_html_().startswith("<table>")
    assert Quantized.from_json(gelu8.to_json()) == gelu8
    header, rows = gelu8.table()
    assert len(rows) == 256
    assert dict(zip(header, rows[128], strict=True)) == {
        "q": 0, "x": 0.0, "entry": -100, "result": 0.0, "exact": 0.0
    }  # fmt: skip
    assert sg.quantized("elu:alpha=0.5", 0.1, 0, 0.1, 0).function == "elu:alpha=0.5"
    assert sg.quantized("elu", 0.1, 0, 0.1, 0, alpha=0.5).function == "elu:alpha=0.5"


def test_arrays(gelu8: Quantized) -> None:
    assert np.array_equal(gelu8(INT8), gelu8.array)
    assert gelu8(INT8.reshape(16, 16).T).shape == (16, 16)
    assert gelu8(np.int8(20)) == -72
    other = sg.quantized(sg.gelu, 0.05, 128, 0.03, 5, dtype="uint8")
    assert other(UINT8).dtype == np.uint8
    assert np.array_equal(other(UINT8), np.array(other.entries))
    with pytest.raises(ValueError, match="read-only"):
        gelu8.array[0] = 1


def test_tensors(gelu8: Quantized) -> None:
    torch = pytest.importorskip("torch")
    x = torch.tensor(INT8)
    assert gelu8(x).dtype is torch.int8
    assert np.array_equal(gelu8(x).numpy(), gelu8.array)
    with pytest.raises(TypeError, match="x has dtype float32: expected int8"):
        gelu8(x.float())


@pytest.mark.filterwarnings("ignore:torch.quantize_per_tensor:UserWarning")
def test_quantized_tensors(gelu8: Quantized) -> None:
    torch = pytest.importorskip("torch")
    numbers = torch.tensor(INT8).double().mul(0.05).float()
    x = torch.quantize_per_tensor(numbers, 0.05, 0, torch.qint8)
    y = gelu8(x)
    assert (y.q_scale(), y.q_zero_point(), y.dtype) == (0.03, -100, torch.qint8)
    assert np.array_equal(y.int_repr().numpy(), gelu8.array)
    with pytest.raises(ValueError, match=r"x has scale 0\.1 and zero point 0: this table is for"):
        gelu8(torch.quantize_per_tensor(numbers, 0.1, 0, torch.qint8))


def test_jax_arrays(gelu8: Quantized) -> None:
    jax = pytest.importorskip("jax")
    x = jax.numpy.asarray(INT8)
    for call in (gelu8, jax.jit(gelu8)):
        assert np.array_equal(np.asarray(call(x)), gelu8.array)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("gelu", 0, 0, 1, 0), "in_scale = 0: expected a positive finite number"),
        (("gelu", 1, 0, float("nan"), 0), "out_scale = nan: expected a positive"),
        (("gelu", 1, 128, 1, 0), "in_zero = 128: expected an integer from -128 to 127"),
        (("gelu", 1, 0.5, 1, 0), "in_zero is a float: expected an integer"),
        (("gelu", "1x", 0, 1, 0), "in_scale is a str: expected a positive number"),
        ((sg.swiglu, 1, 0, 1, 0), "takes two arrays: expected a function of one"),
    ],
)
def test_mistakes(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        sg.quantized(*arguments)


def test_mistakes_with_dtypes(gelu8: Quantized) -> None:
    with pytest.raises(ValueError, match="dtype = 'int16': choose from int8, uint8"):
        sg.quantized("gelu", 1, 0, 1, 0, dtype="int16")
    with pytest.raises(TypeError, match="x has dtype uint8: this table is for int8"):
        gelu8(UINT8)
    with pytest.raises(TypeError, match="x is a list"):
        gelu8([1, 2])


def test_a_function_that_is_not_real_or_infinite() -> None:
    @sg.activation
    def log_abs(f: Any, x: Any) -> Any:
        return f.log(f.abs(x))

    table = sg.quantized(log_abs, 0.1, 0, 0.05, 0)
    assert table(np.int8(0)) == -128
    assert table.max_saturation_error == float("inf")

    @sg.activation
    def logarithm(f: Any, x: Any) -> Any:
        return f.log(x)

    with pytest.raises(ValueError, match=r"logarithm is not real at -12\.8, for q = -128"):
        sg.quantized(logarithm, 0.1, 0, 0.05, 0)


@pytest.fixture
def comparison(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The tool that counts onnxruntime's differences."""
    pytest.importorskip("onnxruntime")
    monkeypatch.syspath_prepend(str(TOOLS))
    import quantized_table

    yield quantized_table
    for name in ("quantized_table", "readme_blocks"):
        sys.modules.pop(name, None)


def test_onnxruntime_differs_in_few_entries_by_one_step(comparison: ModuleType) -> None:
    tables = {form.function: list(comparison.cases(form.function, 2)) for form in comparison.FORMS}
    for form in comparison.FORMS:
        total, differ, largest = comparison.counts(form, tables[form.function])
        assert total == 512
        assert differ <= 5, form.label  # near the middle of two integers float32 may err
        assert largest <= 1, form.label
    # Another function differs in many entries: the count is one that can fail.
    gelu = comparison.FORMS[0]
    _, differ, _ = comparison.counts(gelu, tables["hard_swish"])
    assert differ > 50
