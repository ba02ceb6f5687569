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

from softgate.records.packages import check, missing

try:
    import torch as _torch
except ModuleNotFoundError as error:
    raise missing("torch", error) from error
else:
    check("torch", _torch.__version__)

from softgate.frameworks.block_arguments import matched_width
from softgate.frameworks.torch.decompositions import prefer_torch_operators

from . import functional
from .feed_forward import FeedForward, GatedFeedForward, saved_bytes
from .huggingface import register_huggingface
from .model_presets import Preset, known_presets, preset
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
    make,
)
from .transformer import SelfAttention, Stack, TransformerBlock

if TYPE_CHECKING:
    from softgate.studies.diagnose.run import diagnose, what_if
    from softgate.studies.diagnose.watch import Watch, watch
    from softgate.studies.swap.torch_model import swap

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
    "register_huggingface",
    "saved_bytes",
    "swap",
    "watch",
    "what_if",
]

_STUDIES = {
    "Watch": "diagnose.watch",
    "diagnose": "diagnose.run",
    "swap": "swap.torch_model",
    "watch": "diagnose.watch",
    "what_if": "diagnose.run",
}
"""Modules of `softgate.studies`, imported on first use because they load the compiler."""


def __getattr__(name: str) -> Any:
    """Return a public name that is imported on first use."""
    if name not in _STUDIES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = import_module(f"softgate.studies.{_STUDIES[name]}")
    globals()[name] = getattr(module, name)
    return globals()[name]


def __dir__() -> list[str]:
    return sorted(__all__)
