"""What training makes small, and what is reported: a loss, and a score of all outputs at once."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

Of = Callable[[Tensor, Tensor], Tensor]
"""A function of a model's outputs and of what they should be."""


@dataclass(frozen=True)
class Goal:
    """A loss, and what is made of outputs or of the loss for people to read.

    Attributes
    ----------
    loss : callable
        loss(output, y): the mean over a batch.
    score : callable or None
        score(output, y) of all examples of a part at once.
    of_loss : callable or None
        The score where it is only the loss in another unit; then no outputs are kept.
    """

    loss: Of
    score: Callable[[Tensor, Tensor], float] | None = None
    of_loss: Callable[[float], float] | None = None


def cross_entropy(output: Tensor, y: Tensor) -> Tensor:
    """Return the mean of -log p of the right class; classes are the last axis."""
    return F.cross_entropy(output.flatten(0, -2), y.flatten())


def accuracy(output: Tensor, y: Tensor) -> float:
    """Return the share of examples whose right class has the largest output."""
    return int((output.argmax(-1) == y).sum()) / y.numel()


def r_squared(output: Tensor, y: Tensor) -> float:
    """Return the share of the targets' variance that outputs explain."""
    y = y.double()
    left = (output.double().reshape(y.shape) - y).square().sum()
    return float(1 - left / (y - y.mean(0)).square().sum())


def squares(output: Tensor, y: Tensor) -> Tensor:
    """Return the mean of squared differences."""
    return F.mse_loss(output.reshape(y.shape), y)


CLASSES = Goal(cross_entropy, accuracy)
CHARACTERS = Goal(cross_entropy, of_loss=lambda loss: loss / math.log(2))
NUMBERS = Goal(squares, r_squared)


def area(output: Tensor, y: Tensor) -> float:
    """Return the area under the ROC curve of two classes, from their difference of outputs."""
    from sklearn.metrics import roc_auc_score

    with torch.no_grad():
        return float(roc_auc_score(y.numpy(), (output[:, 1] - output[:, 0]).double().numpy()))


TWO_CLASSES = Goal(cross_entropy, area)
