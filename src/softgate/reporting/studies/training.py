"""Digits learnt with a few activations: what a comparison of one's own would look like.

Small enough for seconds: few epochs, five seeds, one learning rate for all. Five seeds cannot show
a difference, and the record says so; `softgate compare` with eight can.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from softgate.studies.compare.record import Comparison
from softgate.studies.compare.trial import USUAL_ARMS as ARMS

if TYPE_CHECKING:
    from softgate.studies.compare.run import Update

SEEDS, EPOCHS, RATE = 5, 10, 1e-3
Progress = Callable[[str, int, int], None]


def training(progress: Progress | None = None) -> Comparison:
    """Train the network of task digits with each activation, and return the comparison."""
    from softgate.studies.compare.request import Asked

    asked = Asked("digits", activations=ARMS, seeds=SEEDS, lr=RATE, settings={"epochs": EPOCHS})

    def tell(update: Update) -> None:
        if progress is not None:
            progress("run", update.event.done, update.event.total)

    return asked.prepared().run(progress=tell)
