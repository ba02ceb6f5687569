"""`report`: run the studies and show their records on one HTML page.

A study that fails leaves its section with the reason; the others are shown. The page is made from
records alone, so records that were saved can be shown again.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from html import unescape
from pathlib import Path
from re import sub
from tempfile import NamedTemporaryFile
from typing import Any

from softgate import __version__
from softgate.plotting import vega
from softgate.runtime.activation import Activation
from softgate.runtime.machine import this_machine
from softgate.runtime.names import activation
from softgate.runtime.records import Record
from softgate.runtime.registry import activations, label

from .page import render_page
from .run import BUDGET_S, ReportProgress, Run
from .section import Missing, Results, Section
from .sections import FORMULAS, RECORDS, build_sections
from .sections.about import About
from .sections.answer import answers
from .sections.playground import playground
from .sections.units import load_user_model

TITLE = "softgate report"


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
    def missing(self) -> tuple[Missing, ...]:
        """The studies that have no record, with the reasons."""
        return tuple(r for r in self.results.records.values() if isinstance(r, Missing))

    @property
    def empty(self) -> bool:
        """Whether every study failed."""
        records = self.results.records
        return not any(isinstance(records.get(n), Record) for n in RECORDS if n != "about")

    def __str__(self) -> str:
        lines = [unescape(sub("<sup>(.*?)</sup>", r"^\1", line)) for line in answers(self.results)]
        plain = [sub("<[^>]*>", "", line).replace("\u2009", " ") for line in lines]
        return "\n".join(f"{i}. {line}" for i, line in enumerate(plain, 1))

    def save(self, file: str | os.PathLike[str]) -> None:
        """Write the page to a file, atomically."""
        write(Path(file), self.html)

    def save_records(self, folder: str | os.PathLike[str]) -> None:
        """Write each record to a JSON file in a folder, which `read` takes."""
        place = Path(folder)
        place.mkdir(parents=True, exist_ok=True)
        for name in RECORDS:
            record = self.results.records.get(name)
            if isinstance(record, Record):
                write(place / f"{name}.json", record.to_json())


def report(
    formulas: Activation | str | Iterable[Activation | str] = (),
    *,
    model: Any = None,
    data: Any = None,
    budget_s: float = BUDGET_S,
    command: str = "softgate report",
    progress: ReportProgress | None = None,
) -> Report:
    """Run the studies on this machine and return the page.

    Parameters
    ----------
    formulas : Activation, or several
        User-defined formulas (see `activation`), shown beside those of the catalogue.
    model : str or torch.nn.Module, optional
        A model to diagnose instead of a small network: a module, or a target of `softgate
        diagnose`, a folder or module:function.
    data : path or iterable, optional
        The inputs of the model: a file that `softgate diagnose` takes, or batches.
    budget_s : float
        Seconds for certificates; timing takes half of that. The page lists what was left out.
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
        If `budget_s` is not positive, if `model` and `data` are not given together, or if a
        formula has the name of another function on the page.
    ImportError
        If vl-convert-python, which draws the charts, is not installed: pip install
        'softgate[report]'.

    Examples
    --------
    Takes about two minutes:

    >>> import softgate as sg
    >>> sg.report().save("report.html")  # doctest: +SKIP
    """
    if not budget_s > 0:
        raise ValueError(f"budget_s = {budget_s!r}: expected a number of seconds above 0")
    vega.library("report")  # before any study: it raises if vl-convert is not installed
    several = [formulas] if isinstance(formulas, Activation | str) else formulas
    run = Run(
        _unambiguous(map(activation, several)), budget_s, progress, load_user_model(model, data)
    )
    run.run()
    when = datetime.now(UTC).isoformat(sep=" ", timespec="seconds")
    about = About(this_machine(), __version__, command, when, run.seconds)
    return Report(Results(run.records | {"about": about}))


def read(folder: str | os.PathLike[str], formulas: Iterable[Activation] = ()) -> Report:
    """Return the page of saved records; if a file cannot be read, its section shows the reason."""
    place = Path(folder)
    if not place.is_dir():
        raise ValueError(f"{place} is not a folder: expected one with records, such as speed.json")
    vega.library("report")
    named_formulas = _unambiguous(formulas)
    names = [name for name in RECORDS if name != FORMULAS or (place / f"{name}.json").exists()]
    records: dict[str, Record | Missing] = {name: _read(place, name) for name in names}
    records["playground"] = playground(
        named_formulas
    )  # contains code, which is never read from a file
    return Report(Results(records))


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


def _read(folder: Path, name: str) -> Record | Missing:
    file = folder / f"{name}.json"
    if not file.exists():
        return Missing(name, f"{file} does not exist")
    try:
        return RECORDS[name].from_json(file.read_text(encoding="utf-8"))
    # The file may be of another version, truncated, or not a record at all.
    except (ValueError, TypeError, KeyError, AttributeError, StopIteration, OSError) as error:
        return Missing(name, f"{file} cannot be shown: {error}")


def write(file: Path, text: str) -> None:
    """Write a text file atomically: on failure the old file, if any, is unchanged."""
    with NamedTemporaryFile(
        "w", encoding="utf-8", dir=file.absolute().parent, prefix=f".{file.name}.", delete=False
    ) as part:
        try:
            part.write(text)
            part.close()
            mask = os.umask(0)
            os.umask(mask)
            Path(part.name).chmod(0o666 & ~mask)
            Path(part.name).replace(file)
        except BaseException:
            Path(part.name).unlink(missing_ok=True)
            raise
