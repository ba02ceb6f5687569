"""The activations of a Keras model: those of its layers, and operations that are activations.

The call of a user's layer is examined as a whole: it is listed if it is an elementwise function,
and named in a note otherwise. The model is run once, on zeros, to count what it calls.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import lru_cache
from math import prod
from pathlib import Path
from threading import RLock, get_ident
from types import FunctionType
from typing import TYPE_CHECKING, Any
from zipfile import ZipFile, is_zipfile

import numpy as np

from softgate.records.files import check_expansion
from softgate.records.packages import require
from softgate.records.text import a_type, first_line
from softgate.runtime.activation import Activation
from softgate.runtime.lookup import lookup
from softgate.runtime.machine import in_bytes
from softgate.runtime.registry import label

from ..identify import UNKNOWN, Identification, identify
from ..subjects import SubjectFailure
from .activations import EQUAL, distance
from .operator_count import OperatorCount
from .record import Scan, ScannedActivation

if TYPE_CHECKING:
    from .keras_operator_count import KerasCount

FIELDS = ("activation", "recurrent_activation")
"""Attributes of layers that hold an activation."""


UNKNOWN_SIZE = 32
"""The size of a dimension that the inputs of a model do not state, when it is run."""

LARGEST_WEIGHT_RATIO, SMALL_MODEL_BYTES = 8, 1 << 26
"""Weights in float32 have at most 8 times the bytes of a file (4 bits each); small models more."""

_add_weight_lock = RLock()

Site = tuple[Any, str, ScannedActivation]
"""A layer or an operation, the attribute with its activation, and what that is.

The attribute of a layer or an operation that is itself an activation is `call`.
"""


class UnreadableLayersError(ValueError):
    """A .keras file has layers that Keras does not load; `layers` are the others."""

    def __init__(self, message: str, layers: list[Any], unread: list[str]) -> None:
        super().__init__(message)
        self.layers, self.unread = layers, unread


def scan_keras(target: Any) -> Scan:
    """Return the activations of a Keras model or of a .keras file.

    A file is loaded in Keras' safe mode, in which it runs no code of its own. Lambda layers with
    code are named in a note, and the other layers are examined.
    """
    unread, count = list[str](), None
    try:
        model, name = load_keras(target)
        places = list(sites(all_layers(model), operations_of(model)))
        layers = [model, *all_layers(model)]
    except UnreadableLayersError as error:
        if not all("(Lambda)" in reason for reason in error.unread):
            raise
        name, unread = os.fspath(target), [f"not read: {reason}" for reason in error.unread]
        layers = [inner for layer in error.layers for inner in (layer, *all_layers(layer))]
        places = list(sites(layers, []))
        unread.append("the model was not run, because not all of its layers were read")
    else:
        try:
            count, keys = _operator_count(model, places)
        except Exception as error:  # the user's layers may raise anything
            unread.append(f"operators were not counted: the model was not run on zeros: {error}")
    operators = unlisted = None
    if count is not None:
        counter = OperatorCount(count.operators.values())
        places = [
            (layer, field, replace(a, counted=counter.assign({key: key for key in keys[i]})))
            for i, (layer, field, a) in enumerate(places)
        ]
        operators = counter.total
        unlisted = counter.unlisted(lambda key: _why_unlisted(count.owners[key]))
    scanned = [activation for _, _, activation in places]
    activations = tuple(a for a in scanned if a.function not in (UNKNOWN, "identity"))
    others = tuple(a for a in scanned if a.function == UNKNOWN)
    notes = [
        f"{a.path} is called {a.claim}, but computes {a.answer}" for a in activations if a.mismatch
    ]
    notes += [
        f"{a.path} computes a prelu with several slopes" for a in others if a.operators == "PReLU"
    ]
    notes += not_examined(layers, [layer for layer, _, _ in places]) + unread
    return Scan(
        name, "keras", "sample", None, activations, others, tuple(notes), operators, unlisted or ()
    )


def load_keras(target: Any) -> tuple[Any, str]:
    """Return the Keras model in a file, or the model itself, and its name for messages."""
    require("keras", purpose="a Keras model")
    import keras

    name = getattr(target, "name", "")
    if isinstance(target, str | os.PathLike):
        name = os.fspath(target)
        try:
            check_expansion(name)
            with limited_weights(name):
                target = keras.saving.load_model(name, compile=False, safe_mode=True)
        except ModelSizeError:
            raise
        except Exception as error:  # Keras may raise anything on a damaged file
            layers, unread = _read_layers(name)
            if not unread:
                raise ValueError(
                    f"{name} cannot be loaded: {type(error).__name__}: {first_line(error)}"
                ) from None
            raise UnreadableLayersError(
                f"{name} cannot be loaded: {'; '.join(unread)}: import the modules that register "
                "these names, or, if you trust the file, pass the model that "
                "keras.saving.load_model(file, safe_mode=False) returns",
                layers,
                unread,
            ) from None
    if not isinstance(target, keras.Model):
        raise TypeError(f"the model is {a_type(target)}: expected a keras.Model")
    return target, name


class ModelSizeError(ValueError):
    """A file describes a model with more weights than it holds."""


@contextmanager
def limited_weights(file: str) -> Iterator[None]:
    """Let layers that Keras makes in this thread raise if the file cannot hold their weights."""
    import keras

    stored = Path(file).stat().st_size
    if is_zipfile(file):
        with ZipFile(file) as archive:
            stored = sum(part.file_size for part in archive.infolist())
    most = LARGEST_WEIGHT_RATIO * stored + SMALL_MODEL_BYTES
    thread, size, message = get_ident(), 0, ""

    def add_weight(layer: Any, shape: Any = None, *args: Any, **keywords: Any) -> Any:
        nonlocal size, message
        if get_ident() == thread:
            lengths = shape if isinstance(shape, tuple | list) else (shape,)
            size += 4 * prod(length for length in lengths if isinstance(length, int))
            if size > most:
                message = (
                    f"{file}: its layers, up to {layer.name}, have {in_bytes(size)} of weights as "
                    f"float32, and the file holds {in_bytes(stored)}"
                )
                raise ModelSizeError(message)
        return original(layer, shape, *args, **keywords)

    layer_class: Any = keras.layers.Layer
    with _add_weight_lock:
        original = layer_class.add_weight
        layer_class.add_weight = add_weight
        try:
            yield
        except Exception:  # Keras raises errors of its own for those of a layer
            if message:
                raise ModelSizeError(message) from None
            raise
        finally:
            layer_class.add_weight = original


def refuses_lambda(error: Exception) -> bool:
    """Return whether Keras raised an error because a Lambda layer has a Python lambda."""
    return "deserialization of a `Lambda` layer" in str(error)


def _read_layers(file: str) -> tuple[list[Any], list[str]]:
    """Return the layers of a .keras file that Keras loads alone, and why others are not read."""
    import keras

    layers, unread = list[Any](), list[str]()

    def read(item: dict[str, Any]) -> None:
        settings = item.get("config")
        settings = settings if isinstance(settings, dict) else {}
        inner = settings.get("layers")
        if isinstance(inner, list):
            for layer in inner:
                read(layer)
            return
        try:
            layer = keras.saving.deserialize_keras_object(item, safe_mode=True)
        except Exception as error:  # Keras may raise anything
            names = dict.fromkeys(_unknown_names(item))
            reason = ", ".join(names) or f"{type(error).__name__}: {first_line(error)}"
            unread.append(f"{settings.get('name')} ({item.get('class_name')}): {reason}")
        else:
            layers.append(layer)

    try:
        check_expansion(file)
        with ZipFile(file) as archive:
            read(json.loads(archive.read("config.json")))
    except Exception:  # a damaged file, of which nothing is read
        return [], []
    return layers, unread


def _unknown_names(item: Any) -> Iterator[str]:
    """Yield the classes and functions in a configuration that Keras does not know."""
    import keras

    if isinstance(item, list):
        for inner in item:
            yield from _unknown_names(inner)
    if not isinstance(item, dict):
        return
    kind, settings = item.get("class_name"), item.get("config")
    if kind == "__lambda__":
        yield "a Python lambda, which is not run"
    elif kind == "function" and isinstance(settings, str):
        if keras.saving.get_registered_object(settings) is None and not _is_known(settings):
            yield f"{settings} is not registered"
    elif isinstance(kind, str) and item.get("registered_name") not in (None, "function", kind):
        registered = str(item["registered_name"])
        if keras.saving.get_registered_object(registered) is None:
            yield f"{registered} is not registered"
    for inner in item.values():
        yield from _unknown_names(inner)


def _is_known(name: str) -> bool:
    import keras

    try:
        return keras.activations.get(name) is not None
    except ValueError:
        return False


def all_layers(model: Any) -> list[Any]:
    """Return the layers of a model, with those inside them."""
    from .keras_private import all_layers

    return all_layers.get()(model)


def operations_of(model: Any) -> list[Any]:
    """Return the operations of a functional model that are not layers, such as keras.ops.gelu."""
    known = {id(layer) for layer in all_layers(model)}
    return [o for o in getattr(model, "operations", ()) if id(o) not in known]


def sites(layers: Iterable[Any], operations: Iterable[Any]) -> Iterator[Site]:
    """Yield every activation of some layers and operations.

    An activation that a layer reads from another one, as an LSTM its cell's, is yielded there.
    """
    import keras

    for layer in layers:
        functions = [
            (field, getattr(layer, field, None))
            for field in FIELDS
            if not isinstance(getattr(type(layer), field, None), property)
        ]
        functions = [(field, function) for field, function in functions if callable(function)]
        for field, function in functions:
            claim = _claim(function)
            path = _path(layer) if field == "activation" else f"{_path(layer)}/{field}"
            yield layer, field, _activation(path, function, _size(layer), claim)
        if not functions and _is_activation(layer):
            yield layer, "call", _activation(_path(layer), layer, _size(layer), None)
    for operation in operations:
        inputs = keras.tree.flatten(getattr(operation, "input", ()))
        if not isinstance(operation, keras.layers.InputLayer) and len(inputs) == 1:
            scanned = _activation(operation.name, operation, _size(operation), None)
            if scanned.function != UNKNOWN:  # reshapes and reductions are not elementwise
                yield operation, "call", scanned


@contextmanager
def replaced(places: Sequence[Site], new: Callable[[int, Any], Any]) -> Iterator[None]:
    """Replace the functions of sites by those that `new` returns for their number and function."""
    with ExitStack() as stack:
        for i, (layer, field, _) in enumerate(places):
            function, own = getattr(layer, field), vars(layer).get(field)
            # `object`: Keras tracks attributes, and forbids to replace those of built layers.
            object.__setattr__(layer, field, new(i, function))
            if own is None:
                stack.callback(object.__delattr__, layer, field)
            else:
                stack.callback(object.__setattr__, layer, field, own)
        yield


def _operator_count(
    model: Any, places: Sequence[Site]
) -> tuple[KerasCount, dict[int, set[Hashable]]]:
    """Run a model on zeros; return its activation operators, and the keys of those of each site."""
    import keras

    from .keras_operator_count import KerasCount

    count, keys = KerasCount(), {i: set[Hashable]() for i in range(len(places))}

    def observed(i: int, function: Any) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            before = len(count.calls)
            result = function(*args, **kwargs)
            keys[i].update(count.calls[before:])
            return result

        return call

    with replaced(places, observed), keras.StatelessScope(), count.counting():
        run_on_zeros(model)
    return count, keys


def run_on_zeros(model: Any) -> None:
    """Run a model on zeros of its input shapes; unknown sizes are `UNKNOWN_SIZE`."""
    import keras

    if getattr(model, "inputs", None):
        structure = model.input if hasattr(model, "input") else model.inputs
    else:
        shape = (model.get_build_config() or {}).get("input_shape")
        if not shape or not all(isinstance(size, int | None) for size in shape):
            raise ValueError("its input shapes are not known")
        structure = keras.KerasTensor(shape)
    zeros = keras.tree.map_structure(
        lambda x: np.zeros([1, *(size or UNKNOWN_SIZE for size in x.shape[1:])], x.dtype), structure
    )
    single = isinstance(zeros, list) and len(zeros) == 1  # as of Sequential: Keras warns of a list
    model(zeros[0] if single else zeros, training=False)


def _why_unlisted(owner: Any) -> str:
    """Return why an operator that a layer or an operation calls is in no row."""
    import keras

    if owner is None:
        return "it is called outside of layers"
    kind = type(owner).__name__
    if not isinstance(owner, keras.layers.Layer):
        return f"{kind} is not a function of one value"
    if _is_user_code(owner):
        return f"the call of {kind} is not examined"
    return f"{kind} calls it"


def _is_activation(layer: Any) -> bool:
    """Return whether a layer is an activation of Keras, or a layer of the user that may be one.

    A layer of the user is called on arrays of other shapes, so it must have neither weights nor
    layers.
    """
    import keras

    layers = keras.layers
    if type(layer) in (
        layers.Activation,
        layers.ELU,
        layers.LeakyReLU,
        layers.PReLU,
        layers.ReLU,
        layers.Softmax,
    ):
        return True
    inner = all_layers(layer)
    return _is_user_code(layer) and layer.built and not layer.weights and not inner and (
        is_elementwise(layer)
    )  # fmt: skip


def _is_user_code(layer: Any) -> bool:
    """Return whether the call of a layer is code of the user or of another library."""
    package = type(layer).__module__.split(".")[0]
    return type(layer).__name__ == "Lambda" or package not in ("keras", "softgate")


def not_examined(layers: Iterable[Any], examined: Iterable[Any]) -> list[str]:
    """Return a note on layers whose call may compute activations that a scan does not show."""
    known = {id(layer) for layer in examined}
    names = [
        f"{_path(layer)} ({type(layer).__name__})"
        for layer in layers
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
    import keras

    if isinstance(function, keras.layers.PReLU):
        return _prelu(function)
    module = getattr(function, "__module__", None) or ""
    if isinstance(function, FunctionType) and module.startswith("keras."):
        return _identified_once(function)
    return _identify(function)


def _prelu(layer: Any) -> Identification | None:
    """Return what a PReLU computes; None if it has several slopes, or none yet."""
    import keras

    slopes = set(keras.ops.convert_to_numpy(layer.alpha).ravel().tolist() if layer.built else ())
    if len(slopes) != 1:
        return None
    (slope,) = slopes
    return _identify(lambda x: keras.ops.where(x > 0, x, slope * x))


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
        claimed = lookup(name, source="keras")
    except (TypeError, ValueError):
        return None
    return claimed if claimed.nin == 1 else None


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

    # The part has neither the extremes nor the mean of the whole.
    x = np.linspace(-3, 3, 12, dtype=np.float32).reshape(2, 6)
    try:
        whole, part = (
            keras.ops.convert_to_numpy(function(keras.ops.convert_to_tensor(a)))
            for a in (x, x[:, 1:4])
        )
    except Exception:  # not a function of one tensor; a user's function may raise anything
        return False
    return bool(whole.shape == x.shape and np.allclose(whole[:, 1:4], part, 1e-4, 1e-5))
