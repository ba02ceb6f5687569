"""The examples of the README and of the pages of docs/ run unchanged."""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path

import click
import pytest
import run_pages
from places import ROOT

from softgate import cli
from softgate.records.packages import FRAMEWORKS

RunHere = Callable[..., subprocess.CompletedProcess[str]]
ELSEWHERE_TESTED = {"compare.md"}  # tests/studies/compare/test_compare_page.py
WITH_CLUSTER = "docs/ray.md"  # its Python runs in tests/studies/compare/test_compare_ray.py
NAMES = (
    "README.md",
    *(
        f"docs/{it.name}"
        for it in sorted((ROOT / "docs").glob("*.md"))
        if it.name not in ELSEWHERE_TESTED
    ),
)
PAGES = {name: (ROOT / name).read_text(encoding="utf-8") for name in NAMES}
HELP = {
    name: str(cli.softgate.get_command(click.Context(cli.softgate), name).help)  # type: ignore[union-attr]
    for name in cli.COMMANDS
}
COMMANDS = sorted(
    {
        re.split(r"   |#| >", line)[0].strip()
        for text in (*PAGES.values(), *HELP.values())
        for line in re.findall(r"(?m)^    (softgate .*)$", text)
    }
)
ELSEWHERE = ("libkernels.so", "model.onnx", "models.py", "my-", "my_", "bert-folder", "model.keras")
"""Files that a reader has and we do not."""
LONG = ("certify", "compare", "doctor --full", "identify", "bench", "report")
"""Commands that have tests of their own; here their options are looked up."""


@pytest.mark.parametrize("name", HELP)
def test_every_help_has_an_example(name: str) -> None:
    assert re.search(rf"(?m)^    (?:\w+: +)?softgate {name}\b", HELP[name])


def blocks(page: str) -> list[str]:
    return re.findall(r"(?ms)^```(?:python|pycon)\n(.*?)^```", PAGES[page])


def test_the_pages_show_something() -> None:
    assert sum(len(blocks(page)) for page in PAGES) >= 12
    assert len(COMMANDS) >= 12


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page) and page != WITH_CLUSTER])
def test_python_runs(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In this process, into which other tests have imported the frameworks."""
    monkeypatch.chdir(tmp_path)
    message = run_pages.run(ROOT / page)
    assert message == "", message


def test_a_wrong_example_is_reported(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    for text in ("```python\n1 / 0\n```\n", "```pycon\n>>> 1 + 1\n3\n```\n"):
        page.write_text(f"```python\nx = 1\n```\n{text}", encoding="utf-8")
        assert "page.md, block 2" in run_pages.run(page)


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_are_known(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run_here: RunHere
) -> None:
    """Each command with all its options; those that take long or need a file are only parsed."""
    words = shlex.split(command)[1:]
    if command.removeprefix("softgate ").startswith(LONG) or any(
        name in command for name in ELSEWHERE
    ):
        words = [words[0], "--help"]
    monkeypatch.chdir(tmp_path)
    done = run_here(*words)
    assert done.returncode == 0, done.stderr
    for option in re.findall(r"--[a-z-]+", command) if "--help" in words else ():
        assert option in done.stdout


SHOWN = re.findall(r"(?ms)^\$ softgate (.*?)\n(.*?)(?=^\$|^```)", PAGES["README.md"])
"""The commands of the README with the output that it shows."""


@pytest.mark.parametrize(("command", "output"), SHOWN, ids=[command for command, _ in SHOWN])
def test_the_readme_shows_the_output_of_commands(
    command: str, output: str, monkeypatch: pytest.MonkeyPatch, run_here: RunHere
) -> None:
    """Output that depends on another library's arithmetic is not compared."""
    monkeypatch.setenv("COLUMNS", "100")
    words = shlex.split(command)
    if words[0] in LONG:
        words = [words[0], "--help"]
    done = run_here(*words)
    assert done.returncode == 0, done.stderr
    if "--help" not in words:
        lines = [line.rstrip() for line in done.stdout.rstrip().splitlines()]
        assert output.rstrip().splitlines() == lines
    for option in re.findall(r"--[a-z-]+", command) if "--help" in words else ():
        assert option in done.stdout


GENERATED = ("gallery.md", "claims.md", "api/index.rst")
"""Pages that are only part of the built site."""


@pytest.mark.parametrize("page", PAGES)
def test_links_and_pictures_are_there(page: str) -> None:
    for target in re.findall(r"\]\(([^)#\s]+)", PAGES[page]):
        if target.partition(":")[0] not in ("http", "https") and target not in GENERATED:
            assert ((ROOT / page).parent / target).exists(), f"{page} points to {target}"


def test_targets_of_make_are_there() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for text in PAGES.values():
        for target in re.findall(r"(?:`|^    )make ([a-z]+)", text, re.MULTILINE):
            assert re.search(f"(?m)^{target}:", makefile), target


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_the_support_table_has_the_oldest_version(name: str) -> None:
    label, oldest = FRAMEWORKS[name].label, FRAMEWORKS[name].oldest
    row = re.search(rf"(?m)^\| {label} \|.*\| (\S+) and later \|$", PAGES["README.md"])
    assert row is not None, label
    assert row.group(1) == ".".join(map(str, oldest))
