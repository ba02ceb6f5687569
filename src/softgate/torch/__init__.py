"""softgate for PyTorch: functions, modules and blocks on the same kernels.

Examples
--------
>>> import torch, softgate as sg
>>> sg.gelu(torch.tensor([-1.0, 1.0]))
tensor([-0.1587,  0.8413])
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ..frameworks import check, missing

try:
    import torch as _torch
except ModuleNotFoundError as error:
    raise missing("torch", error) from error
else:
    check("torch", _torch.__version__)

from ..adapters.torch.portable import prefer_torch_operators
from ..blueprints import matched_width
from . import functional as functional
from .attention import SelfAttention
from .blocks import TransformerBlock
from .feed_forward import FeedForward, GatedFeedForward
from .making import make
from .memory import saved_bytes
from .modules import (
    CELU,
    ELU,
    GELU,
    GLU,
    SELU,
    Activation,
    Hardshrink,
    Hardsigmoid,
    Hardswish,
    Hardtanh,
    Identity,
    LeakyReLU,
    LogSigmoid,
    Mish,
    PReLU,
    ReLU,
    ReLU6,
    RReLU,
    Sigmoid,
    SiLU,
    Softplus,
    Softshrink,
    Softsign,
    Swish,
    Tanh,
    Tanhshrink,
    Threshold,
)
from .presets import Preset, known_presets, preset
from .stack import Stack

if TYPE_CHECKING:
    from .diagnosing import diagnose, what_if
    from .watching import Watch, watch

__all__ = [
    "CELU",
    "ELU",
    "GELU",
    "GLU",
    "SELU",
    "Activation",
    "FeedForward",
    "GatedFeedForward",
    "Hardshrink",
    "Hardsigmoid",
    "Hardswish",
    "Hardtanh",
    "Identity",
    "LeakyReLU",
    "LogSigmoid",
    "Mish",
    "PReLU",
    "Preset",
    "RReLU",
    "ReLU",
    "ReLU6",
    "SelfAttention",
    "SiLU",
    "Sigmoid",
    "Softplus",
    "Softshrink",
    "Softsign",
    "Stack",
    "Swish",
    "Tanh",
    "Tanhshrink",
    "Threshold",
    "TransformerBlock",
    "Watch",
    "diagnose",
    "functional",
    "known_presets",
    "make",
    "matched_width",
    "prefer_torch_operators",
    "preset",
    "saved_bytes",
    "watch",
    "what_if",
]

_HOMES = {
    "Watch": "watching",
    "diagnose": "diagnosing",
    "watch": "watching",
    "what_if": "diagnosing",
}
"""What few need and what brings the compiler along, loaded when it is first asked for."""


def __getattr__(name: str) -> Any:
    """Return what is public and not loaded yet."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(f".{_HOMES[name]}", __name__), name)
    globals()[name] = found
    return found
