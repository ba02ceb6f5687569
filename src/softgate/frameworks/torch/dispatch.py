"""Which way a tensor takes: straight to a kernel, through an operator, or torch's own operators."""

from __future__ import annotations

import threading
from contextlib import nullcontext

import torch
from torch.autograd import forward_ad

from .memory import DTYPES
from .native_ops import constant_when_compiled, exporting, functionalizing, on_cpu

_functorch = torch._C._functorch
_keys, _local = torch._C._dispatch_keys, torch._C._dispatch_tls_local_include_set
_PLAIN_KEYS: set[int] = set()
"""The dispatch keys of a CPU tensor that is strided, no subclass, no view to be negated and not
wrapped by functorch: one comparison sees it all."""
_PLAIN_MODES: set[int] = set()
"""What a thread includes when neither a mode nor a tracer nor functorch is at work."""


def _look() -> None:
    for context in (nullcontext(), torch.inference_mode()):
        with context:
            _PLAIN_KEYS.add(_keys(torch.empty(0)).raw_repr())
            _PLAIN_MODES.add(_local().raw_repr())


# In a thread of its own: this module may be loaded in the middle of an export, and what a tracer
# has switched on there is not plain.
_looking = threading.Thread(target=_look)
_looking.start()
_looking.join()


def plain(x: torch.Tensor) -> bool:
    """Tell whether `x` is a CPU tensor and nothing looks inside the call."""
    return (
        _keys(x).raw_repr() in _PLAIN_KEYS
        and _local().raw_repr() in _PLAIN_MODES
        and forward_ad._current_level < 0
    )


def both_plain(x: torch.Tensor, y: torch.Tensor) -> bool:
    """Tell the same of two tensors, asking only once what is at work."""
    return _keys(y).raw_repr() in _PLAIN_KEYS and plain(x)


def all_plain(*tensors: torch.Tensor) -> bool:
    """Tell the same of any number."""
    first, *others = tensors
    return plain(first) and all(_keys(x).raw_repr() in _PLAIN_KEYS for x in others)


def is_nested(x: torch.Tensor) -> bool:
    """Tell whether a tensor is a list of tensors, as torch made them first; jagged ones are not."""
    return x.is_nested and x.layout is torch.strided


def path(x: torch.Tensor) -> str:
    """Return "kernel" or "torch": what computes for this tensor."""
    ours = on_cpu(x) and not exporting() and x.dtype in DTYPES and not functionalizing()
    return "kernel" if ours else "torch"


@constant_when_compiled
def inside_functorch() -> bool:
    """Tell a compiler whether functorch is at work inside what it compiles."""
    return _functorch.peek_interpreter_stack() is not None
