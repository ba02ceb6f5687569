"""Registration with torch's dispatcher: what it already has is not registered again.

An interrupt may end a registration after any step, and a module whose import was interrupted is
executed again. The next attempt asks the dispatcher for each step, and resumes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import torch

from softgate.lower.target import never_free

from . import private

NAMESPACE = "softgate"

failures: list[str] = []
"""Why operators for compilers and functorch are not registered; empty if they are."""


@cache
def library() -> torch.library.Library:
    """Return what registers operators; torch may refuse to make it."""
    made = torch.library.Library(NAMESPACE, "FRAGMENT")
    never_free(made)  # its operators would be removed with it
    return made


def define(schema: str, tags: Sequence[torch.Tag] = (), *, alias_analysis: str = "") -> str:
    """Define an operator and return its name."""
    name = schema.partition("(")[0]
    if not hasattr(torch.ops.softgate, name):
        library().define(schema, alias_analysis, tags=tags)
    return name


def has_kernel(name: str, key: str) -> bool:
    """Return whether an operator has a kernel for a dispatch key."""
    return private.has_kernel.get()(f"{NAMESPACE}::{name}", key)


def implement(name: str, kernel: Callable[..., Any], key: str) -> None:
    """Register the kernel of an operator for a dispatch key."""
    if not has_kernel(name, key):
        library().impl(name, kernel, key)
