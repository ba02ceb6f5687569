"""Derive softgate's colours: one per activation, told apart by every kind of colour vision.

Candidates are sRGB colours with a contrast of at least 3:1 on white and on a dark page. Distances
are Euclidean in OKLab, in the worst of four visions: normal, and protanopia, deuteranopia,
tritanopia as Machado, Oliveira & Fernandes (2009) simulate them. The dozen that are usually drawn
together is spread as far apart as a maximin search gets it; all others follow one by one, in the
order of the table, then those of the catalogue that the table lacks, so that a new function changes
no other colour.

Without arguments it writes `TABLE` and `POOL` at the end of src/softgate/plotting/palette.py. With
`--check` it derives the colours again and compares: exit status 1 on a difference. Either way it
prints the table.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from softgate.plotting.palette import TABLE
from softgate.runtime.registry import functions

Floats = NDArray[np.float64]

TARGET = Path(__file__).resolve().parent.parent / "src" / "softgate" / "plotting" / "palette.py"
START = "TABLE: dict[str, tuple[str, str]] = {"
COMMAND = "python tools/derive_colours.py"

DOZEN = (
    "gelu", "relu", "silu", "tanh", "sigmoid", "elu", "gelu_tanh", "gelu_sigmoid", "leaky_relu",
    "softplus", "mish", "Phi",
)  # fmt: skip
"""Usually drawn together; the first ones the most often, so the farthest apart."""

ON_GELU = {"gelu_tanh": "dashed", "gelu_sigmoid": "dotted"}
"""They lie on gelu: a gap in the line shows what is below it."""

LOOKS_LIKE_GELU = {"mish": "short"}
"""gelu, silu and mish are drawn together most of all, and without red light gelu and mish look
alike. Its dash, which no other has, is given when all colours are, and so changes none."""

OTHER_DASHES = ("dashed", "dotted", "dashdot")
LATER_DASHES = ("spaced", "longdot")
"""From the 21st name after the dozen on: with three dashes, colours of one would be too near."""
POOL = 24
"""Colours for names that are in no table."""

LIGHT, DARK = "#ffffff", "#121212"
CONTRAST = 3.0
STEP = 9
BLUE = 4.36
"""gelu's hue in OKLab, in radians; all others follow from it."""

VISIONS: dict[str, Floats] = {
    "normal": np.eye(3),
    "protanopia": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    "deuteranopia": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
    "tritanopia": np.array(
        [
            [1.255528, -0.076749, -0.178779],
            [-0.078411, 0.930809, 0.147602],
            [0.004733, 0.691367, 0.303900],
        ]
    ),
}
"""Machado, Oliveira & Fernandes 2009, severity 1, on linear RGB."""

TO_CONES = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
TO_LAB = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)


def linear(levels: Floats) -> Floats:
    """Return linear RGB of sRGB levels 0 to 255."""
    share = levels / 255
    return np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)


def oklab(rgb: Floats) -> Floats:
    """Return OKLab of linear RGB."""
    result: Floats = np.cbrt(np.clip(rgb, 0, 1) @ TO_CONES.T) @ TO_LAB.T
    return result


def luminance(levels: Floats) -> Floats:
    """Return the relative luminance that contrast is defined by."""
    result: Floats = linear(levels) @ np.array([0.2126, 0.7152, 0.0722])
    return result


def contrast(levels: Floats, page: str) -> Floats:
    """Return the contrast ratio of colours with a page."""
    first, other = luminance(levels), float(luminance(of_hex(page)))
    return (np.maximum(first, other) + 0.05) / (np.minimum(first, other) + 0.05)


def of_hex(colour: str) -> Floats:
    """Return the sRGB levels of "#rrggbb"."""
    return np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)], dtype=float)


@dataclass
class Candidates:
    """Every colour that may be chosen, as seen by each vision."""

    levels: Floats
    seen: Floats = field(init=False)

    def __post_init__(self) -> None:
        views = [oklab(linear(self.levels) @ matrix.T) for matrix in VISIONS.values()]
        self.seen = np.stack(views)

    def distances(self, index: int) -> Floats:
        """Return how far each candidate is from one of them, in each vision."""
        result: Floats = np.linalg.norm(self.seen - self.seen[:, index, None], axis=2)
        return result

    def worst(self, index: int) -> Floats:
        """Return the same in the worst vision."""
        result: Floats = self.distances(index).min(axis=0)
        return result

    def hex(self, index: int) -> str:
        """Return one candidate as "#rrggbb"."""
        return "#" + "".join(f"{int(level):02x}" for level in self.levels[index])


def candidates() -> Candidates:
    """Return the colours of a grid in sRGB that stand out from both pages."""
    axis = np.arange(0, 256, STEP, dtype=float)
    levels = np.stack(np.meshgrid(axis, axis, axis, indexing="ij"), axis=-1).reshape(-1, 3)
    mask = (contrast(levels, LIGHT) >= CONTRAST) & (contrast(levels, DARK) >= CONTRAST)
    return Candidates(levels[mask])


def spread(result: Candidates, count: int, rounds: int = 400) -> list[int]:
    """Return `count` candidates whose least distance is as large as a search makes it.

    Farthest-first to begin with; then the pair that is closest gives up one of its two for the
    candidate that is farthest from all others, until nothing gets better. Several starts.
    """
    best: tuple[float, list[int]] = (0.0, [])
    for start in range(0, len(result.levels), len(result.levels) // 24):
        chosen = [start]
        nearest = result.worst(start)
        while len(chosen) < count:
            chosen.append(int(nearest.argmax()))
            nearest = np.minimum(nearest, result.worst(chosen[-1]))
        best = max(best, improve(result, chosen, rounds))
    return best[1]


def improve(result: Candidates, chosen: list[int], rounds: int) -> tuple[float, list[int]]:
    """Exchange one colour at a time while the least distance grows."""
    rows = np.stack([result.worst(index) for index in chosen])
    for _ in range(rounds):
        pairs = rows[:, chosen] + 9 * np.eye(len(chosen))
        least = pairs.min()
        options = []
        for k in np.unique(np.argwhere(pairs == least)):
            others = np.delete(rows, k, axis=0).min(axis=0)
            options.append((float(others.max()), int(k), int(others.argmax())))
        gain, k, index = max(options)
        if gain <= least:
            break
        chosen[k] = index
        rows[k] = result.worst(index)
    return float((rows[:, chosen] + 9 * np.eye(len(chosen))).min()), chosen


def ordered(computed: Candidates, chosen: list[int]) -> list[int]:
    """Return `chosen`, the bluest first, then always the one farthest from those before."""
    normal = computed.seen[0]
    hue = np.arctan2(normal[:, 2], normal[:, 1])
    away = [abs((hue[index] - BLUE + np.pi) % (2 * np.pi) - np.pi) for index in chosen]
    result = [chosen[int(np.argmin(away))]]
    rest = [index for index in chosen if index not in result]
    while rest:
        least = [min(computed.worst(index)[result]) for index in rest]
        result.append(rest.pop(int(np.argmax(least))))
    return result


@dataclass(frozen=True)
class Choice:
    """What one name gets."""

    index: int
    dash: str


def follow(result: Candidates, chosen: dict[str, Choice], names: Iterable[str]) -> None:
    """Give each name in turn the dash and the colour that are farthest from all that is there.

    Counted are names with the same dash in the worst vision, and all others in normal vision, by
    half: there the dash helps.
    """
    for number, name in enumerate(dict.fromkeys(names)):
        dashes = OTHER_DASHES if number < 20 else LATER_DASHES
        dash = dashes[number % len(dashes)]
        nearest = np.full(len(result.levels), np.inf)
        for choice in chosen.values():
            rows = result.distances(choice.index)
            same = choice.dash == dash
            nearest = np.minimum(nearest, rows.min(axis=0) if same else 2 * rows[0])
        chosen[name] = Choice(int(nearest.argmax()), dash)


def pool(computed: Candidates, chosen: dict[str, Choice]) -> list[int]:
    """Return colours for names in no table: farthest-first from all there is, in normal vision."""
    taken = [choice.index for choice in chosen.values()]
    nearest = np.min([computed.distances(index)[0] for index in taken], axis=0)
    result: list[int] = []
    for _ in range(POOL):
        result.append(int(nearest.argmax()))
        nearest = np.minimum(nearest, computed.distances(result[-1])[0])
    return result


def source(result: Candidates, chosen: dict[str, Choice], spare: list[int]) -> str:
    """Return the assignments of the table and the pool, as ruff would format them."""
    lines = [START]
    lines += [f'    "{n}": ("{result.hex(c.index)}", "{c.dash}"),' for n, c in chosen.items()]
    lines += ["}", "", "POOL: tuple[str, ...] = ("]
    lines += [f'    "{result.hex(index)}",' for index in spare]
    return "\n".join([*lines, ")"]) + "\n"


def report(result: Candidates, chosen: dict[str, Choice]) -> list[str]:
    """Return one line a name: colour, contrasts, and the nearest other in each vision."""
    names = list(chosen)
    lines = [f"{'name':14} {'colour':8} {'dash':8} {'white':>6} {'dark':>6}  nearest (ΔE·100)"]
    for name in names:
        choice = chosen[name]
        group = DOZEN if name in DOZEN else names
        rivals = [n for n in group if n != name]
        rows = result.distances(choice.index)[:, [chosen[n].index for n in rivals]]
        level = result.levels[choice.index]
        light, dark = float(contrast(level, LIGHT)), float(contrast(level, DARK))
        near = "  ".join(
            f"{vision} {100 * row.min():.1f} {rivals[int(row.argmin())]}"
            for vision, row in zip(VISIONS, rows, strict=True)
        )
        colour = result.hex(choice.index)
        lines.append(f"{name:14} {colour:8} {choice.dash:8} {light:6.2f} {dark:6.2f}  {near}")
    return lines


def derive() -> tuple[str, list[str]]:
    """Return the assignments and the printed table."""
    result = candidates()
    dozen = ordered(result, spread(result, len(DOZEN)))
    chosen = {
        name: Choice(index, ON_GELU.get(name, "solid"))
        for name, index in zip(DOZEN, dozen, strict=True)
    }
    follow(result, chosen, [name for name in (*TABLE, *functions()) if name not in DOZEN])
    for name, dash in LOOKS_LIKE_GELU.items():
        chosen[name] = Choice(chosen[name].index, dash)
    return source(result, chosen, pool(result, chosen)), report(result, chosen)


def main(arguments: list[str] | None = None) -> int:
    """Derive, print the table, and write or compare."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    options = parser.parse_args(arguments)
    text, lines = derive()
    print("\n".join(lines))
    header, start, stored = TARGET.read_text(encoding="utf-8").partition(START)
    if not options.check:
        TARGET.write_text(header + text, encoding="utf-8")
    elif start + stored != text:
        print(f"{TARGET.name} differs from what is derived here: run `{COMMAND}`", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
