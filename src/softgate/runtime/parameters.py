"""Parameters of a call: numbers, or arrays with a value for each element."""

from __future__ import annotations

import math
import sys
from collections.abc import Collection, Mapping
from numbers import Real
from typing import Any

import numpy as np

from softgate.catalogue import Entry
from softgate.records.text import a_type

from .arrays import Array
from .routes import SMALL_PARAMETER


def checked(entry: Entry, parameters: Mapping[str, Any]) -> dict[str, float]:
    """Return all parameters, defaults filled in; raise if one is unknown or out of range."""
    values = {p.name: p.default for p in entry.parameters}
    for name, value in parameters.items():
        if name not in values:
            from .lookup import hint_of_argument

            known, hint = ", ".join(values) or "none", hint_of_argument(entry.name, name, value)
            raise TypeError(
                f"{entry.name} has no parameter {name!r}: its parameters: {known}"
                + (f"; {hint}" if hint else "")
            )
        values[name] = finite_number(f"{entry.name}'s {name}", value)
    entry.check(values)
    return values


def as_arrays(entry: Entry, parameters: Mapping[str, Any]) -> tuple[Array, ...]:
    """Return all parameters as float64 arrays; raise if one is invalid."""
    varying = {name: x for name, x in parameters.items() if is_array(x)}
    numbers = {name: x for name, x in parameters.items() if name not in varying}
    values = checked(entry, numbers) | varying
    if varying:
        if entry.user is not None and entry.user.limits is not None:
            checked(entry, varying)  # raises: limits depend on the parameters
        checked(entry, dict.fromkeys(varying.keys() - {p.name for p in entry.parameters}, 0.0))
        _check_arrays(entry, values, varying)
    return tuple(np.asanyarray(values[p.name], np.float64) for p in entry.parameters)


def _check_arrays(entry: Entry, values: Mapping[str, Any], varying: Collection[str]) -> None:
    """Raise if an array of parameters has the wrong dtype or an element out of range."""
    for p in entry.parameters:
        array = np.asarray(values[p.name])
        if array.dtype.kind not in "fiu" and array.dtype.name != "bfloat16":
            raise TypeError(
                f"{entry.name}'s {p.name} is an array of {array.dtype}: expected real numbers"
            )
        if p.name in varying and array.size:
            for end in (np.min(array), np.max(array)):
                p.check(finite_number(f"{entry.name}'s {p.name}", end))
        if p.exceeds and not np.all(array > np.asarray(values[p.exceeds])):
            raise ValueError(
                f"{entry.name}'s {p.name} must be greater than {p.exceeds} in every element"
            )


def is_array(parameter: Any) -> bool:
    """Return whether a parameter has a value for each element."""
    return isinstance(parameter, np.ndarray) and parameter.ndim > 0


def has_tiny(parameter: Any) -> bool:
    """Return whether an array has parameters whose second float would be subnormal."""
    if not is_array(parameter) or not parameter.size or np.min(parameter) >= SMALL_PARAMETER:
        return False
    size = np.abs(parameter)
    return bool(np.any((size > 0) & (size < SMALL_PARAMETER)))


def finite_number(what: str, value: Any) -> float:
    """Return the parameter that a user passed, also as an array or tensor with one element."""
    if isinstance(value, np.ndarray) and value.size == 1:
        value = value.reshape(())[()]
    torch: Any = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor) and value.numel() == 1:
        if value.requires_grad and torch.is_grad_enabled():
            raise TypeError(
                f"{what} is a Tensor that requires grad, and its gradient is not computed: pass a "
                "number, or value.detach(); the slope of softgate.prelu and the beta of "
                "softgate.torch.functional.swish are differentiable, and the modules "
                "softgate.torch.PReLU and Swish train them"
            )
        value = value.item()
    real = isinstance(value, Real | np.floating | np.integer) or type(value).__name__ == "bfloat16"
    if not real or isinstance(value, bool | np.timedelta64):
        raise TypeError(f"{what} = {value!r} is {a_type(value)}: expected a real number")
    try:
        number = float(value)
    except OverflowError:
        raise ValueError(f"{what} is an integer beyond the largest float64") from None
    if not math.isfinite(number):
        raise ValueError(f"{what} = {value!r}: expected a finite number")
    return number
