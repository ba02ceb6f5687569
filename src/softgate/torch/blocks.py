"""A transformer block: attention and feed-forward, each with a residual and a norm.

Norms are applied after the sums ("post": the original, BERT) or before the sublayers ("pre": GPT-2,
ViT, T5, LLaMA).
"""

from __future__ import annotations

from typing import Any, Literal, get_args

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from softgate.frameworks.block_arguments import check_choice, check_share, check_widths, is_gated
from softgate.runtime.activation import Activation
from softgate.runtime.gated import Gated

from .attention import SelfAttention
from .feed_forward import FeedForward, GatedFeedForward, Save
from .modules import NAME_SOURCES

Norm = Literal["post", "pre"]
Normalization = Literal["layer", "rms"]


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

    def __init__(  # noqa: PLR0913 - torch.nn's layers have as many
        self,
        d_model: int,
        n_heads: int,
        d_hidden: int,
        activation: str | Activation | Gated | nn.Module = "gelu",
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
