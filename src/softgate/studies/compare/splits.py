"""Examples in three parts: for training, for validation, and for the final test.

The parts are fixed by the data, not by a trial's seed: all activations and seeds have the same.
Inputs are standardised by the mean and standard deviation of the training part.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class DataSplit:
    """Inputs and targets; the first axis is that of the examples."""

    x: Tensor
    y: Tensor

    def __len__(self) -> int:
        return len(self.y)


@dataclass(frozen=True)
class Data:
    """Three disjoint parts.

    Attributes
    ----------
    train, validation, test : DataSplit
        For updates, for tuning and learning curves, for the reported score.
    outputs : int
        Number of a model's outputs per example (or per position): of classes, characters or
        targets.
    """

    train: DataSplit
    validation: DataSplit
    test: DataSplit
    outputs: int

    @property
    def inputs(self) -> int:
        """Number of features of an example: the last axis."""
        return int(self.train.x.shape[-1])


def split(labels: Array, fraction: float, seed: int = 0) -> tuple[Array, Array]:
    """Return indices of two parts, stratified by class; the second has the given fraction."""
    from sklearn.model_selection import train_test_split

    index = np.arange(len(labels))
    first, second = train_test_split(index, test_size=fraction, random_state=seed, stratify=labels)
    return np.sort(first), np.sort(second)


def standardised(train: Array, *others: Array) -> list[Array]:
    """Return inputs minus the training part's column means, divided by its standard deviations.

    A column that is constant in the training part becomes 0 everywhere.
    """
    mean, sd = train.mean(0, dtype=np.float64), train.std(0, dtype=np.float64)
    scale = np.divide(1.0, sd, out=np.zeros_like(sd), where=sd > 1e-8)
    return [((part - mean) * scale).astype(np.float32) for part in (train, *others)]


def classified(x: list[Array], y: list[Array], classes: int) -> Data:
    """Return inputs and class numbers 0, 1, … of the three parts as data."""
    train, validation, test = (
        DataSplit(torch.from_numpy(np.ascontiguousarray(a)), torch.from_numpy(b.astype(np.int64)))
        for a, b in zip(x, y, strict=True)
    )
    return Data(train, validation, test, classes)
