"""Calls of activations inside the forward of a module, redirected to other functions.

A `Redirect` has two hooks of a module. While the module runs, a `TorchFunctionMode` receives the
torch functions that it calls: as functions, as methods of tensors, and in place. A call that
computes one of the functions of the redirect, and that no module inside makes, is replaced. The
hooks are copied and pickled with the model.

A recomputation in the backward pass calls hooks only if it calls the module. If a module
checkpoints a part of its own forward, a redirected call in it raises RuntimeError, since the
backward pass would compute the original function.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from threading import local
from types import FrameType
from typing import Any

import torch
import torch.utils.checkpoint
from torch import Tensor, nn
from torch._C._dynamo.eval_frame import set_eval_frame
from torch._dynamo.eval_frame import skip_code
from torch.overrides import TorchFunctionMode

from softgate.runtime.activation import Activation
from softgate.runtime.registry import label

from ..models.torch_calls import ACTIVATIONS, of_two, split_gated
from ..models.torch_recognition import recognise_call

CALL = nn.Module._call_impl.__code__
CHECKPOINT = torch.utils.checkpoint.__file__


def _not_compiled(function: Any) -> Any:
    """Exclude a function from compilation, but not what it calls.

    `torch.compiler.disable(recursive=False)` does the same, and cannot be exported.
    """
    function._torchdynamo_disable = True
    skip_code(function.__code__)
    return function


class Redirect:
    """Functions that replace others in the calls of one module, by the names of these."""

    def __init__(self, functions: Mapping[str, Activation]) -> None:
        self.functions = dict(functions)

    def attach(self, module: nn.Module) -> None:
        """Register the hooks."""
        module.register_forward_pre_hook(self.enter, prepend=True)
        module.register_forward_hook(self.leave, always_call=True)

    def detach(self, module: nn.Module) -> None:
        """Remove the hooks, also of a module that was copied or loaded."""
        for hooks in (module._forward_pre_hooks, module._forward_hooks):
            for key in [key for key, hook in hooks.items() if _owner(hook) is self]:
                del hooks[key]
                module._forward_hooks_always_called.pop(key, None)

    @_not_compiled
    def enter(self, module: nn.Module, _: Any) -> None:
        """Start redirecting the calls of a module."""
        if not _running.frames:
            # Compiled code has no calls to redirect: nothing is compiled until `leave`.
            _running.compiler = set_eval_frame(None)
            _running.mode = _Calls()
            _running.mode.__enter__()
        _running.frames.append((module, self))

    @_not_compiled
    def leave(self, module: nn.Module, *_: Any) -> None:
        """Stop redirecting the calls of a module."""
        if not _running.frames or _running.frames[-1][0] is not module:
            return  # another hook raised before `enter` was called
        _running.frames.pop()
        if not _running.frames:
            _running.mode.__exit__(None, None, None)
            set_eval_frame(_running.compiler)

    def __repr__(self) -> str:
        rules = ", ".join(f"{old} -> {label(new)}" for old, new in self.functions.items())
        return f"Redirect({rules})"


def redirect_of(module: nn.Module) -> Redirect | None:
    """Return the redirect of a module, also of one that was copied or loaded."""
    owners = map(_owner, module._forward_pre_hooks.values())
    return next((owner for owner in owners if isinstance(owner, Redirect)), None)


def _owner(hook: Any) -> Any:
    return getattr(hook, "__self__", None)


class _Running(local):
    """The modules with a redirect that run in a thread, and what is active meanwhile."""

    def __init__(self) -> None:
        self.frames: list[tuple[nn.Module, Redirect]] = []
        self.mode: Any = None
        self.compiler: Any = None
        self.counts: Counter[tuple[nn.Module, str]] | None = None


_running = _Running()


@contextmanager
def counted() -> Iterator[Counter[tuple[nn.Module, str]]]:
    """Count the calls that are redirected in this thread, by module and function."""
    _running.counts = Counter()
    try:
        yield _running.counts
    finally:
        _running.counts = None


class _Calls(TorchFunctionMode):
    """Replaces the calls of the modules that have a redirect."""

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        """Return the result of a call, or of the function that replaces it."""
        kwargs = kwargs or {}
        if func in ACTIVATIONS or of_two(func, args):
            module, checkpointed = _caller(sys._getframe(1))
            redirect = next((r for m, r in reversed(_running.frames) if m is module), None)
            if redirect is not None:
                return _redirected(redirect, module, checkpointed, func, args, kwargs)
        return func(*args, **kwargs)


def _redirected(
    redirect: Redirect,
    module: nn.Module | None,
    checkpointed: bool,
    func: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:
    gated = split_gated(func, args, kwargs)
    if gated is not None:
        func, args, kwargs = gated.act, gated.args, {}
    elif of_two(func, args):  # torch refuses it, or it is no product
        return func(*args, **kwargs)
    form = ACTIVATIONS[func]
    x = form.input_of(args, kwargs)
    old = _function_of(func, args, kwargs)
    new = redirect.functions.get(old)
    if new is None or not isinstance(x, Tensor):
        value = func(*args, **kwargs)
    elif checkpointed:
        raise RuntimeError(
            f"{type(module).__name__} checkpoints a part of its forward that calls {old}, which "
            "was swapped: the backward pass would compute it with the original function; "
            "checkpoint the whole module, or do not swap this call"
        )
    else:
        if _running.counts is not None and module is not None:
            _running.counts[module, old] += 1
        value = x.copy_(new(x.clone())) if form.overwrites(args, kwargs) else new(x)
    return value if gated is None else value * gated.other


def _function_of(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """Return the function that a call computes; empty if it is not one of the catalogue."""
    form = ACTIVATIONS[func]
    with torch._C.DisableTorchFunction():
        plain = form.as_function(func, args, kwargs)
        recognised = recognise_call(func, args, kwargs, form, plain)
    if recognised is None or recognised.activation is None or recognised.scale != 1:
        return ""
    return recognised.name


def _caller(frame: FrameType | None) -> tuple[nn.Module | None, bool]:
    """Return the innermost module that runs, and whether it checkpoints what runs."""
    checkpointed = False
    while frame is not None:
        if frame.f_code is CALL:
            module: nn.Module = frame.f_locals["self"]
            return module, checkpointed
        checkpointed |= frame.f_code.co_filename == CHECKPOINT
        frame = frame.f_back
    return None, checkpointed
