"""Functions named by text: `gelu`, `elu:alpha=0.5`, `com.microsoft.FastGelu`, `module:function`.

Names of the catalogue and of frameworks are resolved by `softgate.runtime.names`; this module adds
functions that are imported from a user's module.
"""

from __future__ import annotations

import ast
import sys
import traceback
from importlib import import_module
from pathlib import Path
from typing import Any

from softgate.runtime.activation import Activation
from softgate.runtime.names import activation
from softgate.runtime.registry import activations


def resolve_activation(text: str) -> Activation:
    """Return the activation that `text` names; raise ValueError if there is none.

    softgate's names come first: `gelu` is the exact form, whatever a framework calls by that name.

    Examples
    --------
    >>> resolve_activation("elu:alpha=0.5").name
    'elu'
    """
    module, colon, name = text.partition(":")
    if not colon or "=" in name or module in activations():
        return activation(text)
    if not is_dotted(module, name):
        raise ValueError(
            f"can't interpret {text!r}: expected a name such as gelu, or module:function for a "
            "function of yours"
        )
    function = getattr(import_here(module), name, None)
    if not isinstance(function, Activation):
        raise ValueError(
            f"{text} is {'missing' if function is None else type(function).__name__}: "
            "expected a function decorated with @softgate.activation"
        )
    return function


def is_dotted(*names: str) -> bool:
    """Return whether all names are dotted Python names."""
    return all(part.isidentifier() for name in names for part in name.split("."))


def import_here(module: str) -> Any:
    """Import a module, looking in the current folder first; raise ValueError if that fails."""
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    return import_user_module(module)


def import_user_module(module: str) -> Any:
    """Import a module; raise ValueError with the place of the error if that fails."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not (module + ".").startswith(error.name + "."):
            raise ValueError(f"{module} cannot be imported: {error}") from error
        raise ValueError(f"there is no module {error.name!r} here or on Python's path") from None
    except Exception as error:  # a user's module may raise anything when it is imported
        raise ValueError(
            f"{module} cannot be imported: {place_of(error)}: "
            f"{type(error).__name__}: {first_line(error)}"
        ) from error


def place_of(error: BaseException) -> str:
    """Return the file and the line of an error; of a syntax error those that cannot be parsed."""
    if isinstance(error, SyntaxError) and error.filename is not None:
        return f"{error.filename}, line {error.lineno}"
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{frame.filename}, line {frame.lineno}"


def first_line(error: BaseException) -> str:
    """Return the first line of an error's message; a syntax error's without its place."""
    lines = str(error.msg if isinstance(error, SyntaxError) else error).strip().splitlines()
    return lines[0] if lines else "no message"


def literal(text: str) -> Any:
    """Return the value of a Python literal, or the text unchanged if it is not a literal.

    Examples
    --------
    >>> literal("0.5"), literal("False"), literal("tanh")
    (0.5, False, 'tanh')
    """
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
