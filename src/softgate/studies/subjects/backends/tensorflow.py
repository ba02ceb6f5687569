"""Functions of TensorFlow tensors; derivatives by gradient tapes."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from . import Array, Plain


class TensorFlow(Plain):
    """A function of a tensor, which is a copy: strides and addresses are not preserved."""

    framework = "tensorflow"
    packages = ("tensorflow", "numpy")
    strides = False
    addresses = False
    quantities = ("value", "slope", "curvature")

    def call(self, quantity: str, x: Array) -> Any:
        """Return a quantity at `x`."""
        tensor = tf.constant(x)
        if quantity == "value":
            return _from_tensor(self.function(tensor))
        with tf.GradientTape() as outer:
            outer.watch(tensor)
            with tf.GradientTape() as inner:
                inner.watch(tensor)
                y = self.function(tensor)
            slope = inner.gradient(y, tensor, unconnected_gradients="zero")
        if quantity == "slope":
            return _from_tensor(slope)
        return _from_tensor(outer.gradient(slope, tensor, unconnected_gradients="zero"))


def _from_tensor(result: Any) -> Any:
    return np.asarray(result.numpy()) if isinstance(result, tf.Tensor) else result
