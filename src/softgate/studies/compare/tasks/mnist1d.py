"""MNIST-1D: digits as curves of 40 points, made by a program, harder than they look."""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

from .options import Option
from .task import Task, usual

if TYPE_CHECKING:
    from ..data import Data


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
