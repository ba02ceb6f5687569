"""What the harness of `compare` costs: a trial against a bare training loop written here.

    python benchmarks/compare_overhead.py                  digits, as it usually is
    python benchmarks/compare_overhead.py --rounds 200     more rounds: a loaded machine needs them
    python benchmarks/compare_overhead.py --gate           exit with 1 when the limit is missed

Both train the same model on batches of the same size with the same optimizer and evaluate it on
validation data: that is the training itself. They take turns, an epoch and an evaluation
each, in every round; what counts is the median over rounds of the ratio within a round, as a
machine that others use slows down and recovers. What a trial does once, whatever its length, is
added: drawing weights, counting operations, and the diagnosis of all activations at the end. CPU
time of the one thread, unless --wall.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from itertools import pairwise
from statistics import median
from time import perf_counter, process_time
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

from softgate.studies.compare.models import operations
from softgate.studies.compare.splits import Data, DataSplit
from softgate.studies.compare.tasks import task
from softgate.studies.compare.training import TrainingRun, health
from softgate.studies.compare.trial import Trial
from softgate.torch import make

LIMIT = 0.03
LR = 1e-3
ONCE = ("weights", "operations", "diagnosis")


class Bare:
    """A model trained as one would without a harness."""

    def __init__(self, data: Data, activation: str, settings: dict[str, Any]) -> None:
        widths = [data.inputs, *[settings["width"]] * settings["layers"]]
        layers: list[nn.Module] = []
        for a, b in pairwise(widths):
            layers += [nn.Linear(a, b), make(activation)]
        self.model = nn.Sequential(*layers, nn.Linear(widths[-1], data.outputs))
        self.data, self.batch = data, settings["batch"]

    def epoch(self) -> None:
        train, model = self.data.train, self.model
        adam = torch.optim.Adam(model.parameters(), lr=LR, fused=True)
        total = 0.0
        for rows in torch.randperm(len(train)).split(self.batch):
            x, y = train.x[rows], train.y[rows]
            adam.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            adam.step()
            total += loss.item()
        look(model, self.data.validation)


def look(model: nn.Module, part: DataSplit) -> float:
    """Return the accuracy of a model."""
    model.eval()
    with torch.no_grad():
        output = model(part.x)
        F.cross_entropy(output, part.y).item()
        score = (output.argmax(1) == part.y).float().mean().item()
    model.train()
    return score


def calls(activation: str) -> tuple[dict[str, Callable[[], object]], int]:
    """Return what is timed, and how many epochs a trial has."""
    chosen = task("digits")
    data, settings = chosen.load(), {**chosen.settings, **chosen.arms([activation])[0][2]}
    trial = Trial(chosen.name, activation, activation, "", settings, LR, 0, "reported", "")
    run = TrainingRun(chosen.model(data, trial), data, trial, lambda step, steps, loss: None)
    first, second = (Bare(data, activation, settings) for _ in range(2))
    return {
        "bare": first.epoch,
        "bare again": second.epoch,
        "trial": lambda: run.train(1, LR, 1),
        "weights": lambda: chosen.model(data, trial),
        "operations": lambda: operations(run.model, data.validation.x[0]),
        "diagnosis": lambda: health(run.model, data.validation, chosen.objective()),
    }, int(settings["epochs"])  # type: ignore[call-overload]


def measure(
    rounds: int, activation: str, clock: Callable[[], float]
) -> tuple[dict[str, list[float]], int]:
    """Return the times of each, in turns of which every round begins with another."""
    runs, epochs = calls(activation)
    times: dict[str, list[float]] = {name: [] for name in runs}
    names = list(runs)
    for i in range(rounds + 2):
        for name in names[i % len(names) :] + names[: i % len(names)]:
            began = clock()
            runs[name]()
            if i > 1:
                times[name].append(clock() - began)
    return times, epochs


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--activation", default="gelu")
    parser.add_argument("--wall", action="store_true", help="wall time, not CPU time")
    parser.add_argument("--gate", action="store_true", help="exit with 1 when the limit is missed")
    argument = parser.parse_args()
    torch.set_num_threads(1)
    clock = perf_counter if argument.wall else process_time
    times, epochs = measure(argument.rounds, argument.activation, clock)
    for name, all_times in times.items():
        print(
            f"{name:>12}: {1e3 * min(all_times):7.2f} ms, median {1e3 * median(all_times):7.2f} ms"
        )
    bare = [(a + b) / 2 for a, b in zip(times["bare"], times["bare again"], strict=True)]
    updates = median(a / b for a, b in zip(times["trial"], bare, strict=True)) - 1
    noise = median(a / b for a, b in zip(times["bare again"], times["bare"], strict=True)) - 1
    once = [sum(row) for row in zip(*(times[name] for name in ONCE), strict=True)]
    ends = median(a / (epochs * b) for a, b in zip(once, bare, strict=True))
    print(f"updates and evaluations {updates:+.1%}; once a trial of {epochs} epochs {ends:+.1%}")
    print(f"bare against itself {noise:+.1%}: differences of this size are noise")
    share = updates + ends
    print(f"overhead {share:+.1%}, limit {LIMIT:.0%}: {'met' if share <= LIMIT else 'missed'}")
    return int(argument.gate and share > LIMIT)


if __name__ == "__main__":
    sys.exit(main())
