"""Adapter for Keras' symbolic tensors, which become operations of a model, and its variables.

Tensors of Keras' backend are computed by the adapter of the backend.

A saved model has the name and parameters of a function, never its code. A user's formula is looked
up in its module, which must be imported before a model is loaded: loading a file never imports
modules.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace
from itertools import zip_longest
from typing import Any

from softgate.records.packages import FRAMEWORKS, missing
from softgate.records.packages import check as check_version

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
from softgate.runtime.dispatch import Call, Explanation, Plan
from softgate.runtime.halves import Halves
from softgate.runtime.lookup import UnknownName, lookup
from softgate.runtime.registry import imported, recipe

Config = dict[str, Any]

# A function may also be a layer's activation: a file refers to it by name.
keras.saving.register_keras_serializable("softgate", "Function")(Activation)

ACCEPTED = ("float16", "bfloat16", "float32", "float64")


@keras.saving.register_keras_serializable(package="softgate")
class KerasOperation(keras.Operation):
    """A quantity of a function as a node of a functional model, saved by its name."""

    def __init__(
        self,
        activation: Activation,
        quantity: str = "value",
        arithmetic: str | None = None,
        axis: int | None = None,
        *,
        name: str | None = None,
    ) -> None:
        super().__init__(name=name)
        self.activation, self.quantity, self.arithmetic = activation, quantity, arithmetic
        self.axis = axis

    def call(self, *operands: Any) -> Any:
        """Return the quantity at each element of tensors of the backend."""
        call = Call(
            self.activation, self.quantity, operands, arithmetic=self.arithmetic, axis=self.axis
        )
        return call.method(*operands, **call.keywords)

    def compute_output_spec(self, *operands: Any) -> Any:
        """Return the shape and dtype of each result."""
        function, quantity = self.activation, self.quantity
        shapes = [tuple(getattr(x, "shape", ())) for x in operands]
        (dtype, *_) = (x.dtype for x in operands if isinstance(x, keras.KerasTensor))
        results = function.entry.results(quantity)
        whole = shapes[0]
        if Call(function, quantity, operands).splits:
            shapes[0] = Halves.of(whole, self.axis, function.name).shape
            if quantity in ("slope", "backward"):  # joined
                return keras.KerasTensor(whole, dtype)
        tensors = [keras.KerasTensor(broadcast(*shapes), dtype) for _ in range(results)]
        return tensors[0] if results == 1 else tuple(tensors)

    def get_config(self) -> Config:
        """Return the function's name and parameters, the quantity and the options."""
        chosen = {"quantity": self.quantity, "arithmetic": self.arithmetic, "axis": self.axis}
        return super().get_config() | {"activation": config_of(self.activation)} | chosen

    @classmethod
    def from_config(cls, config: Config) -> KerasOperation:
        """Return the operation that `get_config` describes."""
        return cls(**config | {"activation": function_of(config["activation"])})


def plan(call: Call) -> Plan:
    """Return how a call with symbolic tensors or variables is computed."""
    if call.out is not None:
        raise TypeError("out= is for arrays, not for tensors")
    call.check_axis()
    function, quantity = call.function.bind(gate=call.gate, **call.parameters), call.quantity
    operands = _operands(function.name, call.operands)
    if quantity == "backward" and function.nin == 1:
        x, grad = operands
        slope = plan(call._replace(quantity="slope", operands=(x,)))
        return Plan(
            lambda: slope.run() * grad, lambda: replace(slope.describe(), quantity=quantity)
        )
    symbolic = [x for x in operands if isinstance(x, keras.KerasTensor)]
    if not symbolic:
        keywords = {} if call.axis is None else {"axis": call.axis}
        return function.plan(quantity, operands, None, call.arithmetic, keywords)
    shape, dtype = tuple(symbolic[0].shape), symbolic[0].dtype
    how = f"an operation of a Keras model, run by {keras.backend.backend()}"
    memory = "memory managed by the backend"
    explanation = Explanation(function.name, quantity, shape, dtype, how, memory, 1)
    operation = KerasOperation(function, quantity, call.arithmetic, call.axis)
    operation.compute_output_spec(*operands)  # raises what Keras would wrap
    return Plan(lambda: operation(*operands), lambda: explanation)


def _operands(name: str, operands: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return operands of one dtype, without variables; raise if there is no form for a dtype."""
    tensors = [x for x in operands if isinstance(x, keras.KerasTensor | keras.Variable)]
    for x in tensors:
        check(name, x)
    dtype = keras.backend.result_type(*(x.dtype for x in tensors))

    def converted(x: Any) -> Any:
        if isinstance(x, keras.Variable):
            x = x.value
        if isinstance(x, int | float) or getattr(x, "dtype", None) == dtype:
            return x
        return keras.ops.cast(x, dtype)

    return tuple(map(converted, operands))


def broadcast(*shapes: tuple[int | None, ...]) -> tuple[int | None, ...]:
    """Return the shape to which shapes broadcast; None is an unknown length.

    Examples
    --------
    >>> broadcast((None, 1, 4), (3, 1))
    (None, 3, 4)
    """
    lengths = []
    for axis in zip_longest(*(shape[::-1] for shape in shapes), fillvalue=1):
        known = {length for length in axis if length not in (1, None)}
        if len(known) > 1:
            raise ValueError(f"the shapes {' and '.join(map(str, shapes))} do not broadcast")
        lengths.append(known.pop() if known else None if None in axis else 1)
    return tuple(lengths[::-1])


def check(name: str, x: Any) -> None:
    """Raise if there is no form for a tensor's dtype."""
    dtype = keras.backend.standardize_dtype(x.dtype)
    if dtype not in ACCEPTED:
        known = ", ".join(ACCEPTED[:-1])
        raise TypeError(f"{name} of a {dtype} tensor: expected {known} or {ACCEPTED[-1]}")


def config_of(function: Activation) -> Config:
    """Return the configuration that names a function in a file; raise if it cannot be restored.

    Examples
    --------
    >>> import softgate as sg
    >>> config_of(sg.elu.bind(alpha=0.5))
    {'function': 'elu', 'parameters': {'alpha': 0.5}}
    """
    config: Config = {"function": function.name, "parameters": dict(function.parameters)}
    recipe(function)  # raises if the name refers to another function
    if function.entry.gating is not None:
        config |= {"gate": function.position(None)}
    if function.entry.user is not None:
        config |= {"function": function.__qualname__, "module": function.__module__}
    return config


def function_of(config: Mapping[str, Any]) -> Activation:
    """Return the function that a configuration refers to."""
    name, parameters = config["function"], dict(config.get("parameters", {}))
    module = config.get("module")
    if module is not None:
        return _formula(module, name, parameters)
    gate = {"gate": config["gate"]} if "gate" in config else {}
    try:
        return lookup(name, parameters | gate)
    except UnknownName as error:
        raise ValueError(
            f"the file names the function {name!r}, which softgate lacks: {error}"
        ) from None


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
