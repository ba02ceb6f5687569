"""`report`: run the studies and show their records on one HTML page.

A study that fails leaves its section with the reason; the others are shown. The page is made from
records alone, so records that were saved can be shown again.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from html import unescape
from math import inf
from pathlib import Path
from re import sub
from typing import Any

from softgate import __version__
from softgate.plotting import vega
from softgate.records.files import file_format, output_path, read_text, write_file
from softgate.records.packages import explained, is_missing
from softgate.records.record import Record, parse_json
from softgate.records.text import printable
from softgate.runtime.activation import Activation
from softgate.runtime.machine import this_machine
from softgate.runtime.registry import activations, label
from softgate.studies.subjects.resolved import activation, several

from .elements import MissingRecord, R, Results, Section
from .page import render_page
from .sections import FORMULAS, RECORDS, STUDIES, build_sections
from .sections.about import About
from .sections.answer import answers
from .sections.playground import playground
from .sections.units import LoadedModel, load_user_model

TITLE = "softgate report"
FORMATS = ("html", "json")
"""The extensions that `Report.save` accepts."""
BUDGET_S = 75.0
"""Seconds for certificates; timing takes 60 % of that, everything else about 60 s more."""
SPARE_S = 60.0
"""Seconds for other studies; if they take longer, certificates have less time. With both and 10 s
to draw the page, a report takes less than three minutes on two cores."""
SHARES = {"speed": 0.35, "inside": 0.1, "layer": 0.15, "accuracy": 1.0}
"""The share of the budget for each timed study."""

ReportProgress = Callable[[str, int, int, str], None]
"""Called with a study, its number, the number of studies, and its current step."""


@dataclass(frozen=True)
class Report:
    """A page and the records that it shows.

    `print` shows the answer in five lines; `html` is the page, which `save` writes to a file.
    """

    results: Results

    @cached_property
    def sections(self) -> tuple[Section, ...]:
        """The sections in the order of the page."""
        return tuple(build_sections(self.results))

    @cached_property
    def html(self) -> str:
        """The page."""
        about = self.results.records.get("about")
        subtitle = str(about.machine) if isinstance(about, About) else ""
        return render_page(self.sections, TITLE, subtitle)

    @property
    def missing(self) -> tuple[MissingRecord, ...]:
        """The studies that have no record, with the reasons."""
        return tuple(r for r in self.results.records.values() if isinstance(r, MissingRecord))

    @property
    def empty(self) -> bool:
        """Whether every study failed."""
        records = self.results.records
        return not any(isinstance(records.get(n), Record) for n in RECORDS if n != "about")

    def __str__(self) -> str:
        lines = [unescape(sub("<sup>(.*?)</sup>", r"^\1", line)) for line in answers(self.results)]
        plain = [sub("<[^>]*>", "", line).replace("\u2009", " ") for line in lines]
        return printable("\n".join(f"{i}. {line}" for i, line in enumerate(plain, 1)))

    def to_dict(self) -> dict[str, Any]:
        """Return the records by the names of their studies, as dictionaries."""
        records = {name: self.results.records.get(name) for name in RECORDS}
        return {name: r.to_dict() for name, r in records.items() if isinstance(r, Record)}

    def to_json(self, indent: int | None = None) -> str:
        """Return the records as strict JSON, which `read` takes."""
        return json.dumps(self.to_dict(), indent=indent, ensure_ascii=False, allow_nan=False)

    def save(self, file: str | os.PathLike[str]) -> None:
        """Write the page to an .html file, or the records to a .json file."""
        path = output_path(file, FORMATS)
        write_file(path, self.html if file_format(path) == "html" else self.to_json())


@dataclass
class ReportRun:
    """One run of all studies; if a study raises, the reason is recorded in place of its record."""

    formulas: Sequence[Activation]
    budget_s: float
    progress: ReportProgress | None
    model: LoadedModel | None = None
    records: dict[str, Record | MissingRecord] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    name: str = ""
    """The running study."""

    def __post_init__(self) -> None:
        self.start = time.perf_counter()
        self.names = [name for name in STUDIES if self.formulas or name != FORMULAS]

    def run(self) -> None:
        """Run all studies in their order."""
        for name in self.names:
            self.name = name
            self.step("", 0, 0)
            start = time.perf_counter()
            self.records[name] = self._record(STUDIES[name])
            self.seconds[name] = time.perf_counter() - start

    def _record(self, study: Callable[[ReportRun], Record]) -> Record | MissingRecord:
        try:
            return study(self)
        except MissingRecord as missing:
            return MissingRecord(self.name, f"needs {missing}", skipped=missing.skipped)
        except ImportError as error:
            return MissingRecord(self.name, explained(error), skipped=is_missing(error))
        except Exception as error:  # frameworks and users' formulas may raise anything
            return MissingRecord(self.name, f"{type(error).__name__}: {error}")

    def take(self, study: str, kind: type[R]) -> R:
        """Return the record of an earlier study; raise `MissingRecord` if there is none."""
        return Results(self.records).take(study, kind)

    def step(self, what: str, done: int, total: int) -> None:
        """Report the progress of the running study."""
        if self.progress is not None:
            detail = f"{what} ({done}/{total})" if what and total else what
            self.progress(self.name, self.names.index(self.name) + 1, len(self.names), detail)

    def step_seconds(self, what: str, done: float, total: float) -> None:
        """Report the progress of a study that counts seconds."""
        self.step(f"{what}, {done:.0f} of {total:.0f} s", 0, 0)

    def budget(self) -> float:
        """Return the seconds for the running study."""
        return self.budget_s * SHARES[self.name]

    def remaining(self) -> float:
        """Return the seconds for the last study; fewer if the other studies took longer."""
        left = self.start + self.budget_s + SPARE_S - time.perf_counter()
        return max(1.0, min(self.budget(), left))


def report(
    formula: str | Callable[..., Any] | Iterable[str | Callable[..., Any]] = (),
    *,
    model: Any = None,
    data: Any = None,
    trust: bool = False,
    budget: float = BUDGET_S,
    command: str = "softgate report",
    progress: ReportProgress | None = None,
) -> Report:
    """Run the studies on this machine and return the page.

    Parameters
    ----------
    formula : str or callable, or several
        User-defined formulas (see `activation`), shown beside those of the catalogue; also as
        "module:function" or "file.py:function".
    model : str, callable or torch.nn.Module, optional
        A model to diagnose instead of a small network, as in `softgate.torch.diagnose`: a module, a
        folder, "module:function" or "file.py:function".
    data : path, callable or iterable, optional
        The inputs of the model, as in `softgate.torch.diagnose`: a file, "module:function",
        "file.py:function", or batches.
    trust : bool
        Whether Python code in the folder of a model may run.
    budget : float
        Seconds for certificates; timing takes 60 % of that. The page lists what was left out.
    command : str
        The command that reproduces the page, which shows it.
    progress : callable, optional
        Called with a study, its number, the number of studies, and its current step.

    Returns
    -------
    Report
        `print` shows the answer in five lines. `save` writes the page, one HTML file.

    Raises
    ------
    ValueError
        If `budget` is not positive or is infinite, if `model` and `data` are not given together,
        or if a formula has the name of another function on the page.
    ImportError
        If vl-convert-python, which draws the charts, is not installed: pip install
        'softgate[report]'.

    Examples
    --------
    Takes about two minutes:

    >>> import softgate as sg
    >>> sg.report().save("report.html")  # doctest: +SKIP
    """
    if not 0 < budget < inf:
        raise ValueError(f"budget = {budget!r}: expected a number of seconds above 0")
    vega.library("report")  # before any study: it raises if vl-convert is not installed
    named_formulas = _unambiguous(map(activation, several(formula)))
    run = ReportRun(named_formulas, budget, progress, load_user_model(model, data, trust=trust))
    run.run()
    when = datetime.now(UTC).isoformat(sep=" ", timespec="seconds")
    name = "" if run.model is None else run.model.name
    about = About(this_machine(), __version__, command, when, run.seconds, name)
    return Report(Results(run.records | {"about": about}))


def read(records: str | os.PathLike[str], formulas: Iterable[Activation] = ()) -> Report:
    """Return the page of saved records, the .json file of a report.

    If a record cannot be read, its section shows the reason.
    """
    file = Path(records)
    vega.library("report")
    named_formulas = _unambiguous(formulas)
    try:
        content = parse_json(read_text(file))
    except ValueError as error:
        raise ValueError(f"{file} is not the .json file of a report: {error}") from None
    if not isinstance(content, dict) or not content.keys() & RECORDS.keys():
        raise ValueError(f"{file} is not the .json file of a report: expected its records by name")
    shown: dict[str, Record | MissingRecord] = {
        name: _read(name, content, file) for name in RECORDS if name != FORMULAS or name in content
    }
    shown["playground"] = playground(named_formulas)  # code is never read from a file
    return Report(Results(shown))


def _read(name: str, content: dict[str, Any], file: Path) -> Record | MissingRecord:
    """Return a record of a report's file, or the reason why there is none."""
    if name not in content:
        return MissingRecord(name, f"it is not in {file}")
    try:
        return RECORDS[name].from_json(json.dumps(content[name]))
    except ValueError as error:  # of another version, or damaged
        return MissingRecord(name, f"{file} cannot be shown: {error}")


def _unambiguous(formulas: Iterable[Activation]) -> tuple[Activation, ...]:
    """Return the formulas; raise ValueError if one has the name of another function on the page."""
    taken, formulas = set(activations()), tuple(formulas)
    for formula in formulas:
        name = label(formula) if formula.entry.user is None else formula.name
        if name in taken:
            raise ValueError(
                f"the formula {name}: another function on the page has that name; choose a "
                f"different one, as in @softgate.activation(name='my_{formula.name}')"
            )
        taken.add(name)
    return formulas
