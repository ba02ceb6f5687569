"""Examples in three parts: one to learn from, one to choose by, one to be scored on once.

The parts are fixed by the data, not by a trial's seed: every arm and every seed has the same. What
standardises inputs is learnt from the first part alone.
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
class Part:
    """Inputs and what is to be said of them; an example is an index of the first axis."""

    x: Tensor
    y: Tensor

    def __len__(self) -> int:
        return len(self.y)


@dataclass(frozen=True)
class Data:
    """Three parts that share no example.

    Attributes
    ----------
    train, validation, test : Part
        What is learnt from, what rates are chosen and curves are drawn by, what counts.
    outputs : int
        How many numbers a model gives for an example (or for each of its positions): as many as
        there are classes, characters, or targets.
    """

    train: Part
    validation: Part
    test: Part
    outputs: int

    @property
    def inputs(self) -> int:
        """How many numbers an example has: the last axis."""
        return int(self.train.x.shape[-1])


def split(labels: Array, share: float, seed: int = 0) -> tuple[Array, Array]:
    """Return indices of two parts in which classes have the same shares; the second is `share`."""
    from sklearn.model_selection import train_test_split

    index = np.arange(len(labels))
    first, second = train_test_split(index, test_size=share, random_state=seed, stratify=labels)
    return np.sort(first), np.sort(second)


def standardised(train: Array, *others: Array) -> list[Array]:
    """Return inputs less the mean of the first part's columns, over their standard deviation.

    A column that is the same in all of the first part tells nothing there: it is 0 everywhere.
    """
    mean, sd = train.mean(0, dtype=np.float64), train.std(0, dtype=np.float64)
    scale = np.divide(1.0, sd, out=np.zeros_like(sd), where=sd > 1e-8)
    return [((part - mean) * scale).astype(np.float32) for part in (train, *others)]


def classified(x: tuple[Array, Array, Array], y: tuple[Array, Array, Array], classes: int) -> Data:
    """Return arrays of floats and of classes 0, 1, … as data."""
    parts = [
        Part(torch.from_numpy(np.ascontiguousarray(a)), torch.from_numpy(b.astype(np.int64)))
        for a, b in zip(x, y, strict=True)
    ]
    return Data(parts[0], parts[1], parts[2], classes)
