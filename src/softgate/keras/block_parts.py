"""Shared by the Keras layers: activation arguments, dropout, norms, recomputation, weights."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from inspect import signature
from typing import Any

import keras
import numpy as np

from softgate.frameworks.block_arguments import activation_of_block, check_choice
from softgate.frameworks.keras import Config
from softgate.runtime.activation import Activation as Function

from .activation import NAME_SOURCES, Activation, get

ActivationArgument = str | Function | Activation | keras.layers.Layer
SAVE = ("preactivation", "all")
"""What a block may save for the gradient."""


def function_of(activation: Any) -> Any:
    """Return the function that a `softgate.keras` object wraps; other objects unchanged."""
    return activation.activation if isinstance(activation, Activation) else activation


def as_callable(activation: Any, parameters: dict[str, float]) -> Any:
    """Return the callable of a plain block's activation; a layer is returned unchanged."""
    if isinstance(activation, keras.layers.Layer):
        if parameters:
            names = ", ".join(parameters)
            raise TypeError(
                f"{names}: {activation.name} is a layer: give the parameters to the layer"
            )
        return activation
    return get(activation_of_block(function_of(activation), NAME_SOURCES, **parameters))


def dropout_layer(share: float, name: str, policy: Any) -> Any:
    """Return a dropout layer, or None for a share of 0, which needs no seed."""
    return keras.layers.Dropout(share, dtype=policy, name=name) if share else None


def dropped(layer: Any, x: Any, training: bool | None) -> Any:
    """Return `x` after a dropout layer, if there is one."""
    return x if layer is None else layer(x, training=training)


def normalizer(kind: str, eps: float, bias: bool, name: str, policy: Any) -> Any:
    """Return a LayerNorm or an RMSNorm."""
    if check_choice("normalization", kind, ("layer", "rms")) == "layer":
        layers = keras.layers
        return layers.LayerNormalization(epsilon=eps, center=bias, dtype=policy, name=name)
    return keras.layers.RMSNormalization(epsilon=eps, dtype=policy, name=name)


def repeatable(act: Any) -> bool:
    """Return whether calling an activation again in the backward pass gives the same result.

    False for a layer with state or a seed, and for one with a `training` argument: the second call
    happens outside the training step, where that argument may differ.
    """
    if not isinstance(act, keras.layers.Layer):
        return True
    return not act.non_trainable_variables and "training" not in signature(act.call).parameters


class BlockLayer(keras.layers.Layer):
    """Base of the blocks: masks, shapes, linear layers, serialisation."""

    d_model: int
    bias: bool

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.supports_masking = True

    def _linear(self, width: int, name: str) -> Any:
        return keras.layers.Dense(width, use_bias=self.bias, dtype=self.dtype_policy, name=name)

    def _build(self, input_shape: Any, first: tuple[Any, ...], last: Any, width: int) -> None:
        """Build the layers `first` for the input, and `last` for an input of `width` features."""
        if input_shape[-1] != self.d_model:
            raise ValueError(
                f"x has {input_shape[-1]} features: this layer has d_model = {self.d_model}"
            )
        for layer in first:
            layer.build(input_shape)
        last.build((*input_shape[:-1], width))

    def compute_output_shape(self, input_shape: Any) -> Any:
        """Return the input's shape."""
        return input_shape

    @classmethod
    def from_config(cls, config: Config) -> Any:
        """Return the layer that `get_config` describes."""
        if "activation" in config:
            act = keras.saving.deserialize_keras_object(config["activation"])
            config = config | {"activation": act}
        return super().from_config(config)


PARTS = (
    "attention", "in_proj", "out_proj", "feed_forward", "fc1", "fc2", "gate_proj", "up_proj",
    "down_proj", "norm1", "norm2",
)  # fmt: skip
"""Names of the blocks' layers, the same as in torch."""


def load_state_dict(layer: Any, state: Mapping[str, Any]) -> None:
    """Load the weights of the corresponding block of `softgate.torch`.

    Parameters
    ----------
    layer : keras.layers.Layer
        A FeedForward, GatedFeedForward, SelfAttention or TransformerBlock that has been built.
    state : mapping
        `state_dict()` of the torch block, as tensors or arrays.

    Examples
    --------
    >>> import numpy as np
    >>> from softgate.keras import FeedForward, load_state_dict
    >>> layer = FeedForward(2, 3, bias=False)
    >>> layer.build((None, 2))
    >>> load_state_dict(layer, {"fc1.weight": np.ones((3, 2)), "fc2.weight": np.ones((2, 3))})
    >>> float(layer.count_params())
    12.0
    """
    if not layer.built:
        raise ValueError(f"{layer.name} has no weights yet: call it once, or its build(shape)")
    known = dict(_variables(layer))
    if set(known) != set(state):
        missing, beyond = sorted(set(known) - set(state)), sorted(set(state) - set(known))
        raise ValueError(
            f"the state dict lacks {missing} and has {beyond}, unknown to {layer.name}"
        )
    arrays = {}
    for name, (variable, transposed) in known.items():
        value = state[name]
        value = np.asarray(value.detach().cpu() if hasattr(value, "detach") else value)
        arrays[name] = value.T if transposed else value
        if arrays[name].shape != tuple(variable.shape):
            raise ValueError(
                f"{name} has shape {value.shape}: {layer.name} needs "
                f"{tuple(variable.shape)[:: -1 if transposed else 1]}"
            )
    for name, (variable, _) in known.items():
        variable.assign(arrays[name])


def _variables(layer: Any, prefix: str = "") -> Iterator[tuple[str, tuple[Any, bool]]]:
    """Yield torch's name of each weight, the variable, and whether torch stores it transposed."""
    if isinstance(layer, keras.layers.Dense):
        yield f"{prefix}weight", (layer.kernel, True)
        if layer.use_bias:
            yield f"{prefix}bias", (layer.bias, False)
    elif isinstance(layer, keras.layers.LayerNormalization):
        yield f"{prefix}weight", (layer.gamma, False)
        if layer.center:
            yield f"{prefix}bias", (layer.beta, False)
    elif isinstance(layer, keras.layers.RMSNormalization):
        yield f"{prefix}weight", (layer.scale, False)
    for part in PARTS:
        if hasattr(layer, part):
            end = "_" if part == "in_proj" else "."  # one parameter of nn.MultiheadAttention
            yield from _variables(getattr(layer, part), f"{prefix}{part}{end}")
