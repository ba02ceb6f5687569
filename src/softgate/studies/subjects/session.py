"""A subject at work: arrays in, arrays out, what it does wrong raised as a `Failure`.

Ours runs here. What is foreign runs in a process of its own, unless somebody asks for it here:
that is quick, but a crash or a hang is then ours too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Protocol, Self

import numpy as np

from softgate.formula.formats import Format
from softgate.formula.rounding import dtype_of

from .backends.backend import Array
from .backends.plain import Ours
from .description import Subject
from .failure import CHANGED_INPUT, Failure
from .loading import Loaded, load

TIME_LIMIT = 60.0
"""Seconds that a subject may take to be loaded, and for one call."""


@dataclass(frozen=True)
class Information:
    """What is known of a subject once it is loaded."""

    framework: str
    quantities: tuple[str, ...]
    dtypes: tuple[str, ...] | None
    """The only formats that it takes, None where all must be tried."""
    strides: bool
    addresses: bool
    lengths: bool
    versions: Mapping[str, str]

    @classmethod
    def of(cls, message: Mapping[str, Any]) -> Information:
        """Return what a subject said of itself."""
        known = dict(message)
        known["quantities"] = tuple(known["quantities"])
        known["dtypes"] = None if known["dtypes"] is None else tuple(known["dtypes"])
        return cls(**known)


class Session(Protocol):
    """What runs a subject; leaving its `with` block ends it."""

    information: Information

    def evaluate(self, quantity: str, x: Array, *, offset: int = 0, step: int = 1) -> Array:
        """Return a quantity at the contiguous array `x`, of any length.

        With `offset` and `step` the subject is handed the same elements so many places after an
        aligned address and so many places apart.
        """

    def set_threads(self, count: int) -> bool:
        """Set the subject's threads; False where that is not possible any more."""

    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...


class Local:
    """A subject in this process."""

    def __init__(self, loaded: Loaded) -> None:
        self.loaded = loaded
        self.information = Information.of(loaded.information())

    @property
    def ours(self) -> Ours | None:
        """The activation's own way of being called, where it gives all quantities."""
        only = self.loaded.value
        return only if isinstance(only, Ours) and self.loaded.slope is None else None

    def evaluate(self, quantity: str, x: Array, *, offset: int = 0, step: int = 1) -> Array:
        """Return a quantity at `x`."""
        ours = self.ours
        if ours is not None and (offset, step) == (0, 1):
            return ours.call(quantity, x)
        given = placed(x, offset, step)
        before = given.tobytes()
        result = np.array(self.loaded.call(quantity, given))
        if given.tobytes() != before:
            raise Failure(CHANGED_INPUT, f"of {x.size} elements, {x.dtype}")
        return result

    def set_threads(self, count: int) -> bool:
        """Set the framework's threads."""
        return self.loaded.value.set_threads(count)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return None


def placed(x: Array, offset: int, step: int) -> Array:
    """Return a copy of `x` whose elements lie `step` apart, `offset` after an aligned address."""
    room = np.zeros((x.size * step + offset) * x.itemsize + 64, np.uint8)
    first = -room.ctypes.data % 64 + offset * x.itemsize
    span = room[first : first + x.size * step * x.itemsize].view(x.dtype)
    view = span[::step]
    view[...] = x
    return view


def open_session(
    subject: Subject,
    *,
    isolated: bool = True,
    time_limit: float = TIME_LIMIT,
    one_core: bool = False,
) -> Session:
    """Load a subject and return what runs it; Mistake where it cannot be loaded.

    Parameters
    ----------
    subject : Subject
        What `describe` returned.
    isolated : bool
        Whether a foreign subject gets a process of its own.
    time_limit : float
        Seconds that loading it, and one call, may take in a process of its own; inf for no limit.
    one_core : bool
        Whether that process may use one core only.

    Examples
    --------
    >>> import numpy as np
    >>> import softgate as sg
    >>> from softgate.studies.subjects import describe, open_session
    >>> with open_session(describe(sg.relu)) as session:
    ...     session.evaluate("value", np.array([-1.0, 2.0]))
    array([0., 2.])
    """
    if not time_limit > 0:
        raise ValueError(
            f"time_limit = {time_limit}: expected a positive number of seconds, or inf"
        )
    ours = subject.ours is not None and subject.slope is None
    if ours or not isolated:
        return Local(load(subject))
    from .child import Child

    return Child(subject, time_limit, one_core)


def points(fmt: Format, *values: float) -> Array:
    """Return a few numbers as an array of a format."""
    return np.array(values).astype(dtype_of(fmt))
