"""A command that runs trials, to be killed: python trained_command.py STORE JOURNAL COUNT ON."""

from __future__ import annotations

import sys

from trained import Toy, execute, trial

from softgate.studies.compare.store import Store


def main() -> None:
    folder, journal, count, on = sys.argv[1:]
    trials = [trial(seed, seconds=0.05) for seed in range(int(count))]
    toy = Toy(journal, folder)
    outcomes = execute(trials, toy, Store(folder), on=on, jobs=2)
    print(len(outcomes), "outcomes", flush=True)


if __name__ == "__main__":
    main()
