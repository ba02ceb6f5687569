"""Activations to try out: distributions, stacked layers, and the gate that chance opens."""

from __future__ import annotations

from ..playground import Playground, body, script
from ..section import Found, Section

TITLE = "Playground"


def section(found: Found) -> Section:
    """Return the section."""
    record = found.take("playground", Playground)
    return Section("playground", TITLE, body(record), script=script(record))
