"""`softgate.torch.swap`: every way of writing an activation, what it survives, what it refuses."""

from __future__ import annotations

import copy
import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import softgate as sg

torch = pytest.importorskip("torch")
import torch.nn.functional as F  # noqa: E402
from torch import Tensor, nn  # noqa: E402
from torch.utils.checkpoint import checkpoint  # noqa: E402

import softgate.torch  # noqa: E402
from softgate.studies.swap import Swap, SwapError  # noqa: E402

swap = sg.torch.swap


@sg.activation
def bent(f: Any, x: Any) -> Any:
    """x·tanh(exp(x))."""
    return x * f.tanh(f.exp(x))


class Written(nn.Module):
    """A module, an attribute, functions, methods, in place, and an in-place module whose result
    is not used."""

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.act, self.fn = nn.Linear(8, 8), nn.GELU(), F.gelu
        self.over = nn.ReLU(inplace=True)

    def forward(self, x: Tensor) -> Tensor:
        x = self.fn(self.layer(self.act(self.layer(x))))
        x = F.gelu(self.layer(x))
        x = self.layer(x).relu_()
        x = self.over(self.layer(x))
        y = self.layer(x)
        self.over(y)
        return self.layer(torch.sigmoid(self.layer(y)))


def tanh_form(x: Tensor) -> Tensor:
    return F.gelu(x, approximate="tanh")


@pytest.fixture
def model() -> Written:
    torch.manual_seed(0)
    return Written()


@pytest.fixture
def x() -> Tensor:
    return torch.linspace(-3, 3, 24).reshape(3, 8)


def test_every_way_of_writing_it_is_replaced(model: Written, x: Tensor) -> None:
    original, names = model(x), list(model.state_dict())
    result = swap(model, {"gelu": "gelu_tanh", "relu": "gelu"})
    assert [(s.path, s.before, s.after, s.how) for s in result.swapped] == [
        ("act", "gelu", "gelu_tanh", "module"),
        ("", "gelu", "gelu_tanh", "call"),
        ("", "relu", "gelu", "call"),
        ("over", "relu", "gelu", "call"),
    ]
    expected = x
    for function in (tanh_form, tanh_form, tanh_form, F.gelu, F.gelu, F.gelu, torch.sigmoid):
        expected = function(model.layer(expected))
    y = model(x)
    torch.testing.assert_close(y, model.layer(expected), rtol=0, atol=1e-6)
    (gradient,) = torch.autograd.grad(y.sum(), model.layer.weight)
    (expected_gradient,) = torch.autograd.grad(model.layer(expected).sum(), model.layer.weight)
    torch.testing.assert_close(gradient, expected_gradient, rtol=1e-4, atol=1e-5)
    assert list(model.state_dict()) == names
    result.undo()
    result.undo()
    assert torch.equal(model(x), original)
    assert (type(model.act), model.fn) == (nn.GELU, F.gelu)
    assert not any(m._forward_hooks or m._forward_pre_hooks for m in model.modules())


def test_a_copy_and_a_pickle_compute_the_same(model: Written, x: Tensor) -> None:
    swap(model, {"gelu": bent, "relu": "elu:alpha=0.5"})
    y = model(x)
    assert torch.equal(copy.deepcopy(model)(x), y)
    file = io.BytesIO()
    torch.save(model, file)
    file.seek(0)
    loaded = torch.load(file, weights_only=False)
    assert torch.equal(loaded(x), y)
    swap(loaded, {"elu": "relu"})  # calls that were redirected already
    assert torch.equal(model(x), y)
    fresh = Written()
    fresh.load_state_dict(model.state_dict())
    swap(fresh, {"gelu": bent})
    assert torch.equal(loaded(x), fresh(x))


def test_softgates_version_of_each(model: Written, x: Tensor) -> None:
    y = model(x)
    result = swap(model)
    assert result.counts == {"gelu -> gelu": 2, "relu -> relu": 2, "sigmoid -> sigmoid": 1}
    assert type(model.act) is sg.torch.GELU
    assert {a.operators for a in sg.scan(model).activations} <= {
        "softgate.evaluate",
        "clone, softgate.evaluate",
    }
    torch.testing.assert_close(model(x), y, rtol=0, atol=1e-6)
    assert swap(model).swapped == ()


def test_keys_are_functions_paths_and_patterns() -> None:
    act = nn.SiLU()
    block = nn.Sequential(nn.Linear(4, 4), nn.GELU(), nn.Linear(4, 4), nn.LeakyReLU(0.2))
    model = nn.Sequential(block, act, nn.Linear(4, 4), act, nn.GELU())
    model[1].register_forward_hook(lambda *_: None)
    keys = {"0": "mish", "[12345]": "tanh", nn.GELU: "relu", "leaky_relu": "softsign"}
    result = swap(model, keys)
    assert [(s.path, s.after) for s in result.swapped] == [
        ("0.1", "mish"),
        ("0.3", "mish"),
        ("1", "tanh"),
        ("4", "tanh"),
    ]
    assert model[1] is model[3]
    assert type(model[1]) is sg.torch.Tanh
    assert model[1]._forward_hooks
    result.undo()
    assert model[1] is act
    assert [s.path for s in swap(model, {"3": "tanh"}).swapped] == ["1"]  # shared
    assert [s.after for s in swap(model, {"leaky_relu": "elu:alpha=0.5"}).swapped] == [
        "elu:alpha=0.5"
    ]
    assert swap(nn.Sequential(nn.Linear(2, 2), nn.GELU()), "relu").counts == {"gelu -> relu": 1}


@pytest.mark.parametrize("form", ["gelu", nn.GELU()])
def test_an_encoder_does_not_take_its_fast_path(form: Any) -> None:
    layers = [
        nn.TransformerEncoderLayer(8, 2, 16, activation=a, batch_first=True) for a in (form, "relu")
    ]
    model, expected = (nn.TransformerEncoder(layer, 2).eval() for layer in layers)
    expected.load_state_dict(model.state_dict())
    x, padding = torch.randn(2, 5, 8), torch.zeros(2, 5, dtype=torch.bool)
    padding[0, 3:] = True
    with torch.no_grad():
        original = model(x)
        result = swap(model, {"gelu": "relu"}, data=x)
        torch.testing.assert_close(model(x), expected(x))
        y = model(x, src_key_padding_mask=padding)[:, :3]
        torch.backends.mha.set_fastpath_enabled(False)
        try:
            z = expected(x, src_key_padding_mask=padding)[:, :3]
        finally:
            torch.backends.mha.set_fastpath_enabled(True)
        torch.testing.assert_close(y, z)
        result.undo()
        assert torch.equal(model(x), original)
    assert (model.layers[0].activation_relu_or_gelu, model.use_nested_tensor) == (2, True)


class Mixed(nn.Module):
    """What can be replaced, and what cannot."""

    def __init__(self) -> None:
        super().__init__()
        self.up, self.glu, self.slope = nn.Linear(8, 8), nn.GLU(), nn.PReLU()
        self.rnn = nn.LSTM(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        x = self.rnn(self.slope(self.glu(self.up(x))))[0]
        x = torch.sigmoid(x) + self.up.bias[:4]
        return x * torch.sigmoid(1.702 * x)


def test_what_cannot_be_replaced_is_listed() -> None:
    model = Mixed()
    with pytest.raises(SwapError, match="4 of 6 activations cannot be swapped") as raised:
        swap(model)
    left = [(u.path, u.function, u.operators) for u in raised.value.unswapped]
    assert left == [
        ("", "sigmoid", "sigmoid"),  # a redirect would change the sigmoid of the expression, too
        ("", "gelu_sigmoid", "mul, sigmoid, mul"),
        ("rnn", "sigmoid", "LSTM"),
        ("rnn", "tanh", "LSTM"),
    ]
    assert type(model.slope) is nn.PReLU
    result = swap(model, partial=True)
    assert [s.path for s in result.swapped] == ["glu", "slope"]
    assert [u.function for u in result.unswapped] == [function for _, function, _ in left]
    assert not model._forward_pre_hooks
    assert type(model.slope) is sg.torch.PReLU
    assert "slope.weight" in model.state_dict()
    assert Swap.from_json(result.to_json()) == Swap(
        "Mixed", "torch", result.swapped, result.unswapped, (), unchanged=()
    )
    assert "LSTM" in str(result)
    assert len(result.table()[1]) == 6
    with pytest.raises(SwapError, match=r"slope: leaky_relu:slope=0.25 .*parameters"):
        swap(model, {"slope": "relu"})


class Cubic(nn.Module):
    """An elementwise function that is not in the catalogue."""

    def forward(self, x: Tensor) -> Tensor:
        return x**3 - x


def test_a_module_that_is_not_identified() -> None:
    model = nn.Sequential(nn.Linear(4, 4), Cubic(), nn.Linear(4, 4), nn.GELU())
    with pytest.raises(SwapError, match=r"1 of 2 .*\n  1: unknown .*: no function of softgate has"):
        swap(model)
    assert [s.path for s in swap(model, {"gelu": "relu"}).swapped] == ["3"]


def test_a_gate_is_replaced() -> None:
    model, x = Mixed(), torch.randn(3, 8)
    swap(model, {"glu": "silu"})
    a, b = x.chunk(2, -1)
    torch.testing.assert_close(model.glu(x), a * F.silu(b))


class Part(nn.Module):
    """A forward that checkpoints a part of itself in training."""

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.act = nn.Linear(8, 8), nn.GELU()

    def part(self, x: Tensor) -> Tensor:
        return F.relu(self.layer(x))

    def forward(self, x: Tensor) -> Tensor:
        x = self.act(self.layer(x))
        x = checkpoint(self.part, x, use_reentrant=False) if self.training else self.part(x)
        return self.layer(x)


@pytest.fixture
def outer() -> nn.Module:
    model = nn.Sequential(nn.Linear(8, 8), Part().eval(), nn.Sigmoid())
    swap(model, {"relu": "silu", "gelu": "gelu_tanh"})
    return model


def test_checkpoints(outer: nn.Module, x: Tensor) -> None:
    whole = checkpoint(outer, x, use_reentrant=False)
    gradients = torch.autograd.grad(whole.sum(), outer[0].weight)
    assert torch.equal(gradients[0], torch.autograd.grad(outer(x).sum(), outer[0].weight)[0])
    outer.train()
    with pytest.raises(RuntimeError, match="Part checkpoints a part of its forward"):
        outer(x)
    assert torch._C._len_torch_function_stack() == 0
    outer.eval()(x)


def test_a_compiled_model_runs_redirected_calls_eagerly(outer: nn.Module, x: Tensor) -> None:
    y = outer(x)
    compiled = torch.compile(outer, backend="eager")
    try:
        assert torch.equal(compiled(x), y)
        assert torch.equal(compiled(x), y)
        with pytest.raises(ValueError, match="swap its activations first, then compile it"):
            swap(compiled, {"silu": "relu"})
    finally:
        torch._dynamo.reset()
    torch.testing.assert_close(torch.export.export(outer, (x,)).module()(x), y)


@pytest.fixture
def process_group() -> Iterator[None]:
    torch.distributed.init_process_group(
        "gloo", store=torch.distributed.HashStore(), rank=0, world_size=1
    )
    yield
    torch.distributed.destroy_process_group()


@pytest.mark.usefixtures("process_group")
def test_several_processes(outer: nn.Module, x: Tensor) -> None:
    parallel = nn.parallel.DistributedDataParallel(outer)
    y = outer(x)
    assert torch.equal(parallel(x), y)
    parallel(x).sum().backward()
    assert outer[0].weight.grad is not None
    result = swap(parallel, {"silu": "relu"})
    assert not torch.equal(parallel(x), y)
    result.undo()
    assert torch.equal(parallel(x), y)


@pytest.mark.parametrize(
    ("replacements", "message"),
    [
        ({"gleu": "relu"}, "'gleu' is not a path in Written, and not a function"),
        ({"mish": "relu"}, "'mish' selects nothing in Written; it has gelu at act, the model its"),
        ({"layers.*": "relu"}, "'layers.*' is not a path in Written"),
        ({"swiglu": "relu"}, "takes two arrays"),
        ({"gelu": "swiglu"}, "takes two arrays"),
        ({"gelu": "gleu"}, "unknown name 'gleu'"),
        ({"act": "relu", "ac": "tanh"}, "'ac' is not a path"),
        ({"a*": "relu", "?ct": "tanh"}, "both select act"),
        ({"gelu": lambda x: 3 * x}, "computes no function of the catalogue"),
        ({}, "is empty"),
        ("relu", "has several functions"),
    ],
)
def test_wrong_arguments(model: Written, replacements: Any, message: str) -> None:
    with pytest.raises(ValueError, match=r".*") as raised:
        swap(model, replacements)
    assert message in str(raised.value)
    assert type(model.act) is nn.GELU


def test_wrong_types_and_models_that_cannot_run(model: Written) -> None:
    for arguments, message in (
        ((model, 3), "replacements is an int"),
        ((model, {"gelu": 3}), "3 is an int"),
        ((model, {3: "gelu"}), "3 is an int"),
        ((3, {"gelu": "relu"}), "expected a torch.nn.Module"),
    ):
        with pytest.raises(TypeError, match=message):
            swap(*arguments)
    with pytest.raises(ValueError, match="Written failed on its data"):
        swap(model, data=torch.zeros(2, 5))


def test_a_path_that_is_the_name_of_a_function() -> None:
    model = nn.Sequential()
    model.add_module("layer", nn.Linear(2, 2))
    model.add_module("relu", nn.GELU())
    model.add_module("act", nn.ReLU())
    with pytest.raises(ValueError, match=r"write softgate.relu for the function, \[r\]elu"):
        swap(model, {"relu": "tanh"})
    assert [s.path for s in swap(model, {"softgate.relu": "tanh"}).swapped] == ["act"]
    assert [s.path for s in swap(model, {"[r]elu": "tanh"}).swapped] == ["relu"]


@pytest.fixture(scope="module")
def transformers() -> Any:
    library = pytest.importorskip("transformers")
    library.logging.disable_progress_bar()
    return library


SIZES = {"hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2,
         "intermediate_size": 16, "vocab_size": 32, "max_position_embeddings": 16}  # fmt: skip


@pytest.mark.parametrize(
    ("function", "name"),
    [("gelu_tanh", "gelu_pytorch_tanh"), ("elu:alpha=0.5", "softgate.elu:alpha=0.5")],
)
def test_a_configuration_is_updated(
    function: str, name: str, transformers: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = transformers.BertForMaskedLM(transformers.BertConfig(**SIZES)).eval()
    result = swap(model, {"gelu": function})
    assert model.config.hidden_act == name
    assert f"config.hidden_act = {name}" in result.notes
    model.save_pretrained(tmp_path)
    loaded = transformers.BertForMaskedLM.from_pretrained(tmp_path).eval()
    ids = torch.arange(8).unsqueeze(0)
    torch.testing.assert_close(loaded(ids).logits, model(ids).logits)
    if name.startswith("softgate."):  # as in a new process
        monkeypatch.delitem(transformers.activations.ACT2FN, name)
        with pytest.raises(KeyError, match=name):
            transformers.BertForMaskedLM.from_pretrained(tmp_path)
    scan = sg.scan(tmp_path)
    assert [a.label for a in scan.activations] == [function] * 3
    assert not scan.notes
    result.undo()
    assert model.config.hidden_act == "gelu"


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("hidden_act", "softgate.mine", "hidden_act = softgate.mine: .*register_huggingface"),
        (
            "architectures",
            ["BertForNothing"],
            "BertForNothing is not a model class of transformers",
        ),
    ],
)
def test_a_folder_that_names_what_does_not_exist(
    field: str, value: Any, message: str, transformers: Any, tmp_path: Path
) -> None:
    transformers.BertConfig(**SIZES).save_pretrained(tmp_path)
    configuration = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(configuration | {field: value}))
    (tmp_path / "model.safetensors").touch()
    with pytest.raises(ValueError, match=message):
        sg.scan(tmp_path)


def test_what_a_configuration_cannot_name(transformers: Any) -> None:
    model = transformers.BertModel(transformers.BertConfig(**SIZES))
    result = swap(model, {"encoder.layer.0": "mish", "tanh": bent})
    assert model.config.hidden_act == "gelu"
    (note,) = result.notes
    assert "encoder.layer.0.intermediate.intermediate_act_fn, pooler.activation" in note
    assert "repeat the swap after from_pretrained" in note
    result.undo()
    assert swap(model).notes == ()
    assert swap(model, {"gelu": bent}).notes[0] == "config.hidden_act = softgate.bent"
    from transformers.activations import ACT2FN

    assert ACT2FN["softgate.bent"].activation is bent


def test_configurations_inside_and_copied(transformers: Any, tmp_path: Path) -> None:
    sizes = {"d_model": 8, "d_kv": 4, "d_ff": 16, "num_layers": 1, "num_heads": 2, "vocab_size": 32}
    configuration = transformers.T5Config(feed_forward_proj="gated-gelu", **sizes)
    model = transformers.T5ForConditionalGeneration(configuration)
    swap(model, {"gelu_tanh": "silu"})
    model.save_pretrained(tmp_path)
    assert sg.scan(tmp_path).counts == {"silu": 2}
    small = {"hidden_size": 8, "intermediate_size": 16, "num_hidden_layers": 1,
             "num_attention_heads": 2}  # fmt: skip
    clip = transformers.CLIPModel(
        transformers.CLIPConfig(
            text_config=small | {"vocab_size": 32, "eos_token_id": 2},
            vision_config=small | {"image_size": 8, "patch_size": 4},
            projection_dim=4,
        )
    )
    data = {
        "input_ids": torch.ones(1, 4, dtype=torch.long),
        "pixel_values": torch.zeros(1, 3, 8, 8),
    }
    result = swap(clip, {"quick_gelu": "gelu", "vision_model": "relu"}, data=data)
    assert set(result.notes) == {
        "config.text_config.hidden_act = gelu",
        "config.vision_config.hidden_act = relu",
    }


def test_a_torch_without_the_private_functions_of_its_compiler(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Calls are listed with the reason, and nothing is half swapped."""

    class Calls(nn.Linear):
        def forward(self, x: Tensor) -> Tensor:
            return F.gelu(super().forward(x))

    package = "softgate.studies.swap"
    monkeypatch.setitem(sys.modules, f"{package}.redirect", None)
    monkeypatch.delattr(sys.modules[package], "redirect", raising=False)
    model = nn.Sequential(nn.Linear(2, 2), nn.GELU(), Calls(2, 2))
    module = model[1]
    with pytest.raises(SwapError, match="calls are not redirected with torch"):
        sg.torch.swap(model, {"gelu": "silu"})
    assert model[1] is module
    record = sg.torch.swap(model, {"gelu": "silu"}, partial=True)
    assert [a.path for a in record.swapped] == ["1"]
    assert [a.path for a in record.unswapped] == ["2"]
