"""A plain stack, deeper and deeper, on digits: no residuals, no norms, activations alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from .digits import Digits, digits
from .options import Option
from .task import Task, usual

if TYPE_CHECKING:
    from ..data import Data


@dataclass(frozen=True)
class Deep(Task):
    """Digits with 8, 16, 32 and 48 hidden layers, each a condition of its own."""

    name: ClassVar[str] = "deep"
    about: ClassVar[str] = Digits.about
    options: ClassVar[dict[str, Option]] = usual(layers="8,16,32,48", width=64)
    rates: ClassVar[tuple[float, ...]] = (3e-4, 1e-3, 3e-3)

    def load(self) -> Data:
        """Return scikit-learn's digits."""
        return digits()
