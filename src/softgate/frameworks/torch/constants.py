"""Marks functions whose results torch.compile takes for constants while it traces."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

Function = TypeVar("Function", bound=Callable[..., object])


def constant_when_compiled(function: Function) -> Function:
    """Do what `torch.compiler.assume_constant_result` does, without loading torch's compiler.

    That takes seconds and imports torch.distributed; a plain call of an activation needs neither.
    """
    function._dynamo_marked_constant = True  # type: ignore[attr-defined]
    return function
