"""The script of buttons that show and hide lines of some charts."""

from __future__ import annotations

import json
from collections.abc import Iterable


def toggle(buttons: str, charts: Iterable[str]) -> str:
    """Return JavaScript: the pressed ones among `buttons` are what the charts show.

    Each chart has a parameter `shown`, a list of names.
    """
    return f"softgate.toggle({json.dumps(buttons)}, {json.dumps(list(charts))});"
