"""A user's own model and data: `build(activation)` makes the one, we split the other and train."""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from softgate.frameworks.block_arguments import unknown

from .fingerprint import codeprint, fingerprint
from .tasks.task import TRAINING, expand_conditions, gated_among, read_options
from .trial import USUAL_ARMS, Measure, Measured, Setting, Told, Trial, Work

if TYPE_CHECKING:
    from torch import nn

    from .data import Data
    from .training import Goal

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


Build = Callable[[Any], "nn.Module"]


@dataclass(frozen=True, init=False)
class Own:
    """A model of a user's, trained by us.

    Parameters
    ----------
    build : callable
        build(activation) returns an `nn.Module`. What it is given is a module itself, which may
        stand in several places of the model; for a gated function it is the function, for
        `softgate.torch.GatedFeedForward`. Torch's generators are seeded before each call, so all
        activations begin with the same weights.
    data : tuple or mapping
        (x, y), or a mapping with train, validation and test. y of whole numbers, bools or text are
        classes, floats are numbers to be predicted. Parts that are missing are taken from train.
    loss : callable, optional
        loss(output, y), a mean over the batch; cross entropy for classes, squares for numbers.
    score : callable, optional
        score(output, y) of all test examples; the share of right classes, or R², and the loss
        itself where that is one's own.
    higher : bool
        Whether more is better; for a `score` of one's own.
    **settings
        epochs, batch, same, seconds, evaluations.

    Examples
    --------
    >>> import numpy as np
    >>> from torch import nn
    >>> def build(activation):
    ...     return nn.Sequential(nn.Linear(4, 8), activation, nn.Linear(8, 2))
    >>> x = np.random.default_rng(0).normal(size=(50, 4))
    >>> Own(build, (x, x[:, 0] > 0)).describe()
    'build: 30 to learn from, 10 to choose by, 10 to test; 2 classes; Adam, 30 epochs in ...'
    """

    name = "build"
    rates = (3e-4, 1e-3, 3e-3)
    default_arms = USUAL_ARMS

    build: Build
    examples: Examples
    loss: Callable[..., Any] | None
    score: Callable[..., float] | None
    measure: Measure
    settings: Mapping[str, Setting] = field(hash=False)

    def __init__(
        self,
        build: Build,
        data: Any,
        *,
        loss: Callable[..., Any] | None = None,
        score: Callable[..., float] | None = None,
        higher: bool = True,
        **settings: Any,
    ) -> None:
        for what, given in (("build", build), ("loss", loss), ("score", score)):
            if given is not None and not callable(given):
                raise TypeError(f"{what} is a {type(given).__name__}: expected a function")
        found = examples(data)
        values = {
            "build": build,
            "examples": found,
            "loss": loss,
            "score": score,
            "measure": _measure(found, loss, score, higher),
            "settings": read_options(self.name, TRAINING, settings),
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)
        if "time" in str(self.settings["same"]).split(",") and self.settings["seconds"] is None:
            raise ValueError(
                "same = 'time' needs seconds, the time of a trial's updates: seconds=5"
            )

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the user's code, of the data, of ours and of versions."""
        functions = [codeprint(part) for part in (self.build, self.loss, self.score)]
        said = [*functions, str(self.measure), platform.python_version()]
        code = [*map(str.encode, said)]
        return fingerprint((), *code, *self.examples.sources)

    @property
    def conditions(self) -> tuple[tuple[str, Mapping[str, Setting]], ...]:
        """Circumstances under which arms are compared, each a label and settings."""
        return expand_conditions(TRAINING, self.settings)

    def arms(self, names: list[str]) -> list[tuple[str, str, Mapping[str, Setting]]]:
        """Return label, activation and settings of what is compared for these activations."""
        return [(name, name, {}) for name in names]

    def describe(self) -> str:
        """Say in a line what is trained on what."""
        chosen, classes = self.settings, self.examples.classes
        what = f"{len(classes)} classes" if classes else "numbers to be predicted"
        long = "1 epoch" if chosen["epochs"] == 1 else f"{chosen['epochs']} epochs"
        if chosen["same"] == "time":
            long = f"{chosen['seconds']} s"
        name = getattr(self.build, "__name__", type(self.build).__name__)
        return (
            f"{name}: {self.examples.sizes}; {what}; Adam, {long} in batches of {chosen['batch']}"
        )

    def notes(self, names: Sequence[str] = ()) -> list[str]:
        """Return what was done to the data, and what gated activations are to `build`."""
        gates = gated_among(names)
        if not gates:
            return list(self.examples.notes)
        gated = (
            f"{', '.join(gates)}: gated, so build is given the function, for "
            "softgate.torch.GatedFeedForward; how large the model is then is up to build."
        )
        return [*self.examples.notes, gated]

    def work(self) -> Work:
        """Return the function that runs a trial."""
        from .training import train

        data, goal = self.examples.tensors(), self._goal()

        def work(trial: Trial, told: Told) -> tuple[Measured, list[float]]:
            return train(self._model(trial, data), data, trial, told, goal)

        return work

    def _goal(self) -> Goal:
        from .training import CLASSES, NUMBERS, Goal

        if self.loss is not None:
            return Goal(self.loss, self.score)
        usual = CLASSES if self.examples.classes else NUMBERS
        return Goal(usual.loss, self.score or usual.score)

    def _model(self, trial: Trial, data: Data) -> nn.Module:
        import torch
        from torch import nn

        from softgate.runtime.activation import Activation
        from softgate.torch import make

        from .functions import function

        found = function(trial.activation)
        given = make(found) if isinstance(found, Activation) else found
        torch.manual_seed(trial.seed)
        model = self.build(given)
        if not isinstance(model, nn.Module):
            raise TypeError(f"build returned a {type(model).__name__}: expected an nn.Module")
        self._check(model, data)
        return model

    def _check(self, model: nn.Module, data: Data) -> None:
        """Raise where the outputs cannot be what the data asks for; a loss might not notice."""
        import torch

        if self.loss is not None:
            return
        model.eval()
        with torch.no_grad():
            shape = tuple(model(data.train.x[:2]).shape)
        model.train()
        y = tuple(data.train.y[:2].shape)
        if self.examples.classes and (shape[:-1] != y or shape[-1] != data.outputs):
            raise ValueError(
                f"the model gives outputs of shape {shape} for 2 examples: expected "
                f"{(*y, data.outputs)}, a number for each class, or a loss= of your own"
            )
        if not self.examples.classes and shape not in (y, (*y, 1)):
            raise ValueError(
                f"the model gives outputs of shape {shape} for 2 examples: expected {y}, the shape "
                "of y, or a loss= of your own"
            )


def _measure(found: Examples, loss: Any, score: Any, higher: bool) -> Measure:
    if score is not None:
        return Measure(f"test {getattr(score, '__name__', 'score')}", higher)
    if loss is not None:
        return Measure("test loss", higher=False)
    if found.classes:
        return Measure("test accuracy", higher=True, percent=True)
    return Measure("test R²", higher=True)
