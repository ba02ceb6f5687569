"""Read tables of generated pages, so that other pages show the same figures."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def rows(page: str, section: str, title: str = "") -> list[dict[str, str]]:
    """Return the rows of the first table of a section, by the heads of the columns.

    Parameters
    ----------
    page : str
        A file of docs/.
    section : str
        The heading above the table, without its `##`.
    title : str, optional
        The start of the bold title above the table, where a section has several.

    Raises
    ------
    ValueError
        If the page has no such table.
    """
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    _, heading, rest = text.partition(f"\n## {section}\n")
    body, _, _ = rest.partition("\n## ")
    if title:
        _, heading, body = body.partition(f"**{title}")
    lines = body.splitlines()
    starts = [i for i, line in enumerate(lines) if line.startswith("| ")]
    if not heading or not starts:
        raise ValueError(f"docs/{page} has no table in the section {section!r} {title!r}")
    table = []
    for line in lines[starts[0] :]:
        if not line.startswith("|"):
            break
        table.append([cell.strip() for cell in line.strip("|").split("|")])
    return [dict(zip(table[0], row, strict=True)) for row in table[2:]]
