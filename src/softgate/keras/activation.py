"""Activations as objects that Keras layers take and model files name.

One object a function: `get("gelu") is gelu`, also after a model has been saved and loaded.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import keras

from softgate.frameworks.block_arguments import activation_of_block, function_of_block, named_gate
from softgate.frameworks.keras.recipes import Config, config_of, function_of
from softgate.runtime.activation import Activation as Function
from softgate.runtime.gated import Gated as GatedFunction
from softgate.runtime.names import get as get_function

FIRST = ("keras", "tensorflow", "jax", "torch", "huggingface")
"""Who is asked what a name means, after softgate itself."""


class _Named:
    """A function of softgate under Keras' rules for callables that are saved."""

    def __init__(self, function: Function | GatedFunction) -> None:
        self.__name__ = self.__qualname__ = function.name
        self.__doc__ = function.__doc__
        self._function = function

    def get_config(self) -> Config:
        """Return the name and the parameters."""
        return config_of(self._function)

    @classmethod
    def from_config(cls, config: Config) -> Any:
        """Return the object that `get_config` describes, the same one each time."""
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

    Every activation of softgate is there under its name, `softgate.keras.gelu`; with parameters it
    is `softgate.keras.leaky_relu.bind(slope=0.2)` or `softgate.keras.get("leaky_relu", slope=0.2)`.

    Parameters
    ----------
    activation : str or softgate.Activation
        Which function; a formula of one's own (`@softgate.activation`) is one, too.
    **parameters : float
        The formula's own parameters.

    Examples
    --------
    >>> import softgate.keras
    >>> softgate.keras.elu.bind(alpha=0.5).get_config()
    {'function': 'elu', 'parameters': {'alpha': 0.5}}
    """

    def __init__(self, activation: str | Function, **parameters: float) -> None:
        self.activation = activation_of_block(activation, FIRST, **parameters)
        super().__init__(self.activation)

    def bind(self, **parameters: float) -> Activation:
        """Return the same activation with other parameters."""
        found: Activation = _wrapped(self.activation.bind(**parameters))
        return found

    def __call__(self, x: Any) -> Any:
        """Return the value at each element of a tensor, symbolic or not."""
        return self.activation(as_tensor(x))


@keras.saving.register_keras_serializable(package="softgate")
class GatedActivation(_Named):
    """A gated function of one tensor cut in two, or of two tensors.

    Not for `activation=` of a layer: Keras gives an activation no say in shapes, so that a model
    with `Dense(8, activation=softgate.keras.swiglu)` is built for 8 features, gets 4, and nothing
    can tell. Call it on a tensor, in a functional model or in a layer's `call`, or take
    `GatedFeedForward`.

    Parameters
    ----------
    function : str or softgate.Gated
        Which one.
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
        self, function: str | GatedFunction, *, gate: str | None = None, **parameters: float
    ) -> None:
        if isinstance(function, str):
            function = named_gate(function, FIRST)
        self.function = function.bind(gate=gate, **parameters)
        super().__init__(self.function)

    def bind(self, *, gate: Any = None, **parameters: float) -> GatedActivation:
        """Return the same function with another gate or other parameters."""
        found: GatedActivation = _wrapped(self.function.bind(gate=gate, **parameters))
        return found

    def __call__(self, x: Any, other: Any = None, /, *, axis: int | None = None) -> Any:
        """Return act(gate)·other of two tensors, or of the halves of `x` along `axis`."""
        if other is None:
            return self.function(as_tensor(x), axis=axis)
        return self.function(as_tensor(x), as_tensor(other), axis=axis)


def get(
    name: str | Function | GatedFunction | Activation | GatedActivation,
    source: str | None = None,
    **parameters: float,
) -> Activation | GatedActivation:
    """Return an activation for Keras by any name that a framework has for it.

    softgate's own names come first, then what Keras means, then the others'. Where Keras means
    something else by one of softgate's own (leaky_relu has slope 0.01 here and 0.2 there), give the
    parameters or the source. Keras' own parameters are taken, too: `negative_slope=0.3`.

    Parameters
    ----------
    name : str, or a function of softgate
        Such as "gelu_new", "quick_gelu", "leaky_relu", "swiglu", or a function itself.
    source : str, optional
        Whose name it is, such as "keras", whose parameters are then taken, too.
    **parameters : float
        The formula's own parameters.

    Raises
    ------
    ValueError
        With the nearest known name, where the name is unknown; with both meanings, where softgate's
        and Keras' differ.

    Examples
    --------
    >>> get("gelu_new")
    softgate.keras.get('gelu_tanh')
    >>> get("leaky_relu", source="keras")
    softgate.keras.get('leaky_relu', slope=0.2)
    """
    given: Any = name
    if isinstance(given, Activation | GatedActivation | GatedFunction):
        bound = given.bind(**parameters)
        return _wrapped(bound) if isinstance(bound, GatedFunction) else bound
    if source is not None:
        if not isinstance(name, str):
            raise TypeError(f"source = {source!r} says whose name it is, and name is {name!r}")
        return _wrapped(get_function(name, source, **parameters))
    if isinstance(given, Function):
        return _wrapped(given.bind(**parameters))
    return _wrapped(function_of_block(given, FIRST, **parameters))


@lru_cache(maxsize=256)
def _wrapped(function: Function | GatedFunction) -> Any:
    if isinstance(function, GatedFunction):
        return GatedActivation(function)
    return Activation(function)


def as_tensor(x: Any) -> Any:
    """Return a tensor of the backend, in a float format, as Keras' own operations take it."""
    if not isinstance(x, keras.KerasTensor):
        x = keras.ops.convert_to_tensor(x)
    dtype = keras.backend.standardize_dtype(x.dtype)
    return x if "float" in dtype else keras.ops.cast(x, keras.config.floatx())
