"""8×8 images of digits from scikit-learn, and the perceptron of the GELU paper, 8 layers of 128."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from .options import Option
from .task import Task, usual

if TYPE_CHECKING:
    from ..data import Data


@dataclass(frozen=True)
class Digits(Task):
    """Ten classes; a trial takes about a second."""

    name: ClassVar[str] = "digits"
    about: ClassVar[str] = (
        "1,797 images of 8×8 pixels, 10 classes (scikit-learn): 1,077 to learn from, 270 to choose "
        "by, 450 to test, classes in equal shares"
    )
    options: ClassVar[dict[str, Option]] = usual()
    rates: ClassVar[tuple[float, ...]] = (3e-4, 1e-3, 3e-3, 1e-2)
    """Smooth and steep ones are best at 1e-3 or 3e-3; neither should be the end of the list."""

    def load(self) -> Data:
        """Return the images, standardised by those that are learnt from."""
        return digits()


def digits() -> Data:
    """Return scikit-learn's digits in three parts."""
    from sklearn.datasets import load_digits

    from ..data import classified, split, standardised

    x, y = load_digits(return_X_y=True)
    rest, test = split(y, 450 / len(y))
    train, validation = split(y[rest], 270 / len(rest))
    parts = (rest[train], rest[validation], test)
    first, *others = standardised(*(x[part] for part in parts))
    return classified((first, others[0], others[1]), tuple(y[part] for part in parts), 10)
