"""Whether a tensor is computed by a kernel, through an operator, or by torch's operators."""

from __future__ import annotations

import threading
from contextlib import nullcontext

import torch
from torch.autograd import forward_ad

from .cpu_kernels import DTYPES
from .decompositions import constant_when_compiled, exporting, functionalizing, on_cpu

_functorch = torch._C._functorch
_keys, _local = torch._C._dispatch_keys, torch._C._dispatch_tls_local_include_set
_PLAIN_KEYS: set[int] = set()
"""The dispatch keys of a strided CPU tensor that is no subclass, no negated view and not wrapped by
functorch: one comparison checks all of these."""
_PLAIN_MODES: set[int] = set()
"""The keys that a thread includes when no mode, tracer or functorch transform is active."""


def _read_keys() -> None:
    for context in (nullcontext(), torch.inference_mode()):
        with context:
            _PLAIN_KEYS.add(_keys(torch.empty(0)).raw_repr())
            _PLAIN_MODES.add(_local().raw_repr())


# In a separate thread: this module may be imported during an export, when a tracer has added keys
# to the thread.
_reading = threading.Thread(target=_read_keys)
_reading.start()
_reading.join()


def plain(x: torch.Tensor) -> bool:
    """Return whether `x` is a plain CPU tensor and no mode, tracer or transform is active."""
    return (
        _keys(x).raw_repr() in _PLAIN_KEYS
        and _local().raw_repr() in _PLAIN_MODES
        and forward_ad._current_level < 0
    )


def both_plain(x: torch.Tensor, y: torch.Tensor) -> bool:
    """Return the same for two tensors, with one check for modes."""
    return _keys(y).raw_repr() in _PLAIN_KEYS and plain(x)


def all_plain(*tensors: torch.Tensor) -> bool:
    """Return the same for any number of tensors."""
    first, *others = tensors
    return plain(first) and all(_keys(x).raw_repr() in _PLAIN_KEYS for x in others)


def is_nested(x: torch.Tensor) -> bool:
    """Return whether a tensor is nested in the strided layout; jagged ones are not."""
    return x.is_nested and x.layout is torch.strided


def path(x: torch.Tensor) -> str:
    """Return "kernel" or "torch": whether kernels or torch's operators compute for `x`."""
    ours = on_cpu(x) and not exporting() and x.dtype in DTYPES and not functionalizing()
    return "kernel" if ours else "torch"


@constant_when_compiled
def inside_functorch() -> bool:
    """Return whether functorch transforms the function that is compiled."""
    return _functorch.peek_interpreter_stack() is not None
