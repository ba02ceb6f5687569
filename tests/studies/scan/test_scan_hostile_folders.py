"""Settings of a Hugging Face folder name code, repositories and sizes; none of it is used."""

import json
import os
import struct
import subprocess
import sys
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import softgate as sg
import softgate.torch
from tests.support import hostile_folders

pytest.importorskip("transformers")

LOADED = {
    "unchanged",
    "attention for a GPU",
    "code of the folder",
    "code elsewhere",
    "trusting itself",
    "custom pipeline",
    "kernels",
    "another name",
    "an activation of softgate",
    "generation",
    "tokenizer",
    "preprocessor",
}
"""Folders that load, because the setting is without effect. The others are refused."""
NAMES = ["unchanged", *hostile_folders.SETTINGS, *hostile_folders.FILES]


@pytest.fixture(scope="module")
def results(tmp_path_factory: Any) -> Any:
    folder = tmp_path_factory.mktemp("folders")
    program = Path(hostile_folders.__file__)
    answer = subprocess.run(
        [sys.executable, program, folder],
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, "HF_HUB_OFFLINE": "0", "TRANSFORMERS_OFFLINE": "0"},
    )
    assert answer.returncode == 0, answer.stderr
    return json.loads(answer.stdout.splitlines()[-1])


@pytest.mark.parametrize("name", NAMES)
def test_a_setting_neither_imports_nor_connects(results: Any, name: str) -> None:
    outcome, used = results[name]
    assert used == []
    assert (name in LOADED) == ("ValueError" not in outcome), outcome
    if name in LOADED:
        assert outcome == "{'gelu': 1, 'tanh': 1}"


@pytest.mark.parametrize("name", sorted({*NAMES} - LOADED))
def test_the_message_names_the_setting(results: Any, name: str) -> None:
    file, fields = hostile_folders.FILES.get(name) or ("", hostile_folders.SETTINGS[name])
    stated = {
        "custom model type": "--trust",
        "many layers": "modules",
        "width": "memory",
        "adapter": file,
        "timm's checkpoint": "checkpoint_path",
    }
    words = str(fields).translate(str.maketrans(dict.fromkeys("{}[]':,", " "))).split()
    expected = [stated[name]] if name in stated else words
    assert any(word in results[name][0] for word in expected), results[name][0]


def test_the_hub_is_offline_for_the_thread_that_reads_a_folder_only(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    from huggingface_hub import is_offline_mode
    from transformers import BertConfig, BertModel

    sizes = {"hidden_size": 8, "num_attention_heads": 2, "intermediate_size": 16, "vocab_size": 9}
    BertModel(BertConfig(num_hidden_layers=1, **sizes)).save_pretrained(tmp_path)
    before, seen = bool(is_offline_mode()), set()
    with ThreadPoolExecutor(1) as earlier:
        earlier.submit(int).result()

        def is_offline() -> bool:
            return bool(is_offline_mode())

        def ask(*_: object) -> None:
            with ThreadPoolExecutor(1) as later:
                threads = earlier.submit(is_offline), later.submit(is_offline)
                seen.add((is_offline(), *(thread.result() for thread in threads)))

        hook = torch.nn.modules.module.register_module_module_registration_hook(ask)
        try:
            assert sg.scan(tmp_path).counts == {"gelu": 1, "tanh": 1}
        finally:
            hook.remove()
    assert (True, before, True) in seen
    assert bool(is_offline_mode()) == before


@pytest.mark.parametrize(
    ("name", "use"),
    [("attention", "kernels.get_kernel(vendor/kernel)"), ("backbone by name", "socket.")],
)
def test_transformers_itself_would(results: Any, name: str, use: str) -> None:
    assert any(use in event for event in results[f"{name}, transformers itself"][1])


def test_keras_files_that_expand_far_are_refused(tmp_path: Path) -> None:
    keras = pytest.importorskip("keras")
    file = tmp_path / "m.keras"
    keras.Sequential([keras.Input((2,)), keras.layers.Dense(2, "gelu")]).save(file)
    assert sg.scan(file).counts == {"gelu": 1}
    with zipfile.ZipFile(file, "a") as archive:
        archive.writestr("assets/x", b"0")
        archive.infolist()[-1].file_size = 7 * 10**9  # as if it had been deflated
    for call in (lambda: sg.scan(file), lambda: sg.parity(file, file, np.ones((1, 2)))):
        with pytest.raises(ValueError, match="7,000,"):
            call()


def test_keras_files_with_layers_larger_than_their_weights_are_refused(tmp_path: Path) -> None:
    keras = pytest.importorskip("keras")
    small, large = tmp_path / "small.keras", tmp_path / "large.keras"
    keras.Sequential([keras.Input((2,)), keras.layers.Dense(7, "gelu")]).save(small)
    with zipfile.ZipFile(small) as source, zipfile.ZipFile(large, "w") as copy:
        for name in source.namelist():
            content = source.read(name)
            copy.writestr(name, content.replace(b'"units": 7', b'"units": 1000000000'))
    for call in (lambda: sg.scan(large), lambda: sg.parity(large, small, np.ones((1, 2)))):
        with pytest.raises(ValueError, match=r"the file holds \d"):
            call()
    assert sg.scan(small).counts == {"gelu": 1}


@pytest.mark.parametrize("name", ["x.safetensors", "x.npz"])
def test_data_with_holes_is_refused(tmp_path: Path, name: str) -> None:
    torch = pytest.importorskip("torch")
    file, size = tmp_path / name, 10**10
    with file.open("wb") as stream:
        if name == "x.safetensors":
            tensor = {"dtype": "F32", "shape": [size // 16, 4], "data_offsets": [0, size]}
            header = json.dumps({"x": tensor}).encode()
            stream.write(struct.pack("<Q", len(header)) + header)
            size += 8 + len(header)
        stream.truncate(size)
    if name == "x.npz":
        with zipfile.ZipFile(file, "a") as archive:
            archive.writestr("x.npy", b"0")
    elif file.stat().st_blocks > size // 10**5:
        pytest.skip("this file system has no holes")
    with pytest.raises(ValueError, match=f"{size // 10**9},"):
        softgate.torch.diagnose(torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.GELU()), file)


@pytest.mark.parametrize("data", ["nosuch.npz", "exists.npz"])
@pytest.mark.parametrize("suffix", [".onnx", ".keras"])
def test_data_for_a_model_that_is_not_run_is_refused(
    tmp_path: Path, suffix: str, data: str
) -> None:
    model, file = tmp_path / f"m{suffix}", tmp_path / "exists.npz"
    np.savez(file, x=np.zeros(3))
    if suffix == ".onnx":
        model.write_bytes(sg.emit("gelu", "onnx").SerializeToString())
    else:
        keras = pytest.importorskip("keras")
        keras.Sequential([keras.Input((2,)), keras.layers.Dense(2, "gelu")]).save(model)
    result = subprocess.run(
        [sys.executable, "-m", "softgate", "scan", model, "--data", tmp_path / data],
        check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert (result.returncode, result.stdout) == (2, "")
    assert "--data" in result.stderr
