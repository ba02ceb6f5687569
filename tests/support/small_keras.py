"""A small Keras model and inputs whose weights are multiples of 1/8, as in `small_models`."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import numpy.typing as npt
from small_onnx import eighths


def layers() -> Any:
    """Return a model with GELU in a layer and as a layer, and a ReLU with a dead unit of eight."""
    inputs = keras.Input((4,))
    x = keras.layers.Dense(8, activation="gelu", name="first")(inputs)
    x = keras.layers.Dense(8, activation="relu", name="second")(x)
    x = keras.layers.Activation("gelu", name="third")(x)
    model = keras.Model(inputs, keras.layers.Dense(2, name="last")(x), name="layers")
    weights = [eighths(*w.shape, seed=i) for i, w in enumerate(model.get_weights())]
    weights[3][5] = -100.0
    model.set_weights(weights)
    return model


def samples() -> npt.NDArray[np.float32]:
    """Return inputs of the model."""
    return eighths(64, 4, seed=7, size=16)
