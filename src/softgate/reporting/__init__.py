"""`report`: run the studies and put what they found on one page.

A study that fails leaves its section with the reason, and the rest stands. Records can be kept and
shown again: what is drawn is a record, never a number at hand.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping
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
from softgate.runtime.records import Record
from softgate.runtime.registry import activations, label
from softgate.studies.bench import bench
from softgate.studies.bench.layer import Layer
from softgate.studies.bench.layer_study import measure_layer
from softgate.studies.bench.pareto import Pareto
from softgate.studies.bench.record import Bench
from softgate.studies.compare.record import Comparison
from softgate.studies.peers import absent
from softgate.studies.properties import PropertyTable, named, properties

from .page import page
from .playground import playground
from .section import Found, Missing, Section
from .sections import sections
from .sections.answer import answers
from .studies.about import About
from .studies.accuracy import PEERS, Accuracy, accuracy
from .studies.approximation import Approximations, approximations
from .studies.articles import Articles, articles
from .studies.curves import Curves, curves
from .studies.own_model import Own, own_model
from .studies.pareto import pareto
from .studies.training import training
from .studies.units import UnitStudy, units

TITLE = "softgate report"
BUDGET_S = 75.0
"""Seconds that certificates may take; times take half of that, all else some 60 more."""
SPARE_S = 60.0
"""Seconds that all else may take before fewer certificates are made: with these two, and some ten
to draw the page, a report ends in under three minutes on two cores."""
SHARES = {"speed": 0.35, "layer": 0.15, "accuracy": 1.0}
"""How much of the budget a study has."""
TIMED = ("gelu", "gelu_tanh", "gelu_sigmoid", "silu", "relu", "elu", "tanh", "sigmoid", "mish")
LAYERS = ("relu", "gelu", "gelu_tanh", "silu")
SIZE, TOKENS = "64K", 128
"""Elements that are timed, and rows of a layer's input: small, so that all take many turns."""

FORMULAS = "formulas"
"""The study of the user's own formulas: too involved a one must not take the others with it."""

KINDS: dict[str, type[Record]] = {
    "curves": Curves,
    "properties": PropertyTable,
    "formulas": PropertyTable,
    "approximation": Approximations,
    "articles": Articles,
    "speed": Bench,
    "layer": Layer,
    "units": UnitStudy,
    "training": Comparison,
    "accuracy": Accuracy,
    "pareto": Pareto,
    "about": About,
}
"""What is kept in files, by the study's name."""

Progress = Callable[[str, int, int, str], None]
"""Called with a study, its number, how many there are, and what it is doing."""


@dataclass(frozen=True)
class Report:
    """A page, and the records that it shows.

    Printed, it is the answer in five lines; `html` is the page, which `save` writes to a file.
    """

    found: Found

    @cached_property
    def sections(self) -> tuple[Section, ...]:
        """What stands on the page."""
        return tuple(sections(self.found))

    @cached_property
    def html(self) -> str:
        """The page."""
        try:
            about = str(self.found.take("about", About).machine)
        except Missing:
            about = ""
        return page(self.sections, TITLE, about)

    @property
    def missing(self) -> tuple[Missing, ...]:
        """The studies that have no record, and why."""
        return tuple(one for one in self.found.records.values() if isinstance(one, Missing))

    @property
    def empty(self) -> bool:
        """Whether every study failed."""
        return all(
            isinstance(self.found.records.get(n), Missing | None) for n in KINDS if n != "about"
        )

    def __str__(self) -> str:
        lines = [unescape(sub("<sup>(.*?)</sup>", r"^\1", line)) for line in answers(self.found)]
        plain = [sub("<[^>]*>", "", line).replace("\u2009", " ") for line in lines]
        return "\n".join(f"{i}. {line}" for i, line in enumerate(plain, 1))

    def save(self, file: str | os.PathLike[str]) -> None:
        """Write the page: whole, or not at all."""
        write(Path(file), self.html)

    def save_records(self, folder: str | os.PathLike[str]) -> None:
        """Write each record to a file of its own, which `read` takes."""
        place = Path(folder)
        place.mkdir(parents=True, exist_ok=True)
        for name in KINDS:
            record = self.found.records.get(name)
            if isinstance(record, Record):
                write(place / f"{name}.json", record.to_json())


def report(
    formulas: Activation | str | Iterable[Activation | str] = (),
    *,
    model: Any = None,
    data: Any = None,
    budget_s: float = BUDGET_S,
    command: str = "softgate report",
    progress: Progress | None = None,
) -> Report:
    """Run the studies on this machine and return the page.

    Parameters
    ----------
    formulas : Activation, or several
        Formulas of your own (see `activation`), shown beside the catalogue's.
    model : str or torch.nn.Module, optional
        A model of your own, whose units are looked at in place of a small network's: a module, or
        what `softgate diagnose` takes, a folder or module:function.
    data : path or iterable, optional
        What the model is run on: a file that `softgate diagnose` takes, or batches.
    budget_s : float
        Seconds that certificates may take; times take half of that. What is left out is said.
    command : str
        What the page says how to make it again.
    progress : callable, optional
        Called with a study, its number, how many there are, and what it is doing.

    Returns
    -------
    Report
        Printed, it is the answer in five lines. `save` writes the page, one HTML file.

    Notes
    -----
    Needs vl-convert-python, which draws: pip install 'softgate[report]'.

    Examples
    --------
    Two minutes or so:

    >>> import softgate as sg
    >>> sg.report().save("report.html")  # doctest: +SKIP
    """
    if not budget_s > 0:
        raise ValueError(f"budget_s = {budget_s!r}: expected a number of seconds above 0")
    vega.library("report")  # before minutes of measuring
    given = [formulas] if isinstance(formulas, Activation | str) else list(formulas)
    own = _told_apart(map(named, given))
    run = _Run(own, budget_s, progress, own_model(model, data))
    for study in run.names():
        run.study(study, STUDIES[study])
    when = datetime.now(UTC).isoformat(sep=" ", timespec="seconds")
    run.found["about"] = About(this_machine(), __version__, command, when, run.seconds)
    return Report(Found(run.found))


def read(folder: str | os.PathLike[str], formulas: Iterable[Activation] = ()) -> Report:
    """Return the page of records kept before; a file that cannot be read leaves its section so."""
    place = Path(folder)
    if not place.is_dir():
        raise ValueError(f"{place} is no folder: expected one with records, such as speed.json")
    vega.library("report")
    own = _told_apart(formulas)
    kept = [name for name in KINDS if name != FORMULAS or (place / f"{name}.json").exists()]
    found: dict[str, Record | Missing] = {name: _read(place, name) for name in kept}
    found["playground"] = playground(own)  # code, and no file is trusted with that
    return Report(Found(found))


def _told_apart(formulas: Iterable[Activation]) -> tuple[Activation, ...]:
    """Return formulas; ValueError where one has a name that the page knows another function by."""
    taken, own = set(activations()), tuple(formulas)
    for one in own:
        called = label(one) if one.entry.user is None else one.name
        if called in taken:
            raise ValueError(
                f"the formula {called}: there is another function of that name on the page; give "
                f"yours a name of its own, as in @softgate.activation(name='my_{one.name}')"
            )
        taken.add(called)
    return own


def _read(folder: Path, name: str) -> Record | Missing:
    file = folder / f"{name}.json"
    if not file.exists():
        return Missing(name, f"there is no {file}")
    try:
        return KINDS[name].from_json(file.read_text(encoding="utf-8"))
    # What is in the file may be anything: of another version, cut short, or no record at all.
    except (ValueError, TypeError, KeyError, AttributeError, StopIteration, OSError) as error:
        return Missing(name, f"{file} cannot be shown: {error}")


def write(file: Path, text: str) -> None:
    """Write a file: whole, or not at all."""
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


class _Run:
    """One run of all studies."""

    def __init__(
        self,
        own: tuple[Activation, ...],
        budget_s: float,
        progress: Progress | None,
        model: Own | None = None,
    ) -> None:
        self.own, self.budget_s, self.progress, self.model = own, budget_s, progress, model
        self.found: dict[str, Record | Missing] = {}
        self.seconds: dict[str, float] = {}
        self.name, self.start = "", time.perf_counter()

    def names(self) -> list[str]:
        """Return the studies to run."""
        return [name for name in STUDIES if self.own or name != FORMULAS]

    def study(self, name: str, study: Callable[[_Run], Record]) -> None:
        """Run one study; what it throws becomes the reason that it has no record."""
        self.name = name
        self.step("", 0, 0)
        start = time.perf_counter()
        try:
            self.found[name] = study(self)
        except Missing as missing:
            self.found[name] = Missing(name, f"it needs {missing}")
        except Exception as error:  # frameworks and users' formulas may throw anything
            told = (
                str(error) if isinstance(error, ImportError) else f"{type(error).__name__}: {error}"
            )
            self.found[name] = Missing(name, told)
        self.seconds[name] = time.perf_counter() - start

    def step(self, what: str, done: int, total: int) -> None:
        """Tell how far the study is."""
        if self.progress is not None:
            names = self.names()
            detail = f"{what} ({done}/{total})" if what and total else what
            self.progress(self.name, names.index(self.name) + 1, len(names), detail)

    def budget(self) -> float:
        """Return the seconds of the study that is running."""
        return self.budget_s * SHARES[self.name]

    def certify(self) -> Accuracy:
        """Certify as many as the time allows, of which a busy machine may have taken some."""
        left = self.start + self.budget_s + SPARE_S - time.perf_counter()
        budget_s = max(1.0, min(self.budget(), left))
        return accuracy(self.own, budget_s=budget_s, progress=self.step)

    def speed(self) -> Bench:
        """Time the usual functions and the user's."""
        return bench(
            [*TIMED, *self.own],
            peers=[name for name in PEERS if not absent(name)] or "none",
            sizes=SIZE,
            budget_s=self.budget(),
            progress=self.step,
        )

    def layer(self) -> Layer:
        """Time layers with the usual functions and the user's."""
        return measure_layer(
            [*LAYERS, *self.own], tokens=TOKENS, budget_s=self.budget(), progress=self.second
        )

    def second(self, what: str, done: float, total: float) -> None:
        """Tell of a study that counts seconds."""
        self.step(f"{what}, {done:.0f} of {total:.0f} s", 0, 0)

    @property
    def taken(self) -> Found:
        """What was found so far."""
        return Found(self.found)


STUDIES: Mapping[str, Callable[[_Run], Record]] = {
    "curves": lambda run: curves([*activations().values(), *run.own]),
    "properties": lambda run: properties(*activations().values()),
    "formulas": lambda run: properties(*run.own),
    "approximation": lambda run: approximations(run.own),
    "articles": lambda run: articles(run.taken.take("approximation", Approximations), run.own),
    "playground": lambda run: playground(run.own),
    "units": lambda run: units(run.model, run.step),
    "training": lambda run: training(run.step),
    "speed": _Run.speed,
    "layer": _Run.layer,
    "accuracy": _Run.certify,
    "pareto": lambda run: pareto(
        run.taken.take("speed", Bench), run.taken.take("accuracy", Accuracy)
    ),
}
"""The studies in their order: what only computes first, then what is timed."""
