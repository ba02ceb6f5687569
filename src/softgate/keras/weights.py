"""Weights between `softgate.torch` and `softgate.keras`: a kernel is torch's weight transposed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import keras
import numpy as np

PARTS = (
    "attention", "in_proj", "out_proj", "feed_forward", "fc1", "fc2", "gate_proj", "up_proj",
    "down_proj", "norm1", "norm2",
)  # fmt: skip
"""What the layers of blocks are called, here and in torch."""


def load_state_dict(layer: Any, state: Mapping[str, Any]) -> None:
    """Give a block's weights the values that the same block has in `softgate.torch`.

    Parameters
    ----------
    layer : keras.layers.Layer
        A FeedForward, GatedFeedForward, SelfAttention or TransformerBlock that has been built.
    state : mapping
        What `state_dict()` of the block in torch returns, as tensors or arrays.

    Examples
    --------
    >>> import numpy as np
    >>> from softgate.keras import FeedForward, load_state_dict
    >>> layer = FeedForward(2, 3, bias=False)
    >>> layer.build((None, 2))
    >>> load_state_dict(layer, {"fc1.weight": np.ones((3, 2)), "fc2.weight": np.ones((2, 3))})
    >>> float(layer.count_params())
    12.0
    """
    if not layer.built:
        raise ValueError(f"{layer.name} has no weights yet: call it once, or its build(shape)")
    known = dict(_variables(layer))
    if set(known) != set(state):
        missing, beyond = sorted(set(known) - set(state)), sorted(set(state) - set(known))
        raise ValueError(
            f"the state dict lacks {missing} and has {beyond}, unknown to {layer.name}"
        )
    arrays = {}
    for name, (variable, transposed) in known.items():
        value = state[name]
        value = np.asarray(value.detach().cpu() if hasattr(value, "detach") else value)
        arrays[name] = value.T if transposed else value
        if arrays[name].shape != tuple(variable.shape):
            raise ValueError(
                f"{name} has shape {value.shape}: {layer.name} needs "
                f"{tuple(variable.shape)[:: -1 if transposed else 1]}"
            )
    for name, (variable, _) in known.items():
        variable.assign(arrays[name])


def _variables(layer: Any, prefix: str = "") -> Iterator[tuple[str, tuple[Any, bool]]]:
    """Yield torch's name of each weight, the variable, and whether it is transposed."""
    if isinstance(layer, keras.layers.Dense):
        yield f"{prefix}weight", (layer.kernel, True)
        if layer.use_bias:
            yield f"{prefix}bias", (layer.bias, False)
    elif isinstance(layer, keras.layers.LayerNormalization):
        yield f"{prefix}weight", (layer.gamma, False)
        if layer.center:
            yield f"{prefix}bias", (layer.beta, False)
    elif isinstance(layer, keras.layers.RMSNormalization):
        yield f"{prefix}weight", (layer.scale, False)
    for part in PARTS:
        if hasattr(layer, part):
            end = "_" if part == "in_proj" else "."  # one parameter of nn.MultiheadAttention
            yield from _variables(getattr(layer, part), f"{prefix}{part}{end}")
