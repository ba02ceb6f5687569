"""Damaged files of every kind that softgate reads.

A loader returns, or raises one of the errors that a command reports in one line.
"""

from __future__ import annotations

import contextlib
import copy
import csv
import io
import json
import os
import tempfile
import warnings
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import softgate as sg
from softgate.cli import MISTAKES
from softgate.records.record import Record

Load = Callable[[Path], object]
CASES = 20
SCANNED = 20
"""Models that are cut for each one that is evaluated."""
NUMBERS = (
    b"\xff" * 4,
    b"\xff" * 8,
    b"\0" * 4,
    b"\x7f" + b"\xff" * 7,
    b"99999999999999999999",
    b"-1",
)
JUNK: tuple[Any, ...] = (
    None, True, -1, 0, 1e308, 10**400, "nan", "x", "\x1b[2J", "\ud800", [], {}, [[]], {"x": 1},
    float("nan"), 2**63, "x" * 10_000,
)  # fmt: skip


def damaged(rng: Random, content: bytes) -> bytes:
    """Return the content with some bytes changed, removed, repeated or inserted."""
    data = bytearray(content)
    for _ in range(rng.choice([1, 1, 2, 4, 16])):
        at = rng.randrange(len(data) + 1)
        kind = rng.randrange(6)
        if kind == 0 and data:
            data[min(at, len(data) - 1)] ^= 1 << rng.randrange(8)
        elif kind == 1:
            del data[at : at + rng.choice([1, 4, 64, 1 << 20])]
        elif kind == 2:
            data[at:at] = data[at : at + rng.choice([1, 8, 200])]
        elif kind == 3:
            data[at : at + 8] = rng.choice(NUMBERS)
        elif kind == 4:
            data[at:at] = rng.randbytes(rng.choice([1, 3, 40]))
        else:
            data[at:] = b""
    return bytes(data)


def damaged_json(rng: Random, content: Any) -> str:
    """Return JSON in which some parts have other values, or are missing."""
    content = json.loads(json.dumps(content))
    for _ in range(rng.choice([1, 1, 2, 5])):
        part = content
        for _ in range(rng.randrange(8)):
            below = list(part) if isinstance(part, dict) else range(len(part))
            if not below:
                break
            key = rng.choice(list(below))
            if isinstance(part[key], dict | list) and part[key] and rng.random() < 0.8:
                part = part[key]
                continue
            change(rng, part, key)
            break
    return json.dumps(content)


def change(rng: Random, part: Any, key: Any) -> None:
    kind = rng.randrange(4)
    if kind == 0:
        del part[key]
    elif kind == 1 and isinstance(part, dict):
        part["other"] = part[key]
    else:
        part[key] = copy.deepcopy(rng.choice(JUNK))


def attack(make: Callable[[], bytes], suffix: str, *loaders: Load) -> Callable[[Random], int]:
    """Return an attack on loaders with damaged copies of a file."""

    def run(rng: Random) -> int:
        content = make()
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for i in range(CASES):
                file = Path(folder) / f"{i}{suffix}"
                file.write_bytes(damaged(rng, content))
                for load in loaders:
                    with contextlib.suppress(*MISTAKES):
                        load(file)
        return CASES * len(loaders)

    return run


@cache
def arrays_file() -> bytes:
    stream = io.BytesIO()
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    np.savez(stream, x=x, y=np.array([0, 1, 2]))
    return stream.getvalue()


@cache
def safetensors_file() -> bytes:
    from safetensors.numpy import save

    return save({"x": np.arange(12, dtype=np.float32).reshape(3, 4)})


def read_batches(file: Path) -> object:
    import torch

    from softgate.studies.models.loading import load_batches

    return load_batches(file, torch.nn.Identity(), "model")


def read_examples(file: Path) -> object:
    from softgate.studies.compare.user_model import load_data

    return load_data(str(file))


@cache
def csv_file() -> bytes:
    stream = io.StringIO()
    rows = [["age", "city", "churn"], *([i, f"c{i % 3}", i % 2] for i in range(40))]
    csv.writer(stream).writerows(rows)
    return stream.getvalue().encode()


def read_csv(file: Path) -> object:
    from softgate.studies.compare.tasks.tabular import prepare, read_table

    table = read_table(file).with_target(None)
    table.check()
    return prepare(table)


@cache
def idx_file() -> bytes:
    return b"\0\0\x08\x03" + b"".join(n.to_bytes(4, "big") for n in (5, 4, 4)) + bytes(80)


def read_idx(file: Path) -> object:
    from softgate.studies.compare.tasks.images import read_idx

    return read_idx(file)


@cache
def onnx_file() -> bytes:
    content: bytes = sg.emit("gelu", "onnx", dtype="float32").SerializeToString()
    return content


def run_onnx(file: Path) -> object:
    from softgate.studies.subjects import SubjectFailure, describe, open_session

    with open_session(describe(str(file)), isolated=False) as session:
        try:
            return session.evaluate("value", np.ones(3, np.float32))
        except SubjectFailure:
            return None


@cache
def model_file() -> bytes:
    """A layer with an exact GELU, in the operators of exporters."""
    from onnx import helper, numpy_helper

    numbers = {"root": 2.0**0.5, "one": 1.0, "half": 0.5}
    tensors = [helper.make_tensor(name, 1, [], [value]) for name, value in numbers.items()]
    tensors.append(numpy_helper.from_array(np.eye(4, dtype=np.float32), "weights"))
    chain = [
        ("MatMul", "x weights", "h"), ("Div", "h root", "a"), ("Erf", "a", "b"),
        ("Add", "b one", "c"), ("Mul", "h c", "d"), ("Mul", "d half", "y"),
    ]  # fmt: skip
    nodes = [helper.make_node(kind, inputs.split(), [out]) for kind, inputs, out in chain]
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", 1, ["n", 4])],
        [helper.make_tensor_value_info("y", 1, ["n", 4])], tensors,
    )  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    content: bytes = model.SerializeToString()
    return content


def attack_scanned_models(rng: Random) -> int:
    """Damaged ONNX files: cut into elementwise functions, some of which are evaluated."""
    from softgate.studies.models.onnx_model import read_graph, scan_file

    content, count = model_file(), SCANNED * CASES
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "model.onnx")
        for i in range(count):
            file.write_bytes(damaged(rng, content))
            with contextlib.suppress(*MISTAKES):
                read_graph(file)
                if i % SCANNED == 0:
                    scan_file(str(file))
    return count


def attack_swapped_models(rng: Random) -> int:
    """Damaged ONNX files whose activations are replaced; one of them is also run by `swap`."""
    from softgate.formula.formats import FORMATS
    from softgate.studies.models.onnx_edit import EditableModel, refusal
    from softgate.studies.models.onnx_forms import spell

    content, graph = model_file(), spell(sg.relu, FORMATS["float32"], 17).graph
    with tempfile.TemporaryDirectory() as folder:
        file, output = Path(folder, "model.onnx"), Path(folder, "new.onnx")
        for _ in range(CASES):
            file.write_bytes(damaged(rng, content))
            with contextlib.suppress(*MISTAKES):
                model = EditableModel(str(file))
                places = [i for i, place in enumerate(model.places) if not place.reason]
                refusal(model.edited(dict.fromkeys(places, graph), 17)[0])
        try:
            sg.swap(file, {"*": "relu"}, output=output)
        except MISTAKES:
            assert not output.exists()
    return CASES + 1


def attack_random_models(rng: Random) -> int:
    """Random ONNX models: scan finds the functions that were built, also after a swap."""
    from random_onnx import check

    with tempfile.TemporaryDirectory() as folder:
        return check(rng.getrandbits(64), Path(folder))


def attack_random_torch_models(rng: Random) -> int:
    """Random PyTorch models: scan finds the functions that were built, also in traces and swaps."""
    from tests.support.random_torch import check

    return check(rng.getrandbits(64))


def attack_random_keras_models(rng: Random) -> int:
    """Random Keras models: scan finds the functions that were built, also after a swap."""
    os.environ.setdefault("KERAS_BACKEND", "torch")
    from tests.support.random_keras import check

    return check(rng.getrandbits(64))


@cache
def keras_file() -> bytes:
    os.environ.setdefault("KERAS_BACKEND", "torch")
    import keras

    model = keras.Sequential(
        [keras.layers.Input((3,)), keras.layers.Dense(2, activation=sg.keras.gelu)]
    )
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "model.keras"
        model.save(file)
        return file.read_bytes()


def attack_keras(rng: Random) -> int:
    """Damaged configurations in .keras files: Keras may raise anything, nothing else happens."""
    content = keras_file()
    import keras

    with tempfile.TemporaryDirectory() as folder:
        for i in range(5):
            file = Path(folder) / f"{i}.keras"
            with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(file, "w") as new:
                for name in old.namelist():
                    data = old.read(name)
                    if name == "config.json":
                        data = damaged_json(rng, json.loads(data)).encode()
                    new.writestr(name, data)
            try:
                keras.models.load_model(file)
            except Exception:
                continue
    return 5


@cache
def samples() -> tuple[Record, ...]:
    """Return a record of each kind that takes little time to compute."""
    from softgate.studies.compare.trial import (
        CurvePoint,
        Outcome,
        TrainingResult,
        Trial,
        TrialEnvironment,
    )

    trial = Trial("digits", "gelu", "gelu", "", {"epochs": 3, "x": None}, 0.1, 0, "reported", "a-b")
    curve = (CurvePoint(1, 0.5, None, None),)
    measured = TrainingResult(0.5, 0.1, curve=curve, extra_metrics={"a": 1.0})
    place = TrialEnvironment("host", "cpu", 1, "3.11", "2", "1")
    return (
        sg.table("gelu", at="-1,1"),
        sg.properties("gelu"),
        sg.identify("numpy:tanh", isolated=False),
        sg.certify("softgate:relu", samples=1000, dtype="float32", quantity="value"),
        Outcome(trial, "finished", "", measured, 1.0, 2.0, place),
    )


def attack_records(rng: Random) -> int:
    """Damaged JSON of records: read as a record that can be shown, or refused."""
    for _ in range(CASES):
        record = rng.choice(samples())
        text = damaged_json(rng, record.to_dict())
        if rng.random() < 0.2:
            text = damaged(rng, text.encode()).decode(errors="replace")
        try:
            restored = type(record).from_json(text)
        except ValueError:
            continue
        assert type(record).from_json(restored.to_json()).to_json() == restored.to_json()
    return CASES


def attack_saved_trials(rng: Random) -> int:
    """Damaged outcomes in the folder of a comparison, and states of sweeps."""
    from softgate.studies.accuracy.sweep import saved_counts
    from softgate.studies.compare.store import Store, StoreError, stored_outcomes
    from softgate.studies.compare.trial import Outcome

    outcome = samples()[-1]
    assert isinstance(outcome, Outcome)
    state = {"key": {"subject": "f"}, "sweeps": {"float32 value": {"done": 0}}, "digest": "0"}
    with tempfile.TemporaryDirectory() as folder:
        store = Store(folder)
        file = Path(folder) / f"{outcome.trial.key}.json"
        for _ in range(CASES):
            file.write_text(damaged_json(rng, outcome.to_dict()), errors="replace")
            try:
                result = store.read(outcome.trial)
            except StoreError:
                continue
            assert result is None or result.trial.key == outcome.trial.key
            list(stored_outcomes(folder))
            file.write_text(damaged_json(rng, state), errors="replace")
            try:
                saved_counts(file)
            except ValueError:
                continue
    return 2 * CASES


npz = attack(arrays_file, ".npz", read_batches, read_examples)
safetensors = attack(safetensors_file, ".safetensors", read_batches)
tables = attack(csv_file, ".csv", read_csv)
images = attack(idx_file, "", read_idx)
onnx = attack(onnx_file, ".onnx", run_onnx)
