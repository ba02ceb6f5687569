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

    measure = Measure("luck", higher=True)

    def trial_function(self) -> TrialFunction:
        return self.run

    def run(self, trial: Trial, messages: ProgressCallback) -> tuple[TrainingResult, list[float]]:
        if self.journal:
            again = self.watched and (Path(self.watched) / f"{trial.key}.json").exists()
            with Path(self.journal).open("a", encoding="utf-8") as journal:
                journal.write(f"{trial.key} {os.getpid()}{' again' if again else ''}\n")
        messages(0, 10, 2.0)
        seconds = float(trial.settings.get("seconds") or 0)
        if seconds:
            time.sleep(seconds)
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
