"""`swap` for Keras: a clone of a model whose layers have other activations.

An activation of a layer is set; a layer or an operation of a functional model that is an activation
is replaced by `keras.layers.Activation`. The clone is run once: a function that it does not call
was not replaced.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from types import FunctionType
from typing import Any

import keras

from softgate.keras.activation import get
from softgate.records.text import a_type, first_line
from softgate.runtime.activation import Activation
from softgate.runtime.registry import label

from ..identify import UNKNOWN
from ..models.keras_model import (
    FIELDS,
    all_layers,
    is_elementwise,
    not_examined,
    operations_of,
    refuses_lambda,
    run_on_zeros,
    scan_keras,
    sites,
)
from ..models.record import ScannedActivation
from .record import Swap, SwapError, SwappedActivation, UnswappedActivation
from .selection import NOT_SELECTED, OURS_ALREADY, Replacements, computed, left_unchanged, select

RECORD = "softgate_swap"
"""The attribute of a clone that has the record of the swap."""

Place = tuple[int, str]
"""The id of a layer or an operation and the attribute with its activation; "call" if it is one."""


def swap(
    model: Any,
    replacements: Replacements | None = None,
    *,
    partial: bool = False,
) -> Any:
    """Return a clone of a Keras model, with its weights and other activations.

    Works on every backend of Keras. The activations are those that `softgate.scan` identifies by
    their values; the model itself is unchanged.

    Parameters
    ----------
    model : keras.Model
        A Sequential or functional model, or one of a class with `get_config`.
    replacements : mapping, str or callable, optional
        New functions by keys: a function in any spelling, the path of a layer, which includes all
        layers inside it, or a pattern of paths (`"encoder/*"`). One function instead of a mapping
        replaces the activations of a model that has only one. By default each activation is
        replaced by softgate's version of the same function.
    partial : bool, default False
        Replace what can be replaced, and list the rest in the record.

    Returns
    -------
    keras.Model
        The clone, compiled if the model is. Its attribute `softgate_swap` is the record: `swapped`,
        `unswapped` and `notes`. Saved models keep the functions; import `softgate.keras` before
        loading them.

    Raises
    ------
    SwapError
        If an activation cannot be replaced and `partial` is False. It is a ValueError and lists
        them, such as layers with weights, activation layers inside layers of other classes, and
        functions that a layer has as an attribute and does not call.
    ValueError
        If a key is unknown or selects nothing, a value is not a function of one tensor, or the
        model cannot be cloned.

    Examples
    --------
    >>> import keras, softgate.keras
    >>> model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(8, activation="gelu")])
    >>> clone = softgate.keras.swap(model, {"gelu": "gelu_tanh"})
    >>> clone.softgate_swap.counts
    {'gelu -> gelu_tanh': 1}
    """
    if not isinstance(model, keras.Model):
        raise TypeError(f"the model is {a_type(model)}: expected a keras.Model")
    places = [
        (layer, field, scanned)
        for layer, field, scanned in sites(all_layers(model), operations_of(model))
        if scanned.function != "identity"
        and (scanned.function != UNKNOWN or is_elementwise(getattr(layer, field)))
    ]
    if replacements is None:
        places = [(layer, f, a) for layer, f, a in places if not _is_ours(getattr(layer, f))]
        chosen = [computed(scanned) for _, _, scanned in places]
    else:
        activations = [scanned for _, _, scanned in places]
        prefix = f"{model.name}/"  # part of the paths in a Sequential model
        paths = {a.path: (a.path, a.path.removeprefix(prefix)) for a in activations}
        chosen = select(activations, replacements, model.name, shared=paths, separator="/")
    new = {
        (id(layer), field): function
        for (layer, field, _), function in zip(places, chosen, strict=True)
        if function is not None
    }
    clone, done, uncalled, notes = _clone(model, new)
    swapped, unswapped = [], []
    for layer, field, scanned in places:
        key = (id(layer), field)
        if key in done:
            after = label(new[key])
            swapped.append(SwappedActivation(scanned.path, scanned.label, after, "layer"))
        elif key in new or replacements is None:
            unswapped.append(_unswapped(layer, scanned, key in uncalled))
    if unswapped and not partial:
        raise SwapError(model.name, len(swapped) + len(unswapped), tuple(unswapped))
    notes += not_examined([model, *all_layers(model)], [layer for layer, _, _ in places])
    accounted = [a for layer, field, a in places if (id(layer), field) in new]
    accounted += [] if replacements is not None else [a for _, _, a in places]
    reason = OURS_ALREADY if replacements is None else NOT_SELECTED
    unchanged = left_unchanged(scan_keras(model), accounted, reason)
    record = Swap(
        model.name, "keras", tuple(swapped), tuple(unswapped), tuple(notes), unchanged=unchanged
    )
    setattr(clone, RECORD, record)
    return clone


def _is_ours(function: Any) -> bool:
    return type(function).__module__.startswith("softgate.")


def _clone(
    model: Any, new: Mapping[Place, Activation]
) -> tuple[Any, set[Place], set[Place], list[str]]:
    """Return a clone with the weights and the new functions.

    Also returns the places of these, the places whose function the clone does not call, and notes.
    """
    done: set[Place] = set()
    pairs: list[tuple[Any, Any]] = []

    def cloned(operation: Any) -> Any:
        place = (id(operation), "call")
        if place in new and not getattr(operation, "weights", ()):
            done.add(place)
            return keras.layers.Activation(get(new[place]), name=operation.name)
        if type(operation) is keras.layers.Lambda:
            return _same_lambda(operation)
        clone = type(operation).from_config(operation.get_config())
        pairs.append((operation, clone))
        return clone

    try:
        with keras.saving.custom_object_scope(_user_functions(model)):
            if isinstance(model, keras.Sequential) or hasattr(model, "operations"):
                clone = keras.models.clone_model(model, clone_function=cloned, recursive=True)
            else:
                clone = keras.models.clone_model(model)
                pairs.append((model, clone))
        if model.built and not clone.built:
            clone.build_from_config(model.get_build_config())
        attributes = {
            (id(a), field): (b, field)
            for original, layer in pairs
            for a, b in zip(_with_inner(original), _with_inner(layer), strict=True)
            for field in FIELDS
            if (id(a), field) in new
        }
        for place, (layer, field) in attributes.items():
            setattr(layer, field, get(new[place]))
        called, notes = _called(clone, attributes)  # before the weights: layers may have states
        clone.set_weights(model.get_weights())
    except Exception as error:  # Keras and the user's layers may raise anything
        if refuses_lambda(error):
            names = [x.name for x in all_layers(model) if isinstance(x, keras.layers.Lambda)]
            raise ValueError(
                f"{model.name} cannot be cloned: Keras does not copy the Python lambda of "
                f"{', '.join(names)} inside another layer; use a layer with get_config instead"
            ) from None
        raise ValueError(
            f"{model.name} cannot be cloned: {type(error).__name__}: {first_line(error)}; its "
            "class, and those of its layers, need get_config and from_config"
        ) from error
    return clone, done | called, attributes.keys() - called, notes


def _user_functions(model: Any) -> dict[str, Any]:
    """Return the functions of the user in a model by the names that configurations have for them.

    Raises ValueError if two have one name: a configuration could mean either.
    """
    functions: dict[str, Any] = {}
    for layer in all_layers(model):
        for function in (getattr(layer, field, None) for field in FIELDS):
            name = getattr(function, "__name__", "<lambda>")
            module = getattr(function, "__module__", None) or ""
            if not isinstance(function, FunctionType) or module.startswith("keras."):
                continue
            if name != "<lambda>" and functions.setdefault(name, function) is not function:
                raise ValueError(f"two activations are called {name}: rename one of them")
    return functions


def _same_lambda(layer: Any) -> Any:
    """Return a Lambda layer with the same function; Keras' `from_config` refuses Python lambdas."""
    return keras.layers.Lambda(
        layer.function,
        output_shape=getattr(layer, "_output_shape", None),  # None: Keras runs the function
        mask=layer.mask,
        arguments=layer.arguments,
        name=layer.name,
        dtype=layer.dtype_policy,
    )


def _called(
    clone: Any, attributes: Mapping[Place, tuple[Any, str]]
) -> tuple[set[Place], list[str]]:
    """Run a clone on zeros; return the places whose function it calls, and notes.

    A layer may have a function as an attribute and call another one. If the model cannot be run,
    all places are returned, with a note.
    """
    called: set[Place] = set()

    def observed(place: Place, function: Any, *args: Any, **options: Any) -> Any:
        called.add(place)
        return function(*args, **options)

    for place, (layer, field) in attributes.items():
        # object.__setattr__: Keras may forbid to replace attributes of built layers
        object.__setattr__(layer, field, partial(observed, place, getattr(layer, field)))
    try:
        run_on_zeros(clone)
    except Exception as error:  # the user's layers may raise anything
        reason = first_line(error)
        return set(attributes), [f"not verified: the model was not run on zeros: {reason}"]
    finally:
        for layer, field in attributes.values():
            object.__setattr__(layer, field, getattr(layer, field).args[1])
    return called, []


def _with_inner(operation: Any) -> list[Any]:
    """Return a layer and the layers inside it; an operation has none."""
    return [operation, *all_layers(operation)] if hasattr(operation, "_flatten_layers") else []


def _unswapped(layer: Any, scanned: ScannedActivation, uncalled: bool) -> UnswappedActivation:
    if uncalled:
        reason = "the layer does not call this attribute"
    elif scanned.function == UNKNOWN:
        reason = "no function of softgate has its values; a path selects it"
    elif computed(scanned) is None:
        reason = "it has a scale or an offset"
    elif getattr(layer, "weights", ()):
        reason = "the layer has weights, which would be lost"
    else:
        reason = "the layer is inside a layer of another class, which creates it"
    return UnswappedActivation(scanned.path, scanned.label, scanned.operators, reason)
