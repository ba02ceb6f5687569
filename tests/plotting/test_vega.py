"""Vega-Lite charts in files: the same bytes each time, sizes, and what is needed to draw."""

from __future__ import annotations

import re
import struct
import sys
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest

from softgate.plotting import vega
from softgate.plotting.palette import style
from softgate.plotting.vega import Chart, Spec, concat, line_ends, ordered_pdf, powers

pytest.importorskip("vl_convert", reason="pictures need vl-convert-python")

SVG = "{http://www.w3.org/2000/svg}"


def lines() -> Spec:
    """A clipped area in one opacity, a line in another, and names in two weights."""
    values = [{"x": x, "y": x * x, "f": f} for f in ("gelu", "relu") for x in range(4)]
    encoding = {
        "x": {"field": "x", "type": "quantitative"},
        "y": {"field": "y", "type": "quantitative"},
        "color": {"field": "f", "type": "nominal"},
    }
    marks: list[Spec] = [
        {"type": "area", "opacity": 0.2, "clip": True},
        {"type": "line", "opacity": 0.7, "clip": True},
        {"type": "text", "text": "bold", "fontWeight": "bold"},
    ]
    return {
        "width": 200,
        "height": 100,
        "data": {"values": values},
        "layer": [{"mark": mark, "encoding": encoding} for mark in marks],
    }


@pytest.mark.parametrize("kind", ["svg", "png", "pdf"])
def test_the_same_chart_gives_the_same_bytes(kind: str, tmp_path: Path) -> None:
    paths = [tmp_path / f"{number}.{kind}" for number in range(4)]
    for path in paths:
        Chart(concat("hconcat", [lines(), lines()]), "words").save(path)
    assert len({path.read_bytes() for path in paths}) == 1


def test_a_pdf_in_order_has_the_same_objects() -> None:
    before = vega.library().svg_to_pdf(Chart(lines(), "").svg())
    after = ordered_pdf(before)
    assert ordered_pdf(after) == after
    streams = re.compile(rb"stream\n.*?\nendstream|/BaseFont \S+", re.DOTALL)
    assert sorted(streams.findall(after)) == sorted(streams.findall(before))
    table = int(after[after.rindex(b"startxref") :].split()[1])
    places = [int(at) for at in re.findall(rb"(\d{10}) 00000 n", after[table:])]
    assert len(places) > 10
    for number, at in enumerate(places, 1):
        assert after.startswith(b"%d 0 obj\n" % number, at)


def test_another_writers_pdf_is_left_alone() -> None:
    data = b"%PDF-1.7\n1 0 obj\n<</Type /XRef>>\nendobj\nstartxref\n9\n%%EOF"
    assert ordered_pdf(data) == data


def test_the_width_is_in_inches(tmp_path: Path) -> None:
    chart = Chart(lines(), 'a < b & "c"', 5.0)
    root = ElementTree.fromstring(chart.svg())
    assert root.get("width") == "480"
    assert root.get("role") == "img"
    assert root[0].tag == f"{SVG}title"
    assert root[0].text == 'a < b & "c"'
    chart.save(tmp_path / "a.png")
    width, _ = struct.unpack(">II", (tmp_path / "a.png").read_bytes()[16:24])
    assert width == pytest.approx(1000, abs=1)
    assert chart._repr_svg_() == chart.svg()


def test_files_that_cannot_be_written(tmp_path: Path) -> None:
    chart = Chart(lines(), "")
    with pytest.raises(
        ValueError, match=r"a\.gif has the format \.gif: expected \.svg, \.png or \.pdf"
    ):
        chart.save(tmp_path / "a.gif")
    with pytest.raises(TypeError, match="output = 3: expected a path"):
        chart.save(3)  # type: ignore[arg-type]
    with pytest.raises(FileNotFoundError, match=r"no/a\.svg"):
        chart.save(tmp_path / "no" / "a.svg")
    full = tmp_path / "full.svg"
    full.symlink_to("/dev/full")
    with pytest.raises(OSError, match=r"full\.svg"):
        chart.save(full)


@pytest.mark.parametrize("extra", ["plot", "report"])
def test_a_missing_package_names_its_extra(monkeypatch: pytest.MonkeyPatch, extra: str) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    vega.library.cache_clear()
    with pytest.raises(ImportError, match=rf'vl-convert-python: pip install "softgate\[{extra}\]"'):
        vega.library(extra)


def test_names_of_lines_do_not_overlap() -> None:
    ends = [("gelu", style("gelu"), 50.0), ("relu", style("relu"), 51.0), ("elu", style("elu"), 99)]
    heights = [layer["data"]["values"][-1]["py"] for layer in line_ends(ends, 200, 100)]
    assert all(b - a >= vega.NAME_HEIGHT for a, b in pairwise(heights))
    assert 0 <= heights[0] <= heights[-1] <= 100


def test_powers_of_ten() -> None:
    assert '["10⁻²", "1", "100", "10⁴"]' in powers(-2, 4, 2)["labelExpr"]
    assert '["1e-2", "1", "100", "1e4"]' in powers(-2, 4, 2, superscript=False)["labelExpr"]
