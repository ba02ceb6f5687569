"""Former names of keywords and options, which work for one version with a deprecation warning."""

from __future__ import annotations

import warnings
from collections.abc import Callable
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
    >>> with warnings.catch_warnings(record=True):
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

        renaming.former = names  # type: ignore[attr-defined]
        return renaming  # type: ignore[return-value]

    return decorate
