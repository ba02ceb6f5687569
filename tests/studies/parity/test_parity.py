"""`parity`: two models, or a model and expected outputs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import softgate as sg
from softgate.studies.models import onnx_worker
from softgate.studies.models.arrays import aligned, difference
from softgate.studies.parity import match
from softgate.studies.parity.record import ComparedActivation, ComparedOutput, Parity

torch = pytest.importorskip("torch")
import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402

X = np.random.default_rng(0).standard_normal((5, 16)).astype(np.float32)


class Network(nn.Module):
    """Layers with functional GELUs of several forms, and a tanh at the end."""

    def __init__(self, *forms: str) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.layers = nn.ModuleList(nn.Linear(16, 16) for _ in forms)
        self.forms = forms

    def forward(self, x: Any) -> Any:
        for layer, form in zip(self.layers, self.forms, strict=True):
            x = F.gelu(3 * layer(x), approximate=form)
        return {"y": x, "z": torch.tanh(x)}


def outputs(model: nn.Module) -> dict[str, Any]:
    with torch.no_grad():
        return dict(model(torch.from_numpy(X)))


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run ONNX models in this process."""
    pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    from onnx_here import InProcessWorker

    monkeypatch.setattr(onnx_worker, "Worker", InProcessWorker)


@pytest.fixture(scope="module")
def onnx_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The network with exact GELUs as Erf, Add and Mul, the weights transposed."""
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    from onnx import helper, numpy_helper

    nodes, x, count = [], "x", 0

    def add(kind: str, *inputs: str) -> str:
        nonlocal count
        count += 1
        nodes.append(helper.make_node(kind, list(inputs), [f"v{count}"], name=f"{kind}_{count}"))
        return f"v{count}"

    numbers = {"three": 3.0, "root": 0.5**0.5, "one": 1.0, "half": 0.5}
    tensors = [helper.make_tensor(n, 1, [], [v]) for n, v in numbers.items()]
    for i, layer in enumerate(Network("none", "none", "none").layers):
        assert isinstance(layer, nn.Linear)
        weight, bias = layer.weight.detach().numpy(), layer.bias.detach().numpy()
        tensors += [numpy_helper.from_array(weight.T.copy(), f"w{i}")]
        tensors += [numpy_helper.from_array(bias, f"b{i}")]
        h = add("Mul", add("Add", add("MatMul", x, f"w{i}"), f"b{i}"), "three")
        gate = add("Add", add("Erf", add("Mul", h, "root")), "one")
        x = add("Mul", add("Mul", h, gate), "half")
    last = add("Tanh", x)
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", 1, ["n", 16])],
        [helper.make_tensor_value_info(name, 1, ["n", 16]) for name in (x, last)], tensors,
    )  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    file = tmp_path_factory.mktemp("onnx") / "network.onnx"
    onnx.save(model, file)
    return file


def test_the_first_difference_is_where_the_functions_differ() -> None:
    record = sg.parity(Network("none", "none", "none"), Network("none", "tanh", "none"), X)
    assert not record.equal
    first = record.first_difference
    assert isinstance(first, ComparedActivation)
    assert (first.path, first.function, first.other_function) == ("model[1]", "gelu", "gelu_tanh")
    assert first.difference is not None
    assert 1e-5 < first.difference.relative < 1e-2
    assert first.difference.ulps > 100
    assert [o.name for o in record.outputs] == ["y", "z"]
    assert record.notes == ("1 activation computes different functions: gelu and gelu_tanh",)
    assert "first difference: model[1] and model[1] (gelu and gelu_tanh)" in str(record)
    assert Parity.from_json(record.to_json()) == record
    assert len(record.table()[1]) == 6


def test_equal_models_are_equal_and_the_tolerance_counts() -> None:
    model = Network("none", "tanh")
    record = sg.parity(model, model, X)
    assert record.equal
    assert record.first_difference is None
    assert all(a.difference is not None and a.difference.equal for a in record.activations)
    other = Network("none", "none")
    assert not sg.parity(model, other, X).equal
    assert sg.parity(model, other, X, tolerance=0.01).equal


def test_torch_and_onnx(here: None, onnx_file: Path) -> None:
    same = sg.parity(Network("none", "none", "none"), onnx_file, {"x": X})
    assert same.equal
    assert [a.function for a in same.activations] == ["gelu", "gelu", "gelu", "tanh"]
    different = sg.parity(onnx_file, Network("none", "none", "tanh"), X)
    first = different.first_difference
    assert isinstance(first, ComparedActivation)
    assert first.other_function == "gelu_tanh"
    assert first.path is not None
    assert first.path.startswith("Mul")


def test_the_variant_for_all_activations(here: None, onnx_file: Path) -> None:
    expected = outputs(Network("tanh", "tanh", "tanh"))
    for model in (Network("none", "none", "none"), onnx_file):
        record = sg.parity(model, inputs=X, expected=expected["y"])
        assert record.variant is not None
        assert record.variant.change == "gelu -> gelu_tanh"
        assert not record.equal
        assert record.outputs[0].relative > record.tolerance
        assert "reproduced by gelu -> gelu_tanh" in str(record)


def test_individual_variants(here: None, onnx_file: Path) -> None:
    expected = outputs(Network("none", "tanh", "none"))
    record = sg.parity(Network("none", "none", "none"), inputs=X, expected=expected)
    assert record.variant is not None
    assert record.variant.change == "model[1]: gelu -> gelu_tanh"
    record = sg.parity(onnx_file, inputs=X, expected=expected["y"])
    assert record.variant is not None
    assert record.variant.change.endswith("gelu -> gelu_tanh")


def test_no_variant_and_no_change() -> None:
    model = Network("none")
    record = sg.parity(model, inputs=X, expected=outputs(model))
    assert record.equal
    assert record.variant is not None
    assert record.variant.change == ""
    record = sg.parity(model, inputs=X, expected=np.zeros((5, 16)))
    assert record.variant is None
    assert "none of the variants tried" in str(record)


def test_models_with_different_numbers_of_activations() -> None:
    short = nn.Sequential(nn.Linear(16, 16), nn.GELU())
    long = nn.Sequential(short[0], nn.ReLU(), short[1])
    record = sg.parity(short, long, X)
    assert [(a.path, a.other_path) for a in record.activations] == [(None, "1"), ("1", "2")]
    assert record.notes[0] == "Sequential computes 1 activations, Sequential 2"


def test_matching_prefers_sizes_then_functions() -> None:
    a = [(8, "gelu"), (8, "gelu"), (4, "tanh")]
    assert match(a, a) == [(0, 0), (1, 1), (2, 2)]
    assert match(a, [(8, "gelu_tanh"), (4, "tanh")])[-1] == (2, 1)
    assert match([(8, "gelu")], [(4, "gelu")]) == [(0, None), (None, 0)]
    assert match([(None, "gelu")], [(4, "gelu")]) == [(0, 0)]


def test_arrays_with_other_axes() -> None:
    first = np.random.default_rng(1).standard_normal((2, 3, 4, 5))
    moved = aligned(first, first.transpose(0, 2, 3, 1))
    assert moved is not None
    assert difference(first, moved).equal
    assert aligned(first, first[:1]) is None
    squeezed = aligned(first[:1], first[0])
    assert squeezed is not None
    assert squeezed.shape == (1, 3, 4, 5)


def test_differences_count_numbers_between() -> None:
    x = np.array([1.0, -0.0, np.nan, np.inf], np.float32)
    assert difference(x, x.copy()).equal
    y = x.copy()
    y[0] = np.nextafter(y[0], np.float32(2))
    y[1] = np.float32(1e-45)
    apart = difference(x, y)
    assert (apart.ulps, apart.index, apart.first) == (1.0, (0,), 1.0)
    assert difference(np.array([-1e-45, 1.0]), np.array([1e-45, 1.0])).ulps > 2
    assert difference(np.array([1.0]), np.array([np.nan])).relative == np.inf
    assert difference(np.array([0.0]), np.array([1.0])).relative == np.inf


def test_activations_that_underflow_are_equal() -> None:
    def network(scale: float) -> nn.Module:
        layer = nn.Linear(16, 16, bias=False)
        nn.init.eye_(layer.weight)
        with torch.no_grad():
            layer.weight.mul_(scale)
        return nn.Sequential(layer, nn.ReLU())

    record = sg.parity(network(1e-43), network(1.01e-43), X)
    assert record.outputs[0].difference is not None
    assert record.outputs[0].difference.max_difference > 0
    assert record.equal
    assert not sg.parity(network(1e-37), network(1.01e-37), X).equal


def test_other_shapes_of_outputs_are_different() -> None:
    record = sg.parity(nn.Linear(16, 4), nn.Linear(16, 3), X)
    assert not record.equal
    (output,) = record.outputs
    assert isinstance(record.first_difference, ComparedOutput)
    assert output.difference is None
    assert "other shape" in str(record)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"second": None, "inputs": X}, "pass a second model, or expected outputs"),
        ({"second": Network("none"), "inputs": None}, "inputs are missing"),
        ({"second": "nowhere.onnx", "inputs": X}, "there is no file nowhere.onnx"),
        ({"second": "models.py:make", "inputs": X}, "contains code, which is not run"),
        ({"second": Network("none"), "inputs": {"a": X, "x": X}}, "takes x"),
        ({"second": Network("none"), "inputs": X[:, :3]}, "failed on its inputs"),
        ({"second": Network("none"), "inputs": "x.txt"}, "expected an .npz file"),
        ({"second": Network("none"), "inputs": X, "tolerance": -1.0}, "not negative"),
    ],
)
def test_mistakes(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        sg.parity(Network("none"), **arguments)


def test_the_command(here: None, onnx_file: Path, tmp_path: Path, run_here: Any) -> None:
    np.savez(tmp_path / "x.npz", x=X)
    np.savez(tmp_path / "y.npz", y=outputs(Network("tanh", "tanh", "tanh"))["y"])
    same = run_here("parity", str(onnx_file), str(onnx_file), "--inputs", str(tmp_path / "x.npz"))
    assert same.returncode == 0, same.stderr
    assert "equal (relative tolerance 1e-05)" in " ".join(same.stdout.split())
    search = ["parity", str(onnx_file), "--inputs", str(tmp_path / "x.npz"), "--strict", "--json"]
    found = run_here(*search, "--expected", str(tmp_path / "y.npz"), "-o", str(tmp_path / "p.html"))
    assert found.returncode == 0, found.stderr
    variant = Parity.from_json(found.stdout).variant
    assert variant is not None
    assert variant.change == "gelu -> gelu_tanh"
    assert (tmp_path / "p.html").exists()
    np.savez(tmp_path / "z.npz", y=np.zeros((5, 16)))
    missing = run_here(*search, "--expected", str(tmp_path / "z.npz"))
    assert missing.returncode == 1
    wrong = run_here(*search)
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert len(wrong.stderr.strip().splitlines()) == 1


@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")
def test_keras_and_torch() -> None:
    keras = pytest.importorskip("keras")
    x = keras.Input((16,))
    h = keras.layers.Dense(16, activation="gelu", name="up")(x)
    h = keras.layers.ReLU(name="act")(keras.layers.Dense(16, name="down")(h))
    model = keras.Model(x, keras.ops.tanh(h))
    twin = nn.Sequential(
        nn.Linear(16, 16), nn.GELU(), nn.Linear(16, 16), nn.ReLU(), nn.Tanh()
    )  # fmt: skip
    weights = [torch.tensor(np.array(w)) for w in model.get_weights()]
    with torch.no_grad():
        for layer, kernel, bias in ((twin[0], *weights[:2]), (twin[2], *weights[2:])):
            layer.weight.copy_(kernel.T)
            layer.bias.copy_(bias)
    record = sg.parity(twin, model, X)
    assert record.equal
    assert [a.other_path for a in record.activations][:2] == ["up", "act"]
    twin[1] = nn.SiLU()
    with torch.no_grad():
        expected = twin(torch.from_numpy(X))
    found = sg.parity(model, inputs=X, expected=expected)
    assert found.variant is not None
    assert found.variant.change == "gelu -> silu"
    assert sg.scan(model).activations[0].answer == "gelu"  # nothing is left replaced


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_programs(tmp_path: Path) -> None:
    model = nn.Sequential(nn.Linear(16, 8), nn.GELU(), nn.Linear(8, 2), nn.Tanh()).eval()
    torch.jit.script(model).save(tmp_path / "m.pt")
    torch.export.save(torch.export.export(model, (torch.from_numpy(X),)), tmp_path / "m.pt2")
    for file in ("m.pt", "m.pt2"):
        record = sg.parity(model, tmp_path / file, {"input": X}, trust=True)
        assert record.equal
        assert [a.function for a in record.activations] == ["gelu", "tanh"]
        assert all(a.difference is not None for a in record.activations)
    with pytest.raises(ValueError, match="takes input"):
        sg.parity(model, tmp_path / "m.pt2", {"input": X, "other": X}, trust=True)


class Difference(nn.Module):
    """A function of two inputs that depends on their order."""

    def forward(self, a: Any, b: Any) -> Any:
        return torch.tanh(a) - b


class Renamed(nn.Module):
    """The same function with other names of its inputs."""

    def forward(self, left: Any, right: Any) -> Any:
        return torch.tanh(left) - right


@pytest.mark.parametrize(
    ("inputs", "given"),
    [
        ({"b": X, "wrong": 2 * X}, "wrong"),
        ({"first": X, "second": 2 * X}, "first, second"),
        ({"a": X}, "inputs are a"),
        ({"a": X, "b": X, "c": X}, "c"),
    ],
)
def test_inputs_with_other_names_are_refused_with_both_sets(inputs: Any, given: str) -> None:
    with pytest.raises(ValueError, match=given) as raised:
        sg.parity(Difference(), Difference(), inputs)
    assert "a, b" in str(raised.value)


def test_one_input_with_another_name_is_refused(here: None, onnx_file: Path) -> None:
    for model in (Network("none", "none", "none"), onnx_file):
        with pytest.raises(ValueError, match=r"attention_mask.*takes x"):
            sg.parity(model, model, {"attention_mask": X})


def test_models_with_different_names_take_arrays_under_both() -> None:
    arrays = {"right": 2 * X, "a": X, "left": X, "b": 2 * X}
    assert sg.parity(Difference(), Renamed(), arrays).equal
    assert not sg.parity(Difference(), Renamed(), arrays | {"right": X}).equal
    with pytest.raises(ValueError, match="takes left, right"):
        sg.parity(Difference(), Renamed(), {"a": X, "b": 2 * X})


def test_expected_outputs_with_other_names_are_refused_with_both_sets() -> None:
    model = Network("none")
    y = outputs(model)["y"]
    assert sg.parity(model, inputs=X, expected={"y": y}).equal
    for wrong in ({"logits": y}, {"y": y, "logits": y}, {"logits": y, "hidden": y}):
        with pytest.raises(ValueError, match=r"logits.*y, z"):
            sg.parity(model, inputs=X, expected=wrong)


def test_a_model_that_changes_between_runs_is_refused() -> None:
    class Changing(nn.Module):
        runs = 0

        def forward(self, x: Any) -> Any:
            self.runs += 1
            return torch.tanh(x + 1 if self.runs % 2 else x)

    with pytest.raises(ValueError, match="does not execute the same operators in each run"):
        sg.parity(Changing(), nn.Tanh(), X)
