"""Control characters of names and messages are escaped wherever they are shown."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

import softgate as sg
from softgate.records.record import Grid, html_page
from softgate.records.text import CONTROL, escape, message_line, printable, visible

RunHere = Callable[..., subprocess.CompletedProcess[str]]
NASTY = "a\x1b[31m\x07\x00\x7f\x9b2J\u202e\ud800\ufffeb"
SOURCES = Path(sg.__file__).parent


def test_no_control_character_is_left() -> None:
    every = "".join(map(chr, [*range(0x2100), *range(0xD7F0, 0xE010), *range(0xFEF0, 0x10000)]))
    text = visible(every)
    assert not CONTROL.search(text)
    assert ElementTree.fromstring(f"<t>{escape(every)}</t>").text
    assert text.encode()
    assert "\n" in text
    assert visible(f"é {NASTY}").startswith(r"é a\x1b[31m\x07\x00\x7f\x9b2J\u202e\ud800")
    assert visible("a\n\tb", one_line=True) == r"a\n\tb"


def test_grids_and_pages_have_none() -> None:
    grid = Grid(NASTY, (NASTY, "two\nlines"), ((NASTY, "é"),))
    for text in (str(grid), grid.html, html_page(NASTY, grid.html, ""), printable(NASTY, "ascii")):
        assert not CONTROL.search(text)
    assert len(str(grid).splitlines()) == 6


def test_a_message_is_one_short_line() -> None:
    line = message_line("x \n\t y\x1b" + "z" * 10_000_000)
    assert line.startswith(r"x y\x1bzz")
    assert line.endswith("…")
    assert len(line) == 1000


@pytest.mark.parametrize("form", ["text", "csv", "json"])
def test_commands_print_none(form: str, run_here: RunHere, tmp_path: Path) -> None:
    """A file name with an escape sequence and a formula that raises one."""
    file = tmp_path / "f.py"
    file.write_text("def raises(x):\n    raise ValueError('\\x1b[31m\\x9b' + 'y' * 10_000_000)\n")
    result = run_here("identify", f"{file}:raises", *([f"--{form}"] if form != "text" else []))
    assert result.returncode == 1
    assert r"\x1b[31m\x9by" in result.stderr
    assert not CONTROL.search(result.stderr + result.stdout)
    assert len(result.stderr) < 1500


def test_json_on_stdout_is_equal_and_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    from softgate.cli.output import echo_json

    echo_json({"name": NASTY})
    text = capsys.readouterr().out
    assert json.loads(text) == {"name": NASTY}
    assert not CONTROL.search(text)


def test_there_is_one_function() -> None:
    """Nothing else escapes HTML or prints in a command."""
    for file in SOURCES.rglob("*.py"):
        text = file.read_text(encoding="utf-8")
        name = file.relative_to(SOURCES).as_posix()
        if name != "lower/notation.py":  # names in formulas are identifiers
            assert "from html import escape" not in text, name
        if name.startswith("cli/") and name not in ("cli/__init__.py", "cli/output.py"):
            assert not re.search(r"click\.echo\(|(?<!\.)\bprint\(", text), name
