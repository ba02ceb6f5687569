"""A transformer block as a Keras layer: attention and feed-forward, with residuals and norms.

Norms are applied after the sums ("post": the original, BERT) or before the sublayers ("pre": GPT-2,
ViT, T5, LLaMA).
"""

from __future__ import annotations

from typing import Any

import keras

from softgate.frameworks.block_arguments import check_choice, check_share, is_gated
from softgate.frameworks.keras.recipes import Config

from .activation import NAME_SOURCES, get
from .attention import SelfAttention
from .block_parts import ActivationArgument, Block, dropout_layer, dropped, function_of, normalizer
from .feed_forward import FeedForward, GatedFeedForward


@keras.saving.register_keras_serializable(package="softgate")
class TransformerBlock(Block):
    """Self-attention and a feed-forward block, plain or gated by the activation's name.

    Parameters
    ----------
    d_model, n_heads, d_hidden : int
        Width, number of heads, width of the hidden layer.
    activation : str, Activation or keras.layers.Layer
        As in `FeedForward`; a gated one ("swiglu", "geglu", …) makes a `GatedFeedForward`.
    norm : {"post", "pre"}
        Position of the norms.
    batch_first : bool
        Whether inputs are (batch, sequence, d_model), as elsewhere in Keras, and not (sequence,
        batch, d_model), which is the default here as in torch.
    causal : bool
        Whether a position attends only to itself and earlier positions.
    dropout : float
        Share of each sublayer's outputs set to 0 in training.
    attention_dropout : float, optional
        The same for attention weights; `dropout` by default.
    hidden_dropout : float
        The same for the hidden layer of the feed-forward block.
    normalization : {"layer", "rms"}
        LayerNorm or RMSNorm, with `eps`.
    bias : bool
        Whether linear layers and LayerNorms have biases.
    n_kv_heads, d_head, scale
        As in `SelfAttention`.
    save : {"preactivation", "all"}
        As in `FeedForward`.
    name, dtype, trainable
        As in every Keras layer.

    Examples
    --------
    >>> import keras
    >>> block = TransformerBlock(512, 8, 2048, activation="tanh", batch_first=True)
    >>> block(keras.Input((30, 512))).shape
    (None, 30, 512)
    """

    def __init__(  # noqa: PLR0913 - Keras' layers have as many
        self,
        d_model: int,
        n_heads: int,
        d_hidden: int,
        activation: ActivationArgument = "gelu",
        norm: str = "post",
        batch_first: bool = False,
        causal: bool = False,
        dropout: float = 0.0,
        *,
        attention_dropout: float | None = None,
        hidden_dropout: float = 0.0,
        normalization: str = "layer",
        eps: float = 1e-5,
        bias: bool = True,
        n_kv_heads: int | None = None,
        d_head: int | None = None,
        scale: float | None = None,
        save: str = "preactivation",
        name: str | None = None,
        dtype: Any = None,
        trainable: bool = True,
    ) -> None:
        super().__init__(name=name, dtype=dtype, trainable=trainable)
        self.norm = check_choice("norm", norm, ("post", "pre"))
        self.dropout = check_share("dropout", dropout)
        function = function_of(activation)
        gates = is_gated(function, NAME_SOURCES)
        self.activation = get(function) if gates else activation
        self._arguments = {
            "d_model": d_model, "n_heads": n_heads, "d_hidden": d_hidden, "norm": norm,
            "batch_first": batch_first, "causal": causal, "dropout": self.dropout,
            "attention_dropout": attention_dropout, "hidden_dropout": hidden_dropout,
            "normalization": normalization, "eps": eps, "bias": bias, "n_kv_heads": n_kv_heads,
            "d_head": d_head, "scale": scale, "save": save,
        }  # fmt: skip
        policy = self.dtype_policy
        self.attention = SelfAttention(
            d_model,
            n_heads,
            n_kv_heads=n_kv_heads,
            d_head=d_head,
            bias=bias,
            dropout=dropout if attention_dropout is None else attention_dropout,
            causal=causal,
            scale=scale,
            batch_first=batch_first,
            name="attention",
            dtype=policy,
        )
        make: Any = GatedFeedForward if gates else FeedForward
        self.feed_forward = make(
            d_model,
            d_hidden,
            activation,
            bias,
            dropout,
            save,
            hidden_dropout=hidden_dropout,
            name="feed_forward",
            dtype=policy,
        )
        self.norm1 = normalizer(normalization, eps, bias, "norm1", policy)
        self.norm2 = normalizer(normalization, eps, bias, "norm2", policy)
        self._drop = dropout_layer(self.dropout, "dropout", policy)

    def build(self, input_shape: Any) -> None:
        """Make the weights."""
        for layer in (self.attention, self.feed_forward, self.norm1, self.norm2):
            layer.build(input_shape)

    def call(
        self,
        x: Any,
        attn_mask: Any = None,
        key_padding_mask: Any = None,
        training: bool | None = None,
        mask: Any = None,
    ) -> Any:
        """Return the block's output; masks as in `SelfAttention`."""
        masks = {"attn_mask": attn_mask, "key_padding_mask": key_padding_mask, "mask": mask}
        if self.norm == "post":
            x = self.norm1(x + self._attend(x, training, masks))
            return self.norm2(x + self.feed_forward(x, training=training))
        x = x + self._attend(self.norm1(x), training, masks)
        return x + self.feed_forward(self.norm2(x), training=training)

    def _attend(self, x: Any, training: bool | None, masks: dict[str, Any]) -> Any:
        return dropped(self._drop, self.attention(x, training=training, **masks), training)

    def get_config(self) -> Config:
        """Return the arguments; the activation by its name, or as a serialised layer."""
        gates = isinstance(self.feed_forward, GatedFeedForward)
        act = self.activation if gates else self.feed_forward.act
        saved = keras.saving.serialize_keras_object(act)
        return super().get_config() | dict(self._arguments) | {"activation": saved}
