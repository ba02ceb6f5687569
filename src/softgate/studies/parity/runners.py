"""Models of all kinds behind one interface: run on inputs, observed and changed at activations."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, Protocol

import numpy as np

from softgate.records.text import a_type
from softgate.runtime.activation import Activation

from ..models import TARGETS, load_torch
from ..models.arrays import Array, Arrays, bind, inputs_file
from ..models.onnx_worker import OnnxModel, encoded, replacement_form
from ..models.record import ScannedActivation


class Run(NamedTuple):
    """The outputs of a model, and the values of its activations by their number."""

    outputs: Arrays
    values: dict[int, Array]


def distinct(activations: Iterable[ScannedActivation]) -> tuple[ScannedActivation, ...]:
    """Return activations with different paths: several calls in one place are numbered."""
    scanned = [replace(a, path=a.path or "model") for a in activations]
    paths = [a.path for a in scanned]
    return tuple(
        replace(a, path=f"{a.path}[{paths[:i].count(a.path)}]") if paths.count(a.path) > 1 else a
        for i, a in enumerate(scanned)
    )


def scaled(activation: ScannedActivation, new: Activation) -> Callable[[Any], Any]:
    """Return a new function with the scale and the offset of the activation that it replaces."""
    if (activation.scale, activation.offset) == (1.0, 0.0):
        return new
    return lambda x: activation.scale * new(x) + activation.offset


class ModelRunner(Protocol):
    """A model with its inputs."""

    name: str
    kind: str
    """torch, onnx or keras."""
    activations: tuple[ScannedActivation, ...]
    """In the order of their execution."""
    inputs: Arrays
    """The arrays that it takes, by the names of its inputs."""

    def run(
        self, replacements: Mapping[int, Activation] | None = None, *, observe: bool = False
    ) -> Run:
        """Run the model with some activations replaced; return the values of all if observed.

        Raises ValueError if it cannot be run so.
        """

    def close(self) -> None:
        """Release what the model uses."""


def open_runner(target: Any, arrays: Arrays, *, trust: bool, allow_missing: bool) -> ModelRunner:
    """Return the runner of a model, a file or a folder; raise ValueError or TypeError."""
    if not isinstance(target, str | os.PathLike):
        packages = {base.__module__.split(".")[0] for base in type(target).__mro__}
        if "keras" in packages:  # on the backend torch, a Keras model is also a torch.nn.Module
            return _keras(target, arrays)
        if "torch" in packages:
            return _torch(target, type(target).__name__, arrays)
        raise TypeError(f"the model is {a_type(target)}: expected {TARGETS}")
    text = os.fspath(target)
    suffix = Path(text).suffix.lower()
    if suffix in (".onnx", ".keras"):
        if not Path(text).is_file():
            raise ValueError(f"there is no file {text}: expected {TARGETS}")
        return OnnxRunner(text, arrays) if suffix == ".onnx" else _keras(text, arrays)
    return _torch(load_torch(text, trust=trust, allow_missing=allow_missing), text, arrays)


def _keras(target: Any, arrays: Arrays) -> ModelRunner:
    from .keras_runner import KerasRunner

    return KerasRunner(target, arrays)


def _torch(model: Any, name: str, arrays: Arrays) -> ModelRunner:
    from .torch_runner import TorchRunner

    return TorchRunner(model, name, arrays)


class OnnxRunner:
    """An ONNX file, run in a worker process by onnxruntime without its optimiser."""

    kind = "onnx"

    def __init__(self, file: str, arrays: Arrays) -> None:
        self.name = file
        self._stack = ExitStack()
        try:
            self._model = self._stack.enter_context(OnnxModel(file))
            self.inputs = bind(arrays, self._model.description["inputs"], file, spare=True)
            self._inputs = self._stack.enter_context(inputs_file(self.inputs))
            self._bytes = sum(array.nbytes for array in self.inputs.values())
        except BaseException:
            self._stack.close()
            raise
        self.activations = distinct(self._model.activations)

    def run(
        self, replacements: Mapping[int, Activation] | None = None, *, observe: bool = False
    ) -> Run:
        """Run the model; activations inside branches and loops are not observed."""
        graphs = {
            i: replacement_form(self.activations[i], new, self._model.opset).graph
            for i, new in (replacements or {}).items()
        }
        for i in graphs:
            if reason := self._model.description["reasons"][i]:
                raise ValueError(f"{self.activations[i].path} cannot be replaced: {reason}")
        with TemporaryDirectory() as folder:
            result = str(Path(folder, "result.npz"))
            message = {
                "command": "run", "inputs": self._inputs, "replacements": encoded(graphs),
                "capture": observe, "result": result,
            }  # fmt: skip
            reply = self._model.request(message, self._bytes)
            with np.load(result, allow_pickle=False) as content:
                outputs = {name: content[f"o{i}"] for i, name in enumerate(reply["outputs"])}
                values = {i: content[f"a{i}"] for i in reply["captured"]}
        return Run(outputs, values)

    def close(self) -> None:
        """End the worker process."""
        self._stack.close()
