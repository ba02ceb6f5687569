"""softgate for Keras 3, on TensorFlow, JAX or torch: activations and layers serialised by name.

Every activation is an object here, `softgate.keras.gelu`, for `activation=` of any layer; `get`
returns one by any framework's name. Import `softgate.keras` before loading a model that uses them.

Examples
--------
>>> import keras, softgate.keras
>>> layer = keras.layers.Dense(2048, activation=softgate.keras.gelu)
>>> layer.get_config()["activation"]["config"]
{'function': 'gelu', 'parameters': {}}
"""

from __future__ import annotations

from typing import Any

from softgate.frameworks import keras as _adapter  # noqa: F401 - raises if Keras is missing or too old
from softgate.frameworks.block_arguments import matched_width, unknown
from softgate.runtime.registry import activations, gated

from .activation import Activation, GatedActivation, get
from .attention import SelfAttention
from .block_parts import load_state_dict
from .blocks import TransformerBlock
from .feed_forward import FeedForward, GatedFeedForward

__all__ = [  # noqa: PLE0604 - the activations' names come from the catalogue
    "Activation",
    "FeedForward",
    "GatedActivation",
    "GatedFeedForward",
    "SelfAttention",
    "TransformerBlock",
    "get",
    "load_state_dict",
    "matched_width",
    *activations(),
    *gated(),
]


def __getattr__(name: str) -> Any:
    """Return the activation of that name for Keras."""
    known: dict[str, Any] = {**activations(), **gated()}
    if name not in known:
        if name.startswith("_"):
            raise AttributeError(f"softgate.keras has no {name!r}")
        raise AttributeError(f"softgate.keras: {unknown('name', name, __all__)}")
    return get(known[name])


def __dir__() -> list[str]:
    return sorted(__all__)
