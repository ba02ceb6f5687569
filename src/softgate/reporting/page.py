"""The page: one HTML file with all sections, the style sheet, the scripts and their data.

The page loads nothing: its content security policy forbids it, and lists the hashes of the only
scripts that may run, so that no text from a record can become one. Charts are in the page as SVG;
the scripts at its end replace them by interactive ones.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from typing import Any

from softgate.plotting import vega
from softgate.records.record import content_policy
from softgate.records.text import escape

from .elements import MissingRecord, Section, failure, marker

PREFIX = "chart-data-"
"""The prefix of the id of the element that holds a chart's specification."""


def asset(name: str) -> str:
    """Return the text of a file in the folder `assets`."""
    return files(__package__).joinpath("assets", name).read_text(encoding="utf-8")


def render_page(sections: Sequence[Section], title: str, subtitle: str) -> str:
    """Return the page as HTML.

    Parameters
    ----------
    sections : sequence of Section
        In the order they are shown.
    title, subtitle : str
        The heading and the line below it, as plain text.
    """
    bodies, data = [], []
    for section in sections:
        body, specs = _shown(section)
        bodies.append(body)
        data += [_data(PREFIX + id, spec) for id, spec in specs.items()]
    # An HTML parser must see no end of a script in it, and no comment.
    scripts = [
        text.replace("</script", "<\\/script").replace("<!--", "<\\!--")
        for text in _scripts(sections)
    ]
    run = "".join(f"<script>{text}</script>\n" for text in scripts)
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n{_head(title, scripts)}</head>\n<body>\n'
        f"{_top(title, subtitle)}{_navigation(sections)}"
        f'<main id="content" tabindex="-1">\n{"".join(bodies)}</main>\n{"".join(data)}'
        f"{run}</body>\n</html>\n"
    )


def _scripts(sections: Sequence[Section]) -> list[str]:
    """Return Vega, the page's script and those of the sections, each in its own scope."""
    charted = any(section.charts or "vegaEmbed(" in section.script for section in sections)
    scripts = [
        f'(async () => {{\n"use strict";\n{section.script}\n}})();\n'
        for section in sections
        if section.script
    ]
    return [*([vega.script()] if charted else []), asset("page.js"), *scripts]


def _head(title: str, scripts: Iterable[str]) -> str:
    policy = content_policy(scripts)
    return (
        '<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        '<link rel="icon" href="data:,">\n'
        f"<title>{escape(title)}</title>\n<style>\n{asset('page.css')}</style>\n"
    )


def _top(title: str, subtitle: str) -> str:
    return (
        '<a class="skip" href="#content">Skip to the content</a>\n<header>'
        f'<div><h1>{escape(title)}</h1><p class="subtitle">{escape(subtitle)}</p></div>'
        '<button type="button" id="theme" class="quiet">Theme: automatic</button>'
        "</header>\n"
    )


def _navigation(sections: Iterable[Section]) -> str:
    links = "".join(
        f'<li><a href="#{escape(section.id)}">{escape(section.title)}</a></li>'
        for section in sections
    )
    return f'<nav aria-label="Sections"><ul>{links}</ul></nav>\n'


def _shown(section: Section) -> tuple[str, dict[str, Any]]:
    """Return a section, or one with the reason that its charts cannot be drawn."""
    try:
        return _drawn(section)
    except ValueError as error:  # raised by Vega for the numbers of a broken record
        reason = MissingRecord(section.id, f"its charts cannot be drawn: {error}")
        return _drawn(failure(section.id, section.title, reason))


def _drawn(section: Section) -> tuple[str, dict[str, Any]]:
    """Return a section with its charts as SVG, and their Vega specifications."""
    body, specs = section.body_html, {}
    for id, spec in section.charts.items():
        if marker(id) not in body:
            raise ValueError(f"section {section.id} has no figure for the chart {id!r}")
        specs[id] = vega.compile_for_page(spec)
        body = body.replace(marker(id), _drawings(specs[id], spec), 1)
    id, title = escape(section.id), escape(section.title)
    whole = (
        f'<section id="{id}" aria-labelledby="{id}-title">\n<h2 id="{id}-title">{title}</h2>\n'
        f"{body}\n</section>\n"
    )
    return whole, specs


def _drawings(compiled: Mapping[str, Any], spec: Mapping[str, Any]) -> str:
    """Return the chart for a wide screen and for a phone; the style sheet shows one of them."""
    return "".join(
        f'<div class="drawing {kind}" aria-hidden="true">{vega.svg_for_page(compiled, width)}</div>'
        for kind, width in (("wide", spec["width"]), ("narrow", vega.NARROW))
    )


def _data(id: str, content: Any) -> str:
    """Return an element with JSON, escaped so that no text in it can end the element."""
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    text = text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    return f'<script type="application/json" id="{escape(id)}">{text}</script>\n'
