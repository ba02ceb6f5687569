"""A stack of transformer blocks, with a final norm after pre-norm blocks."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from softgate.frameworks.block_arguments import check_widths

from .blocks import TransformerBlock, normalizer


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
        n_blocks, d_model = check_widths(n_blocks=n_blocks, d_model=d_model)
        blocks = (TransformerBlock(d_model, n_heads, d_hidden, **options) for _ in range(n_blocks))
        self.blocks = nn.ModuleList(blocks)
        if final_norm is None:
            final_norm = options.get("norm") == "pre"
        self.norm: nn.Module | None = None
        if final_norm:
            self.norm = normalizer(
                options.get("normalization", "layer"),
                d_model,
                options.get("eps", 1e-5),
                options.get("bias", True),
                options.get("device"),
                options.get("dtype"),
            )

    def forward(
        self, x: Tensor, attn_mask: Tensor | None = None, key_padding_mask: Tensor | None = None
    ) -> Tensor:
        """Return the output of the last block, or of the final norm; masks go to each block."""
        for block in self.blocks:
            x = block(x, attn_mask, key_padding_mask)
        return x if self.norm is None else self.norm(x)
