"""Where outcomes are kept: a JSON file for each trial, under the key that says all about it.

To run a command again is to resume it: what is found under a trial's key is not run again. A file
is believed only if it reads as the outcome of that very trial; else that is said, and the trial is
run again.
"""

from __future__ import annotations

import os
from pathlib import Path

from . import locks
from .locks import Claim, StoreError
from .outcome import Outcome
from .trial import Trial

__all__ = ["Claim", "Store", "StoreError"]


class Store:
    """Outcomes of trials.

    Several processes may use one folder at a time: each trial is run by the one that claims it.

    Parameters
    ----------
    folder : path or None
        Where the files are; it is made if need be. None keeps outcomes in memory.

    Attributes
    ----------
    said : list of str
        Files that were not believed, and why.

    Examples
    --------
    >>> store = Store(None)
    >>> len(store)
    0
    """

    def __init__(self, folder: str | os.PathLike[str] | None = None) -> None:
        self.folder = None if folder is None else Path(folder)
        self.said: list[str] = []
        self._memory: dict[str, str] = {}
        self._claimed: set[str] = set()
        if self.folder is not None:
            _open(self.folder)
            self.tidy()

    def __len__(self) -> int:
        """Return how many files there are, believed or not."""
        if self.folder is None:
            return len(self._memory)
        return sum(1 for _ in self.folder.glob("*.json"))

    def read(self, trial: Trial) -> Outcome | None:
        """Return the outcome of a trial, or None where there is none to be believed."""
        if self.folder is None:
            text = self._memory.get(trial.key)
            return None if text is None else Outcome.from_json(text)
        path = self._path(trial)
        try:
            return _believed(path.read_text(encoding="utf-8"), trial.key)
        except FileNotFoundError:
            return None
        except OSError as error:
            self._doubt(path, error.strerror or str(error))
        # Whatever else a damaged file may hold, `from_json` stumbles over it with one of these.
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            self._doubt(path, " ".join(str(error).split())[:200])
        return None

    def write(self, outcome: Outcome) -> None:
        """Keep an outcome; StoreError where that cannot be done."""
        owned = self.claim(outcome.trial)
        if owned is None:
            raise StoreError(
                f"the store {str(self.folder)!r}: another process is running the trial "
                f"{outcome.trial.key}: wait for it to end"
            )
        with owned:
            owned.keep(outcome.to_json())

    def claim(self, trial: Trial) -> Claim | None:
        """Return the right to run a trial, or None while somebody else has it.

        StoreError where the folder cannot be written to or has no room.
        """
        if self.folder is not None:
            return locks.claim(self._path(trial))
        if trial.key in self._claimed:
            return None
        return Remembered(trial.key, self._memory, self._claimed)

    def check(self, trial: Trial) -> None:
        """See that the outcome of a trial could be kept: StoreError before anything is started."""
        owned = self.claim(trial)
        if owned is not None:
            owned.release()

    def tidy(self) -> None:
        """Remove what processes left that died while they ran a trial."""
        if self.folder is not None:
            locks.sweep(self.folder)

    def _path(self, trial: Trial) -> Path:
        assert self.folder is not None
        return self.folder / f"{trial.key}.json"

    def _doubt(self, path: Path, why: str) -> None:
        said = f"{path.name} is not believed ({why}): the trial is run again"
        if said not in self.said:
            self.said.append(said)


class Remembered(Claim):
    """A claim in memory."""

    def __init__(self, key: str, memory: dict[str, str], claimed: set[str]) -> None:
        self._key, self._memory, self._claimed = key, memory, claimed
        claimed.add(key)

    def keep(self, text: str) -> None:
        """Keep the outcome."""
        self._memory[self._key] = text

    def release(self) -> None:
        """Let others have the trial."""
        self._claimed.discard(self._key)


def _open(folder: Path) -> None:
    """Make the folder if need be, and see that it can be read."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with os.scandir(folder):
            pass
    except OSError as error:
        raise locks.trouble(folder, error) from error


def _believed(text: str, key: str) -> Outcome:
    outcome = Outcome.from_json(text)
    if outcome.trial.key != key:
        raise ValueError(f"it holds the outcome of trial {outcome.trial.key}")
    return outcome
