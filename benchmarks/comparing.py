"""What the harness of `compare` costs: a trial against a bare training loop written here.

    python benchmarks/comparing.py                  digits, as it usually is
    python benchmarks/comparing.py --rounds 20      more rounds: a loaded machine needs them
    python benchmarks/comparing.py --gate           exit with 1 when the bar is missed

Both train the same model on the same batches with the same optimizer, evaluate it as often on
validation data and once on test data: that is training, whoever writes it. What only the harness
does is drawing paired weights, times of updates, checks of every loss, curves, and at the end the
count of operations and the diagnosis of all activations. They take turns in every round; what
counts is the least time of each. CPU time of the one thread, unless --wall.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from itertools import pairwise
from time import perf_counter, process_time

import torch
from torch import nn
from torch.nn import functional as F

from softgate.comparison.data import Data, Part
from softgate.comparison.tasks import task
from softgate.comparison.trial import Trial
from softgate.torch import make

BAR = 0.03
LR = 1e-3


def bare(data: Data, activation: str, settings: dict[str, int]) -> float:
    """Train as one would without a harness; return the score on test data."""
    widths = [data.inputs, *[settings["width"]] * settings["layers"]]
    layers: list[nn.Module] = []
    for a, b in pairwise(widths):
        layers += [nn.Linear(a, b), make(activation)]
    model = nn.Sequential(*layers, nn.Linear(widths[-1], data.outputs))
    adam = torch.optim.Adam(model.parameters(), lr=LR, fused=True)
    train, batch = data.train, settings["batch"]
    total = settings["epochs"] * -(-len(train) // batch)
    every, step = total / settings["evaluations"], 0
    for _ in range(settings["epochs"]):
        for rows in torch.randperm(len(train)).split(batch):
            x, y = train.x[rows], train.y[rows]
            adam.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            adam.step()
            step += 1
            if step // every > (step - 1) // every:
                look(model, data.validation)
    return look(model, data.test)


def look(model: nn.Module, part: Part) -> float:
    """Return the accuracy of a model."""
    model.eval()
    with torch.no_grad():
        output = model(part.x)
        F.cross_entropy(output, part.y).item()
        score = (output.argmax(1) == part.y).float().mean().item()
    model.train()
    return score


def contestants(activation: str) -> dict[str, Callable[[], object]]:
    """Return the bare loop, a whole trial, and a trial without what it measures at the end."""
    chosen = task("digits")
    data = chosen.load()
    settings = dict(chosen.settings)
    trial = Trial(chosen.name, activation, activation, "", settings, LR, 0, "reported", "")
    quiet = lambda step, steps, loss: None  # noqa: E731
    return {
        "bare loop": lambda: bare(data, activation, settings),  # type: ignore[arg-type]
        "bare loop again": lambda: bare(data, activation, settings),  # type: ignore[arg-type]
        "trial": lambda: chosen.run(data, trial, quiet),
    }


def measure(rounds: int, activation: str, clock: Callable[[], float]) -> dict[str, float]:
    """Return the least time of each, in turns of which every round begins with another."""
    runs = contestants(activation)
    least = dict.fromkeys(runs, float("inf"))
    for run in runs.values():
        run()
    for i in range(rounds):
        order = list(runs)[i % len(runs) :] + list(runs)[: i % len(runs)]
        for name in order:
            began = clock()
            runs[name]()
            least[name] = min(least[name], clock() - began)
    return least


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--activation", default="gelu")
    parser.add_argument("--wall", action="store_true")
    parser.add_argument("--gate", action="store_true")
    given = parser.parse_args()
    torch.set_num_threads(1)
    clock = perf_counter if given.wall else process_time
    least = measure(given.rounds, given.activation, clock)
    plain = min(least["bare loop"], least["bare loop again"])
    for name, seconds in least.items():
        print(f"{name:>16}: {1e3 * seconds:7.1f} ms  {seconds / plain - 1:+.1%}")
    added = least["trial"] / plain - 1
    print(f"overhead {added:+.1%}, bar {BAR:.0%}: {'met' if added <= BAR else 'missed'}")
    return int(given.gate and added > BAR)


if __name__ == "__main__":
    sys.exit(main())
