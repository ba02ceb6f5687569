"""A user's examples in three parts: theirs where they made them, else ours, always the same.

A part that is not given is taken from the first one, by a fixed shuffle, classes in equal shares
where there are enough of each; that is said. Inputs are taken as they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from softgate.frameworks.block_arguments import unknown

if TYPE_CHECKING:
    from .data import Data

PARTS = ("train", "validation", "test")
SHARES = {"validation": 0.2, "test": 0.2}
"""Of all examples, for parts that are not given."""
FEWEST = 10
"""With less examples, three parts make no sense."""
FORMS = "(x, y), or a mapping such as {'train': (x, y), 'validation': (x, y), 'test': (x, y)}"


@dataclass(frozen=True)
class Examples:
    """Arrays of all parts; y holds classes 0, 1, … or numbers."""

    x: Mapping[str, Any]
    y: Mapping[str, Any]
    classes: tuple[str, ...] | None
    """The classes' names in their order, or None where y are numbers."""
    notes: tuple[str, ...]

    @cached_property
    def sources(self) -> list[bytes]:
        """All that decides what is learnt, as bytes."""
        arrays = [part[name] for name in PARTS for part in (self.x, self.y)]
        heads = [f"{array.dtype}{array.shape}".encode() for array in arrays]
        return [*heads, *(array.tobytes() for array in arrays)]

    @property
    def sizes(self) -> str:
        """How many examples each part has, in words."""
        counts = [f"{len(self.y[name]):,}" for name in PARTS]
        return f"{counts[0]} to learn from, {counts[1]} to choose by, {counts[2]} to test"

    def tensors(self) -> Data:
        """Return the parts as tensors."""
        import torch

        from .data import Data, Part

        parts = {n: Part(torch.from_numpy(self.x[n]), torch.from_numpy(self.y[n])) for n in PARTS}
        outputs = len(self.classes) if self.classes else int(np.prod(self.y["train"].shape[1:]))
        return Data(**parts, outputs=outputs)


def examples(given: Any) -> Examples:
    """Return what a user gave as data; ValueError or TypeError says what is wrong with it."""
    parts = _parts(given)
    x = {name: _inputs(name, part[0]) for name, part in parts.items()}
    raw = {name: _array(f"y of {name}", part[1]) for name, part in parts.items()}
    for name in parts:
        if len(x[name]) != len(raw[name]):
            raise ValueError(
                f"{name}: x has {len(x[name]):,} examples, y has {len(raw[name]):,}: expected as "
                "many"
            )
    y, classes, notes = _targets(raw)
    for name in PARTS[:0:-1]:
        if name not in x:
            notes.append(_take(name, x, y, classes is not None))
    small = [name for name in PARTS if not len(y[name])]
    if small:
        raise ValueError(f"the part {small[0]} is empty: give it some examples")
    return Examples(x, y, classes, tuple(notes))


def _parts(given: Any) -> dict[str, tuple[Any, Any]]:
    if isinstance(given, Mapping):
        for name in given:
            if name not in PARTS:
                raise unknown("part of the data", str(name), PARTS)
        if "train" not in given:
            raise ValueError(f"data has no part 'train': expected {FORMS}")
        return {str(name): _pair(part, f"data[{name!r}]") for name, part in given.items()}
    return {"train": _pair(given, "data")}


def _pair(given: Any, what: str) -> tuple[Any, Any]:
    tensors = getattr(given, "tensors", given)  # a TensorDataset
    if not isinstance(tensors, tuple | list) or len(tensors) != 2:
        raise TypeError(f"{what} is a {type(given).__name__}: expected {FORMS}")
    return tensors[0], tensors[1]


def _array(what: str, given: Any) -> Any:
    detached = given.detach().cpu() if hasattr(given, "detach") else given
    array = np.asarray(detached)
    if array.ndim == 0 or (array.dtype == object and not _texts(array)):
        raise TypeError(
            f"{what} is a {type(given).__name__} of {array.dtype}: expected an array of numbers, "
            "an example for each index of its first axis"
        )
    return array


def _texts(array: Any) -> bool:
    return all(isinstance(item, str) for item in array.ravel())


def _inputs(name: str, given: Any) -> Any:
    array = _array(f"x of {name}", given)
    if array.dtype.kind in "OSU":
        raise TypeError(f"x of {name} holds text: expected numbers")
    if array.dtype.kind in "iu" and array.dtype.itemsize > 1:
        return np.ascontiguousarray(array, np.int64)  # tokens, to be looked up
    floats = np.ascontiguousarray(array, np.float32)
    if not np.isfinite(floats).all():
        raise ValueError(f"x of {name} holds NaN or infinity: fill or drop such examples")
    return floats


def _targets(
    raw: dict[str, Any],
) -> tuple[dict[str, Any], tuple[str, ...] | None, list[str]]:
    """Return targets, the names of classes where there are any, and what is to be said."""
    kinds = {array.dtype.kind for array in raw.values()}
    if kinds <= set("f"):
        y = {name: np.ascontiguousarray(array, np.float32) for name, array in raw.items()}
        if not all(np.isfinite(array).all() for array in y.values()):
            raise ValueError("y holds NaN or infinity: fill or drop such examples")
        return y, None, []
    if "f" in kinds:
        raise TypeError("y is of floats in one part and not in another: expected one kind")
    names = np.unique(np.concatenate([array.ravel() for array in raw.values()]))
    y = {name: np.searchsorted(names, array).astype(np.int64) for name, array in raw.items()}
    classes = tuple(str(name) for name in names)
    if len(classes) < 2:
        raise ValueError(f"y has one class only ({classes[0]}): there is nothing to tell apart")
    notes = []
    if classes != tuple(map(str, range(len(classes)))):
        shown = ", ".join(classes[:5]) + (", …" if len(classes) > 5 else "")
        notes.append(f"The classes of y ({shown}) are numbered 0 to {len(classes) - 1} in order.")
    return y, classes, notes


def _take(name: str, x: dict[str, Any], y: dict[str, Any], classed: bool) -> str:
    """Take a part from the first one; say so."""
    total = sum(map(len, y.values()))
    if total < FEWEST:
        raise ValueError(
            f"{total} examples: expected {FEWEST} or more to split, or all three parts"
        )
    count = max(1, round(SHARES[name] * total))
    if count >= len(y["train"]):
        raise ValueError(f"train has {len(y['train'])} examples: too few to take {name} from them")
    rest, taken, how = _split(y["train"], count, classed)
    for part in (x, y):
        part[name], part["train"] = part["train"][taken], part["train"][rest]
    return f"{count:,} examples were taken from those given as {name} data, {how}."


def _split(y: Any, count: int, classed: bool) -> tuple[Any, Any, str]:
    """Return indices of two parts, the second of `count`, and how they were drawn."""
    classed = classed and y.ndim == 1
    sizes = np.unique(y, return_counts=True)[1] if classed else np.array([0])
    if classed and sizes.min() >= 2 and len(sizes) <= min(count, len(y) - count):
        from .data import split

        rest, taken = split(y, count / len(y))
        return rest, taken, "classes in equal shares"
    order = np.random.default_rng(0).permutation(len(y))
    return np.sort(order[count:]), np.sort(order[:count]), "at random"
