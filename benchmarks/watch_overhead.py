"""Overhead of `watch`: a training step of a BERT-base-size feed-forward stack, watched and not.

    python benchmarks/watch_overhead.py                    four blocks of 768/3072, 512 tokens
    python benchmarks/watch_overhead.py --rounds 60        more rounds: a loaded machine needs them
    python benchmarks/watch_overhead.py --gate             exit with 1 when a limit is missed

Three kinds of steps take turns of ten in every round, and each round starts with another kind:
unwatched steps, steps under `watch(model)`, and steps under `watch(model, every=10)`.
A step is forward, backward and an SGD update. What counts is the least time of a step of each kind
over all rounds (for every=10: one that is observed and nine that are not); medians beside it.
Memory is what a watch of a small model holds. On a shared machine wall time is
unreliable; --cpu counts the CPU time of one thread instead.
"""

from __future__ import annotations

import argparse
import gc
import platform
import sys
import tracemalloc
from collections.abc import Callable, Sequence
from statistics import median
from time import perf_counter, process_time

import torch
from rich.console import Console
from rich.table import Table
from torch import nn

from softgate.studies.bench.interleave import SystemLoad
from softgate.torch import watch

D_MODEL, D_HIDDEN, TOKENS = 768, 3072, 512
LIMITS = {"every step": 0.15, "every=10": 0.02}
"""Limits of the share that `watch` adds to the time of a step."""
PLAIN = "not watched"
Times = dict[str, list[float]]
HELD_AFTER = (100, 1000, 10_000)
"""A history has at most 32 periods; after 32 steps it has between 16 and 32 of them."""
TURN = 10
STEPS = {PLAIN: 1, "every step": 1, "every=10": 10}


class Block(nn.Module):
    """x + fc2(gelu(fc1(norm(x))))."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(D_MODEL)
        self.fc1, self.act = nn.Linear(D_MODEL, D_HIDDEN), nn.GELU()
        self.fc2 = nn.Linear(D_HIDDEN, D_MODEL)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.fc2(self.act(self.fc1(self.norm(x))))


def trained(model: nn.Module, x: torch.Tensor, clock: Callable[[], float]) -> Callable[[], float]:
    """Return a function that trains for a step and returns its time."""
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)

    def step() -> float:
        start = clock()
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()
        return clock() - start

    return step


def turn(name: str, model: nn.Module, step: Callable[[], float], times: Times) -> None:
    """Train with one kind of step for ten steps, so that the least is one of as many for each."""
    if name == PLAIN:
        times[name] += [step() for _ in range(TURN)]
        return
    with watch(model, every=STEPS[name]):
        for index in range(TURN):
            times["skipped" if index % STEPS[name] else name].append(step())


def measure(blocks: int, rounds: int, clock: Callable[[], float]) -> tuple[Times, float | None]:
    """Return the times of a step, by kind of step."""
    torch.manual_seed(0)
    model = nn.Sequential(*(Block() for _ in range(blocks)))
    step = trained(model, torch.randn(TOKENS, D_MODEL), clock)
    times: Times = {name: [] for name in (*STEPS, "skipped")}
    for name in STEPS:  # kernels are compiled and functions recognised once
        turn(name, model, step, {name: [] for name in times})
    names, load = list(STEPS), SystemLoad()
    gc.collect()
    gc.disable()
    for index in range(rounds):
        first = index % len(names)
        for name in names[first:] + names[:first]:
            turn(name, model, step, times)
    gc.enable()
    return times, load.share()


def added(times: Times) -> dict[str, tuple[float, float]]:
    """Return the share that `watch` adds: to the least times, and to the medians."""
    results = {}
    for name in LIMITS:
        shares = []
        for of in (min, median):
            # A step that is looked at costs the same whether or not the next one is, too.
            looked, skipped = of(times["every step"]), of(times["skipped"])
            mean = (looked + (STEPS[name] - 1) * skipped) / STEPS[name]
            shares.append(mean / of(times[PLAIN]) - 1)
        results[name] = (shares[0], shares[1])
    return results


def held_bytes(steps: int) -> int:
    """Return the bytes that a watch of a small model holds after `steps` steps."""
    model = nn.Sequential(nn.Linear(8, 64), nn.GELU(), nn.Linear(64, 8))
    x = torch.randn(16, 8)
    gc.collect()
    tracemalloc.start()
    with watch(model) as watching:
        for _ in range(steps):
            model(x).sum().backward()
        gc.collect()
        held = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert watching.report().steps == steps
    return held


def report(times: Times, others: float | None, console: Console) -> bool:
    """Print a table; return whether every limit holds."""
    table = Table(title=f"Watching, {platform.machine()}, torch {torch.__version__}, "
                  f"{torch.get_num_threads()} threads")  # fmt: skip
    for column in ("steps", "least ms", "median ms", "added (least)", "(median)", "limit"):
        table.add_column(column, justify="left" if column == "steps" else "right")
    shares = added(times)
    for name, time in times.items():
        cells = [f"{of(time) * 1e3:.1f}" for of in (min, median)]
        if name in shares:
            held = shares[name][0] <= LIMITS[name]
            cells += [f"{share:+.2%}" for share in shares[name]]
            cells.append(f"≤ {LIMITS[name]:.0%} {'✓' if held else '✗'}")
        table.add_row(name, *cells)
    console.print(table)
    if others is not None:
        console.print(f"Others took {others:.0%} of the machine meanwhile.")
    return all(shares[name][0] <= limit for name, limit in LIMITS.items())


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--blocks", type=int, default=4, help="feed-forward blocks (default: 4)")
    parser.add_argument("--rounds", type=int, default=8, help="rounds (default: 8)")
    parser.add_argument("--threads", type=int, help="torch's threads (default: as it has them)")
    parser.add_argument(
        "--cpu", action="store_true", help="CPU time of one thread: for a machine that is shared"
    )
    parser.add_argument("--gate", action="store_true", help="exit with 1 when a limit is missed")
    options = parser.parse_args(arguments)
    if options.cpu:
        options.threads = 1
    if options.threads:
        torch.set_num_threads(options.threads)
    times, others = measure(
        options.blocks, options.rounds, process_time if options.cpu else perf_counter
    )
    console = Console(width=max(110, Console().width))
    good = report(times, others, console)
    held = (f"{held_bytes(steps) / 1e3:.0f} kB after {steps:,} steps" for steps in HELD_AFTER)
    console.print(f"A watch holds {', '.join(held)}.")
    return 1 if options.gate and not good else 0


if __name__ == "__main__":
    sys.exit(main())
