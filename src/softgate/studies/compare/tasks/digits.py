"""8×8 images of digits from scikit-learn, and the perceptron of the GELU paper, 8 layers of 128."""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

from .task import Option, Task, usual

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


@dataclass(frozen=True)
class Mnist1d(Task):
    """Ten classes; a trial takes a few seconds."""

    name: ClassVar[str] = "mnist1d"
    about: ClassVar[str] = (
        "5,000 curves of 40 points, 10 classes (package mnist1d): 3,200 to learn from, 800 to "
        "choose by, 1,000 to test (the package's own)"
    )
    options: ClassVar[dict[str, Option]] = usual(layers=3, epochs=40)
    needs: ClassVar[tuple[str, ...]] = ("torch", "sklearn", "mnist1d")

    def load(self) -> Data:
        """Return the curves, standardised by those that are learnt from.

        The package centres all curves by one mean and one spread, of test data too; standardising
        undoes that, as both are the same for all.
        """
        from ..data import classified, split, standardised

        made = _made()
        x, y = made["x"], made["y"]
        train, validation = split(y, 800 / len(y))
        first, *others = standardised(x[train], x[validation], made["x_test"])
        labels = (y[train], y[validation], made["y_test"])
        return classified((first, others[0], others[1]), labels, 10)


@cache
def _made() -> Any:
    """Return the package's data set; generators of everybody that it seeds are put back."""
    import numpy as np
    import torch
    from mnist1d.data import get_dataset_args, make_dataset

    states = random.getstate(), np.random.get_state()  # noqa: NPY002
    try:
        with torch.random.fork_rng(devices=[]):
            return make_dataset(get_dataset_args())
    finally:
        random.setstate(states[0])
        np.random.set_state(states[1])  # noqa: NPY002
