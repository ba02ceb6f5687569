"""Graphs that run without softgate: exported, traced, in ONNX; their limits and accuracy hold."""

from __future__ import annotations

import math
import re
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from torch import Tensor, nn

import softgate as sg
from softgate.frameworks.torch.operators import bind
from softgate.runtime.activation import Activation

# torch itself still uses, for exports, what it deprecates.
pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")


@pytest.fixture(autouse=True)
def _dynamo() -> Iterator[None]:
    yield
    torch._dynamo.reset()


class Model(nn.Module):
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *inputs: Tensor) -> Any:
        return self.function(*inputs)


def exported(function: Callable[..., Any], *inputs: Tensor) -> Any:
    return torch.export.export(Model(function), inputs).module()


def traced(function: Callable[..., Any], *inputs: Tensor) -> Any:
    return torch.jit.trace(Model(function), inputs, check_trace=False)


EXPORTERS = {"export": exported, "trace": traced}
TAIL_ULP = {
    "gelu": 300.0,
    "Phi": 300.0,
    "phi": 80.0,
    "gelu_tanh": 300.0,
    "gelu_sigmoid": 120.0,
    "silu": 80.0,
    "mish": 200.0,
    "gelu_10": 300.0,
    "laplace": 400.0,
    "log_ndtr": 300.0,
    "xielu": 600.0,
}
"""The largest error of exported float32 graphs where it is not below 4 ulp: the rounded argument of
an exponential is magnified in the tail. Rounding a to float32 costs exp(-a*a/2) a*a/2 ulp. The two
terms of xielu cancel beside its root."""


def special(dtype: torch.dtype) -> Tensor:
    return torch.tensor([-math.inf, -0.0, 0.0, math.inf, math.nan], dtype=dtype)


SPECIAL = 5


def tails(dtype: torch.dtype) -> Tensor:
    """Return finite inputs of both signs: every size, and densely where results underflow."""
    far = np.geomspace(1e-40, 3.3e38, 1000)
    near = np.linspace(0, 110, 3001)
    x = torch.from_numpy(np.concatenate([-far, far, -near, near])).to(dtype)
    return x[x.isfinite()]


def error_ulp(y: Tensor, activation: Activation, x: Tensor) -> float:
    """Return the largest error in ulps of the exact result, which float64 kernels stand for."""
    info = torch.finfo(y.dtype)
    true, results = activation(x.double().numpy()), y.double().numpy()
    finite = np.abs(true) < info.max
    true, results = true[finite], results[finite]
    size = np.maximum(np.abs(true), info.smallest_normal)
    ulp = np.exp2(np.floor(np.log2(size))) * info.eps
    return float(np.max(np.abs(results - true) / ulp))


@pytest.mark.parametrize("exporter", EXPORTERS)
def test_exports_keep_limits_accuracy_and_gradients(activation: Activation, exporter: str) -> None:
    """16-bit formats are rounded once; -0 and NaN are kept in every format."""
    bound = TAIL_ULP.get(activation.name, 4.0)
    bounds = {
        torch.float16: 0.75,
        torch.bfloat16: 0.75,
        torch.float32: bound,
        torch.float64: bound if bound == 4.0 else 10 * bound,
    }
    if exporter == "export":  # takes ten times as long: a format of each kind
        bounds = {dtype: bounds[dtype] for dtype in (torch.bfloat16, torch.float32)}
    inputs = [torch.cat([special(dtype), tails(dtype)]) for dtype in bounds]
    far = [math.inf, 3e38, 1e25, 200.0, 20.0, 2.0, 0.5, 0.0]
    leaf = torch.tensor([*far, *(-x for x in far)], requires_grad=True)
    if exporter == "export":
        run = exported(lambda *xs: tuple(activation(x) for x in xs), *inputs, leaf)
        *results, last = run(*inputs, leaf)
    else:  # in one graph, torch.jit.trace would take the constants of two formats for the same
        *results, last = (traced(activation, x)(x) for x in [*inputs, leaf])
    for x, y, allowed in zip(inputs, results, bounds.values(), strict=True):
        check_values(activation, x, y, allowed)
    (grad,) = torch.autograd.grad(last.sum(), leaf)
    torch.testing.assert_close(grad, activation.slope(leaf.detach()), rtol=1e-5, atol=1e-7)


def check_values(activation: Activation, x: Tensor, y: Tensor, allowed: float) -> None:
    edges, expected = y[:SPECIAL], activation(x[:SPECIAL])
    rtol = allowed * torch.finfo(x.dtype).eps  # where the value at 0 is neither 0 nor exact
    torch.testing.assert_close(edges, expected, rtol=rtol, atol=0, equal_nan=True)
    assert torch.equal(edges.signbit() | edges.isnan(), expected.signbit() | expected.isnan())
    # x - tanh(x) cancels near 0, as torch's tanhshrink does.
    measured = x.isfinite() & (x.abs() > (1 if activation.name == "tanhshrink" else -1))
    assert error_ulp(y[measured], activation, x[measured]) <= allowed


@pytest.mark.parametrize("exporter", EXPORTERS)
def test_exported_choices_have_gradients(exporter: str) -> None:
    """A branch that is not chosen overflows, or is infinite at 0: neither must make NaN."""

    @sg.activation
    def chosen(f: Any, x: Any) -> Any:
        return f.where(x > 1, f.log(x), f.where(x < -1, 1 / x, f.exp(x)))

    x = torch.tensor([-200.0, -2.0, -0.5, 0.25, 0.5, 2.0, 200.0], requires_grad=True)
    run = EXPORTERS[exporter](chosen, x)
    (grad,) = torch.autograd.grad(run(x).sum(), x)
    torch.testing.assert_close(grad, chosen.slope(x.detach()))


def operators_in(run: Any) -> str:
    return str(run.graph)


@pytest.mark.parametrize("exporter", EXPORTERS)
@pytest.mark.parametrize(
    ("name", "operator"),
    [("gelu", "gelu"), ("silu", "silu"), ("mish", "mish"), ("elu", "elu"), ("celu", "celu")],
)
def test_torchs_fused_operator_on_request(exporter: str, name: str, operator: str) -> None:
    activation, x = sg.activations()[name], torch.tensor([-1.0, 2.0])
    called = re.compile(rf"aten(::|\.){operator}\b")
    with sg.torch.prefer_torch_operators():
        fused = EXPORTERS[exporter](activation, x)
    assert called.search(operators_in(fused))
    ours = EXPORTERS[exporter](activation, x)
    assert not called.search(operators_in(ours))
    torch.testing.assert_close(fused(x), ours(x))


def test_strict_exports_hold_our_definition() -> None:
    """torch.export with strict=True reads Python as torch.compile does."""
    x = torch.tensor([-math.inf, -12.0, 1.5, 3.3e38])
    program = torch.export.export(Model(sg.gelu), (x,), strict=True)
    assert "erfc" in str(program.graph)
    torch.testing.assert_close(program.module()(x), sg.gelu(x), rtol=2e-5, atol=0)
    with sg.torch.prefer_torch_operators():
        program = torch.export.export(Model(sg.gelu), (x,), strict=True)
    assert "aten.gelu" in str(program.graph)


NEW_PROCESS = """
import sys
sys.modules["softgate"] = None
import warnings
warnings.simplefilter("ignore")
import torch
folder, names = sys.argv[1], sys.argv[2:]
x = torch.load(f"{folder}/x.pt")
results = {}
for name in names:
    program = torch.export.load(f"{folder}/{name}.pt2").module()
    traced = torch.jit.load(f"{folder}/{name}.pt")
    results[name] = (program(x), traced(x))
torch.save(results, f"{folder}/results.pt")

del sys.modules["softgate"]
import softgate as sg

class Model(torch.nn.Module):
    def forward(self, x):
        return sg.gelu(x)

program = torch.export.export(Model(), (torch.ones(3),))  # softgate's first tensor
x = torch.randn(3)
assert torch.allclose(program.module()(x), sg.gelu(x))
"""


def test_exported_programs_run_without_softgate(tmp_path: Path) -> None:
    """In the same process, softgate is imported and its first tensor arrives in an export."""
    x = torch.cat([torch.linspace(-15, 15, 301), special(torch.float32)])
    functions: dict[str, Any] = {"gelu": sg.gelu, "swiglu": lambda v: sg.swiglu(v, v + 1)}
    for name, function in functions.items():
        torch.export.save(torch.export.export(Model(function), (x,)), tmp_path / f"{name}.pt2")
        traced(function, x).save(tmp_path / f"{name}.pt")
    torch.save(x, tmp_path / "x.pt")
    command = [sys.executable, "-c", NEW_PROCESS, str(tmp_path), *functions]
    subprocess.run(command, check=True, capture_output=True, timeout=600)
    for name, results in torch.load(tmp_path / "results.pt").items():
        for result in results:
            torch.testing.assert_close(
                result, functions[name](x), rtol=2e-5, atol=1e-37, equal_nan=True
            )


@pytest.mark.parametrize("order", [1, 2, 3])
def test_derivatives_in_torch_operators_have_limits(activation: Activation, order: int) -> None:
    forms = bind(activation, None, {}).forms
    x = torch.tensor([-math.inf, -1e20, 1e20, math.inf, math.nan])
    result = forms.evaluate((order,), x)
    if order < 3:
        quantity = ("slope", "curvature")[order - 1]
        torch.testing.assert_close(
            result[:4], getattr(activation, quantity)(x[:4]), atol=1e-30, rtol=1e-6
        )
    else:
        far = activation(x[:4]) if activation is sg.exponential else torch.zeros(4)
        assert torch.equal(result[:4], far)


@pytest.mark.parametrize("name", ["gelu", "softsign", "squareplus", "mish", "softplus"])
def test_third_derivatives_vanish_at_infinity(name: str) -> None:
    activation = sg.activations()[name]
    third = torch.func.vmap(torch.func.grad(torch.func.grad(torch.func.grad(activation))))
    assert torch.equal(third(torch.tensor([-math.inf, math.inf])), torch.zeros(2))


@pytest.mark.parametrize("name", ["squareplus", "softsign"])
def test_traced_graphs_train_from_zero(name: str) -> None:
    """A stable form takes |x|, whose slope at 0 autograd takes for 0."""
    activation = sg.activations()[name]
    x = torch.zeros(3, requires_grad=True)
    traced = torch.jit.trace(activation, torch.ones(3))
    (grad,) = torch.autograd.grad(traced(x).sum(), x)
    torch.testing.assert_close(grad, activation.slope(x.detach()))


def test_compiled_functorch_has_limits() -> None:
    x = torch.tensor([-math.inf, 0.0, 3.0])
    for name in ("gelu_sigmoid", "softsign"):
        activation = sg.activations()[name]
        total = torch.func.grad(lambda v, f=activation: f(v).sum())
        compiled = torch.compile(total, backend="aot_eager", fullgraph=True)
        torch.testing.assert_close(compiled(x), activation.slope(x))


def onnx_session(functions: list[Activation], x: Tensor, dynamo: bool) -> Any:
    """Return an export of functions of one input, as bytes, and onnxruntime's run of it."""
    model = Model(lambda v: tuple(function(v) for function in functions))
    with warnings.catch_warnings():  # both exporters warn about themselves
        warnings.simplefilter("ignore")
        if dynamo:
            program: Any = torch.onnx.export(model, (x,), verbose=False)
            written = program.model_proto.SerializeToString()
        else:
            stored = BytesIO()
            torch.onnx.export(model, (x,), stored, dynamo=False)
            written = stored.getvalue()
    session = onnxruntime.InferenceSession(written, providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name
    return written, lambda values: map(torch.from_numpy, session.run(None, {name: values.numpy()}))


ONNX_FLOOR = {"mish": 1e-34, "tanh": 1e-34, "tanhshrink": 1e-6}
"""Absolute errors: onnxruntime's tanh is wrong for subnormals, and x - tanh(x) cancels."""


def check_onnx(activation: Activation, x: Tensor, result: Tensor) -> None:
    expected = activation(x)
    torch.testing.assert_close(result[:SPECIAL], expected[:SPECIAL], equal_nan=True)
    floor = ONNX_FLOOR.get(activation.name, 0.0)
    mask = expected[SPECIAL:].abs() > floor
    error = error_ulp(result[SPECIAL:][mask], activation, x[SPECIAL:][mask])
    assert error <= {"gelu": 10.0, "Phi": 10.0}.get(
        activation.name, TAIL_ULP.get(activation.name, 6.0) if floor < 1e-6 else 1e6
    )


def test_onnx_keeps_limits_and_tails(activation: Activation) -> None:
    x = torch.cat([special(torch.float32), tails(torch.float32)])
    _, run = onnx_session([activation], x, dynamo=False)
    check_onnx(activation, x, *run(x))


def test_onnx_by_dynamo_keeps_limits_and_tails() -> None:
    """In one model, as each export takes more than a second."""
    functions = [sg.gelu, sg.log_sigmoid, sg.relu, sg.gelu_sigmoid, sg.softplus]
    x = torch.cat([special(torch.float32), tails(torch.float32)])
    written, run = onnx_session(functions, x, dynamo=True)
    for function, result in zip(functions, run(x), strict=True):
        check_onnx(function, x, result)
    graph = onnx.load_from_string(written).graph
    (relu,) = (node for node in graph.node if graph.output[2].name in node.output)
    assert (relu.op_type, list(relu.input)) == ("Relu", [graph.input[0].name])


def test_onnx_has_torchs_operator_on_request() -> None:
    with sg.torch.prefer_torch_operators(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program: Any = torch.onnx.export(Model(sg.gelu), (torch.ones(3),), verbose=False)
    assert [node.op_type for node in program.model_proto.graph.node] == ["Gelu"]


def test_explain_says_which_form() -> None:
    expected = {
        "gelu": r"torch's own operator, NaN at (-inf|inf|-inf and inf), on cpu",  # AVX-512: inf
        "relu": r"torch's own operator, on cpu",
        "squareplus": r"the kernel's formula in torch operators, on cpu",
        "gelu_sigmoid": r"the definition in torch operators, its limits kept, on cpu",
    }
    x = torch.ones(3).to_sparse()
    for name, text in expected.items():
        assert re.fullmatch(text, sg.explain(x, name).computed_by)
