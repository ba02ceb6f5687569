"""Results are right, and the import works, without any private name of torch or with a changed one.

`torch_without_private_names` computes, in a process for each capability.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.autograd import forward_ad

import softgate as sg
from softgate.frameworks.capability import CAPABILITIES, missing, report
from softgate.frameworks.torch import private

if not hasattr(os, "fork"):
    pytest.skip("each name is changed in a fork", allow_module_level=True)

SCRIPT = Path(__file__).parents[2] / "support" / "torch_without_private_names.py"
NAMES = tuple(CAPABILITIES["torch"])
EXPLAINED = {
    "dispatch_keys", "forward_mode", "hooked", "inductor", "operators", "straight",
    "transformed", "without_python",
}  # fmt: skip
"""Capabilities whose absence makes a call slower that the script explains."""

Compute = Callable[[str, str], dict[str, Any]]


@pytest.fixture(scope="module")
def compute() -> Iterator[Compute]:
    """Return what the script finds where a capability's names are missing or stale."""
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}
    with subprocess.Popen(
        [sys.executable, str(SCRIPT)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None

        def ask(name: str, how: str) -> dict[str, Any]:
            names = CAPABILITIES["torch"][name].names if name in CAPABILITIES["torch"] else ()
            line = " ".join((name, how, *(each for each in names if " " not in each)))
            process.stdin.write(f"{line}\n")
            process.stdin.flush()
            answer: dict[str, Any] = json.loads(process.stdout.readline())
            return answer

        yield ask
        process.stdin.close()


def test_every_name_is_used_here(compute: Compute) -> None:
    assert [str(each) for each in missing("torch")] == []
    result = compute("none", "missing")
    assert result["missing"] == {}
    assert result["wrong"] == {}
    assert not [line for line in result["explained"] if "cannot be used" in line]


@pytest.mark.parametrize("how", ["missing", "stale"])
@pytest.mark.parametrize("name", NAMES)
def test_results_are_right_without_it(name: str, how: str, compute: Compute) -> None:
    result = compute(name, how)
    assert result["wrong"] == {}
    assert name in result["missing"]
    reason = result["missing"][name]
    assert any(reason in line for line in result["explained"]) is (name in EXPLAINED)


def test_report_has_a_line_for_each_missing_name(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`softgate doctor` prints them."""
    reason = "torch._C._f of torch 9 cannot be used (there is no torch._C._f)"
    each = CAPABILITIES["torch"]["hooked"]
    each.get()
    monkeypatch.setattr(each, "_result", (None, reason))
    report("torch")
    count, lines = json.loads(capsys.readouterr().out)
    assert count == len(NAMES)
    assert lines == [f"{reason}: {each.cost}"]


def test_a_lookup_inside_of_a_transform_finds_the_same() -> None:
    """An adapter may be imported in a call that is transformed; checks run in another thread."""
    fresh = {name: type(each)(*_fields(each)) for name, each in CAPABILITIES["torch"].items()}
    del fresh["inductor"], fresh["operators"]  # built outside of transforms only

    def look_up(x: torch.Tensor) -> torch.Tensor:
        assert [each.reason for each in fresh.values() if each.reason] == []
        return x.sum()

    with forward_ad.dual_level():
        torch.func.vmap(torch.func.grad(look_up))(torch.ones(2, 3))
    assert sg.gelu(torch.ones(1)).item() == pytest.approx(0.8413447)


def _fields(each: Any) -> tuple[Any, ...]:
    return each.framework, each.names, each.cost, each.build, each.otherwise, each.imported


def test_private_names_are_in_private_py() -> None:
    """The other modules of the adapter and its facade use public names."""
    folder = Path(private.__file__).parent
    files = [*folder.glob("*.py"), *(folder.parents[1] / "torch").glob("*.py")]
    pattern = re.compile(r"torch\._[a-zA-Z]|from torch\._|_dynamo_marked|\._is_view|\._base\b")
    wrong = [
        f"{file.name}:{number}: {line.strip()}"
        for file in files
        if file.name != "private.py"
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1)
        if pattern.search(line) and '"torch._inductor.lowering" in sys.modules' not in line
    ]
    assert wrong == []
