"""Pickling of functions by name: a pickle contains a reference, not the function."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

from . import activation, gated
from .activation import Activation, Function, Parameters


def recipe(function: Function) -> tuple[Any, tuple[Any, ...]]:
    """Return a callable and its arguments with which `pickle` restores `function`.

    Raises
    ------
    TypeError
        If they would not restore this function.
    """
    key = tuple(function.parameters.items())
    if isinstance(function, Activation) and function.entry.user is not None:
        return imported, (*_importable(function), key)
    original = named(function.name)
    if original is function:
        return named, (function.name,)
    gate = isinstance(function, gated.Gated)
    forms = ("both",) if gate else ("definition", "value", "slope", "curvature")
    if type(original) is type(function) and all(
        getattr(original.entry, form) is getattr(function.entry, form) for form in forms
    ):
        if isinstance(function, gated.Gated):
            return gated.bound, (original, key, function.entry.position)
        return activation.bound, (original, key)
    raise TypeError(f"{function!r} is not in the catalogue and has no name to be pickled by")


def named(name: str) -> Function | None:
    """Return the function called `name` in the catalogue, or None."""
    from .registry import functions

    return functions().get(name)


def _importable(function: Activation) -> tuple[str, str]:
    """Return module and name of a user's activation; raise TypeError if it is not there.

    A file with the name of another module, such as html.py, is referred to by its path.
    """
    from .resolve import PRIVATE

    module, qualname = function.__module__, function.__qualname__
    if module.startswith(PRIVATE):
        module = str(sys.modules[module].__file__)
    try:
        at_name = imported(module, qualname, ())
    except (ImportError, AttributeError):
        at_name = None
    if at_name is None or at_name.entry.definition is not function.entry.definition:
        raise TypeError(
            f"{function!r} cannot be pickled, for {module}.{qualname} is not it: "
            "define it at the top of a module, under its function's name"
        )
    return module, qualname


def imported(module: str, qualname: str, key: Parameters) -> Activation:
    """Return the activation `qualname` of a module or a file, with its parameters bound."""
    from .resolve import import_source

    target: Any = import_source(module) if module.endswith(".py") else import_module(module)
    for name in qualname.split("."):
        target = getattr(target, name)
    if not isinstance(target, Activation):
        raise AttributeError(f"{module}.{qualname} is not an activation")
    return target.bind(**dict(key))
