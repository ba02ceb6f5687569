"""How much a forward pass keeps for the backward pass, as autograd itself reports it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor


def saved_bytes(function: Callable[..., Any], *inputs: Any) -> int:
    """Return the bytes that a forward pass keeps for its backward pass.

    Every saved tensor is asked for its memory, and each piece of memory counts once, however many
    tensors in it are saved. A module's own parameters, which are there anyway, do not count; its
    inputs do, if they are kept.

    Parameters
    ----------
    function : Callable
        A module, or any function of tensors.
    *inputs
        What to call it with.

    Returns
    -------
    int
        The number of bytes.

    Examples
    --------
    >>> import torch
    >>> from softgate.torch import FeedForward, saved_bytes
    >>> x = torch.zeros(10, 768)
    >>> saved_bytes(FeedForward(768, 3072), x), saved_bytes(FeedForward(768, 3072, save="all"), x)
    (153600, 276480)
    """
    own: set[int] = set()
    if isinstance(function, torch.nn.Module):
        own = {parameter.untyped_storage().data_ptr() for parameter in function.parameters()}
    seen: dict[int, int] = {}
    kept = []  # while it is kept, nobody else gets its address

    def pack(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in own:
            seen[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        kept.append(function(*inputs))
    return sum(seen.values())
