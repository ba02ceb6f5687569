"""`scan` on PyTorch models: what executes is listed, however it is written."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

import softgate as sg

torch = pytest.importorskip("torch")
import torch.nn.functional as F  # noqa: E402
from torch import Tensor, nn  # noqa: E402

import softgate.torch  # noqa: E402


class Written(nn.Module):
    """Modules, functions, expressions, methods and in-place calls."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(8, 8)
        self.act = nn.GELU()
        self.ours = sg.torch.GELU("tanh")

    def forward(self, x: Tensor) -> Tensor:
        x = self.act(self.layer(x))
        x = self.ours(self.layer(x))
        x = F.hardswish(self.layer(x))
        x = self.layer(x).relu_()
        x = F.logsigmoid(self.layer(x))
        x = self.layer(x)
        x = 0.5 * x * (1 + torch.erf(x / math.sqrt(2)))
        x = self.layer(x)
        x = x * torch.sigmoid(1.702 * x)
        x = self.layer(x)
        x = torch.where(x > 0, x, 0.2 * x)
        return torch.as_tensor(sg.mish(self.layer(x)))


def test_everything_that_executes_is_listed() -> None:
    scan = sg.scan(Written())
    assert [(a.path, a.answer) for a in scan.activations] == [
        ("act", "gelu"),
        ("ours", "gelu_tanh"),
        ("", "hard_swish"),
        ("", "relu"),
        ("", "log_sigmoid"),
        ("", "gelu"),
        ("", "gelu_sigmoid"),
        ("", "leaky_relu(slope=0.2)"),
        ("", "mish"),
    ]
    assert {a.elements for a in scan.activations} == {8}
    assert scan.unit == "sample"


def test_the_model_is_unchanged() -> None:
    model = Written().train()
    model.act.eval()
    sg.scan(model)
    assert model.training
    assert not model.act.training
    assert not model._forward_hooks
    assert not model.layer._forward_pre_hooks
    assert torch.backends.mha.get_fastpath_enabled()


def test_a_shared_module_and_repeated_calls_are_counted() -> None:
    act = nn.SiLU()
    model = nn.Sequential(nn.Linear(4, 6), act, nn.Linear(6, 6), act)
    (shared,) = sg.scan(model).activations
    assert (shared.path, shared.calls, shared.elements) == ("1", 2, 12)


@pytest.mark.parametrize("frozen", [False, True])
def test_an_encoder_layer_hides_nothing(frozen: bool) -> None:
    layer = nn.TransformerEncoderLayer(8, 2, 16, activation="gelu", batch_first=True)
    model = nn.TransformerEncoder(layer, 2).requires_grad_(not frozen)
    scan = sg.scan(model, data=torch.zeros(1, 3, 8))
    assert [(a.path, a.answer) for a in scan.activations] == [
        ("layers.0", "gelu"),
        ("layers.1", "gelu"),
    ]


def test_a_gate_and_a_trainable_slope() -> None:
    class Gated(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.up, self.gate = nn.Linear(4, 4), nn.Linear(4, 4)
            self.slope = nn.PReLU(init=0.3)

        def forward(self, x: Tensor) -> Tensor:
            return self.slope(F.silu(self.gate(x)) * self.up(x))

    answers = [a.answer for a in sg.scan(Gated()).activations]
    assert answers == ["silu", "leaky_relu(slope=0.3)"]


def test_norms_and_softmax_are_no_activations() -> None:
    class Norm(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(4, 4)

        def forward(self, x: Tensor) -> Tensor:
            x = self.layer(x)
            x = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)
            return torch.softmax(x, -1)

    scan = sg.scan(Norm())
    assert scan.activations == ()
    assert [a.operators for a in scan.unidentified] == ["pow", "add, rsqrt"]


@pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")
def test_programs_need_trust(tmp_path: Path) -> None:
    model = nn.Sequential(nn.Linear(4, 4), nn.GELU(approximate="tanh")).eval()
    x = torch.zeros(2, 4)
    torch.jit.trace(model, x).save(str(tmp_path / "model.pt"))
    torch.export.save(torch.export.export(model, (x,)), str(tmp_path / "model.pt2"))
    for name in ("model.pt", "model.pt2"):
        with pytest.raises(ValueError, match="trust=True"):
            sg.scan(tmp_path / name)
        scan = sg.scan(tmp_path / name, trust=True, data=x)
        assert [a.answer for a in scan.activations] == ["gelu_tanh"]


def test_factories_and_wrong_targets(tmp_path: Path, run_here: Any) -> None:
    file = tmp_path / "made.py"
    layers = "torch.nn.Linear(2, 2), torch.nn.Tanh()"
    file.write_text(f"import torch\ndef make(): return torch.nn.Sequential({layers})\n")
    with pytest.raises(ValueError, match="trust=True"):
        sg.scan(f"{file}:make")
    done = run_here("scan", f"{file}:make", "--trust", "--csv")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[1].startswith("1,tanh,")
    for target, message in (
        (str(tmp_path / "none.pt2"), "there is no file"),
        ("gelu", "is not a model"),
        (str(tmp_path), "has no config.json"),
    ):
        done = run_here("scan", target, "--trust")
        assert (done.returncode, len(done.stderr.strip().splitlines())) == (2, 1)
        assert message in done.stderr
    with pytest.raises(TypeError, match="expected a model"):
        sg.scan(3)


def test_a_model_that_needs_data_says_so() -> None:
    class Two(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.ones(3))

        def forward(self, x: Tensor, y: Tensor) -> Tensor:
            return torch.tanh(x * self.weight + y)

    with pytest.raises(ValueError, match=r"pass data= \(--data\)"):
        sg.scan(Two())
    scan = sg.scan(Two(), data=(torch.ones(2, 3), torch.ones(2, 3)))
    assert [a.answer for a in scan.activations] == ["tanh"]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A tiny BERT as its configuration says, one that claims another GELU, one without its head."""
    transformers = pytest.importorskip("transformers")
    sizes = {"hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2,
             "intermediate_size": 16, "vocab_size": 32, "max_position_embeddings": 16}  # fmt: skip
    folders = {}
    for name, act in (("right", "gelu"), ("wrong", "gelu_new"), ("headless", "gelu")):
        folder = tmp_path_factory.mktemp(name)
        model = transformers.BertForMaskedLM(transformers.BertConfig(hidden_act="gelu", **sizes))
        (model.bert if name == "headless" else model).save_pretrained(folder)
        text = (folder / "config.json").read_text().replace('"BertModel"', '"BertForMaskedLM"')
        (folder / "config.json").write_text(text.replace('"gelu"', f'"{act}"'))
        folders[name] = folder
    return folders


def test_a_folder_is_loaded_as_its_configuration_says(folders: dict[str, Path]) -> None:
    scan = sg.scan(folders["right"])
    assert scan.counts == {"gelu": 3}  # two layers and the head, no pooler
    assert scan.claim == "hidden_act = gelu"
    assert (scan.unit, scan.activations[0].elements) == ("token", 16)
    assert not scan.mismatches
    with pytest.raises(ValueError, match=r"the checkpoint lacks .* weights of BertForMaskedLM"):
        sg.scan(folders["headless"])
    assert sg.scan(folders["headless"], allow_missing=True).counts == {"gelu": 3}


def test_a_claim_that_the_model_contradicts(
    folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch, run_here: Any
) -> None:
    """The configuration says gelu_new, and a port computes the exact GELU for it."""
    from transformers.activations import ACT2FN

    from softgate.studies.models.activations import with_claim

    assert sg.scan(folders["wrong"]).counts == {"gelu_tanh": 3}
    monkeypatch.setitem(ACT2FN, "gelu_new", nn.GELU)
    done = run_here("scan", str(folders["wrong"]), "--strict")
    assert done.returncode == 1
    assert "hidden_act = gelu_new means gelu_tanh, but 3 activations compute gelu" in done.stdout
    scan = sg.scan(folders["wrong"])
    assert [a.mismatch for a in scan.activations] == [True, True, True]
    found, _, notes = with_claim(scan.activations, "hidden_act", "relu")
    assert all(a.mismatch for a in found)
    assert notes == ["hidden_act = relu means relu, but 3 activations compute gelu"]


def test_a_prelu_with_several_slopes_is_noted() -> None:
    model = nn.Sequential(nn.Linear(4, 8), nn.PReLU(8), nn.PReLU())
    scan = sg.scan(model)
    assert [a.path for a in scan.activations] == ["2"]
    assert scan.notes == ("1 computes a prelu with several slopes, which is not listed",)
