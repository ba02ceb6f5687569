"""Transformers as Keras layers: self-attention, and a block of attention and feed-forward.

Attention is softmax(q·kᵀ/√d)·v, with the arguments and masks of `softgate.torch`'s. `in_proj` is
one linear layer for queries, keys and values: torch's `in_proj_weight` transposed.

Each sublayer of a block has a residual and a norm. Norms are applied after the sums ("post": the
original, BERT) or before the sublayers ("pre": GPT-2, ViT, T5, LLaMA).
"""

from __future__ import annotations

from typing import Any

import keras
from keras import ops

from softgate.frameworks.block_arguments import (
    check_choice,
    check_mask,
    check_share,
    check_widths,
    head_widths,
    is_gated,
)
from softgate.frameworks.keras import Config

from .activation import NAME_SOURCES, get
from .block_parts import (
    ActivationArgument,
    BlockLayer,
    dropout_layer,
    dropped,
    function_of,
    normalizer,
)
from .feed_forward import FeedForward, GatedFeedForward


@keras.saving.register_keras_serializable(package="softgate")
class SelfAttention(BlockLayer):
    """Multi-head attention of a sequence to itself.

    Parameters
    ----------
    d_model, n_heads, n_kv_heads, d_head, bias, dropout, causal, scale
        As in `softgate.torch.SelfAttention`.
    batch_first : bool
        Whether inputs are (batch, sequence, d_model), as elsewhere in Keras, and not (sequence,
        batch, d_model), which is the default here as in torch.
    name, dtype, trainable
        As in every Keras layer.

    Examples
    --------
    >>> import keras
    >>> SelfAttention(512, 8, batch_first=True)(keras.Input((30, 512))).shape
    (None, 30, 512)
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        *,
        n_kv_heads: int | None = None,
        d_head: int | None = None,
        bias: bool = True,
        dropout: float = 0.0,
        causal: bool = False,
        scale: float | None = None,
        batch_first: bool = False,
        name: str | None = None,
        dtype: Any = None,
        trainable: bool = True,
    ) -> None:
        super().__init__(name=name, dtype=dtype, trainable=trainable)
        self.d_model, self.n_heads = check_widths(d_model=d_model, n_heads=n_heads)
        self.n_kv_heads, self.d_head = head_widths(d_model, n_heads, n_kv_heads, d_head)
        self.bias, self.causal, self.scale, self.batch_first = bias, causal, scale, batch_first
        self.dropout = check_share("dropout", dropout)
        self._drop = dropout_layer(self.dropout, "dropout", self.dtype_policy)
        widths = self.n_heads * self.d_head, self.n_kv_heads * self.d_head
        self.widths = (widths[0], widths[1], widths[1])
        self.in_proj = self._linear(sum(self.widths), "in_proj")
        self.out_proj = self._linear(d_model, "out_proj")

    def build(self, input_shape: Any) -> None:
        """Make the weights."""
        self._build(input_shape, (self.in_proj,), self.out_proj, self.widths[0])

    def call(
        self,
        x: Any,
        attn_mask: Any = None,
        key_padding_mask: Any = None,
        training: bool | None = None,
        mask: Any = None,
    ) -> Any:
        """Return the attention's output; masks are those of torch's nn.MultiheadAttention.

        Parameters
        ----------
        x : tensor
            (sequence, batch, d_model), (batch, sequence, d_model) with `batch_first`, or
            (sequence, d_model).
        attn_mask : tensor, optional
            (queries, keys) or (batch·n_heads, queries, keys): True where a query must not attend
            to a key, or numbers to add to the scores.
        key_padding_mask : tensor, optional
            (batch, keys), or (keys,): True where a key is hidden from all queries, or numbers
            to add to the scores.
        training : bool, optional
            Whether attention weights are dropped.
        mask : tensor, optional
            Keras' mask, of the shape of `x` without its last axis: False where a key is hidden.

        Notes
        -----
        If every key is hidden from a query, its attention output is 0, not NaN.
        """
        rank = len(x.shape)
        if rank not in (2, 3):
            raise ValueError(f"x has {rank} axes: expected 3, or 2 without a batch")
        if rank == 2:
            x = ops.expand_dims(x, 0)
            key_padding_mask, mask = (
                None if each is None else ops.expand_dims(ops.convert_to_tensor(each), 0)
                for each in (key_padding_mask, mask)
            )
        elif not self.batch_first:
            x = ops.transpose(x, (1, 0, 2))  # swapaxes fails on a TensorFlow variable
            mask = None if mask is None else ops.swapaxes(mask, 0, 1)
        batch, length = ops.shape(x)[:2]
        masks = [] if mask is None else [ops.logical_not(mask)[:, None, None, :]]
        if attn_mask is not None:
            heads = batch * self.n_heads if isinstance(batch, int) else None
            attn_mask = _checked("attn_mask", attn_mask, (length, length), (heads, length, length))
            if len(attn_mask.shape) == 3:
                attn_mask = ops.reshape(attn_mask, (batch, self.n_heads, length, length))
            masks.append(attn_mask)
        if key_padding_mask is not None:
            key_padding_mask = _checked("key_padding_mask", key_padding_mask, (batch, length))
            masks.append(key_padding_mask[:, None, None, :])
        if self.causal:
            places = ops.arange(length)
            masks.append(places[:, None] < places[None, :])
        ends = [self.widths[0], self.widths[0] + self.widths[1]]
        q, k, v = (
            ops.reshape(part, (batch, length, -1, self.d_head))
            for part in ops.split(self.in_proj(x), ends, axis=-1)
        )
        if self.n_kv_heads < self.n_heads:
            times = self.n_heads // self.n_kv_heads
            k, v = ops.repeat(k, times, axis=2), ops.repeat(v, times, axis=2)
        scale = self.d_head**-0.5 if self.scale is None else self.scale
        weights = _softmax(ops.einsum("bqhd,bkhd->bhqk", q * scale, k), masks)
        seen = ops.einsum("bhqk,bkhd->bqhd", dropped(self._drop, weights, training), v)
        y = self.out_proj(ops.reshape(seen, (batch, length, self.widths[0])))
        if rank == 2:
            return ops.squeeze(y, 0)
        return y if self.batch_first else ops.swapaxes(y, 0, 1)

    def get_config(self) -> Config:
        """Return the arguments."""
        names = (
            "d_model", "n_heads", "n_kv_heads", "d_head", "bias", "dropout", "causal", "scale",
            "batch_first",
        )  # fmt: skip
        return super().get_config() | {name: getattr(self, name) for name in names}


def _softmax(scores: Any, masks: list[Any]) -> Any:
    """Return softmax over keys; zeros where all keys are hidden."""
    dtype = scores.dtype
    if keras.backend.standardize_dtype(dtype) in ("float16", "bfloat16"):
        scores = ops.cast(scores, "float32")
    if not masks:
        return ops.cast(ops.softmax(scores, axis=-1), dtype)
    hidden = ops.cast(float("-inf"), scores.dtype)
    for mask in masks:
        if keras.backend.standardize_dtype(mask.dtype) == "bool":
            scores = ops.where(mask, hidden, scores)
        else:
            scores = scores + ops.cast(mask, scores.dtype)
    # Of a row that is hidden whole softmax is NaN, and so is its gradient, even if 0 replaces it.
    blind = ops.all(ops.equal(scores, hidden), axis=-1, keepdims=True)
    weights = ops.softmax(ops.where(blind, ops.zeros_like(scores), scores), axis=-1)
    return ops.cast(ops.where(blind, ops.zeros_like(weights), weights), dtype)


def _checked(name: str, mask: Any, *shapes: tuple[Any, ...]) -> Any:
    """Return a mask as a tensor; raise if its kind or shape is not accepted."""
    mask = ops.convert_to_tensor(mask)
    check_mask(name, tuple(mask.shape), keras.backend.standardize_dtype(mask.dtype), *shapes)
    return mask


@keras.saving.register_keras_serializable(package="softgate")
class TransformerBlock(BlockLayer):
    """Self-attention and a feed-forward block, plain or gated by the activation's name.

    Parameters
    ----------
    d_model, n_heads, d_hidden, norm, causal, dropout, attention_dropout, hidden_dropout, \
normalization, eps, bias, n_kv_heads, d_head, scale
        As in `softgate.torch.TransformerBlock`.
    activation : str, Activation or keras.layers.Layer
        As in `FeedForward`; a gated one ("swiglu", "geglu", …) makes a `GatedFeedForward`.
    batch_first : bool
        Whether inputs are (batch, sequence, d_model), as elsewhere in Keras, and not (sequence,
        batch, d_model), which is the default here as in torch.
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

    def __init__(
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
