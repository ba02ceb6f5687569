"""One colour and one dash pattern per activation, the same in every plot.

Plots, the terminal, HTML cards and reports all use `style`. `TABLE` and `POOL` are written by
`python tools/derive_colours.py`, which gives functions that are new in the catalogue a colour and
changes no other. Each colour has a contrast of at least 3:1 on white and on a dark
page. The dozen activations usually plotted together differ by colour alone for all kinds of colour
vision; beyond a dozen no set of colours does, so the others also have a dash pattern, and plots
have names beside lines.

A name that is not in the table, such as a user's formula, has a colour and a dash pattern that no
name in the table has, from a hash of the name, so that it is the same in every process.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256

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


TABLE: dict[str, tuple[str, str]] = {
    "gelu": ("#1299fc", "solid"),
    "relu": ("#d8002d", "solid"),
    "silu": ("#0063c6", "solid"),
    "tanh": ("#90995a", "solid"),
    "sigmoid": ("#a22d99", "solid"),
    "elu": ("#997575", "solid"),
    "gelu_tanh": ("#fc36a2", "dashed"),
    "gelu_sigmoid": ("#7e5a63", "dotted"),
    "leaky_relu": ("#9000fc", "solid"),
    "softplus": ("#3f6c12", "solid"),
    "mish": ("#ea5ad8", "short"),
    "Phi": ("#4890ab", "solid"),
    "phi": ("#875a09", "dashed"),
    "relu6": ("#ea00fc", "dotted"),
    "squared_relu": ("#f36c00", "dashdot"),
    "celu": ("#5a36fc", "dashed"),
    "selu": ("#36ab00", "dotted"),
    "log_sigmoid": ("#876cf3", "dashdot"),
    "hard_sigmoid": ("#bd8700", "dashed"),
    "hard_tanh": ("#ab87a2", "dotted"),
    "tanhshrink": ("#a23f63", "dashdot"),
    "softsign": ("#7590ea", "dashed"),
    "hard_swish": ("#515aab", "dotted"),
    "softshrink": ("#7e48ab", "dashdot"),
    "hardshrink": ("#bd0090", "dashed"),
    "squareplus": ("#bd2d09", "dotted"),
    "identity": ("#b46cab", "dashdot"),
    "glu": ("#7e7e63", "dashed"),
    "reglu": ("#6c75c6", "dotted"),
    "geglu": ("#cf3f00", "dashdot"),
    "geglu_tanh": ("#ab48c6", "dashed"),
    "swiglu": ("#b46c63", "dotted"),
    "prelu": ("#006c75", "spaced"),
    "rrelu": ("#00996c", "longdot"),
    "threshold": ("#bd63fc", "spaced"),
    "clip": ("#bd00fc", "longdot"),
    "sparse_plus": ("#51a290", "spaced"),
    "sparse_sigmoid": ("#51637e", "longdot"),
    "hard_mish": ("#bd6300", "spaced"),
    "exponential": ("#a287cf", "longdot"),
    "gelu_10": ("#902dc6", "spaced"),
    "laplace": ("#fc3600", "longdot"),
    "sqrtsoftplus": ("#876cb4", "spaced"),
    "xielu": ("#875abd", "longdot"),
    "log_ndtr": ("#fc5a6c", "spaced"),
    "clamped_swiglu": ("#bd1b36", "longdot"),
}

POOL: tuple[str, ...] = (
    "#6c8700",
    "#cf4875",
    "#1275fc",
    "#e100bd",
    "#fc0063",
    "#e16ca2",
    "#008700",
    "#0051f3",
    "#5a6c51",
    "#007ebd",
    "#635ae1",
    "#e10087",
    "#007e5a",
    "#997500",
    "#a2513f",
    "#d87575",
    "#c648a2",
    "#c675d8",
    "#995190",
    "#a248fc",
    "#bd8763",
    "#487e7e",
    "#bd00bd",
    "#c60063",
)
