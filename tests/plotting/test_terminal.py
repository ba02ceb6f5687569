"""Plots as text, and the command that makes them: pipes, terminals, files, mistakes."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from softgate.cli import main
from softgate.plotting.palette import style
from softgate.plotting.plot import request
from softgate.plotting.terminal import GLYPHS, Canvas, render, scale

PYTHON = [sys.executable, "-m", "softgate"]


def plain(*names: str, what: str = "value", width: int = 60, height: int = 20) -> list[str]:
    picture = request(names, what).picture()
    lines = render(picture, "Title", width=width, height=height, colour=False)
    return ["".join(span.text for span in line) for line in lines]


def cell(lines: list[str], x: str, y: str) -> str:
    """Return the character at the point that two numbers on the axes name."""
    numbers = next(i for i, line in enumerate(lines) if re.fullmatch(r"[-\s\d.]+", line))
    place = next(m for m in re.finditer(r"\S+", lines[numbers]) if m[0] == x)
    column = (place.start() + place.end() - 1) // 2 + (1 if len(x) % 2 == 0 else 0)
    row = next(line for line in lines if line.split("|")[0].strip() == y and "|" in line)
    return row[column]


def test_characters_are_on_the_function() -> None:
    lines = plain("gelu")
    assert cell(lines, "0", "0") == GLYPHS[0]
    assert cell(lines, "0", "4") in "| "
    relu = plain("relu")
    assert cell(relu, "4", "4") == GLYPHS[0]
    assert cell(relu, "-4", "4") == " "
    assert cell(relu, "-4", "0") == GLYPHS[0]


@pytest.mark.parametrize("height", [8, 9, 10, 13, 20, 24, 31, 100])
@pytest.mark.parametrize("what", ["value", "slope", "curvature"])
def test_numbers_are_evenly_apart_and_zero_is_one_row(what: str, height: int) -> None:
    lines = plain("gelu", what=what, height=height)
    marked = [i for i, line in enumerate(lines) if re.match(r" *-?[\d.]+ \|", line)]
    assert len(marked) >= 2
    assert len(set(np.diff(marked))) == 1
    (zero,) = [line for line in lines if re.match(r" *0 \|", line)]
    tail = zero.split("|")[1]
    assert tail[0] == GLYPHS[0], "gelu(-5) is -1e-6"


@pytest.mark.parametrize(
    ("low", "high"),
    [(0, 1), (-0.17, 5), (10, 10.5), (-8e307, 8e307), (0, 1e-300), (-7, -6.9), (1, 1 + 1e-9)],
)
@pytest.mark.parametrize("rows", [4, 5, 7, 16, 26, 996])
def test_rows_hold_the_curves(low: float, high: float, rows: int) -> None:
    y_axis = scale(low, high, rows)
    unit = y_axis.step / y_axis.every
    assert y_axis.rows <= rows
    canvas = Canvas(9, y_axis.rows, 0, 1, y_axis.first / y_axis.every * y_axis.step, unit, False)
    for parts in (1, 4):
        rows = np.rint(canvas.row(np.array([high, low]), parts))
        assert rows.min() >= 0
        assert rows.max() < y_axis.rows * parts
    assert len(y_axis.ticks()) >= 2


@pytest.mark.parametrize("parts", [1, 4])
def test_what_is_half_a_row_from_zero_shares_its_row(parts: int) -> None:
    canvas = Canvas(40, 6, -5, 5, 5.0, 1.0, False)
    near = np.rint(canvas.row(np.array([-0.49, -1e-6, 0.0, 1e-6, 0.49]), parts)) // parts
    assert set(near.tolist()) == {5.0}
    assert np.rint(canvas.row(np.array([0.51]), parts))[0] // parts == 4


def test_a_plot_fits_its_size() -> None:
    for width, height in ((24, 8), (60, 20), (120, 40)):
        lines = plain("gelu", "tanh", width=width, height=height)
        assert max(map(len, lines)) <= width
        assert len(lines) <= height
    with pytest.raises(ValueError, match="24 x 8"):
        plain("gelu", width=10, height=8)


def test_curves_on_top_of_each_other_both_show() -> None:
    text = "\n".join(plain("gelu", "gelu_tanh")[:-1])
    assert 0.5 < text.count(GLYPHS[0]) / text.count(GLYPHS[1]) < 2


def test_text_has_a_gap_at_a_jump() -> None:
    lines = plain("relu", what="slope")
    assert cell(lines, "0", "0.4") in "| "


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    """Run `softgate plot` in this process and return its exit code."""
    monkeypatch.setattr(sys, "argv", ["softgate", "plot", *arguments])
    with pytest.raises(SystemExit) as left:
        main()
    assert isinstance(left.value.code, int)
    return left.value.code


def test_piped_it_is_plain_text(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "gelu", "relu", "tanh") == 0
    text = capsys.readouterr().out
    assert "\x1b" not in text
    assert text.isascii()
    assert "* gelu  + relu  o tanh" in text


@pytest.mark.parametrize(
    "arguments",
    [
        ("gelo",),
        ("gelu", "-o", "x.bmp"),
        ("gelu", "-o", "missing/folder/x.svg"),
        ("gelu", "--at", "3:-3"),
        ("gelu", "--at", "nan:5"),
        ("gelu", "--reference", "relu"),
        ("gelu", "--quantity", "difference"),
        ("gelu", "-o", ""),
        ("gelu", "-o", "x.png", "--width", "1", "--height", "1"),
        ("identity", "relu", "--quantity", "curvature", "--log"),
        ("gelu", "--width", "3"),
        ("gelu", "--width", "inf"),
        ("gelu", "--height", "1e9"),
        ("gelu", "--height", "nan"),
        ("gelu", "-o", "x.svg", "--height", "nan"),
        ("gelu", "--at", "-1.7e308:1.7e308"),
        ("gelu", "--quantity", "shape"),
        (),
    ],
)
def test_a_wrong_argument_prints_one_line_with_exit_code_2(
    arguments: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(monkeypatch, *arguments) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert len([line for line in output.err.splitlines() if line.startswith("Error: ")]) == 1
    assert not list(tmp_path.iterdir())


def test_a_file_is_written_and_named_on_stderr(tmp_path: Path) -> None:
    path = tmp_path / "x.svg"
    done = subprocess.run(
        [*PYTHON, "plot", "gelu", "relu", "tanh", "--quantity", "slope", "-o", str(path)],
        capture_output=True, text=True, check=False, timeout=600,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert done.stderr == f"Wrote {path}\n"
    assert ElementTree.parse(path).getroot().tag.endswith("}svg")


def test_without_matplotlib_the_error_names_the_extra(tmp_path: Path) -> None:
    (tmp_path / "matplotlib.py").write_text("raise ModuleNotFoundError(name='matplotlib')")
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    done = subprocess.run(
        [*PYTHON, "plot", "gelu", "-o", str(tmp_path / "x.svg")],
        capture_output=True, text=True, check=False, env=environment, timeout=600,
    )  # fmt: skip
    assert done.returncode == 2
    assert 'pip install "softgate[plot]"' in done.stderr
    shown = subprocess.run(
        [*PYTHON, "plot", "gelu"], capture_output=True, text=True, check=False, env=environment,
        timeout=600,
    )  # fmt: skip
    assert (shown.returncode, "* gelu" in shown.stdout) == (0, True), "a terminal needs none"


def in_a_terminal(columns: int, rows: int, **settings: str) -> str:
    """Return what `softgate plot gelu relu` writes to a terminal of this size."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    dropped = {"NO_COLOR", "COLUMNS", "LINES", "COLORTERM", "FORCE_COLOR"}
    saved = {name: value for name, value in os.environ.items() if name not in dropped}
    done = subprocess.Popen(
        [*PYTHON, "plot", "gelu", "relu"], stdin=slave, stdout=slave, stderr=slave,
        env=saved | {"PYTHONIOENCODING": "utf-8"} | settings,
    )  # fmt: skip
    os.close(slave)
    chunks = []
    while True:
        try:
            chunk = os.read(master, 65536)
        except OSError:  # the other end is closed: Linux's way to say so
            break
        if not chunk:
            break
        chunks.append(chunk)
    os.close(master)
    assert done.wait(timeout=600) == 0
    return b"".join(chunks).decode()


def test_a_terminal_gets_braille_in_the_activations_colours() -> None:
    text = in_a_terminal(70, 24, TERM="xterm-256color", COLORTERM="truecolor")
    red, green, blue = (int(style("gelu").colour[i : i + 2], 16) for i in (1, 3, 5))
    assert f"38;2;{red};{green};{blue}" in text
    bare = re.sub(r"\x1b\[[\d;]*m", "", text).splitlines()
    assert any("\u2800" < character <= "\u28ff" for line in bare for character in line)
    assert max(map(len, bare)) <= 70
    assert len(bare) <= 24


@pytest.mark.parametrize(
    "settings", [{"NO_COLOR": "1", "TERM": "xterm-256color"}, {"TERM": "xterm"}, {"TERM": "dumb"}]
)
def test_a_terminal_without_colours_gets_characters(settings: dict[str, str]) -> None:
    text = in_a_terminal(70, 24, **settings)
    assert "\x1b" not in text
    assert "* gelu  + relu" in text


@pytest.mark.parametrize("term", ["dumb", "xterm-256color"])
@pytest.mark.parametrize(("columns", "widest"), [("40", 39), ("0", 69)])
def test_a_plot_is_as_wide_as_the_terminal(term: str, columns: str, widest: int) -> None:
    text = in_a_terminal(70, 24, TERM=term, COLUMNS=columns)
    bare = re.sub(r"\x1b\[[\d;]*m", "", text).splitlines()
    assert widest - 15 < max(map(len, bare)) <= widest


def test_no_columns_are_eighty_in_a_pipe(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "0")
    assert run(monkeypatch, "gelu", "relu") == 0
    assert 65 < max(map(len, capsys.readouterr().out.splitlines())) < 80


def test_functions_left_out_are_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "gelu", "relu", "--quantity", "curvature", "--log") == 0
    output = capsys.readouterr()
    assert output.err == "Note: relu: 0 everywhere: nothing to show on a logarithmic scale\n"
    assert "* gelu" in output.out
