"""Functions under test of `certify` and `identify`: described, loaded and run.

A subject describes a function without loading it; a session runs it, in a worker process unless it
is ours or the caller does not want that, and raises a `Failure` for what it does wrong.
"""

from .description import Failure, Mistake, Subject, describe
from .session import Session, open_session

__all__ = ["Failure", "Mistake", "Session", "Subject", "describe", "open_session"]
