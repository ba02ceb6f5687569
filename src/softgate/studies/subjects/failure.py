"""What goes wrong: by the subject, which is a finding, or by who asked for it, which is a mistake.

The two must not be confused: one is reported on a certificate, the other ends the call.
"""

from __future__ import annotations

CRASHED, HUNG, RAISED = "crashed", "hung", "raised"
WRONG_RESULT, WRONG_SHAPE, WRONG_DTYPE = "wrong result", "wrong shape", "wrong dtype"
CHANGED_INPUT, WROTE_BEYOND = "changed its input", "wrote beyond its output"


class Failure(Exception):
    """A subject did something that no activation may do; `kind` is one of the names above."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(f"{kind}: {message}")
        self.kind, self.message = kind, message


class Mistake(ValueError):
    """There is no such subject, or it cannot be loaded here."""
