"""Properties of every activation, against dense grids, SciPy and numbers from elsewhere."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from click.testing import CliRunner
from scipy import integrate, stats

import softgate as sg
from softgate.cli import softgate as cli
from softgate.formula.formats import FLOAT32, FLOAT64, FORMATS, all_values
from softgate.runtime.activation import Activation
from softgate.studies.properties import PropertyTable, measure
from softgate.studies.properties.measure import integral, mass
from softgate.studies.properties.record import Extreme, Interval, Jump, Properties, point, union

KINDS = {
    "float16": np.float16,
    "bfloat16": ml_dtypes.bfloat16,
    "float32": np.float32,
    "float64": np.float64,
}
QUANTILES = stats.norm.ppf((np.arange(200_000) + 0.5) / 200_000)
GRID = np.unique(np.concatenate([np.linspace(-12, 12, 24001), np.linspace(-300, 300, 6001)]))


def away_from(jumps: tuple[Jump, ...], x: np.ndarray) -> np.ndarray:
    """Leave out kinks, where slopes are a convention, and points so near that rounding decides."""
    for place in (0.0, *(jump.at for jump in jumps)):
        x = x[np.abs(x - place) > 1e-9]
    return x


def contains(interval: Interval, x: np.ndarray) -> np.ndarray:
    """Tell which numbers of an array are in an interval."""
    above = (x > interval.low) | (interval.closed_low & (x == interval.low))
    return above & ((x < interval.high) | (interval.closed_high & (x == interval.high)))


def check_extremes(activation: Activation, p: Properties) -> None:
    """No grid point lies beyond an extreme, and each is reached where the record has it."""
    for quantity, least, greatest in (
        (activation, p.minimum, p.maximum),
        (activation.slope, p.smallest_slope, p.largest_slope),
    ):
        assert least is not None
        assert greatest is not None
        y = quantity(away_from(p.jumps, GRID))
        assert y.min() >= least.value - 1e-12
        assert y.max() <= greatest.value + 1e-12
        for extreme, result in ((least, y.min()), (greatest, y.max())):
            if extreme.reached:
                assert abs(result - extreme.value) <= 0.02 * max(1.0, abs(extreme.value))
            for place in extreme.at:
                among = np.array([place.low, place.high, *away_from(p.jumps, GRID)])
                finite = among[contains(place, among) & np.isfinite(among)]
                np.testing.assert_allclose(quantity(finite), extreme.value, rtol=1e-14, atol=1e-15)
    assert p.largest_curvature is not None
    peaks = [place.low for place in p.largest_curvature.at if place.low == place.high]
    places = np.concatenate([away_from(p.jumps, GRID), peaks])
    sharpest = np.abs(activation.curvature(places)).max()
    assert sharpest <= p.largest_curvature.value * (1 + 1e-12)
    if math.isinf(p.largest_curvature.value):  # it grows without bound towards infinity
        assert not p.largest_curvature.at
        ends = np.abs(activation.curvature(np.array([[-600.0, -300.0], [600.0, 300.0]])))
        assert np.any(ends[:, 0] > 1e6 * ends[:, 1])
        assert sharpest == ends[:, 1].max()
    else:
        assert sharpest >= p.largest_curvature.value * 0.99


def check_range(activation: Activation, p: Properties) -> None:
    """An end of the range that is not reached is a limit."""
    for extreme in (p.minimum, p.maximum):
        assert extreme is not None
        ends = [limit for limit in p.limits if limit is not None]
        sides = [activation(np.array([j.at - 1e-12, j.at + 1e-12])) for j in p.jumps if j.value]
        assert (
            extreme.reached
            or any(extreme.value == end for end in ends)
            or any(np.isclose(side, extreme.value).any() for side in sides)
        )


def check_slope(activation: Activation, p: Properties) -> None:
    """Roots, level stretches and the word on monotony agree with the signs on the grid."""
    x = away_from(p.jumps, GRID)
    slope = activation.slope(x)
    level = np.zeros(x.size, bool)
    for interval in p.level:
        level |= contains(interval, x)
    near = np.zeros(x.size, bool)
    for root in p.slope_roots:
        near |= np.abs(x - root) < 1e-6
        scale = max(abs(activation.slope(root - 1e-3)), abs(activation.slope(root + 1e-3)))
        assert abs(activation.slope(root)) <= 1e-9 * max(float(scale), 1e-6)
    turns = np.flatnonzero(slope[:-1] * slope[1:] < 0)
    for i in turns:
        places = [*p.slope_roots, *(jump.at for jump in p.jumps)]
        assert any(x[i] <= place <= x[i + 1] for place in places)
    assert np.all(slope[level] == 0)
    inner = np.abs(x) < 8  # further out slopes may be too small for a float64
    assert np.all(slope[inner & ~level & ~near] != 0)
    signs = {*np.sign(slope[inner & ~level & ~near]).astype(int).tolist(), *[0] * bool(p.level)}
    words = {
        "increasing": {1},
        "non-decreasing": {0, 1},
        "decreasing": {-1},
        "non-increasing": {-1, 0},
    }
    steps = {int(np.sign(jump.value)) for jump in p.jumps} - {0}
    assert p.monotone != "constant"
    if p.monotone == "no":
        assert {1, -1} <= signs | steps
    else:
        assert signs | steps == words[p.monotone]


def check_jumps(activation: Activation, p: Properties) -> None:
    """Kernels just left and right of a kink differ by what is stated; nowhere else do they."""
    step = 2.0**-26
    for jump in p.jumps:
        sides = np.array([jump.at - step, jump.at + step])
        for quantity, stated in (
            (activation, jump.value),
            (activation.slope, jump.slope),
            (activation.curvature, jump.curvature),
        ):
            left, right = quantity(sides)
            assert abs((right - left) - stated) <= 40 * step * max(1, abs(left), abs(right))
    smooth = [GRID[:-1], GRID[1:]]
    apart = (smooth[0] != 0) & (smooth[1] != 0)  # where a slope may be a convention
    for jump in p.jumps:
        apart &= ~((smooth[0] <= jump.at) & (jump.at <= smooth[1]))
    for quantity in (activation, activation.slope):
        change = np.abs(np.diff(quantity(GRID)))[apart & (np.diff(GRID) < 0.01)]
        # A bend sharper than the grid is not a jump, as its curvature shows.
        assert p.largest_curvature is not None
        steep = max(1.0, p.largest_curvature.value)
        assert change.max() <= 0.01 * max(steep, np.abs(quantity(GRID[np.abs(GRID) < 13])).max())
    values, slopes, curvatures = (
        any(getattr(jump, name) for jump in p.jumps) for name in ("value", "slope", "curvature")
    )
    expected = "discontinuous" if values else "C^0" if slopes else "C^1" if curvatures else "smooth"
    assert p.smoothness == expected


def check_limits(activation: Activation, p: Properties) -> None:
    """Limits are what the kernels give at infinity, asymptotes what is far out."""
    ends = np.array([-np.inf, np.inf])
    for quantity, limits in ((activation, p.limits), (activation.slope, p.slope_limits)):
        np.testing.assert_allclose(quantity(ends), np.array(limits, float), rtol=1e-15)
    for line, x in zip(p.asymptotes, (-1e7, 1e7), strict=True):
        if line is not None:
            straight = line.slope * x + line.intercept
            assert float(activation(x)) == pytest.approx(straight, abs=1e-6, rel=1e-15)


def check_gaussian(activation: Activation, p: Properties) -> None:
    """Moments agree with SciPy's quadrature, shares with a fine grid of quantiles."""
    breaks = sorted({0.0, *(j.at for j in p.jumps), *(x for i in p.level for x in (i.low, i.high))})
    edges = [-12.0, *(x for x in breaks if abs(x) < 12), 12.0]

    def mean(of: Callable[[float], float]) -> float:
        pieces = pairwise(edges)
        return sum(
            integrate.quad(
                lambda x: of(x) * math.exp(-x * x / 2) / math.sqrt(2 * math.pi),
                low,
                high,
                epsabs=1e-13,
                epsrel=1e-12,
                limit=200,
            )[0]
            for low, high in pieces
        )

    assert p.mean is not None
    first = mean(lambda x: float(activation(x)))
    second = mean(lambda x: float(activation(x)) ** 2)
    steep = mean(lambda x: float(activation.slope(x)) ** 2)
    assert p.mean == pytest.approx(first, abs=1e-11)
    assert p.mean_square == pytest.approx(second, rel=1e-11)
    assert p.sd == pytest.approx(math.sqrt(second - first**2), rel=1e-9)
    assert p.mean_squared_slope == pytest.approx(steep, rel=1e-10)
    assert p.gain == pytest.approx(1 / math.sqrt(second), rel=1e-10)
    assert p.backward_gain == pytest.approx(1 / math.sqrt(steep), rel=1e-10)
    slope = activation.slope(QUANTILES)
    small = np.abs(slope) < 0.01 * (1 - 1e-12)
    assert p.small_slope_share == pytest.approx(small.mean(), abs=3e-5)
    assert p.negative_slope_share == pytest.approx((slope < 0).mean(), abs=3e-5)


def check_dead(activation: Activation, p: Properties) -> None:
    """The computed slope is 0 where the record has it and, on all 16-bit inputs, only there."""
    assert list(p.dead) == list(FORMATS)
    for name, intervals in p.dead.items():
        kind = KINDS[name]
        x = all_values(FORMATS[name]) if FORMATS[name].bits == 16 else GRID
        stated = np.zeros(x.size, bool)
        for interval in intervals:
            stated |= (x >= interval.low) & (x <= interval.high)
        x = x.astype(kind)
        if FORMATS[name].bits == 16:
            finite = np.isfinite(x)
            np.testing.assert_array_equal((activation.slope(x) == 0)[finite], stated[finite])
            continue
        exact = x.astype(np.float64) == GRID  # a rounded point may fall across an end
        assert np.all(activation.slope(x)[stated & exact] == 0)
        for interval in intervals:
            for end, outside in ((interval.low, -np.inf), (interval.high, np.inf)):
                if math.isfinite(end):
                    beyond = np.nextafter(kind(end), kind(outside))
                    assert activation.slope(kind(end)) == 0
                    assert activation.slope(beyond) != 0


CHECKS = [
    check_extremes,
    check_range,
    check_slope,
    check_jumps,
    check_limits,
    check_gaussian,
    check_dead,
]


def test_every_activation(variant: tuple[Activation, dict[str, float]]) -> None:
    activation = variant[0].bind(**variant[1])
    result = activation.properties
    for check in CHECKS:
        check(activation, result)
    assert activation.properties is result
    assert result.undefined == ()
    assert not result.many_roots


def wrong(**changes: Any) -> Callable[[Properties], Properties]:
    return lambda p: replace(p, **changes)


@pytest.mark.parametrize(
    ("check", "change"),
    [
        (check_extremes, wrong(minimum=Extreme(-0.1699712, (point(-0.7518),)))),
        (check_range, wrong(minimum=Extreme(-0.3, ()))),
        (check_extremes, wrong(largest_slope=Extreme(1.128, (point(1.4142),)))),
        (check_extremes, wrong(largest_curvature=Extreme(0.79, (point(0.0),)))),
        (check_extremes, wrong(largest_curvature=Extreme(math.inf, ()))),
        (check_range, wrong(minimum=Extreme(-0.16997120747990366, ()))),
        (check_slope, wrong(slope_roots=())),
        (check_slope, wrong(slope_roots=(-0.7518,))),
        (check_slope, wrong(monotone="increasing")),
        (check_slope, wrong(level=(Interval(-np.inf, 0.0),))),
        (check_jumps, wrong(jumps=(Jump(0.0, 0.0, 1.0, 0.0),))),
        (check_jumps, wrong(smoothness="C^1")),
        (check_limits, wrong(limits=(-0.1, np.inf))),
        (check_limits, wrong(slope_limits=(0.0, 0.5))),
        (check_gaussian, wrong(mean=0.28209479)),
        (check_gaussian, wrong(mean_squared_slope=0.45585)),
        (check_gaussian, wrong(negative_slope_share=0.2265)),
        (check_gaussian, wrong(small_slope_share=0.0151)),
        (check_dead, lambda p: replace(p, dead=p.dead | {"float16": ()})),
        (check_dead, lambda p: replace(p, dead=p.dead | {"float32": (Interval(-np.inf, -14.5),)})),
        (check_dead, lambda p: replace(p, dead=p.dead | {"float64": (Interval(-np.inf, -39.0),)})),
    ],
)
def test_wrong_properties_are_seen(
    check: Callable[[Activation, Properties], None], change: Callable[[Properties], Properties]
) -> None:
    check(sg.gelu, sg.gelu.properties)
    with pytest.raises(AssertionError):
        check(sg.gelu, change(sg.gelu.properties))


def test_figures_from_elsewhere() -> None:
    """Numbers computed once with mpmath at 40 digits from textbook formulas."""
    gelu, relu, tanh, sigmoid, elu = sg.properties("gelu", "relu", "tanh", "sigmoid", "elu")
    assert gelu.minimum is not None
    assert gelu.minimum.value == pytest.approx(-0.16997120747990, abs=5e-15)
    assert gelu.slope_roots == pytest.approx((-0.75179152469356,), abs=5e-15)
    assert gelu.minimum.at == (point(gelu.slope_roots[0]),)
    assert gelu.smallest_slope is not None
    assert gelu.smallest_slope.value == pytest.approx(-0.128904145185, abs=1e-12)
    assert gelu.smallest_slope.at == (point(-math.sqrt(2)),)
    assert gelu.negative_slope_share == pytest.approx(0.226088219802, abs=1e-12)
    assert gelu.mean == pytest.approx(1 / (2 * math.sqrt(math.pi)), abs=2e-16)
    assert gelu.sd == pytest.approx(0.587914969213, abs=1e-12)
    assert relu.mean == pytest.approx(0.398942280401, abs=1e-12)
    assert relu.sd == pytest.approx(0.583819370104, abs=1e-12)
    assert relu.gain == pytest.approx(math.sqrt(2), rel=1e-15)
    assert elu.mean == pytest.approx(0.160520572267, abs=1e-12)
    assert tanh.mean == 0.0
    assert [round(p.mean_squared_slope or 0, 6) for p in (tanh, gelu)] == [0.464403, 0.455851]
    assert sigmoid.mean_squared_slope == pytest.approx(0.0448362, abs=5e-8)
    largest = [p.largest_curvature.value for p in (gelu, tanh) if p.largest_curvature]
    assert largest == pytest.approx([0.797885, 0.769800], abs=5e-7)
    tanh_form = sg.gelu_tanh.properties.minimum
    assert tanh_form is not None
    assert tanh_form.value == pytest.approx(-0.17004075057125, abs=5e-15)
    assert tanh_form.at[0].low == pytest.approx(-0.75246142207102, abs=5e-15)


def test_json_both_ways(activation: Activation) -> None:
    result = activation.properties
    text = result.to_json()
    json.loads(text, parse_constant=pytest.fail)
    assert Properties.from_json(text) == result
    assert activation.name in result._repr_html_()


def own(formula: Callable[[Any, Any], Any]) -> Properties:
    return sg.activation(formula).properties


def test_a_logarithm_is_undefined_on_the_left() -> None:
    def logarithm(f: Any, x: Any) -> Any:
        return f.log(x)

    result = own(logarithm)
    assert [str(i) for i in result.undefined] == ["x <= 0"]
    assert (result.limits, result.mean, result.small_slope_share) == ((None, math.inf), None, None)
    assert result.monotone == "increasing"
    assert Properties.from_json(result.to_json()) == result


def test_a_guard_that_rounds_to_0_has_no_kinks() -> None:
    """1 - Phi(-x) is 0 far to the left at any precision; the curvature there tends to -1."""
    result = sg.log_ndtr.properties
    assert (result.smoothness, result.monotone, result.jumps) == ("smooth", "increasing", ())
    assert (result.limits, result.slope_limits) == ((-math.inf, 0.0), (math.inf, 0.0))
    assert result.largest_curvature == Extreme(1.0, ())


def test_zeros_at_consecutive_search_points_are_kinks() -> None:
    def bent(f: Any, x: Any) -> Any:
        return f.abs((x - 0.125) * (x - 0.25))

    assert [jump.at for jump in own(bent).jumps] == [0.125, 0.25]


def test_a_pole() -> None:
    def reciprocal(f: Any, x: Any) -> Any:
        return 1 / x

    result = own(reciprocal)
    assert (result.smoothness, result.monotone) == ("discontinuous", "no")
    assert result.jumps[0].value == math.inf
    assert result.undefined == (point(0.0),)
    assert result.mean is None


def test_kinks_of_every_kind() -> None:
    def corner(f: Any, x: Any) -> Any:
        return f.abs(x - 0.1)

    def step(f: Any, x: Any) -> Any:
        return f.where(x > 0, 1, 0)

    def third(f: Any, x: Any) -> Any:
        y = x - 1
        return f.where(x > 1, y * y * y * y, 0)

    def nothing(f: Any, x: Any) -> Any:
        return f.where(x > 0, 2 * x, x + x)

    assert own(corner).jumps == (Jump(0.1, 0.0, 2.0, 0.0),)
    assert own(corner).slope_roots == ()
    assert own(corner).minimum == Extreme(0.0, (point(0.1),))
    assert own(step).smoothness == "discontinuous"
    assert own(step).monotone == "non-decreasing"
    assert own(third).smoothness == "C^3"
    assert [str(i) for i in own(third).level] == ["x <= 1"]
    assert (own(nothing).smoothness, own(nothing).jumps) == ("smooth", ())


def test_a_slope_that_only_touches_0() -> None:
    def cube(f: Any, x: Any) -> Any:
        return x * x * x * x * x / 5 - 4 * x * x * x / 3 + 4 * x  # its slope is (x² - 2)²

    result = own(cube)
    assert result.slope_roots == pytest.approx((-math.sqrt(2), math.sqrt(2)), abs=1e-15)
    assert result.smallest_slope is not None
    assert result.smallest_slope.value == 0.0
    assert result.monotone == "increasing"


@sg.activation
def steep(f: Any, x: Any, at: float = 777.3, width: float = 1e-3) -> Any:
    return f.sigmoid((x - at) / width)


@pytest.mark.parametrize(
    ("function", "at", "slope"),
    [
        *(
            (sg.laplace.bind(mu=mu, sigma=sigma), mu, 1 / sigma / math.sqrt(2 * math.pi))
            for mu, sigma in ((5000.1, 0.01), (500.0, 5.5), (5.0, 1e-6), (-1e6, 100.0))
        ),
        (steep, 777.3, 250.0),
        (steep.bind(at=-3e-4, width=1e-9), -3e-4, 2.5e8),
    ],
)
def test_a_rise_that_is_narrower_than_the_grid(
    function: Activation, at: float, slope: float
) -> None:
    """Its tails are so small that the definition is 0 at the points of the grid."""
    p = function.properties
    assert (p.monotone, p.maximum.value, p.minimum.value) == ("increasing", 1, 0)
    assert p.largest_slope.value == pytest.approx(slope, rel=1e-12)
    assert p.largest_slope.at[0].low == pytest.approx(at, rel=1e-12)


def test_an_oscillating_function() -> None:
    def wave(f: Any, x: Any) -> Any:
        return f.sin(x)

    result = own(wave)
    assert result.many_roots
    assert result.limits == (None, None)
    assert result.mean == 0.0
    assert result.mean_square == pytest.approx((1 - math.exp(-2)) / 2, abs=1e-14)

    def torn(f: Any, x: Any) -> Any:
        return f.where(f.sin(x) > 0.5, x, 0)

    with pytest.raises(ValueError, match="too many to analyse"):
        own(torn)


def test_a_mean_that_does_not_exist() -> None:
    def steep(f: Any, x: Any) -> Any:
        return f.exp(x * x)

    result = own(steep)
    assert (result.mean, result.sd, result.gain) == (None, None, None)


def test_the_integral_refuses_what_does_not_settle() -> None:
    edges = np.array([-1.0, 0.0, 1.0])
    assert integral(lambda x: 1 / x * (np.abs(x) < 0.9), edges) is None
    assert integral(lambda x: (1 - x * x) ** 3, edges) == pytest.approx(32 / 35, rel=1e-15)
    assert integral(lambda x: x * (1 - x * x) ** 3, edges) == 0.0
    noise = np.random.default_rng(1)
    assert integral(lambda x: (1 - x * x) ** 3 + 1e-3 * noise.normal(size=x.size), edges) is None
    rough = integral(lambda x: (1 - x * x) ** 3 * (1 + 1e-13 * noise.normal(size=x.size)), edges)
    assert rough == pytest.approx(32 / 35, rel=1e-12)


def test_mass_keeps_both_tails() -> None:
    assert mass(-math.inf, math.inf) == 1.0
    for low, high in ((-math.inf, -9.0), (9.0, math.inf), (8.0, 9.0), (-1.0, 2.0)):
        assert mass(low, high) == pytest.approx(
            stats.norm.cdf(high) - stats.norm.cdf(low) if high < 5 else
            stats.norm.sf(low) - stats.norm.sf(high), rel=1e-13,
        )  # fmt: skip


def test_intervals() -> None:
    left, zero = Interval(-math.inf, 0.0, True, False), point(0.0)
    right = Interval(0.0, 1.0, False, True)
    assert [str(i) for i in union([right, left])] == ["x < 0", "0 < x <= 1"]
    assert [str(i) for i in union([right, zero, left])] == ["x <= 1"]
    assert 0.0 not in left
    assert 1.0 in right
    assert str(Interval(2.0, math.inf)) == "x >= 2"
    assert -Interval(1.0, math.inf, False) == Interval(-math.inf, -1.0, True, False)


class Striped(measure.Slopes):
    """Zeros on every second float near both ends of a run, as no kernel should have them."""

    def zero(self, keys: Any) -> Any:
        start, stop = self.key(1.0), self.key(2.0)
        inside = (keys >= start) & (keys <= stop)
        frayed = ((keys < start + 20) | (keys > stop - 20)) & (keys % np.uint64(2) == 1)
        return inside & ~frayed


@pytest.mark.parametrize("fmt", [FLOAT32, FLOAT64], ids=lambda fmt: fmt.name)
def test_a_frayed_run_is_not_claimed(fmt: Any) -> None:
    slopes = Striped(sg.relu.entry, fmt, {})
    long = max(measure.flat_region(slopes, (1.0, 2.0)), key=lambda i: i.high - i.low)
    keys = np.arange(slopes.key(long.low), slopes.key(long.low) + 200, dtype=np.uint64)
    assert slopes.zero(keys).all()
    assert 1.0 < long.low < 1.1
    assert 1.9 < long.high < 2.0


def invoke(*arguments: str) -> str:
    result = CliRunner().invoke(cli, ["properties", *arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_the_default_fits_a_terminal() -> None:
    text = invoke()
    lines = text.splitlines()
    assert lines[0].split() == ["sigmoid", "tanh", "relu", "leaky_relu", "gelu"]
    assert max(map(len, lines)) <= 80
    assert "\x1b" not in text
    cells = {line[:15].strip(): line[15:].split() for line in lines}
    assert cells["range"] == ["(0,1)", "(-1,1)", "[0,inf)", "(-inf,inf)", "[-0.1700,inf)"]
    assert cells["slope<0"] == ["0%", "0%", "0%", "0%", "22.61%"]
    assert cells["float64"][2:] == ["x<=0", "none", "x<=-38.67"]
    assert invoke("sigmoid", "tanh", "relu", "leaky_relu", "gelu") == text


def test_json_and_csv_of_the_command() -> None:
    content = invoke("gelu", "leaky_relu:slope=0.2", "--json")
    table = PropertyTable.from_json(content)
    assert [p.function for p in table] == ["gelu", "leaky_relu:slope=0.2"]
    assert table[0] == sg.gelu.properties
    assert len(table) == 2
    rows = list(csv.DictReader(io.StringIO(invoke("gelu", "--csv"))))
    results = {row["property"]: row["value"] for row in rows}
    assert len(results) == len(rows)
    assert float(results["mean"]) == sg.gelu.properties.mean
    assert results["dead_float64"].startswith("x<=-38.6")


@pytest.mark.parametrize("digits", ["0", "16", "x"])
def test_wrong_digits(digits: str) -> None:
    result = CliRunner().invoke(cli, ["properties", "relu", "--digits", digits])
    assert result.exit_code != 0
    with pytest.raises(ValueError, match="1 to 15"):
        sg.properties("relu", digits=0)
    with pytest.raises(ValueError, match="at least one"):
        sg.properties()
    with pytest.raises(TypeError, match="3 is an int: expected a callable, or a name"):
        sg.properties(3)  # type: ignore[arg-type]
