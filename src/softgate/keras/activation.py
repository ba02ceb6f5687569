"""Activations as objects for Keras layers, serialised by name.

There is one object per function: `get("gelu") is gelu`, also after a model was saved and loaded.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import keras

from softgate.frameworks.block_arguments import activation_of_block, function_of_block, named_gate
from softgate.frameworks.keras import Config, config_of, function_of
from softgate.runtime.activation import Activation as Function
from softgate.runtime.lookup import lookup

NAME_SOURCES = ("keras", "tensorflow", "jax", "torch", "huggingface")
"""Frameworks whose names take precedence, in this order, after softgate's."""


class _Named:
    """A function of softgate that Keras can serialise."""

    def __init__(self, function: Function) -> None:
        self.__name__ = self.__qualname__ = function.name
        self.__doc__ = function.__doc__
        self._function = function

    def get_config(self) -> Config:
        """Return the name and the parameters."""
        return config_of(self._function)

    @classmethod
    def from_config(cls, config: Config) -> Any:
        """Return the object that `get_config` describes; always the same object."""
        return _wrapped(function_of(config))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Named) and self._function is other._function

    def __hash__(self) -> int:
        return hash(self._function)

    def __repr__(self) -> str:
        values = "".join(f", {n}={v:g}" for n, v in self._function.parameters.items())
        return f"softgate.keras.get({self.__name__!r}{values})"


@keras.saving.register_keras_serializable(package="softgate")
class Activation(_Named):
    """An activation for `keras.layers`: called with a tensor, saved by its name.

    Every activation is available by its name, `softgate.keras.gelu`; with parameters it is
    `softgate.keras.leaky_relu.bind(slope=0.2)` or `softgate.keras.get("leaky_relu", slope=0.2)`.

    Parameters
    ----------
    activation : str or softgate.Activation
        The function, built-in or defined with `@softgate.activation`.
    **parameters : float
        Parameters of the formula.

    Examples
    --------
    >>> import softgate.keras
    >>> softgate.keras.elu.bind(alpha=0.5).get_config()
    {'function': 'elu', 'parameters': {'alpha': 0.5}}
    """

    def __init__(self, activation: str | Function, **parameters: float) -> None:
        self.activation = activation_of_block(activation, NAME_SOURCES, **parameters)
        super().__init__(self.activation)

    def bind(self, **parameters: float) -> Activation:
        """Return the same activation with other parameters."""
        bound: Activation = _wrapped(self.activation.bind(**parameters))
        return bound

    def __call__(self, x: Any) -> Any:
        """Return the value at each element of a tensor, symbolic or not."""
        return self.activation(as_tensor(x))


@keras.saving.register_keras_serializable(package="softgate")
class GatedActivation(_Named):
    """A gated function of one tensor cut in two, or of two tensors.

    Do not pass it as `activation=` of a layer: Keras assumes that activations keep the shape, so
    `Dense(8, activation=softgate.keras.swiglu)` is built for 8 features and returns 4, without an
    error. Call it on a tensor, in a functional model or in a layer's `call`, or use
    `GatedFeedForward`.

    Parameters
    ----------
    function : str or softgate.Activation
        The gated function.
    gate : {"first", "second"}, optional
        Which half is the gate.
    **parameters : float
        Parameters of the gate's activation.

    Examples
    --------
    >>> import softgate.keras
    >>> softgate.keras.get("swiglu", beta=2.0).get_config()
    {'function': 'swiglu', 'parameters': {'beta': 2.0}, 'gate': 'first'}
    """

    def __init__(
        self, function: str | Function, *, gate: str | None = None, **parameters: float
    ) -> None:
        if isinstance(function, str):
            function = named_gate(function, NAME_SOURCES)
        self.function = function.bind(gate=gate, **parameters)
        super().__init__(self.function)

    def bind(self, *, gate: Any = None, **parameters: float) -> GatedActivation:
        """Return the same function with another gate or other parameters."""
        bound: GatedActivation = _wrapped(self.function.bind(gate=gate, **parameters))
        return bound

    def __call__(self, x: Any, other: Any = None, /, *, axis: int | None = None) -> Any:
        """Return act(gate)·other of two tensors, or of the halves of `x` along `axis`."""
        if other is None:
            return self.function(as_tensor(x), axis=axis)
        return self.function(as_tensor(x), as_tensor(other), axis=axis)


def get(
    name: str | Function | Activation | GatedActivation,
    source: str | None = None,
    **parameters: float,
) -> Activation | GatedActivation:
    """Return an activation for Keras by any name that a framework has for it.

    softgate's names take precedence, then those of Keras, then the others. Where softgate and Keras
    differ (leaky_relu has slope 0.01 in softgate and 0.2 in Keras), give the parameters or the
    source. Keras' parameter names are accepted, too: `negative_slope=0.3`.

    Parameters
    ----------
    name : str, or a function of softgate
        Such as "gelu_new", "quick_gelu", "leaky_relu", "swiglu", or a function.
    source : str, optional
        The framework that the name belongs to, such as "keras", whose parameters are then accepted.
    **parameters : float
        Parameters of the formula.

    Raises
    ------
    ValueError
        If the name is unknown (the message suggests the nearest), or if it means different
        functions in softgate and Keras (the message lists both).

    Examples
    --------
    >>> get("gelu_new")
    softgate.keras.get('gelu_tanh')
    >>> get("leaky_relu", source="keras")
    softgate.keras.get('leaky_relu', slope=0.2)
    """
    function: Any = name
    if isinstance(function, Activation | GatedActivation):
        return function.bind(**parameters)
    if source is not None:
        if not isinstance(name, str):
            raise TypeError(f"source = {source!r} needs a name as a string: name = {name!r}")
        return _wrapped(lookup(name, parameters, source=source))
    if isinstance(function, Function):
        return _wrapped(function.bind(**parameters))
    return _wrapped(function_of_block(function, NAME_SOURCES, **parameters))


@lru_cache(maxsize=256)
def _wrapped(function: Function) -> Any:
    return Activation(function) if function.nin == 1 else GatedActivation(function)


def as_tensor(x: Any) -> Any:
    """Return a floating-point tensor of the backend; integers become `keras.config.floatx()`."""
    if not isinstance(x, keras.KerasTensor):
        x = keras.ops.convert_to_tensor(x)
    dtype = keras.backend.standardize_dtype(x.dtype)
    return x if "float" in dtype else keras.ops.cast(x, keras.config.floatx())
