"""A Keras model, on any backend, that is run with its activations observed or replaced."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import count
from typing import Any

import keras
import numpy as np

from softgate.runtime.activation import Activation

from ..identify import UNKNOWN
from ..inputs import Array, Arrays, bind
from ..scan.keras_model import load_keras, sites
from .runners import Run, distinct


class KerasRunner:
    """A Keras model and its inputs, called eagerly in inference mode."""

    kind = "keras"

    def __init__(self, target: Any, arrays: Arrays) -> None:
        self._model, self.name = load_keras(target)
        self._inputs = _inputs(self._model, self.name, arrays)
        self._call()  # a model without an Input layer is built by its first call
        self._sites = [
            (holder, field, scanned)
            for holder, field, scanned in sites(self._model)
            if scanned.function not in (UNKNOWN, "identity")
        ]
        self._order: list[int] = []
        """The site of each call of an activation, in the order of execution."""
        self._observed(self._ordered)
        self.activations = distinct(self._sites[site][2] for site in self._order)

    def _ordered(self, _: int, site: int, x: Any, function: Any) -> Any:
        self._order.append(site)
        return function(x)

    def _call(self) -> Any:
        try:
            return self._model(self._inputs, training=False)
        except Exception as error:  # Keras and its backends may raise anything
            lines = str(error).strip().splitlines() or [""]
            raise ValueError(
                f"{self.name} failed on its inputs: {type(error).__name__}: {lines[0]}"
            ) from None

    def _observed(self, observe: Callable[[int, int, Any, Any], Any]) -> Any:
        """Run the model; `observe` replaces each call of an activation.

        It gets the number of the call, the site, the argument and the function.
        """
        calls = count()
        previous = []
        for site, (holder, field, _) in enumerate(self._sites):
            function = getattr(holder, field)
            previous.append((holder, field, vars(holder).get(field)))

            def observed(
                x: Any, *args: Any, _site: int = site, _function: Any = function, **kwargs: Any
            ) -> Any:
                del args, kwargs  # an activation has no other arguments
                return observe(next(calls), _site, x, _function)

            _set(holder, field, observed)
        try:
            return self._call()
        finally:
            for holder, field, value in reversed(previous):
                if value is None:
                    vars(holder).pop(field, None)
                else:
                    _set(holder, field, value)

    def run(
        self, replacements: Mapping[int, Activation] | None = None, *, observe: bool = False
    ) -> Run:
        """Run the model; activations in loops that a backend compiles are not observed."""
        values: dict[int, Array] = {}

        def call(number: int, site: int, x: Any, function: Any) -> Any:
            new = (replacements or {}).get(number)
            y = function(x) if new is None else self._scaled(site, new, x)
            if observe and (array := _array(y)) is not None:
                values[number] = array
            return y

        output = self._observed(call)
        flat = keras.tree.flatten(output)
        names = list(getattr(self._model, "output_names", ()))
        if len(names) != len(flat):
            names = [f"output.{i}" for i in range(len(flat))] if len(flat) > 1 else ["output"]
        arrays = {name: _array(tensor) for name, tensor in zip(names, flat, strict=True)}
        return Run({name: array for name, array in arrays.items() if array is not None}, values)

    def _scaled(self, site: int, new: Activation, x: Any) -> Any:
        scanned = self._sites[site][2]
        y = new(x)
        return (
            y
            if (scanned.scale, scanned.offset) == (1.0, 0.0)
            else (scanned.scale * y + scanned.offset)
        )

    def close(self) -> None:
        """Do nothing: the model is the caller's."""


def _set(holder: Any, field: str, value: Any) -> None:
    """Set an attribute without Keras' tracking, which a built layer refuses."""
    object.__setattr__(holder, field, value)


def _array(tensor: Any) -> Array | None:
    """Return a tensor as an array; None for a symbolic one."""
    try:
        return np.asarray(keras.ops.convert_to_numpy(tensor))
    except Exception:  # a tracer of the backend
        return None


def _inputs(model: Any, name: str, arrays: Arrays) -> Any:
    """Return the inputs in the structure of a model."""
    tensors = getattr(model, "inputs", None)
    if not tensors:
        values = list(arrays.values())
        return values[0] if len(values) == 1 else values
    names = [tensor.name for tensor in tensors]
    bound = bind(arrays, names, name)
    if set(bound) != set(names):
        raise ValueError(f"the inputs are {', '.join(arrays)}: {name} takes {', '.join(names)}")
    typed = {t.name: np.asarray(bound[t.name]).astype(t.dtype) for t in tensors}
    structure = getattr(model, "_inputs_struct", None)
    if isinstance(structure, dict):
        return {key: typed[tensor.name] for key, tensor in structure.items()}
    values = [typed[name] for name in names]
    return values[0] if len(values) == 1 else values
