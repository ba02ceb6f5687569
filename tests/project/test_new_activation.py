"""A new activation is its file: `make catalogue` writes all else that mentions it.

CONTRIBUTING's worked example is added to a copy of the sources, and the commands of the target run.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from places import ROOT

NAME = "isru"
GENERATED = {
    "README.md",
    "docs/accuracy.md",
    "docs/guide.md",
    "src/softgate/__init__.pyi",
    "src/softgate/jax.pyi",
    "src/softgate/keras/__init__.pyi",
    "src/softgate/plotting/palette.py",
    "src/softgate/studies/reproducibility/digests.toml",
    "src/softgate/torch/functional.pyi",
    "tests/catalogue/worst_inputs.json",
    "tests/project/public_names.json",
}


def contents(folder: Path) -> dict[str, bytes]:
    """Return the files of a copy by their paths."""
    paths = (path for path in folder.rglob("*") if path.is_file())
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in paths
        if "__pycache__" not in path.parts
    }


def recipe() -> list[list[str]]:
    """Return the arguments of Python in the commands of `make catalogue`."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    (commands,) = re.findall(r"(?m)^catalogue:.*\n((?:\t.*\n)+)", makefile)
    return [line.removeprefix("\t$(PY) ").split() for line in commands.splitlines()]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., str]:
    """Return a function that runs Python in the copy, which has the new file."""
    copy = tmp_path_factory.mktemp("copy")
    for part in ("src", "tools"):
        shutil.copytree(ROOT / part, copy / part, ignore=shutil.ignore_patterns("__pycache__"))
    for file in (*GENERATED, "CONTRIBUTING.md"):
        (copy / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / file, copy / file)
    text = (copy / "CONTRIBUTING.md").read_text(encoding="utf-8")
    (source,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    (copy / "src/softgate/catalogue" / f"{NAME}.py").write_text(source, encoding="utf-8")

    def python(*arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, *arguments], cwd=copy, env={**os.environ, "PYTHONPATH": "src"},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, (arguments, done.stdout[-2000:], done.stderr[-2000:])
        return done.stdout

    return python


@pytest.fixture(scope="module")
def changed(run: Callable[..., str]) -> dict[str, bytes]:
    """Return the files that `make catalogue` changed."""
    copy = Path(run("-c", "import os; print(os.getcwd())").strip())
    before = contents(copy)
    for arguments in recipe():
        run(*arguments)
    return {path: text for path, text in contents(copy).items() if before.get(path) != text}


def test_only_generated_files_change(changed: dict[str, bytes]) -> None:
    assert set(changed) == GENERATED


def test_every_generated_file_has_the_name(changed: dict[str, bytes]) -> None:
    text = {path: content.decode() for path, content in changed.items()}
    new = re.findall(r"All (\d+) functions of the catalogue", text.pop("README.md"))
    old = re.findall(r"All (\d+) functions of the catalogue", (ROOT / "README.md").read_text())
    assert [int(count) for count in new] == [int(count) + 1 for count in old]
    assert [path for path in text if not re.search(rf"\b{NAME}\b", text[path])] == []


def test_what_was_there_stays(changed: dict[str, bytes]) -> None:
    """Digests, worst inputs, rows of the page, colours and public names of other functions."""

    def both(file: str, read: Callable[[str], Any]) -> list[Any]:
        return [read(text.decode()) for text in (changed[file], (ROOT / file).read_bytes())]

    new, old = both("src/softgate/studies/reproducibility/digests.toml", tomllib.loads)
    for table in ("bits", "inputs", "operations"):
        added = new[table].keys() - old[table].keys()
        assert {key.split()[0] for key in added} == {NAME}
        assert new[table] == old[table] | {key: new[table][key] for key in added}
    new, old = both("tests/catalogue/worst_inputs.json", json.loads)
    assert set(new[NAME]) == {"value", "slope", "curvature"}
    assert new == old | {NAME: new[NAME]}
    for file, row in (
        ("docs/accuracy.md", r"(?m)^\| .*"),
        ("src/softgate/plotting/palette.py", r'(?m)^    "\w+": .*'),
    ):
        new, old = both(file, re.compile(row).findall)
        assert [line for line in new if NAME not in line] == old != new
    new, old = both("tests/project/public_names.json", json.loads)
    for module in ("softgate", "softgate.jax", "softgate.keras", "softgate.torch.functional"):
        assert set(new["modules"][module]) - set(old["modules"][module]) == {NAME}


def test_the_checks_pass_then(run: Callable[..., str], changed: dict[str, bytes]) -> None:
    del changed
    run("tools/write_stubs.py", "--check")
    run("tools/derive_colours.py", "--check")
    code = f"""
import softgate as sg
from softgate.plotting.palette import OTHERS, style
assert sg.get("{NAME}") is sg.{NAME}
assert [record.path for record in sg.names(name="{NAME}")] == ["softgate.{NAME}"]
assert style("{NAME}").dash not in OTHERS
print(sg.check_bits(functions="{NAME}").ok)
"""
    assert run("-c", code) == "True\n"
