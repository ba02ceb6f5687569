"""Where an activation is found again: pickles name it, they do not contain it."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from .activation import Activation, Parameters, bound, named


def recipe(activation: Activation) -> tuple[Any, tuple[Any, ...]]:
    """Return what `pickle` calls to find `activation`; raise where it would find another one."""
    key = tuple(activation.parameters.items())
    if activation.entry.user is not None:
        return imported, (*_importable(activation), key)
    original = named(activation.name)
    if original is activation:
        return named, (activation.name,)
    if original is not None and _same_forms(original, activation):
        return bound, (original, key)
    raise TypeError(f"{activation!r} is not in the catalogue and has no name to be pickled by")


def _same_forms(one: Activation, other: Activation) -> bool:
    forms = ("definition", "value", "slope", "curvature")
    return all(getattr(one.entry, form) is getattr(other.entry, form) for form in forms)


def _importable(activation: Activation) -> tuple[str, str]:
    """Return module and name of a user's activation; raise where it is not found there."""
    module, qualname = activation.__module__, activation.__qualname__
    try:
        found = imported(module, qualname, ())
    except (ImportError, AttributeError):
        found = None
    if found is None or found.entry.definition is not activation.entry.definition:
        raise TypeError(
            f"{activation!r} cannot be pickled, for {module}.{qualname} is not it: "
            "define it at the top of a module, under its function's name"
        )
    return module, qualname


def imported(module: str, qualname: str, key: Parameters) -> Activation:
    """Return the activation that a module has under a name, with its parameters set."""
    found: Any = import_module(module)
    for name in qualname.split("."):
        found = getattr(found, name)
    if not isinstance(found, Activation):
        raise AttributeError(f"{module}.{qualname} is no activation")
    return found.bind(**dict(key))
