"""`softgate diagnose`: folders, factories, files, exit codes, and one-line error messages."""

from __future__ import annotations

import json
import sys
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner

torch = pytest.importorskip("torch")

from softgate.cli import softgate  # noqa: E402
from softgate.studies.diagnose.record import Diagnosis  # noqa: E402
from softgate.studies.models.loading import load_batches, load_model  # noqa: E402

FACTORY = """
import torch
from torch import nn

def make():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 20), nn.ReLU(), nn.Linear(20, 3))
    with torch.no_grad():
        model[0].bias[:4] = -20
    return model

class Named(nn.Module):
    def forward(self, a, b=None):
        return torch.relu(a if b is None else a + b)

def broken():
    raise KeyError("weights")

class Score(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(6, 1)

    def forward(self, x):
        return torch.sigmoid(self.fc(x)).squeeze(-1)

class Refuses(nn.Module):
    def forward(self, x):
        raise ValueError("not today")

def double():
    return make().double()

def half():
    return make().half()

def number():
    return 3

def nasty():
    model = nn.Sequential()
    model.add_module("a\\x1b[31m\\x00\\x07", nn.Linear(6, 4))
    model.add_module("b\\n\\x9b\\ud800\\ufffe", nn.ReLU())
    model.add_module("c\\u202e", nn.GELU())
    return model

constant = 3
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return a folder to stand in, with a module of factories and some data."""
    name = f"factories_{abs(hash(str(tmp_path)))}"
    (tmp_path / f"{name}.py").write_text(FACTORY)
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 6))
    np.savez(tmp_path / "x.npz", x=x)
    np.savez(tmp_path / "both.npz", input=x, target=rng.integers(0, 3, 300))
    np.savez(tmp_path / "classes.npz", input=x, target=rng.integers(7, 9, 300))
    np.savez(tmp_path / "targets.npz", input=x, target=rng.normal(size=(300, 5)))
    np.savez(tmp_path / "three.npz", a=x, c=x, target=x)
    np.savez(tmp_path / "wrong.npz", x=x[:, :2])
    np.savez(tmp_path / "uneven.npz", input=x, target=x[:4])
    (tmp_path / "text.txt").write_text("a b c")
    (tmp_path / "broken.npz").write_text("no archive")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    yield tmp_path, name
    sys.modules.pop(name, None)


def run(*arguments):
    return CliRunner().invoke(softgate, ["diagnose", *arguments], standalone_mode=False)


def test_a_factory_is_diagnosed(folder):
    _, name = folder
    result = run(f"{name}:make", "--data", "x.npz", "--json")
    assert result.exception is None
    assert result.return_value == 0
    record = Diagnosis.from_json(result.stdout)
    assert record.sites[0].unit.dead[:4] == (0, 1, 2, 3)
    assert record.sites[0].inputs == 300
    assert record.findings[0].kind == "dead"
    assert run(f"{name}:make", "--data", "x.npz", "--limit", "2").stdout.count("64") >= 1


@pytest.mark.parametrize("precision", ["double", "half"])
def test_floats_become_those_of_the_model(folder, precision):
    _, name = folder
    result = run(f"{name}:{precision}", "--data", "x.npz", "--json")
    assert result.exception is None
    record = Diagnosis.from_json(result.stdout)
    assert record.sites[0].dtype == {"double": "float64", "half": "float16"}[precision]
    assert record.sites[0].unit.dead[:4] == (0, 1, 2, 3)
    assert record.gradient_ratio is None  # one site alone
    assert record.sites[0].gradient_input > 0


def test_conditions_set_the_exit_code(folder):
    _, name = folder
    arguments = (f"{name}:make", "--data", "x.npz")
    failed = run(*arguments, "--fail-on", "dead>5%", "--fail-on", "nan>0")
    assert failed.return_value == 1
    assert failed.stderr.startswith("Failed: dead>5%: dead is 20 % at 1 (relu, 300 inputs)")
    assert failed.stderr.count("\n") == 1
    assert run(*arguments, "--fail-on", "dead>50%").return_value == 0


def test_what_if_is_a_second_record(folder):
    _, name = folder
    arguments = (f"{name}:make", "--data", "both.npz", "--what-if", "gelu")
    shown = run(*arguments).stdout
    assert "Sequential with gelu, without further training" in shown
    both = json.loads(run(*arguments, "--json").stdout)
    assert both["diagnosis"]["loss"] == "the loss"
    assert both["what_if"]["loss_before"] > 0
    header, *rows = run(*arguments, "--csv").stdout.splitlines()
    assert header.startswith("site,function,units")
    assert len(rows) == 1


def test_thresholds_are_taken(folder):
    _, name = folder
    arguments = (f"{name}:make", "--data", "x.npz", "--json")
    record = Diagnosis.from_json(run(*arguments, "--threshold", "dead=50%").stdout)
    assert record.findings == ()
    assert record.thresholds.dead == 0.5


def test_names_of_layers_may_have_any_character(folder):
    """vl-convert aborts on control characters, and SVG forbids them."""
    from xml.etree import ElementTree

    from softgate.records.text import CONTROL

    path, name = folder
    files = [word for kind in ("svg", "html", "json") for word in ("-o", f"a.{kind}")]
    result = run(f"{name}:nasty", "--data", "x.npz", *files)
    assert result.exception is None, result.exception
    assert r"b\n\x9b\ud800\ufffe" in result.stdout
    texts = [(path / f"a.{kind}").read_text(encoding="utf-8") for kind in ("svg", "html")]
    assert not any(CONTROL.search(text) for text in (result.stdout, *texts))
    ElementTree.fromstring(texts[0])
    record = Diagnosis.from_json((path / "a.json").read_text(encoding="utf-8"))
    raw = replace(record.sites[0], name="raw\x1b\x00")  # as in a file from elsewhere
    ElementTree.fromstring(replace(record, model="m\x1b\x00", sites=(raw,)).figure().svg())


CODE = """
from pathlib import Path
Path(__file__).with_name("ran").touch()
raise ImportError("ran")
"""


def test_code_in_a_folder_runs_only_if_it_is_trusted(tmp_path):
    pytest.importorskip("transformers")
    home = tmp_path / "model"
    home.mkdir()
    config = {"model_type": "other", "auto_map": {"AutoConfig": "code.C", "AutoModel": "code.M"}}
    (home / "config.json").write_text(json.dumps(config))
    (home / "code.py").write_text(CODE)
    (home / "model.safetensors").write_bytes(b"")
    arguments = (str(home), "--data", "x.npz")
    message = str(run(*arguments).exception)
    assert "needs Python code in that folder, which is not run" in message
    assert "--trust" in message
    assert not list(tmp_path.rglob("ran"))
    assert "--trust" not in str(run(*arguments, "--trust").exception)


MISTAKES = [
    (("nowhere", "--data", "x.npz"), "neither a folder nor a function"),
    (("nomodule:make", "--data", "x.npz"), "no module 'nomodule'"),
    (("{}:missing", "--data", "x.npz"), "has no 'missing'"),
    (("{}:constant", "--data", "x.npz"), "is an int"),
    (("{}:number", "--data", "x.npz"), "returned an int"),
    (("{}:broken", "--data", "x.npz"), "KeyError"),
    ((".", "--data", "x.npz"), "no config.json"),
    (("{}:make", "--data", "no.npz"), "there is no file"),
    (("{}:make", "--data", "broken.npz"), "is not an .npz file"),
    (("{}:make", "--data", "text.txt"), "a text is for a folder"),
    (("{}:make", "--data", "wrong.npz"), "failed on wrong.npz"),
    (("{}:make", "--data", "uneven.npz"), "different numbers of rows"),
    (("{}:make", "--data", "classes.npz"), "the target has class 8"),
    (("{}:make", "--data", "targets.npz"), "expected as many numbers"),
    (("{}:Score", "--data", "both.npz"), "expected a class for each row"),
    (("{}:Refuses", "--data", "x.npz"), "failed on x.npz: ValueError: not today (factories_"),
    (("{}:Named", "--data", "three.npz"), "forward takes a, b"),
    (("{}:make", "--data", "x.npz", "--batch", "0"), "at least 1"),
    (("{}:make", "--data", "x.npz", "--limit", "0"), "at least 1"),
    (("{}:make", "--data", "x.npz", "--fail-on", "deed>5%"), "did you mean 'dead'"),
    (("{}:make", "--data", "x.npz", "--threshold", "deed=1"), "choose from flat"),
    (("{}:make", "--data", "x.npz", "--threshold", "dead=x"), "NAME=NUMBER"),
    (("{}:make", "--data", "x.npz", "--only", "gelu"), "--what-if"),
    (("{}:make", "--data", "x.npz", "--what-if", "gulu"), "gulu"),
    (("{}:make", "--data", "x.npz", "--what-if", "gelu", "--only", "tanh"), "no call of tanh"),
]


@pytest.mark.parametrize(("arguments", "text"), MISTAKES, ids=[text for _, text in MISTAKES])
def test_mistakes_are_reported(folder, arguments, text):
    _, name = folder
    result = run(*(argument.format(name) for argument in arguments))
    assert result.stdout == ""
    assert text in str(result.exception).replace("\n", " ")
    from click import ClickException

    from softgate.cli import MISTAKES as ANSWERED

    assert isinstance(result.exception, (*ANSWERED, ClickException))


def test_a_folder_of_hugging_face_with_a_text_and_with_arrays(tmp_path):
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    transformers.logging.disable_progress_bar()
    config = transformers.BertConfig(
        vocab_size=40, hidden_size=16, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=32, max_position_embeddings=32,
    )  # fmt: skip
    home = tmp_path / "bert"
    transformers.BertModel(config).save_pretrained(home)
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefghijklmnopqrstuvwxyz"]
    (tmp_path / "vocab.txt").write_text("\n".join(words))
    tokenizer = transformers.BertTokenizerFast(str(tmp_path / "vocab.txt"), model_max_length=32)
    tokenizer.save_pretrained(home)
    text = tmp_path / "corpus.txt"
    text.write_text(" ".join("abcdefg" * 40))
    result = run(str(home), "--data", str(text), "--what-if", "relu", "--only", "gelu")
    assert result.exception is None, result.exception
    assert "encoder.layer.1.intermediate.intermediate_act_fn" in result.stdout
    assert "BertModel with relu, without further training" in result.stdout
    from safetensors.torch import save_file

    save_file({"input_ids": torch.randint(5, 30, (6, 9))}, tmp_path / "ids.safetensors")
    model = load_model(str(home))
    batches, loss = load_batches(tmp_path / "ids.safetensors", model, str(home), 4)
    assert [len(batch["input_ids"]) for batch in batches] == [4, 2]
    assert loss is None
    empty = tmp_path / "empty.txt"
    empty.write_text("")
    with pytest.raises(ValueError, match="no tokens"):
        load_batches(empty, model, str(home), 4)
    (home / "model.safetensors").unlink()
    with pytest.raises(ValueError, match=r"no \.safetensors"):
        load_model(str(home))


def test_an_array_that_is_no_input_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.savez("b.npz", x=np.zeros((4, 6), np.float32))
    two = "def forward(self, a, b=None, *more, **options): return torch.tanh(a)"
    (tmp_path / "two.py").write_text(f"import torch\nclass Two(torch.nn.Module):\n    {two}\n")
    message = str(run("two.py:Two", "--data", "b.npz").exception)
    assert "b.npz has x: the model's forward takes a, b; name the arrays so" in message


def test_a_folder_without_a_tokenizer_takes_no_text(tmp_path):
    transformers = pytest.importorskip("transformers")
    sizes = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2,
             "intermediate_size": 8, "vocab_size": 32}  # fmt: skip
    transformers.BertModel(transformers.BertConfig(**sizes)).save_pretrained(tmp_path / "bert")
    (tmp_path / "text.txt").write_text("some words")
    failed = run(str(tmp_path / "bert"), "--data", str(tmp_path / "text.txt")).exception
    assert "has no tokenizer for a text: save one there" in str(failed)
