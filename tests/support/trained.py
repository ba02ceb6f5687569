"""Trainables for tests of execution: without a framework, with failures on demand."""

from __future__ import annotations

import contextlib
import math
import os
import random
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from softgate.studies.compare.execution import Executor, Progress
from softgate.studies.compare.execution.run_trial import run_classified
from softgate.studies.compare.store import Store
from softgate.studies.compare.trial import (
    CurvePoint,
    Diverged,
    Measure,
    Outcome,
    ProgressCallback,
    Setting,
    Trainable,
    TrainingResult,
    Trial,
    TrialFunction,
)


@dataclass(frozen=True)
class Toy:
    """Trains nothing; the score is drawn from global generators."""

    journal: str = ""
    """A file that gets a line when a trial starts."""
    watched: str = ""
    """A store: a trial that starts although its outcome is stored is marked in the journal."""
    name: str = "toy"
    fingerprint: str = "toy-1"
    held: object = None
    gate: str = ""
    """A pipe: a trial goes on when it has read a byte from it."""

    measure = Measure("luck", higher=True)

    def trial_function(self) -> TrialFunction:
        return self.run

    def run(self, trial: Trial, messages: ProgressCallback) -> tuple[TrainingResult, list[float]]:
        if self.journal:
            again = self.watched and (Path(self.watched) / f"{trial.key}.json").exists()
            with Path(self.journal).open("a", encoding="utf-8") as journal:
                journal.write(f"{trial.key} {os.getpid()}{' again' if again else ''}\n")
        messages(0, 10, 2.0)
        if self.gate:
            with Path(self.gate).open("rb", buffering=0) as gate:
                gate.read(1)
        if trial.settings.get("kills"):
            kill_once(trial, Path(f"{self.journal}.{trial.seed}"))
        mood = trial.settings.get("mood")
        if mood:
            MOODS[str(mood)](trial)
        luck = random.random() + np.random.rand() + trial.lr  # noqa: NPY002
        curve = (CurvePoint(0, math.inf, math.nan, None), CurvePoint(10, luck, luck, luck))
        return TrainingResult(score=luck, loss=math.nan, curve=curve, steps=10), [
            0.001,
            0.002,
            0.003,
        ]


def _diverge(trial: Trial) -> None:
    raise Diverged(120, TrainingResult(curve=(CurvePoint(100, math.inf, None, None),), steps=120))


def _raise(trial: Trial) -> None:
    raise ValueError(f"no luck with\nseed {trial.seed}")


def _no_memory(trial: Trial) -> None:
    raise MemoryError("of the machine")


def _exit(trial: Trial) -> None:
    sys.exit(3)


def _vanish(trial: Trial) -> None:
    os._exit(7)


def _killed(trial: Trial) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _shout(trial: Trial) -> None:
    print("{not json", flush=True)
    os.write(1, b'{"outcome": "forged"}\n')
    with contextlib.suppress(EOFError, OSError):  # pytest has its own
        input()


def _meddle(trial: Trial) -> None:
    """Leave the process in a state that would change another trial."""
    random.seed(1)
    np.random.seed(1)  # noqa: NPY002
    np.seterr(all="raise")
    os.environ["MEDDLED"] = "yes"
    os.chdir("/")
    sys.path.insert(0, "/meddled")
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.manual_seed(1)
        torch.set_num_threads(2)
        torch.set_default_dtype(torch.float64)
        torch.set_grad_enabled(False)
        torch.set_flush_denormal(True)
        torch.use_deterministic_algorithms(True)


def _hang(trial: Trial) -> None:
    time.sleep(3600)


MOODS = {
    "diverge": _diverge, "raise": _raise, "no memory": _no_memory, "exit": _exit,
    "vanish": _vanish, "killed": _killed, "shout": _shout, "meddle": _meddle, "hang": _hang,
}  # fmt: skip


KILLS = tuple(
    f"{process} {event}"
    for process in ("worker", "command")
    for event in ("start", "rename", "open")
)
"""Which process a trial kills, and when: at its start, when its outcome is about to replace the
file that is written, or when that has been done and the folder is opened to save its entry."""


def kill_once(trial: Trial, marker: Path) -> None:
    """Kill this process or the one that started it, unless the file exists; it gets the event."""
    process, event = str(trial.settings["kills"]).split()
    number = os.getpid() if process == "worker" else os.getppid()
    try:
        handle = os.open(marker, os.O_CREAT | os.O_EXCL | os.O_WRONLY)
    except FileExistsError:
        return
    outcome, renamed = f"{trial.key}.json", []

    def kill_at(reached: str) -> None:
        if reached == event:
            os.write(handle, f"{event} ".encode())
            os.kill(number, signal.SIGKILL)

    def look(name: str, arguments: tuple[object, ...]) -> None:
        if name == "os.rename" and str(arguments[1]).endswith(outcome):
            renamed.append(True)
            kill_at("rename")
        elif name == "open" and renamed:
            kill_at("open")

    kill_at("start")
    sys.addaudithook(look)


def some_trials(count: int, kills: str) -> list[Trial]:
    """Return trials, of which one kills a process once."""
    return [
        trial(seed, **({"kills": kills} if kills and seed == 5 else {})) for seed in range(count)
    ]


def trial(seed: int = 0, arm: str = "gelu", **settings: Setting) -> Trial:
    argument: Mapping[str, Setting] = settings
    return Trial("toy", arm, arm, "", argument, 0.001, seed, "reported", "toy-1")


def run_trial(trial: Trial, run: TrialFunction, progress: ProgressCallback) -> Outcome:
    """Return the outcome of a trial."""
    return run_classified(trial, run, progress)[0]


def execute(
    trials: Sequence[Trial],
    trainable: Trainable,
    store: Store,
    on: str = "local",
    jobs: int | None = None,
    progress: Progress | None = None,
) -> list[Outcome]:
    """Return the outcomes of trials, with workers of their own."""
    with Executor(trainable, store, on, jobs) as executor:
        return executor.run(trials, progress)
