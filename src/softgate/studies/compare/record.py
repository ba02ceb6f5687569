"""A comparison: all that was trained, and what follows from it."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, ClassVar

from softgate.runtime.records import Cell, Grid, Record

from .choice import Choice
from .difference import Difference, Pairs, Results, differences
from .formatting import Numerals
from .outcome import Outcome, Place
from .statistics import BestPossible, best_possible, check_alpha
from .summary import Summary, summarise
from .tables import difference_grid, rate_grid, summary_grid
from .text import sentences
from .trainable import Measure
from .trial import Setting

if TYPE_CHECKING:
    from softgate.plotting.figure import Chart

WIDTH = 96
"""Characters that a line of text has at most."""


@dataclass(frozen=True)
class Comparison(Record):
    """What arms did at the same seeds, and whether they differ.

    Attributes
    ----------
    task, about : str
        What was trained, in a word and in a line.
    measure : Measure
        What a score is.
    arms, conditions : tuple of str
        What is compared, and under which circumstances.
    baseline, pairs : str
        What arms are compared with: "baseline", or each with each: "all".
    alpha : float
        The level of the verdicts.
    seeds : tuple of int
        That all arms were trained with, and that nothing was chosen by.
    settings : mapping
        What all trials had in common.
    choices : tuple of Choice
        How learning rates were chosen; empty where they were given.
    outcomes : tuple of Outcome
        Every reported trial.
    summaries : tuple of Summary
        One for each arm under each condition.
    differences : tuple of Difference
        The comparisons with their verdicts.
    notes : tuple of str
        What whoever planned it wants said.
    """

    schema: ClassVar[str] = "softgate.comparison"

    task: str
    about: str
    measure: Measure
    arms: tuple[str, ...]
    conditions: tuple[str, ...]
    baseline: str
    pairs: Pairs
    alpha: float
    seeds: tuple[int, ...]
    settings: Mapping[str, Setting]
    choices: tuple[Choice, ...]
    outcomes: tuple[Outcome, ...]
    summaries: tuple[Summary, ...]
    differences: tuple[Difference, ...]
    notes: tuple[str, ...]

    @classmethod
    def of(  # noqa: PLR0913  (settings of one study, by keyword)
        cls,
        outcomes: Iterable[Outcome],
        *,
        measure: Measure,
        arms: Sequence[str] | None = None,
        conditions: Sequence[str] | None = None,
        baseline: str | None = None,
        pairs: Pairs = "baseline",
        alpha: float = 0.05,
        about: str = "",
        notes: Sequence[str] = (),
    ) -> Comparison:
        """Return what follows from outcomes.

        Parameters
        ----------
        outcomes : iterable of Outcome
            Tuning and reported trials, in any order.
        measure : Measure
            What a score is.
        arms, conditions : sequence of str, optional
            The order they are shown in; by default that in which they appear.
        baseline : str, optional
            The arm that others are compared with; by default the first.
        pairs : {"baseline", "all"}
            Whether arms are compared with the baseline alone, or each with each.
        alpha : float
            The level of the verdicts, after correction for all comparisons.
        about : str
            A line on data and model.
        notes : sequence of str
            What else should be said with the result.

        Raises
        ------
        ValueError
            If an arm lacks a reported outcome at a seed under a condition, or has two.
        """
        given = list(outcomes)
        reported = [one for one in given if one.trial.role == "reported"]
        if not reported:
            raise ValueError("there are no reported outcomes: expected one per arm and seed")
        arms = tuple(arms or dict.fromkeys(one.trial.arm for one in reported))
        conditions = tuple(conditions or dict.fromkeys(one.trial.condition for one in reported))
        baseline = baseline or arms[0]
        _check(arms, baseline, pairs, alpha)
        seeds = tuple(sorted({one.trial.seed for one in reported}))
        results = _results(reported, conditions, arms, seeds)
        return cls(
            task=reported[0].trial.task,
            about=about,
            measure=measure,
            arms=arms,
            conditions=conditions,
            baseline=baseline,
            pairs=pairs,
            alpha=alpha,
            seeds=seeds,
            settings=_common(reported),
            choices=_choices(given, conditions, arms, measure),
            outcomes=tuple(one for cell in results.values() for one in cell),
            summaries=tuple(
                summarise(cell, results[condition, baseline], measure, 1 - alpha)
                for (condition, _), cell in results.items()
            ),
            differences=differences(
                results, conditions, arms, baseline, measure, pairs=pairs, alpha=alpha
            ),
            notes=tuple(notes),
        )

    @property
    def summary(self) -> list[str]:
        """What this shows, in sentences."""
        return sentences(self)

    @property
    def best(self) -> BestPossible | None:
        """What so many seeds can show at best; None where nothing is compared."""
        if not self.differences:
            return None
        return best_possible(len(self.seeds), len(self.differences), self.alpha)

    @property
    def places(self) -> tuple[Place, ...]:
        """The machines that trials ran on."""
        return tuple(dict.fromkeys(one.place for one in self.outcomes))

    @cached_property
    def numerals(self) -> Numerals:
        """How scores are written."""
        found = [one.interval for one in self.differences if one.interval is not None]
        reach = [(one.high - one.low) / 2 for one in found]
        return Numerals.of(self.measure, reach, [one.sd for one in self.summaries])

    @property
    def level(self) -> str:
        """What intervals hold, in words."""
        return f"{100 * (1 - self.alpha):g} % interval"

    def of_cell(self, condition: str, arm: str) -> list[Outcome]:
        """Return the reported outcomes of an arm under a condition, in the order of the seeds."""
        cell = (condition, arm)
        return [one for one in self.outcomes if (one.trial.condition, one.trial.arm) == cell]

    def grids(self) -> tuple[Grid, ...]:
        """Return scores, differences with verdicts, how rates were chosen, and all in words."""
        lines = tuple(
            ("\n".join(wrap(line, WIDTH, initial_indent="- ", subsequent_indent="  ")),)
            for line in self.summary
        )
        found = [summary_grid(self)]
        if self.differences:
            found.append(difference_grid(self))
        if self.choices:
            found.append(rate_grid(self))
        return (*found, Grid("", ("what this shows",), lines, text=True))

    def table(self) -> tuple[tuple[str, ...], list[tuple[Cell, ...]]]:
        """Return a row for each trial; of tuning trials only what they were judged by."""
        header, _ = self.outcomes[0].table()
        rows = [row for one in self.outcomes for row in one.table()[1]]
        for choice in self.choices:
            by = choice.by.replace(" ", "_")
            for one in choice.trials:
                cells: dict[str, Cell] = {
                    "task": self.task, "condition": choice.condition, "arm": choice.arm,
                    "seed": one.seed, "role": "tuning", "lr": one.lr, "status": one.status,
                    by: one.value,
                }  # fmt: skip
                rows.append(tuple(cells.get(name) for name in header))
        return header, rows

    def figure(self, width: float = 11.0) -> Chart:
        """Return learning curves, scores and differences as a matplotlib figure, inches wide."""
        from .plots import draw

        return draw(self, width)

    def save(self, file: str | os.PathLike[str], width: float = 11.0) -> None:
        """Write the figure to an SVG, PNG or PDF file."""
        from softgate.plotting.figure import file_format, save

        path = Path(file)
        kind = file_format(path)
        save(self.figure(width), path, kind)

    def _repr_html_(self) -> str:
        try:
            drawn = self.figure()._repr_svg_()
        except ModuleNotFoundError as error:
            if (error.name or "").partition(".")[0] != "matplotlib":
                raise
            drawn = ""  # tables say the same
        return drawn + super()._repr_html_()


def _check(arms: tuple[str, ...], baseline: str, pairs: str, alpha: float) -> None:
    check_alpha(alpha)
    if baseline not in arms:
        raise ValueError(f"the baseline {baseline!r} is no arm: expected one of {', '.join(arms)}")
    if pairs not in ("baseline", "all"):
        raise ValueError(f"pairs = {pairs!r}: expected 'baseline' or 'all'")


def _results(
    reported: list[Outcome],
    conditions: tuple[str, ...],
    arms: tuple[str, ...],
    seeds: tuple[int, ...],
) -> Results:
    """Return outcomes by condition and arm, in the order of the seeds: each there, and once."""
    cells = [(one.trial.condition, one.trial.arm, one.trial.seed) for one in reported]
    wanted = [(c, a, s) for c in conditions for a in arms for s in seeds]
    found = Counter(cells)
    for cell in dict.fromkeys([*wanted, *cells]):
        if found[cell] != 1 or cell not in wanted:
            condition, arm, seed = cell
            where = f"{arm} at seed {seed}{f' with {condition}' if condition else ''}"
            expected = "one for each arm, condition and seed, and no others"
            raise ValueError(f"{where} has {found[cell]} reported outcomes: expected {expected}")
    by_cell = dict(zip(cells, reported, strict=True))
    return {(c, a): [by_cell[c, a, s] for s in seeds] for c in conditions for a in arms}


def _common(reported: list[Outcome]) -> dict[str, Setting]:
    first, *others = (one.trial.settings for one in reported)
    return {
        name: value
        for name, value in first.items()
        if all(name in other and other[name] == value for other in others)
    }


def _choices(
    given: list[Outcome], conditions: tuple[str, ...], arms: tuple[str, ...], measure: Measure
) -> tuple[Choice, ...]:
    tuning = [one for one in given if one.trial.role == "tuning"]
    cells: dict[tuple[str, str], list[Outcome]] = {}
    for one in tuning:
        cells.setdefault((one.trial.condition, one.trial.arm), []).append(one)
    return tuple(
        Choice.of(arm, condition, cells[condition, arm], measure)
        for condition in conditions
        for arm in arms
        if (condition, arm) in cells
    )
