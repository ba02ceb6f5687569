"""`softgate table`: figures against arb and against numbers from elsewhere; what it prints."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from click.testing import CliRunner
from flint import arb

import softgate as sg
from softgate.cli import softgate as cli
from softgate.cli.output import cut, emit
from softgate.formula.arithmetic import ExactArithmetic
from softgate.formula.derivative import derivative
from softgate.formula.graph import Node
from softgate.lower.exact import truth
from softgate.records import exact_digits
from softgate.records.record import Grid
from softgate.runtime.activation import Activation
from softgate.studies.table import LAYOUTS, Table, parse_points, show_point

PLACES = ("-3", "-1", "0", "0.5", "1", "3")

ANCHORS = {
    "Phi(x)": (
        0.00134989803163, 0.158655253931, 0.5, 0.691462461274, 0.841344746069, 0.998650101968,
    ),
    "gelu": (
        -0.00404969409489, -0.158655253931, 0.0, 0.345731230637, 0.841344746069, 2.99595030591,
    ),
    "gelu_tanh": (
        -0.00363739208177, -0.158808009392, 0.0, 0.345714009825, 0.841191990608, 2.99636260792,
    ),
    "gelu'": (-0.0119456472042, -0.0833154705877, 0.5, 0.867495124656, 1.08331547059, 1.0119456472),
    "relu": (0.0, 0.0, 0.0, 0.5, 1.0, 3.0),
    "relu'": (0.0, 0.0, 0.0, 1.0, 1.0, 1.0),
    "elu": (-0.950212931632, -0.632120558829, 0.0, 0.5, 1.0, 3.0),
}  # fmt: skip
"""Computed once with mpmath at 40 digits from textbook formulas, without softgate."""


def graph(activation: Activation, order: int) -> Node:
    """The definition, or a derivative of it, with the parameters' decimals in it."""
    f = ExactArithmetic()
    fixed = {n: f.graph.const(Fraction(repr(v))) for n, v in activation.parameters.items()}
    root = activation.entry.definition(f, f.graph.input("x"), **fixed)
    for _ in range(order):
        root = derivative(root)
    return root


def rounds_to(ball: arb, text: str) -> bool:
    """Whether every number of the ball rounds to the decimal `text`."""
    shown = Decimal(text)
    half = Fraction(10) ** int(shown.as_tuple().exponent) / 2
    parts = (part.fmpq() for part in (ball.mid(), ball.rad()))
    middle, radius = (Fraction(int(part.p), int(part.q)) for part in parts)
    return abs(middle - Fraction(shown)) + radius <= half


def exact(root: Node, x: str, bits: int = 300) -> arb:
    return truth(root, bits, x=Fraction(x))


def test_the_default_is_the_three_tables() -> None:
    grids = sg.table().grids()
    assert [grid.header for grid in grids] == [
        ("x", "Phi(x)", "gelu", "gelu_tanh"),
        ("x", "gelu", "gelu_tanh", "gelu'", "relu", "relu'"),
        ("x", "relu", "elu", "gelu"),
    ]
    for grid in grids:
        assert tuple(row[0] for row in grid.rows) == PLACES


@pytest.mark.parametrize("which", range(3))
def test_default_cells_are_true(which: int) -> None:
    """Every cell against arb, and against a number that softgate had no part in."""
    grid = sg.table().grids()[which]
    columns = LAYOUTS[which][1]
    for row in grid.rows:
        for head, (name, quantity), text in zip(grid.header[1:], columns, row[1:], strict=True):
            root = graph(sg.activations()[name], ("value", "slope").index(quantity))
            assert rounds_to(exact(root, row[0]), text), (row[0], head, text)
            anchor = ANCHORS[head][PLACES.index(row[0])]
            assert abs(float(text) - anchor) <= 0.5e-4 + 1e-12
            assert re.fullmatch(r"-?\d\.\d{4}", text)


@pytest.mark.parametrize(
    ("cell", "wrong"), [("-0.0036", "-0.0040"), ("-0.0833", "0.0833"), ("0.8675", "0.8674")]
)
def test_a_wrong_cell_is_seen(cell: str, wrong: str) -> None:
    functions = {"-0.0036": ("gelu_tanh", 0, "-3"), "-0.0833": ("gelu", 1, "-1")}
    name, order, x = functions.get(cell, ("gelu", 1, "0.5"))
    ball = exact(graph(sg.activations()[name], order), x)
    assert rounds_to(ball, cell)
    assert not rounds_to(ball, wrong)


HARD = ("-40", "-12.5", "-5.5", "-2.7", "-0.751791524693564", "-0.1", "1e-9", "0.3", "2.5", "17")


def test_every_digit_is_true(activation: Activation) -> None:
    """Values, slopes and curvatures of the whole catalogue, tails and a root included."""
    columns = ("value", "slope", "curvature")
    tables = [
        sg.table(activation, at=",".join(HARD), columns=columns, digits=digits)
        for digits in (4, 14, 40)
    ]
    for row in (row for table in tables for row in table.grids()[0].rows):
        for order, text in enumerate(row[1:]):
            root = graph(activation, order)
            if float(text) == 0.0 and "e" not in text:
                assert all(set(c) <= set("-0.") for c in text)
                assert truth(root, 80, x=Fraction(row[0])).contains(0)
            else:
                assert rounds_to(exact(root, row[0]), text), (row[0], columns[order], text)


def test_float64_values_are_correctly_rounded(activation: Activation) -> None:
    for row in sg.table(activation, at=",".join(HARD), columns="value,slope").rows:
        order = ("value", "slope").index(row.quantity)
        ball = truth(graph(activation, order), 300, x=Fraction(repr(row.x)))
        assert float(ball.mid()) == row.value


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (Fraction(1, 8), 2, "0.12"),
        (Fraction(3, 8), 2, "0.38"),
        (Fraction(-1, 8), 2, "-0.12"),
        (Fraction(0), 3, "0.000"),
        (Fraction(-3, 10**5), 4, "-3.000e-05"),
        (Fraction(6, 10**5), 4, "0.0001"),
        (Fraction(1, 20), 1, "5e-02"),
        (Fraction(99999, 10**9), 2, "1.0e-04"),
        (Fraction(5, 2), 0, "2"),
        (Fraction(10**9), 4, "1.000e+09"),
        (Fraction(999_999_999), 1, "999999999.0"),
    ],
)
def test_decimals(value: Fraction, digits: int, text: str) -> None:
    assert exact_digits.decimal(value, digits) == text


def test_a_tie_is_to_even_though_binary_cannot_hold_it() -> None:
    shown = sg.table("relu", at="0.05,0.15,0.25,0.35", columns="value", digits=1)
    assert [row[1] for row in shown.grids()[0].rows] == ["5e-02", "0.2", "0.2", "0.4"]


def test_small_is_not_zero() -> None:
    cells = [row[1] for row in sg.table("gelu", at="-5,-40,0", columns="value").grids()[0].rows]
    assert cells[0] == "-1.433e-06"
    assert cells[1].startswith("-1.462e-348")
    assert cells[2] == "0.0000"


def test_columns_and_differences() -> None:
    table = sg.table(
        "gelu_tanh", "gelu", at="-3,0", columns="Phi,difference,relative", reference="gelu"
    )
    grid = table.grids()[0]
    assert grid.header == ("x", "Phi(x)", "gelu_tanh - gelu", "gelu_tanh / gelu - 1")
    assert grid.rows == (
        ("-3", "0.0013", "0.0004", "-0.1018"),
        ("0", "0.5000", "0.0000", "undefined"),
    )
    assert [row.value for row in table.rows if row.x == 0.0] == [0.5, 0.0, None]
    quantities = {row.quantity for row in table.rows}
    assert quantities == {"value", "difference from gelu", "relative difference from gelu"}


def test_parameters_are_the_decimals_they_print_as() -> None:
    table = sg.table(sg.leaky_relu, at="-1", columns="value", digits=30)
    assert table.rows[0].value == "-0." + "01".ljust(30, "0")
    bound = sg.table(sg.elu.bind(alpha=0.5), at="-1", columns="value", digits=12)
    assert bound.rows[0].function == "elu:alpha=0.5"
    assert bound.grids()[0].rows[0][1] == "-0.316060279414"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("-3:3:2", ["-3", "-1", "1", "3"]),
        ("0:0.3:0.1", ["0", "0.1", "0.2", "0.3"]),
        ("0:1:0.3", ["0", "0.3", "0.6", "0.9"]),
        ("5, 1:2:1, 5", ["5", "1", "2"]),
        ("1e-5,-.5", ["0.00001", "-0.5"]),
        ("7:7:1", ["7"]),
    ],
)
def test_points(text: str, expected: list[str]) -> None:
    assert [show_point(x) for x in parse_points(text)] == expected


def test_points_from_numbers_are_decimals() -> None:
    assert parse_points([0.1, -2, 3.5]) == (Decimal("0.1"), Decimal(-2), Decimal("3.5"))
    assert parse_points(0.25) == (Decimal("0.25"),)


@pytest.mark.parametrize(
    "text",
    ["", "a", "1,,2", "nan", "inf", "-inf", "1:2", "1:2:3:4", "3:1:1", "0:1:0", "0:1:-1",
     "0:1:1e-9", "1e400", "0:nan:1"],
)  # fmt: skip
def test_wrong_points(text: str) -> None:
    with pytest.raises(ValueError, match=r"expected|write|accepted"):
        parse_points(text)


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"digits": 51}, "0 to 50"),
        ({"digits": True}, "whole number"),
        ({"columns": "valu"}, "choose from Phi, value"),
        ({"columns": "difference"}, "needs a reference"),
        ({"columns": "relative", "reference": "gelu"}, "reference itself"),
        ({"at": "1e31"}, "1e30"),
    ],
)
def test_wrong_requests(keywords: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        sg.table("gelu", **keywords)


def test_columns_without_functions_and_unknown_functions() -> None:
    with pytest.raises(ValueError, match="need activations"):
        sg.table(columns="value")
    with pytest.raises(ValueError, match="gelu"):
        sg.table("gelv")


def test_json_both_ways() -> None:
    for result in (sg.table(), sg.table("gelu", at="-3:3:0.5", digits=20)):
        content = json.loads(result.to_json(), parse_constant=pytest.fail)
        assert content["schema"] == "softgate.table"
        assert all(set(row) == {"x", "function", "quantity", "value"} for row in content["rows"])
        assert Table.from_json(result.to_json()) == result


def test_json_of_what_is_not_a_number() -> None:
    @sg.activation
    def logarithm(f: Any, x: Any) -> Any:
        return f.log(x)

    table = sg.table(logarithm, at="-1,0,1", columns="value")
    assert [row.value for row in table.rows] == [None, -float("inf"), 0.0]
    content = json.loads(table.to_json(), parse_constant=pytest.fail)
    assert [row["value"] for row in content["rows"]] == [None, "-inf", 0.0]
    assert Table.from_json(table.to_json()) == table


@pytest.mark.parametrize("text", ["[]", "{}", '{"schema": "softgate.names", "version": 1}'])
def test_other_json_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"softgate\.table"):
        Table.from_json(text)


def test_a_record_with_other_fields_is_refused() -> None:
    content = json.loads(sg.table("relu").to_json())
    content["rows"][0]["colour"] = "red"
    with pytest.raises(ValueError, match="expected the fields"):
        Table.from_json(json.dumps(content))


def test_html_escapes() -> None:
    grid = Grid("a < b", ("x", "<f>"), (("1", "a\nb & c"),))
    assert "<th>&lt;f&gt;</th>" in grid.html
    assert "a<br>b &amp; c" in grid.html
    assert "gelu_tanh" in sg.table()._repr_html_()


def test_a_wide_grid_is_cut_between_columns() -> None:
    grid = Grid("", ("x", *(f"column{i}" for i in range(9))), (("1", *["2.0000"] * 9),))
    parts = list(cut(grid, 40))
    assert len(parts) == 3
    assert all(part.header[0] == "x" for part in parts)
    assert [h for part in parts for h in part.header[1:]] == list(grid.header[1:])
    assert all(len(line) <= 40 for part in parts for line in str(part).splitlines())
    assert list(cut(grid, 200)) == [grid]


class Terminal(io.StringIO):
    """What a command prints, as if on a screen."""

    def isatty(self) -> bool:
        return True


def test_a_terminal_gets_no_line_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal()
    monkeypatch.setattr(sys, "stdout", screen)
    monkeypatch.setenv("COLUMNS", "32")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    emit(sg.table("gelu", "silu", columns="value,slope,curvature"))
    monkeypatch.undo()
    text = screen.getvalue()
    assert "\x1b[1m" in text
    plain = re.sub(r"\x1b\[[0-9;]*m", "", text)
    assert max(map(len, plain.splitlines())) <= 32
    heads = [line.split() for line in plain.splitlines() if "gelu" in line or "silu" in line]
    assert heads == [["x", "gelu", "gelu'", "gelu''"], ["x", "silu", "silu'", "silu''"]]


def run(*arguments: str, columns: str = "") -> subprocess.CompletedProcess[str]:
    """Run the command as a shell does, its output into a pipe."""
    return subprocess.run(
        [sys.executable, "-m", "softgate", *arguments],
        capture_output=True,
        text=True,
        encoding="utf-8",
        env=os.environ | {"PYTHONIOENCODING": "utf-8", "COLUMNS": columns},
        timeout=600,
        check=False,
    )


def test_piped_output_is_plain_and_whole() -> None:
    arguments = ("--at", "-3:3:1.5", "--columns", "value,slope,curvature")
    narrow = run("table", "gelu", "silu", "mish", *arguments, columns="40")
    assert max(map(len, narrow.stdout.splitlines())) <= 40
    wide = run("table", "gelu", "silu", "mish", *arguments)
    assert (wide.returncode, wide.stderr) == (0, "")
    assert "\x1b" not in wide.stdout
    lines = wide.stdout.splitlines()
    assert len({len(line) for line in lines}) == 1
    assert len(lines) == 2 + 5
    assert len(lines[0].split()) == 10


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("table", "--at", "3:1:1"), "ends before it begins"),
        (("table", "gelu", "--digits", "77"), "0 to 50"),
        (("table", "nogelu"), "nogelu"),
        (("table", "gelu", "--columns", "difference"), "--reference"),
    ],
)
def test_a_mistake_is_reported_without_a_traceback(
    arguments: tuple[str, ...],
    message: str,
    run_here: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    result = run_here(*arguments)
    assert (result.returncode, result.stdout) == (2, "")
    assert message in result.stderr.splitlines()[-1]
    assert "Traceback" not in result.stderr


def test_csv() -> None:
    result = CliRunner().invoke(cli, ["table", "--csv"], catch_exceptions=False)
    rows = list(csv.DictReader(io.StringIO(result.stdout)))
    assert rows[0] == {
        "x": "-3.0", "function": "Phi", "quantity": "value", "value": "0.0013498980316300946",
    }  # fmt: skip
    assert len(rows) == 6 * 7
    assert len({(row["x"], row["function"], row["quantity"]) for row in rows}) == len(rows)


@pytest.mark.parametrize("where", [("--at", "-1:1:1"), ("--at=-1:1:1",), ("--at", "-1,0,1")])
def test_negative_points_are_no_options(where: tuple[str, ...]) -> None:
    arguments = ["table", "relu", *where, "--json"]
    result = CliRunner().invoke(cli, arguments, catch_exceptions=False)
    rows = json.loads(result.stdout)["rows"]
    assert [row["x"] for row in rows] == [-1.0, -1.0, 0.0, 0.0, 1.0, 1.0]


def test_two_formats_are_refused() -> None:
    result = CliRunner().invoke(cli, ["table", "--json", "--csv"])
    assert result.exit_code == 2
    assert "exclude each other" in result.output
