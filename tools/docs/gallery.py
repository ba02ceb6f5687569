"""The gallery: every activation with its curve, formula, properties, names, errors and cost.

Curves, formulas, properties and names are computed from the catalogue. Measured errors and times
are read from docs/accuracy.md and docs/speed.md, which `make certificates` and `make speed` write.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from html import escape

import markdown_tables

import softgate as sg
from softgate.catalogue.entry import ErrorBound, Parameter
from softgate.formula.graph import Node
from softgate.runtime.activation import Activation
from softgate.runtime.name_table import SOURCES, Name
from softgate.studies.bench.flops import kernel_operations
from softgate.studies.properties.card import explanations, formula, known_of, picture

CATALOGUE_ERRORS = "The whole catalogue: max ulp"
TIMED = "float32"
Times = Mapping[str, Mapping[str, Mapping[str, str]]]
"""Rows of tables of times, by quantity and by function."""
INTRODUCTION = """\
# Gallery

Every activation of softgate. Each section has the curve (value: thick line; slope, the first
derivative: thin line), the formula, the properties that `sg.properties` computes
([explained](choosing.md#properties-that-matter)), the names in other libraries, the errors and the
cost.

- **Error** is the largest measured error in ulps (the distance between neighbouring floating-point
  numbers), from [Accuracy](accuracy.md); "bound" is the limit that tests enforce.
- **Cost** is the time per element in float32 on one thread, with the time of a copy of the same
  bytes and of softgate's relu for comparison, from [Speed](speed.md), which names the machine.
  Operations are counted in the kernel's graph (an fma counts as two).
"""


def pages(names: Collection[str] | None = None) -> dict[str, str]:
    """Return the source of the page, by file name; of all functions unless `names` are given."""
    errors = {row["function"]: row for row in markdown_tables.rows("accuracy.md", CATALOGUE_ERRORS)}
    times = {
        quantity: {
            row["function"]: row for row in markdown_tables.rows("speed.md", TIMED, quantity)
        }
        for quantity in ("value", "backward")
    }
    activations, gated = (
        [function for name, function in functions.items() if names is None or name in names]
        for functions in (sg.activations(), sg.gated())
    )
    parts = [INTRODUCTION, overview(activations)]
    parts += [section(it, errors.get(it.name, {}), times) for it in activations]
    parts.append("## Gated functions\n\nProducts of an activation of one operand with the other.")
    parts += [gated_section(function) for function in gated]
    return {"gallery.md": "\n\n".join(parts) + "\n"}


def overview(functions: Iterable[Activation]) -> str:
    """Return a table with a line for each activation."""
    rows = ["| function | range | monotone | gain | formula |", "| --- | --- | --- | --- | --- |"]
    for function in functions:
        texts, gain = dict(known_of(function)), function.properties.gain
        rows.append(
            f"| [{function.name}](#{anchor(function.name)}) | `{texts['range']}` | "
            f"{texts['monotone']} | {'–' if gain is None else f'{gain:.4f}'} | "
            f"{cell(math(function))} |"
        )
    return "\n".join(rows)


def cell(html: str) -> str:
    """Return HTML for a cell of a table, where a bar would end the cell."""
    return html.replace("|", "&#124;")


def anchor(name: str) -> str:
    """Return the target of a function's section: Phi and phi need different ones."""
    return f"function-{'capital-' if name[0].isupper() else ''}{name.replace('_', '-')}"


def math(function: Activation) -> str:
    """Return the definition as MathML, in one line."""
    return formula(function.name, function.entry.operands, defined(function))


def defined(function: Activation) -> Node:
    """Return the graph of a function's definition."""
    node: Node = function.entry.define()
    return node


def section(function: Activation, errors: Mapping[str, str], times: Times) -> str:
    """Return the section of an activation."""
    rows = [*known_of(function), *error_rows(function, errors), *cost_rows(function, times)]
    left = statement(function) + picture(function, function.name)
    inside = f"<div>{left}</div><div>{table(rows)}</div>"
    return (
        heading(function.name)
        + f'<div class="gallery">{inside}</div>\n\n'
        + names_table(function.name)
    )


def gated_section(function: Activation) -> str:
    """Return the section of a gated function, which has no curve."""
    rows = bound_rows(function.entry.bounds)
    inside = f"<div>{statement(function)}</div><div>{table(rows)}</div>"
    return (
        heading(function.name, 3)
        + f'<div class="gallery">{inside}</div>\n\n'
        + names_table(function.name)
    )


def heading(name: str, level: int = 2) -> str:
    """Return the heading of a function, with a target for links."""
    return f"({anchor(name)})=\n{'#' * level} {name}\n\n"


def statement(function: Activation) -> str:
    """Return formula, meaning of its symbols, parameters and source."""
    root = defined(function)
    lines = [f'<div class="formula">{formula(function.name, function.entry.operands, root)}</div>']
    lines.append(explanations(root))
    lines += [f"<div>{parameter(it)}</div>" for it in function.entry.parameters]
    if function.entry.paper:
        lines.append(f"<div>Source: {escape(function.entry.paper)}.</div>")
    return "".join(lines)


def parameter(it: Parameter) -> str:
    """Return a parameter with its default, its range and its meaning."""
    limits = f" (accepted: {it.range})" if it.range else ""
    text = f"{limits}. {it.doc}".replace("`", "")
    return f"<code>{escape(it.name)}</code> = {it.default:g}{escape(text)}"


def error_rows(function: Activation, errors: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return the measured errors, and the bounds that tests enforce."""
    rows = [
        (
            f"{dtype} error, ulp",
            f"value {errors[f'{dtype} value']}, slope {errors[f'{dtype} slope']}",
        )
        for dtype in ("float32", "float64")
        if errors
    ]
    return rows + bound_rows(function.entry.bounds)


def bound_rows(bounds: Mapping[str, ErrorBound]) -> list[tuple[str, str]]:
    """Return the bounds of errors by dtype."""
    return [
        (f"{dtype} bound (measured), ulp", f"value {bound.value:g}, slope {bound.slope:g}")
        for dtype, bound in bounds.items()
    ]


def cost_rows(function: Activation, times: Times) -> list[tuple[str, str]]:
    """Return times, where the function was timed, and counted operations."""
    rows = []
    for quantity, timed in times.items():
        if function.name in timed:
            row = timed[function.name]
            text = f"{row['softgate']} ns ({row['x copy']} × copy, {row['x relu']} × relu)"
            rows.append((f"{quantity}, per element", text))
    counted = kernel_operations(function.entry, "value", "float32", function.parameters)
    if counted is not None:
        rows.append(("operations", f"{counted.flops} arithmetic, {counted.moves} moves"))
    return rows


def table(rows: Iterable[tuple[str, str]]) -> str:
    """Return names and values in two columns."""
    lines = (
        f'<tr><th scope="row">{escape(name)}</th><td>{escape(value)}</td></tr>'
        for name, value in rows
    )
    return f"<table>{''.join(lines)}</table>"


def names_table(function: str) -> str:
    """Return what other libraries call a function, with the argument that selects it."""
    by_source: dict[str, list[str]] = {}
    for name in sg.names():
        if name.source != "softgate":
            by_source.setdefault(SOURCES[name.source], []).extend(spellings(name, function))
    lines = [
        f"- {source}: {', '.join(dict.fromkeys(spelled))}"
        for source, spelled in by_source.items()
        if spelled
    ]
    return (
        "\n".join(["Names elsewhere:", "", *lines])
        if lines
        else "No other library has a name for it."
    )


def spellings(name: Name, function: str) -> list[str]:
    """Return the calls of a name that compute a function."""
    calls = []
    if name.function == function:
        values = [f"{parameter}={value:g}" for parameter, value in name.parameters.items()]
        values += [f'gate="{name.gate}"'] if name.gate is not None else []
        note = f" ({', '.join(values)})" if values else ""
        calls.append(f"`{name.path}`{note}")
    calls += [
        f"`{name.path}({argument})`" for argument, other in name.switches if other == function
    ]
    return calls
