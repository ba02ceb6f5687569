"""torch.nn.functional's activations, with its names and arguments, on softgate's kernels.

    import softgate.torch.functional as F

is a drop-in for the activations of `torch.nn.functional`; what torch does not have is here under
softgate's name. A name with `_` overwrites its argument. Where the slope cannot be told from the
value alone that is refused while autograd records, for the gradient would need what is overwritten.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ..adapters.torch import evaluate, overwrite
from ..registry import activations, gated

_ALL, _GATED = activations(), gated()
_GELU = {"none": _ALL["gelu"], "tanh": _ALL["gelu_tanh"], "sigmoid": _ALL["gelu_sigmoid"]}
_DEFAULTS = {name: activation.parameters for name, activation in _ALL.items()}


def _apply(name: str, x: Tensor, inplace: bool = False, **parameters: float) -> Tensor:
    activation = _ALL[name]
    if parameters == _DEFAULTS[name]:
        parameters = {}
    if inplace:
        return overwrite(activation, x, parameters)
    if parameters:
        return evaluate(activation, "value", x, parameters=parameters)
    result: Tensor = activation(x)
    return result


def gelu(input: Tensor, approximate: str = "none") -> Tensor:
    """Return x·Phi(x), its tanh form, or its sigmoid form (`approximate="sigmoid"`).

    Examples
    --------
    >>> import torch
    >>> gelu(torch.tensor([-1.0, 1.0]), approximate="tanh")
    tensor([-0.1588,  0.8412])
    """
    if approximate not in _GELU:
        known = ", ".join(map(repr, _GELU))
        raise ValueError(f"approximate = {approximate!r}: accepted are {known}")
    result: Tensor = _GELU[approximate](input)
    return result


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """Return max(x, 0)."""
    return _apply("relu", input, inplace)


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """Return min(max(x, 0), 6)."""
    return _apply("relu6", input, inplace)


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """Return x where x > 0, else negative_slope·x."""
    return _apply("leaky_relu", input, inplace, slope=negative_slope)


def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """Return x where x > 0, else weight·x; `weight` is learnt, so torch's own operator does it."""
    return torch.nn.functional.prelu(input, weight)


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """Return x where x > 0, else alpha·(exp(x) - 1)."""
    return _apply("elu", input, inplace, alpha=alpha)


def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """Return x where x > 0, else alpha·(exp(x/alpha) - 1)."""
    return _apply("celu", input, inplace, alpha=alpha)


def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """Return the self-normalising elu."""
    return _apply("selu", input, inplace)


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """Return x·sigmoid(x)."""
    return _apply("silu", input, inplace)


def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """Return x·tanh(softplus(x))."""
    return _apply("mish", input, inplace)


def sigmoid(input: Tensor) -> Tensor:
    """Return 1/(1 + exp(-x))."""
    return _apply("sigmoid", input)


def tanh(input: Tensor) -> Tensor:
    """Return tanh(x)."""
    return _apply("tanh", input)


def softplus(input: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """Return log(1 + exp(beta·x))/beta, without torch's jump to x at `threshold`, which is unused.

    The jump is below the last digit of float32 at 20; in float64 torch is off by up to 2e-9/beta.
    """
    del threshold
    return _apply("softplus", input, beta=beta)


def softsign(input: Tensor) -> Tensor:
    """Return x/(1 + |x|)."""
    return _apply("softsign", input)


def tanhshrink(input: Tensor) -> Tensor:
    """Return x - tanh(x)."""
    return _apply("tanhshrink", input)


def softshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """Return x moved towards 0 by `lambd`, and 0 within."""
    return _apply("softshrink", input, threshold=lambd)


def hardshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """Return x where |x| > lambd, else 0."""
    return _apply("hardshrink", input, threshold=lambd)


def hardtanh(
    input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False
) -> Tensor:
    """Return x between `min_val` and `max_val`."""
    return _apply("hard_tanh", input, inplace, low=min_val, high=max_val)


def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """Return x/6 + 1/2 between 0 and 1."""
    return _apply("hard_sigmoid", input, inplace)


def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """Return x·hardsigmoid(x)."""
    return _apply("hard_swish", input, inplace)


def logsigmoid(input: Tensor) -> Tensor:
    """Return log(sigmoid(x))."""
    return _apply("log_sigmoid", input)


def glu(input: Tensor, dim: int = -1) -> Tensor:
    """Return a·sigmoid(b), a and b the halves of x along `dim`."""
    result: Tensor = _GATED["glu"](input, axis=dim)
    return result


_SPELLINGS = {
    "hardtanh": "hard_tanh",
    "hardsigmoid": "hard_sigmoid",
    "hardswish": "hard_swish",
    "logsigmoid": "log_sigmoid",
}


def __getattr__(name: str) -> Any:
    """Return what has no function above: softgate's other functions, and the twins in `_`."""
    found = _ALL.get(name) or _GATED.get(name)
    if found is not None:
        return found
    base = name.removesuffix("_")
    activation = _ALL.get(_SPELLINGS.get(base, base))
    if base == name or activation is None:
        raise AttributeError(f"softgate.torch.functional has no {name!r}")

    def in_place(x: Tensor, **parameters: float) -> Tensor:
        return overwrite(activation, x, parameters)

    in_place.__name__ = in_place.__qualname__ = name
    in_place.__doc__ = f"Overwrite `x` with {activation.name}(x) and return it."
    globals()[name] = in_place
    return in_place
