"""The report's own studies: articles, approximations, curves."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import report_records

import softgate as sg
from softgate.records.record import Record
from softgate.reporting import MissingRecord, Results
from softgate.reporting.sections import build_section
from softgate.reporting.sections import tables as articles_study
from softgate.reporting.sections.approximation import Approximations
from softgate.reporting.sections.curves import Curves, grid
from softgate.reporting.sections.tables import Articles, Column


@pytest.fixture(scope="module")
def records() -> dict[str, Record | MissingRecord]:
    return report_records.records()


def test_errors_of_the_articles(records: dict[str, Record | MissingRecord]) -> None:
    record = records["articles"]
    assert isinstance(record, Articles)
    wrong = [figure for figure in record.figures if not figure.right]
    assert (len(record.figures), len(wrong)) == (84, 14)
    assert {(f.printed, f.true) for f in wrong} == {
        ("-0.0040", "-0.0036"), ("2.9960", "2.9964"), ("0.0040", "-0.0119"),
        ("0.0833", "-0.0833"), ("0.8832", "0.8675"), ("1.0040", "1.0119"),
    }  # fmt: skip
    assert not any(statement.holds for statement in record.statements)
    body = build_section("tables", Results(records)).body_html
    assert body.count('class="wrong"') == 14
    assert "14 of the 84 figures in the first are wrong" in body


def test_right_figure_is_not_called_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    exact = Column("GELU", "gelu", "value", ("-0.004", "-0.15866", "0", "0.346", "0.8", "2.99595"))
    off = replace(exact, printed=("-0.005", *exact.printed[1:]))
    monkeypatch.setattr(articles_study, "TABLES", (("right", (exact,)), ("off", (off,))))
    record = articles_study.articles(report_records.approximations())
    assert [figure.right for figure in record.figures] == [True] * 6 + [False] + [True] * 5


def test_errors_of_the_approximations(
    records: dict[str, Record | MissingRecord],
) -> None:
    record = records["approximation"]
    assert isinstance(record, Approximations)
    tanh = record.functions[0]
    assert tanh.largest == pytest.approx(4.73236e-4, rel=1e-5)
    assert abs(tanh.largest_at) == pytest.approx(2.699, abs=1e-3)
    assert tanh.mean == pytest.approx(8.52e-5, rel=1e-3)
    assert tanh.largest_slope == pytest.approx(8.68451835e-4, rel=1e-6)
    near = next(reading for reading in tanh.readings if reading.x == 0.1)
    assert near.difference == pytest.approx(-3.2682268e-8, rel=1e-6)


@pytest.mark.parametrize("name", ["gelu", "relu", "hardshrink"])
def test_lines_equal_the_kernels_and_have_gaps_at_jumps(
    name: str, records: dict[str, Record | MissingRecord]
) -> None:
    curves = records["curves"]
    assert isinstance(curves, Curves)
    function = next(item for item in curves.functions if item.name == name)
    x = np.array(grid())
    for quantity in ("value", "slope", "curvature"):
        line = function.line(quantity)
        kernel = sg.activations()[name]
        y = (kernel if quantity == "value" else getattr(kernel, quantity))(x)
        read: dict[float, float | None] = {}
        for at, value in zip(line.x, line.y, strict=True):
            read[at] = value if read.get(at) is None else read[at]
        assert [read[at] for at in x.tolist()] == pytest.approx(y.tolist(), rel=1e-8, abs=1e-300)
    gaps = [x for x, y in zip(function.line("slope").x, function.line("slope").y, strict=True)
            if y is None]  # fmt: skip
    assert len(gaps) == {"gelu": 0, "relu": 1, "hardshrink": 2}[name]


def test_records_survive_json(records: dict[str, Record | MissingRecord]) -> None:
    for name, record in records.items():
        if name != "playground":  # contains code and is not read from files
            assert isinstance(record, Record)
            text = record.to_json()
            assert type(record).from_json(text).to_json() == text, name
            assert record.grids()
            header, rows = record.table()
            assert rows
            assert all(len(row) == len(header) for row in rows)
