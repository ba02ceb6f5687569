"""A PyTorch model that is run with some of its activations observed or replaced.

Values are numbered in the order in which operators compute them, as in `scan`, so that functional
calls are observed and replaced as modules are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from inspect import Parameter
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from softgate.records.text import a_type
from softgate.runtime.activation import Activation

from ..models.activations import scanned_part
from ..models.arrays import Array, Arrays, bind
from ..models.loading import model_errors, named_arguments
from ..models.torch_model import Recorder, TorchGraph, record_run
from ..models.torch_programs import call_arguments, module_of
from .runners import Run, distinct, scaled


class ValueObserver(Recorder):  # type: ignore[no-untyped-call]
    """Copies the values with some numbers, and overwrites others by functions of such copies."""

    def __init__(
        self,
        inputs: Any,
        copied: set[int],
        overwritten: Mapping[int, tuple[int, Callable[[Any], Any]]],
    ) -> None:
        self.copies: dict[int, Tensor] = {}
        self._copied, self._overwritten = copied, overwritten
        super().__init__(inputs)

    def _new(self, tensor: Tensor) -> int:
        number = super()._new(tensor)
        if number in self._overwritten:
            source, function = self._overwritten[number]
            tensor.copy_(function(self.copies[source]))
        if number in self._copied:
            self.copies[number] = tensor.detach().clone()
        return number


class TorchRunner:
    """A module and its arguments."""

    kind = "torch"

    def __init__(self, model: Any, name: str, arrays: Arrays) -> None:
        model = module_of(model)
        if not isinstance(model, nn.Module):
            raise TypeError(f"{name} is {a_type(model)}: expected a torch.nn.Module")
        self.name, self._model = name, model
        self.inputs, self._args, self._kwargs = _arguments(model, name, arrays)
        with model_errors(name, "its inputs"):
            graph = TorchGraph(model, self._args, self._kwargs)
        self._executed = graph.executed
        parts = [p for p in graph.parts() if p.is_activation]
        self._values: list[tuple[Any, Any]] = [(p.subgraph.input, p.subgraph.output) for p in parts]
        self.activations = distinct(scanned_part(graph, part) for part in parts)

    def run(
        self, replacements: Mapping[int, Activation] | None = None, *, observe: bool = False
    ) -> Run:
        """Run the model in evaluation mode."""
        replaced = replacements or {}
        copied = {self._values[i][0] for i in replaced}
        if observe:
            copied |= {output for _, output in self._values}
        overwritten = {
            self._values[i][1]: (self._values[i][0], scaled(self.activations[i], new))
            for i, new in replaced.items()
        }
        observer = ValueObserver((self._args, dict(self._kwargs)), copied, overwritten)
        with model_errors(self.name, "its inputs"):
            output = record_run(self._model, self._args, self._kwargs, observer)
        if [operation.kind for operation in observer.operations] != self._executed:
            raise ValueError(
                f"{self.name} does not execute the same operators in each run: its activations "
                "cannot be observed"
            )
        values = {}
        if observe:
            values = {
                i: as_array(observer.copies[output]) for i, (_, output) in enumerate(self._values)
            }
        return Run({name: as_array(t) for name, t in named_tensors(output)}, values)

    def close(self) -> None:
        """Do nothing: the model is the caller's."""


def _arguments(
    model: nn.Module, name: str, arrays: Arrays
) -> tuple[Arrays, tuple[Any, ...], dict[str, Any]]:
    """Return the arrays that a model takes, and the arguments with which it is called.

    Floats are converted to the dtype of its first parameter.
    """
    floats = (p.dtype for p in model.parameters() if p.is_floating_point())
    dtype = next(floats, None)
    parameters = named_arguments(model)
    names = [p.name for p in parameters]
    if not names:  # forward(*args)
        return arrays, tuple(_tensor(array, dtype) for array in arrays.values()), {}
    needed = [p.name for p in parameters if p.default is p.empty]
    bound = bind(arrays, names, name, needed=needed, spare=True)
    tensors = {key: _tensor(array, dtype) for key, array in bound.items()}
    if [*tensors] == names[:1] and parameters[0].kind is not Parameter.KEYWORD_ONLY:
        return bound, tuple(tensors.values()), {}  # its name may be that of *args or positional
    return bound, *call_arguments(model, names, tensors)


def _tensor(array: Array, dtype: torch.dtype | None) -> Tensor:
    tensor = torch.from_numpy(np.ascontiguousarray(array))
    return tensor.to(dtype) if tensor.is_floating_point() and dtype is not None else tensor


def named_tensors(output: Any, name: str = "") -> Iterator[tuple[str, Tensor]]:
    """Yield the tensors of a model's output with their names; `output` for a single one."""
    if isinstance(output, Tensor):
        yield name or "output", output
    elif isinstance(output, Mapping):
        for key, value in output.items():
            yield from named_tensors(value, f"{name}.{key}" if name else str(key))
    elif isinstance(output, tuple | list):
        for i, value in enumerate(output):
            yield from named_tensors(value, f"{name or 'output'}.{i}")


def as_array(tensor: Tensor) -> Array:
    """Return a tensor as an array; bfloat16 as that of ml_dtypes."""
    if tensor.dtype == torch.bfloat16:
        import ml_dtypes

        return tensor.detach().cpu().float().numpy().astype(ml_dtypes.bfloat16)
    return np.asarray(tensor.detach().cpu())
