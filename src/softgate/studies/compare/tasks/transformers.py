"""What tasks with transformer blocks have in common."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from softgate.frameworks.block_arguments import is_gated

from ..trial import Measure, Measured, Setting, Told, Trial
from .digits import Digits, digits
from .task import Option, Task, usual

if TYPE_CHECKING:
    from torch import nn

    from ..data import Data
    from ..models import Reader
    from ..training import Goal


def reading(without: tuple[str, ...] = ("norm",), **changed: Setting) -> dict[str, Option]:
    """Return the options of a stack of transformer blocks with these usual values."""
    blocks = {
        "hidden": Option(changed.pop("hidden"), "width of a block's hidden layer", least=1),
        "heads": Option(4, "heads of attention", least=1),
    }
    shared = usual(without, **changed)
    shared["layers"] = replace(shared["layers"], about="transformer blocks")
    shared["width"] = replace(shared["width"], about="numbers that stand for a position")
    shared["init"] = replace(shared["init"], among=("he", "fitted"))
    return dict(chain(shared.items(), blocks.items()))


class Reading(Task):
    """A task whose model is a stack of transformer blocks."""

    def blocks(self) -> str:
        """Say how large the stack is."""
        chosen = self.settings
        return f"of {chosen['layers']} blocks (width {chosen['width']}, hidden {chosen['hidden']})"

    def check(self) -> None:
        """Raise where heads do not share the width out."""
        super().check()
        for width, heads in zip(self.each("width"), self.each("heads"), strict=True):
            if width % heads:
                raise ValueError(f"width = {width} is no multiple of heads = {heads}: change one")


BITS = Measure("test loss in bits per character", higher=False)
SHARES = (0.9, 0.95)
"""Where the piece to learn from ends, and that to choose by."""


@dataclass(frozen=True)
class Text(Reading):
    """Characters, one after the other; a trial takes a minute or two."""

    name: ClassVar[str] = "text"
    options: ClassVar[dict[str, Option]] = {
        **reading(layers=2, width=64, hidden=256, epochs=6, batch=32, evaluations=10),
        "length": Option(64, "characters that are read at once", least=2, several=False),
        "characters": Option(
            None, "how many of the text are taken; all by default", int, least=1000, several=False
        ),
    }
    rates: ClassVar[tuple[float, ...]] = (1e-3, 3e-3)
    default_arms: ClassVar[tuple[str, ...]] = ("gelu", "relu", "swiglu")
    needs: ClassVar[tuple[str, ...]] = ("torch",)
    takes: ClassVar[tuple[str, ...]] = ("data",)

    @property
    def measure(self) -> Measure:
        """What a score is."""
        return BITS

    @cached_property
    def text(self) -> str:
        """What is read."""
        taken: Any = self.settings["characters"]
        if self.data is None:
            from pydoc_data.topics import topics

            return "\n".join(topics[name] for name in sorted(topics))[:taken]
        try:
            return Path(self.data).read_text(encoding="utf-8")[:taken]
        except UnicodeDecodeError as error:
            raise ValueError(f"{self.data} is no text in UTF-8: {error.reason}") from None

    def check(self) -> None:
        """Raise where there is too little to read."""
        super().check()
        length: Any = self.settings["length"]
        least = 20 * (length + 2)
        if len(self.text) < least:
            raise ValueError(
                f"the text has {len(self.text):,} characters: expected {least:,} or more, to have "
                "pieces to learn from, to choose by and to test on; or take a smaller length"
            )

    def sources(self) -> list[bytes]:
        """Return the text."""
        return [self.text.encode()]

    def describe(self) -> str:
        """Say in a line what is trained on what."""
        which = "Python's manual (pydoc_data.topics)" if self.data is None else self.data
        split = "the first 90 % to learn from, 5 % to choose by, the last 5 % to test"
        return (
            f"{which}, {len(self.text):,} characters: {split}; a decoder {self.blocks()} over "
            f"{self.settings['length']} characters, norms before as in GPT-2; {self.course()}"
        )

    def load(self) -> Data:
        """Return windows of characters, and those that follow each.

        A character that the piece to learn from does not have is 0, a character like all others.
        """
        import torch

        from ..data import Data, Part

        length: Any = self.settings["length"]
        ends = [0, *(int(share * len(self.text)) for share in SHARES), len(self.text)]
        pieces = [self.text[a:b] for a, b in pairwise(ends)]
        code = {character: i for i, character in enumerate(sorted(set(pieces[0])), 1)}
        parts = []
        for piece in pieces:
            codes = torch.tensor([code.get(character, 0) for character in piece])
            windows = (len(codes) - 1) // length
            x, y = (codes[i : i + windows * length].view(windows, length) for i in (0, 1))
            parts.append(Part(x, y))
        return Data(parts[0], parts[1], parts[2], len(code) + 1)

    def goal(self) -> Goal:
        """Return the loss, and its bits."""
        from ..training import CHARACTERS

        return CHARACTERS

    def model(self, data: Data, trial: Trial) -> Reader:
        """Return the decoder."""
        from torch import nn

        from ..models import reader

        length = data.train.x.shape[1]
        return reader(lambda width: nn.Embedding(data.outputs, width), data.outputs, length, trial)


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
