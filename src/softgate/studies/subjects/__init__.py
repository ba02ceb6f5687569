"""Code that `certify`, `identify`, `bench`, `table` and `plot` call: described, loaded and run.

A subject describes a function without loading it. A session runs it, in a worker process unless it
is softgate's or `isolated` is False, and raises a `SubjectFailure` for a crash, a hang or a wrong
result.
"""

from .description import InvalidSubjectError, Subject, SubjectFailure, describe
from .passed import PassedFunction
from .session import Session, open_session

__all__ = [
    "InvalidSubjectError",
    "PassedFunction",
    "Session",
    "Subject",
    "SubjectFailure",
    "describe",
    "open_session",
]
