"""Tasks with transformer blocks: a character language model, and a swap of activations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

from softgate.frameworks.block_arguments import is_gated
from softgate.records.files import read_text

from ..trial import Arms, Measure, ProgressCallback, Setting, TrainingResult, Trial, dead_fraction
from .images import Digits, digits
from .task import Option, Task, perceptron_options

if TYPE_CHECKING:
    from torch import nn

    from ..models import Transformer
    from ..splits import Data
    from ..training import Objective

BITS = Measure("test loss in bits per character", higher=False)
SPLITS = (0.9, 0.95)
"""End of the training text and of the validation text, as fractions."""
ARROW = "→"


def transformer_options(
    without: tuple[str, ...] = ("norm",), **defaults: Setting
) -> dict[str, Option]:
    """Return the options of a stack of transformer blocks with these defaults."""
    blocks = {
        "hidden": Option(defaults.pop("hidden"), "width of a block's hidden layer", minimum=1),
        "heads": Option(4, "attention heads", minimum=1),
    }
    shared = perceptron_options(without, **defaults)
    shared["layers"] = replace(shared["layers"], about="transformer blocks")
    shared["width"] = replace(shared["width"], about="width of the embedding")
    shared["init"] = replace(shared["init"], choices=("he", "fitted"))
    return {**shared, **blocks}


class TransformerTask(Task):
    """A task whose model is a stack of transformer blocks."""

    def describe_blocks(self) -> str:
        """Return the size of the stack as text."""
        layers, width, hidden = (self.settings[name] for name in ("layers", "width", "hidden"))
        return f"of {layers} blocks (width {width}, hidden {hidden})"

    def check(self) -> None:
        """Raise an error also if the width is not a multiple of the number of heads."""
        super().check()
        for _, condition in self.conditions:
            settings: Any = {**self.settings, **condition}
            width, heads = settings["width"], settings["heads"]
            if width % heads:
                raise ValueError(
                    f"width = {width} is not a multiple of heads = {heads}: change one"
                )


class CharacterModel(TransformerTask):
    """A decoder that predicts the next character of a text; a trial takes a minute or two.

    The text, Python's manual or the user's, is split in its order: validation and test text come
    from parts that no model was trained on.
    """

    name: ClassVar[str] = "text"
    options: ClassVar[dict[str, Option]] = {
        **transformer_options(layers=2, width=64, hidden=256, epochs=6, batch=32, evaluations=10),
        "length": Option(64, "characters per example", minimum=2, listable=False),
        "characters": Option(
            None, "characters of the text; all by default", int, minimum=1000, listable=False
        ),
    }
    rates: ClassVar[tuple[float, ...]] = (1e-3, 3e-3)
    default_activations: ClassVar[tuple[str, ...]] = ("gelu", "relu", "swiglu")
    needs: ClassVar[tuple[str, ...]] = ("torch",)
    takes: ClassVar[tuple[str, ...]] = ("data",)

    @property
    def measure(self) -> Measure:
        """Name and direction of the score."""
        return BITS

    @cached_property
    def text(self) -> str:
        """The text."""
        count: Any = self.settings["characters"]
        if self.data is None:
            from pydoc_data.topics import topics

            return "\n".join(topics[name] for name in sorted(topics))[:count]
        return read_text(self.data)[:count]

    def check(self) -> None:
        """Raise an error also if the text is too short."""
        super().check()
        length: Any = self.settings["length"]
        minimum = 20 * (length + 2)
        if len(self.text) < minimum:
            raise ValueError(
                f"the text has {len(self.text):,} characters: expected {minimum:,} or more, for "
                "training, validation and testing; or use a smaller length"
            )

    def content(self) -> list[bytes]:
        """Return the text."""
        return [self.text.encode()]

    def describe(self) -> str:
        """Return one line on data, model and training."""
        source = "Python's manual (pydoc_data.topics)" if self.data is None else self.data
        return (
            f"{source}, {len(self.text):,} characters: the first 90 % for training, 5 % for "
            f"validation, the last 5 % for testing; a decoder {self.describe_blocks()} over "
            f"{self.settings['length']} characters, norms before as in GPT-2; "
            f"{self.describe_training()}"
        )

    def load(self) -> Data:
        """Return windows of characters, and the characters that follow each.

        A character that does not occur in the training text has the code 0.
        """
        import torch

        from ..splits import Data, DataSplit

        length: Any = self.settings["length"]
        ends = [0, *(int(end * len(self.text)) for end in SPLITS), len(self.text)]
        pieces = [self.text[a:b] for a, b in pairwise(ends)]
        code = {character: i for i, character in enumerate(sorted(set(pieces[0])), 1)}
        parts = []
        for piece in pieces:
            codes = torch.tensor([code.get(character, 0) for character in piece])
            windows = (len(codes) - 1) // length
            x, y = (codes[i : i + windows * length].view(windows, length) for i in (0, 1))
            parts.append(DataSplit(x, y))
        train, validation, test = parts
        return Data(train, validation, test, len(code) + 1)

    def objective(self) -> Objective:
        """Return cross entropy, with its value in bits as the score."""
        from ..training import CHARACTERS

        return CHARACTERS

    def model(self, data: Data, trial: Trial) -> Transformer:
        """Return the decoder."""
        from torch import nn

        from ..models import transformer

        length, outputs = data.train.x.shape[1], data.outputs
        return transformer(lambda width: nn.Embedding(outputs, width), outputs, length, trial)


class ActivationSwap(TransformerTask):
    """An encoder of digits' rows whose activations are swapped after training.

    a→b is trained with a; then b replaces a in every block, and training continues for a few
    epochs. Its controls are trained equally long, with the same interruption: a throughout, and b
    throughout.
    """

    name: ClassVar[str] = "swap"
    about: ClassVar[str] = Digits.about
    options: ClassVar[dict[str, Option]] = {
        **transformer_options(
            without=("norm", "match", "same", "seconds"), layers=4, width=32, hidden=128, epochs=30
        ),
        "tune_epochs": Option(3, "epochs after the swap", minimum=1),
        "tune_rate": Option(
            0.1, "learning rate after the swap, as a fraction of that before", minimum=0
        ),
    }
    rates: ClassVar[tuple[float, ...]] = (1e-3, 3e-3)
    default_activations: ClassVar[tuple[str, ...]] = ("gelu", "relu")

    def arms(self, names: list[str]) -> Arms:
        """Return the first activation throughout, and each other one throughout and after it."""
        for name in names:
            if is_gated(name.partition(":")[0]):
                raise ValueError(
                    f"{name} cannot be swapped in: its blocks have another shape; expected "
                    "activations of one input, such as gelu and relu"
                )
        if len(names) < 2:
            raise ValueError(f"swap was given {names}: expected two activations or more")
        first, *others = names
        arms: list[tuple[str, str, Mapping[str, Setting]]] = [(first, first, {"before": first})]
        for other in others:
            arms.append((other, other, {"before": other}))
            arms.append((f"{first}{ARROW}{other}", other, {"before": first}))
        return arms

    def describe_model(self) -> str:
        """Return the model as text."""
        return (
            f"an encoder {self.describe_blocks()}, norms after as in BERT, over an image's 8 rows"
        )

    def describe_training(self) -> str:
        """Return optimizer and duration before and after the swap as text."""
        epochs, fraction = self.settings["tune_epochs"], self.settings["tune_rate"]
        return (
            f"{super().describe_training()}, then {epochs} more with a new optimizer at "
            f"{fraction} of the rate"
        )

    def load(self) -> Data:
        """Return digits as eight rows of eight pixels."""
        from ..splits import Data, DataSplit

        data = digits()
        train, validation, test = (
            DataSplit(part.x.unflatten(1, (8, 8)), part.y)
            for part in (data.train, data.validation, data.test)
        )
        return Data(train, validation, test, data.outputs)

    def model(self, data: Data, trial: Trial) -> Transformer:
        """Return the encoder."""
        from torch import nn

        from ..models import transformer

        rows, pixels = data.train.x.shape[1:]
        return transformer(lambda width: nn.Linear(pixels, width), data.outputs, rows, trial)

    def run(
        self, data: Data, trial: Trial, progress: ProgressCallback
    ) -> tuple[TrainingResult, list[float]]:
        """Train, swap, and continue training."""
        from ..training import TrainingRun, health, seeded

        settings: Any = trial.settings
        before = settings["before"]
        with seeded(trial.seed):
            model = self.model(data, replace(trial, activation=before))
            run = TrainingRun(model, data, trial, progress, self.objective())
            run.train(settings["epochs"], trial.lr, settings["evaluations"])
            trained = run.evaluate(data.validation)
            if before != trial.activation:
                swap_activation(model, trial.activation)
            swapped = run.evaluate(data.validation)
            sites, _ = health(model, data.validation, self.objective())
            evaluations = max(1, min(settings["evaluations"], settings["tune_epochs"]))
            run.train(settings["tune_epochs"], trial.lr * settings["tune_rate"], evaluations)
            more = {
                "validation_score_before_swap": trained.score,
                "validation_loss_before_swap": trained.loss,
                "validation_score_after_swap": swapped.score,
                "validation_loss_after_swap": swapped.loss,
                "dead_after_swap": dead_fraction(sites) or 0.0,
            }
            return run.measured(more), run.times


def swap_activation(model: Transformer, activation: str) -> None:
    """Replace the activation of every feed-forward block."""
    from softgate.torch import Activation

    from ..trial_functions import function

    for block in model.stack.blocks:
        feed_forward: nn.Module = block.feed_forward  # type: ignore[assignment]
        feed_forward.act = Activation(function(activation))
