"""Functions of the catalogue, formulas, and code that has neither, from what a user passes.

`function` and `activation` return the function of the catalogue or the formula of the user. Other
code has no formula that could be read: they refuse it, or with `by_values` return the function that
has its values. `as_passed` returns code that is called itself, as `bench`, `table` and `plot` do.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from typing import Any

from softgate.runtime.activation import Activation
from softgate.runtime.name_table import catalogue_of_names
from softgate.runtime.names import parse
from softgate.runtime.registry import label
from softgate.runtime.resolve import (
    framework_name,
    load,
    locate,
    split,
    split_path,
)

from .description import SubjectFailure
from .passed import PassedFunction


def function(spelled: Any, *, by_values: bool = False) -> Activation:
    """Return the function that is meant; raise ValueError or TypeError if there is none.

    Parameters
    ----------
    spelled : str or callable
        A function in any of the forms of `softgate.runtime.resolve`.
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
    target, parameters, shown = locate(spelled)
    if isinstance(target, Activation):
        return target
    by_values = by_values or (not isinstance(spelled, str) and _is_listed(target))
    return _computed_by(target, parameters, shown, by_values)


def as_passed(spelled: Any) -> Activation | PassedFunction:
    """Return the function itself: one of the catalogue, a formula, or code that is to be called.

    A path of a framework is its code. Errors are those of `function`.
    """
    if isinstance(spelled, PassedFunction):
        return spelled
    record = None
    if isinstance(spelled, str):
        place, name = split(parse(spelled)[0])
        record = framework_name(f"{place}.{name}" if place else name)
    if record is None or record.gated or record.source in ("softgate", "onnx"):
        target = locate(spelled)[0]
        if isinstance(target, Activation):
            return target
    return PassedFunction(spelled)


def one_array_as_passed(spelled: Any) -> Activation | PassedFunction:
    """Return `as_passed`; raise ValueError for a function of two operands."""
    meant = as_passed(spelled)
    if isinstance(meant, Activation) and meant.nin == 2:
        raise _takes_two(meant)
    return meant


def activation(spelled: Any, *, by_values: bool = False) -> Activation:
    """Return the function of one array that is meant; raise ValueError for one of two.

    Other errors are those of `function`.
    """
    meant = function(spelled, by_values=by_values)
    if meant.nin == 2:
        raise _takes_two(meant)
    return meant


def _takes_two(function: Activation) -> ValueError:
    return ValueError(
        f"{function.name!r} takes two arrays: expected a function of one, such as gelu"
    )


def several(functions: Any) -> list[Any]:
    """Return one function, in any form, or several as a list; nothing is resolved."""
    if isinstance(functions, str) or callable(functions) or not isinstance(functions, Iterable):
        return [functions]
    return list(functions)


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
