"""Adapter for Keras' symbolic tensors, which become operations of a model, and its variables.

Tensors of Keras' backend are computed by the adapter of the backend.

A saved model has the name and parameters of a function, never its code. A user's formula is looked
up in its module, which must be imported before a model is loaded: loading a file never imports
modules.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
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
from softgate.runtime.registry import activations, gated, imported, recipe

from .gated import Operators, compute_gated, explain_composed, refuse_out

Config = dict[str, Any]

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


def config_of(function: Activation | Gated) -> Config:
    """Return the configuration that names a function in a file; raise if it cannot be restored.

    Examples
    --------
    >>> import softgate as sg
    >>> config_of(sg.elu.bind(alpha=0.5))
    {'function': 'elu', 'parameters': {'alpha': 0.5}}
    """
    config: Config = {"function": function.name, "parameters": dict(function.parameters)}
    if isinstance(function, Gated):
        return config | {"gate": function.entry.position}
    recipe(function)  # raises if the name refers to another function
    if function.entry.user is not None:
        config |= {"function": function.__qualname__, "module": function.__module__}
    return config


def function_of(config: Mapping[str, Any]) -> Activation | Gated:
    """Return the function that a configuration refers to."""
    name, parameters = config["function"], dict(config.get("parameters", {}))
    module = config.get("module")
    if module is not None:
        return _formula(module, name, parameters)
    if "gate" in config:
        return _known(name, gated(), "gated function").bind(gate=config["gate"], **parameters)
    return _known(name, activations(), "activation").bind(**parameters)


def _known(name: str, functions: Mapping[str, Any], what: str) -> Any:
    if name not in functions:
        known = ", ".join(functions)
        raise ValueError(
            f"the file names the {what} {name!r}, which softgate lacks: it has {known}"
        )
    return functions[name]


def _formula(module: str, qualname: str, parameters: Mapping[str, float]) -> Activation:
    if module not in sys.modules:
        raise ValueError(
            f"the file names the formula {qualname} of the module {module}, which is not loaded: "
            f"`import {module}` first"
        )
    try:
        return imported(module, qualname, tuple(parameters.items()))
    except AttributeError:
        raise ValueError(
            f"the file names the formula {qualname} of the module {module}, which has none: "
            "define it there as it was when the model was saved"
        ) from None
