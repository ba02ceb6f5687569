"""What tasks with transformer blocks have in common."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain

from ..trial import Setting
from .options import Option
from .task import Task, usual


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
