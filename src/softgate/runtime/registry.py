"""All activations and gated activations of the catalogue, each constructed once.

A pickle of a function contains its name and parameters, not the function.
"""

from __future__ import annotations

import copyreg
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from softgate.catalogue import entries

from .activation import Activation, Parameters, bound
from .ufunc import arguments_of

if TYPE_CHECKING:
    from softgate.studies.properties.record import Properties


importers: dict[str, tuple[Callable[[str], Any], str]] = {}
"""Modules that `import` does not find by their names: what imports each, and its argument."""


@cache
def activations() -> dict[str, Activation]:
    """Return every activation by its name.

    Examples
    --------
    >>> import softgate as sg
    >>> sg.activations()["gelu"] is sg.gelu
    True
    """
    return {name: f for name, f in functions().items() if f.nin == 1}


class Named(Protocol):
    """An activation, or code without a formula, whose `entry` is None."""

    @property
    def name(self) -> str: ...
    @property
    def entry(self) -> Any: ...
    @property
    def parameters(self) -> Mapping[str, Any]: ...


def label(activation: Named) -> str:
    """Return the name with the parameters that differ from the defaults, as commands accept it.

    Examples
    --------
    >>> import softgate as sg
    >>> label(sg.elu), label(sg.elu.bind(alpha=0.5))
    ('elu', 'elu:alpha=0.5')
    """
    if activation.entry is None:  # its name has its parameters
        return activation.name
    usual, user = functions().get(activation.name), activation.entry.user
    defaults = dict(user.defaults) if user else usual.parameters if usual else {}
    changed = [f"{n}={v!r}" for n, v in activation.parameters.items() if defaults.get(n) != v]
    return f"{activation.name}:{','.join(changed)}" if changed else activation.name


def study(activation: Activation) -> Properties:
    """Return the properties of an activation, under the name that commands accept."""
    from softgate.studies.properties import measure

    return measure.study(activation.entry, activation.parameters, label(activation))


@cache
def gated() -> dict[str, Activation]:
    """Return every gated activation by its name.

    Examples
    --------
    >>> import softgate as sg
    >>> sg.gated()["swiglu"] is sg.swiglu
    True
    """
    return {name: f for name, f in functions().items() if f.nin == 2}


@cache
def functions() -> dict[str, Activation]:
    """Return every function by its name: those of one operand, then those of two."""
    ordered = sorted(entries().values(), key=lambda entry: entry.nin)
    return {entry.name: Activation(entry) for entry in ordered}


_reduce_others: Any = copyreg.dispatch_table[np.ufunc]


def _reduce_ufunc(ufunc: np.ufunc) -> Any:
    """Return what `pickle` restores a ufunc from: its function and the arguments of `ufunc_of`."""
    arguments = arguments_of(ufunc)
    if arguments is None:
        return _reduce_others(ufunc)
    entry, *key = arguments
    function = named(entry.name)
    if function is None or function.entry is not entry:
        function = Activation(entry)
    return _ufunc_of, (function, *key)


def _ufunc_of(function: Activation, *key: Any) -> np.ufunc:
    return function.ufunc_of(*key)


copyreg.pickle(np.ufunc, _reduce_ufunc)


def recipe(function: Activation) -> tuple[Any, tuple[Any, ...]]:
    """Return a callable and its arguments with which `pickle` restores `function`.

    Raises
    ------
    TypeError
        If they would not restore this function.
    """
    key = tuple(function.parameters.items())
    if function.entry.user is not None:
        place, qualname, load = _importable(function)
        return imported, (place, qualname, key, load)
    original = named(function.name)
    if original is function:
        return named, (function.name,)
    gate = function.position(None)
    if original is not None and original.nin == function.nin:
        entry = original.entry if gate is None else original.entry.gated_by(gate)
        forms = ("definition", "value", "slope", "curvature")
        if all(getattr(entry, form) is getattr(function.entry, form) for form in forms):
            return bound, (original, key, gate)
    raise TypeError(f"{function!r} is not in the catalogue and has no name to be pickled by")


def named(name: str) -> Activation | None:
    """Return the function called `name` in the catalogue, or None."""
    return functions().get(name)


def _importable(function: Activation) -> tuple[str, str, Callable[[str], Any]]:
    """Return place and name of a user's activation and what imports the place, or raise."""
    module, qualname = function.__module__, function.__qualname__
    load, place = importers.get(module, (import_module, module))
    try:
        at_name = imported(place, qualname, (), load)
    except (ImportError, AttributeError):
        at_name = None
    if at_name is None or at_name.entry.definition is not function.entry.definition:
        raise TypeError(
            f"{function!r} cannot be pickled, for {place}.{qualname} is not it: "
            "define it at the top of a module, under its function's name"
        )
    return place, qualname, load


def imported(
    place: str, qualname: str, key: Parameters, load: Callable[[str], Any] = import_module
) -> Activation:
    """Return the activation `qualname` of a module, with its parameters bound."""
    target: Any = load(place)
    for name in qualname.split("."):
        target = getattr(target, name)
    if not isinstance(target, Activation):
        raise AttributeError(f"{place}.{qualname} is not an activation")
    return target.bind(**dict(key))
