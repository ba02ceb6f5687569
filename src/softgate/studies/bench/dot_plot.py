"""One function's time in every implementation, as dots on a logarithmic axis.

Times lie two decades apart, and bars have no length on a logarithmic axis. A copy of the same bytes
and softgate's relu are lines: nobody computes the function in less than the first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from softgate.plotting.figure import INK, Chart
from softgate.plotting.palette import style

from .plots import OTHERS, drawing, frame, plain_ticks
from .record import COPY, OURS, RELU, Bench, Row

NAME_SIZE = 8.5
LOWER = 0.22
"""So far below the first function's dots are the others', which they would hide."""


def chosen(bench: Bench, functions: Sequence[str]) -> dict[str, dict[str, Row]]:
    """Return the times of values by implementation and function, the fastest first function first.

    The setting is the first that the bench has of a value.
    """
    values = [row for row in bench if row.quantity == "value" and row.least_ns is not None]
    if not values:
        raise ValueError("no value was timed: there is nothing to draw")
    setting = values[0].setting
    found: dict[str, dict[str, Row]] = {}
    for row in values:
        if row.setting == setting and row.function in functions:
            found.setdefault(row.implementation, {})[row.function] = row
    return dict(sorted(found.items(), key=lambda item: _rank(item[1], functions)))


def _rank(rows: dict[str, Row], functions: Sequence[str]) -> float:
    row = rows.get(functions[0])
    return float("inf") if row is None or row.least_ns is None else row.least_ns


def limits(bench: Bench, like: Row) -> dict[str, float]:
    """Return the times of the copy and of softgate's relu in the setting of a row."""
    found = {}
    for row in bench:
        limit = row.function == COPY or (row.function, row.implementation) == (RELU, OURS)
        if limit and row.setting == like.setting and row.least_ns is not None:
            found[row.function] = row.least_ns
    return found


def title(bench: Bench, functions: Sequence[str]) -> str:
    """Return what the picture is headed with."""
    row = _first(bench, functions)
    threads = f"{row.threads} thread" + ("s" if row.threads > 1 else "")
    named = " and ".join(functions)
    return f"{named}: ns an element, {row.dtype}, {row.count:,} elements ({row.size}), {threads}"


def _first(bench: Bench, functions: Sequence[str]) -> Row:
    by_name = chosen(bench, functions)
    if not by_name:
        raise ValueError(f"{', '.join(functions)}: not timed, there is nothing to draw")
    return next(iter(next(iter(by_name.values())).values()))


def alternative(bench: Bench, functions: Sequence[str]) -> str:
    """Return the picture in words."""
    parts = [
        f"{name} "
        + " and ".join(f"{row.least_ns:.2f} ({function})" for function, row in it.items())
        for name, it in chosen(bench, functions).items()
    ]
    at = limits(bench, _first(bench, functions))
    ends = ", ".join(f"{name} {time_ns:.2f}" for name, time_ns in at.items())
    return f"{title(bench, functions)}. {'; '.join(parts)}. Limits: {ends}."


def time_chart(
    bench: Bench, functions: Sequence[str] = ("gelu", "gelu_tanh"), width: float = 7.2
) -> Chart:
    """Return the figure: a row for each implementation, a dot for each function.

    The first function's dots are filled and have their times beside them; others are rings.
    """
    by_name = chosen(bench, functions)
    row = _first(bench, functions)
    height = 1.35 + 0.30 * len(by_name)
    with drawing():
        figure, axes = frame(title(bench, functions), width, height, left=1.5)
        axes.title.set_fontsize(9)
        axes.set_xscale("log")
        axes.set_ylim(len(by_name) - 0.4, -0.9)
        axes.set_yticks(range(len(by_name)), list(by_name), fontsize=NAME_SIZE)
        for label, name in zip(axes.get_yticklabels(), by_name, strict=True):
            label.set_fontweight("bold" if name.partition(".")[0] == OURS else "normal")
        axes.grid(visible=False, axis="y")
        at = limits(bench, row)
        times = [r.least_ns for it in by_name.values() for r in it.values() if r.least_ns]
        axes.set_xlim(min([*times, *at.values()]) / 1.5, max(times) * 2)
        _limit_lines(axes, at)
        for number, rows in enumerate(by_name.values()):
            _dots(axes, number, rows, functions)
        plain_ticks(axes)
        axes.set_xlabel("ns an element (logarithmic)", color=INK)
        _key(figure, functions, width)
    return figure


def _dots(axes: Any, number: int, rows: dict[str, Row], functions: Sequence[str]) -> None:
    for function, row in rows.items():
        colour, first = style(function).colour, function == functions[0]
        axes.plot(
            [row.least_ns], [number + (0 if first else LOWER)], marker="o" if first else "D",
            markersize=8 if first else 5, color=colour, linestyle="none",
            markerfacecolor=colour if first else "#ffffff",
            zorder=6 if first else 5, gid=f"{row.implementation} {function}",
        )  # fmt: skip
        if first:
            axes.annotate(
                f"{row.least_ns:.2f}", (row.least_ns, number), xytext=(0, 6),
                textcoords="offset points", ha="center", fontsize=7, color=INK,
            )  # fmt: skip


def _limit_lines(axes: Any, at: dict[str, float]) -> None:
    for name, time_ns in at.items():
        colour = style(RELU).colour if name == RELU else OTHERS
        axes.axvline(time_ns, color=colour, linewidth=1.0, linestyle=(0, (4, 2)), zorder=2)
        side = "right" if time_ns == min(at.values()) else "left"
        axes.annotate(
            f" {name} ", (time_ns, -0.85), fontsize=7.5, color=INK, ha=side, va="top", zorder=8,
        )  # fmt: skip


def _key(figure: Any, functions: Sequence[str], width: float) -> None:
    first, *rest = functions
    parts = [f"● {first}", *(f"◇ {name}" for name in rest)]
    text = "   ".join([*parts, "dashed: a copy of the same bytes, and softgate's relu"])
    figure.text(0.1 / width, 0.012, text, fontsize=7, color=INK)
