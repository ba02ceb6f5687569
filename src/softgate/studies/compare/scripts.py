"""A user's training loop: `run(activation, seed, report)`, as `train.py:run` or `module:run`.

The script is parsed, not run, to find its parameters and the modules beside it that it imports: it
may take long to load, and runs in worker processes only. Its text is sent with the trainable and
written to a temporary folder on other machines. If the file has changed since, an error is raised,
as a trial's key contains a hash of the script.
"""

from __future__ import annotations

import ast
import importlib.util
import inspect
import math
import platform
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

from softgate.frameworks.block_arguments import unknown
from softgate.records.text import a_type
from softgate.runtime.lookup import literal

from ..subjects import user_code
from .fingerprint import fingerprint
from .trial import (
    DEFAULT_ACTIVATIONS,
    Arms,
    CurvePoint,
    Diverged,
    Measure,
    ProgressCallback,
    Setting,
    TrainingResult,
    Trial,
    TrialFunction,
)

MAX_POINTS = 400
"""A curve with more points is thinned by joining neighbours."""
FIGURES = ("score", "loss", "validation_score", "validation_loss", "steps", "parameters", "flops")
"""Keys of a script's result with a field in `TrainingResult`; others go to its `extra_metrics`."""
SIMPLE = (float, int, str, bool)
REQUIRED = inspect.Parameter.empty
TRIAL_PARAMETERS = ("activation", "seed", "report", "lr", "validation")
"""Parameters of a script's function that a trial sets; all others are settings."""
RATES = (3e-4, 1e-3, 3e-3)
TRUTH = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}

_copies: list[tempfile.TemporaryDirectory[str]] = []
"""Folders that are removed when this process ends."""


def split_place(text: str) -> tuple[str, str]:
    """Return file and function of a text such as train.py:run; the function may be "".

    Examples
    --------
    >>> split_place("train.py:run"), split_place("C:/models/train.py")
    (('train.py', 'run'), ('C:/models/train.py', ''))
    """
    path, _, name = text.rpartition(":")
    return (path, name) if path.endswith(".py") else (text, "")


def is_function(text: str) -> bool:
    """Return whether a text names a function, as "train.py:run" or "module:run", and not a task."""
    return split_place(text)[0].endswith(".py") or user_code.is_code(text)


def source(text: str) -> tuple[Path, str]:
    """Return the file and the function of a text; raise FileNotFoundError if there is no file."""
    place, name = split_place(text)
    if place.endswith(".py"):
        file = Path(place).expanduser().resolve()
        if not file.is_file():
            raise FileNotFoundError(f"there is no file {place!r}: expected code as train.py:run")
        return file, name or "run"
    place, name = user_code.split(text)
    file = user_code.source_of(place, [*sys.path, str(Path.cwd())])
    if file.suffix != ".py":
        raise FileNotFoundError(f"there is no module {place!r}: expected code as module:run")
    return file, name


def is_loop(file: Path, name: str) -> bool:
    """Return whether a name in a file is a training loop, and not a function that makes a model.

    A loop takes a seed and a callback; a model is made by a class, or from an activation alone.
    """
    for node in _parse(file).body:
        if isinstance(node, ast.FunctionDef) and node.name == name:
            parsed = _signature(node.args)
            required = [n for n, default in parsed.defaults.items() if default is REQUIRED]
            return (
                parsed.takes_any
                or len(required) != 1
                or not {"seed", "report"}.isdisjoint(parsed.defaults)
            )
        names = [node.name] if isinstance(node, ast.ClassDef) else []
        if isinstance(node, ast.Assign):
            names = [target.id for target in node.targets if isinstance(target, ast.Name)]
        elif isinstance(node, ast.ImportFrom):
            names = [alias.asname or alias.name for alias in node.names]
        if name in names:
            return False
    signature(file, name)  # raises an error that lists the functions of the file
    return True


class Signature(NamedTuple):
    """Parameters of a function with their defaults, and whether it accepts any keyword.

    A default is `REQUIRED` if there is none, and None if it is not a literal.
    """

    defaults: dict[str, Any]
    takes_any: bool


def _parse(file: Path) -> ast.Module:
    """Return a file's syntax tree; raise ValueError for a syntax error."""
    try:
        return ast.parse(file.read_bytes(), str(file))
    except SyntaxError as error:
        raise ValueError(f"{file.name}, line {error.lineno}: {error.msg}") from None


def signature(file: Path, name: str) -> Signature:
    """Return the signature of a function in a file; raise ValueError if there is none."""
    functions = [node for node in _parse(file).body if isinstance(node, ast.FunctionDef)]
    for node in functions:
        if node.name == name:
            return _signature(node.args)
    others = ", ".join(node.name for node in functions) or "none"
    raise ValueError(
        f"{file.name} defines no function {name!r}; it has: {others}. Expected "
        f"def {name}(activation, seed, report)"
    )


def _signature(arguments: ast.arguments) -> Signature:
    positional = [*arguments.posonlyargs, *arguments.args]
    missing: list[ast.expr | None] = [None] * (len(positional) - len(arguments.defaults))
    defaults = [*missing, *arguments.defaults, *arguments.kw_defaults]
    names = [node.arg for node in (*positional, *arguments.kwonlyargs)]
    parameters = {name: _literal(default) for name, default in zip(names, defaults, strict=True)}
    return Signature(parameters, arguments.kwarg is not None)


def _literal(node: ast.expr | None) -> Any:
    try:
        return REQUIRED if node is None else ast.literal_eval(node)
    except ValueError:
        return None


def source_files(script: Path) -> list[Path]:
    """Return a script and all modules in its folder that it imports, directly or indirectly."""
    folder, files, queue = script.parent, list[Path](), [script]
    while queue:
        file = queue.pop(0)
        if file in files:
            continue
        files.append(file)
        for name in _imports(_parse(file), file, folder):
            queue += _module_files(folder, name)
    return files


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


def _module_files(folder: Path, name: str) -> list[Path]:
    """Return the files of a module in a folder, with the `__init__.py` of its packages."""
    parts = [part for part in name.split(".") if part]
    files = [folder.joinpath(*parts[:i], "__init__.py") for i in range(1, len(parts) + 1)]
    if parts:
        files.append(folder.joinpath(*parts[:-1], f"{parts[-1]}.py"))
    return [file for file in files if file.is_file()]


class ReportCallback:
    """The callback that a script receives; called as report(step, loss).

    A loss that is not finite ends the trial as diverged.
    """

    def __init__(self, progress: ProgressCallback) -> None:
        self._progress = progress
        self._last: tuple[int, float] | None = None
        self.curve: list[CurvePoint] = []
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
        """Record the loss at a step and, if given, loss and score on validation data."""
        now_s, step = perf_counter(), int(step)
        if self._last is not None and step > self._last[0]:
            self.times.append((now_s - self._last[1]) / (step - self._last[0]))
        value = number("loss", loss)
        point = CurvePoint(
            step,
            value,
            None if validation is None else number("validation", validation),
            None if validation_score is None else number("validation_score", validation_score),
        )
        self._add(point)
        self._progress(step, max(step, int(steps)) if steps else 0, value)
        if not math.isfinite(value):
            raise Diverged(step, TrainingResult(curve=tuple(self.curve), steps=step))
        self._last = (step, perf_counter())

    def _add(self, point: CurvePoint) -> None:
        self.curve.append(point)
        if len(self.curve) > MAX_POINTS:
            pairs = zip(self.curve[0::2], self.curve[1::2], strict=False)
            odd = self.curve[-1:] if len(self.curve) % 2 else []
            self.curve = [_joined(*pair) for pair in pairs] + odd

    def measured(self, returned: Any, tuning: bool) -> TrainingResult:
        """Return the measurements of a trial from the script's return value."""
        result = dict(returned) if isinstance(returned, Mapping) else {"score": returned}
        if "score" not in result:
            raise ValueError(
                f"run returned a mapping with {', '.join(map(repr, result)) or 'nothing'}: "
                "expected a 'score' in it"
            )
        known = {n: number(n, result[n]) for n in FIGURES if result.get(n) is not None}
        score = known.get("score")
        if score is None:
            raise ValueError("run returned no score: expected a number, or a mapping with 'score'")
        last_step = self._last[0] if self._last else 0
        if not math.isfinite(score):
            raise Diverged(
                last_step, TrainingResult(curve=tuple(self.curve)), "the score is not finite"
            )
        more = {str(n): number(str(n), v) for n, v in result.items() if n not in FIGURES}
        return TrainingResult(
            score=None if tuning else score,
            loss=None if tuning else known.get("loss"),
            validation_score=known.get("validation_score", score if tuning else None),
            validation_loss=known.get("validation_loss"),
            curve=tuple(self.curve),
            steps=int(known.get("steps", last_step)),
            parameters=int(known.get("parameters", 0)),
            flops=known.get("flops"),
            extra_metrics=more or None,
        )


def number(name: str, value: Any) -> float:
    """Return a NumPy number or a tensor as a float; raise TypeError for anything else."""
    if isinstance(value, str):
        raise TypeError(f"{name} = {value!r}: expected a number")
    try:
        return float(value)
    except (TypeError, ValueError, RuntimeError) as error:
        raise TypeError(f"{name} is {a_type(value)}: expected a number ({error})") from None


def _joined(first: CurvePoint, second: CurvePoint) -> CurvePoint:
    return CurvePoint(
        second.step,
        (first.train_loss + second.train_loss) / 2,
        second.validation_loss if second.validation_loss is not None else first.validation_loss,
        second.validation_score if second.validation_score is not None else first.validation_score,
    )


@dataclass(frozen=True, init=False)
class UserTrainingLoop:
    """A function in a file.

    Parameters
    ----------
    place : str
        Such as "train.py:run" or "module:run"; the function is run if not named.
    higher : bool
        Whether a higher score is better.
    score : str
        Name of the score, for tables.
    **settings
        Further arguments of the function.

    Notes
    -----
    The function is called with `activation`, one of softgate's functions (`softgate.torch.make`
    makes a module of it), `seed`, and `report`, to be called as `report(step, loss)` during
    training, optionally with `validation=`. A parameter `lr` receives the learning rate; a
    parameter `validation` is true for a tuning trial, which must not use test data. It returns its
    score, or a mapping with "score" and other figures.

    `files` holds the script and the modules beside it that it imports, by their paths in its
    folder; `takes_lr` and `takes_validation` are whether the function has these parameters.
    """

    name = "script"
    default_activations = DEFAULT_ACTIVATIONS

    file: Path
    function: str
    files: tuple[tuple[str, bytes], ...]
    measure: Measure
    settings: Mapping[str, Setting] = field(hash=False)
    takes_lr: bool
    takes_validation: bool

    def __init__(
        self, place: str, *, higher: bool | str = True, score: str = "score", **settings: Any
    ) -> None:
        file, name = source(place)
        parsed = signature(file, name)
        missing = [
            n for n in TRIAL_PARAMETERS[:3] if n not in parsed.defaults and not parsed.takes_any
        ]
        if missing:
            raise ValueError(
                f"{place} takes ({', '.join(parsed.defaults)}) but not {', '.join(missing)}: "
                "expected def run(activation, seed, report)"
            )
        if isinstance(higher, str):
            if higher.casefold() not in TRUTH:
                raise ValueError(f"higher = {higher!r}: expected true or false")
            higher = TRUTH[higher.casefold()]
        vars(self).update(
            file=file,
            function=name,
            files=tuple(
                (source.relative_to(file.parent).as_posix(), source.read_bytes())
                for source in source_files(file)
            ),
            measure=Measure(score, higher),
            settings=_settings(place, parsed, settings),
            takes_lr="lr" in parsed.defaults,
            takes_validation="validation" in parsed.defaults,
        )

    @cached_property
    def fingerprint(self) -> str:
        """Hash of the script, of the modules beside it, of softgate's code and of versions."""
        content = [part for name, text in self.files for part in (name.encode(), text)]
        call = f"{self.function} {self.measure} {platform.python_version()}"
        return fingerprint((), *content, call.encode())

    @property
    def rates(self) -> tuple[float, ...]:
        """Default learning rates to tune over; empty if the function takes none."""
        return RATES if self.takes_lr else ()

    @property
    def conditions(self) -> tuple[tuple[str, Mapping[str, Setting]], ...]:
        """One unnamed condition."""
        return (("", {}),)

    def arms(self, names: list[str]) -> Arms:
        """Return label, activation and settings of each arm for these activations."""
        return [(name, name, {}) for name in names]

    def describe(self) -> str:
        """Return one line on the script."""
        return f"{self.file.name}:{self.function}, your own training loop"

    def notes(self, names: Sequence[str] = ()) -> list[str]:
        """Return a note if tuning trials cannot be kept from test data."""
        if self.takes_lr and not self.takes_validation:
            return [
                f"{self.function} has no parameter `validation`: rates are chosen by its return "
                "value, on seeds that are not reported"
            ]
        return []

    def trial_function(self) -> TrialFunction:
        """Return the function that runs a trial; loads the script."""
        if importlib.util.find_spec("torch"):
            import torch  # noqa: F401  (so that its generators are seeded for the first trial too)
        run, folder = self._load()

        def run_script(
            trial: Trial, progress: ProgressCallback
        ) -> tuple[TrainingResult, list[float]]:
            from .trial_functions import function

            report = ReportCallback(progress)
            tuning = trial.role == "tuning"
            arguments: dict[str, Any] = {name: trial.settings[name] for name in self.settings}
            if self.takes_lr:
                arguments["lr"] = trial.lr
            if self.takes_validation:
                arguments["validation"] = tuning
            sys.path.insert(0, folder)  # for imports while it runs; restored after the trial
            returned = run(
                activation=function(trial.activation), seed=trial.seed, report=report, **arguments
            )
            return report.measured(returned, tuning), report.times

        return run_script

    def _load(self) -> tuple[Callable[..., Any], str]:
        file = self._present()
        name = f"softgate_script_{self.fingerprint.replace('-', '_')}"
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
        """Return the script if it exists and is unchanged, or a copy if it does not exist."""
        folder = self.file.parent
        if not self.file.is_file():
            held = tempfile.TemporaryDirectory(prefix="softgate-script-")
            _copies.append(held)
            folder = Path(held.name)
            for name, text in self.files:
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                (folder / name).write_bytes(text)
            return folder / self.file.name
        for name, text in self.files:
            file = folder / name
            if not file.is_file() or file.read_bytes() != text:
                raise ValueError(f"{name} has changed since the comparison started: run it again")
        return self.file


def _settings(place: str, parsed: Signature, values: Mapping[str, Any]) -> dict[str, Setting]:
    """Return the function's further arguments, with simple defaults for those not given."""
    known = {n: v for n, v in parsed.defaults.items() if n not in TRIAL_PARAMETERS}
    for name in values:
        if name not in known and not parsed.takes_any:
            if not known:
                raise ValueError(f"{name} was given, but {place} takes no argument of that name")
            raise unknown(f"argument of {place}", name, known)
    chosen = {name: literal(v) if isinstance(v, str) else v for name, v in values.items()}
    for name, value in chosen.items():
        if value is not None and not isinstance(value, SIMPLE):
            raise TypeError(f"{name} = {value!r}: expected a number, a text, true or false")
    for name, default in known.items():
        if default is REQUIRED and name not in chosen:
            raise ValueError(f"{place} needs {name}: give it, as {name}=… (--set {name}=…)")
    return {n: v for n, v in known.items() if isinstance(v, SIMPLE)} | chosen
