"""What every way of calling a subject has: arrays in, arrays out, whatever lies between."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from softgate.runtime.machine import installed

Array = npt.NDArray[Any]
version_of = cache(installed)
"""Asked for every subject: `identify` has some milliseconds in all."""


class Backend(ABC):
    """One callable and the framework that it belongs to."""

    framework = "numpy"
    packages: tuple[str, ...] = ("numpy",)
    strides = True
    """Whether the subject sees an array whose elements lie apart as it is, not a copy."""
    addresses = True
    """Whether the subject sees the address that an array begins at."""
    lengths = True
    """Whether the subject sees arrays of any length, none at all too."""
    quantities: tuple[str, ...] = ("value",)
    dtypes: tuple[str, ...] | None = None
    """The only formats there are, where there is no need to try."""

    @abstractmethod
    def call(self, quantity: str, x: Array) -> Any:
        """Return a quantity at `x`: an array of NumPy's, or whatever else the subject returned."""

    def set_threads(self, count: int) -> bool:
        """Set the number of threads; False where the framework has it fixed by now."""
        return False

    def versions(self) -> dict[str, str]:
        """Return the versions of what runs."""
        return {
            name: version for name in self.packages if (version := version_of(name)) is not None
        }


def as_array(result: Any) -> Any:
    """Return NumPy's array of a result, a number's too; other things as they are."""
    return np.asarray(result) if isinstance(result, np.ndarray | np.generic) else result
