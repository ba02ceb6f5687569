"""A subject on its way to another process, functions from a notebook included."""

from __future__ import annotations

import pickle
from typing import Any

from ..trainable import Subject


class ExecutionError(Exception):
    """No trial can be run, for a reason that the user can see to."""


class SubjectError(ExecutionError):
    """What is to be trained cannot be loaded where trials run: no trial can be run."""


def pack(subject: Subject) -> bytes:
    """Return a subject as bytes that `unpack` makes a subject of elsewhere."""
    try:
        import cloudpickle
    except ModuleNotFoundError as error:
        raise SubjectError(
            'trials in other processes need cloudpickle: pip install "softgate[compare]"'
        ) from error
    try:
        packed: bytes = cloudpickle.dumps(subject)
    # What an object of a user's does when it is pickled is its own business.
    except Exception as error:
        raise SubjectError(
            f"{subject.name!r} cannot be sent to other processes ({type(error).__name__}: "
            f"{error}): open files, locks and the like inside the function that uses them, or "
            'run all trials in this process with on="here"'
        ) from error
    return packed


def unpack(packed: bytes) -> Any:
    """Return the subject."""
    return pickle.loads(packed)
