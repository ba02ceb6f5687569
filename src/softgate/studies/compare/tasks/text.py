"""A small decoder that foretells the next character of a text: Python's own manual, or one's own.

The text is cut into three pieces in its order: what is chosen by and tested on comes from chapters
that no model has read.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from ..trainable import Measure
from ..trial import Trial
from .options import Option
from .transformer_task import Reading, reading

if TYPE_CHECKING:
    from ..data import Data
    from ..goals import Goal
    from ..models import Reader

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
        from ..goals import CHARACTERS

        return CHARACTERS

    def model(self, data: Data, trial: Trial) -> Reader:
        """Return the decoder."""
        from torch import nn

        from ..models import reader

        length = data.train.x.shape[1]
        return reader(lambda width: nn.Embedding(data.outputs, width), data.outputs, length, trial)
