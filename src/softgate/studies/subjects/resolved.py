"""Functions of the catalogue, formulas, and code that has neither, from what a user passes.

`function` and `activation` return the function of the catalogue or the formula of the user. Other
code has no formula that could be read: they refuse it, or with `by_values` return the function that
has its values. `as_passed` returns code that is called itself, as `bench`, `table` and `plot` do.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from typing import Any

from softgate.records.text import a_type
from softgate.runtime.activation import Activation
from softgate.runtime.lookup import UnknownName, lookup, one_array
from softgate.runtime.name_table import catalogue_of_names
from softgate.runtime.registry import label

from .description import SubjectFailure
from .passed import PassedFunction
from .user_code import FORMS, NotFound, load, read, split_path


def function(spelled: Any, *, by_values: bool = False) -> Activation:
    """Return the function that is meant; raise ValueError or TypeError if there is none.

    Parameters
    ----------
    spelled : str or callable
        A function in any of the forms of `softgate.studies.subjects.user_code`.
    by_values : bool
        Whether code without a formula stands for the function of the catalogue with its values;
        otherwise it is refused, except what `names` lists and instances of it.

    Examples
    --------
    >>> function("elu:alpha=0.5").parameters, function("jax.nn:gelu").name
    ({'alpha': 0.5}, 'gelu_tanh')
    >>> function(lambda x: x * (x > 0), by_values=True).name
    'relu'
    """
    target, parameters, shown = _located(spelled)
    if isinstance(target, Activation):
        return target
    by_values = by_values or (not isinstance(spelled, str) and _is_listed(target))
    return _computed_by(target, parameters, shown, by_values)


def activation(spelled: Any, *, by_values: bool = False) -> Activation:
    """Return the function of one array that is meant; raise ValueError for one of two.

    Other errors are those of `function`.
    """
    return one_array(function(spelled, by_values=by_values))


def as_passed(spelled: Any) -> Activation | PassedFunction:
    """Return the function itself: one of the catalogue, a formula, or code that is to be called.

    A path of a framework is its code. Errors are those of `function`.
    """
    if isinstance(spelled, PassedFunction):
        return spelled
    record = read(spelled).record if isinstance(spelled, str) else None
    if record is None or record.gated or record.source in ("softgate", "onnx"):
        target = _located(spelled)[0]
        if isinstance(target, Activation):
            return target
    return PassedFunction(spelled)


def one_array_as_passed(spelled: Any) -> Activation | PassedFunction:
    """Return `as_passed`; raise ValueError for a function of two operands."""
    meant = as_passed(spelled)
    return meant if isinstance(meant, PassedFunction) else one_array(meant)


def several(functions: Any) -> list[Any]:
    """Return one function, in any form, or several as a list; nothing is resolved."""
    if isinstance(functions, str) or callable(functions) or not isinstance(functions, Iterable):
        return [functions]
    return list(functions)


def _located(spelled: Any) -> tuple[Any, Mapping[str, Any], str]:
    """Return an activation, or code with its parameters and its name."""
    if not isinstance(spelled, str):
        if not callable(spelled):
            raise TypeError(f"{spelled!r} is {a_type(spelled)}: expected a callable, or {FORMS}")
        name = getattr(spelled, "__qualname__", None)
        return spelled, {}, name if isinstance(name, str) else type(spelled).__name__
    text = read(spelled)
    if text.place and text.record is None:
        target = load(text.place, text.name)
    else:
        try:
            return lookup(text.path, text.parameters), {}, text.shown
        except UnknownName:
            place, name = split_path(text.path)
            try:
                target = load(place, name) if place else None
            except NotFound:
                target = None
            if target is None:
                raise
    if isinstance(target, Activation):
        return target.bind(**text.parameters), {}, text.shown
    return target, text.parameters, text.shown


def _computed_by(
    target: Any, parameters: Mapping[str, Any], shown: str, by_values: bool
) -> Activation:
    """Return the function of the catalogue with a callable's values; ValueError if refused."""
    module_activation = getattr(target, "activation", None)  # of a module of softgate
    if isinstance(module_activation, Activation) and not parameters:
        return module_activation
    from ..identify import identify

    advice = "write its formula with @softgate.activation, or name a function such as gelu"
    try:
        identification = identify(target, parameters=parameters)
    except SubjectFailure as failure:
        raise ValueError(f"{shown} is not a function of one array ({failure}): {advice}") from None
    if identification.not_elementwise:
        raise ValueError(f"{shown} is {identification.not_elementwise}: {advice}")
    meant = identification.activation
    if meant is None:
        raise ValueError(
            f"{shown} computes no function of the catalogue (the nearest is "
            f"{identification.candidates[0].function}): {advice}"
        )
    if not by_values:
        raise ValueError(
            f"{shown} is code without a formula: its values are those of {label(meant)}, name that "
            "if it is meant, or write its formula with @softgate.activation"
        )
    return meant


def _is_listed(target: Any) -> bool:
    """Return whether `names` lists a function or a class, or the class of an instance."""
    kind = target if hasattr(target, "__name__") else type(target)
    for record in catalogue_of_names():
        place, name = split_path(record.path)
        if name == kind.__name__ and place.partition(".")[0] in sys.modules:
            try:
                if load(place, name) is kind:
                    return True
            except ValueError:  # this version of the package lacks it
                continue
    return False
