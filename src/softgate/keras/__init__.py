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

from importlib import import_module
from typing import TYPE_CHECKING, Any

from softgate.frameworks import keras as _adapter  # noqa: F401 - raises if Keras is missing or too old
from softgate.frameworks.block_arguments import matched_width, unknown
from softgate.records.packages import require
from softgate.runtime.registry import activations, gated

from .activation import Activation, GatedActivation, get
from .block_parts import load_state_dict
from .feed_forward import FeedForward, GatedFeedForward
from .transformer import SelfAttention, TransformerBlock

if TYPE_CHECKING:
    from softgate.studies.diagnose.keras_watch import Watch
    from softgate.studies.swap.keras_model import swap

__all__ = [  # noqa: PLE0604 - the activations' names come from the catalogue
    "Activation",
    "FeedForward",
    "GatedActivation",
    "GatedFeedForward",
    "SelfAttention",
    "TransformerBlock",
    "Watch",
    "get",
    "load_state_dict",
    "matched_width",
    "swap",
    *activations(),
    *gated(),
]


_STUDIES = {"Watch": "diagnose.keras_watch", "swap": "swap.keras_model"}
"""Modules of `softgate.studies`, imported on first use because they load the compiler."""


def __getattr__(name: str) -> Any:
    """Return the activation of that name for Keras, or a function that is imported on first use."""
    if name in _STUDIES:
        if name == "Watch":
            require("torch", purpose="softgate.keras.Watch")
        module = import_module(f"softgate.studies.{_STUDIES[name]}")
        globals()[name] = getattr(module, name)
        return globals()[name]
    known: dict[str, Any] = {**activations(), **gated()}
    if name not in known:
        if name.startswith("_"):
            raise AttributeError(f"softgate.keras has no {name!r}")
        raise AttributeError(f"softgate.keras: {unknown('name', name, __all__)}")
    return get(known[name])


def __dir__() -> list[str]:
    return sorted(__all__)
