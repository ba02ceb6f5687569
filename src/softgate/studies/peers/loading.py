"""From a peer to the function it names, in the process that runs it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

from .peer import Peer


def loaded(peer: Peer) -> Callable[[Any], Any]:
    """Return a peer's function of one array, its keywords given; a class is made into an object.

    Examples
    --------
    >>> print(loaded(Peer("relu", "softgate", "softgate.relu", "softgate:relu"))(-1.0))
    0.0
    """
    module, _, name = peer.subject.partition(":")
    found: Any = getattr(import_module(module), name)
    if isinstance(found, type):
        made: Callable[[Any], Any] = found(**peer.keywords)
        return made
    function: Callable[[Any], Any] = partial(found, **peer.keywords) if peer.keywords else found
    return function
