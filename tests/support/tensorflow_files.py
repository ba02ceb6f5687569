"""Checks of the files that tensorflow_native.py has written, in another process.

Run before softgate is imported, with the directory of the files (checking.py).
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

FOLDER = Path(sys.argv[1])
STORED = np.load(FOLDER / "stored.npz")
X = tf.constant(STORED["x"])
CLOSE = {"rtol": 1e-5, "atol": 1e-6}


def check_files_without_softgate() -> None:
    module = tf.saved_model.load(str(FOLDER / "module"))
    with tf.GradientTape() as tape:
        tape.watch(X)
        y = module(X)
    assert np.allclose(y, STORED["value"], **CLOSE)
    assert np.allclose(tape.gradient(y, X), STORED["slope"], **CLOSE)
    assert np.allclose(module.slope(X), STORED["slope"], **CLOSE)
    for name in ("exported", "saved"):
        model = tf.saved_model.load(str(FOLDER / name))
        result = model.signatures["serving_default"](X)["output_0"]
        assert np.allclose(result, STORED["y"], **CLOSE), name
    assert "softgate" not in sys.modules


def check_files_with_softgate() -> None:
    import keras

    import softgate.keras  # noqa: F401 - names activations for Keras

    model = keras.models.load_model(FOLDER / "model.keras")
    assert np.array_equal(model.predict(X, verbose=0), STORED["y"])
    model.fit(X, X[:, :1], verbose=0)
    again = tf.saved_model.load(str(FOLDER / "module"))
    assert np.allclose(tf.function(again)(X), STORED["value"], **CLOSE)
