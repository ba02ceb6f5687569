"""Colours of a diagnosis: what is dead is red, what is flat blue, deeper where there is more.

A shade is a colour and its opacity, so that the same one is pale on a white page and on a dark one.
"""

from __future__ import annotations

from .chart_data import DEAD, FLAT, NEVER, SHARES

BLUE, RED, GREY, BROWN = "#0051f3", "#fc362d", "#7e9990", "#997509"
SHADES: dict[str, tuple[str, float]] = {
    DEAD: (RED, 1.0),
    **{
        kind: (BLUE, opacity)
        for kind, opacity in zip(reversed(FLAT), (0.8, 0.58, 0.4, 0.24, 0.1), strict=True)
    },
    NEVER: (GREY, 0.6),
}
"""Of units, by the share of inputs on which they are flat."""
TIMES: dict[str, tuple[str, float]] = {
    kind: (GREY if i == 0 else RED, opacity)
    for i, ((_, kind), opacity) in enumerate(
        zip(SHARES, (0.15, 0.22, 0.4, 0.6, 0.8, 1.0), strict=True)
    )
}
"""Of steps, by the share of units that are dead."""
WHICH = {
    "output": ("by outputs: arrives", BLUE, "solid"),
    "input": ("by inputs: leaves", BROWN, "dashed"),
}
"""Of gradients: what each is called, its colour and its dash."""
