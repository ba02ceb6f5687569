"""Calls of functions with one contiguous array or one tensor, without a frame of Python code.

For 8 elements the code of `__call__` takes longer than the ufunc. CPython calls a Python function
by an address in it, its vectorcall, which `PyFunction_SetVectorcall` replaces from Python 3.12 on;
Python 3.11 has the address at a place that is looked up. The method stays a Python function:
torch.compile traces its code, patches and subclasses replace it. The places that compiled code
reads are checked, and it is tried before it is used; where anything differs, `__call__` runs.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np

from .threads import address_of

HEAD = object.__basicsize__
"""The bytes that each object begins with; the last 8 are the address of its type."""
FLAGS = HEAD + 48
"""Where an array has its flags, in bytes: part of NumPy's C ABI."""
CONTIGUOUS = 3
"""The flags of arrays that are contiguous in C's order and in Fortran's."""


class Unknown(Exception):
    """Raised if CPython or NumPy differs from what compiled code expects."""


def install(method: FunctionType, kind: type, slots: tuple[str, str, str]) -> str:
    """Let compiled code serve `method`; return why it cannot, an empty string if it does.

    Instances of `kind`, on which the method is called, hold in `slots` a ufunc or None, a tuple of
    types of tensors, and what is called with these, or None.
    """
    from softgate.lower.native import compile_call_method
    from softgate.lower.target import never_free

    try:
        if sys.implementation.name != "cpython" or HEAD != 16:
            raise Unknown("expected CPython of 64 bits with the global interpreter lock")
        instance: Any = object.__new__(kind)
        values = np.negative, (float,), np.absolute
        for slot, value in zip(slots, values, strict=True):
            setattr(instance, slot, value)
        names = "UFUNC", "TENSORS", "FAST_PATH"
        constants = {
            "TYPE": HEAD - 8, "FLAGS": FLAGS, "ARRAYS": id(np.ndarray), "FUNCTIONS": id(kind),
            "NONE": id(None), "TYPE_ERROR": id(TypeError),
            **{name: _place(instance, id(x)) for name, x in zip(names, values, strict=True)},
        }  # fmt: skip
        _check_fields(instance)
        before = _vectorcall(method)
        compiled = compile_call_method(constants, before)
        _try(address_of(compiled), instance)
        never_free(compiled)  # the interpreter may call the method while it exits
        _set_vectorcall(method, address_of(compiled))
        if _vectorcall(method) != address_of(compiled):
            _set_vectorcall(method, before)
            raise Unknown("the vectorcall of a function remains as it was")
    except (Unknown, AttributeError) as error:  # AttributeError: of a function of Python's C API
        return str(error)
    return ""


def _word(owner: object, place: int) -> int:
    return ctypes.c_int64.from_address(id(owner) + place).value


def _place(owner: object, word: int) -> int:
    """Return where an object has a word, in bytes."""
    fields = range(HEAD, type(owner).__basicsize__, 8)
    places = [place for place in fields if _word(owner, place) == word]
    if len(places) != 1:
        raise Unknown(f"a field of {type(owner).__name__} objects is at {len(places)} places")
    return places[0]


def _check_fields(instance: object) -> None:
    """Raise unless types of objects and flags of arrays are where compiled code reads them."""
    x = np.zeros((2, 3))
    if any(_word(y, HEAD - 8) != id(type(y)) for y in (x, instance)):
        raise Unknown("objects have their type at another place")
    for y in (x, x.T, x[:1], x[:, ::2]):
        expected = y.flags.c_contiguous | y.flags.f_contiguous << 1
        if _word(y, FLAGS) & CONTIGUOUS != expected:
            raise Unknown("arrays have their flags at another place")


def _try(address: int, instance: object) -> None:
    """Raise unless compiled code calls what the fields of `instance` hold, or the method's code."""

    def code(*_: Any) -> object:
        return code

    def result_of(*operands: object) -> Any:
        args: Any = (instance, *operands)
        return call(code, (ctypes.py_object * len(args))(*args), len(args), None)

    vectorcall = ctypes.PYFUNCTYPE(
        *[ctypes.py_object] * 2, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p
    )
    call, x = vectorcall(address), np.ones((2, 3))
    others = (x[:, ::2],), (np.array("text"),), (1,), (), (x, x), (1.5, 1.5)
    matches = [np.array_equal(result_of(x), -x), result_of(-1.5) == 1.5]
    matches += [result_of(*operands) is code for operands in others]
    if not all(matches):
        raise Unknown("compiled code returns other results than expected")


def _vectorcall(function: FunctionType) -> int:
    """Return the address by which a function is called."""
    prototype = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object)
    address: int = prototype(("PyVectorcall_Function", ctypes.pythonapi))(function)
    return address


def _set_vectorcall(function: FunctionType, address: int) -> None:
    if sys.version_info >= (3, 12):
        prototype = ctypes.PYFUNCTYPE(None, ctypes.py_object, ctypes.c_void_p)
        set_address: Callable[..., None] = prototype(("PyFunction_SetVectorcall", ctypes.pythonapi))
        set_address(function, address)
    else:
        place = _place(function, _vectorcall(function))
        ctypes.c_int64.from_address(id(function) + place).value = address
