"""Adapter for Keras' symbolic tensors, which become operations of a model, and its variables.

Tensors of Keras' backend are computed by the adapter of the backend.
"""

from __future__ import annotations

import sys
from typing import Any, cast

from softgate.runtime.packages import FRAMEWORKS, missing
from softgate.runtime.packages import check as check_version

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
from softgate.runtime.dispatch import Call, Explanation, adapter_for
from softgate.runtime.gated import Gated

from ..gated import Operators, compute_gated, explain_composed, refuse_out
from .recipes import Config, config_of, function_of

# A function may also be a layer's activation: a file refers to it by name.
keras.saving.register_keras_serializable("softgate", "Function")(Activation)
keras.saving.register_keras_serializable("softgate", "GatedFunction")(Gated)

OPERATORS = Operators(
    split=lambda x, axis: keras.ops.split(x, 2, axis),
    join=keras.ops.concatenate,
    zeros_like=keras.ops.zeros_like,
    broadcast_like=lambda x, like: keras.ops.broadcast_to(x, keras.ops.shape(like)),
)
ACCEPTED = ("float16", "bfloat16", "float32", "float64")


@keras.saving.register_keras_serializable(package="softgate")
class KerasOperation(keras.Operation):
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
        """Return the input's shape and dtype."""
        return keras.KerasTensor(x.shape, x.dtype)

    def get_config(self) -> Config:
        """Return the function's name and parameters, and the quantity."""
        chosen = {"quantity": self.quantity, "arithmetic": self.arithmetic}
        return super().get_config() | {"activation": config_of(self.activation)} | chosen

    @classmethod
    def from_config(cls, config: Config) -> KerasOperation:
        """Return the operation that `get_config` describes."""
        return cls(**config | {"activation": function_of(config["activation"])})


def compute(call: Call) -> Any:
    """Return the results of a call with symbolic tensors or variables, differentiable."""
    function, x = call.function, call.operands[0]
    refuse_out(call)
    if isinstance(function, Gated):
        return compute_gated(call, OPERATORS)
    if call.quantity == "backward":
        return compute(call._replace(quantity="slope", operands=(x,))) * call.operands[1]
    check(function.name, x)
    activation = cast(Activation, function).bind(**call.parameters)
    operation = KerasOperation(activation, call.quantity, call.arithmetic)
    return operation(x) if isinstance(x, keras.KerasTensor) else operation.call(x.value)


def explain(call: Call) -> Explanation:
    """Return how a call is computed."""
    function, x = call.function, call.operands[0]
    if isinstance(function, Gated):
        return explain_composed(call, OPERATORS, explain)
    check(function.name, x)
    function.check_parameters(call.parameters)
    if isinstance(x, keras.KerasTensor):
        how = f"an operation of a Keras model, run by {keras.backend.backend()}"
        memory = "memory managed by the backend"
        return Explanation(function.name, call.quantity, tuple(x.shape), x.dtype, how, memory, 1)
    adapter = adapter_for((x.value,))
    assert adapter is not None  # a variable holds a tensor of Keras' backend
    return adapter.explain(call._replace(operands=(x.value,)))


def check(name: str, x: Any) -> None:
    """Raise if there is no form for a tensor's dtype."""
    dtype = keras.backend.standardize_dtype(x.dtype)
    if dtype not in ACCEPTED:
        known = ", ".join(ACCEPTED[:-1])
        raise TypeError(f"{name} of a {dtype} tensor: expected {known} or {ACCEPTED[-1]}")
