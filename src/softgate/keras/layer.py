"""What softgate's Keras layers share: how an activation is given, kept, saved and called."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from typing import Any

import keras

from softgate.frameworks.block_arguments import activation_of_block, check_choice
from softgate.runtime.activation import Activation as Function
from softgate.runtime.gated import Gated as GatedFunction

from .activation import FIRST, Activation, GatedActivation, get

Given = str | Function | GatedFunction | Activation | GatedActivation | keras.layers.Layer
SAVE = ("preactivation", "all")


def function_of(activation: Any) -> Any:
    """Return softgate's own function where one of its Keras objects is given."""
    if isinstance(activation, Activation):
        return activation.activation
    return activation.function if isinstance(activation, GatedActivation) else activation


def as_callable(activation: Any, parameters: dict[str, float]) -> Any:
    """Return what applies the activation of a plain block; a layer is taken as it is."""
    if isinstance(activation, keras.layers.Layer):
        if parameters:
            given = ", ".join(parameters)
            raise TypeError(
                f"{given}: parameters of {activation.name}, a layer, are given to itself"
            )
        return activation
    return get(activation_of_block(function_of(activation), FIRST, **parameters))


def check_save(save: str) -> str:
    """Return what to save, or raise."""
    if save not in SAVE:
        raise ValueError(f"save = {save!r}: accepted are {' and '.join(map(repr, SAVE))}")
    return save


def dropout_layer(share: float, name: str, policy: Any) -> Any:
    """Return a dropout layer, None where nothing is dropped: it would keep a seed for nothing."""
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
    """Tell whether an activation, called once more for the gradient, does what it did before.

    A layer with a state or a seed changes it, and one that asks whether it is trained may then be
    told otherwise: it is called after the training step has left it.
    """
    if not isinstance(act, keras.layers.Layer):
        return True
    return not act.non_trainable_variables and "training" not in signature(act.call).parameters


def remade(hidden: Callable[..., Any], *inputs: Any) -> Any:
    """Return hidden(*inputs), keeping the inputs alone for the gradient."""
    return keras.remat(hidden)(*inputs)
