"""`scan` on ONNX files: every spelling of a function is found by what it computes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import softgate as sg
from softgate.studies.models.onnx_model import read_graph, scan_file
from softgate.studies.models.record import Scan

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
from onnx import helper, numpy_helper  # noqa: E402

FLOAT, MICROSOFT = onnx.TensorProto.FLOAT, "com.microsoft"


class Model:
    """Builds a model: x of [batch, 4, 8] through a MatMul, then the nodes that are added."""

    def __init__(self, dtype: int = FLOAT) -> None:
        self.dtype = dtype
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        weights = helper.make_tensor("weights", dtype, [8, 8], np.eye(8).ravel())
        self.constants.append(weights)
        self.add("MatMul", "x", "weights", out="h")

    def add(
        self, kind: str, *inputs: Any, out: str = "", domain: str = "", **attributes: Any
    ) -> str:
        """Add a node; numbers become scalar initializers. Return the name of its output."""
        names = [self.number(i) if isinstance(i, float) else i for i in inputs]
        out = out or f"{kind.lower()}_{len(self.nodes)}"
        self.nodes.append(
            helper.make_node(kind, names, [out], domain=domain, name=f"n_{out}", **attributes)
        )
        return out

    def number(self, value: float) -> str:
        name = f"c{len(self.constants)}"
        self.constants.append(helper.make_tensor(name, self.dtype, [], [value]))
        return name

    def save(self, file: Path, *outputs: str, functions: Any = ()) -> Path:
        """Write the model; each output passes a MatMul, as a next layer would use it."""
        ends = [self.add("MatMul", name, "weights") for name in outputs]
        graph = helper.make_graph(
            self.nodes, "g",
            [helper.make_tensor_value_info("x", self.dtype, ["batch", 4, 8])],
            [helper.make_tensor_value_info(end, self.dtype, None) for end in ends],
            self.constants,
        )  # fmt: skip
        opsets = [helper.make_opsetid("", 20), helper.make_opsetid(MICROSOFT, 1)]
        opsets += [helper.make_opsetid("local", 1)] if functions else []
        model = helper.make_model(graph, opset_imports=opsets, functions=list(functions))
        model.ir_version = 10
        onnx.save(model, file)
        return file


def answers(file: Path) -> list[str]:
    return [activation.answer for activation in scan_file(str(file)).activations]


def erf_form(m: Model, x: str) -> str:
    e = m.add("Erf", m.add("Div", x, 2.0**0.5))
    return m.add("Mul", m.add("Mul", x, m.add("Add", e, 1.0)), 0.5)


def computed_root(m: Model, x: str) -> str:
    """As older exporters of torch write it, with the root of 2 computed in the graph."""
    e = m.add("Erf", m.add("Div", x, m.add("Sqrt", 2.0)))
    return m.add("Mul", m.add("Mul", x, 0.5), m.add("Add", 1.0, e))


def tanh_form(m: Model, x: str, power: bool) -> str:
    cube = m.add("Pow", x, 3.0) if power else m.add("Mul", m.add("Mul", x, x), x)
    inner = m.add("Add", x, m.add("Mul", cube, 0.044715))
    t = m.add("Tanh", m.add("Mul", inner, (2 / np.pi) ** 0.5))
    return m.add("Mul", m.add("Mul", x, 0.5), m.add("Add", t, 1.0))


def silu_form(m: Model, x: str) -> str:
    return m.add("Mul", x, m.add("Sigmoid", x))


def hard_swish_form(m: Model, x: str) -> str:
    clipped = m.add("Clip", m.add("Add", x, 3.0), 0.0, 6.0)
    return m.add("Div", m.add("Mul", x, clipped), 6.0)


def leaky_form(m: Model, x: str) -> str:
    return m.add("Where", m.add("Greater", x, 0.0), x, m.add("Mul", x, 0.2))


def biased(m: Model, x: str) -> str:
    m.constants.append(helper.make_tensor("bias", FLOAT, [8], np.ones(8)))
    return m.add("FastGelu", x, "bias", domain=MICROSOFT)


SPELLINGS: dict[str, tuple[Callable[[Model, str], str], str]] = {
    "erf": (erf_form, "gelu"),
    "erf-computed-root": (computed_root, "gelu"),
    "gelu": (lambda m, x: m.add("Gelu", x), "gelu"),
    "gelu-tanh": (lambda m, x: m.add("Gelu", x, approximate="tanh"), "gelu_tanh"),
    "tanh-pow": (lambda m, x: tanh_form(m, x, True), "gelu_tanh"),
    "tanh-mul": (lambda m, x: tanh_form(m, x, False), "gelu_tanh"),
    "microsoft": (lambda m, x: m.add("Gelu", x, domain=MICROSOFT), "gelu"),
    "fast": (lambda m, x: m.add("FastGelu", x, domain=MICROSOFT), "gelu_tanh"),
    "fast-bias": (biased, "gelu_tanh"),
    "quick": (lambda m, x: m.add("QuickGelu", x, domain=MICROSOFT, alpha=1.702), "gelu_sigmoid"),
    "quick-1": (lambda m, x: m.add("QuickGelu", x, domain=MICROSOFT, alpha=1.0), "silu"),
    "silu": (silu_form, "silu"),
    "hard-swish": (hard_swish_form, "hard_swish"),
    "hard-swish-op": (lambda m, x: m.add("HardSwish", x), "hard_swish"),
    "leaky": (leaky_form, "leaky_relu(slope=0.2)"),
    "max": (lambda m, x: m.add("Max", x, 0.0), "relu"),
}  # fmt: skip


@pytest.fixture(scope="module")
def spellings(tmp_path_factory: pytest.TempPathFactory) -> Scan:
    """All spellings in one file, each on a hidden layer of its own."""
    model, ends = Model(), list[str]()
    for spell, _ in SPELLINGS.values():
        ends.append(spell(model, model.add("MatMul", "h", "weights")))
    return scan_file(str(model.save(tmp_path_factory.mktemp("onnx") / "all.onnx", *ends)))


@pytest.mark.parametrize("name", SPELLINGS)
def test_each_spelling_is_known_by_what_it_computes(spellings: Scan, name: str) -> None:
    at = list(SPELLINGS).index(name)
    assert spellings.activations[at].answer == SPELLINGS[name][1]


def test_elements_and_operators(spellings: Scan) -> None:
    first = spellings.activations[0]
    assert (first.elements, first.dtype) == (32, "float32")
    assert first.operators == "Div, Erf, Add, Mul, Mul"
    assert first.max_difference is not None
    assert first.max_difference < 1e-6
    assert spellings.unidentified == ()


def test_scales_around_an_activation_are_not_part_of_it(tmp_path: Path) -> None:
    m = Model()
    scaled = m.add("Add", m.add("Mul", "h", 1.3), 0.4)
    end = m.add("Add", m.add("Mul", hard_swish_form(m, scaled), 0.7), -0.2)
    affine = m.add("Add", m.add("Mul", end, 3.0), 1.0)
    (only,) = scan_file(str(m.save(tmp_path / "m.onnx", affine))).activations
    assert (only.answer, only.operators) == ("hard_swish", "Add, Clip, Mul, Div")


def test_a_parameter_in_the_form_of_scales_is_found(tmp_path: Path) -> None:
    m = Model()
    end = m.add("Div", m.add("Softplus", m.add("Mul", "h", 2.0)), 2.0)
    (only,) = scan_file(str(m.save(tmp_path / "m.onnx", end))).activations
    assert only.answer == "softplus(beta=2)"


def test_two_activations_in_a_row_are_two(tmp_path: Path) -> None:
    m = Model()
    first = m.add("Relu", "h")
    end = m.add("Tanh", erf_form(m, first))
    answers = [
        a.answer for a in scan_file(str(m.save(tmp_path / "m.onnx", end, first))).activations
    ]
    assert answers == ["relu", "gelu", "tanh"]


def test_a_gate_is_found_beside_its_other_operand(tmp_path: Path) -> None:
    m = Model()
    end = m.add("Mul", silu_form(m, m.add("MatMul", "h", "weights")), "h")
    assert [a.answer for a in scan_file(str(m.save(tmp_path / "m.onnx", end))).activations] == [
        "silu"
    ]


def test_what_is_no_activation_is_listed_apart(tmp_path: Path) -> None:
    m = Model()
    square = m.add("Pow", "h", 2.0)
    mean = m.add("ReduceMean", square, keepdims=1)
    root = m.add("Sqrt", m.add("Add", m.add("Max", mean, 0.0), 1e-5))
    norm = m.add("Div", "h", root)
    scan = scan_file(str(m.save(tmp_path / "m.onnx", norm)))
    assert scan.activations == ()
    assert [(a.function, a.operators) for a in scan.unidentified] == [
        ("unknown", "Pow"),
        ("unknown", "Max, Add, Sqrt"),
    ]


def test_a_quantised_graph(tmp_path: Path) -> None:
    m = Model()
    zero = helper.make_tensor("zero", onnx.TensorProto.UINT8, [], [128])
    m.constants.append(zero)
    quantised = m.add("QuantizeLinear", "h", 0.05, "zero")
    x = m.add("DequantizeLinear", quantised, 0.05, "zero")
    end = m.add("QuantizeLinear", silu_form(m, x), 0.05, "zero")
    last = m.add("DequantizeLinear", end, 0.05, "zero")
    assert [a.answer for a in scan_file(str(m.save(tmp_path / "m.onnx", last))).activations] == [
        "silu"
    ]


def test_float16_and_local_functions(tmp_path: Path) -> None:
    m = Model(onnx.TensorProto.FLOAT16)
    body = [helper.make_node("Sigmoid", ["a"], ["s"]), helper.make_node("Mul", ["a", "s"], ["y"])]
    act = helper.make_function("local", "Act", ["a"], ["y"], body, [helper.make_opsetid("", 20)])
    end = m.add("Act", "h", domain="local")
    scan = scan_file(str(m.save(tmp_path / "m.onnx", end, functions=[act])))
    assert [(a.answer, a.dtype) for a in scan.activations] == [("silu", "float16")]


def test_bfloat16_is_evaluated_in_float32(tmp_path: Path) -> None:
    m = Model(onnx.TensorProto.BFLOAT16)
    scan = scan_file(str(m.save(tmp_path / "m.onnx", hard_swish_form(m, "h"), silu_form(m, "h"))))
    assert [(a.answer, a.dtype) for a in scan.activations] == [
        ("hard_swish", "bfloat16"),
        ("silu", "bfloat16"),
    ]


def test_a_prelu_with_several_slopes_is_noted(tmp_path: Path) -> None:
    m = Model()
    m.constants.append(helper.make_tensor("slopes", FLOAT, [8], np.linspace(0, 1, 8)))
    scan = scan_file(str(m.save(tmp_path / "m.onnx", m.add("PRelu", "h", "slopes"))))
    assert scan.activations == ()
    assert scan.notes == ("n_prelu_1 computes a prelu with several slopes, which is not listed",)


def test_branches_and_recurrent_layers(tmp_path: Path) -> None:
    inner = helper.make_graph(
        [helper.make_node("Tanh", ["h"], ["t"], name="inner_tanh")], "then", [],
        [helper.make_tensor_value_info("t", FLOAT, None)],
    )  # fmt: skip
    other = helper.make_graph(
        [helper.make_node("Relu", ["h"], ["r"], name="inner_relu")], "else", [],
        [helper.make_tensor_value_info("r", FLOAT, None)],
    )  # fmt: skip
    m = Model()
    m.constants.append(numpy_helper.from_array(np.array(True), "condition"))
    end = m.add("If", "condition", then_branch=inner, else_branch=other)
    for name, shape in (("W", [1, 16, 8]), ("R", [1, 16, 4])):
        m.constants.append(helper.make_tensor(name, FLOAT, shape, np.zeros(np.prod(shape))))
    m.add("LSTM", "h", "W", "R", hidden_size=4, out="lstm")
    scan = scan_file(str(m.save(tmp_path / "m.onnx", end)))
    assert [(a.path, a.answer) for a in scan.activations] == [
        ("inner_relu", "relu"),
        ("inner_tanh", "tanh"),
        ("n_lstm", "sigmoid"),
        ("n_lstm", "tanh"),
    ]
    assert [a.calls for a in scan.activations] == [1, 1, 1, 2]
    assert scan.notes == ()


def test_the_command_and_the_record(tmp_path: Path, run_here: Any) -> None:
    m = Model()
    file = m.save(tmp_path / "m.onnx", erf_form(m, "h"))
    done = run_here("scan", str(file), "--json", "-o", str(tmp_path / "scan.csv"))
    assert done.returncode == 0, done.stderr
    record = Scan.from_json(done.stdout)
    assert record.counts == {"gelu": 1}
    assert Scan.from_json(json.dumps(record.to_dict())) == record
    assert (tmp_path / "scan.csv").read_text().splitlines()[1].startswith("n_mul")
    assert sg.scan(file) == record


def looped() -> Any:
    """A function that calls itself."""
    body = [helper.make_node("Act", ["a"], ["y"], domain="local")]
    imports = [helper.make_opsetid("local", 1)]
    return helper.make_function("local", "Act", ["a"], ["y"], body, imports)


def self_calling(file: Path) -> None:
    m = Model()
    m.save(file, m.add("Act", "h", domain="local"), functions=[looped()])


def cyclic(file: Path) -> None:
    m = Model()
    m.nodes += [helper.make_node("Add", ["b", "h"], ["a"]), helper.make_node("Tanh", ["a"], ["b"])]
    m.save(file, "b")


def huge(file: Path) -> None:
    m = Model()
    shape = m.number(1.0)
    m.constants.append(numpy_helper.from_array(np.array([2**40, 2**20]), "shape"))
    m.save(file, m.add("Tanh", m.add("Expand", shape, "shape")))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda file: file.write_bytes(b""), "no nodes"),
        (lambda file: file.write_bytes(b"\x08\x07" + b"\xff" * 99), "not an ONNX model"),
        (self_calling, "the local function Act calls itself"),
        (cyclic, "not in the order of execution"),
    ],
)  # fmt: skip
def test_a_file_that_is_no_model_ends_in_one_line(
    make: Callable[[Path], Any], message: str, tmp_path: Path, run_here: Any
) -> None:
    file = tmp_path / "bad.onnx"
    make(file)
    done = run_here("scan", str(file), "-o", str(tmp_path / "out.json"))
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert not (tmp_path / "out.json").exists()


def test_nothing_is_computed_at_the_size_that_a_file_states(tmp_path: Path) -> None:
    huge(tmp_path / "huge.onnx")
    assert answers(tmp_path / "huge.onnx") == ["tanh"]


def test_weights_are_not_kept(tmp_path: Path) -> None:
    m = Model()
    graph, _ = read_graph(m.save(tmp_path / "m.onnx", m.add("Relu", "h")))
    assert "weights" not in graph._constants


def mutated(content: bytes, random: np.random.Generator) -> bytes:
    """Return a file with bytes changed, removed or repeated."""
    changed = bytearray(content)
    at = int(random.integers(len(changed)))
    kind = random.integers(4)
    if kind == 0:
        return bytes(changed[:at])
    if kind == 1:
        return bytes(changed[:at] + changed[at // 2 :])
    for i in random.integers(len(changed), size=random.choice([1, 3, 30])):
        changed[i] = int(random.integers(256))
    return bytes(changed)


def test_mutated_files_are_read_or_refused(tmp_path: Path) -> None:
    """2,000 files are read and cut; some of them are evaluated, too."""
    m = Model()
    source = m.save(tmp_path / "m.onnx", m.add("Relu", hard_swish_form(m, "h"))).read_bytes()
    random, file = np.random.default_rng(1), tmp_path / "mutated.onnx"
    read, messages = 0, list[str]()
    for i in range(2000):
        file.write_bytes(mutated(source, random))
        try:
            read += len(list(read_graph(file)[0]._graph.cut()))
            if i % 100 == 0:
                scan_file(str(file))
        except ValueError as error:
            messages.append(str(error))
    assert read > 100
    assert messages
    assert not [message for message in messages if "\n" in message]
