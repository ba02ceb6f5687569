"""Another activation in a trained model: what breaks at once, and what a few epochs mend.

A small encoder, as BERT is one, reads the rows of a digit. An arm a→b is trained with a; then every
block gets b in its place, and training goes on for a few epochs. Its controls are trained as long
and with the same stop in between: a all along, and b all along.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from softgate.frameworks.block_arguments import is_gated

from ..outcome import Measured
from ..trainable import Told
from ..trial import Setting, Trial
from .digits import Digits, digits
from .options import Option
from .transformer_task import Reading, reading

if TYPE_CHECKING:
    from torch import nn

    from ..data import Data
    from ..models import Reader

ARROW = "→"


@dataclass(frozen=True)
class Swap(Reading):
    """An encoder of digits' rows whose activations are replaced."""

    name: ClassVar[str] = "swap"
    about: ClassVar[str] = Digits.about
    options: ClassVar[dict[str, Option]] = {
        **reading(
            without=("norm", "match", "same", "seconds"), layers=4, width=32, hidden=128, epochs=30
        ),
        "tune_epochs": Option(3, "epochs after the swap", least=1),
        "tune_rate": Option(
            0.1, "learning rate after the swap, as a share of that before", least=0
        ),
    }
    rates: ClassVar[tuple[float, ...]] = (1e-3, 3e-3)
    default_arms: ClassVar[tuple[str, ...]] = ("gelu", "relu")

    def arms(self, names: list[str]) -> list[tuple[str, str, Mapping[str, Setting]]]:
        """Return the first activation all along, and each other one both all along and after it."""
        for name in names:
            if is_gated(name.partition(":")[0]):
                raise ValueError(
                    f"{name} cannot be swapped in: its blocks have another shape; expected "
                    "activations of one input, such as gelu and relu"
                )
        if len(names) < 2:
            raise ValueError(f"swap was given {names}: expected two activations or more")
        first, *others = names
        found: list[tuple[str, str, Mapping[str, Setting]]] = [(first, first, {"before": first})]
        for other in others:
            found.append((other, other, {"before": other}))
            found.append((f"{first}{ARROW}{other}", other, {"before": first}))
        return found

    def architecture(self) -> str:
        """Say what the model is."""
        return f"an encoder {self.blocks()}, norms after as in BERT, over an image's 8 rows"

    def course(self) -> str:
        """Say how it is trained."""
        chosen = self.settings
        more = f"then {chosen['tune_epochs']} more with a new optimizer at {chosen['tune_rate']}"
        return f"{super().course()}, {more} of the rate"

    def load(self) -> Data:
        """Return digits as eight rows of eight pixels."""
        return in_rows(digits())

    def model(self, data: Data, trial: Trial) -> Reader:
        """Return the encoder."""
        from torch import nn

        from ..models import reader

        rows, pixels = data.train.x.shape[1:]
        return reader(lambda width: nn.Linear(pixels, width), data.outputs, rows, trial)

    def run(self, data: Data, trial: Trial, told: Told) -> tuple[Measured, list[float]]:
        """Train, swap, train on."""
        from dataclasses import replace

        from ..training import Run, health, seeded

        settings: Any = trial.settings
        before = settings["before"]
        with seeded(trial.seed):
            model = self.model(data, replace(trial, activation=before))
            run = Run(model, data, trial, told, self.goal())
            run.go(settings["epochs"], trial.lr, settings["evaluations"])
            kept = run.see(data.validation)
            if before != trial.activation:
                put(model, trial.activation)
            changed = run.see(data.validation)
            sites, _ = health(model, data.validation, self.goal())
            units = sum(site.units for site in sites)
            dead = sum(site.dead * site.units for site in sites) / units
            looks = max(1, min(settings["evaluations"], settings["tune_epochs"]))
            run.go(settings["tune_epochs"], trial.lr * settings["tune_rate"], looks)
            more = {
                "validation_score_before_swap": kept.score,
                "validation_loss_before_swap": kept.loss,
                "validation_score_after_swap": changed.score,
                "validation_loss_after_swap": changed.loss,
                "dead_after_swap": dead,
            }
            return run.measured(more), run.times


def put(model: Reader, activation: str) -> None:
    """Put another activation into every feed-forward block."""
    from softgate.torch import Activation

    from ..functions import function

    for block in model.stack.blocks:
        feed_forward: nn.Module = block.feed_forward  # type: ignore[assignment]
        feed_forward.act = Activation(function(activation))


def in_rows(data: Data) -> Data:
    """Return images of 64 pixels as eight rows of eight."""
    from ..data import Data, Part

    parts = [
        Part(part.x.unflatten(1, (8, 8)), part.y)
        for part in (data.train, data.validation, data.test)
    ]
    return Data(parts[0], parts[1], parts[2], data.outputs)
