"""Curves and figures: what is drawn, where lines break, what files hold, and what is refused."""

from __future__ import annotations

import struct
import sys
from pathlib import Path
from xml.etree import ElementTree

import matplotlib as mpl
import numpy as np
import pytest
from click.testing import CliRunner
from matplotlib.figure import Figure

import softgate as sg
from softgate.catalogue import Entry, ErrorBound
from softgate.cli.plot import command
from softgate.formula.arithmetic import ExactArithmetic
from softgate.formula.graph import Node
from softgate.plotting.palette import style
from softgate.plotting.plot import PlotData
from softgate.plotting.polylines import Curve, apart, curve
from softgate.runtime.activation import Activation

WHATS = ("value", "slope", "curvature")


def largest_step(result: Curve, share: float) -> float:
    """Return the largest change of y over neighbours of a piece that are close in x."""
    steps = [0.0]
    for x, y in result.pieces:
        near = np.diff(x) < share
        steps += np.abs(np.diff(y))[near & np.isfinite(np.diff(y))].tolist()
    return max(steps)


def test_a_curve_is_the_function_with_gaps_at_jumps(activation: Activation) -> None:
    for what in WHATS:
        result = curve(activation, what, -5, 5)
        points = result.points()
        function = activation if what == "value" else getattr(activation, what)
        np.testing.assert_array_equal(points[:, 1], function(points[:, 0]), what)
        assert points[0, 0] == -5
        assert points[-1, 0] == 5
        assert np.all(np.diff(points[:, 0]) > 0), what
        assert largest_step(result, 1e-9) < 1e-6, what


JUMPS = [
    ("relu", "slope", [0.0]),
    ("relu", "value", []),
    ("elu", "curvature", [0.0]),
    ("hardshrink", "value", [-0.5, 0.5]),
    ("hard_sigmoid", "slope", [-3.0, 3.0]),
    ("relu6", "slope", [0.0, 6.0]),
    ("softsign", "curvature", [0.0]),
    ("gelu", "curvature", []),
]


@pytest.mark.parametrize(("name", "what", "where"), JUMPS)
def test_jumps_are_where_the_definition_has_them(name: str, what: str, where: list[float]) -> None:
    result = curve(sg.activations()[name], what, -7, 7)
    ends = [piece[0][0] for piece in result.pieces[1:]]
    assert sorted({round(end, 12) for end in ends}) == where
    taken = [x for x, _ in result.closed]
    assert sorted(set(taken)) == where
    function = sg.activations()[name] if what == "value" else getattr(sg.activations()[name], what)
    assert all(y == function(x) for x, y in result.closed)


def test_dots_mark_jumps_at_a_float_only() -> None:
    """At asin(0.3) no float is the jump itself: which end is taken, no float shows."""

    def definition(f: ExactArithmetic, x: Node) -> Node:
        return f.where(f.sin(x) > 0.3, 1, f.where(x < -1, -2, 0))

    result = curve(sg.activation(definition), "value", -2, 2)
    assert result.closed == ((-1.0, 0.0),)
    assert result.open == ((np.nextafter(-1.0, -2), -2.0),)
    assert len(result.pieces) == 3


def test_the_check_of_jumps_detects_a_line_across() -> None:
    x = np.array([-1.0, -1e-12, 1e-12, 1.0])
    bridged = Curve("relu", "relu", ((x, np.array([0.0, 0.0, 1.0, 1.0])),), (), ())
    assert largest_step(bridged, 1e-9) == 1.0


def test_lines_between_points_follow_the_curve() -> None:
    """A steep gate: 400 even points would miss it by far."""
    steep = sg.silu.bind(beta=300.0)
    x, y = curve(steep, "slope", -5, 5).points().T
    fine = np.linspace(-0.1, 0.1, 20001)
    assert np.abs(np.interp(fine, x, y) - steep.slope(fine)).max() < 0.005
    even = np.linspace(-5, 5, 401)
    assert np.abs(np.interp(fine, even, steep.slope(even)) - steep.slope(fine)).max() > 0.1


def test_no_line_crosses_a_pole() -> None:
    """1/x: the line must not run from -inf to inf, nor the picture show nothing else."""
    bounds = {"float32": ErrorBound(1, 1), "float64": ErrorBound(1, 1)}
    entry = Entry(
        "inverse", "1/x", "", lambda f, x: 1 / x, lambda f, x: 1 / x,
        lambda f, x: -1 / (x * x), lambda f, x: 2 / (x * x * x), bounds, (),
    )  # fmt: skip
    inverse = Activation(entry)
    result = curve(inverse, "value", -3.1, 5)
    signs = [set(np.sign(y[np.isfinite(y)]).tolist()) for _, y in result.pieces]
    assert all(len(kinds) <= 1 for kinds in signs)
    assert {-1.0} in signs
    assert {1.0} in signs
    low, high = sg.plot(inverse, at=(-3.1, 5)).axes[0].get_ylim()
    assert high - low < 1000


@pytest.mark.parametrize("what", [*WHATS, "difference"])
def test_a_figure_shows_the_quantity(what: str) -> None:
    figure = sg.plot("relu", sg.tanh, quantity=what, at=(-2, 3))
    (axes,) = figure.axes
    assert isinstance(figure, Figure)
    lines = {line.get_gid(): line for line in axes.get_lines() if line.get_gid()}
    assert set(lines) == {"relu", "tanh"}
    for name, line in lines.items():
        assert line.get_color() == style(name).colour
        x, y = (np.asarray(data, dtype=float) for data in line.get_data())
        chosen_function = sg.activations()[name]
        if what == "difference":
            expected = chosen_function(x) - sg.gelu(x)
        else:
            expected = chosen_function(x) if what == "value" else getattr(chosen_function, what)(x)
        np.testing.assert_array_equal(y, np.where(np.isnan(x), np.nan, expected))
    assert axes.get_xlim() == (-2, 3)
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["relu", "tanh"]
    assert {"relu", "tanh"} <= {text.get_text() for text in figure.texts}


def test_the_line_has_a_gap_at_a_jump() -> None:
    (line,) = [
        n for n in sg.plot("relu", quantity="slope").axes[0].get_lines() if n.get_gid() == "relu"
    ]
    x, y = (np.asarray(data, dtype=float) for data in line.get_data())
    gap = np.flatnonzero(np.isnan(y))
    assert gap.size >= 2
    assert (y[gap[0] - 1], y[gap[0] + 1]) == (0, 1)
    assert x[gap[0] - 1] == 0


def test_pyplot_has_no_open_figure() -> None:
    before = dict(mpl.rcParams)
    sg.plot("gelu")
    assert dict(mpl.rcParams) == before
    assert (
        "matplotlib.pyplot" not in sys.modules or not sys.modules["matplotlib.pyplot"].get_fignums()
    )


def test_the_points_of_curves_are_data(tmp_path: Path) -> None:
    """The same rows in a file and on stdout; a jump starts a new piece."""
    arguments = ["hardshrink", "gelu", "--at", "-2:2"]
    stdout = {
        form: CliRunner().invoke(command, [*arguments, f"--{form}"], standalone_mode=False).stdout
        for form in ("csv", "json")
    }
    files = {form: tmp_path / f"points.{form}" for form in ("csv", "json", "html")}
    for file in files.values():
        sg.plot("hardshrink", "gelu", at=(-2, 2), output=file)
    assert files["csv"].read_text() == stdout["csv"]
    record = PlotData.from_json(files["json"].read_text())
    assert record == PlotData.from_json(stdout["json"])
    shrunk, gelu = record.curves
    assert (shrunk.function, len(shrunk.pieces), len(gelu.pieces)) == ("hardshrink", 3, 1)
    assert np.array_equal(gelu.pieces[0].y, sg.gelu(gelu.pieces[0].x))
    header, *rows = stdout["csv"].splitlines()
    assert header == "function,piece,x,value"
    assert len(rows) == sum(len(piece.x) for curve in record.curves for piece in curve.pieces)
    assert "<svg" in files["html"].read_text(encoding="utf-8")
    both = CliRunner().invoke(command, ["gelu", "--csv", "--json"], standalone_mode=False)
    assert "exclude each other" in str(both.exception)


@pytest.mark.parametrize("kind", ["svg", "png", "pdf"])
def test_files_are_whole_and_the_same_each_time(tmp_path: Path, kind: str) -> None:
    paths = [tmp_path / f"{i}.{kind}" for i in range(2)]
    for path in paths:
        sg.plot("gelu", "relu", quantity="slope", output=path, width=5, height=3)
    data = paths[0].read_bytes()
    assert data == paths[1].read_bytes()
    if kind == "svg":
        root = ElementTree.fromstring(data)
        words = {element.text for element in root.iter() if element.tag.endswith("}text")}
        assert {"gelu", "relu", "Slope", "x"} <= words
        assert style("gelu").colour in data.decode()
        assert b"<dc:date>" not in data
    elif kind == "png":
        assert data[:8] == b"\x89PNG\r\n\x1a\n"
        assert struct.unpack(">II", data[16:24]) == (1000, 600)
    else:
        assert data.startswith(b"%PDF-")
        assert data.rstrip().endswith(b"%%EOF")
        assert b"CreationDate" not in data


def test_a_notebook_shows_an_svg() -> None:
    picture = sg.plot("gelu")._repr_svg_()  # type: ignore[attr-defined]
    assert ElementTree.fromstring(picture).tag.endswith("}svg")


def test_several_parameters_share_a_colour() -> None:
    figure = sg.plot(sg.elu, sg.elu.bind(alpha=2.0))
    lines = [line for line in figure.axes[0].get_lines() if line.get_gid()]
    assert [line.get_gid() for line in lines] == ["elu", "elu:alpha=2.0"]
    assert len({line.get_color() for line in lines}) == 1
    assert len({line.get_linestyle() for line in lines}) == 2


def test_a_log_plot_shows_differences_that_float64_does_not() -> None:
    """The difference of gelu_tanh to gelu is even, but from 8 on all digits of both agree."""
    x, y = curve(sg.gelu_tanh, "difference", -12, 12, against=sg.gelu, log=True).points().T
    far = np.abs(x) > 3
    assert np.all(y[far] > 0)
    (right,) = y[x == 12]
    (left,) = y[x == -12]
    assert right == pytest.approx(left, rel=1e-6)
    assert abs(sg.gelu_tanh(12.0) - sg.gelu(12.0)) == 0.0
    mirrored = np.interp(-x[far], x, np.log(y))
    np.testing.assert_allclose(np.log(y[far]), mirrored, atol=0.1)


@pytest.mark.parametrize("keywords", [{}, {"quantity": "difference", "reference": "softplus"}])
def test_a_root_does_not_stretch_a_log_plot(keywords: dict[str, str]) -> None:
    """Next to 0, relu(x) is 5e-324."""
    low, high = sg.plot("relu", log=True, **keywords).axes[0].get_ylim()  # type: ignore[arg-type]
    assert 1e-12 < low < 0.1
    assert high < 1000
    low, high = (
        sg.plot("gelu", quantity="difference", reference="relu", log=True).axes[0].get_ylim()
    )
    assert 1e-20 < low < 1e-6


def test_equal_functions_have_no_difference() -> None:
    x, y = curve(sg.relu, "difference", -2, 2, against=sg.identity, log=True).points().T
    assert np.all(np.isnan(y[x >= 0]))
    left = x < -1e-300
    np.testing.assert_array_equal(y[left], -x[left])
    far = curve(sg.gelu, "difference", -1e12, 1e12, against=sg.relu, log=True).points()
    assert np.all(np.isnan(far[np.abs(far[:, 0]) > 1, 1]))


def test_zero_is_shown_only_where_it_is_near() -> None:
    assert sg.plot("gelu", at=(10, 10.5)).axes[0].get_ylim()[0] > 9
    assert sg.plot("gelu", at=(1, 3)).axes[0].get_ylim()[0] < 0
    assert sg.plot("relu", quantity="slope", at=(1, 3)).axes[0].get_ylim()[0] < 0, "it is flat"


def test_no_leader_crosses_the_axes() -> None:
    """x² overflows long before the right end: its name stands where its line stops."""
    figure = sg.plot("squared_relu", "relu", at=(-1e200, 1e200))
    edge = figure.axes[0].get_window_extent().x1 * 72 / figure.get_dpi()
    leads = [n for n in figure.artists + figure.lines if hasattr(n, "get_xdata")]
    assert len(leads) == 1
    assert all(np.min(lead.get_xdata()) >= edge for lead in leads)
    named = {text.get_text(): text.get_position()[0] for text in figure.texts}
    assert named["squared_relu"] < 0.7 * edge
    assert named["relu"] > edge


@pytest.mark.parametrize(("width", "height"), [(6.0, 4.0), (2.0, 2.0)])
def test_a_legend_hides_no_curves(width: float, height: float) -> None:
    everything = [
        activation for activation in sg.activations().values() if getattr(activation, "nin", 1) == 1
    ]
    figure = sg.plot(*everything, width=width, height=height)
    assert figure.axes[0].get_legend() is None
    assert {item.name for item in everything} <= {text.get_text() for text in figure.texts}
    few = sg.plot("gelu", "relu", width=width, height=height).axes[0].get_legend()
    assert (few is None) == (width == 2.0)


def test_a_log_plot_has_little_space_above() -> None:
    low, high = sg.plot("gelu", quantity="slope", at=(-45, 45), log=True).axes[0].get_ylim()
    assert low < 1e-300
    assert 1 < high < 20


def test_functions_that_are_zero_have_no_log_plot() -> None:
    with pytest.raises(ValueError, match="identity, relu: 0 everywhere: nothing to show"):
        sg.plot("identity", "relu", quantity="curvature", log=True)
    with pytest.warns(UserWarning, match="^relu: 0 everywhere"):
        figure = sg.plot("gelu", "relu", quantity="curvature", log=True)
    assert [line.get_gid() for line in figure.axes[0].get_lines() if line.get_gid()] == ["gelu"]


@pytest.mark.parametrize(
    ("activations", "keywords", "message"),
    [
        (5, {}, "5 is an int: expected a callable, or a name"),
        ("gelu", {"at": 5}, "at = 5: expected two numbers"),
        ("gelu", {"at": (1, 2, 3)}, "expected two numbers"),
        ("gelu", {"at": "12"}, "expected two numbers"),
        ("gelu", {"at": ("a", 2)}, "expected two numbers"),
        ("gelu", {"width": "a"}, "width = 'a': expected a number of inches"),
        ("gelu", {"height": None}, "height = None"),
        ("gelu", {"output": 3}, "output = 3: expected a path"),
    ],
)
def test_a_wrong_kind_of_argument_is_named(
    activations: object, keywords: dict[str, object], message: str
) -> None:
    with pytest.raises(TypeError, match=message):
        sg.plot(activations, **keywords)  # type: ignore[arg-type]


def test_the_error_of_a_full_disk_names_the_file(tmp_path: Path) -> None:
    full = tmp_path / "x.png"
    full.symlink_to("/dev/full")
    with pytest.raises(OSError, match=r"x\.png"):
        sg.plot("gelu", output=full)


def test_a_log_plot_reaches_down_to_the_smallest_floats() -> None:
    low, high = sg.plot("Phi", at=(-39, 5), log=True).axes[0].get_ylim()
    assert 0 < low < 1e-300
    assert high > 1


@pytest.mark.parametrize(
    ("arguments", "keywords", "message"),
    [
        (["gelu"], {"quantity": "shape"}, "expected one of value, slope"),
        (["gelu"], {"quantity": "difference"}, "to itself"),
        (["relu"], {"reference": "gelu"}, "difference"),
        ([], {}, "no activation"),
        (["gelu"], {"at": (2, 2)}, "empty"),
        (["gelu"], {"at": (3, -3)}, "empty"),
        (["gelu"], {"at": (0, float("inf"))}, "not finite"),
        (["gelu"], {"at": (float("nan"), 1)}, "not finite"),
        (["gelu"], {"output": "x.bmp"}, r"\.svg, \.png, \.pdf, \.html, \.json or \.csv"),
        (["gelu"], {"width": 0.1}, "between 2 and 100"),
        (["gelu"], {"width": 1, "height": 1}, "between 2 and 100"),
        (["gelu"], {"output": ""}, "is empty"),
        (["identity"], {"at": (-8e307, 8e307)}, "8e.307 is too large for a figure"),
        (["gelo"], {}, "gelu"),
    ],
)
def test_arguments_without_a_picture_raise(
    arguments: list[str], keywords: dict[str, object], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        sg.plot(*arguments, **keywords)  # type: ignore[arg-type]


def test_a_number_instead_of_an_activation_raises() -> None:
    with pytest.raises(TypeError, match="3 is an int: expected a callable, or a name"):
        sg.plot(3)  # type: ignore[arg-type]


def test_names_move_apart() -> None:
    assert apart([5.0, 5.0, 1.0], 0, 10, 1) == [6.0, 5.0, 1.0]
    assert apart([10.0, 10.0], 0, 10, 1) == [10.0, 9.0]
    assert apart([0.0] * 5, 0, 2, 1) == [2.0, 1.5, 1.0, 0.5, 0.0]
