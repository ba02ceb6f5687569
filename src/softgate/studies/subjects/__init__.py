"""Functions under test of `certify` and `identify`: described, loaded and run.

A subject describes a function without loading it. A session runs it, in a worker process unless it
is softgate's or `isolated` is False, and raises a `Failure` for a crash, a hang or a wrong result.
"""

from .description import Failure, Mistake, Subject, describe
from .session import Session, open_session

__all__ = ["Failure", "Mistake", "Session", "Subject", "describe", "open_session"]
