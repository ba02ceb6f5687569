"""The pictures of a diagnosis: every place and number in them is one of the record's."""

from __future__ import annotations

import math
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import diagnosed
import numpy as np
import pytest
from click.testing import CliRunner, Result

from softgate.cli import softgate
from softgate.plotting import vega
from softgate.plotting.vega import Chart
from softgate.studies.diagnose import chart_data, plots
from softgate.studies.diagnose.record import Diagnosis, Histogram, Site

SHAPES = {
    "one site": lambda: diagnosed.diagnosis(diagnosed.site(moments=1, gradient=None)),
    "dead": lambda: diagnosed.diagnosis(diagnosed.site(dead=8), diagnosed.site("2", "relu")),
    "4096 units": lambda: diagnosed.diagnosis(diagnosed.site(units=4096, dead=1)),
    "30 sites": lambda: diagnosed.diagnosis(*(diagnosed.site(f"a.{i}.f") for i in range(30))),
    "exploding": diagnosed.exploding,
    "not finite": lambda: diagnosed.diagnosis(empty(diagnosed.site(broken=True))),
    "$ in names": lambda: diagnosed.diagnosis(diagnosed.site("$x$"), diagnosed.site("$")),
}


def empty(site: Site) -> Site:
    """The site where nothing finite came in or out."""
    history = tuple(Histogram(i, i, 0, 0.0, 2.0**-60, (0,)) for i in range(4))
    nothing = replace(site.unit, flat=(math.nan,) * site.units)
    return replace(site, history=history, unit=nothing, mean=math.nan, sd=math.nan)


@pytest.fixture(params=list(SHAPES))
def seen(request: pytest.FixtureRequest) -> Diagnosis:
    made: Diagnosis = SHAPES[request.param]()
    return made


def test_every_unit_is_in_one_block_and_the_dead_ones_come_first(seen: Diagnosis) -> None:
    blocks = chart_data.units(seen.sites)
    for row, site in enumerate(seen.sites):
        in_row = [block for block in blocks if block.row == row]
        assert sum(block.count for block in in_row) == site.units
        assert (in_row[0].start, in_row[-1].end) == (0.0, 1.0)
        dead = [block.count for block in in_row if block.kind == chart_data.DEAD]
        assert dead == ([len(site.unit.dead)] if site.unit.dead else [])
        assert not dead or in_row[0].kind == chart_data.DEAD


def test_a_unit_that_died_recently_is_dead() -> None:
    site = diagnosed.site(units=4)
    late = replace(site, unit=replace(site.unit, recently_dead=(2,)))
    assert [b.count for b in chart_data.units([late]) if b.kind == chart_data.DEAD] == [1]


def test_ridges_are_the_histograms(seen: Diagnosis) -> None:
    result = chart_data.ridges(seen)
    assert result.low < result.high
    assert len(result.sites) <= chart_data.RIDGE_ROWS
    for ridge in result.ridges:
        assert len(ridge.x) == len(ridge.height)
        bin_ = max(result.sites[ridge.row].history[0].width, (result.high - result.low) / 16)
        assert all(result.low - bin_ < x < result.high + bin_ for x in ridge.x)
        assert list(ridge.x) == sorted(ridge.x)
        if ridge.x:
            assert ridge.height[0] == ridge.height[-1] == 0
            assert max(ridge.height) <= 1
    for row, site in enumerate(result.sites):
        in_row = [ridge for ridge in result.ridges if ridge.row == row]
        assert len(in_row) == min(len(site.history), chart_data.SLICES)
        assert in_row[0].first_step == site.history[0].first_step
        assert in_row[-1].last_step == site.history[-1].last_step


def test_a_ridge_is_the_root_of_density() -> None:
    histogram = Histogram(0, 9, 0, -0.5, 0.25, (1, 4, 16, 4))
    (ridge,) = chart_data.ridges(
        diagnosed.diagnosis(replace(diagnosed.site(), history=(histogram,)))
    ).ridges
    assert ridge.x == (-0.625, -0.375, -0.125, 0.125, 0.375, 0.625)
    assert ridge.height == pytest.approx((0, 0.25, 0.5, 1, 0.5, 0))


def test_a_site_far_out_hides_no_other_and_is_named() -> None:
    result = chart_data.ridges(diagnosed.exploding())
    assert result.high < 20
    assert result.beyond == ("last",)
    assert "Outputs of last reach beyond the edge" in plots.describe_ridges(result)
    assert chart_data.ridges(diagnosed.diagnosis(diagnosed.site())).beyond == ()


def test_deaths_are_the_moments_of_sites_with_enough_inputs() -> None:
    site = diagnosed.site(dead=3, moments=6)
    seen = diagnosed.diagnosis(site)
    blocks = chart_data.deaths(seen, seen.sites)
    assert (blocks[0].start, blocks[-1].end) == (0, 60)
    assert [block.count for block in blocks] == [0, 1, 2, 3]  # moments that are alike are joined
    assert blocks[0].kind == chart_data.ALIVE
    few = replace(site, inputs=100)
    assert chart_data.deaths(seen, [few]) == []
    assert chart_data.deaths(seen, [diagnosed.site(moments=1)]) == []


def test_gradients_without_a_logarithm_are_named() -> None:
    seen = diagnosed.exploding()
    result = chart_data.gradient_norms(seen.sites)
    assert chart_data.decades(result) == (-1, 0)
    names = chart_data.names(seen.sites)
    shown = plots.silent(names, result)
    assert "0 at layer.1.act, layer.2.act" in shown
    assert "NaN or inf at last" in shown
    assert plots.silent(names, result[:2]) == ""
    assert chart_data.decades(chart_data.gradient_norms([diagnosed.site(gradient=None)])) is None


@pytest.mark.parametrize(
    ("argument", "expected"),
    [
        (("a.0.f", "a.1.f"), ("0", "1")),
        (("a.0", "a.0.f"), ("0", "0.f")),
        (("a.f",), ("a.f",)),
        (("f", "f (8)"), ("f", "f (8)")),
        (("a.b.c", "a.b.c"), ("c", "c")),
    ],
)
def test_names_leave_out_common_parts(argument: Any, expected: Any) -> None:
    assert chart_data.names([diagnosed.site(name) for name in argument]) == expected


def test_long_names_keep_the_number_of_their_layer() -> None:
    long = [f"encoder.layer.{i}.intermediate.intermediate_act_fn" for i in range(12)]
    for most in (10, 18, 30):
        short = [chart_data.fitted(name, most) for name in [*long, "pooler.activation"]]
        assert len(set(short)) == len(short)
        assert all(len(name) <= most for name in short)
    sites = [diagnosed.site(name, "leaky_relu(negative_slope=0.1)") for name in [*long, "pooler"]]
    result = chart_data.ridges(diagnosed.diagnosis(*sites))
    beside = chart_data.labels(result, 18)
    assert len(set(beside)) == len(beside)
    assert all(name.endswith(" leaky_relu") for name in beside)


def test_of_many_sites_the_worst_and_the_ends_are_shown() -> None:
    sites = [diagnosed.site(str(i), dead=int(i == 57)) for i in range(300)]
    names = [site.name for site in chart_data.rows(diagnosed.diagnosis(*sites), 10)]
    assert len(names) == 10
    assert {"0", "57", "299"} <= set(names)
    assert names == sorted(names, key=int)


def texts(chart: Chart) -> set[str | None]:
    root = ElementTree.fromstring(chart.svg())
    return {item.text for item in root.iter() if item.tag.endswith("}text")}


def test_the_figure_is_drawn_and_written(seen: Diagnosis, tmp_path: Path) -> None:
    pytest.importorskip("vl_convert")
    expected = {plots.TITLES["outputs"], plots.TITLES["units"]}
    if chart_data.deaths(seen, seen.sites):
        expected.add(plots.TITLES["deaths"])
    if chart_data.decades(chart_data.gradient_norms(seen.sites)) is not None:
        expected.add(plots.TITLES["gradients"])
    columns = seen.figure().spec["hconcat"]
    titles = [panel["title"]["text"] for column in columns for panel in column["vconcat"]]
    assert {title.partition(",")[0] for title in titles} == expected
    assert len(titles) == len(expected)
    seen.save(tmp_path / "seen.svg")
    root = ElementTree.parse(tmp_path / "seen.svg").getroot()
    title = root.find("{http://www.w3.org/2000/svg}title")
    assert title is not None
    assert title.text == plots.alternative(seen)


def test_names_with_dollar_signs_are_shown() -> None:
    pytest.importorskip("vl_convert")
    assert {"$x$", "$"} <= texts(SHAPES["$ in names"]().figure())


def test_the_figure_has_numbers_of_dead_units_and_the_first_step_not_finite() -> None:
    pytest.importorskip("vl_convert")
    seen = diagnosed.study().watched[0].seen
    assert {"2 dead", "5 dead", "not finite at step 7"} <= texts(seen.figure())


def test_files_of_other_kinds_are_refused(tmp_path: Path) -> None:
    pytest.importorskip("vl_convert")
    seen = diagnosed.diagnosis(diagnosed.site())
    with pytest.raises(ValueError, match=r"has the format \.gif: expected \.html"):
        seen.save(tmp_path / "seen.gif")
    with pytest.raises(TypeError, match="expected a path"):
        seen.save(3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="no activation was observed"):
        diagnosed.diagnosis().figure()
    assert list(tmp_path.iterdir()) == []


def test_a_notebook_shows_the_figure_and_the_tables() -> None:
    pytest.importorskip("vl_convert")
    seen = diagnosed.diagnosis(diagnosed.site(dead=1), model="<b>&")
    shown = seen._repr_html_()
    assert shown.startswith('<img src="data:image/svg+xml;base64,')
    assert "<b>" not in shown
    assert shown.count("<table>") == 2
    assert "<img" not in diagnosed.diagnosis()._repr_html_()


def test_without_vl_convert_there_are_tables_and_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    vega.library.cache_clear()
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    seen = diagnosed.diagnosis(diagnosed.site(dead=1))
    shown = seen._repr_html_()
    assert shown.count("<table>") == 2
    assert "<img" not in shown
    assert 'pip install "softgate[plot]"' in shown
    with pytest.raises(ImportError, match=r'pip install "softgate\[plot\]"'):
        seen.save(tmp_path / "seen.svg")


FACTORY = """
from torch import nn

def make():
    return nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 2))

def plain():
    return nn.Linear(4, 2)

def never():
    raise SystemExit("the model was created before the file was checked")
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with models and data, in which commands run."""
    pytest.importorskip("torch")
    (tmp_path / "pictured_models.py").write_text(FACTORY, encoding="utf-8")
    np.savez(tmp_path / "x.npz", x=np.random.default_rng(0).standard_normal((40, 4)))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.delitem(sys.modules, "pictured_models", raising=False)
    return tmp_path


def diagnose(model: str, *arguments: str) -> Result:
    words = ["diagnose", f"pictured_models:{model}", "--data", "x.npz", *arguments]
    return CliRunner().invoke(softgate, words, standalone_mode=False)


def test_the_command_writes_the_file(place: Path) -> None:
    result = diagnose("make", "-o", "seen.png")
    assert result.exception is None, result.exception
    assert result.stderr == "Wrote seen.png\n"
    assert (place / "seen.png").read_bytes().startswith(b"\x89PNG")
    assert "site  function" in result.stdout
    result = diagnose("plain", "-o", "none.svg")
    assert "nothing to draw" in result.stderr
    assert not (place / "none.svg").exists()


@pytest.mark.parametrize(
    ("file", "message"),
    [("seen.gif", "has the format .gif"), ("no/seen.svg", "there is no folder")],
)
def test_a_file_that_cannot_be_written_raises_before_the_run(
    file: str, message: str, place: Path
) -> None:
    result = diagnose("never", "-o", file)
    assert message in str(result.exception)
