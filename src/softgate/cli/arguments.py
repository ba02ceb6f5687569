"""What several commands take: activations by name, points, a number of digits."""

from __future__ import annotations

import traceback
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

if TYPE_CHECKING:
    from softgate.runtime.activation import Activation

    ParamType = click.ParamType[Any]
else:
    ParamType = click.ParamType  # no subscripts before click 8.2


class ActivationType(ParamType):
    """An activation: `gelu`, `elu:alpha=0.5`, a framework's name, or one's own `module:function`.

    softgate's own names come first: `gelu` is the exact form here, whatever JAX calls by that name.
    """

    name = "activation"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Activation:
        """Return the activation that `value` names."""
        if not isinstance(value, str):
            found: Activation = value
            return found
        try:
            return resolve(value)
        except (ValueError, TypeError, ImportError) as error:
            self.fail(str(error), param, ctx)

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Offer the names that begin as what was typed."""
        from softgate.runtime.registry import activations

        return [CompletionItem(n) for n in activations() if n.startswith(incomplete)]


ACTIVATION = ActivationType()

DTYPES = ("float32", "float64", "float16", "bfloat16")
FRAMEWORKS = ("numpy", "torch", "jax", "tensorflow", "keras")

keywords_option = click.option(
    "--with",
    "keywords",
    multiple=True,
    metavar="NAME=VALUE",
    help="What it is called with beside the array, such as approximate=tanh; may be repeated.",
)
"""Gives a command that calls somebody's function the option `--with`, as `keywords`."""


def parse_keywords(given: tuple[str, ...]) -> dict[str, Any]:
    """Return what `--with` named."""
    from softgate.studies.subjects.description import literal

    texts = parse_pairs("--with", given, "approximate=tanh")
    return {name: literal(value) for name, value in texts.items()}


def parse_pairs(option: str, given: tuple[str, ...], such_as: str) -> dict[str, str]:
    """Return what an option named, as text."""
    pairs = [text.partition("=") for text in given]
    for text, (name, sign, _) in zip(given, pairs, strict=True):
        if not sign or not name.isidentifier():
            raise click.UsageError(f"{option} {text}: write NAME=VALUE, such as {such_as}.")
    return {name: value for name, _, value in pairs}


def resolve(text: str) -> Activation:
    """Return the activation that `text` names."""
    from softgate.runtime.registry import activations

    name, colon, rest = text.partition(":")
    if colon and "=" not in rest and name not in activations():
        return own(name, rest)
    pairs = [_parameter(text, part) for part in rest.split(",")] if colon else []
    parameters = dict(pairs)
    if len(parameters) < len(pairs):
        raise ValueError(f"{text!r} gives a parameter twice")
    if name in activations():
        return activations()[name].bind(**parameters)
    from softgate.runtime.activation import Activation
    from softgate.runtime.names import get

    found = get(name, None, **parameters)
    if not isinstance(found, Activation):
        raise ValueError(f"{name!r} takes two arrays: expected a function of one, such as gelu")
    return found


def _parameter(text: str, part: str) -> tuple[str, float]:
    name, _, number = part.partition("=")
    try:
        return name.strip(), float(number)
    except ValueError:
        raise ValueError(
            f"{text!r}: {part!r} is no parameter; write name:parameter=number"
        ) from None


def _imported(module: str) -> ModuleType:
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not module.startswith(error.name):
            raise
        raise ValueError(f"there is no module {error.name!r} here or on Python's path") from None
    except Exception as error:  # whatever a user's module does when it is imported
        where = traceback.extract_tb(error.__traceback__)[-1]
        line = getattr(error, "lineno", None) or where.lineno
        file = getattr(error, "filename", None) or where.filename
        kind = type(error).__name__
        raise ValueError(
            f"{module} cannot be imported: {file}, line {line}: {kind}: {error}"
        ) from error


def own(module: str, function: str) -> Activation:
    """Return an activation of the user's: `function` in `module`, found from where they stand."""
    import sys

    from softgate.runtime.activation import Activation

    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    if not all(part.isidentifier() for part in (*module.split("."), function)):
        raise ValueError(
            f"'{module}:{function}' is no activation: write module:function for one of your own"
        )
    found = getattr(_imported(module), function, None)
    if not isinstance(found, Activation):
        raise ValueError(
            f"{module}:{function} is {'missing' if found is None else type(found).__name__}: "
            "expected a function decorated with @softgate.activation"
        )
    return found
