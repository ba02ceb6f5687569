"""Where the units of a layer are in a tensor: told by the last layer that was called before."""

from __future__ import annotations

from typing import Any

from torch import Tensor


class Layout:
    """The axis of the last layer's units, and how many there are."""

    def __init__(self) -> None:
        self.axis, self.width = -1, 0

    def laid(self, y: Any, behind: int) -> Any:
        """Remember where the units of a layer's result are: `behind` them are so many axes."""
        if isinstance(y, Tensor) and y.dim() > behind:
            # From the front where they are channels: later ones may join the axes behind.
            self.axis = y.dim() - 1 - behind if behind else -1
            self.width = y.shape[self.axis]
        return y

    def axis_of(self, x: Tensor) -> int | None:
        """Return where the units are in a tensor; None where all elements are inputs of one."""
        axis = self.axis if self.axis < x.dim() else -1
        if not x.dim() or (x.dim() == 1 and len(x) != self.width):
            return None  # rows of one unit, whose axis was dropped
        return None if self.width == 1 != x.shape[axis] else axis
