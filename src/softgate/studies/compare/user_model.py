"""A user's model and data: `build(activation)` makes the model; softgate splits and trains.

Parts of the data that are not given are taken from the training part by a fixed shuffle, stratified
by class if there are enough examples of each; a note reports it. Inputs are not changed.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from softgate.frameworks.block_arguments import unknown
from softgate.records.files import read_arrays
from softgate.records.text import a_type

from ..subjects import user_code
from .fingerprint import fingerprint, function_hash
from .tasks.task import (
    ACCURACY,
    TRAINING,
    check_seconds,
    describe_training,
    expand_conditions,
    gated_among,
    read_options,
)
from .trial import (
    DEFAULT_ACTIVATIONS,
    Arms,
    Measure,
    ProgressCallback,
    Setting,
    TrainingResult,
    Trial,
    TrialFunction,
)

if TYPE_CHECKING:
    from torch import nn

    from .splits import Data
    from .training import Objective

Build = Callable[[Any], "nn.Module"]
PARTS = ("train", "validation", "test")
FRACTIONS = {"validation": 0.2, "test": 0.2}
"""Of all examples, for parts that are not given."""
MIN_EXAMPLES = 10
"""Fewer examples are not split into three parts."""
FORMS = "(x, y), or a mapping such as {'train': (x, y), 'validation': (x, y), 'test': (x, y)}"


@dataclass(frozen=True)
class Examples:
    """Arrays of all parts; y holds class numbers 0, 1, … or regression targets.

    `classes` are the classes' names in order, or None for regression.
    """

    x: Mapping[str, Any]
    y: Mapping[str, Any]
    classes: tuple[str, ...] | None
    notes: tuple[str, ...]

    @cached_property
    def content(self) -> list[bytes]:
        """All arrays as bytes, for the fingerprint."""
        arrays = [part[name] for name in PARTS for part in (self.x, self.y)]
        heads = [f"{array.dtype}{array.shape}".encode() for array in arrays]
        return [*heads, *(array.tobytes() for array in arrays)]

    @property
    def sizes(self) -> str:
        """Number of examples in each part, as text."""
        counts = [f"{len(self.y[name]):,}" for name in PARTS]
        return f"{counts[0]} for training, {counts[1]} for validation, {counts[2]} for testing"

    def tensors(self) -> Data:
        """Return the parts as tensors."""
        import torch

        from .splits import Data, DataSplit

        parts = {
            n: DataSplit(torch.from_numpy(self.x[n]), torch.from_numpy(self.y[n])) for n in PARTS
        }
        outputs = len(self.classes) if self.classes else int(np.prod(self.y["train"].shape[1:]))
        return Data(**parts, outputs=outputs)


def examples(data: Any) -> Examples:
    """Return a user's data as examples; raise ValueError or TypeError if it cannot be used."""
    parts = _parts(load_data(data))
    x = {name: _inputs(name, part[0]) for name, part in parts.items()}
    raw = {name: _array(f"y of {name}", part[1]) for name, part in parts.items()}
    for name in parts:
        if len(x[name]) != len(raw[name]):
            raise ValueError(
                f"{name}: x has {len(x[name]):,} examples, y has {len(raw[name]):,}: expected the "
                "same number"
            )
    y, classes, notes = _targets(raw)
    for name in PARTS[:0:-1]:
        if name not in x:
            notes.append(_take_part(name, x, y, classes is not None))
    empty = [name for name in PARTS if not len(y[name])]
    if empty:
        raise ValueError(f"the part {empty[0]} is empty: expected at least one example")
    return Examples(x, y, classes, tuple(notes))


def load_data(data: Any) -> Any:
    """Return data that is given as a function or as text, and other data unchanged.

    An .npz file has the arrays x and y, or train_x, train_y, validation_x and so on. A function,
    also as `module:function` or `file.py:function`, is called without arguments.
    """
    if isinstance(data, str | os.PathLike):
        text = os.fspath(data)
        if not user_code.is_code(text):
            return _from_file(Path(text))
        data = user_code.load(*user_code.split(text))
    return data() if callable(data) else data


def _from_file(file: Path) -> Any:
    if not file.is_file():
        raise ValueError(f"there is no file {file}: expected an .npz with x and y, or {FORMS}")
    arrays = read_arrays(file)
    if arrays.keys() == {"x", "y"}:
        return arrays["x"], arrays["y"]
    parts = {name: (f"{name}_x", f"{name}_y") for name in PARTS}
    known = {name: pair for name, pair in parts.items() if {*pair} <= arrays.keys()}
    if "train" not in known or len(arrays) != 2 * len(known):
        raise ValueError(
            f"{file} has {', '.join(arrays) or 'no arrays'}: expected x and y, or train_x and "
            "train_y, and likewise for validation and test"
        )
    return {name: (arrays[x], arrays[y]) for name, (x, y) in known.items()}


def _parts(data: Any) -> dict[str, tuple[Any, Any]]:
    if isinstance(data, Mapping):
        for name in data:
            if name not in PARTS:
                raise unknown("part of the data", str(name), PARTS)
        if "train" not in data:
            raise ValueError(f"data has no part 'train': expected {FORMS}")
        return {str(name): _pair(part, f"data[{name!r}]") for name, part in data.items()}
    return {"train": _pair(data, "data")}


def _pair(pair: Any, name: str) -> tuple[Any, Any]:
    tensors = getattr(pair, "tensors", pair)  # a TensorDataset
    if not isinstance(tensors, tuple | list) or len(tensors) != 2:
        raise TypeError(f"{name} is {a_type(pair)}: expected {FORMS}")
    return tensors[0], tensors[1]


def _array(name: str, values: Any) -> Any:
    array = np.asarray(values.detach().cpu() if hasattr(values, "detach") else values)
    texts = array.dtype == object and all(isinstance(item, str) for item in array.ravel())
    if array.ndim == 0 or (array.dtype == object and not texts):
        raise TypeError(
            f"{name} is {a_type(values)} of {array.dtype}: expected an array of numbers "
            "whose first axis is that of the examples"
        )
    return array


def _inputs(name: str, values: Any) -> Any:
    array = _array(f"x of {name}", values)
    if array.dtype.kind in "OSU":
        raise TypeError(f"x of {name} holds text: expected numbers")
    if array.dtype.kind in "iu" and array.dtype.itemsize > 1:
        return np.ascontiguousarray(array, np.int64)  # token numbers, for an embedding
    floats = np.ascontiguousarray(array, np.float32)
    if not np.isfinite(floats).all():
        raise ValueError(f"x of {name} holds NaN or infinity: fill or drop such examples")
    return floats


def _targets(
    raw: dict[str, Any],
) -> tuple[dict[str, Any], tuple[str, ...] | None, list[str]]:
    """Return targets, the classes' names for classification, and notes."""
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
        raise ValueError(f"y has one class only ({classes[0]}): expected at least two")
    notes = []
    if classes != tuple(map(str, range(len(classes)))):
        first = ", ".join(classes[:5]) + (", …" if len(classes) > 5 else "")
        notes.append(f"The classes of y ({first}) are numbered 0 to {len(classes) - 1} in order.")
    return y, classes, notes


def _take_part(name: str, x: dict[str, Any], y: dict[str, Any], classification: bool) -> str:
    """Take a part from the training part; return a note on it."""
    total = sum(map(len, y.values()))
    if total < MIN_EXAMPLES:
        raise ValueError(
            f"{total} examples: expected {MIN_EXAMPLES} or more to split, or all three parts"
        )
    count = max(1, round(FRACTIONS[name] * total))
    if count >= len(y["train"]):
        raise ValueError(f"train has {len(y['train'])} examples: too few to take {name} from them")
    rest, taken, how = _split(y["train"], count, classification)
    for part in (x, y):
        part[name], part["train"] = part["train"][taken], part["train"][rest]
    return f"{count:,} examples were taken from those given as {name} data, {how}."


def _split(y: Any, count: int, classification: bool) -> tuple[Any, Any, str]:
    """Return indices of two parts, the second of `count`, and how they were drawn."""
    classification = classification and y.ndim == 1
    sizes = np.unique(y, return_counts=True)[1] if classification else np.array([0])
    if classification and sizes.min() >= 2 and len(sizes) <= min(count, len(y) - count):
        from .splits import split

        return *split(y, count / len(y)), "stratified by class"
    order = np.random.default_rng(0).permutation(len(y))
    return np.sort(order[count:]), np.sort(order[:count]), "at random"


@dataclass(frozen=True, init=False)
class UserModel:
    """A user's model, trained by softgate.

    Parameters
    ----------
    build : callable
        build(activation) returns an `nn.Module`. The argument is a module, which may be used in
        several places of the model; for a gated function it is the function, for
        `softgate.torch.GatedFeedForward`. Torch's generators are seeded before each call, so all
        activations start with the same weights.
    data : tuple, mapping, str or callable
        (x, y), or a mapping with train, validation and test; an .npz file with them, or a function
        that returns them, also as "module:function" or "file.py:function". Integers, bools or text
        in y are classes, floats are regression targets. Missing parts are taken from train.
    loss : callable, optional
        loss(output, y), a mean over the batch; by default cross entropy for classes, mean squared
        error for regression.
    score : callable, optional
        score(output, y) of all test examples; by default accuracy or R², or the loss if `loss` is
        given.
    higher : bool
        Whether higher is better, for a `score` that is given.
    **settings
        epochs, batch, same, seconds, evaluations.

    Examples
    --------
    >>> import numpy as np
    >>> from torch import nn
    >>> def build(activation):
    ...     return nn.Sequential(nn.Linear(4, 8), activation, nn.Linear(8, 2))
    >>> x = np.random.default_rng(0).normal(size=(50, 4))
    >>> UserModel(build, (x, x[:, 0] > 0)).describe()
    'build: 30 for training, 10 for validation, 10 for testing; 2 classes; Adam, 30 epochs, ...'
    """

    name = "build"
    rates = (3e-4, 1e-3, 3e-3)
    default_activations = DEFAULT_ACTIVATIONS

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
        functions = {"build": build, "loss": _loaded(loss), "score": _loaded(score)}
        for name, function in functions.items():
            if function is not None and not callable(function):
                raise TypeError(f"{name} is {a_type(function)}: expected a function")
        parts = examples(data)
        vars(self).update(
            functions,
            examples=parts,
            measure=_measure(parts, functions["loss"], functions["score"], higher),
            settings=read_options(self.name, TRAINING, settings),
        )
        check_seconds(self.settings)

    @cached_property
    def fingerprint(self) -> str:
        """Hash of the user's code, of the data, of softgate's code and of versions."""
        functions = [function_hash(part) for part in (self.build, self.loss, self.score)]
        texts = [*functions, str(self.measure), platform.python_version()]
        return fingerprint((), *map(str.encode, texts), *self.examples.content)

    @property
    def conditions(self) -> tuple[tuple[str, Mapping[str, Setting]], ...]:
        """Label and settings of each condition."""
        return expand_conditions(TRAINING, self.settings)

    def arms(self, names: list[str]) -> Arms:
        """Return label, activation and settings of each arm for these activations."""
        return [(name, name, {}) for name in names]

    def describe(self) -> str:
        """Return one line on data and training."""
        classes = self.examples.classes
        kind = f"{len(classes)} classes" if classes else "regression"
        name = getattr(self.build, "__name__", type(self.build).__name__)
        return f"{name}: {self.examples.sizes}; {kind}; {describe_training(self.settings)}"

    def notes(self, names: Sequence[str] = ()) -> list[str]:
        """Return notes on the data, and on the argument of `build` for gated activations."""
        gates = gated_among(names)
        if not gates:
            return list(self.examples.notes)
        gated = (
            f"{', '.join(gates)}: gated, so build is given the function, for "
            "softgate.torch.GatedFeedForward; build determines the size of the model."
        )
        return [*self.examples.notes, gated]

    def trial_function(self) -> TrialFunction:
        """Return the function that runs a trial."""
        from .training import train

        data, objective = self.examples.tensors(), self._objective()

        def run(trial: Trial, progress: ProgressCallback) -> tuple[TrainingResult, list[float]]:
            return train(self._model(trial, data), data, trial, progress, objective)

        return run

    def _objective(self) -> Objective:
        from .training import CLASSIFICATION, REGRESSION, Objective

        if self.loss is not None:
            return Objective(self.loss, self.score)
        default = CLASSIFICATION if self.examples.classes else REGRESSION
        return Objective(default.loss, self.score or default.score)

    def _model(self, trial: Trial, data: Data) -> nn.Module:
        import torch
        from torch import nn

        from softgate.torch import make

        from .trial_functions import function

        activation = function(trial.activation)
        torch.manual_seed(trial.seed)
        model = self.build(make(activation) if activation.nin == 1 else activation)
        if not isinstance(model, nn.Module):
            raise TypeError(f"build returned {a_type(model)}: expected an nn.Module")
        if self.loss is None:
            self._check_outputs(model, data)
        return model

    def _check_outputs(self, model: nn.Module, data: Data) -> None:
        """Raise ValueError if the outputs' shape does not fit the data; a loss may broadcast."""
        import torch

        model.eval()
        with torch.no_grad():
            shape = tuple(model(data.train.x[:2]).shape)
        model.train()
        y = tuple(data.train.y[:2].shape)
        if self.examples.classes and (shape[:-1] != y or shape[-1] != data.outputs):
            expected = f"{(*y, data.outputs)}, a number for each class"
        elif not self.examples.classes and shape not in (y, (*y, 1)):
            expected = f"{y}, the shape of y"
        else:
            return
        raise ValueError(
            f"the model gives outputs of shape {shape} for 2 examples: expected {expected}, or a "
            "loss= of your own"
        )


def _loaded(function: Any) -> Any:
    """Return a function that is written as `module:function` or `file.py:function`."""
    is_text = isinstance(function, str) and user_code.is_code(function)
    return user_code.load(*user_code.split(function)) if is_text else function


def _measure(parts: Examples, loss: Any, score: Any, higher: bool) -> Measure:
    if score is not None:
        return Measure(f"test {getattr(score, '__name__', 'score')}", higher)
    if loss is not None:
        return Measure("test loss", higher=False)
    return ACCURACY if parts.classes else Measure("test R²", higher=True)
