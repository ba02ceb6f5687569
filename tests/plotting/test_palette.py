"""The colours, measured without the script that derived them: other matrices, another distance.

The script spreads colours in OKLab as Machado's matrices show them. Here dichromats see by Viénot,
Brettel & Mollon (1999; red and green) and Brettel, Viénot & Mollon (1997; blue), and distances are
CIEDE2000.
"""

from __future__ import annotations

import itertools
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from numpy.typing import NDArray
from places import ROOT

from softgate.plotting.palette import DASHES, OTHERS, POOL, TABLE, style, variants
from softgate.runtime.activation import Activation

Floats = NDArray[np.float64]

DOZEN = list(TABLE)[:12]
APART = 6.5
"""CIEDE2000 between two of the dozen, or two of one dash, in any vision; 2.3 is just noticeable."""
DIFFERENT = 5.5
"""And between any two names at all, in normal vision."""

PROTAN = np.array([[0.11238, 0.88762, 0], [0.11238, 0.88762, 0], [0.00401, -0.00401, 1]])
DEUTAN = np.array([[0.29275, 0.70725, 0], [0.29275, 0.70725, 0], [-0.02234, 0.02234, 1]])
TRITAN = (
    np.array(
        [[1.01277, 0.13548, -0.14826], [-0.01243, 0.86812, 0.14431], [0.07589, 0.80500, 0.11911]]
    ),
    np.array(
        [[0.93678, 0.18979, -0.12657], [0.06154, 0.81526, 0.12320], [-0.37562, 1.12767, 0.24796]]
    ),
)
TRITAN_PLANE = np.array([0.03901, -0.02788, -0.01113])
VISIONS = ("normal", "protan", "deutan", "tritan")


def linear(colour: str) -> Floats:
    level = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    return np.where(level <= 0.04045, level / 12.92, ((level + 0.055) / 1.055) ** 2.4)


def seen(colour: str, vision: str) -> Floats:
    """Return the linear RGB that looks to all of us as `colour` does to a dichromat."""
    rgb = linear(colour)
    if vision == "tritan":
        return np.clip(TRITAN[0 if rgb @ TRITAN_PLANE >= 0 else 1] @ rgb, 0, 1)
    matrix = {"normal": np.eye(3), "protan": PROTAN, "deutan": DEUTAN}[vision]
    return np.clip(matrix @ rgb, 0, 1)


def lab(rgb: Floats) -> Floats:
    """Return CIELAB under D65."""
    xyz = np.array(
        [
            [0.4124564, 0.3575761, 0.1804375],
            [0.2126729, 0.7151522, 0.0721750],
            [0.0193339, 0.1191920, 0.9503041],
        ]
    )
    t = xyz @ rgb / np.array([0.95047, 1.0, 1.08883])
    f = np.where(t > (6 / 29) ** 3, np.cbrt(t), t * (29 / 6) ** 2 / 3 + 4 / 29)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def ciede2000(item: Floats, other: Floats) -> float:
    """Return the CIEDE2000 distance of two colours in CIELAB."""
    middle = (np.hypot(*item[1:]) + np.hypot(*other[1:])) / 2
    g = 1.5 - np.sqrt(middle**7 / (middle**7 + 25.0**7)) / 2
    a1, a2 = item[1] * g, other[1] * g
    c1, c2 = np.hypot(a1, item[2]), np.hypot(a2, other[2])
    h1, h2 = (np.degrees(np.arctan2(b, a)) % 360 for a, b in ((a1, item[2]), (a2, other[2])))
    turn = (h2 - h1 + 180) % 360 - 180 if c1 * c2 else 0.0
    dl, dc = other[0] - item[0], c2 - c1
    dh = 2 * np.sqrt(c1 * c2) * np.sin(np.radians(turn / 2))
    light, c = (item[0] + other[0]) / 2, (c1 + c2) / 2
    h = (h1 + turn / 2) % 360 if c1 * c2 else h1 + h2
    cosines = ((-0.17, 1, -30), (0.24, 2, 0), (0.32, 3, 6), (-0.20, 4, -63))
    t = 1 + sum(k * np.cos(np.radians(n * h + shift)) for k, n, shift in cosines)
    sl = 1 + 0.015 * (light - 50) ** 2 / np.sqrt(20 + (light - 50) ** 2)
    sc, sh = 1 + 0.045 * c, 1 + 0.015 * c * t
    bend = 60 * np.exp(-(((h - 275) / 25) ** 2))
    rt = -np.sin(np.radians(bend)) * 2 * np.sqrt(c**7 / (c**7 + 25.0**7))
    parts = dl / sl, dc / sc, dh / sh
    return float(np.sqrt(sum(part**2 for part in parts) + rt * parts[1] * parts[2]))


def distance(item: str, other: str, vision: str) -> float:
    return ciede2000(lab(seen(item, vision)), lab(seen(other, vision)))


def contrast(item: str, other: str) -> float:
    low, high = sorted(float(linear(c) @ [0.2126, 0.7152, 0.0722]) for c in (item, other))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize(
    ("item", "other", "expected"),
    [  # of the pairs that Sharma, Wu & Dalal (2005) give to test implementations with
        ((50.0, 2.6772, -79.7751), (50.0, 0.0, -82.7485), 2.0425),
        ((50.0, 2.4900, -0.0010), (50.0, -2.4900, 0.0011), 7.2195),
        ((50.0, 2.5, 0.0), (73.0, 25.0, -18.0), 27.1492),
        ((60.2574, -34.0099, 36.2677), (60.4626, -34.1751, 39.4387), 1.2644),
        ((22.7233, 20.0904, -46.6940), (23.0331, 14.9730, -42.5619), 2.0373),
        ((2.0776, 0.0795, -1.1350), (0.9033, -0.0636, -0.5514), 0.9082),
    ],
)
def test_the_distance_is_ciede2000(item: Floats, other: Floats, expected: float) -> None:
    assert ciede2000(np.array(item), np.array(other)) == pytest.approx(expected, abs=6e-5)


def test_known_confusions_are_detected() -> None:
    """A check of the check: red and green of one lightness are near for some, far for others."""
    red, green = "#c04040", "#6a7a20"
    assert distance(red, green, "normal") > 30
    assert min(distance(red, green, vision) for vision in ("protan", "deutan")) < 15
    assert contrast("#000000", "#ffffff") == pytest.approx(21)


@pytest.mark.parametrize("vision", VISIONS)
def test_the_dozen_differs_by_colour_alone(vision: str) -> None:
    for a, b in itertools.combinations(DOZEN, 2):
        assert distance(TABLE[a][0], TABLE[b][0], vision) >= APART, (a, b)


@pytest.mark.parametrize("vision", VISIONS)
def test_all_differ_by_colour_and_dash(vision: str) -> None:
    for a, b in itertools.combinations(TABLE, 2):
        if TABLE[a][1] == TABLE[b][1]:
            assert distance(TABLE[a][0], TABLE[b][0], vision) >= APART, (a, b)


def test_every_two_are_different() -> None:
    for a, b in itertools.combinations(TABLE, 2):
        assert distance(TABLE[a][0], TABLE[b][0], "normal") >= DIFFERENT, (a, b)


@pytest.mark.parametrize("page", ["#ffffff", "#121212"])
def test_every_colour_has_enough_contrast(page: str) -> None:
    for colour in [colour for colour, _ in TABLE.values()] + list(POOL):
        assert contrast(colour, page) >= 3.0, colour


def test_no_two_activations_share_a_style(activation: Activation) -> None:
    own_style = style(activation.name)
    others = set(TABLE) - {activation.name}
    assert all(own_style.colour != style(name).colour for name in others)
    assert own_style.dash in DASHES


@pytest.mark.parametrize("name", ["my_own", "snake", "χ", "", "gelu2"])
def test_other_names_get_a_style_that_no_entry_has(name: str) -> None:
    own_style = style(name)
    assert own_style == style(name)
    assert own_style.dash in OTHERS
    assert own_style.colour not in {colour for colour, _ in TABLE.values()}
    assert not {dash for _, dash in TABLE.values()} & set(OTHERS)


def test_many_names_get_many_styles() -> None:
    assert len({style(f"name{i}") for i in range(400)}) == len(POOL) * len(OTHERS)


def test_one_activation_keeps_its_colour() -> None:
    several = variants("elu", 4)
    assert {item.colour for item in several} == {style("elu").colour}
    assert len({drawn_style.dash for drawn_style in several}) == 4


@pytest.fixture(scope="module")
def script() -> ModuleType:
    """The script that derives the colours, having done so once."""
    spec = spec_from_file_location("derive_colours", ROOT / "tools" / "derive_colours.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[spec.name] = module  # its dataclasses look themselves up
    spec.loader.exec_module(module)
    derived = module.derive()
    module.derive = lambda: derived
    return module


@pytest.mark.parametrize("changed", [False, True])
def test_the_script_computes_the_same_colours(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changed: bool
) -> None:
    """`--check` compares with what is derived anew; a colour changed by hand is noticed."""
    text = script.TARGET.read_text(encoding="utf-8")
    gelu = TABLE["gelu"][0]
    copied = tmp_path / "palette.py"
    copied.write_text(text.replace(gelu, "#1299fd") if changed else text, encoding="utf-8")
    monkeypatch.setattr(script, "TARGET", copied)
    assert script.main(["--check"]) == int(changed)


def test_the_trio_that_is_drawn_most_needs_no_colour_vision() -> None:
    """Without red light gelu and mish are near each other; gelu and silu differ in lightness."""
    assert style("mish").dash not in {style("gelu").dash, style("silu").dash}
    assert [name for name in TABLE if TABLE[name][1] == style("mish").dash] == ["mish"]
