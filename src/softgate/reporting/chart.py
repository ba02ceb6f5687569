"""HTML around charts: swatches, and buttons that show and hide lines."""

from __future__ import annotations

import json
from collections.abc import Iterable
from html import escape

from softgate.plotting.palette import style


def swatch(name: str) -> str:
    """Return a short line in the colour of an activation, for legends and tables."""
    return coloured(style(name).colour)


def coloured(colour: str) -> str:
    """Return a short line in a colour."""
    return f'<span class="swatch" style="border-color:{escape(colour)}" aria-hidden="true"></span>'


def chips(id: str, about: str, named: Iterable[tuple[str, str, bool]]) -> str:
    """Return buttons that show and hide lines: what each stands for, its swatch, whether it is on.

    They are buttons and no legend inside the chart, so that keys and screen readers reach them.
    """
    buttons = "".join(
        f'<button type="button" data-name="{escape(name)}" aria-pressed="{str(on).lower()}">'
        f"{drawn}{escape(name)}</button>"
        for name, drawn, on in named
    )
    return (
        f'<div class="chips" id="{escape(id)}" role="group" aria-label="{escape(about)}">'
        f"{buttons}</div>"
    )


def toggle(buttons: str, charts: Iterable[str]) -> str:
    """Return JavaScript: the pressed ones among `buttons` are what the charts show.

    Each chart has a parameter `shown`, a list of names.
    """
    return f"softgate.toggle({json.dumps(buttons)}, {json.dumps(list(charts))});"
