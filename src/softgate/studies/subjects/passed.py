"""A function that is called itself, as `bench`, `table` and `plot` do, under the name it has."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from .description import InvalidSubjectError, SubjectFailure, describe
from .session import open_session

if TYPE_CHECKING:
    from ..identify import Identification

Float64s = npt.NDArray[np.float64]


class PassedFunction:
    """Code without a formula: of a framework, or of the user. It runs in this process."""

    parameters: Mapping[str, float] = {}
    entry = None

    def __init__(self, spelled: str | Callable[..., Any]) -> None:
        self.subject = describe(spelled)
        self.name = spelled if isinstance(spelled, str) else self.subject.shown
        self._session = open_session(self.subject, isolated=False)
        self.framework = self._session.information.framework
        self.quantities = self._session.information.quantities

    @cached_property
    def identification(self) -> Identification:
        """What it computes; raises ValueError if it is not a function of one array."""
        from ..identify import identified

        try:
            return identified(self._session, self.name)
        except SubjectFailure as failure:
            raise ValueError(
                f"{self.name} is not a function of one array ({failure}): expected one, such as "
                "gelu"
            ) from None

    @property
    def importable(self) -> bool:
        """Whether another process can load it."""
        held = self.subject.held
        if "__main__" in (getattr(held, "__module__", None), type(held).__module__):
            return False
        try:
            self.subject.message()
        except InvalidSubjectError:
            return False
        return True

    @cached_property
    def _dtype(self) -> str:
        """float64, or float32 if it takes no float64."""
        if self.identification.not_elementwise:
            raise ValueError(
                f"{self.name} is {self.identification.not_elementwise}: it has no value at a point"
            )
        try:
            self._session.evaluate("value", np.linspace(-1.0, 1.0, 9))
        except SubjectFailure:
            return "float32"
        return "float64"

    def evaluate(self, quantity: str, x: Float64s) -> Float64s:
        """Return a quantity at `x`; raise ValueError if it has none, or is not elementwise."""
        if quantity not in self.quantities:
            raise ValueError(
                f"{self.name} has no {quantity}: it is {self.framework} code, which has no "
                "derivatives; write its formula with @softgate.activation"
            )
        try:
            y = self._session.evaluate(quantity, np.ascontiguousarray(x, self._dtype))
        except SubjectFailure as failure:
            raise ValueError(f"{self.name} failed: {failure}") from None
        return y.astype(np.float64)

    def __call__(self, x: Float64s, /) -> Float64s:
        """Return its value at `x`."""
        return self.evaluate("value", x)

    def slope(self, x: Float64s, /) -> Float64s:
        """Return the derivative that its framework computes."""
        return self.evaluate("slope", x)

    def curvature(self, x: Float64s, /) -> Float64s:
        """Return the second derivative that its framework computes."""
        return self.evaluate("curvature", x)
