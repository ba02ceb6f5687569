"""The blocks and models that torch writes (keras_written.py) and every backend reads."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np

import softgate as sg
import softgate.keras as sk

BLOCKS: dict[str, tuple[str, tuple[Any, ...], dict[str, Any]]] = {
    "feed_forward": ("FeedForward", (16, 40), {}),
    "leaky": ("FeedForward", (16, 40, "leaky_relu"), {"bias": False, "slope": 0.2}),
    "gated": ("GatedFeedForward", (16, 24, "geglu"), {"bias": True}),
    "matched": ("GatedFeedForward", (16,), {"save": "all"}),
    "attention": ("SelfAttention", (16, 4), {}),
    "grouped": ("SelfAttention", (16, 4), {"n_kv_heads": 2, "d_head": 6, "bias": False}),
    "post": ("TransformerBlock", (16, 4, 40), {"causal": True}),
    "pre": (
        "TransformerBlock",
        (16, 4, 40, "swiglu"),
        {"norm": "pre", "normalization": "rms", "batch_first": True, "bias": False, "scale": 1.0},
    ),
    "layer": ("TransformerBlock", (16, 4, 40, "tanh"), {"norm": "pre", "eps": 1e-3}),
}


@sg.activation
def wave(f: Any, x: Any, a: float = 1.0) -> Any:
    """A formula of a user's own."""
    return x + f.sin(a * x) / a


def _rng(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


def inputs() -> np.ndarray:
    return _rng(1).normal(size=(5, 3, 16)).astype(np.float32)


def upstream() -> np.ndarray:
    return _rng(2).normal(size=(5, 3, 16)).astype(np.float32)


def features(shape: tuple[Any, ...]) -> np.ndarray:
    """Inputs for a model."""
    return _rng(4).normal(size=(6, *shape[1:])).astype(np.float32)


def masks(kind: str, options: dict[str, Any]) -> dict[str, np.ndarray]:
    """Masks of both kinds for what attends; none of them hides everything from a query."""
    if "FeedForward" in kind:
        return {}
    batch, length = (5, 3) if options.get("batch_first") else (3, 5)
    attn = _rng(5).random((batch * 4, length, length)) > 0.6
    attn[:, np.arange(length), np.arange(length)] = False
    padding = np.where(_rng(6).random((batch, length)) > 0.5, 0.0, -1.0).astype(np.float32)
    return {"attn_mask": attn, "key_padding_mask": padding}


def models() -> dict[str, keras.Model]:
    """Models with activations in all the ways they can be in one."""
    layers = keras.layers
    sequence = keras.Sequential(
        [
            keras.Input((8,)),
            layers.Dense(12, activation=sk.gelu),
            layers.Activation(sk.get("leaky_relu", slope=0.3)),
            layers.Dense(12, activation=sk.get(wave, a=2.0)),
            layers.Dense(4, activation=sk.get("gelu_new")),
        ]
    )
    x = keras.Input((5, 16))
    y = sg.silu(sk.elu.bind(alpha=0.5)(layers.Dense(16)(x)))
    y = sk.TransformerBlock(16, 4, 24, batch_first=True, causal=True, dropout=0.1)(y)
    y = sk.TransformerBlock(16, 4, 24, sk.geglu, norm="pre", batch_first=True)(y)
    y = sk.FeedForward(16, 24, layers.Activation("relu"))(y)
    y = sk.GatedFeedForward(16, None, sg.silu.bind(beta=2.0))(y)
    functional = keras.Model(x, sg.swiglu(y))
    return {"sequence": sequence, "functional": functional}
