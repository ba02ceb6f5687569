"""Functions under test of `certify` and `identify`: described, loaded and run.

A subject describes a function without loading it. A session runs it, in a worker process unless it
is softgate's or `isolated` is False, and raises a `SubjectFailure` for a crash, a hang or a wrong
result.
"""

from .description import InvalidSubjectError, Subject, SubjectFailure, describe
from .session import Session, open_session

__all__ = [
    "InvalidSubjectError",
    "Session",
    "Subject",
    "SubjectFailure",
    "describe",
    "open_session",
]
