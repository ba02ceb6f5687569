"""One colour and one dash pattern per activation, the same in every plot.

Plots, the terminal, HTML cards and reports all use `style`. The colours are computed by
`tools/derive_colours.py`. Each has a contrast of at least 3:1 on white and on a dark page. The
dozen activations usually plotted together differ by colour alone for all kinds of colour vision;
beyond a dozen no set of colours does, so the others also have a dash pattern, and plots have names
beside lines.

A name that is not in the table, such as a new file in the catalogue or a user's formula, has a
colour and a dash pattern that no name in the table has, from a hash of the name, so that it is the
same in every process. To give an entry of the catalogue a colour, append it to `FURTHER` in that
script; no other colour changes.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256

from .derived import POOL, TABLE

DASHES: dict[str, tuple[float, ...]] = {
    "solid": (),
    "dashed": (5.0, 2.0),
    "dotted": (1.3, 1.6),
    "dashdot": (6.0, 2.0, 1.3, 2.0),
    "long": (10.0, 3.0),
    "dashdotdot": (6.0, 2.0, 1.3, 2.0, 1.3, 2.0),
    "short": (2.6, 1.4),
    "spaced": (1.3, 3.4),
    "longdot": (10.0, 2.5, 1.3, 2.5),
}
"""Lengths of ink and gap in line widths, by name."""

OTHERS = ("long", "dashdotdot")
"""Dashes of names that are not in the table; no name in it has them."""


@dataclass(frozen=True)
class Style:
    """Colour and dash pattern of an activation."""

    colour: str
    dash: str

    @property
    def pattern(self) -> tuple[float, ...]:
        """Lengths of ink and gap in line widths; empty for a solid line."""
        return DASHES[self.dash]


def style(name: str) -> Style:
    """Return the colour and the dash pattern of the activation called `name`.

    Examples
    --------
    >>> style("gelu")
    Style(colour='#1299fc', dash='solid')
    >>> style("my_own") == style("my_own")
    True
    """
    if name in TABLE:
        return Style(*TABLE[name])
    number = int.from_bytes(sha256(name.encode()).digest()[:8], "big")
    return Style(POOL[number % len(POOL)], OTHERS[number // len(POOL) % len(OTHERS)])


def variants(name: str, count: int) -> list[Style]:
    """Return styles for one activation with `count` sets of parameters: its colour, other dashes.

    Examples
    --------
    >>> [style.dash for style in variants("elu", 3)]
    ['solid', 'dashed', 'dotted']
    """
    first = style(name)
    others = [dash for dash in DASHES if dash != first.dash]
    return [Style(first.colour, dash) for dash in ([first.dash, *others] * count)[:count]]
