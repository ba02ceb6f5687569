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

What is one function of softgate under torch's name is generated: its arguments come from
runtime/names.toml. Functions with more to them are written out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from difflib import get_close_matches
from inspect import Parameter, Signature
from typing import Any

import torch.nn.functional as theirs
from torch import Tensor

from softgate.frameworks.torch import evaluate, trainable_swish
from softgate.frameworks.torch.inplace import overwrite
from softgate.frameworks.torch.proxies import traceable
from softgate.runtime.activation import Activation
from softgate.runtime.lookup import UnknownName, records_of
from softgate.runtime.registry import activations, gated

_ALL, _GATED = activations(), gated()
_GELU = {"none": _ALL["gelu"], "tanh": _ALL["gelu_tanh"], "sigmoid": _ALL["gelu_sigmoid"]}
_NAMES = {record.name: record for record in records_of("torch.nn.functional") if record.function}
_TORCH_NAMES = {record.function: name for name, record in _NAMES.items()}
_VISIBLE = 20.0
"""Threshold of torch's softplus below which the switch to x is visible in float32."""

_GENERATED = {
    "celu": "x where x > 0, else alpha·(exp(x/alpha) - 1); torch's operator if alpha <= 0.",
    "elu": "x where x > 0, else alpha·(exp(x) - 1).",
    "hardshrink": "x where |x| > lambd, else 0.",
    "hardsigmoid": "x/6 + 1/2 between 0 and 1.",
    "hardswish": "x·hardsigmoid(x).",
    "hardtanh": "x clipped to [min_val, max_val]; torch's operator unless `min_val` < `max_val`.",
    "leaky_relu": "x where x > 0, else negative_slope·x.",
    "logsigmoid": "log(sigmoid(x)).",
    "mish": "x·tanh(softplus(x)).",
    "relu": "max(x, 0).",
    "relu6": "min(max(x, 0), 6).",
    "selu": "the self-normalising elu.",
    "sigmoid": "1/(1 + exp(-x)).",
    "silu": "x·sigmoid(x).",
    "softshrink": "x moved towards 0 by `lambd`, and 0 where |x| <= lambd.\n\n"
    "RuntimeError if `lambd` is negative.",
    "softsign": "x/(1 + |x|).",
    "tanh": "tanh(x).",
    "tanhshrink": "x - tanh(x).",
}
"""What each generated function returns, with torch's names of its arguments."""


def _apply(name: str, x: Tensor, /, inplace: bool = False, **parameters: Any) -> Tensor:
    """Return a function of softgate; `softgate.torch.watch` replaces this while it observes."""
    activation = _ALL[name]
    if inplace:
        return overwrite(activation, x, parameters, _TORCH_NAMES.get(name, name))
    for key, value in parameters.items():
        if isinstance(value, Tensor) or value != activation.parameters[key]:
            return evaluate(activation, "value", x, parameters=parameters)
    result: Tensor = activation(x)
    return result


def _function(name: str, documentation: str) -> Callable[..., Tensor]:
    """Return a function with torch's arguments; it overwrites `input` if its name ends with `_`.

    Numbers outside of a parameter's range in softgate are passed to torch's operator.
    """
    base, in_place = name.removesuffix("_"), name.endswith("_")
    record = _NAMES.get(base)
    activation = _ALL[record.function if record and record.function else base]
    defaults, checked = activation.parameters, activation.entry.parameters
    takes: Mapping[str, str] = {key: key for key in defaults}
    operator: Callable[..., Tensor] | None = None
    if record and not record.required and (record.takes or not in_place):
        takes, operator = record.takes, getattr(theirs, base)
    expected = {key: defaults[parameter] for key, parameter in takes.items()}
    if record and "inplace" in record.ignores and not in_place:
        expected["inplace"] = False
    ours, count = tuple(takes.values()), len(takes)

    def accepted(values: Mapping[str, Any]) -> bool:
        for p in checked:
            value = values.get(p.name, p.default)
            if isinstance(value, (float, int)) and not p.accepts(value):
                return False
            if p.exceeds and not value > values.get(p.exceeds, defaults[p.exceeds]):
                return False
        return True

    def function(input: Tensor, *values: Any, **named: Any) -> Tensor:
        if named or len(values) > len(expected):
            values = _in_order(name, expected, values, named)
        overwrites = len(values) > count and values[count]
        if not (in_place or (count and values)):
            return _apply(activation.name, input, overwrites)
        parameters = dict(zip(ours, values, strict=False))
        if operator is not None and not accepted(parameters):
            arguments = dict(zip(expected, values, strict=False))
            if not in_place:
                return operator(input, **arguments)
            return input.copy_(operator(input.clone(), **arguments))
        if in_place:
            return overwrite(activation, input, parameters, base)
        return _apply(activation.name, input, overwrites, **parameters)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = documentation
    kind = Parameter.POSITIONAL_OR_KEYWORD
    arguments = [
        Parameter(key, kind, default=default, annotation=type(default).__name__)
        for key, default in expected.items()
    ]
    tensor = Parameter("input", kind, annotation="Tensor")
    vars(function)["__signature__"] = Signature([tensor, *arguments], return_annotation="Tensor")
    return function


def _in_order(
    name: str, expected: Mapping[str, Any], values: tuple[Any, ...], named: Mapping[str, Any]
) -> tuple[Any, ...]:
    """Return all arguments after `input` in their order, the defaults of those not given."""
    rest = list(expected)[len(values) :]
    if len(values) > len(expected) or not named.keys() <= {*rest}:
        shown = ", ".join((*map(repr, values), *(f"{k}={v!r}" for k, v in named.items())))
        known = ", ".join(("input", *expected))
        raise TypeError(f"{name}(input, {shown}): its arguments are {known}")
    return (*values, *(named.get(key, expected[key]) for key in rest))


globals().update({name: _function(name, f"Return {text}") for name, text in _GENERATED.items()})
_rrelu, _softplus = _function("rrelu", ""), _function("softplus", "")


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
    if training or lower > upper:
        return theirs.rrelu(input, lower, upper, training, inplace)
    return _rrelu(input, lower, upper, inplace)


def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """Return x where x > threshold, else `value`; torch's operator, since nothing is computed."""
    return theirs.threshold(input, threshold, value, inplace)


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


def softplus(input: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """Return log(1 + exp(beta·x))/beta.

    torch returns x where beta·x > threshold. From a threshold of 20 on, the difference is below
    float32's precision (2e-9/beta in float64), and softgate computes the formula for all x.
    With a smaller `threshold`, or a beta that is not positive, torch's operator is called.
    """
    if threshold < _VISIBLE:
        return theirs.softplus(input, beta, threshold)
    return _softplus(input, beta)


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
    activation = _NAMES[base].function if base in _NAMES else base
    if base == name or activation not in _ALL:
        raise AttributeError(_absent(name))
    text = f"Overwrite `input` with {activation}(input) and return it."
    globals()[name] = in_place = traceable(_function(name, text))
    return in_place


def __dir__() -> list[str]:
    in_place = (f"{_TORCH_NAMES.get(name, name)}_" for name in _ALL)
    return sorted({*_FUNCTIONS, *_ALL, *_GATED, *in_place})


def _absent(name: str) -> str:
    """Return the error message for an unknown name, with a suggestion."""
    text = f"softgate.torch.functional has no {name!r}"
    if name.startswith("_"):
        return text
    try:
        record = records_of("torch.nn.functional", name)[0]
    except UnknownName:
        in_place = [f"{known}_" for known in (*_ALL, *_NAMES)]
        near = get_close_matches(name.casefold(), [*_FUNCTIONS, *_ALL, *_GATED, *in_place], 1)
        return f"{text}; did you mean {near[0]!r}?" if near else text
    if record.name != name:
        return f"{text}; did you mean {record.name!r}?"
    return f"{text}: {record.note}; it is {record.path}"
