"""A Keras model, on any backend, that is run with its activations observed or replaced."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import count
from typing import Any

import keras
import numpy as np

from softgate.records.text import first_line
from softgate.runtime.activation import Activation

from ..identify import UNKNOWN
from ..models.arrays import Array, Arrays, bind
from ..models.keras_model import all_layers, load_keras, operations_of, replaced, sites
from .runners import Run, distinct, scaled


class KerasRunner:
    """A Keras model and its inputs, called eagerly in inference mode."""

    kind = "keras"

    def __init__(self, target: Any, arrays: Arrays) -> None:
        self._model, self.name = load_keras(target)
        self.inputs, self._inputs = _inputs(self._model, self.name, arrays)
        self._call()  # a model without an Input layer is built by its first call
        self._sites = [
            (layer, field, scanned)
            for layer, field, scanned in sites(all_layers(self._model), operations_of(self._model))
            if scanned.function not in (UNKNOWN, "identity")
        ]
        self._order: list[int] = []
        """The site of each call of an activation, in the order of execution."""
        self._run_with(self._record_site)
        self.activations = distinct(self._sites[site][2] for site in self._order)

    def _record_site(self, _: int, site: int, x: Any, function: Any) -> Any:
        self._order.append(site)
        return function(x)

    def _call(self) -> Any:
        try:
            return self._model(self._inputs, training=False)
        except Exception as error:  # Keras and its backends may raise anything
            raise ValueError(
                f"{self.name} failed on its inputs: {type(error).__name__}: {first_line(error)}"
            ) from None

    def _run_with(self, handler: Callable[[int, int, Any, Any], Any]) -> Any:
        """Run the model with each call of an activation replaced by one of `handler`.

        Its arguments are the number of the call, the site, the input and the function.
        """
        calls = count()

        def observed(site: int, function: Any) -> Any:
            # An activation has no other arguments than the first one.
            return lambda x, *_, **__: handler(next(calls), site, x, function)

        with replaced(self._sites, observed):
            return self._call()

    def run(
        self, replacements: Mapping[int, Activation] | None = None, *, observe: bool = False
    ) -> Run:
        """Run the model; activations in loops that a backend compiles are not observed."""
        values: dict[int, Array] = {}

        def call(number: int, site: int, x: Any, function: Any) -> Any:
            new = (replacements or {}).get(number)
            y = function(x) if new is None else scaled(self._sites[site][2], new)(x)
            if observe and (array := _array(y)) is not None:
                values[number] = array
            return y

        output = self._run_with(call)
        flat = keras.tree.flatten(output)
        names = list(getattr(self._model, "output_names", ()))
        if len(names) != len(flat):
            names = [f"output.{i}" for i in range(len(flat))] if len(flat) > 1 else ["output"]
        arrays = {name: _array(tensor) for name, tensor in zip(names, flat, strict=True)}
        return Run({name: array for name, array in arrays.items() if array is not None}, values)

    def close(self) -> None:
        """Do nothing: the model is the caller's."""


def _array(tensor: Any) -> Array | None:
    """Return a tensor as an array; None for a symbolic one."""
    try:
        return np.asarray(keras.ops.convert_to_numpy(tensor))
    except Exception:  # a tracer of the backend
        return None


def _inputs(model: Any, name: str, arrays: Arrays) -> tuple[Arrays, Any]:
    """Return the arrays that a model takes, and its inputs in their structure."""
    tensors = getattr(model, "inputs", None)
    if not tensors:
        values = list(arrays.values())
        return arrays, values[0] if len(values) == 1 else values
    bound = bind(arrays, [tensor.name for tensor in tensors], name, spare=True)
    typed = {t.name: np.asarray(bound[t.name]).astype(t.dtype) for t in tensors}
    structure = getattr(model, "_inputs_struct", None)
    if isinstance(structure, dict):
        return bound, {key: typed[tensor.name] for key, tensor in structure.items()}
    values = [typed[tensor.name] for tensor in tensors]
    return bound, values[0] if len(values) == 1 else values
