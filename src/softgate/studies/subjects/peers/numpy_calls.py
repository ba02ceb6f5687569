"""Calls of NumPy code that was passed, in a process without other frameworks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .timed_call import ALLOCATES, BenchTask, TimedCall


def start(threads: int) -> str:
    """Silence NumPy's warnings; return an empty remark."""
    np.seterr(all="ignore")
    return ""


def of_function(function: Callable[[Any], Any], task: BenchTask) -> TimedCall:
    """Return the call of a function of arrays, which has no backward."""
    notes = (ALLOCATES,) if task.reused else ()
    return TimedCall(lambda: function(task.x), notes=notes, operand=task.x)
