"""Frozen results of studies, as text and HTML, and to and from JSON.

A study computes and returns a record; code that displays it computes nothing. JSON is strict: NaN
and infinities are the strings "nan", "inf" and "-inf"; unknown or undefined values are null. Every
record has the name and the version of its schema.
"""

from __future__ import annotations

import csv
import io
import json
import math
import os
import reprlib
import types
import typing
from base64 import b64encode
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any, ClassVar, Self

from .files import TABLES, file_format, output_path, write_file
from .packages import require
from .text import escape, message_line, printable, visible

if TYPE_CHECKING:
    import pandas

SPECIAL = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
Cell = float | int | str | None


@dataclass(frozen=True)
class Grid:
    """A table of text that displays a record. A cell may have several lines.

    Control characters in names and messages are replaced by escapes.
    """

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    labels: int = 1
    """The number of columns on the left that label a row, repeated where a wide grid is split."""
    text: bool = False
    """Whether cells are words, aligned left, instead of numbers, aligned right."""
    closing: str = ""
    """A sentence below the rows."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "title", visible(self.title))
        object.__setattr__(self, "closing", visible(self.closing))
        object.__setattr__(self, "header", tuple(map(visible, self.header)))
        object.__setattr__(self, "rows", tuple(tuple(map(visible, row)) for row in self.rows))

    def __str__(self) -> str:
        rows = (self.header, *self.rows)
        lines = [[printable(cell).split("\n") for cell in row] for row in rows]
        widths = [
            max(len(line) for cell in column for line in cell)
            for column in zip(*lines, strict=True)
        ]
        shown = [line for row in lines for line in self._lines(row, widths)]
        header = max(len(cell) for cell in lines[0])
        shown.insert(header, "  ".join("-" * width for width in widths))
        title = [printable(self.title), ""] if self.title else []
        closing = ["", printable(self.closing)] if self.closing else []
        return "\n".join([*title, *shown, *closing])

    def _lines(self, row: list[list[str]], widths: list[int]) -> list[str]:
        height = max(len(cell) for cell in row)
        padded = [cell + [""] * (height - len(cell)) for cell in row]
        return [
            "  ".join(self._set(text, i, widths[i]) for i, text in enumerate(line)).rstrip()
            for line in zip(*padded, strict=True)
        ]

    def _set(self, text: str, column: int, width: int) -> str:
        return text.ljust(width) if self.text else text.rjust(width)

    @property
    def html(self) -> str:
        """The grid as an HTML table."""
        head = "".join(f"<th>{escape(cell)}</th>" for cell in self.header)
        body = "".join(f"<tr>{''.join(self._cells(row))}</tr>" for row in self.rows)
        caption = f"<caption>{escape(self.title)}</caption>" if self.title else ""
        table = f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        return f"{table}<p>{_lines_of_html(self.closing)}</p>" if self.closing else table

    def _cells(self, row: tuple[str, ...]) -> list[str]:
        kinds = ("th" if i < self.labels else "td" for i in range(len(row)))
        shown = map(_lines_of_html, row)
        return [f"<{kind}>{cell}</{kind}>" for kind, cell in zip(kinds, shown, strict=True)]


def _lines_of_html(text: str) -> str:
    return escape(text).replace("\n", "<br>")


STYLE = """
:root { color-scheme: light dark; }
body { font: 14px/1.5 system-ui, sans-serif; margin: 2em auto; max-width: 96em; padding: 0 1em; }
table { border-collapse: collapse; margin: 1em 0; }
caption { text-align: left; white-space: pre-line; padding: 0.3em 0; }
th, td { text-align: right; padding: 2px 10px 2px 0; border-bottom: 1px solid #8888;
  font-variant-numeric: tabular-nums; vertical-align: top; }
th:first-child { text-align: left; }
svg { max-width: 100%; height: auto; }
"""


def content_policy(scripts: Iterable[str] = ()) -> str:
    """Return the content security policy of a page that loads nothing and runs only `scripts`.

    Scripts are known by their hashes, so that no text from a record can become one.
    """
    hashes = [f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'" for text in scripts]
    script = f"script-src {' '.join(hashes)}; " if hashes else ""
    return (
        f"default-src 'none'; {script}style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def html_page(title: str, body: str, style: str) -> str:
    """Return an HTML page with a style sheet; `title` is text, `body` is HTML."""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{content_policy()}">'
        f"<title>{escape(title)}</title>"
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{style}</style></head><body>{body}</body></html>\n"
    )


class NewerVersion(ValueError):
    """A record was written by a later version of softgate."""


def parse_json(text: str) -> Any:
    """Return the content of strict JSON; raise ValueError for anything else.

    Unlike json.loads it refuses NaN and Infinity, which JSON does not have, and raises no
    RecursionError for deep nesting.
    """
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except RecursionError:
        raise ValueError("the JSON is nested too deeply") from None


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON: expected the string {name.lower()!r} or a number")


class Record:
    """A frozen dataclass that can be displayed, saved and loaded.

    A subclass sets `schema` and implements `grids`, for display, and `table`, the same as rows of
    data.
    """

    schema: ClassVar[str]
    version: ClassVar[int] = 1
    formats: ClassVar[tuple[str, ...]] = TABLES
    """The extensions that `save` accepts; records with a chart add PICTURES and have `figure`."""

    def grids(self) -> tuple[Grid, ...]:
        """Return the tables to display, with rounded numbers."""
        raise NotImplementedError(f"{type(self).__name__} has no grids")

    def table(self) -> tuple[tuple[str, ...], list[tuple[Cell, ...]]]:
        """Return a header and rows with all digits, as in a CSV file."""
        raise NotImplementedError(f"{type(self).__name__} has no table")

    def __str__(self) -> str:
        return "\n\n".join(map(str, self.grids()))

    def _repr_html_(self) -> str:
        return "".join(grid.html for grid in self.grids())

    def to_dict(self) -> dict[str, Any]:
        """Return the content of `to_json` as dictionaries, lists, strings and numbers."""
        return {"schema": self.schema, "version": self.version, **_plain_fields(self)}

    def to_json(self, indent: int | None = None) -> str:
        """Return the record as strict JSON."""
        return json.dumps(self.to_dict(), indent=indent, ensure_ascii=False, allow_nan=False)

    def to_csv(self) -> str:
        """Return the rows of `table` as CSV."""
        header, rows = self.table()
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows([header, *rows])
        return text.getvalue()

    def to_pandas(self) -> pandas.DataFrame:
        """Return the rows of `table` as a pandas.DataFrame."""
        require("pandas", purpose="to_pandas")
        import pandas

        header, rows = self.table()
        return pandas.DataFrame(rows, columns=list(header))

    def page(self) -> str:
        """Return the record as one HTML page, which loads nothing and runs no script."""
        return html_page(type(self).__name__, self._repr_html_(), STYLE)

    def figure(self) -> Any:
        """Return the chart of the record; raise NotImplementedError if it has none."""
        raise NotImplementedError(f"{type(self).__name__} has no chart")

    def save(self, file: str | os.PathLike[str], **figure: Any) -> None:
        """Write the record to a file; its extension selects the format.

        .html is the page, .json what `from_json` reads, .csv the rows of `table`. Records with a
        chart also write it, as .svg, .png or .pdf; `figure` are arguments of that method.

        Raises
        ------
        ValueError
            If the record has no format with this extension.
        OSError
            If the file cannot be written; an old file of that name is unchanged.
        """
        path = output_path(file, self.formats)
        kind = file_format(path)
        if kind == "html":
            content: str | bytes = self.page()
        elif kind == "json":
            content = self.to_json(indent=2) + "\n"
        elif kind == "csv":
            content = self.to_csv()
        else:
            content = self.figure(**figure).render(kind)
        write_file(path, content)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Return the record that `to_json` wrote; raise ValueError for any other text.

        A record of a later version raises `NewerVersion`, which is a ValueError.
        """
        content = parse_json(text)
        if not isinstance(content, dict) or "schema" not in content:
            raise ValueError(
                f"this JSON is not a record: expected an object with schema {cls.schema}"
            )
        schema, version = content.pop("schema"), content.pop("version", None)
        if (schema, version) != (cls.schema, cls.version):
            newer = schema == cls.schema and type(version) is int and version > cls.version
            raise (NewerVersion if newer else ValueError)(
                f"this JSON is {message_line(schema, 60)} version {message_line(version, 20)}: "
                f"expected {cls.schema} version {cls.version}"
                + ("; install a later softgate" if newer else "")
            )
        record: Self = _restore(cls, content)
        return record


def _plain_fields(record: Any) -> dict[str, Any]:
    return {field.name: plain(getattr(record, field.name)) for field in fields(record)}


def plain(value: Any) -> Any:
    """Return `value` in JSON types: objects, lists, strings, finite numbers, null."""
    if is_dataclass(value) and not isinstance(value, type):
        return _plain_fields(value)
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
    return value


def _restore(kind: Any, value: Any) -> Any:
    """Return `value`, read from JSON, as the type `kind` that a field is annotated with.

    Raises ValueError if it is of another type.
    """
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (types.UnionType, typing.Union):
        return _restore_union(arguments, value)
    if is_dataclass(kind) and isinstance(kind, type):
        return _restore_record(kind, value)
    if origin is tuple and isinstance(value, list):
        return _restore_tuple(arguments, value)
    if origin in (dict, Mapping) and isinstance(value, dict):
        return {key: _restore(arguments[1], item) for key, item in value.items()}
    if kind is float:
        return _restore_float(value)
    if kind is Any or (origin is typing.Literal and value in arguments):
        return value
    if kind is int and isinstance(value, float) and value.is_integer():
        return int(value)
    if not isinstance(kind, type) or type(value) is not kind:
        raise _unexpected(value, kind)
    return value


def _restore_tuple(kinds: tuple[Any, ...], values: list[Any]) -> tuple[Any, ...]:
    if len(kinds) == 2 and kinds[1] is Ellipsis:
        return tuple(_restore(kinds[0], item) for item in values)
    if len(kinds) != len(values):
        raise ValueError(f"{_short(values)} has {len(values)} items: expected {len(kinds)}")
    return tuple(_restore(kind, item) for kind, item in zip(kinds, values, strict=True))


def _restore_float(value: Any) -> float:
    if isinstance(value, str) and value in SPECIAL:
        return SPECIAL[value]
    if isinstance(value, bool | str) or not isinstance(value, int | float):
        raise _unexpected(value, float)
    try:
        return float(value)
    except OverflowError:
        raise _unexpected(value, float) from None


def _restore_union(kinds: tuple[Any, ...], value: Any) -> Any:
    """Return `value` as the first of the kinds that it is; an integer before a float."""
    if value is None and types.NoneType in kinds:
        return None
    if type(value) in (bool, int) and type(value) in kinds:
        return value
    if isinstance(value, str) and str in kinds and not (float in kinds and value in SPECIAL):
        return value
    error = _unexpected(value, " | ".join(map(_name, kinds)))
    for kind in kinds:
        if kind is not types.NoneType:
            try:
                return _restore(kind, value)
            except ValueError as reason:
                error = reason if len(kinds) == 2 and types.NoneType in kinds else error
    raise error


def _restore_record(kind: type, value: Any) -> Any:
    hints = typing.get_type_hints(kind)
    known = [field.name for field in fields(kind)]
    if not isinstance(value, dict) or set(value) != set(known):
        present = _short(sorted(value)) if isinstance(value, dict) else type(value).__name__
        raise ValueError(f"{kind.__name__} was given {present}: expected the fields {known}")
    restored = {}
    for name in known:
        try:
            restored[name] = _restore(hints[name], value[name])
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None
    return kind(**restored)


def _unexpected(value: Any, kind: Any) -> ValueError:
    return ValueError(f"{_short(value)}: expected {_name(kind)}")


def _name(kind: Any) -> str:
    return kind.__name__ if isinstance(kind, type) else str(kind).replace("typing.", "")


def _short(value: Any) -> str:
    return message_line(reprlib.repr(value), 200)
