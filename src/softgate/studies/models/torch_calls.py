"""Calls that are activations: functions of torch and of softgate, their arguments, and patches.

A name is an activation if torch applies it to one tensor element by element: as a function, as a
method, as an operator, or in place (with an underscore). softmax and similar functions, which act
along an axis, are not listed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from threading import Lock
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.overrides import handle_torch_function

from softgate.frameworks.torch.operands import Operands
from softgate.runtime.activation import Activation
from softgate.torch import functional

NAMES = (
    "celu", "elu", "gelu", "hardshrink", "hardsigmoid", "hardswish", "hardtanh", "leaky_relu",
    "logsigmoid", "mish", "prelu", "relu", "relu6", "rrelu", "selu", "sigmoid", "silu", "softplus",
    "softshrink", "softsign", "tanh", "tanhshrink", "threshold",
)  # fmt: skip
"""Names of activations in torch."""


@dataclass(frozen=True)
class CallForm:
    """How an activation is called: its name, and which argument is its input."""

    name: str
    position: int = 0
    keyword: str = "input"
    in_place: bool = False

    def input_of(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """Return the argument that the activation is applied to."""
        return args[self.position] if len(args) > self.position else kwargs.get(self.keyword)

    def overwrites(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
        """Return whether the call may be in place, by its name or by an argument that is True."""
        return self.in_place or any(value is True for value in (*args, *kwargs.values()))

    def as_function(
        self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> Callable[[Tensor], Tensor]:
        """Return the call as a function of its input alone; it never overwrites the input."""
        named = len(args) <= self.position
        rest = {key: value for key, value in kwargs.items() if not (named and key == self.keyword)}

        def call(x: Tensor) -> Tensor:
            x = x.clone() if self.overwrites(args, kwargs) else x
            positional = args if named else (*args[: self.position], x, *args[self.position + 1 :])
            result: Tensor = function(*positional, **({self.keyword: x} if named else {}), **rest)
            return result

        return call

    def label(self, args: tuple[Any, ...]) -> str:
        """Return the name of a call; a softgate function is the first argument of its call."""
        return self.name or str(getattr(args[0], "name", args[0]))


def _functions(name: str) -> Iterator[Any]:
    """Yield torch's functions of a name, ATen operators of exported models included."""
    for namespace in (F, torch, Tensor, torch.ops.aten):
        function = getattr(namespace, name, None)
        if function is not None:
            yield function
            if namespace is torch.ops.aten and hasattr(function, "default"):
                yield function.default


ACTIVATIONS: dict[Any, CallForm] = {
    function: CallForm(name, in_place=spelling != name)
    for name in NAMES
    for spelling in (name, f"{name}_")
    for function in _functions(spelling)
} | {torch.special.expit: CallForm("sigmoid")}
"""Every activation of torch, by the function that a `TorchFunctionMode` receives."""

LAYERS: dict[Any, int] = {
    function: axes
    for axes, names in enumerate((
        ("linear", "bilinear", "matmul", "bmm", "mm", "addmm", "baddbmm", "einsum"),
        ("conv1d", "conv_transpose1d"),
        ("conv2d", "conv_transpose2d"),
        ("conv3d", "conv_transpose3d"),
    ))
    for name in names
    for function in _functions(name)
}  # fmt: skip
"""Layers, each with the number of axes behind that of the units in its result."""

PRODUCTS = frozenset(
    function
    for name in ("mul", "mul_", "multiply", "__mul__", "__rmul__")
    for function in _functions(name)
)
"""Products: an activation is a gate if its value is a factor."""


class CallPatch:
    """A function outside torch, patched while a model is watched to go through a function mode.

    A check for a mode in every call would slow down calls on small tensors.
    """

    def __init__(self, owner: Any, attribute: str, position: int = 1) -> None:
        self.owner, self.attribute = owner, attribute
        self.original = getattr(owner, attribute)

        @wraps(self.original)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            x = args[position] if len(args) > position else None
            if isinstance(x, Tensor) and torch._C._is_torch_function_mode_enabled():
                return handle_torch_function(wrapper, (x,), *args, **kwargs)
            return self.original(*args, **kwargs)

        self.wrapper = wrapper

    def apply(self) -> None:
        """Replace the attribute; its current value may already be a patch of another library."""
        self.original = getattr(self.owner, self.attribute)
        setattr(self.owner, self.attribute, self.wrapper)

    def restore(self) -> None:
        """Restore the original attribute."""
        setattr(self.owner, self.attribute, self.original)


ACTIVATION, FUNCTIONAL = CallPatch(Activation, "__call__"), CallPatch(functional, "_apply")
SCALING = CallPatch(torch.amp.GradScaler, "scale")
"""Not an activation; patched to record the factor of a scaled loss and thus of its gradients."""
PATCHES = (ACTIVATION, FUNCTIONAL, SCALING)
ACTIVATIONS |= {patch.wrapper: CallForm("", 1) for patch in (ACTIVATION, FUNCTIONAL)}


@dataclass(frozen=True)
class GatedCall:
    """A gated call as act(*args)·other; the gate is the last of `args`."""

    name: str
    act: Any
    args: tuple[Any, ...]
    other: Tensor


def _split_glu(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> GatedCall | None:
    arguments = dict(zip(("input", "dim"), args, strict=False)) | dict(kwargs)
    x, dim = arguments["input"], arguments.get("dim", -1)
    if not isinstance(x, Tensor) or not x.dim() or x.shape[dim] % 2:
        return None  # torch raises an error for such an input
    other, gate = x.chunk(2, dim)
    return GatedCall("glu", torch.sigmoid, (gate,), other)


def _split_softgate(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> GatedCall | None:
    function, *operands = args
    if function.gate_activation is None:
        return None
    options = dict(kwargs)
    axis, position = options.pop("axis", None), options.pop("gate", None)
    if not {"out", "arithmetic"}.isdisjoint(options):
        return None
    a, b = Operands.of(function, tuple(operands), axis, position, backward=False).tensors
    gate, other = (a, b) if function.position(None) == "first" else (b, a)
    parameters = {**function.parameters, **options}
    act = function.gate_activation.bind(**parameters)
    if function.factor is not None:
        other = function.factor(other, **parameters)
    return GatedCall(function.name, ACTIVATION.wrapper, (act, gate), other)


def of_two(function: Any, args: tuple[Any, ...]) -> bool:
    """Return whether a call is one of a function of two operands, or of one split in two."""
    return function is F.glu or (function is ACTIVATION.wrapper and args[0].nin == 2)


def split_gated(
    function: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> GatedCall | None:
    """Return activation and factor of a gated call; None for other calls."""
    if not of_two(function, args):
        return None
    return _split_glu(args, kwargs) if function is F.glu else _split_softgate(args, kwargs)


_lock = Lock()
_watches = 0


@contextmanager
def patched_calls() -> Iterator[None]:
    """Apply all patches; when watches are nested, the last one to end restores the originals."""
    global _watches  # noqa: PLW0603 as patches are: one for the process
    with _lock:
        _watches += 1
        if _watches == 1:
            for patch in PATCHES:
                patch.apply()
    try:
        yield
    finally:
        with _lock:
            _watches -= 1
            if not _watches:
                for patch in PATCHES:
                    patch.restore()
