"""Transformers: self-attention, a block of attention and feed-forward, and a stack of blocks.

Attention is softmax(q·kᵀ/√d)·v on torch's fused operator, with the masks of nn.MultiheadAttention.
Its parameters have nn.MultiheadAttention's names and shapes, so its state dicts load unchanged. Key
and value heads may be fewer (as in Mistral) and of any width (as in Gemma).

Each sublayer of a block has a residual and a norm. Norms are applied after the sums ("post": the
original, BERT) or before the sublayers ("pre": GPT-2, ViT, T5, LLaMA).
"""

from __future__ import annotations

from copy import deepcopy
from functools import reduce
from typing import Any, Literal, get_args

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from softgate.frameworks.block_arguments import (
    check_choice,
    check_mask,
    check_share,
    check_widths,
    head_widths,
    is_gated,
)
from softgate.runtime.activation import Activation

from .feed_forward import FeedForward, GatedFeedForward, Save
from .modules import NAME_SOURCES

Norm = Literal["post", "pre"]
Normalization = Literal["layer", "rms"]


class SelfAttention(nn.Module):
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
        Whether inputs are (batch, sequence, d_model), and not (sequence, batch, d_model).

    Examples
    --------
    >>> import torch
    >>> SelfAttention(512, 8)(torch.zeros(30, 10, 512)).shape
    torch.Size([30, 10, 512])
    """

    in_proj_bias: nn.Parameter | None

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
        device: Any = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        d_model, self.n_heads = check_widths(d_model=d_model, n_heads=n_heads)
        self.n_kv_heads, self.d_head = head_widths(d_model, n_heads, n_kv_heads, d_head)
        self.causal, self.scale, self.batch_first = causal, scale, batch_first
        self.dropout = check_share("dropout", dropout)
        widths = self.n_heads * self.d_head, self.n_kv_heads * self.d_head
        self.widths = (widths[0], widths[1], widths[1])
        empty = torch.empty(sum(self.widths), d_model, device=device, dtype=dtype)
        self.in_proj_weight = nn.Parameter(empty)
        zeros = torch.zeros(sum(self.widths), device=device, dtype=dtype)
        self.in_proj_bias = nn.Parameter(zeros) if bias else None
        self.out_proj = nn.Linear(widths[0], d_model, bias, device, dtype)
        nn.init.xavier_uniform_(self.in_proj_weight)
        if self.out_proj.bias is not None:
            nn.init.zeros_(self.out_proj.bias)

    def forward(
        self, x: Tensor, attn_mask: Tensor | None = None, key_padding_mask: Tensor | None = None
    ) -> Tensor:
        """Return the attention's output; masks are those of nn.MultiheadAttention.

        Parameters
        ----------
        x : Tensor
            (sequence, batch, d_model), (batch, sequence, d_model) with `batch_first`, or
            (sequence, d_model).
        attn_mask : Tensor, optional
            (queries, keys) or (batch·n_heads, queries, keys): True where a query must not attend
            to a key, or numbers to add to the scores.
        key_padding_mask : Tensor, optional
            (batch, keys), or (keys,): True where a key is hidden from all queries, or numbers
            to add to the scores.

        Notes
        -----
        If every key is hidden from a query, its attention output is 0, not NaN.
        """
        if x.dim() not in (2, 3):
            raise ValueError(f"x has {x.dim()} axes: expected 3, or 2 without a batch")
        batched = x.dim() == 3
        if key_padding_mask is not None and not batched:
            key_padding_mask = key_padding_mask.unsqueeze(0)
        # Axes are moved after the product, which would copy the tensor otherwise.
        projected = F.linear(x, self.in_proj_weight, self.in_proj_bias)
        if not batched:
            projected = projected.unsqueeze(0)
        elif not self.batch_first:
            projected = projected.transpose(0, 1)
        q, k, v = (
            part.unflatten(-1, (-1, self.d_head)).transpose(1, 2)
            for part in projected.split(self.widths, -1)
        )
        mask = self._mask(q, attn_mask, key_padding_mask)
        if self.n_kv_heads < self.n_heads:
            times = self.n_heads // self.n_kv_heads
            k, v = k.repeat_interleave(times, 1), v.repeat_interleave(times, 1)
        seen = F.scaled_dot_product_attention(
            q,
            k,
            v,
            attn_mask=mask,
            dropout_p=self.dropout if self.training else 0.0,
            is_causal=self.causal and mask is None,
            scale=self.scale,
        ).transpose(1, 2)
        if not batched:
            seen = seen.squeeze(0)
        elif not self.batch_first:
            seen = seen.transpose(0, 1)
        y: Tensor = self.out_proj(seen.flatten(-2))
        return y

    def _mask(self, q: Tensor, attn: Tensor | None, padding: Tensor | None) -> Tensor | None:
        """Return one mask for torch's operator, where True means visible, or None without masks."""
        batch, heads, length, _ = q.shape
        masks = []
        if attn is not None:
            shapes = (length, length), (batch * heads, length, length)
            check_mask("attn_mask", tuple(attn.shape), attn.dtype, *shapes)
            masks.append(attn if attn.dim() == 2 else attn.view(batch, heads, length, length))
        if padding is not None:
            check_mask("key_padding_mask", tuple(padding.shape), padding.dtype, (batch, length))
            masks.append(padding[:, None, None, :])
        if not masks:
            return None
        if self.causal:
            masks.append(torch.ones(length, length, dtype=torch.bool, device=q.device).triu(1))
        if all(mask.dtype is torch.bool for mask in masks):
            return ~reduce(torch.logical_or, masks)
        zero = torch.zeros((), dtype=q.dtype, device=q.device)
        return reduce(
            torch.add,
            (
                zero.masked_fill(mask, -torch.inf) if mask.dtype is torch.bool else mask.to(q.dtype)
                for mask in masks
            ),
        )

    def extra_repr(self) -> str:
        """Return the heads' layout and the options that differ from the defaults."""
        shown = [f"n_heads={self.n_heads}", f"d_head={self.d_head}"]
        if self.n_kv_heads != self.n_heads:
            shown.insert(1, f"n_kv_heads={self.n_kv_heads}")
        set_ = [f"{name}=True" for name in ("causal", "batch_first") if getattr(self, name)]
        return ", ".join(shown + set_)


class TransformerBlock(nn.Module):
    """Self-attention and a feed-forward block, plain or gated by the activation's name.

    Parameters
    ----------
    d_model, n_heads, d_hidden : int
        Width, number of heads, width of the hidden layer.
    activation : str, Activation or Module
        As in `FeedForward`; a gated one ("swiglu", "geglu", …) makes a `GatedFeedForward`.
    norm : {"post", "pre"}
        Position of the norms.
    batch_first : bool
        Whether inputs are (batch, sequence, d_model), and not (sequence, batch, d_model).
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

    Examples
    --------
    >>> import torch
    >>> block = TransformerBlock(512, 8, 2048, activation="tanh")
    >>> block(torch.zeros(30, 10, 512)).shape
    torch.Size([30, 10, 512])
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        d_hidden: int,
        activation: str | Activation | nn.Module = "gelu",
        norm: Norm = "post",
        batch_first: bool = False,
        causal: bool = False,
        dropout: float = 0.0,
        *,
        attention_dropout: float | None = None,
        hidden_dropout: float = 0.0,
        normalization: Normalization = "layer",
        eps: float = 1e-5,
        bias: bool = True,
        n_kv_heads: int | None = None,
        d_head: int | None = None,
        scale: float | None = None,
        save: Save = "preactivation",
        device: Any = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        d_model, n_heads = check_widths(d_model=d_model, n_heads=n_heads)
        self.norm = check_choice("norm", norm, get_args(Norm))
        self.dropout = check_share("dropout", dropout)
        where: Any = {"device": device, "dtype": dtype}
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
            **where,
        )
        make: Any = GatedFeedForward if is_gated(activation, NAME_SOURCES) else FeedForward
        self.feed_forward: FeedForward | GatedFeedForward = make(
            d_model,
            d_hidden,
            activation,
            bias,
            dropout,
            save,
            hidden_dropout=hidden_dropout,
            **where,
        )
        self.norm1 = normalizer(normalization, d_model, eps, bias, **where)
        self.norm2 = normalizer(normalization, d_model, eps, bias, **where)

    def forward(
        self, x: Tensor, attn_mask: Tensor | None = None, key_padding_mask: Tensor | None = None
    ) -> Tensor:
        """Return the block's output; masks as in `SelfAttention`."""
        if self.norm == "post":
            x = self.norm1(x + self._attend(x, attn_mask, key_padding_mask))
            y: Tensor = self.norm2(x + self.feed_forward(x))
            return y
        x = x + self._attend(self.norm1(x), attn_mask, key_padding_mask)
        return x + self.feed_forward(self.norm2(x))

    def _attend(self, x: Tensor, attn: Tensor | None, padding: Tensor | None) -> Tensor:
        return F.dropout(self.attention(x, attn, padding), self.dropout, self.training)

    def extra_repr(self) -> str:
        """Return the position of the norms and the dropout."""
        dropped = f", dropout={self.dropout:g}" if self.dropout else ""
        return f"norm={self.norm!r}{dropped}"


def normalizer(
    kind: Normalization, d_model: int, eps: float, bias: bool, device: Any = None, dtype: Any = None
) -> nn.Module:
    """Return a LayerNorm or an RMSNorm."""
    if check_choice("normalization", kind, get_args(Normalization)) == "layer":
        return nn.LayerNorm(d_model, eps, bias=bias, device=device, dtype=dtype)
    return nn.RMSNorm(d_model, eps, device=device, dtype=dtype)


class Stack(nn.Module):
    """`n_blocks` transformer blocks of one shape, each with its own parameters.

    Parameters
    ----------
    n_blocks : int
        Number of blocks.
    d_model, n_heads, d_hidden : int
        As in `TransformerBlock`.
    final_norm : bool, optional
        Whether a norm follows; by default only with `norm="pre"`, whose blocks do not norm their
        sum.
    **options
        Other arguments of `TransformerBlock`.

    Examples
    --------
    >>> import torch
    >>> stack = Stack(2, 16, 4, 64, norm="pre", batch_first=True)
    >>> stack(torch.zeros(3, 5, 16)).shape
    torch.Size([3, 5, 16])
    """

    def __init__(
        self,
        n_blocks: int,
        d_model: int,
        n_heads: int,
        d_hidden: int,
        *,
        final_norm: bool | None = None,
        **options: Any,
    ) -> None:
        super().__init__()
        (n_blocks,) = check_widths(n_blocks=n_blocks)
        blocks = [TransformerBlock(d_model, n_heads, d_hidden, **options) for _ in range(n_blocks)]
        self.blocks = nn.ModuleList(blocks)
        if final_norm is None:
            final_norm = blocks[0].norm == "pre"
        self.norm = deepcopy(blocks[0].norm2) if final_norm else None

    def forward(
        self, x: Tensor, attn_mask: Tensor | None = None, key_padding_mask: Tensor | None = None
    ) -> Tensor:
        """Return the output of the last block, or of the final norm; masks go to each block."""
        for block in self.blocks:
            x = block(x, attn_mask, key_padding_mask)
        return x if self.norm is None else self.norm(x)
