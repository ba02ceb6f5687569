"""docs/compare.md: its blocks run in this process, its commands with --dry-run."""

from __future__ import annotations

import re
import shlex
from functools import partial
from pathlib import Path

import pytest
from click.testing import CliRunner
from places import ROOT

import softgate as sg
from softgate.cli import softgate
from softgate.studies.compare.tasks import tasks

PAGE = (ROOT / "docs" / "compare.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"(?ms)^```python\n(.*?)^```", PAGE)
SCRIPT = next(block for block in BLOCKS if block.startswith("# train.py\n"))
COMMANDS = [
    shlex.split(line.partition("#")[0].partition(">")[0])[1:]
    for line in re.findall(r"(?m)^    (softgate .*)$", PAGE)
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Files that the page's examples use."""
    (tmp_path / "train.py").write_text(SCRIPT, encoding="utf-8")
    (tmp_path / "mnist").mkdir()
    for part in ("train", "t10k"):  # looked for, and not read before anything is trained
        (tmp_path / "mnist" / f"{part}-images-idx3-ubyte").touch()
        (tmp_path / "mnist" / f"{part}-labels-idx1-ubyte").touch()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_python_runs(folder: Path) -> None:
    """Blocks in order; trials run in this process, as workers would each load torch."""
    pytest.importorskip("torch")
    code = "\n".join(BLOCKS).replace("sg.compare(", "compare_here(")
    assert code.count("compare_here(") == 4
    names = {"__name__": "page", "compare_here": partial(sg.compare, on="here")}
    exec(compile(code, "compare.md", "exec"), names)
    assert (folder / "digits.svg").stat().st_size > 10_000
    assert [len(names[name].outcomes) for name in ("comparison", "few", "more")] == [21, 12, 14]
    assert names["few"].outcomes[0] == names["more"].outcomes[0]


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_commands_parse(folder: Path, words: list[str]) -> None:
    """Each command prints its plan."""
    result = CliRunner().invoke(softgate, [*words, "--dry-run"], standalone_mode=False)
    assert result.exception is None, result.exception
    assert result.return_value == 0
    if "--tasks" not in words:
        assert "trials" in result.stderr


def test_the_script_trains(folder: Path) -> None:
    pytest.importorskip("torch")
    words = next(words for words in COMMANDS if "train.py:run" in words)
    result = CliRunner().invoke(softgate, [*words, "--on", "here"], standalone_mode=False)
    assert result.exception is None, result.exception
    assert "finished" not in result.stdout  # a column that is there where some did not
    assert len(list((folder / "softgate-trials").iterdir())) == 20


def test_all_tasks_are_documented() -> None:
    assert len(COMMANDS) >= 12
    assert set(tasks()) <= set(re.findall(r"`([a-z0-9-]+)`", PAGE))
