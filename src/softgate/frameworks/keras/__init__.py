"""Keras' own tensors: a symbolic one becomes an operation of the model, a variable its value.

Tensors of Keras' backend have adapters of their own, which do the computing.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from ..versions import FRAMEWORKS, missing
from ..versions import check as check_version

try:
    import keras
except ModuleNotFoundError as error:
    if error.name in FRAMEWORKS and error.name != "keras":
        raise ImportError(
            f"softgate.keras: Keras' backend is {error.name}, which is not installed: pip install "
            f'"softgate[keras,{error.name}]", or choose another one with KERAS_BACKEND',
            name=error.name,
        ) from error
    raise missing("keras", error) from error
else:
    check_version("keras", keras.__version__)
    BACKEND = keras.backend.backend()
    if BACKEND in FRAMEWORKS:
        check_version(BACKEND, sys.modules[BACKEND].__version__)

from softgate.runtime.activation import Activation
from softgate.runtime.gated import Gated

from ..gated import Call, Operators
from .recipes import Config, config_of, function_of

# The functions themselves may be a layer's activation, too: a file names them, as softgate.gelu.
keras.saving.register_keras_serializable("softgate", "Function")(Activation)
keras.saving.register_keras_serializable("softgate", "GatedFunction")(Gated)

NONE: Mapping[str, float] = {}
OPERATORS = Operators(
    split=lambda x, axis: keras.ops.split(x, 2, axis),
    join=keras.ops.concatenate,
    zeros_like=keras.ops.zeros_like,
    spread=lambda x, like: keras.ops.broadcast_to(x, keras.ops.shape(like)),
)
ACCEPTED = ("float16", "bfloat16", "float32", "float64")


@keras.saving.register_keras_serializable(package="softgate")
class Evaluate(keras.Operation):
    """A quantity of an activation as a node of a functional model, saved by its name."""

    def __init__(
        self,
        activation: Activation,
        quantity: str = "value",
        arithmetic: str | None = None,
        *,
        name: str | None = None,
    ) -> None:
        super().__init__(name=name)
        self.activation, self.quantity, self.arithmetic = activation, quantity, arithmetic

    def call(self, x: Any) -> Any:
        """Return the quantity at each element of a tensor of the backend."""
        function = self.activation
        method = function if self.quantity == "value" else getattr(function, self.quantity)
        return method(x, arithmetic=self.arithmetic)

    def compute_output_spec(self, x: Any) -> Any:
        """Return the shape and format, which are the input's."""
        return keras.KerasTensor(x.shape, x.dtype)

    def get_config(self) -> Config:
        """Return the function's name and parameters, and what of it is computed."""
        chosen = {"quantity": self.quantity, "arithmetic": self.arithmetic}
        return super().get_config() | {"activation": config_of(self.activation)} | chosen

    @classmethod
    def from_config(cls, config: Config) -> Evaluate:
        """Return the operation that `get_config` describes."""
        return cls(**config | {"activation": function_of(config["activation"])})


def evaluate(
    activation: Activation,
    quantity: str,
    x: Any,
    out: object = None,
    arithmetic: str | None = None,
    parameters: Mapping[str, float] = NONE,
) -> Any:
    """Return a quantity at each element of a symbolic tensor or of a variable."""
    _no_out(out)
    check(activation.name, x)
    operation = Evaluate(activation.bind(**parameters), quantity, arithmetic)
    return operation(x) if isinstance(x, keras.KerasTensor) else operation.call(x.value)


def backward(
    activation: Activation,
    x: Any,
    grad: Any,
    out: object = None,
    arithmetic: str | None = None,
    parameters: Mapping[str, float] = NONE,
) -> Any:
    """Return slope(x)·grad."""
    return evaluate(activation, "slope", x, out, arithmetic, parameters) * grad


def gated(
    function: Gated,
    operands: tuple[Any, ...],
    axis: int | None,
    gate_first: bool,
    out: object,
    arithmetic: str | None,
    parameters: Mapping[str, float],
) -> Any:
    """Return act(gate)·other of two tensors, or of the halves of one, gradients included."""
    _no_out(out)
    call = Call(function, operands, axis, gate_first, arithmetic, parameters)
    return call.value(OPERATORS)


def gated_quantity(
    function: Gated,
    quantity: str,
    operands: tuple[Any, ...],
    axis: int | None,
    gate_first: bool,
    out: object,
    arithmetic: str | None,
    parameters: Mapping[str, float],
) -> Any:
    """Return slope, curvature or backward as `Gated` has them, themselves differentiable."""
    _no_out(out)
    call = Call(function, operands, axis, gate_first, arithmetic, parameters)
    return call.quantity(quantity, OPERATORS)


def describe_gated(
    function: Gated,
    quantity: str,
    operands: tuple[Any, ...],
    axis: int | None,
    gate_first: bool,
    arithmetic: str | None,
    parameters: Mapping[str, float],
) -> tuple[tuple[int, ...], str, str, str, int]:
    """Return shape, dtype, what computes, what is done with memory, and the threads."""
    call = Call(function, operands, axis, gate_first, arithmetic, parameters)
    gate, _ = call.ordered(OPERATORS)
    found = describe(function.act, quantity, gate, arithmetic, parameters)
    _, dtype, how, memory, threads = found
    shape = operands[0].shape if len(operands) == 1 else gate.shape
    return tuple(shape), dtype, f"{how}; times the other in an operator", memory, threads


def describe(
    activation: Activation,
    quantity: str,
    x: Any,
    arithmetic: str | None,
    parameters: Mapping[str, float],
) -> tuple[tuple[int, ...], str, str, str, int]:
    """Return shape, dtype, what computes, what is done with memory, and the threads."""
    check(activation.name, x)
    activation.check_parameters(parameters)
    if isinstance(x, keras.KerasTensor):
        how = f"an operation of a Keras model, run by {keras.backend.backend()}"
        return tuple(x.shape), x.dtype, how, "as the backend has it", 1
    from softgate.runtime.explain import explain

    found = explain(x.value, activation, quantity=quantity, arithmetic=arithmetic, **parameters)
    return found.shape, found.dtype, found.computed_by, found.memory, found.threads


def check(name: str, x: Any) -> None:
    """Raise where there is no form for a tensor's dtype."""
    dtype = keras.backend.standardize_dtype(x.dtype)
    if dtype not in ACCEPTED:
        known = ", ".join(ACCEPTED[:-1])
        raise TypeError(f"{name} of a {dtype} tensor: accepted are {known} and {ACCEPTED[-1]}")


def _no_out(out: object) -> None:
    if out is not None:
        raise TypeError("out= is for arrays, not for tensors")
