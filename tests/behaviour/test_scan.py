"""`scan`: every activation of ONNX files, PyTorch modules and folders, in exactly one row."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import small_models
import small_onnx
from golden import check_csv, check_golden

import softgate as sg

SLOPPY = {"max_difference": 1e-2}
"""Differences of a framework's functions from the exact ones: rounding, which CPUs change."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    small_onnx.write(tmp_path)
    (tmp_path / "made.py").write_text(
        "from pathlib import Path\n\nimport small_models\n\nPath('ran').touch()\n"
        "make = small_models.pooled\n",
        encoding="utf-8",
    )
    return tmp_path


def test_an_onnx_file(folder: Path, run_here: Callable[..., Any]) -> None:
    done = run_here("scan", "pooled.onnx", "--json", "-o", "rows.csv")
    assert done.returncode == 0
    check_golden("scan-onnx", done.stdout, close=SLOPPY)
    record = json.loads(done.stdout)
    check_csv("rows.csv", record["activations"] + record["unidentified"])
    text = run_here("scan", "pooled.onnx").stdout
    assert "All 5 activation operators" in text


def test_a_module() -> None:
    model, x = small_models.pooled(), small_models.steps()
    before = model(x)
    record = sg.scan(model, data=x)
    check_golden("scan-torch", record.to_json(), close=SLOPPY)
    small_models.check_unchanged(model, before)


def test_code_runs_only_if_it_is_trusted(folder: Path, run_here: Callable[..., Any]) -> None:
    refused = run_here("scan", "made.py:make")
    assert refused.returncode == 2
    assert "--trust" in refused.stderr
    assert not Path("ran").exists()
    import numpy as np

    np.savez("steps.npz", x=small_models.steps().numpy())
    done = run_here("scan", "made.py:make", "--trust", "--data", "steps.npz", "--json")
    assert done.returncode == 0
    assert Path("ran").exists()
    functions = [row["function"] for row in json.loads(done.stdout)["activations"]]
    assert functions == ["gelu", "sigmoid", "relu6"]


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("nowhere.onnx",), "nowhere.onnx"),
        (("pooled.onnx", "--data", "inputs.npz"), "--data"),
        (("inputs.npz",), "inputs.npz"),
        (("damaged.onnx",), "damaged.onnx"),
    ],
)
def test_mistakes_are_named(
    arguments: tuple[str, ...], named: str, folder: Path, run_here: Callable[..., Any]
) -> None:
    Path("damaged.onnx").write_bytes(Path("pooled.onnx").read_bytes()[:-60])
    done = run_here("scan", *arguments)
    assert done.returncode == 2
    assert named in done.stderr
    assert done.stdout == ""


def save_bert(folder: Path) -> Path:
    """Write a small BERT as Hugging Face does."""
    transformers = pytest.importorskip("transformers", reason="reads Hugging Face folders")
    config = transformers.BertConfig(
        hidden_size=8, num_hidden_layers=2, num_attention_heads=2, intermediate_size=16,
        vocab_size=32, max_position_embeddings=16,
    )  # fmt: skip
    transformers.BertModel(config).save_pretrained(folder / "bert")
    return folder / "bert"


def test_a_claim_of_the_configuration(tmp_path: Path, run_here: Callable[..., Any]) -> None:
    """A BERT whose configuration names gelu, which its code computes."""
    done = run_here("scan", str(save_bert(tmp_path)), "--json", "--strict")
    assert done.returncode == 0
    check_golden(
        "scan-bert", done.stdout, close=SLOPPY, replaced={json.dumps(str(tmp_path))[1:-1]: "FOLDER"}
    )


def test_code_in_a_folder_is_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run_here: Callable[..., Any]
) -> None:
    monkeypatch.chdir(tmp_path)
    bert = save_bert(tmp_path)
    (bert / "own.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w').close()\n")
    config = json.loads((bert / "config.json").read_text(encoding="utf-8"))
    config["auto_map"] = {"AutoModel": "own.Model", "AutoConfig": "own.Config"}
    config["model_type"] = "own"
    (bert / "config.json").write_text(json.dumps(config), encoding="utf-8")
    done = run_here("scan", "bert")
    assert done.returncode == 2
    assert "--trust" in done.stderr
    assert not (tmp_path / "ran").exists()
