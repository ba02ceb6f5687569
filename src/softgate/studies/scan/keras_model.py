"""The activations of a Keras model: those of its layers, and operations that are activations.

The model is not run. The call of a user's layer is examined as a whole: it is listed if it is an
elementwise function, and named in a note otherwise.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from math import prod
from types import FunctionType
from typing import Any
from zipfile import ZipFile

import numpy as np

from softgate.runtime.activation import Activation
from softgate.runtime.files import check_expansion
from softgate.runtime.names import get
from softgate.runtime.packages import require
from softgate.runtime.registry import label
from softgate.runtime.resolve import first_line

from ..identify import UNKNOWN, Identification, identify
from ..subjects import SubjectFailure
from . import EQUAL, distance
from .record import Scan, ScannedActivation

FIELDS = ("activation", "recurrent_activation")
"""Attributes of layers that hold an activation."""


def scan_keras(target: Any) -> Scan:
    """Return the activations of a Keras model or of a .keras file.

    A file is loaded in Keras' safe mode, in which it runs no code of its own.
    """
    model, name = load_keras(target)
    places = list(sites(model))
    scanned = [activation for _, _, activation in places]
    activations = tuple(a for a in scanned if a.function not in (UNKNOWN, "identity"))
    others = tuple(a for a in scanned if a.function == UNKNOWN)
    notes = tuple(
        f"{a.path} is called {a.claim}, but computes {a.answer}" for a in activations if a.mismatch
    )
    notes += tuple(not_examined(model, [layer for layer, _, _ in places]))
    return Scan(name, "keras", "sample", None, activations, others, notes)


def load_keras(target: Any) -> tuple[Any, str]:
    """Return the Keras model in a file, or the model itself, and its name for messages."""
    require("keras", purpose="a Keras model")
    import keras

    name = getattr(target, "name", "")
    if isinstance(target, str | os.PathLike):
        name = os.fspath(target)
        try:
            check_expansion(name)
            target = keras.saving.load_model(name, compile=False, safe_mode=True)
        except Exception as error:  # Keras may raise anything on a damaged file
            if refuses_lambda(error):
                raise ValueError(
                    f"{name} has Python code in {_lambda_names(name)}, which is not run: if you "
                    "trust it, load it with keras.saving.load_model(file, safe_mode=False) and "
                    "pass the model"
                ) from None
            raise ValueError(
                f"{name} cannot be loaded: {type(error).__name__}: {first_line(error)}"
            ) from None
    if not isinstance(target, keras.Model):
        raise TypeError(f"the model is a {type(target).__name__}: expected a keras.Model")
    return target, name


def refuses_lambda(error: Exception) -> bool:
    """Return whether Keras raised an error because a Lambda layer has a Python lambda."""
    return "deserialization of a `Lambda` layer" in str(error)


def _lambda_names(file: str) -> str:
    """Return the Lambda layers of a .keras file that have Python lambdas, for a message."""
    names = []

    def collect(item: dict[str, Any]) -> dict[str, Any]:
        settings = item.get("config")
        if item.get("class_name") == "Lambda" and isinstance(settings, dict):
            functions = [value for value in settings.values() if isinstance(value, dict)]
            if any(function.get("class_name") == "__lambda__" for function in functions):
                names.append(str(settings.get("name")))
        return item

    with ZipFile(file) as archive:
        json.loads(archive.read("config.json"), object_hook=collect)
    return f"the Lambda layer{'s' if len(names) > 1 else ''} {', '.join(names)}"


def all_layers(model: Any) -> list[Any]:
    """Return the layers of a model, with those inside them."""
    return list(model._flatten_layers(include_self=False, recursive=True))


def sites(model: Any) -> Iterator[tuple[Any, str, ScannedActivation]]:
    """Yield every activation of a model: its layer, the attribute that holds it, and what it is.

    Of a layer or an operation that is itself an activation, the attribute is `call`.
    """
    import keras

    layers = all_layers(model)
    known = {id(layer) for layer in layers}
    operations = [o for o in getattr(model, "operations", ()) if id(o) not in known]
    for layer in layers:
        functions = [(f, getattr(layer, f, None)) for f in FIELDS]
        functions = [(field, function) for field, function in functions if callable(function)]
        for field, function in functions:
            claim = _claim(function)
            path = _path(layer) if field == "activation" else f"{_path(layer)}/{field}"
            yield layer, field, _activation(path, function, _size(layer), claim)
        if not functions and _is_activation(layer):
            yield layer, "call", _activation(_path(layer), layer, _size(layer), None)
    for operation in operations:
        if not isinstance(operation, keras.layers.InputLayer) and operation._inbound_nodes:
            arguments = operation._inbound_nodes[0].arguments
            if len(arguments.keras_tensors) == 1:
                scanned = _activation(operation.name, operation, _size(operation), None)
                if scanned.function != UNKNOWN:  # reshapes and reductions are not elementwise
                    yield operation, "call", scanned


def _is_activation(layer: Any) -> bool:
    """Return whether a layer is an activation of Keras, or a layer of the user that may be one.

    A layer of the user is called on arrays of other shapes, so it must have neither weights nor
    layers.
    """
    if type(layer).__module__.startswith("keras.src.layers.activations"):
        return True
    inner = all_layers(layer)
    return _is_user_code(layer) and layer.built and not layer.weights and not inner and (
        is_elementwise(layer)
    )  # fmt: skip


def _is_user_code(layer: Any) -> bool:
    """Return whether the call of a layer is code of the user or of another library."""
    package = type(layer).__module__.split(".")[0]
    return type(layer).__name__ == "Lambda" or package not in ("keras", "softgate")


def not_examined(model: Any, examined: list[Any]) -> list[str]:
    """Return a note on layers whose call may compute activations that a scan does not show."""
    known = {id(layer) for layer in examined}
    names = [
        f"{_path(layer)} ({type(layer).__name__})"
        for layer in (model, *all_layers(model))
        if _is_user_code(layer) and id(layer) not in known
    ]
    return [f"functions in the call of {', '.join(names)} are not examined"] if names else []


def _activation(
    path: str, function: Any, elements: int | None, claimed: Activation | None
) -> ScannedActivation:
    name = getattr(function, "__name__", type(function).__name__)
    match = _identified(function)
    claim = None if claimed is None else label(claimed)
    scanned = ScannedActivation.of(
        path, match, dtype="float32", operators=name, elements=elements, claim=claim
    )
    if claimed is None or scanned.function == UNKNOWN or scanned.label == claim:
        return scanned
    return replace(scanned, mismatch=distance(scanned, claimed) > EQUAL)


def _identified(function: Any) -> Identification | None:
    """Return what a function computes, or None if it cannot be evaluated at an array."""
    module = getattr(function, "__module__", None) or ""
    if isinstance(function, FunctionType) and module.startswith("keras."):
        return _identified_once(function)
    return _identify(function)


def _identify(function: Any) -> Identification | None:
    try:
        return identify(function, framework="keras", dtype="float32")
    except (SubjectFailure, RuntimeError, TypeError, ValueError, IndexError):
        return None


_identified_once = lru_cache(maxsize=64)(_identify)
"""For the functions of Keras itself, which every layer shares and which do not change."""


def _claim(function: Any) -> Activation | None:
    """Return the function of the catalogue that Keras calls by this name; None if it has none."""
    name = getattr(function, "__name__", None)
    if name is None:
        return None
    try:
        claimed = get(name, source="keras")
    except ValueError:
        return None
    return claimed if isinstance(claimed, Activation) else None


def _size(layer: Any) -> int | None:
    """Return the elements of a layer's output for one sample; None if they are not known."""
    try:
        shape = layer.output.shape
    except (AttributeError, ValueError):
        return None
    sizes = tuple(shape)[1:]
    return prod(sizes) if all(isinstance(size, int) for size in sizes) else None


def _path(layer: Any) -> str:
    """Return the path of a layer in its model; a layer without variables has only a name."""
    return str(layer.path or layer.name)


def is_elementwise(function: Any) -> bool:
    """Return whether a function of tensors has the same value at an element in any array."""
    import keras

    x = np.linspace(-3, 3, 12, dtype=np.float32).reshape(2, 6)
    try:
        whole, part = (
            keras.ops.convert_to_numpy(function(keras.ops.convert_to_tensor(a)))
            for a in (x, x[:, :4])
        )
    except Exception:  # not a function of one tensor; a user's function may raise anything
        return False
    return bool(whole.shape == x.shape and np.allclose(whole[:, :4], part, 1e-4, 1e-5))
