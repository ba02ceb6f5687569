"""A user's own training loop: `train.py:run(activation, seed, report)`.

The script is read here and run elsewhere. Its text travels along: where the file is not there, on
another machine, the text is; where the file has changed meanwhile, that is said, because a trial's
key stands for what the script was.
"""

from __future__ import annotations

import importlib.util
import platform
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from softgate.frameworks.block_arguments import unknown

from ..subjects.description import literal
from . import sourcecode
from .loaders import split_place
from .outcome import Measured
from .reports import Report
from .tasks.fingerprint import fingerprint
from .trainable import USUAL_ARMS, Measure, Told, Work
from .trial import Setting, Trial

KINDS = (float, int, str, bool)
OURS = ("activation", "seed", "report", "lr", "validation")
"""Parameters of a script's function that a trial gives; all others are settings."""
RATES = (3e-4, 1e-3, 3e-3)

_copies: list[tempfile.TemporaryDirectory[str]] = []
"""Folders that are removed when this process ends."""


@dataclass(frozen=True, init=False)
class Script:
    """A function in a file.

    Parameters
    ----------
    place : str
        Such as "train.py:run"; run where no function is named.
    higher : bool
        Whether a higher score is better.
    score : str
        What the score is, for tables.
    **settings
        Further arguments of the function.

    Notes
    -----
    The function is called with `activation`, one of softgate's functions (`softgate.torch.make`
    makes a module of it), `seed`, and `report`, to be called as `report(step, loss)` now and then,
    with `validation=` too. If it has a parameter `lr` it is given a learning rate; if it has one
    named `validation`, that is true where a trial only chooses a rate and must not see test data.
    It returns its score, or a mapping with "score" and other figures.
    """

    name = "script"
    default_arms = USUAL_ARMS

    file: Path
    function: str
    texts: tuple[tuple[str, bytes], ...]
    """The script and the modules beside it that it imports, by their paths in its folder."""
    measure: Measure
    settings: Mapping[str, Setting] = field(hash=False)
    tuned: tuple[bool, bool]
    """Whether the function takes lr and validation."""

    def __init__(
        self, place: str, *, higher: bool | str = True, score: str = "score", **settings: Any
    ) -> None:
        path, name = split_place(place)
        file = Path(path).expanduser().resolve()
        if not file.is_file():
            raise FileNotFoundError(f"there is no file {path!r}: expected a script as train.py:run")
        found = sourcecode.function(file, name or "run")
        _check(place, found)
        if isinstance(higher, str):
            higher = _truth(higher)
        values = {
            "file": file,
            "function": name or "run",
            "texts": tuple(
                (one.relative_to(file.parent).as_posix(), one.read_bytes())
                for one in sourcecode.files(file)
            ),
            "measure": Measure(score, higher),
            "settings": _settings(place, found, settings),
            "tuned": ("lr" in found.names, "validation" in found.names),
        }
        for attribute, value in values.items():
            object.__setattr__(self, attribute, value)

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the script, of what it imports beside it, of ours and of versions."""
        ours = [Path(__file__), Path(__file__).with_name("reports.py")]
        texts = [part for name, text in self.texts for part in (name.encode(), text)]
        said = f"{self.function} {self.measure} {platform.python_version()}".encode()
        return fingerprint((), *texts, said, *(file.read_bytes() for file in ours))

    @property
    def rates(self) -> tuple[float, ...]:
        """The learning rates that are tried by default."""
        return RATES if self.tuned[0] else ()

    @property
    def conditions(self) -> tuple[tuple[str, Mapping[str, Setting]], ...]:
        """The circumstances: the script's own."""
        return (("", {}),)

    def arms(self, names: list[str]) -> list[tuple[str, str, Mapping[str, Setting]]]:
        """Return label, activation and settings of what is compared for these activations."""
        return [(name, name, {}) for name in names]

    def describe(self) -> str:
        """Say in a line what is trained."""
        return f"{self.file.name}:{self.function}, a training loop of your own"

    def notes(self, names: Sequence[str] = ()) -> list[str]:
        """Return what the script leaves to chance."""
        if self.tuned == (True, False):
            return [
                f"{self.function} has no parameter `validation`: rates are chosen by what it "
                "returns, on seeds that are not reported"
            ]
        return []

    def work(self) -> Work:
        """Return the function that runs a trial: the script is loaded."""
        if importlib.util.find_spec("torch"):
            import torch  # noqa: F401  (so that its generators are seeded for the first trial too)
        run, folder = self._load()

        def work(trial: Trial, told: Told) -> tuple[Measured, list[float]]:
            from .functions import function

            report = Report(told)
            tuning = trial.role == "tuning"
            given: dict[str, Any] = {name: trial.settings[name] for name in self.settings}
            if self.tuned[0]:
                given["lr"] = trial.lr
            if self.tuned[1]:
                given["validation"] = tuning
            sys.path.insert(0, folder)  # for what it imports when it runs; taken back afterwards
            returned = run(
                activation=function(trial.activation), seed=trial.seed, report=report, **given
            )
            return report.measured(returned, tuning), report.times

        return work

    def _load(self) -> tuple[Callable[..., Any], str]:
        file = self._present()
        name = f"softgate_script_{self.fingerprint}"
        spec = importlib.util.spec_from_file_location(name, file)
        assert spec is not None, "it is a Python file"
        assert spec.loader is not None, "it is a Python file"
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        sys.path.insert(0, str(file.parent))
        try:
            spec.loader.exec_module(module)
        finally:
            sys.path.remove(str(file.parent))
        return getattr(module, self.function), str(file.parent)

    def _present(self) -> Path:
        """Return the file: the user's where it is unchanged, a copy where there is none."""
        folder = self.file.parent
        if not self.file.is_file():
            held = tempfile.TemporaryDirectory(prefix="softgate-script-")
            _copies.append(held)
            folder = Path(held.name)
            for name, text in self.texts:
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                (folder / name).write_bytes(text)
            return folder / self.file.name
        for name, text in self.texts:
            file = folder / name
            if not file.is_file() or file.read_bytes() != text:
                raise ValueError(f"{name} has changed since the comparison began: run it again")
        return self.file


def _check(place: str, found: sourcecode.Function) -> None:
    missing = [name for name in OURS[:3] if name not in found.names and not found.takes_any]
    if missing:
        raise ValueError(
            f"{place} takes ({', '.join(found.names)}), and no {', '.join(missing)}: expected "
            "def run(activation, seed, report)"
        )


def _settings(
    place: str, found: sourcecode.Function, given: Mapping[str, Any]
) -> dict[str, Setting]:
    """Return the function's further arguments, those not given as they are usually."""
    known = [name for name in found.names if name not in OURS]
    for name in given:
        if name not in known and not found.takes_any:
            if not known:
                raise ValueError(f"{name} was given, and {place} takes no argument of that name")
            raise unknown(f"argument of {place}", name, known)
    usual = {p.name: p.default for p in found.parameters if not (p.required or p.name in OURS)}
    simple = {name: value for name, value in usual.items() if isinstance(value, KINDS)}
    chosen = {name: literal(v) if isinstance(v, str) else v for name, v in given.items()}
    for name, value in chosen.items():
        if value is not None and not isinstance(value, KINDS):
            raise TypeError(f"{name} = {value!r}: expected a number, a text, true or false")
    for parameter in found.parameters:
        if parameter.name in known and parameter.required and parameter.name not in chosen:
            raise ValueError(
                f"{place} needs {parameter.name}: give it, as {parameter.name}=… "
                f"(--set {parameter.name}=…)"
            )
    return simple | chosen


def _truth(text: str) -> bool:
    words = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
    if text.casefold() not in words:
        raise ValueError(f"higher = {text!r}: expected true or false")
    return words[text.casefold()]
