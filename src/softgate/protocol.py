"""NumPy's protocols for types that want to take part: `__array_ufunc__` and `__array_wrap__`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


class Call:
    """One of our functions as `__array_ufunc__` and `__array_wrap__` may ask for it: a ufunc."""

    nout = 1
    signature = None

    def __init__(self, name: str, nin: int, function: Callable[..., Any] | None = None) -> None:
        self.__name__, self.nin, self.nargs, self._function = name, nin, nin + 1, function

    def __call__(self, *inputs: Any, **keywords: Any) -> Any:
        """Call the function."""
        if self._function is None:
            raise TypeError(f"{self.__name__} is told of, not to be called")
        return self._function(*inputs, **keywords)


_NUMPYS_OWN = np.ndarray.__array_ufunc__


def override(
    name: str, function: Callable[..., Any], inputs: tuple[Any, ...], out: Any, keywords: Any
) -> tuple[bool, Any]:
    """Let operands whose types take ufuncs over do so, as NumPy's protocol has it.

    Returns whether one did, and its result. Subclasses are asked before their parents.
    """
    operands = (*inputs, *(out if isinstance(out, tuple) else (out,)))
    asked: list[Any] = []
    for operand in operands:
        method = getattr(type(operand), "__array_ufunc__", _NUMPYS_OWN)
        if method is None:
            raise TypeError(f"{type(operand).__name__} does not take part in ufuncs")
        if method is not _NUMPYS_OWN and all(type(other) is not type(operand) for other in asked):
            after = [i for i, other in enumerate(asked) if isinstance(operand, type(other))]
            asked.insert(after[0] if after else len(asked), operand)
    call = Call(name, len(inputs), function)
    for operand in asked:
        result = operand.__array_ufunc__(call, "__call__", *inputs, **keywords)
        if result is not NotImplemented:
            return True, result
    if asked:
        kinds = ", ".join(type(operand).__name__ for operand in asked)
        raise TypeError(f"{name} is not implemented for {kinds}: its __array_ufunc__ declined")
    return False, None
