"""Emitted ONNX models, run by onnxruntime, keep the bounds that they state."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import formulas
import numpy as np
import pytest
from checks import ONCE_ULP, holds, points
from click.testing import CliRunner
from compiled import same_bits
from variants import named

import softgate as sg
from softgate.cli import certify, emit
from softgate.formula.formats import FLOAT16, FLOAT32, FLOAT64, round_to, ulp
from softgate.lower.emit.onnx import LANGUAGE
from softgate.runtime.activation import Activation
from softgate.studies import accuracy
from softgate.studies.accuracy import samples
from softgate.studies.emit import UNFUSED_ULP

onnx = pytest.importorskip("onnx", reason="needs onnx: pip install 'softgate[onnx]'")
onnxruntime = pytest.importorskip("onnxruntime", reason="needs onnxruntime")
ALL = "value,slope,backward"
OLDEST, NEWEST = 13, 26
"""The opsets of onnxruntime 1.20 and later that have these operators."""
Variant = tuple[Activation, dict[str, float]]


def run(model: Any, **operands: Any) -> list[Any]:
    """Return the outputs of a model, by one thread."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level, options.intra_op_num_threads = 3, 1
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    return list(session.run(None, operands))


def model_of(function: Any, **options: Any) -> Any:
    """Return an emitted model that ONNX's full check accepts."""
    model = sg.emit(function, "onnx", **options)
    onnx.checker.check_model(model, full_check=True)
    return model


def inputs(activation: Activation, fmt: Any, count: int) -> Any:
    x = samples.stratified(fmt, activation.entry.intervals, count, seed=7)
    return np.concatenate([samples.specials(fmt), x])


def stated(model: Any, label: str) -> float:
    """Return the bound that the documentation of a model states; inf where it knows none."""
    match = re.search(
        rf"(?m)^    {label}: .*?(within ([\d.]+) ulp|correctly|no bound known)", model.doc_string
    )
    assert match is not None
    return np.inf if match[1] == "no bound known" else float(match[2] or 0)


def test_float32(variant: Variant) -> None:
    """Value, slope and backward of each variant are float64 results rounded once."""
    activation, parameters = variant
    model = model_of(activation, quantity=ALL, **parameters)
    x = inputs(activation, FLOAT32, 2000)
    grad = np.random.default_rng(1).normal(size=x.size).astype(np.float32)
    value, slope, backward = run(model, x=x, grad=grad)
    values = dict(activation.check_parameters(parameters))
    finite = np.isfinite(x)
    for quantity, result in (("value", value), ("slope", slope)):
        reference = accuracy.Reference(activation.entry, quantity, values)
        errors = reference.against_kernel(x[finite], result[finite], FLOAT32)
        label = activation.name if quantity == "value" else f"{activation.name}_slope"
        holds(errors, stated(model, label), f"{named(activation, parameters)} {quantity}")
    wide, wide_grad = x.astype(np.float64), grad.astype(np.float64)
    with np.errstate(all="ignore"):
        assert same_special(value, activation(wide, **parameters), x)
        assert same_special(slope, activation.slope(wide, **parameters), x)
        exact = activation.backward(wide, wide_grad, **parameters)
        limit = ONCE_ULP * ulp(exact, FLOAT32)
        wrong = np.isfinite(exact) & (np.abs(exact) < 3e38) & ~(np.abs(backward - exact) <= limit)
    assert not wrong.any(), (x[wrong][:3], grad[wrong][:3])


def same_special(result: Any, expected: Any, x: Any) -> bool:
    """Tell whether results at ±0, infinities and NaN are the same, the sign of a 0 included."""
    special = ~np.isfinite(x) | (x == 0)
    with np.errstate(all="ignore"):
        return same_bits(result[special], expected[special].astype(result.dtype))


@pytest.mark.parametrize("quantity", ["value", "slope"])
def test_float64(activation: Activation, quantity: str) -> None:
    model = model_of(activation, dtype="float64", quantity=quantity)
    label = activation.name if quantity == "value" else f"{activation.name}_slope"
    assert stated(model, label) in (0, UNFUSED_ULP)
    x = np.random.default_rng(2).permutation(points(activation, FLOAT64, 300, seed=1))[:150]
    (y,) = run(model, x=x)
    errors = accuracy.Reference(activation.entry, quantity, activation.parameters).against_arb(
        x, y, FLOAT64
    )
    holds(errors, stated(model, label), f"{activation.name} {quantity}")


@pytest.mark.parametrize("name", ["gelu", "silu", "tanh", "softplus", "selu", "hardshrink"])
def test_float16_at_every_input(name: str) -> None:
    """onnxruntime rounds float64 to float16 by way of float32: 0.51 ulp, not 0.5."""
    activation = sg.activations()[name]
    model = model_of(activation, dtype="float16")
    x = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    (y,) = run(model, x=x)
    exact = activation(x.astype(np.float64))
    with np.errstate(all="ignore"):
        rounded = round_to(exact, FLOAT16)
        error = np.abs(y.astype(np.float64) - exact) / ulp(exact, FLOAT16)
    usual = np.isfinite(rounded)
    assert np.max(error[usual]) <= stated(model, name) <= ONCE_ULP
    assert same_bits(y[~usual].astype(np.float64), rounded[~usual])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("gated", sg.gated().values(), ids=lambda gated: gated.name)
def test_gated(gated: Activation, dtype: str) -> None:
    """Value, slopes and backward, in the order of the operands."""
    model = model_of(gated, dtype=dtype, quantity=ALL)
    fmt = FLOAT32 if dtype == "float32" else FLOAT64
    rng = np.random.default_rng(3)
    a, b, grad = (rng.normal(scale=3, size=3000).astype(dtype) for _ in range(3))
    results = run(model, a=a, b=b, grad=grad)
    wide = [operand.astype(np.float64) for operand in (a, b, grad)]
    exact = [gated(*wide[:2]), *gated.slope(*wide[:2]), *gated.backward(*wide)]
    # The float64 kernel has an error too.
    limit = ONCE_ULP if fmt is FLOAT32 else UNFUSED_ULP + 4
    names = [output.name for output in model.graph.output]
    assert names == [gated.name, *(f"{gated.name}_{quantity}_{side}"
                                   for quantity in ("slope", "backward")
                                   for side in ("da", "db"))]  # fmt: skip
    scale = np.maximum(np.abs(wide[0]), np.abs(wide[1])) * np.maximum(1, np.abs(wide[2]))
    for name, result, truth in zip(names, results, exact, strict=True):
        # Near a root of the activation's slope an ulp of the slope is not a useful unit.
        size = np.maximum(np.abs(truth), 2.0**-4 * scale) if name.endswith("da") else truth
        assert np.all(np.abs(result - truth) <= limit * ulp(size, fmt)), name


def test_the_gate_may_be_the_second_operand() -> None:
    swapped = sg.swiglu.bind(gate="second", beta=2.0)
    a, b = np.array([1.0, 2.0], np.float32), np.array([-3.0, 0.5], np.float32)
    (y,) = run(model_of(swapped), a=a, b=b)
    assert np.allclose(y, sg.swiglu(b, a, beta=2.0), rtol=1e-6)


def logarithmic() -> Activation:
    return sg.activation(name="logarithmic")(lambda f, x: f.log(1 + x * x) + f.log1p(f.abs(x)))


@pytest.mark.parametrize(
    "formula", [formulas.snake, formulas.swish, formulas.tanhexp, logarithmic()],
    ids=lambda formula: formula.name,
)  # fmt: skip
def test_formulas_of_the_user(formula: Activation) -> None:
    """Sines of large numbers and exponents of logarithms too; no bound is stated."""
    model = model_of(formula)
    assert "no bound known" in model.doc_string
    x = inputs(formula, FLOAT32, 1000)
    (y,) = run(model, x=x)
    with np.errstate(all="ignore"):
        expected = formula(x.astype(np.float64)).astype(np.float32)
        neighbours = [np.nextafter(expected, np.float32(end)) for end in (-np.inf, np.inf)]
    same = (y == expected) | (np.isnan(y) & np.isnan(expected))
    assert np.all(same | (y == neighbours[0]) | (y == neighbours[1]))
    assert same.mean() > 0.99


@pytest.mark.parametrize("name", ["x", "t1", "y"])
def test_formulas_with_the_names_of_values(name: str) -> None:
    own = sg.activation(name=name)(lambda f, x: f.tanh(x))
    x = np.array([0.0, 0.5], np.float32)
    value, slope = run(model_of(own, quantity="value,slope"), x=x)
    assert np.allclose(value, np.tanh(x))
    assert np.allclose(slope, 1 - np.tanh(x) ** 2)


@pytest.mark.parametrize("form", ["model", "function"])
def test_operators_are_standard_and_shapes_dynamic(form: str) -> None:
    model = model_of(["gelu", "softplus", "swiglu"], form=form, quantity=ALL)
    local = {(function.domain, function.name) for function in model.functions}
    nodes = [node for body in (model.graph, *model.functions) for node in body.node]
    for node in nodes:
        assert (node.domain, node.op_type) in local or onnx.defs.get_schema(
            node.op_type, max_inclusive_version=18, domain=node.domain
        )
    assert (form == "function") == bool(local) == (len(model.graph.node) == 9)
    inferred = onnx.shape_inference.infer_shapes(model, strict_mode=True, data_prop=True)
    for value in (*inferred.graph.input, *inferred.graph.output):
        assert [d.dim_param for d in value.type.tensor_type.shape.dim] == ["n"]


@pytest.mark.parametrize("opset", [OLDEST, NEWEST])
def test_opsets(opset: int) -> None:
    """Every operator that models have means the same at the limits of onnxruntime."""
    functions = [sg.gelu, sg.identity, sg.hardshrink, sg.squareplus, logarithmic()]
    x = np.linspace(-12, 12, 1001, dtype=np.float32)
    for form in ("model", "function"):
        model = model_of(functions, form=form, quantity="value,slope")
        expected = run(model, x=x)
        model.opset_import[0].version = opset
        for function in model.functions:
            function.opset_import[0].version = opset
        onnx.checker.check_model(model, full_check=True)
        assert all(map(same_bits, run(model, x=x), expected))


def test_a_local_function_in_another_model() -> None:
    """With operands of another shape, in a graph of the user's."""
    library = sg.emit(["gelu", "identity"], "onnx", form="function", quantity="slope")
    helper, kind = onnx.helper, onnx.TensorProto.FLOAT
    nodes = [
        helper.make_node("Neg", ["u"], ["v"]),
        helper.make_node("gelu_slope", ["v"], ["w"], domain="softgate"),
        helper.make_node("identity_slope", ["v"], ["z"], domain="softgate"),
    ]
    values = [[helper.make_tensor_value_info(name, kind, ["i", "j", 2]) for name in names]
              for names in ("u", "wz")]  # fmt: skip
    model = helper.make_model(
        helper.make_graph(nodes, "user", *values), functions=library.functions,
        opset_imports=library.opset_import, ir_version=library.ir_version,
    )  # fmt: skip
    onnx.checker.check_model(model, full_check=True)
    u = np.linspace(-3, 3, 12, dtype=np.float32).reshape(2, 3, 2)
    slope, ones = run(model, u=u)
    assert np.allclose(slope, sg.gelu.slope(-u), rtol=1e-6)
    assert np.array_equal(ones, np.ones_like(u))


def test_text_and_file_are_the_model(tmp_path: Path) -> None:
    model = model_of("gelu", quantity="value")
    x = np.linspace(-12, 12, 1001, dtype=np.float32)
    (expected,) = run(model, x=x)
    assert same_bits(run(onnx.parser.parse_model(LANGUAGE.text(model)), x=x)[0], expected)
    assert LANGUAGE.content(model) == LANGUAGE.content(sg.emit("gelu", "onnx"))


def test_the_command(tmp_path: Path) -> None:
    file = tmp_path / "silu.onnx"
    written = CliRunner().invoke(emit.command, ["silu", "-o", str(file)])
    assert (written.exit_code, written.stderr) == (0, f"Wrote {file}\n")
    model = sg.emit("silu", "onnx")
    assert file.read_bytes() == LANGUAGE.content(model)
    printed = CliRunner().invoke(emit.command, ["silu", "--language", "onnx"])
    assert printed.stdout == LANGUAGE.text(model)


@pytest.mark.parametrize(("quantity", "limit"), [("value", 0.51), ("slope", 1.02)])
def test_it_passes_certify(
    quantity: str, limit: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the command that the documentation states, on fewer inputs; not with a smaller limit."""
    model = model_of("silu", quantity=quantity)
    monkeypatch.chdir(tmp_path)
    command = model.doc_string.split("softgate certify ")[1].split("\n\n")[0]
    file, *options = command.replace("\\", " ").split()
    onnx.save(model, file)
    parsed = certify.command.make_context("certify", [file, *options]).params
    assert parsed["max_ulp"] == limit
    chosen = {name: parsed[name] for name in ("reference", "slope", "quantity")}
    certificate = sg.certify(file, **chosen, samples=1000)
    assert {measurement.quantity for measurement in certificate} == {quantity}
    assert not certificate.failures(limit)
    assert certificate.failures(0.4)


def test_documentation(activation: Activation) -> None:
    """Formula, paper, bound, parameters, command, opset, version and licence."""
    text, entry = sg.emit(activation, "onnx").doc_string, activation.entry
    joined = " ".join(line.strip() for line in text.split("\n"))
    for part in (
        f"{entry.name}(x) = {entry.formula}", entry.paper, "opset 18", "Apache-2.0",
        f"softgate {sg.__version__}", f"softgate certify {entry.name}.onnx",
        *(f"{p.name} = {p.default!r}" for p in entry.parameters),
    ):  # fmt: skip
        assert part in joined
    assert all(len(line) <= 100 for line in text.split("\n"))


def test_without_onnx_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=re.escape("pip install 'softgate[onnx]'")):
        sg.emit("gelu", "onnx")
