"""Something to time: a call made beforehand, on arrays that everybody shares."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Call = Callable[[], Any]


class Absent(Exception):
    """An implementation has no such function, format or quantity."""


@dataclass(frozen=True)
class Task:
    """What a contestant has to do, on which arrays.

    `reused` asks for the result in `out`, where the library can do that; otherwise each call makes
    its own output.
    """

    quantity: str
    x: Array
    grad: Array
    out: Array
    reused: bool


@dataclass(frozen=True)
class Contestant:
    """A call to time; `read` turns what it returns into an array."""

    call: Call
    read: Callable[[Any], Array] = np.asarray
    notes: tuple[str, ...] = ()
    given: Any = None
    """The input, where a call may hand it back and so do nothing."""


ALLOCATES = "has no output argument: each call allocates, and gets back what the last one freed"
"""A note on who cannot write into memory given to it."""

FROM_X = "the backward computes from x what it needs of the value"
