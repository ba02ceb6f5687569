"""Activations inside operators, branches and loops of ONNX files, and behind repeated operators."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import softgate as sg

onnx = pytest.importorskip("onnx")
ort = pytest.importorskip("onnxruntime")

HEAD = '<ir_version: 10, opset_import: ["" : 20, "com.microsoft" : 1, "com.microsoft.nchwc" : 1]>'
GELU = "d = Div (h, root) e = Erf (d) a = Add (e, one) m = Mul (h, a) y = Mul (m, half)"
CONSTANTS = "float root = {1.4142135}, float one = {1.0}, float half = {0.5}, float zero = {0.0}"


def save(file: Path, body: str, constants: str = CONSTANTS, inputs: str = "float[4, 8] x") -> Path:
    """Write a model from x to y, in the syntax of onnx.parser."""
    text = f"{HEAD} g ({inputs}) => (float[N, M] y) <{constants}> {{ {body} }}"
    onnx.save(onnx.parser.parse_model(text), file)
    return file


def functions(scan: Any) -> dict[str, int]:
    """Return the number of calls of each function, and check that each operator is in one place."""
    rows = (*scan.activations, *scan.unidentified)
    assert sum(r.counted for r in rows) + sum(o.count for o in scan.unlisted) == scan.operators
    found: dict[str, int] = {}
    for row in scan.activations:
        found[row.answer] = found.get(row.answer, 0) + row.calls
    return found


FUSED = {
    'com.microsoft.FusedConv <activation = "Relu"> (x, w)': "relu",
    'com.microsoft.FusedConv <activation = "LeakyRelu", activation_params = [0.2]> (x, w)': (
        "leaky_relu(slope=0.2)"
    ),
    'com.microsoft.FusedConv <activation = "Clip", activation_params = [0.0, 6.0]> (x, w)': "relu6",
    'com.microsoft.nchwc.Conv <activation = "HardSwish"> (x, w)': "hard_swish",
    'com.microsoft.nchwc.Conv <activation = "HardSigmoid"> (x, w)': None,
    'com.microsoft.FusedGemm <activation = "Elu", activation_alpha = 0.5> (x, w)': "elu(alpha=0.5)",
    'com.microsoft.FusedGemm <activation = "Softplus"> (x, w)': "softplus",
    "com.microsoft.GroupNorm <activation = 1, groups = 1> (x, w, w)": "silu",
    'com.microsoft.MoE <activation_type = "silu"> (x, w, w, w)': "silu",
    "com.microsoft.MoE (x, w, w, w)": "relu",
}


def test_an_activation_that_is_an_attribute_is_a_row(tmp_path: Path) -> None:
    body = "".join(f"[n{i}] y{i} = {operator} " for i, operator in enumerate(FUSED))
    body += "y = Sum (" + ", ".join(f"y{i}" for i in range(len(FUSED))) + ")"
    file = save(tmp_path / "m.onnx", body, "", "float[4, 8] x, float[8, 8] w")
    scan = sg.scan(file)
    assert scan.operators == len(FUSED) == sum(functions(scan).values())
    for i, (operator, answer) in enumerate(FUSED.items()):
        (row,) = [row for row in scan.activations if row.path == f"n{i}"]
        assert row.operators == operator.split("(")[0].split("<")[0].strip().rpartition(".")[2]
        assert answer in (None, row.answer)
    with pytest.raises(ValueError, match="inside"):
        sg.swap(file, {"relu": "mish"})
    record = sg.swap(file, {"relu": "mish"}, partial=True)
    assert [u.path for u in record.unswapped] == ["n0", "n9"]
    assert len(record.unchanged or ()) == len(FUSED) - 2
    assert record.notes == ()


def test_unknown_and_absent_activations(tmp_path: Path) -> None:
    kinds = ("FusedConv", "FusedGemm", "GroupNorm", "CausalConvWithState")
    body = "".join(
        f'{kind}{i} = com.microsoft.{kind} <activation = "{name}"> (x, x) '
        for kind in kinds
        for i, name in enumerate(("Mystery", "none", ""))
    )
    scan = sg.scan(save(tmp_path / "m.onnx", body + "y = Add (FusedConv0, FusedConv1)", ""))
    assert scan.activations == ()
    assert scan.operators == len(kinds)
    assert [(o.operator, o.path) for o in scan.unlisted] == [(kind, f"{kind}0") for kind in kinds]
    assert all(f"inside {o.operator}" in o.reason for o in scan.unlisted)


RECURRENT = {
    "LSTM <hidden_size = 8> (x, w, r)": {"sigmoid": 1, "tanh": 2},
    'LSTM <hidden_size = 8, direction = "bidirectional"> (x, w, r)': {"sigmoid": 2, "tanh": 4},
    "GRU <hidden_size = 8> (x, w, r)": {"sigmoid": 1, "tanh": 1},
    "RNN <hidden_size = 8> (x, w, r)": {"tanh": 1},
    'RNN <hidden_size = 8, activations = ["Tanh", "Tanh"]> (x, w, r)': {"tanh": 1},
    'RNN <hidden_size = 8, activations = ["relu"]> (x, w, r)': {"relu": 1},
    'GRU <hidden_size = 8, activations = ["HardSigmoid", "LeakyRelu"], '
    "activation_alpha = [0.16666667, 0.3], activation_beta = [0.5]> (x, w, r)": {
        "hard_sigmoid": 1,
        "leaky_relu(slope=0.3)": 1,
    },
    'LSTM <hidden_size = 8, activations = ["Sigmoid", "Affine", "Tanh"]> (x, w, r)': {
        "sigmoid": 1,
        "tanh": 1,
    },
}


def test_recurrent_operators_have_a_row_for_each_activation(tmp_path: Path) -> None:
    inputs = "float[4, 2, 8] x, float[1, 32, 8] w, float[1, 32, 8] r"
    body = "".join(f"a{i}, h{i} = {operator} " for i, operator in enumerate(RECURRENT))
    file = save(tmp_path / "m.onnx", body + "y = Add (h0, h1)", "", inputs)
    model = onnx.load(file)
    for node in model.graph.node[:-1]:  # without a name and a first result
        node.output[0] = ""
    onnx.save(model, file)
    scan = sg.scan(file)
    found = functions(scan)
    for i, wanted in enumerate(RECURRENT.values()):
        rows = [row for row in scan.activations if row.path == f"h{i}"]
        assert {row.answer: row.calls for row in rows} == wanted
    assert sum(found.values()) == sum(sum(wanted.values()) for wanted in RECURRENT.values())
    assert [(o.operator, "linear" in o.reason) for o in scan.unlisted] == [("LSTM", True)]


BODIES = {
    "If": f"""
        c = ReduceSum <keepdims = 0> (x) k = Cast <to = 9> (c)
        y = If (k) <
            then_branch = g1 () => (float[4, 8] y) {{ h = MatMul (x, w) {GELU} }},
            else_branch = g2 () => (float[4, 8] y) {{ h = Gemm (x, w) {GELU} }}
        >""",
    "Loop": f"""
        y = Loop (n, , x) <
            body = b (int64 i, bool k, float[4, 8] v) => (bool k2, float[4, 8] y)
            {{ h = MatMul (v, w) {GELU} k2 = Identity (k) }}
        >""",
    "Scan": f"""
        final, y = Scan <num_scan_inputs = 1, body = b (float[8] s, float[8] v)
            => (float[8] s2, float[8] y) {{ h = MatMul (v, w) {GELU} s2 = Add (s, y) }}>
            (initial, x)""",
}


@pytest.mark.parametrize("kind", BODIES)
def test_a_function_inside_a_branch_or_loop_is_whole(kind: str, tmp_path: Path) -> None:
    """Both branches of the If use the same names for their values."""
    inputs = "float[4, 8] x, float[8, 8] w, int64 n, float[8] initial"
    file = save(tmp_path / "m.onnx", BODIES[kind], inputs=inputs)
    count = 2 if kind == "If" else 1
    assert functions(sg.scan(file)) == {"gelu": count}
    for to in ("gelu_tanh", "mish"):
        new = tmp_path / f"{to}.onnx"
        record = sg.swap(file, {"gelu": to}, output=new)
        assert (record.counts, record.unchanged) == ({f"gelu -> {to}": count}, ())
        assert functions(sg.scan(new)) == {to: count}


def test_a_repeated_dequantisation_is_one_value(tmp_path: Path) -> None:
    """As onnxruntime repeats them when it saves an optimised graph."""
    body = """
        q = QuantizeLinear (x, scale, zero)
        h = DequantizeLinear (q, scale, zero)
        d = Div (h, root) e = Erf (d) a = Add (e, one)
        h2 = DequantizeLinear (q, scale, zero)
        m = Mul (h2, a) g = Mul (m, half)
        h3 = DequantizeLinear (q, other, zero)
        s = Sigmoid (h3)
        y = Add (g, s)
    """
    constants = (
        "float root = {1.4142135}, float one = {1.0}, float half = {0.5}, float scale = {0.05}, "
        "float other = {0.07}, uint8 zero = {128}"
    )
    file, new = save(tmp_path / "m.onnx", body, constants), tmp_path / "new.onnx"
    assert functions(sg.scan(file)) == {"gelu": 1, "sigmoid": 1}
    record = sg.swap(file, {"gelu": "silu"}, output=new)
    assert [(u.function, "selected" in u.reason) for u in record.unchanged or ()] == [
        ("sigmoid", True)
    ]
    assert functions(sg.scan(new)) == {"silu": 1, "sigmoid": 1}
    assert sum(n.op_type == "DequantizeLinear" for n in onnx.load(new).graph.node) == 2


def test_a_function_whose_steps_are_quantised_is_one_row(tmp_path: Path) -> None:
    """As onnxruntime's quantize_static writes it, constants included."""
    count, lines = 0, []

    def quantised(value: str) -> str:
        nonlocal count
        count += 1
        lines.append(f"q{count} = QuantizeLinear ({value}, scale, zero)")
        lines.append(f"r{count} = DequantizeLinear (q{count}, scale, zero)")
        return f"r{count}"

    half = "stored"
    lines.append(f"{half} = DequantizeLinear (eight, scale, zero)")
    h, one = quantised("x"), quantised("one")
    lines.append(f"d = Div ({h}, root) e = Erf (d)")
    lines.append(f"a = Add ({quantised('e')}, {one})")
    lines.append(f"m = Mul ({h}, {quantised('a')})")
    lines.append(f"g = Mul ({quantised('m')}, {half})")
    lines.append(f"s = Sigmoid ({quantised('g')})")
    lines.append(f"y = Mul (s, {quantised('s')})")
    constants = (
        "float root = {1.4142135}, float one = {1.0}, float scale = {0.0625}, int8 zero = {0}, "
        "int8 eight = {8}"
    )
    file, new = save(tmp_path / "m.onnx", " ".join(lines), constants), tmp_path / "new.onnx"
    scan = sg.scan(file)
    assert functions(scan)["gelu"] == 1
    assert scan.unlisted == ()
    sg.swap(file, {"gelu": "tanh"}, output=new)
    assert functions(sg.scan(new))["tanh"] == 1
    kinds = [node.op_type for node in onnx.load(new).graph.node]
    assert kinds.count("QuantizeLinear") == 3  # of the argument, of the result, of s
    x = np.linspace(-3, 3, 32, dtype=np.float32).reshape(4, 8)
    (y,) = ort.InferenceSession(new, providers=["CPUExecutionProvider"]).run(None, {"x": x})
    s = 1 / (1 + np.exp(-np.tanh(x.astype(float))))
    np.testing.assert_allclose(y, s**2, atol=0.07)


def test_a_function_across_a_change_of_layout(tmp_path: Path) -> None:
    """onnxruntime computes a part of an activation in the layout of its convolution."""
    body = """
        b = com.microsoft.nchwc.Conv (x, x)
        [out] h = com.microsoft.nchwc.ReorderOutput <channels = 8> (b)
        s = Sigmoid (b)
        t = com.microsoft.nchwc.ReorderOutput <channels = 8> (s)
        [silu] m = Mul (h, t)
        n = MatMul (m, m)
        c = com.microsoft.nchwc.Conv (n, n)
        k = com.microsoft.nchwc.ReorderOutput <channels = 8> (c)
        [relu] y = Relu (k)
    """
    file, new = save(tmp_path / "m.onnx", body), tmp_path / "new.onnx"
    scan = sg.scan(file)
    assert functions(scan) == {"silu": 1, "relu": 1}
    assert [row.path for row in scan.activations] == ["silu", "relu"]
    with pytest.raises(ValueError, match="layout"):
        sg.swap(file, {"silu": "mish"}, output=new)
    assert not new.exists()


def test_a_quantised_activation_is_a_row(tmp_path: Path) -> None:
    body = """
        q = QuantizeLinear (x, scale, zero)
        a = com.microsoft.QLinearSigmoid (q, scale, zero, scale, zero)
        b = com.microsoft.QLinearLeakyRelu <alpha = 0.2> (a, scale, zero, scale, zero)
        y = DequantizeLinear (b, scale, zero)
    """
    scan = sg.scan(save(tmp_path / "m.onnx", body, "float scale = {0.05}, uint8 zero = {128}"))
    assert functions(scan) == {"sigmoid": 1, "leaky_relu(slope=0.2)": 1}


def test_a_function_that_two_others_continue_is_one_row(tmp_path: Path) -> None:
    body = "h = Relu (x) t = Tanh (h) s = Sigmoid (h) y = MatMul (t, s)"
    assert functions(sg.scan(save(tmp_path / "m.onnx", body))) == {
        "relu": 1, "tanh": 1, "sigmoid": 1,
    }  # fmt: skip


def test_each_operator_with_an_activation_in_its_schema_is_listed(tmp_path: Path) -> None:
    """Attributes of all operators that onnx and onnxruntime know."""
    state = pytest.importorskip("onnxruntime.capi.onnxruntime_pybind11_state")
    stated = {
        (schema.domain, schema.name, name)
        for schema in (*state.get_all_operator_schema(), *onnx.defs.get_all_schemas_with_history())
        for name in schema.attributes
        if name.endswith(("activation", "activation_type", "activations", "softcap"))
    }
    assert len(stated) > 20
    nodes, domains = list[Any](), {domain: 1 for domain, _, _ in stated} | {"": 20}
    for i, (domain, kind, name) in enumerate(sorted(stated)):
        listed = name == "activations"
        value: Any = 1.5 if name == "softcap" else ["Relu"] * 6 if listed else "Relu"
        new = onnx.helper.make_node(kind, ["x"], [f"y{i}"], domain=domain, **{name: value})
        nodes.append(new)
    graph = onnx.helper.make_graph(
        nodes, "g",
        [onnx.helper.make_tensor_value_info("x", 1, [4, 8])],
        [onnx.helper.make_tensor_value_info(f"y{i}", 1, None) for i in range(len(nodes))],
    )  # fmt: skip
    opsets = [onnx.helper.make_opsetid(*item) for item in domains.items()]
    onnx.save(onnx.helper.make_model(graph, opset_imports=opsets), tmp_path / "m.onnx")
    scan = sg.scan(tmp_path / "m.onnx")
    assert sum(functions(scan).values()) == scan.operators
    assert {row.path for row in scan.activations} == {f"y{i}" for i in range(len(stated))}


def test_types_behind_operators_that_onnx_does_not_know(tmp_path: Path) -> None:
    body = """
        h = com.microsoft.FusedMatMul (x, x)
        c = Greater (h, zero)
        b = Mul (h, half)
        w = Where (c, h, b)
        n = MatMul (w, w)
        s = Sigmoid (n)
        t = Greater (s, half)
        y = Where (t, n, x)
    """
    scan = sg.scan(save(tmp_path / "m.onnx", body))
    assert functions(scan) == {"leaky_relu(slope=0.5)": 1, "sigmoid": 1}
