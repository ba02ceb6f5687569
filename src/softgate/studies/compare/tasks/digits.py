"""Perceptrons on small bundled data: 8×8 digits, deep stacks of layers on them, and MNIST-1D."""

from __future__ import annotations

import random
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

from .task import Option, Task, perceptron_options

if TYPE_CHECKING:
    from ..data import Data


def digits() -> Data:
    """Return scikit-learn's digits in three parts, standardised by the training part."""
    from sklearn.datasets import load_digits

    from ..data import classified, split, standardised

    x, y = load_digits(return_X_y=True)
    rest, test = split(y, 450 / len(y))
    train, validation = split(y[rest], 270 / len(rest))
    parts = (rest[train], rest[validation], test)
    return classified(standardised(*(x[part] for part in parts)), [y[part] for part in parts], 10)


class Digits(Task):
    """Digits and the GELU paper's perceptron of 8 layers of 128; a trial takes about a second."""

    name: ClassVar[str] = "digits"
    about: ClassVar[str] = (
        "1,797 images of 8×8 pixels, 10 classes (scikit-learn): 1,077 for training, 270 for "
        "validation, 450 for testing, stratified by class"
    )
    options: ClassVar[dict[str, Option]] = perceptron_options()

    def load(self) -> Data:
        """Return scikit-learn's digits."""
        return digits()


class Deep(Digits):
    """Digits with 8, 16, 32 and 48 hidden layers, one condition each; no residuals, no norms."""

    name: ClassVar[str] = "deep"
    options: ClassVar[dict[str, Option]] = perceptron_options(layers="8,16,32,48", width=64)
    rates: ClassVar[tuple[float, ...]] = (3e-4, 1e-3, 3e-3)


class Mnist1d(Task):
    """MNIST-1D: digits as generated curves of 40 points; a trial takes a few seconds."""

    name: ClassVar[str] = "mnist1d"
    about: ClassVar[str] = (
        "5,000 curves of 40 points, 10 classes (package mnist1d): 3,200 for training, 800 for "
        "validation, 1,000 for testing (the package's test set)"
    )
    options: ClassVar[dict[str, Option]] = perceptron_options(layers=3, epochs=40)
    needs: ClassVar[tuple[str, ...]] = ("torch", "sklearn", "mnist1d")

    def load(self) -> Data:
        """Return the curves, standardised by the training part.

        The package scales all curves, test data included, by one mean and standard deviation;
        standardising undoes that.
        """
        from ..data import classified, split, standardised

        made = _mnist1d()
        x, y = made["x"], made["y"]
        train, validation = split(y, 800 / len(y))
        inputs = standardised(x[train], x[validation], made["x_test"])
        return classified(inputs, [y[train], y[validation], made["y_test"]], 10)


@cache
def _mnist1d() -> Any:
    """Return the package's data set; restores the global generators that it seeds."""
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
