"""Former names of keywords and options, which work for one version with a deprecation warning."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Container, Iterable
from functools import wraps
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


def renamed_message(old: str, new: str) -> str:
    """Return the warning that a keyword or an option has a new name."""
    return f"{old} is deprecated and will be removed in the next version: write {new}"


def renamed(**names: str) -> Callable[[F], F]:
    """Return a decorator that accepts former keywords of a function, by their new names.

    A former keyword raises a DeprecationWarning; with the new one beside it, a TypeError. The
    function has the former names as `former`.

    Examples
    --------
    >>> @renamed(lang="language")
    ... def emit(language):
    ...     return language
    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"):
    ...     emit(lang="c")
    'c'
    """

    def decorate(function: F) -> F:
        @wraps(function)
        def renaming(*arguments: Any, **keywords: Any) -> Any:
            for old, new in names.items():
                if old not in keywords:
                    continue
                if new in keywords:
                    raise TypeError(f"{old} is the former name of {new}: pass only {new}")
                warnings.warn(renamed_message(old, new), DeprecationWarning, stacklevel=2)
                keywords[new] = keywords.pop(old)
            return function(*arguments, **keywords)

        renaming.former = {**getattr(function, "former", {}), **names}  # type: ignore[attr-defined]
        return renaming  # type: ignore[return-value]

    return decorate


def listed(
    keyword: str, positional: tuple[str, ...] = (), first_values: Container[Any] = ()
) -> Callable[[F], F]:
    """Return a decorator that accepts a call with all functions in one argument, as formerly.

    Parameters
    ----------
    keyword : str
        The former name of that argument.
    positional : tuple of str
        The keywords that formerly could follow it by position.
    first_values : container
        Values of the first of them, which no function has as its name.

    Examples
    --------
    >>> @listed("functions", ("quantity",), ("value", "slope"))
    ... def plot(*functions, quantity="value"):
    ...     return functions, quantity
    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"):
    ...     plot(["gelu", "relu"], "slope")
    (('gelu', 'relu'), 'slope')
    """

    def decorate(function: F) -> F:
        @wraps(function)
        def listing(*arguments: Any, **keywords: Any) -> Any:
            if keyword in keywords:
                arguments = (keywords.pop(keyword), *arguments)
            elif not _in_one_argument(arguments, first_values):
                return function(*arguments, **keywords)
            more = f", {positional[0]}=…" if positional else ""
            message = (
                f"all functions in one argument of {function.__name__} are deprecated and will be "
                f"refused in the next version: write {function.__name__}('gelu', 'relu'{more})"
            )
            warnings.warn(message, DeprecationWarning, stacklevel=2)
            functions, *rest = arguments
            single = isinstance(functions, str) or callable(functions)
            chosen = [functions] if single else functions or ()
            return function(*chosen, **dict(zip(positional, rest, strict=False)), **keywords)

        former = {} if keyword == "functions" else {keyword: "functions"}
        listing.former = {**getattr(function, "former", {}), **former}  # type: ignore[attr-defined]
        return listing  # type: ignore[return-value]

    return decorate


def _in_one_argument(arguments: tuple[Any, ...], first_values: Container[Any]) -> bool:
    """Return whether a call has all functions in its first argument."""
    if not arguments:
        return False
    first, second = (*arguments, None)[:2]
    is_function = isinstance(first, str) or callable(first)
    if first is None or (isinstance(first, Iterable) and not is_function):
        return True
    return isinstance(second, str) and second in first_values
