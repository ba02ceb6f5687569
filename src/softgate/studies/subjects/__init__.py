"""Callables of other people, described, loaded and run: what `certify` and `identify` look at.

A subject says what is meant without loading it; a session runs it, in a process of its own unless
it is ours or asked not to be, and turns what it does wrong into a `Failure`.
"""

from .description import Subject, describe
from .failure import Failure, Mistake
from .session import Session, open_session

__all__ = ["Failure", "Mistake", "Session", "Subject", "describe", "open_session"]
