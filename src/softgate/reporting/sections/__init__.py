"""The sections of the page, one module each: its record and study, if it has one, and its view.

To add a section, write a module with `TITLE` and `section(results)` and list it in `MODULES`. If it
has a study, list that in `STUDIES`, and in `RECORDS` if its record can be read from a file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from softgate.records.record import Record
from softgate.runtime.registry import activations
from softgate.studies.bench.layer_record import Layer
from softgate.studies.bench.pareto_record import Pareto
from softgate.studies.bench.record import Bench
from softgate.studies.compare.record import Comparison
from softgate.studies.properties import PropertyTable, properties

from ..elements import MissingRecord, Results, Section, failure
from . import (
    about,
    accuracy,
    answer,
    approximation,
    curves,
    layer,
    playground,
    speed,
    tables,
    training,
    units,
)

if TYPE_CHECKING:
    from .. import ReportRun

MODULES = {
    module.__name__.rpartition(".")[2]: module
    for module in (
        answer, curves, tables, approximation, accuracy, speed, layer, units, training, playground,
        about,
    )
}  # fmt: skip
"""Modules by their name, which is the id of their section, in the order of the page."""

FORMULAS = "formulas"
"""Properties of the user's formulas, a separate study: if it fails, `properties` must not."""

STUDIES: Mapping[str, Callable[[ReportRun], Record]] = {
    "curves": lambda run: curves.curves([*activations().values(), *run.formulas]),
    "properties": lambda run: properties(*activations().values()),
    "formulas": lambda run: properties(*run.formulas),
    "approximation": lambda run: approximation.approximations(run.formulas),
    "articles": lambda run: tables.articles(
        run.take("approximation", approximation.Approximations), run.formulas
    ),
    "playground": lambda run: playground.playground(run.formulas),
    "units": lambda run: units.units(run.model, run.step),
    "training": lambda run: training.training(run.step),
    "speed": lambda run: speed.speed(run.formulas, run.budget(), run.step),
    "inside": lambda run: speed.inside(run.budget(), run.step),
    "layer": lambda run: layer.layer(run.formulas, run.budget(), run.step_seconds),
    "accuracy": lambda run: accuracy.accuracy(
        run.formulas, budget_s=run.remaining(), progress=run.step
    ),
    "pareto": lambda run: speed.pareto(
        run.take("speed", Bench), run.take("accuracy", accuracy.AccuracyStudy)
    ),
}
"""The studies in their order: those that only compute first, then those that are timed."""

RECORDS: dict[str, type[Record]] = {
    "curves": curves.Curves,
    "properties": PropertyTable,
    "formulas": PropertyTable,
    "approximation": approximation.Approximations,
    "articles": tables.Articles,
    "speed": Bench,
    "inside": Bench,
    "layer": Layer,
    "units": units.UnitStudy,
    "training": Comparison,
    "accuracy": accuracy.AccuracyStudy,
    "pareto": Pareto,
    "about": about.About,
}
"""The type of each study's record; files are named after the study."""


def build_sections(results: Results) -> list[Section]:
    """Return all sections; one without its record shows the reason."""
    return [build_section(name, results) for name in MODULES]


def build_section(name: str, results: Results) -> Section:
    """Return the section of a module, or one that shows why it has no content."""
    module = MODULES[name]
    try:
        section: Section = module.section(results)
    except MissingRecord as missing:
        return failure(name, module.TITLE, missing)
    except Exception as error:  # the fields of a record from a file may hold anything
        reason = f"its record cannot be shown: {type(error).__name__}: {error}"
        return failure(name, module.TITLE, MissingRecord(name, reason))
    return section
