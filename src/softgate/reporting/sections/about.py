"""What the report was made on and with, and the command that makes it again."""

from __future__ import annotations

from ..section import Found, Section
from ..studies.about import About
from ..table import shown, table

TITLE = "About"


def section(found: Found) -> Section:
    """Return the section."""
    record = found.take("about", About)
    took = [(name, f"{seconds:.1f} s") for name, seconds in record.seconds.items()]
    total = sum(record.seconds.values())
    body = (
        "<p>Every number on this page was computed by the studies below, on this machine; none is "
        "typed in. The same command makes the page again:</p>"
        f'<pre tabindex="0" role="region" aria-label="The command"><code>{shown(record.command)}'
        "</code></pre>"
        + table("Machine and versions", ("what", "found"), record.lines(), kind="words")
        + (
            table(f"Time of the studies, {total:.0f} s in all", ("study", "time"), took)
            if took
            else ""
        )
        + "<p class='note'>Charts are drawn by Vega (BSD 3-clause), which is part of this file. "
        "The page loads nothing and sends nothing.</p>"
    )
    return Section("about", TITLE, body)
