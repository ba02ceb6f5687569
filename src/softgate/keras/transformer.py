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

from softgate.frameworks.block_arguments import check_choice, check_share, head_widths, is_gated
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
    d_model, n_heads : int
        Width, and number of heads.
    n_kv_heads : int, optional
        Number of key and value heads, each for several queries; n_heads by default.
    d_head : int, optional
        Width of a head; d_model/n_heads by default.
    bias : bool
        Whether the projections have biases.
    dropout : float
        Share of attention weights set to 0 in training.
    causal : bool
        Whether a position attends only to itself and earlier positions.
    scale : float, optional
        Factor of q·kᵀ; 1/√d_head by default (T5 has 1).
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
        self.d_model, self.n_heads = d_model, n_heads
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
            key_padding_mask = _first(key_padding_mask)
            mask = _first(mask)
        elif not self.batch_first:
            x = ops.transpose(x, (1, 0, 2))  # swapaxes fails on a TensorFlow variable
            mask = None if mask is None else ops.swapaxes(mask, 0, 1)
        blocked = [] if mask is None else [ops.logical_not(mask)[:, None, None, :]]
        blocked += self._masks(x, attn_mask, key_padding_mask)
        y = self._attend(x, blocked, training)
        if rank == 2:
            return ops.squeeze(y, 0)
        return y if self.batch_first else ops.swapaxes(y, 0, 1)

    def _attend(self, x: Any, masks: list[Any], training: bool | None) -> Any:
        ends = [self.widths[0], self.widths[0] + self.widths[1]]
        projected = ops.split(self.in_proj(x), ends, axis=-1)
        batch, length = ops.shape(x)[:2]
        q, k, v = (ops.reshape(t, (batch, length, -1, self.d_head)) for t in projected)
        if self.n_kv_heads < self.n_heads:
            times = self.n_heads // self.n_kv_heads
            k, v = ops.repeat(k, times, axis=2), ops.repeat(v, times, axis=2)
        scale = self.d_head**-0.5 if self.scale is None else self.scale
        scores = ops.einsum("bqhd,bkhd->bhqk", q * scale, k)
        weights = dropped(self._drop, _softmax(scores, masks), training)
        seen = ops.einsum("bhqk,bkhd->bqhd", weights, v)
        return self.out_proj(ops.reshape(seen, (batch, length, self.widths[0])))

    def _masks(self, x: Any, attn: Any, padding: Any) -> list[Any]:
        """Return all masks as they apply to scores of (batch, heads, queries, keys)."""
        batch, length = ops.shape(x)[:2]
        masks = []
        if attn is not None:
            heads = batch * self.n_heads if isinstance(batch, int) else None
            attn = _checked("attn_mask", attn, (length, length), (heads, length, length))
            if len(attn.shape) == 3:
                attn = ops.reshape(attn, (batch, self.n_heads, length, length))
            masks.append(attn)
        if padding is not None:
            padding = _checked("key_padding_mask", padding, (batch, length))
            masks.append(padding[:, None, None, :])
        if self.causal:
            places = ops.arange(length)
            masks.append(places[:, None] < places[None, :])
        return masks

    def get_config(self) -> Config:
        """Return the arguments."""
        names = (
            "d_model", "n_heads", "n_kv_heads", "d_head", "bias", "dropout", "causal", "scale",
            "batch_first",
        )  # fmt: skip
        return super().get_config() | {name: getattr(self, name) for name in names}


def _first(mask: Any) -> Any:
    return None if mask is None else ops.expand_dims(ops.convert_to_tensor(mask), 0)


def _softmax(scores: Any, masks: list[Any]) -> Any:
    """Return softmax over keys; zeros where all keys are hidden."""
    dtype = scores.dtype
    if keras.backend.standardize_dtype(dtype) in ("float16", "bfloat16"):
        scores = ops.cast(scores, "float32")
    if not masks:
        return ops.cast(ops.softmax(scores, axis=-1), dtype)
    for mask in masks:
        if keras.backend.standardize_dtype(mask.dtype) == "bool":
            scores = ops.where(mask, ops.cast(float("-inf"), scores.dtype), scores)
        else:
            scores = scores + ops.cast(mask, scores.dtype)
    largest = ops.max(ops.stop_gradient(scores), axis=-1, keepdims=True)
    shift = ops.where(ops.isfinite(largest), largest, ops.zeros_like(largest))
    powers = ops.exp(scores - shift)
    total = ops.sum(powers, axis=-1, keepdims=True)
    return ops.cast(powers / ops.where(total == 0, ops.ones_like(total), total), dtype)


def _checked(name: str, mask: Any, *shapes: tuple[Any, ...]) -> Any:
    mask = ops.convert_to_tensor(mask)
    dtype = keras.backend.standardize_dtype(mask.dtype)
    if dtype != "bool" and "float" not in dtype:
        raise TypeError(f"{name} is {dtype}: expected bool (True: hidden) or numbers to add")
    mask_shape = tuple(mask.shape)
    if not any(_compatible(mask_shape, shape) for shape in shapes):
        known = " or ".join(
            str(tuple(size if isinstance(size, int) else None for size in shape))
            for shape in shapes
        )
        raise ValueError(f"{name} has shape {mask_shape}: expected {known}")
    return mask


def _compatible(shape: tuple[Any, ...], expected: tuple[Any, ...]) -> bool:
    """Return whether two shapes agree where both are known."""
    if len(shape) != len(expected):
        return False
    pairs = zip(shape, expected, strict=True)
    return all(a == b for a, b in pairs if isinstance(a, int) and isinstance(b, int))


@keras.saving.register_keras_serializable(package="softgate")
class TransformerBlock(BlockLayer):
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
