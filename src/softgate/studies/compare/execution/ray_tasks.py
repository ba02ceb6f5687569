"""What runs on a Ray cluster: a trial in a worker, which keeps its subject for the next one."""

from __future__ import annotations

import hashlib
import sys
from typing import Any, NamedTuple

from softgate.runtime.records import plain

from ..trainable import Told, Work
from ..trial import Trial
from .loading import ready, settle_down
from .progress import seldom
from .run_trial import attempt, place, words
from .serialization import unpack

QUIET_S = 0.5
"""Seconds between two words about how training goes."""


class Parcel(NamedTuple):
    """A subject in the cluster's memory; in a list, so that a task fetches it only if need be."""

    name: str
    held: list[Any]
    path: list[str]
    """Where the driver finds modules: on the same machine, workers find them there as well."""


def name(packed: bytes) -> str:
    """Return what a worker knows a subject by."""
    return hashlib.sha256(packed).hexdigest()


def asked(trial: Trial) -> dict[str, Any]:
    """Return what a task is told: the trial, and the versions that its key stands for."""
    here = place()
    return {"trial": plain(trial), "torch": here.torch, "softgate": here.softgate}


class Notes:
    """How training goes in all tasks: a line for each trial, until it is read."""

    def __init__(self) -> None:
        self._notes: dict[str, tuple[int, int, Any]] = {}

    def note(self, key: str, step: int, steps: int, loss: Any) -> None:
        """Take a note."""
        self._notes[key] = (step, steps, loss)

    def read(self) -> dict[str, tuple[int, int, Any]]:
        """Hand out the notes."""
        notes, self._notes = self._notes, {}
        return notes


def run(parcel: Parcel, question: dict[str, Any], notes: list[Any] | None) -> dict[str, Any]:
    """Run a trial; return its outcome, or why no trial of this subject can be run here."""
    wrong = mismatch(question)
    if wrong:
        return {"error": wrong}
    # Loading a user's code may throw anything; the driver says it.
    try:
        work = _work(parcel)
    except (Exception, SystemExit) as error:
        return {"error": f"cannot be loaded on {place().host}: {words(error)}"}
    trial = Trial(**question["trial"])
    outcome, lasts = attempt(trial, work, _teller(trial.key, notes))
    return {"outcome": outcome.to_json(), "ran": True, "lasts": lasts}


def mismatch(question: dict[str, Any]) -> str:
    """Return in what this machine's packages differ from the driver's, or nothing."""
    here = place()
    for package, found in (("torch", here.torch), ("softgate", here.softgate)):
        wanted = question[package]
        if found != wanted:
            return (
                f"{here.host} has {package} {found or 'not installed'}, this machine "
                f"{wanted or 'none'}: a trial must not depend on where it runs, install the same"
            )
    return ""


_LOADED: dict[str, Work] = {}


def _work(parcel: Parcel) -> Work:
    if parcel.name not in _LOADED:
        import ray

        sys.path += [entry for entry in parcel.path if entry not in sys.path]
        _LOADED.clear()
        _LOADED[parcel.name] = ready(unpack(ray.get(parcel.held[0])))
        settle_down()
    return _LOADED[parcel.name]


def _teller(key: str, notes: list[Any] | None) -> Told:
    def say(step: int, steps: int, loss: Any) -> None:
        if notes is not None:
            notes[0].note.remote(key, step, steps, loss)

    return seldom(say, QUIET_S)
