"""A user's own training loop: `train.py:run(activation, seed, report)`.

The script is read here and run elsewhere. Its text travels along: where the file is not there, on
another machine, the text is; where the file has changed meanwhile, that is said, because a trial's
key stands for what the script was.
"""

from __future__ import annotations

import ast
import importlib.util
import math
import platform
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from time import perf_counter
from typing import Any

from softgate.frameworks.block_arguments import unknown

from ..subjects.description import literal
from .fingerprint import fingerprint
from .trial import USUAL_ARMS, Diverged, Measure, Measured, Point, Setting, Told, Trial, Work


def split_place(text: str) -> tuple[str, str]:
    """Return the file and the function of a place such as train.py:run; the function may be "".

    Examples
    --------
    >>> split_place("train.py:run"), split_place("C:/models/train.py")
    (('train.py', 'run'), ('C:/models/train.py', ''))
    """
    path, _, name = text.rpartition(":")
    return (path, name) if path.endswith(".py") else (text, "")


def is_script(text: str) -> bool:
    """Tell whether a text is a place in a file, as "train.py:run", and no task's name."""
    return split_place(text)[0].endswith(".py")


@dataclass(frozen=True)
class Parameter:
    """A parameter of a function: whether it must be given, and its value if that can be read."""

    name: str
    required: bool
    default: Any = None


@dataclass(frozen=True)
class Function:
    """What can be seen of a function without running it."""

    parameters: tuple[Parameter, ...]
    takes_any: bool
    """Whether it has **keywords."""

    @property
    def names(self) -> tuple[str, ...]:
        """The parameters' names."""
        return tuple(parameter.name for parameter in self.parameters)


def parsed(file: Path) -> ast.Module:
    """Return a file's syntax tree; ValueError where it has none."""
    try:
        return ast.parse(file.read_bytes(), str(file))
    except SyntaxError as error:
        raise ValueError(f"{file.name}, line {error.lineno}: {error.msg}") from None


def function(file: Path, name: str) -> Function:
    """Return a function of a file; ValueError where it has none of that name."""
    tree = parsed(file)
    found = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    for node in found:
        if node.name == name:
            return _signature(node.args)
    others = ", ".join(node.name for node in found) or "none"
    raise ValueError(
        f"{file.name} defines no function {name!r}; it has: {others}. Expected "
        f"def {name}(activation, seed, report)"
    )


def _signature(given: ast.arguments) -> Function:
    plain = [*given.posonlyargs, *given.args]
    missing: list[ast.expr | None] = [None] * (len(plain) - len(given.defaults))
    defaults = [*missing, *given.defaults, *given.kw_defaults]
    parameters = tuple(
        Parameter(node.arg, default is None, _literal(default))
        for node, default in zip([*plain, *given.kwonlyargs], defaults, strict=True)
    )
    return Function(parameters, given.kwarg is not None)


def _literal(node: ast.expr | None) -> Any:
    try:
        return None if node is None else ast.literal_eval(node)
    except ValueError:
        return None


def files(script: Path) -> list[Path]:
    """Return a script and the modules in its folder that it imports, and those that they import."""
    folder, found, ahead = script.parent, [], [script]
    while ahead:
        file = ahead.pop(0)
        if file in found:
            continue
        found.append(file)
        for name in _imports(parsed(file), file, folder):
            ahead += _module(folder, name)
    return found


def _imports(tree: ast.Module, file: Path, folder: Path) -> Iterator[str]:
    package = file.parent.relative_to(folder).parts
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else ()
            base = ".".join([*above, *([node.module] if node.module else [])])
            yield base
            yield from (f"{base}.{alias.name}".lstrip(".") for alias in node.names)


def _module(folder: Path, name: str) -> list[Path]:
    """Return the files of a module that is in a folder: its own, and its packages'."""
    parts = [part for part in name.split(".") if part]
    found = [folder.joinpath(*parts[:i], "__init__.py") for i in range(1, len(parts) + 1)]
    if parts:
        found.append(folder.joinpath(*parts[:-1], f"{parts[-1]}.py"))
    return [file for file in found if file.is_file()]


MOST_POINTS = 400
"""A curve with more points is thinned: neighbours become one."""
KNOWN = ("score", "loss", "validation_score", "validation_loss", "steps", "parameters", "flops")
"""What a script's result may hold for a place of its own; all other numbers are kept as well."""


class Report:
    """What a script is given to say how training goes; called as report(step, loss).

    Not a number as loss ends the trial: it has diverged.
    """

    def __init__(self, told: Told) -> None:
        self._told = told
        self._last: tuple[int, float] | None = None
        self.curve: list[Point] = []
        self.times: list[float] = []

    def __call__(
        self,
        step: int,
        loss: float,
        validation: float | None = None,
        *,
        validation_score: float | None = None,
        steps: int = 0,
    ) -> None:
        """Say the loss at a step, and where there are any, loss and score on validation data."""
        now_s, step = perf_counter(), int(step)
        if self._last is not None and step > self._last[0]:
            self.times.append((now_s - self._last[1]) / (step - self._last[0]))
        value = number("loss", loss)
        point = Point(
            step,
            value,
            None if validation is None else number("validation", validation),
            None if validation_score is None else number("validation_score", validation_score),
        )
        self._add(point)
        self._told(step, max(step, int(steps)) if steps else 0, value)
        if not math.isfinite(value):
            raise Diverged(step, Measured(curve=tuple(self.curve), steps=step))
        self._last = (step, perf_counter())

    def _add(self, point: Point) -> None:
        self.curve.append(point)
        if len(self.curve) > MOST_POINTS:
            pairs = zip(self.curve[0::2], self.curve[1::2], strict=False)
            odd = self.curve[-1:] if len(self.curve) % 2 else []
            self.curve = [_joined(*pair) for pair in pairs] + odd

    def measured(self, returned: Any, tuning: bool) -> Measured:
        """Return what came out, from what the script returned."""
        given = dict(returned) if isinstance(returned, Mapping) else {"score": returned}
        if "score" not in given:
            raise ValueError(
                f"run returned a mapping with {', '.join(map(repr, given)) or 'nothing'}: expected "
                "a 'score' in it"
            )
        known = {name: number(name, given[name]) for name in KNOWN if given.get(name) is not None}
        score = known.get("score")
        if score is None:
            raise ValueError("run returned no score: expected a number, or a mapping with 'score'")
        if not math.isfinite(score):
            steps = self._last[0] if self._last else 0
            raise Diverged(steps, Measured(curve=tuple(self.curve)), "the score is not finite")
        more = {str(n): number(str(n), v) for n, v in given.items() if n not in KNOWN}
        return Measured(
            score=None if tuning else score,
            loss=None if tuning else known.get("loss"),
            validation_score=known.get("validation_score", score if tuning else None),
            validation_loss=known.get("validation_loss"),
            curve=tuple(self.curve),
            steps=int(known.get("steps", self._last[0] if self._last else 0)),
            parameters=int(known.get("parameters", 0)),
            flops=known.get("flops"),
            more=more or None,
        )


def number(what: str, given: Any) -> float:
    """Return a number of Python's, made of NumPy's or a tensor; TypeError for anything else."""
    if isinstance(given, str):
        raise TypeError(f"{what} = {given!r}: expected a number")
    try:
        return float(given)
    except (TypeError, ValueError, RuntimeError) as error:
        raise TypeError(
            f"{what} is a {type(given).__name__}: expected a number ({error})"
        ) from None


def _joined(first: Point, second: Point) -> Point:
    return Point(
        second.step,
        (first.train_loss + second.train_loss) / 2,
        second.validation_loss if second.validation_loss is not None else first.validation_loss,
        second.validation_score if second.validation_score is not None else first.validation_score,
    )


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
        found = function(file, name or "run")
        _check(place, found)
        if isinstance(higher, str):
            higher = _truth(higher)
        values = {
            "file": file,
            "function": name or "run",
            "texts": tuple(
                (one.relative_to(file.parent).as_posix(), one.read_bytes()) for one in files(file)
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
        texts = [part for name, text in self.texts for part in (name.encode(), text)]
        said = f"{self.function} {self.measure} {platform.python_version()}".encode()
        return fingerprint((), *texts, said)

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


def _check(place: str, found: Function) -> None:
    missing = [name for name in OURS[:3] if name not in found.names and not found.takes_any]
    if missing:
        raise ValueError(
            f"{place} takes ({', '.join(found.names)}), and no {', '.join(missing)}: expected "
            "def run(activation, seed, report)"
        )


def _settings(place: str, found: Function, given: Mapping[str, Any]) -> dict[str, Setting]:
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
