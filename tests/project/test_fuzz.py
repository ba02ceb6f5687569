"""A small part of `make fuzz`, and a check that its attacks find what is wrong."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

import softgate as sg

ROOT = Path(__file__).resolve().parents[2]
QUICK = {
    "arrays": ["attack_arrays", "attack_guard_pages", "attack_tensors", "attack_threads"],
    "texts": ["attack_grammar", "attack_formulas", "attack_options"],
    "files": ["attack_records", "attack_saved_trials", "npz", "safetensors", "tables", "images",
              "onnx", "attack_scanned_models", "attack_swapped_models"],
}  # fmt: skip
"""Attacks that need neither other processes nor seconds, nor interrupt at random times: one that
arrives in a finalizer is dropped with a warning. Tests interrupt at chosen lines and events."""

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="uses mprotect")


@pytest.fixture
def attacks(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Any]:
    monkeypatch.syspath_prepend(str(ROOT / "tools" / "fuzz"))
    threads = sg.get_threads()
    modules = {name: import_module(name) for name in QUICK}
    for module in modules.values():
        if hasattr(module, "CASES"):
            monkeypatch.setattr(module, "CASES", 6)
    yield modules.__getitem__
    sg.set_threads(threads)
    for name in QUICK:
        sys.modules.pop(name, None)


@pytest.mark.parametrize(
    ("module", "name"), [(module, name) for module, names in QUICK.items() for name in names]
)
def test_an_attack_finds_nothing(attacks: Callable[[str], Any], module: str, name: str) -> None:
    assert getattr(attacks(module), name)(Random(f"{name} 0")) > 0


def test_attacks_find_what_is_wrong(
    attacks: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    arrays, files, texts = attacks("arrays"), attacks("files"), attacks("texts")
    call = arrays.called

    def writes_beyond(function: Any, quantity: str, operands: list[Any], **options: Any) -> Any:
        result = call(function, quantity, operands, **options)
        out = options.get("out")
        if out is not None and out.size and out.base is not None:
            base = out if out.base is None else out.base
            np.asarray(base).view(np.uint8).ravel()[-1] ^= 1
        return result

    def drops_a_bit(function: Any, quantity: str, operands: list[Any], **options: Any) -> Any:
        result = np.array(call(function, quantity, operands, **options))
        if result.size and not all(x.flags.c_contiguous for x in operands):
            result.ravel()[0] += 1
        return result

    def attack_ten_times() -> None:
        for i in range(10):
            arrays.attack_arrays(Random(i))

    for wrong in (writes_beyond, drops_a_bit):
        monkeypatch.setattr(arrays, "called", wrong)
        with pytest.raises(AssertionError):
            attack_ten_times()

    def raises(_: object) -> None:
        raise KeyError("not a mistake")

    with pytest.raises(KeyError):
        files.attack(files.csv_file, ".csv", raises)(Random(0))
    monkeypatch.setattr(texts.lookup, "parse", raises)
    with pytest.raises(KeyError):
        texts.attack_grammar(Random(0))
