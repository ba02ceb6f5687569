"""Activations as objects for Keras layers, serialised by name.

There is one object per function: `get("gelu") is gelu`, also after a model was saved and loaded.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import keras

from softgate.frameworks.block_arguments import function_of_block
from softgate.frameworks.keras import Config, config_of, function_of
from softgate.runtime.activation import Activation as Function
from softgate.runtime.lookup import lookup

NAME_SOURCES = ("keras", "tensorflow", "jax", "torch", "huggingface")
"""Frameworks whose names take precedence, in this order, after softgate's."""


# Files name gated functions GatedActivation; what is saved now is of the name registered last.
@keras.saving.register_keras_serializable("softgate", "Activation")
@keras.saving.register_keras_serializable("softgate", "GatedActivation")
class Activation:
    """A function for `keras.layers`: called with a tensor, saved by its name.

    Every function is available by its name, `softgate.keras.gelu`; with parameters it is
    `softgate.keras.leaky_relu.bind(slope=0.2)` or `softgate.keras.get("leaky_relu", slope=0.2)`.

    Do not pass a function of two operands as `activation=` of a layer: Keras assumes that
    activations keep the shape, so `Dense(8, activation=softgate.keras.swiglu)` is built for 8
    features and returns 4, without an error. Call it on a tensor, which is split in two, or on two,
    in a functional model or in a layer's `call`, or use `GatedFeedForward`.

    Parameters
    ----------
    activation : str or softgate.Activation
        The function, built-in or defined with `@softgate.activation`.
    gate : {"first", "second"}, optional
        Which operand of a gated function is the gate.
    **parameters : float
        Parameters of the formula.

    Examples
    --------
    >>> import softgate.keras
    >>> softgate.keras.elu.bind(alpha=0.5).get_config()
    {'function': 'elu', 'parameters': {'alpha': 0.5}}
    >>> softgate.keras.get("swiglu", beta=2.0).get_config()
    {'function': 'swiglu', 'parameters': {'beta': 2.0}, 'gate': 'first'}
    """

    def __init__(
        self, activation: str | Function, *, gate: str | None = None, **parameters: float
    ) -> None:
        if not isinstance(activation, Function):
            activation, parameters = function_of_block(activation, NAME_SOURCES, **parameters), {}
        self.activation = activation.bind(gate=gate, **parameters)
        self.__name__ = self.__qualname__ = self.activation.name
        self.__doc__ = self.activation.__doc__

    def bind(self, *, gate: Any = None, **parameters: float) -> Activation:
        """Return the same function with another gate or other parameters."""
        return _wrapped(self.activation.bind(gate=gate, **parameters))

    def __call__(self, x: Any, other: Any = None, /, *, axis: int | None = None) -> Any:
        """Return the value at each element of a tensor, symbolic or not.

        Of a function of two operands at those of two tensors, or of the halves of `x` along `axis`.
        """
        operands = (x,) if other is None else (x, other)
        options: dict[str, Any] = {} if axis is None else {"axis": axis}
        return self.activation(*map(as_tensor, operands), **options)

    def get_config(self) -> Config:
        """Return the name and the parameters."""
        return config_of(self.activation)

    @classmethod
    def from_config(cls, config: Config) -> Activation:
        """Return the object that `get_config` describes; always the same object."""
        return _wrapped(function_of(config))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Activation) and self.activation is other.activation

    def __hash__(self) -> int:
        return hash(self.activation)

    def __repr__(self) -> str:
        values = "".join(f", {n}={v:g}" for n, v in self.activation.parameters.items())
        return f"softgate.keras.get({self.__name__!r}{values})"


GatedActivation = Activation
"""The name of a class for functions of two operands in version 0.1."""


def get(
    name: str | Function | Activation, source: str | None = None, **parameters: float
) -> Activation:
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
    if isinstance(function, Activation):
        return function.bind(**parameters)
    if source is not None:
        if not isinstance(name, str):
            raise TypeError(f"source = {source!r} needs a name as a string: name = {name!r}")
        return _wrapped(lookup(name, parameters, source=source))
    if isinstance(function, Function):
        return _wrapped(function.bind(**parameters))
    return _wrapped(function_of_block(function, NAME_SOURCES, **parameters))


@lru_cache(maxsize=256)
def _wrapped(function: Function) -> Activation:
    return Activation(function)


def as_tensor(x: Any) -> Any:
    """Return a floating-point tensor of the backend; integers become `keras.config.floatx()`."""
    if not isinstance(x, keras.KerasTensor):
        x = keras.ops.convert_to_tensor(x)
    dtype = keras.backend.standardize_dtype(x.dtype)
    return x if "float" in dtype else keras.ops.cast(x, keras.config.floatx())
