"""`swap` on ONNX files: what is replaced, what stays, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import softgate as sg
from softgate.formula.formats import FORMATS
from softgate.studies.models import onnx_worker
from softgate.studies.swap.record import Swap

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
from onnx import helper, numpy_helper  # noqa: E402
from onnx_here import InProcessWorker  # noqa: E402

from softgate.studies.models.onnx_edit import EditableModel, evaluate, refusal  # noqa: E402
from softgate.studies.models.onnx_forms import run_graph, spell  # noqa: E402

FLOAT, HALF, MICROSOFT = onnx.TensorProto.FLOAT, onnx.TensorProto.FLOAT16, "com.microsoft"


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Edit and run models in this process."""
    monkeypatch.setattr(onnx_worker, "Worker", InProcessWorker)


def node(kind: str, inputs: str, output: str, domain: str = "", **attributes: Any) -> Any:
    return helper.make_node(
        kind, inputs.split(), [output], name=f"n_{output}", domain=domain, **attributes
    )


def save(
    file: Path,
    nodes: list[Any],
    *,
    dtype: int = FLOAT,
    opset: int = 17,
    functions: Any = (),
    numbers: dict[str, float] | None = None,
    tensors: Any = (),
) -> Path:
    """Write a model: x through the weights to h, then the nodes to y."""
    weights = np.random.default_rng(0).standard_normal((8, 8))
    weights = weights.astype(helper.tensor_dtype_to_np_dtype(dtype))
    constants = [numpy_helper.from_array(weights, "weights"), *tensors]
    constants += [helper.make_tensor(n, dtype, [], [v]) for n, v in (numbers or {}).items()]
    graph = helper.make_graph(
        [node("MatMul", "x weights", "h"), *nodes], "g",
        [helper.make_tensor_value_info("x", dtype, ["batch", 8])],
        [helper.make_tensor_value_info("y", dtype, ["batch", 8])],
        constants,
    )  # fmt: skip
    domains = {n.domain for n in nodes} - {""}
    opsets = [helper.make_opsetid("", opset), *(helper.make_opsetid(d, 1) for d in domains)]
    model = helper.make_model(graph, opset_imports=opsets, functions=list(functions), ir_version=8)
    onnx.save(model, file)
    return file


GELU = [
    node("Div", "h root", "scaled"), node("Erf", "scaled", "erf"), node("Add", "erf one", "sum"),
    node("Mul", "h sum", "product"), node("Mul", "product half", "y"),
]  # fmt: skip
NUMBERS = {"root": 2.0**0.5, "one": 1.0, "half": 0.5}


def gelu_file(folder: Path) -> Path:
    return save(folder / "model.onnx", GELU, numbers=NUMBERS)


def kinds(file: Path) -> list[str]:
    return [n.op_type for n in onnx.load(file).graph.node if n.op_type != "Constant"]


def outputs(file: Path) -> Any:
    x = np.linspace(-3, 3, 16, dtype=np.float32).reshape(2, 8)
    return evaluate(onnx.load(file), {"x": x})["y"]


@pytest.mark.parametrize("spelling", [None, "primitives", "op", "microsoft"])
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_every_activation_has_a_form_that_computes_it(spelling: str | None, dtype: str) -> None:
    fmt = FORMATS[dtype]
    x = np.linspace(-5, 5, 41).astype(dtype)
    for activation in sg.activations().values():
        spelled = spell(activation, fmt, 17, spelling)
        y = run_graph(spelled.graph, spelled.opset, x)
        close = 1e-5 if dtype == "float32" else 5e-3
        np.testing.assert_allclose(
            y.astype(float), activation(x.astype(float)), rtol=close, atol=close
        )


def test_operators_come_from_the_names_of_onnx() -> None:
    def kind(activation: Any, spelling: str, opset: int = 17) -> list[str]:
        graph = spell(activation, FORMATS["float32"], opset, spelling).graph
        return [n.op_type for n in graph.node if n.op_type != "Constant"]

    assert kind(sg.gelu, "op") == kind(sg.gelu_tanh, "op") == ["Gelu"]
    assert kind(sg.mish, "op") == ["Mish"]
    assert kind(sg.hard_swish, "op") == ["HardSwish"]
    assert kind(sg.gelu, "primitives") == ["Mul", "Erf", "Add", "Mul", "Mul"]
    assert kind(sg.mish, "primitives") == ["Softplus", "Tanh", "Mul"]
    assert kind(sg.silu, "primitives") == ["Sigmoid", "Mul"]
    assert kind(sg.gelu_tanh, "microsoft") == ["FastGelu"]
    assert kind(sg.silu.bind(beta=1.5), "microsoft") == ["QuickGelu"]
    assert kind(sg.relu, "microsoft") == ["Relu"]


def test_a_user_formula_is_written_in_primitives(here: None, tmp_path: Path) -> None:
    @sg.activation
    def bent(f: Any, x: Any) -> Any:
        return (f.sqrt(x * x + 1) - 1) / 2 + x

    out = tmp_path / "bent.onnx"
    record = sg.swap(gelu_file(tmp_path), {"gelu": bent}, output=out)
    assert record.swapped[0].after == "bent"
    assert "Sqrt" in kinds(out)


def test_only_the_activation_changes(here: None, tmp_path: Path) -> None:
    file, out = gelu_file(tmp_path), tmp_path / "out.onnx"
    before = file.read_bytes()
    record = sg.swap(file, "gelu_tanh", output=out)
    assert file.read_bytes() == before
    old, new = onnx.load(file), onnx.load(out)
    assert {t.name for t in new.graph.initializer} == {"weights"}
    assert new.graph.initializer[0] == old.graph.initializer[0]
    assert new.graph.node[0] == old.graph.node[0]
    assert refusal(new) is None
    (only,) = record.swapped
    assert (only.path, only.before, only.after) == ("n_y", "gelu", "gelu_tanh")
    assert only.operators == "Div, Erf, Add, Mul, Mul"
    (difference,) = record.differences
    assert (difference.inputs, difference.output) == ("random", "y")
    assert 1e-5 < difference.max_difference < 1e-3
    h = np.linspace(-3, 3, 16, dtype=np.float32).reshape(2, 8) @ numpy_helper.to_array(
        old.graph.initializer[0]
    )
    np.testing.assert_allclose(outputs(out), sg.gelu_tanh(h), atol=1e-6)


def test_without_an_output_nothing_is_written(here: None, tmp_path: Path) -> None:
    file = gelu_file(tmp_path)
    record = sg.swap(file, {"gelu": "relu"}, inputs={"x": np.ones((3, 8))})
    assert record.output is None
    assert [d.inputs == "random" for d in record.differences] == [True, False]
    assert [path.name for path in tmp_path.iterdir()] == ["model.onnx"]
    assert "1 gelu -> relu\nnothing was written" in str(record)
    assert Swap.from_json(record.to_json()) == record


@pytest.mark.parametrize("link", ["same", "symbolic", "hard", "dotted"])
def test_the_original_is_never_overwritten(here: None, tmp_path: Path, link: str) -> None:
    file, other = gelu_file(tmp_path), tmp_path / "link.onnx"
    before = file.read_bytes()
    if link == "symbolic":
        other.symlink_to(file)
    elif link == "hard":
        other.hardlink_to(file)
    else:
        other = file if link == "same" else tmp_path / "." / tmp_path.name / ".." / file.name
        (tmp_path / tmp_path.name).mkdir()
    with pytest.raises(ValueError, match="is the original model: name another file"):
        sg.swap(file, "gelu_tanh", output=other)
    assert file.read_bytes() == before


def test_spellings_change_no_values(here: None, tmp_path: Path) -> None:
    file, out = gelu_file(tmp_path), tmp_path / "out.onnx"
    expected = outputs(file)
    for spelling, kind in (("op", "Gelu"), ("microsoft", "Gelu"), ("primitives", "Erf")):
        record = sg.swap(file, spell=spelling, output=out)
        assert kind in kinds(out)
        assert refusal(onnx.load(out)) is None
        assert record.notes == (("opset 17 -> 20",) if spelling == "op" else ())
        np.testing.assert_allclose(outputs(out), expected, atol=1e-6)
        back = tmp_path / "back.onnx"
        sg.swap(out, spell="primitives", output=back)
        np.testing.assert_allclose(outputs(back), expected, atol=1e-6)
    limited = sg.swap(file, spell="op", opset=18)
    assert limited.notes == ()
    assert limited.swapped[0].new_operators == "Mul, Erf, Add, Mul, Mul"


def test_an_opset_in_which_operators_changed_is_converted(here: None, tmp_path: Path) -> None:
    axes = helper.make_node("ReduceMean", ["g"], ["y"], axes=[-1], keepdims=1)
    nodes = [node("Softplus", "h", "s"), node("Tanh", "s", "t"), node("Mul", "h t", "g"), axes]
    file, out = save(tmp_path / "m.onnx", nodes, opset=13), tmp_path / "out.onnx"
    record = sg.swap(file, spell="op", output=out)
    assert record.notes == ("opset 13 -> 18",)
    assert "Mish" in kinds(out)
    assert onnx.load(out).graph.initializer[0] == onnx.load(file).graph.initializer[0]
    np.testing.assert_allclose(outputs(out), outputs(file), atol=1e-6)


def test_a_bias_stays(here: None, tmp_path: Path) -> None:
    bias = helper.make_tensor("bias", FLOAT, [8], np.arange(8.0))
    biased = [node("FastGelu", "h bias", "y", MICROSOFT)]
    file = save(tmp_path / "m.onnx", biased, tensors=[bias])
    out = tmp_path / "out.onnx"
    sg.swap(file, spell="primitives", output=out)
    assert kinds(out)[:2] == ["MatMul", "Add"]
    assert {o.domain for o in onnx.load(out).opset_import} == {""}
    np.testing.assert_allclose(outputs(out), outputs(file), atol=1e-5)
    sg.swap(file, {"gelu_tanh": "gelu"}, spell="microsoft", output=out)
    assert kinds(out) == ["MatMul", "BiasGelu"]


def test_casts_around_an_activation_stay(here: None, tmp_path: Path) -> None:
    nodes = [
        node("Cast", "h", "wide", to=FLOAT), node("Sigmoid", "wide", "s"),
        node("Mul", "wide s", "p"), node("Cast", "p", "y", to=HALF),
    ]  # fmt: skip
    file, out = save(tmp_path / "m.onnx", nodes, dtype=HALF), tmp_path / "out.onnx"
    record = sg.swap(file, {"silu": "relu"}, output=out)
    assert kinds(out) == ["MatMul", "Cast", "Relu", "Cast"]
    assert record.differences[0].dtype == "float16"


def test_branches_and_local_functions(here: None, tmp_path: Path) -> None:
    branches = {
        name: helper.make_graph(
            [node(kind, "h", f"b_{name}")], name, [],
            [helper.make_tensor_value_info(f"b_{name}", FLOAT, None)],
        )
        for name, kind in (("then_branch", "Tanh"), ("else_branch", "Relu"))
    }  # fmt: skip
    condition = numpy_helper.from_array(np.array(True), "condition")
    file = save(
        tmp_path / "m.onnx", [node("If", "condition", "y", **branches)], tensors=[condition]
    )
    out = tmp_path / "out.onnx"
    sg.swap(file, {"tanh": "relu"}, output=out)
    assert (outputs(out) >= 0).all()
    body = [helper.make_node("Sigmoid", ["a"], ["s"]), helper.make_node("Mul", ["a", "s"], ["y"])]
    act = helper.make_function("local", "Act", ["a"], ["y"], body, [helper.make_opsetid("", 17)])
    file = save(tmp_path / "f.onnx", [node("Act", "h", "y", "local")], functions=[act])
    sg.swap(file, {"silu": "relu"}, output=out)
    assert kinds(out) == ["MatMul", "Relu"]


def test_what_cannot_be_replaced_is_an_error_unless_partial(here: None, tmp_path: Path) -> None:
    weights = [
        helper.make_tensor(n, FLOAT, s, np.zeros(int(np.prod(s))))
        for n, s in (("W", [1, 32, 8]), ("R", [1, 32, 8]), ("axes", [1]))
    ]
    weights[2] = numpy_helper.from_array(np.array([0]), "axes")
    nodes = [
        node("Unsqueeze", "h axes", "u"), node("LSTM", "u W R", "l", hidden_size=8),
        node("Tanh", "h", "y"),
    ]  # fmt: skip
    file, out = save(tmp_path / "m.onnx", nodes, tensors=weights), tmp_path / "out.onnx"
    with pytest.raises(ValueError, match=r"2 of 3 activations cannot be swapped"):
        sg.swap(file, {"tanh": "relu"}, output=out)
    assert not out.exists()
    record = sg.swap(file, {"tanh": "relu"}, output=out, partial=True)
    assert [u.path for u in record.unswapped] == ["n_l", "n_l"]
    assert "not replaced" in str(record)
    assert "Relu" in kinds(out)


def test_a_key_that_matches_nothing_lists_what_there_is(here: None, tmp_path: Path) -> None:
    file = gelu_file(tmp_path)
    for key in ("relu", "encoder.*", "no such"):
        with pytest.raises(ValueError, match="it has gelu at n_y"):
            sg.swap(file, {key: "silu"})
    with pytest.raises(ValueError, match="spell = 'ops': choose from op, primitives, microsoft"):
        sg.swap(file, spell="ops")
    with pytest.raises(ValueError, match="nothing to do"):
        sg.swap(file)
    with pytest.raises(ValueError, match=r"the inputs are a, b: .* takes x"):
        sg.swap(file, "relu", inputs={"a": np.ones(1), "b": np.ones(1)})
    with pytest.raises(TypeError, match=r"softgate\.torch\.swap"):
        sg.swap(sg.gelu, "relu")  # type: ignore[arg-type]


def test_external_data_is_copied_and_stays_inside(tmp_path: Path) -> None:
    """In a worker, whose working directory is the folder of the model."""
    folder, other = tmp_path / "a", tmp_path / "b"
    folder.mkdir()
    other.mkdir()
    model = onnx.load(gelu_file(tmp_path))
    onnx.save(model, folder / "m.onnx", save_as_external_data=True, location="w.bin",
              size_threshold=0)  # fmt: skip
    record = sg.swap(folder / "m.onnx", {"gelu": "relu"}, output=other / "out.onnx")
    assert record.notes == ()
    assert (other / "w.bin").read_bytes() == (folder / "w.bin").read_bytes()
    assert onnx.load(other / "out.onnx").graph.initializer[0].raw_data
    model = onnx.load(folder / "m.onnx", load_external_data=False)
    model.graph.initializer[0].external_data[0].value = "../b/w.bin"
    onnx.save(model, folder / "m.onnx")
    with pytest.raises(ValueError, match="not inside the folder of the model"):
        sg.swap(folder / "m.onnx", {"gelu": "relu"})


def test_the_command(here: None, tmp_path: Path, run_here: Any) -> None:
    file, out = gelu_file(tmp_path), tmp_path / "out.onnx"
    table = tmp_path / "changes.csv"
    done = run_here("swap", str(file), "--to", "gelu_tanh", "-o", str(out), "-o", str(table))
    assert done.returncode == 0, done.stderr
    assert "gelu_tanh" in done.stdout
    assert f"Wrote {out}" in done.stderr
    assert table.read_text().splitlines()[1].startswith("n_y,gelu,gelu_tanh")
    shown = run_here("swap", str(out), "--from", "n_*", "--to", "silu", "--json")
    assert Swap.from_json(shown.stdout).swapped[0].after == "silu"
    for wrong in (["--from", "gelu"], ["--to", "gelu", "--to", "relu"], []):
        failed = run_here("swap", str(file), *wrong)
        assert (failed.returncode, failed.stdout) == (2, "")
        assert len(failed.stderr.strip().splitlines()) == 1


def test_the_command_asks_which_of_several_functions(
    here: None, tmp_path: Path, run_here: Any
) -> None:
    nodes = [node("Sigmoid", "h", "a"), node("MatMul", "a weights", "b")]
    nodes += [node("Sigmoid", "b", "c"), node("MatMul", "c weights", "d")]
    nodes += [node("LeakyRelu", "d", "y", alpha=0.2)]
    file, out = save(tmp_path / "m.onnx", nodes), tmp_path / "out.onnx"
    failed = run_here("swap", str(file), "--to", "silu", "-o", str(out))
    assert (failed.returncode, failed.stdout, out.exists()) == (2, "", False)
    (line,) = failed.stderr.strip().splitlines()
    assert all(word in line for word in ("2 sigmoid", "1 leaky_relu:slope=0.2"))
    assert "{" not in line
    written = line.partition("--from ")[2].partition(" ")[0]
    assert written == "sigmoid"
    done = run_here("swap", str(file), "--from", written, "--to", "silu", "-o", str(out))
    assert done.returncode == 0, done.stderr
    assert [op.op_type for op in onnx.load(out).graph.node][-1] == "LeakyRelu"


def looping(file: Path) -> None:
    """A loop that runs nearly for ever."""
    body = helper.make_graph(
        [node("Identity", "c", "c2"), node("Tanh", "v", "v2")], "body",
        [helper.make_tensor_value_info("i", onnx.TensorProto.INT64, []),
         helper.make_tensor_value_info("c", onnx.TensorProto.BOOL, []),
         helper.make_tensor_value_info("v", FLOAT, None)],
        [helper.make_tensor_value_info("c2", onnx.TensorProto.BOOL, []),
         helper.make_tensor_value_info("v2", FLOAT, None)],
    )  # fmt: skip
    count = numpy_helper.from_array(np.array(2**62), "count")
    condition = numpy_helper.from_array(np.array(True), "condition")
    save(file, [node("Loop", "count condition h", "y", body=body)], tensors=[count, condition])


def vast(file: Path) -> None:
    """A tensor of 2**40 elements."""
    shape = numpy_helper.from_array(np.array([2**37, 8]), "shape")
    nodes = [node("Expand", "h shape", "e"), node("Relu", "e", "r"), node("ReduceSum", "r", "y")]
    save(file, nodes, tensors=[shape])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda file: file.write_bytes(b"\x08\x07" + b"\xff" * 99), "not an ONNX model"),
        (looping, "CPU time"),
    ],
)
def test_an_adversarial_file_ends_in_one_line(
    make: Callable[[Path], Any], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(onnx_worker, "CPU_S", 2)
    file, out = tmp_path / "bad.onnx", tmp_path / "out.onnx"
    make(file)
    with pytest.raises(ValueError, match=message) as caught:
        sg.swap(file, {"tanh": "relu"}, output=out)
    assert "\n" not in str(caught.value)
    assert not out.exists()


def test_a_model_too_large_to_run_is_not_compared(tmp_path: Path) -> None:
    vast(tmp_path / "m.onnx")
    record = sg.swap(tmp_path / "m.onnx", {"relu": "silu"})
    assert record.differences == ()
    assert any("not compared on random inputs" in note for note in record.notes)


def test_mutated_files_are_edited_or_refused(tmp_path: Path) -> None:
    source = gelu_file(tmp_path).read_bytes()
    random, file = np.random.default_rng(1), tmp_path / "mutated.onnx"
    graph = spell(sg.relu, FORMATS["float32"], 17).graph
    edited = 0
    for _ in range(40):
        changed = bytearray(source)
        for i in random.integers(len(changed), size=random.choice([1, 3])):
            changed[i] = int(random.integers(256))
        file.write_bytes(bytes(changed))
        try:
            model = EditableModel(str(file))
            model.edited({i: graph for i, p in enumerate(model.places) if not p.reason}, 17)
            edited += 1
        except ValueError:
            continue
    assert edited > 10
