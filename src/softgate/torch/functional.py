"""torch.nn.functional's activations, with its names and arguments, on softgate's kernels.

    import softgate.torch.functional as F

is a drop-in for the activations of `torch.nn.functional`; functions that torch lacks have
softgate's names. softmax and similar functions of a whole axis are not included. torch's operator
is used where there is no kernel: `prelu` (trainable weight), `threshold` (computes nothing),
`rrelu` in training (random), and numbers outside of a parameter's range in softgate (a negative
alpha of `celu`, an infinite `max_val` of `hardtanh`), so that torch's results and errors remain.

With `inplace=True`, and by a name with `_`, the input is overwritten, and the gradient has the same
bits as without. While autograd records, a copy of the input is therefore saved, as large as the
input. No copy is saved without gradients, and none by `relu`, `relu6`, `leaky_relu`, `rrelu` and
`hardtanh`, whose output gives the same gradient.

Integer and boolean tensors are computed in torch's default dtype, as by torch.sigmoid;
`relu`, `relu6` and `hardtanh` of integers return integers, as torch's do.

`torch.fx` writes each function into its graph as one call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from inspect import Parameter, Signature
from typing import Any

import torch.nn.functional as theirs
from torch import Tensor

from softgate.frameworks.torch import evaluate, trainable_swish
from softgate.frameworks.torch.inplace import overwrite
from softgate.frameworks.torch.proxies import traceable
from softgate.runtime.activation import Activation
from softgate.runtime.names import UnknownName, names
from softgate.runtime.registry import activations, gated

_ALL, _GATED = activations(), gated()
_GELU = {"none": _ALL["gelu"], "tanh": _ALL["gelu_tanh"], "sigmoid": _ALL["gelu_sigmoid"]}
_DEFAULTS = {name: activation.parameters for name, activation in _ALL.items()}
_RANGES = {name: {p.name: p for p in function.entry.parameters} for name, function in _ALL.items()}
_VISIBLE = 20.0
"""Threshold of torch's softplus below which the switch to x is visible in float32."""


def _apply(name: str, x: Tensor, /, inplace: bool = False, **parameters: float) -> Tensor:
    activation = _ALL[name]
    tensors = any(isinstance(value, Tensor) for value in parameters.values())
    if not tensors and parameters == _DEFAULTS[name]:
        parameters = {}
    if inplace:
        return overwrite(activation, x, parameters, _TORCH_NAMES.get(name, name))
    if parameters:
        return evaluate(activation, "value", x, parameters=parameters)
    result: Tensor = activation(x)
    return result


def _outside(name: str, **parameters: Any) -> bool:
    """Return whether a parameter is a number that softgate's function does not accept."""
    numbers = {key: v for key, v in parameters.items() if isinstance(v, float | int)}
    return not all(_RANGES[name][key].accepts(value) for key, value in numbers.items())


def gelu(input: Tensor, approximate: str = "none") -> Tensor:
    """Return x·Phi(x), its tanh form, or its sigmoid form (`approximate="sigmoid"`).

    Examples
    --------
    >>> import torch
    >>> gelu(torch.tensor([-1.0, 1.0]), approximate="tanh")
    tensor([-0.1588,  0.8412])
    """
    result: Tensor = _gelu_form(approximate)(input)
    return result


def _gelu_form(approximate: str) -> Activation:
    """Return the form of gelu, or raise for an unknown one."""
    if approximate not in _GELU:
        known = ", ".join(map(repr, _GELU))
        raise ValueError(f"approximate = {approximate!r}: expected one of {known}")
    return _GELU[approximate]


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """Return max(x, 0)."""
    return _apply("relu", input, inplace)


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """Return min(max(x, 0), 6)."""
    return _apply("relu6", input, inplace)


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """Return x where x > 0, else negative_slope·x."""
    if _outside("leaky_relu", slope=negative_slope):
        return theirs.leaky_relu(input, negative_slope, inplace)
    return _apply("leaky_relu", input, inplace, slope=negative_slope)


def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """Return x where x > 0, else weight·x; torch's operator, since `weight` is trainable.

    `weight` is one number or one for each channel, converted to the dtype of the input.
    """
    return theirs.prelu(input, weight.to(input.dtype))


def rrelu(
    input: Tensor,
    lower: float = 1 / 8,
    upper: float = 1 / 3,
    training: bool = False,
    inplace: bool = False,
) -> Tensor:
    """Return x where x > 0, else a·x: in training a is random in [lower, upper], else the mean.

    In training it is torch's operator, with torch's random numbers. RuntimeError unless
    lower <= upper.
    """
    if training or lower > upper or _outside("rrelu", lower=lower, upper=upper):
        return theirs.rrelu(input, lower, upper, training, inplace)
    return _apply("rrelu", input, inplace, lower=lower, upper=upper)


def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """Return x where x > threshold, else `value`; torch's operator, since nothing is computed."""
    return theirs.threshold(input, threshold, value, inplace)


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """Return x where x > 0, else alpha·(exp(x) - 1)."""
    if _outside("elu", alpha=alpha):
        return theirs.elu(input, alpha, inplace)
    return _apply("elu", input, inplace, alpha=alpha)


def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """Return x where x > 0, else alpha·(exp(x/alpha) - 1); torch's operator if alpha <= 0."""
    if _outside("celu", alpha=alpha):
        return theirs.celu(input, alpha, inplace)
    return _apply("celu", input, inplace, alpha=alpha)


def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """Return the self-normalising elu."""
    return _apply("selu", input, inplace)


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """Return x·sigmoid(x)."""
    return _apply("silu", input, inplace)


def swish(input: Tensor, beta: float | Tensor = 1.0) -> Tensor:
    """Return x·sigmoid(beta·x); `beta` may be a scalar tensor, which has a gradient, too.

    Examples
    --------
    >>> import torch
    >>> swish(torch.tensor([-torch.inf, 1.0]), torch.tensor(2.0))
    tensor([-0.0000,  0.8808])
    """
    if isinstance(beta, Tensor):
        if beta.dim():
            raise ValueError(f"beta has shape {tuple(beta.shape)}: expected a single number, ()")
        return trainable_swish.swish(input, beta)
    return _apply("silu", input, beta=beta)


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
    """Return log(1 + exp(beta·x))/beta.

    torch returns x where beta·x > threshold. From a threshold of 20 on, the difference is below
    float32's precision (2e-9/beta in float64), and softgate computes the formula for all x.
    With a smaller `threshold`, or a beta that is not positive, torch's operator is called.
    """
    if threshold < _VISIBLE or _outside("softplus", beta=beta):
        return theirs.softplus(input, beta, threshold)
    return _apply("softplus", input, beta=beta)


def softsign(input: Tensor) -> Tensor:
    """Return x/(1 + |x|)."""
    return _apply("softsign", input)


def tanhshrink(input: Tensor) -> Tensor:
    """Return x - tanh(x)."""
    return _apply("tanhshrink", input)


def softshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """Return x moved towards 0 by `lambd`, and 0 where |x| <= lambd.

    RuntimeError if `lambd` is negative.
    """
    if _outside("softshrink", threshold=lambd):
        return theirs.softshrink(input, lambd)
    return _apply("softshrink", input, threshold=lambd)


def hardshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """Return x where |x| > lambd, else 0."""
    if _outside("hardshrink", threshold=lambd):
        return theirs.hardshrink(input, lambd)
    return _apply("hardshrink", input, threshold=lambd)


def hardtanh(
    input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False
) -> Tensor:
    """Return x clipped to [min_val, max_val]; torch's operator unless `min_val` < `max_val`."""
    if not min_val < max_val or _outside("hard_tanh", low=min_val, high=max_val):
        return theirs.hardtanh(input, min_val, max_val, inplace)
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


def clamped_swiglu(gate: Tensor, up: Tensor, limit: float = 7.0, alpha: float = 1.702) -> Tensor:
    """Return gpt-oss' g·sigmoid(alpha·g)·(u + 1), g and u clamped: g <= limit, |u| <= limit.

    gpt-oss interleaves both in one tensor `x`: pass `x[..., ::2]` and `x[..., 1::2]`. With the
    slope of torch.clamp, 1 at the limits.

    Examples
    --------
    >>> import torch
    >>> clamped_swiglu(torch.tensor([-1.0, 9.0]), torch.tensor([0.5, 9.0]))
    tensor([-0.2313, 55.9996])
    """
    result: Tensor = _GATED["clamped_swiglu"](gate, up, limit=limit, alpha=alpha)
    return result


_SPELLINGS = {
    "hardtanh": "hard_tanh",
    "hardsigmoid": "hard_sigmoid",
    "hardswish": "hard_swish",
    "logsigmoid": "log_sigmoid",
}
_TORCH_NAMES = {name: spelling for spelling, name in _SPELLINGS.items()}
_ARGUMENTS = {
    "leaky_relu": ("negative_slope",),
    "elu": ("alpha",),
    "celu": ("alpha",),
    "softplus": ("beta",),
    "hardshrink": ("lambd",),
    "softshrink": ("lambd",),
}
"""torch's names of the parameters, in order."""


def hardtanh_(input: Tensor, min_val: float = -1.0, max_val: float = 1.0) -> Tensor:
    """Overwrite `input` with its `hardtanh` and return it."""
    return hardtanh(input, min_val, max_val, inplace=True)


def rrelu_(
    input: Tensor, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False
) -> Tensor:
    """Overwrite `input` with its `rrelu` and return it."""
    return rrelu(input, lower, upper, training, inplace=True)


def threshold_(input: Tensor, threshold: float, value: float) -> Tensor:
    """Overwrite `input` with its `threshold` and return it."""
    return theirs.threshold(input, threshold, value, inplace=True)


_FUNCTIONS = [
    name
    for name, value in vars().items()
    if getattr(value, "__module__", "") == __name__ and not name.startswith("_")
]
for _name in _FUNCTIONS:
    globals()[_name] = traceable(globals()[_name])


def __getattr__(name: str) -> Any:
    """Return softgate's other functions, and the in-place variants with a trailing `_`."""
    function = _ALL.get(name) or _GATED.get(name)
    if function is not None:
        return function
    base = name.removesuffix("_")
    if base == name or _SPELLINGS.get(base, base) not in _ALL:
        raise AttributeError(_absent(name))
    globals()[name] = in_place = _in_place(name, base)
    return in_place


def _in_place(name: str, base: str) -> Callable[..., Tensor]:
    """Return the function that overwrites its argument, with torch's arguments."""
    activation = _ALL[_SPELLINGS.get(base, base)]
    parameter_names = tuple(activation.parameters)
    called = _ARGUMENTS.get(base, parameter_names)

    def in_place(input: Tensor, *values: float, **named: float) -> Tensor:
        if len(values) > len(called) or not set(called[len(values) :]).issuperset(named):
            shown = ", ".join((*map(repr, values), *(f"{k}={v!r}" for k, v in named.items())))
            known = ", ".join(("input", *called))
            raise TypeError(f"{name}(input, {shown}): its arguments are {known}")
        arguments = dict(zip(called, values, strict=False)) | named
        parameters = {parameter_names[called.index(key)]: value for key, value in arguments.items()}
        if base in _ARGUMENTS and _outside(activation.name, **parameters):
            return input.copy_(getattr(theirs, base)(input.clone(), **arguments))
        return overwrite(activation, input, parameters, base)

    in_place.__name__ = in_place.__qualname__ = name
    vars(in_place)["__signature__"] = _signature(called, activation.parameters)
    in_place.__doc__ = f"Overwrite `input` with {activation.name}(input) and return it."
    return traceable(in_place)


def _signature(called: Sequence[str], parameters: Mapping[str, float]) -> Signature:
    """Return the signature of an in-place function: the tensor, then the parameters."""
    kind = Parameter.POSITIONAL_OR_KEYWORD
    arguments = [
        Parameter(name, kind, default=default, annotation="float")
        for name, default in zip(called, parameters.values(), strict=True)
    ]
    tensor = Parameter("input", kind, annotation="Tensor")
    return Signature([tensor, *arguments], return_annotation="Tensor")


def __dir__() -> list[str]:
    in_place = (f"{_TORCH_NAMES.get(name, name)}_" for name in _ALL)
    return sorted({*_FUNCTIONS, *_ALL, *_GATED, *in_place})


def _absent(name: str) -> str:
    """Return the error message for an unknown name, with a suggestion."""
    text = f"softgate.torch.functional has no {name!r}"
    if name.startswith("_"):
        return text
    try:
        record = names("torch.nn.functional", name=name)[0]
    except UnknownName:
        in_place = [f"{known}_" for known in (*_ALL, *_SPELLINGS)]
        near = get_close_matches(name.casefold(), [*_FUNCTIONS, *_ALL, *_GATED, *in_place], 1)
        return f"{text}; did you mean {near[0]!r}?" if near else text
    if record.name != name:
        return f"{text}; did you mean {record.name!r}?"
    return f"{text}: {record.note}; it is {record.path}"
