"""A command that runs trials: python trained_command.py STORE JOURNAL COUNT KILLS GATE.

Trial 5 kills a process once: `KILLS` is a setting of `trained.Toy`, such as "command rename".
"""

from __future__ import annotations

import sys

from trained import Toy, execute, some_trials

from softgate.studies.compare.store import Store


def main() -> None:
    folder, journal, count, kills, gate = sys.argv[1:]
    toy = Toy(journal, folder, gate=gate)
    outcomes = execute(some_trials(int(count), kills), toy, Store(folder), jobs=2)
    print(len(outcomes), "outcomes", flush=True)


if __name__ == "__main__":
    main()
