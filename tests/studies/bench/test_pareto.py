"""Error against time: the front, the bytes saved, the charts, the page made of commands."""

from __future__ import annotations

import math
import re
import shlex
import sys
from dataclasses import replace
from importlib.util import module_from_spec, spec_from_file_location
from itertools import combinations
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner
from places import ROOT

import softgate as sg
from softgate.cli.bench import command
from softgate.plotting.vega import GREY
from softgate.runtime.machine import this_machine
from softgate.studies.bench.pareto_measure import measure_pareto
from softgate.studies.bench.pareto_record import Pareto, ParetoPoint, marked
from softgate.studies.bench.plots import lower_limits, pareto_chart, time_chart, value_times
from softgate.studies.bench.record import Bench
from softgate.studies.bench.run import saved_bytes
from softgate.studies.subjects.peers import peers


def point(name, max_ulp, least_ns, normal_ulp=None, saved=None):
    normal = max_ulp if normal_ulp is None else normal_ulp
    return ParetoPoint(name, name, max_ulp, normal, -3.0, 100, least_ns, least_ns, 0.0, saved)


POINTS = marked(
    [
        point("softgate", 2.8, 0.7, saved=4.0),
        point("softgate.torch", 2.8, 0.71, saved=4.0),
        point("torch", 1.7e7, 0.9, saved=4.0),
        point("torch.compile", 1.7e7, 0.69),
        point("jax", 8.4e6, 1.5, 20.0, 12.0),
        point("keras", math.inf, 13.0),
        point("scipy", 1.2, 11.0),
    ]
)
FOUND = Pareto(
    this_machine(), "gelu", "float32", 65536, "L2", 1, None, 0, "now", 1.0, POINTS,
    not_run=("textbook: returns float64",),
)  # fmt: skip


def test_the_front():
    assert [item.implementation for item in FOUND.front] == ["torch.compile", "softgate", "scipy"]
    assert [datum.least_ns for datum in POINTS] == sorted(entry.least_ns for entry in POINTS)


def test_every_point_off_the_front_is_dominated_by_one_on_it():
    numbers = [(ulp, ns) for ulp in (0.5, 1.0, 3.0, math.inf) for ns in (0.5, 1.0, 2.0)][1:]
    result = marked([point(str(i), *pair) for i, pair in enumerate(numbers)])
    front = {item.implementation for item in result if item.on_front}
    assert front == {
        str(i)
        for i, (ulp, ns) in enumerate(numbers)
        if not any(u <= ulp and n <= ns and (u, n) != (ulp, ns) for u, n in numbers)
    }


def test_equal_points_do_not_dominate_each_other():
    assert all(item.on_front for item in marked([point("a", 1.0, 1.0), point("b", 1.0, 1.0)]))


def test_a_record_goes_through_json_and_is_shown():
    assert Pareto.from_json(FOUND.to_json()) == FOUND
    text = str(FOUND)
    assert "NaN or inf" in text
    assert "textbook: returns float64" in text
    header, rows = FOUND.table()
    assert len(rows) == len(POINTS)
    assert dict(zip(header, rows[0], strict=True))["on_front"] is True
    assert FOUND.alternative().endswith("On the Pareto front: torch.compile, softgate, scipy.")


SVG = "{http://www.w3.org/2000/svg}"


def test_the_picture_names_every_point_once_and_legibly():
    """No two names overlap, and none is cut off, with the wider letters of another font."""
    font = pytest.importorskip("matplotlib.textpath").TextPath
    svg = ElementTree.fromstring(pareto_chart(FOUND).svg())
    (group,) = [box for box in svg.iter(f"{SVG}g") if "names_marks" in box.get("class", "")]
    boxes = {}
    for text in group.iter(f"{SVG}text"):
        x, y = map(float, re.findall(r"-?[\d.]+", text.get("transform"))[:2])
        width = font((0, 0), text.text, size=12).get_extents().width
        left = {"start": x, "middle": x - width / 2, "end": x - width}[text.get("text-anchor")]
        boxes[text.text] = (left, y - 12, left + width, y + 3)
    assert sorted(name.partition(",")[0] for name in boxes) == sorted(
        box.implementation for box in POINTS
    )
    for box, other in combinations(boxes.values(), 2):
        assert box[2] < other[0] or other[2] < box[0] or box[3] < other[1] or other[3] < box[1]
    wide = float(svg.get("width"))
    assert all(left > -60 and right < wide for left, _, right, _ in boxes.values())


def test_marks_on_the_front_are_outlined():
    svg = ElementTree.fromstring(pareto_chart(FOUND).svg())
    marks = [item for item in svg.iter(f"{SVG}path") if item.get("stroke") == GREY]
    assert len(marks) == len(FOUND.front)


def test_the_files(tmp_path):
    names = ("a.svg", "b.svg", "a.png", "b.png", "a.pdf", "b.pdf")
    for name in names:
        pareto_chart(FOUND).save(tmp_path / name)
    for kind in ("svg", "png", "pdf"):
        assert (tmp_path / f"a.{kind}").read_bytes() == (tmp_path / f"b.{kind}").read_bytes()
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "a.pdf").read_bytes().startswith(b"%PDF")
    root = ElementTree.parse(tmp_path / "a.svg").getroot()
    assert root.get("role") == "img"
    assert root[0].tag.endswith("title")
    assert root[0].text == FOUND.alternative()
    with pytest.raises(ValueError, match="expected"):
        pareto_chart(FOUND).save(tmp_path / "a.txt")


def test_nothing_to_draw():
    with pytest.raises(ValueError, match="gelu: no implementation was measured"):
        pareto_chart(replace(FOUND, points=()))


def test_saved_bytes_come_from_torch():
    pytest.importorskip("torch")
    composed = replace(peers("gelu_sigmoid")["torch"], implementation="transformers")
    broken = replace(peers("gelu")["softgate.torch"], subject="softgate:no_such")
    result = saved_bytes([peers("gelu")["torch"], composed, broken, peers("gelu")["scipy"]])
    assert result.pop("transformers") > 4
    assert result == {"torch": 4, "softgate.torch": None}


@pytest.fixture(scope="module")
def bench():
    return sg.bench(
        ["gelu", "gelu_tanh"], peers="textbook", quantity="value", size="4096", budget=0.1
    )


def test_a_study_joins_times_and_certificates(bench):
    shown = []
    pareto = measure_pareto(bench, samples=2000, progress=lambda *step: shown.append(step))
    (only,) = pareto.points
    certificate = sg.certify(sg.gelu, dtype="float32", quantity="value", samples=2000)
    assert only.max_ulp == certificate.find("value", "float32").max_ulp
    assert only.least_ns == bench.find("gelu").least_ns
    assert only.on_front
    assert pareto.not_run[0].startswith("textbook: ")  # which returns float64
    assert [what for what, _, _ in shown] == ["certifying softgate", "certifying textbook"]
    quick = measure_pareto(bench, samples=2000, budget=1e-9)
    assert quick.not_run == ("textbook: no time was left to certify it",)


def test_what_was_not_timed(bench):
    with pytest.raises(ValueError, match="mish: no implementation was timed in float32"):
        measure_pareto(bench, "mish")
    with pytest.raises(ValueError, match="gelu: no implementation was timed in float64"):
        measure_pareto(bench, dtype="float64")


def test_the_picture_of_times(bench):
    functions = ("gelu", "gelu_tanh")
    rows = value_times(bench, functions)
    chart = time_chart(bench, functions)
    texts = [item.text for item in ElementTree.fromstring(chart.svg()).iter(f"{SVG}text")]
    assert [text for text in texts if text in rows] == list(rows)
    times = [it["gelu"].least_ns for it in rows.values()]
    assert times == sorted(times)
    assert {f"{time:.2f}" for time in times} <= set(texts)
    drawn = {(datum["implementation"], datum["function"]) for datum in chart.spec["data"]["values"]}
    assert drawn == {(name, function) for name, it in rows.items() for function in it}
    assert set(lower_limits(bench, rows["softgate"]["gelu"])) == {"copy", "relu"} <= set(texts)
    assert f"softgate {times[0]:.2f} (gelu)" in chart.alternative
    with pytest.raises(ValueError, match="mish: not timed, there is nothing to draw"):
        time_chart(bench, ("mish",))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--pareto", "-o", "x.txt"], "x.txt has the format .txt: expected .html"),
        (["--pareto", "-o", "no/such/x.svg"], "there is no folder"),
        (["--pareto", "-o", "/proc/x.svg"], "cannot be written"),
        (["gelu", "relu", "--pareto"], "--pareto takes one function"),
        (["--pareto", "--quantity", "backward"], "--pareto cannot be combined with --quantity"),
        (["--samples", "10"], "--samples: give --pareto too."),
    ],
)
def test_bad_input(arguments, message):
    result = CliRunner().invoke(command, arguments)
    assert result.exit_code != 0
    assert message in f"{result.output} {result.exception}"


def page_tool():
    spec = spec_from_file_location("speed_page", ROOT / "tools" / "docs" / "speed_page.py")
    module = module_from_spec(spec)
    sys.modules["speed_page"] = module  # dataclasses look their module up
    sys.path.insert(0, str(ROOT / "tools" / "docs"))  # as for a script
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(ROOT / "tools" / "docs"))
        del sys.modules["speed_page"]
    return module


PAGE = page_tool()
_, SECTIONS, SCRIPTS = PAGE.definitions()


@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.title)
def test_every_command_of_the_page_is_one(section, tmp_path):
    name, *arguments = section.arguments(tmp_path, check=True)
    assert name == "bench"
    parsed = command.make_context("bench", list(arguments))
    assert parsed.params["as_json"]
    assert parsed.params["budget"] < 1
    assert shlex.split(section.shown)[:2] == ["softgate", "bench"]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.title)
def test_every_script_of_the_page_has_its_options(script):
    file, *words = shlex.split(f"{script.command} {script.quick}")
    source = (ROOT / file).read_text(encoding="utf-8")
    assert all(f'"{word}"' in source for word in words if word.startswith("--"))


def test_a_script_is_shown_as_it_prints(tmp_path):
    command = shlex.join(["-c", "print('a  b\\n1  2 ')"])
    script = PAGE.Script("A script", command, "quickly", "What it does.")
    text = PAGE.script_text(script, False, tmp_path)
    head, _, shown = text.partition("```text\n")
    assert head == f"## A script\n\nWhat it does.\n\n```\npython {command}\n```\n\n"
    assert shown.splitlines()[1:] == ["a  b", "1  2", "```"]
    (tmp_path / script.file).write_text("saved\n", encoding="utf-8")
    assert PAGE.script_text(script, False, tmp_path).endswith("```text\nsaved\n```")


def run_here(arguments, **_):
    """Run what the page gives to a process of its own, where torch is imported already."""
    assert arguments[1:4] == ["-m", "softgate", "bench"]
    done = CliRunner().invoke(command, arguments[4:], standalone_mode=False)
    assert done.exception is None
    return SimpleNamespace(stdout=done.stdout_bytes)


@pytest.mark.parametrize("kind", ["figure", "--layer", "--pareto"])
def test_a_section_is_what_its_command_prints(kind, tmp_path, monkeypatch):
    if kind != "figure":
        monkeypatch.setattr(PAGE, "subprocess", SimpleNamespace(run=run_here, PIPE=None))
    section = next(
        item for item in SECTIONS if (item.figure if kind == "figure" else kind in item.command)
    )
    record = PAGE.run(section, tmp_path, check=True)
    text = PAGE.section_text(section, record, tmp_path)
    assert f"```\n{section.shown}\n```" in text
    for grid in record.grids():
        if not grid.text:
            assert f"**{grid.title}**".replace("~", "\\~") in text
            assert all(f"| {row[0]} |" in text for row in grid.rows)
    if kind != "--layer":
        assert (tmp_path / PAGE.picture_name(section.command)).stat().st_size > 1000
        assert f"]({PAGE.picture_name(section.command)})" in text
    assert isinstance(record, {"figure": Bench, "--layer": PAGE.Layer, "--pareto": Pareto}[kind])
