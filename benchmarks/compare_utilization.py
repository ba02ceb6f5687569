"""Share of time in which workers of `compare` are busy.

    python benchmarks/compare_utilization.py [--on ray|local] [--trials 200]

Trials that wait for a second are run by two workers. The share of time in which a worker has a
trial is counted from the moment that both have begun, because what comes before is the start of
processes, to the moment that one has nothing left to do.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass

from softgate.studies.compare.execution import Event, Executor
from softgate.studies.compare.store import Store
from softgate.studies.compare.trial import (
    Measure,
    ProgressCallback,
    TrainingResult,
    Trial,
    TrialFunction,
)

LIMIT = 0.95


@dataclass(frozen=True)
class Waiting:
    """A subject that waits; the figures are the moments at which it began and ended."""

    name: str = "waiting"
    fingerprint: str = "waiting"
    measure = Measure("none", higher=True)

    def trial_function(self) -> TrialFunction:
        return wait


def wait(trial: Trial, messages: ProgressCallback) -> tuple[TrainingResult, list[float]]:
    began = time.time()
    seconds = float(trial.settings["seconds"] or 0)
    for part in range(10):
        time.sleep(max(0.0, began + seconds * (part + 1) / 10 - time.time()))
        messages(part + 1, 10, 1.0)
    return TrainingResult(score=0.0, extra_metrics={"began": began, "ended": time.time()}), []


def spans(on: str, count: int, seconds: float, store: Store) -> list[tuple[float, float]]:
    """Run the trials; return when each began and ended."""
    trials = [
        Trial("waiting", "none", "gelu", "", {"seconds": seconds}, 1.0, seed, "reported", "waiting")
        for seed in range(count)
    ]
    events: list[Event] = []
    with Executor(Waiting(), store, on=on, jobs=2) as executor:
        outcomes = executor.run(trials, events.append)
    metrics = [outcome.measured.extra_metrics or {} for outcome in outcomes]
    return sorted((each["began"], each["ended"]) for each in metrics)


def busy(result: list[tuple[float, float]]) -> tuple[float, float]:
    """Return the share of two workers' time that trials took, and how long that was looked at."""
    first = max(result[0][0], result[1][0])
    last = min(sorted(ended for _, ended in result)[-2:])
    inside = sum(max(0.0, min(ended, last) - max(began, first)) for began, ended in result)
    return inside / (2 * (last - first)), last - first


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--on", default="ray")
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--store", help="a folder; in memory unless given")
    argument = parser.parse_args()
    share, seconds = busy(
        spans(argument.on, argument.trials, argument.seconds, Store(argument.store))
    )
    print(
        f"{argument.trials} trials of {argument.seconds:g} s on {argument.on}: 2 workers were busy "
        f"{share:.1%} of {seconds:.1f} s (limit {LIMIT:.0%})"
    )
    return 0 if share >= LIMIT else 1


if __name__ == "__main__":
    raise SystemExit(main())
