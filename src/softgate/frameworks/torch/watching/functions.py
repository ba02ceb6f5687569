"""Which functions of torch, and which of softgate's, are activations, and how they are called.

A name is an activation where torch has a function of one tensor, element by element, under it: as a
function, as a method, as an operator, with an underscore in place. softmax and its like are
functions of a whole axis and not here.
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

from softgate.runtime.activation import Activation
from softgate.runtime.gated import Gated

from ..gated_operands import cut, halves, together

NAMES = (
    "celu", "elu", "gelu", "hardshrink", "hardsigmoid", "hardswish", "hardtanh", "leaky_relu",
    "logsigmoid", "mish", "prelu", "relu", "relu6", "rrelu", "selu", "sigmoid", "silu", "softplus",
    "softshrink", "softsign", "tanh", "tanhshrink", "threshold",
)  # fmt: skip
"""What torch calls them."""

LAYERS = {
    "linear": 0, "bilinear": 0, "matmul": 0, "bmm": 0, "mm": 0, "addmm": 0, "baddbmm": 0,
    "einsum": 0, "conv1d": 1, "conv2d": 2, "conv3d": 3,
    "conv_transpose1d": 1, "conv_transpose2d": 2, "conv_transpose3d": 3,
}  # fmt: skip
"""How many axes stand behind that of the units in what these return."""


@dataclass(frozen=True)
class Use:
    """One way to call an activation."""

    name: str
    position: int = 0
    """Where its input stands among the arguments."""
    keyword: str = "input"
    in_place: bool = False

    def input_of(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """Return what the activation is applied to."""
        return args[self.position] if len(args) > self.position else kwargs.get(self.keyword)

    def overwrites(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
        """Tell whether the input may be overwritten: by name, or by a switch that is on."""
        return self.in_place or any(value is True for value in (*args, *kwargs.values()))

    def again(
        self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> Callable[[Tensor], Tensor]:
        """Return the same call as a function of its input alone, which it leaves as it is."""
        named = len(args) <= self.position
        rest = {key: value for key, value in kwargs.items() if not (named and key == self.keyword)}

        def call(x: Tensor) -> Tensor:
            x = x.clone() if self.overwrites(args, kwargs) else x
            positional = args if named else (*args[: self.position], x, *args[self.position + 1 :])
            result: Tensor = function(*positional, **({self.keyword: x} if named else {}), **rest)
            return result

        return call


def _called(name: str) -> Iterator[Any]:
    """Yield what torch has under a name; a model that was exported calls operators."""
    for home in (F, torch, Tensor, torch.ops.aten):
        found = getattr(home, name, None)
        if found is not None:
            yield found
            if home is torch.ops.aten and hasattr(found, "default"):
                yield found.default


def _uses() -> Iterator[tuple[Any, Use]]:
    for name in NAMES:
        for spelling in (name, f"{name}_"):
            for found in _called(spelling):
                yield found, Use(name, in_place=spelling != name)
    yield torch.special.expit, Use("sigmoid")


USES: dict[Any, Use] = dict(_uses())
"""Every activation that torch has, by the function that a mode is told of."""

BEHIND: dict[Any, int] = {found: axes for name, axes in LAYERS.items() for found in _called(name)}
"""Every layer that torch has, by the function that a mode is told of."""


PRODUCTS = frozenset(
    found for name in ("mul", "mul_", "multiply", "__mul__", "__rmul__") for found in _called(name)
)
"""What multiplies: an activation whose value goes there is a gate."""


class Seam:
    """A function of softgate's own, which modes hear of only while a watch is open.

    It is no function of torch's; looking for a mode in every call would cost small tensors dearly.
    """

    def __init__(self, owner: Any, attribute: str, position: int) -> None:
        self.owner, self.attribute, self.position = owner, attribute, position
        self.original = getattr(owner, attribute)

        @wraps(self.original)
        def announced(*args: Any, **kwargs: Any) -> Any:
            x = args[position] if len(args) > position else None
            if isinstance(x, Tensor) and torch._C._is_torch_function_mode_enabled():
                return handle_torch_function(announced, (x,), *args, **kwargs)
            return self.original(*args, **kwargs)

        self.announced = announced
        USES[announced] = Use("", position)

    def open(self) -> None:
        """Put the announcement in place of what is there now, which others may have put there."""
        self.original = getattr(self.owner, self.attribute)
        setattr(self.owner, self.attribute, self.announced)

    def close(self) -> None:
        """Put back what was there."""
        setattr(self.owner, self.attribute, self.original)


ACTIVATION = Seam(Activation, "__call__", 1)
GATED = Seam(Gated, "__call__", 1)
SCALING = Seam(torch.amp.GradScaler, "scale", 1)
"""No activation: what is told of its losses are the numbers that gradients are multiplied by."""
SEAMS = [ACTIVATION, GATED, SCALING]
"""What is announced; a facade adds its own entrances."""


@dataclass(frozen=True)
class Parts:
    """A gated call as act(gate)·other."""

    name: str
    act: Any
    args: tuple[Any, ...]
    other: Tensor


def _of_glu(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Parts | None:
    given = dict(zip(("input", "dim"), args, strict=False)) | dict(kwargs)
    x, dim = given["input"], given.get("dim", -1)
    if not isinstance(x, Tensor) or not x.dim() or x.shape[dim] % 2:
        return None  # torch says what is wrong
    other, gate = x.chunk(2, dim)
    return Parts("glu", torch.sigmoid, (gate,), other)


def _of_ours(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Parts | None:
    function, *operands = args
    options = dict(kwargs)
    axis, position = options.pop("axis", None), options.pop("gate", None)
    if not {"out", "arithmetic"}.isdisjoint(options):
        return None
    first = function.gating.position(position) == "first"
    if len(operands) == 1:
        gate, other = halves(operands[0], cut(function.name, operands[0], axis), first)
    else:
        a, b = together(function.name, tuple(operands), axis)
        gate, other = (a, b) if first else (b, a)
    act = function.act.bind(**{**function.parameters, **options})
    return Parts(function.name, ACTIVATION.announced, (act, gate), other)


GATES: dict[Any, Callable[..., Parts | None]] = {F.glu: _of_glu, GATED.announced: _of_ours}
"""Gated functions, which have an activation inside; None where they are left as they are."""
del USES[GATED.announced], USES[SCALING.announced]


class _Openings:
    """How many watches are open: the last one to go puts back what the first one changed."""

    count = 0
    lock = Lock()


@contextmanager
def announcing() -> Iterator[None]:
    """Make calls of softgate's own functions visible to modes for a while."""
    with _Openings.lock:
        _Openings.count += 1
        if _Openings.count == 1:
            for seam in SEAMS:
                seam.open()
    try:
        yield
    finally:
        with _Openings.lock:
            _Openings.count -= 1
            if not _Openings.count:
                for seam in SEAMS:
                    seam.close()


def label(use: Use, args: tuple[Any, ...]) -> str:
    """Return what a call is called in the name of a site; ours carry the name with them."""
    return use.name or str(getattr(args[0], "name", args[0]))
