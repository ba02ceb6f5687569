"""Masks mean what they do in nn.MultiheadAttention, one by one and together."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
import torch
from closeness import CLOSE, distance, hidden, inputs, shaken
from torch import Tensor, nn

from softgate.torch import SelfAttention, TransformerBlock


def masks() -> Iterable[Any]:
    generator = torch.Generator().manual_seed(5)
    square = torch.rand(7, 7, generator=generator) > 0.6
    square.fill_diagonal_(False)
    each = torch.rand(3 * 4, 7, 7, generator=generator) > 0.6
    each.diagonal(dim1=1, dim2=2).fill_(False)
    padding = torch.zeros(3, 7, dtype=torch.bool)
    padding[2, 5:] = True
    added = torch.randn(7, 7, generator=generator)
    added_padding = torch.randn(3, 7, generator=generator)
    yield pytest.param(None, None, id="none")
    yield pytest.param(square, None, id="bool")
    yield pytest.param(each, None, id="bool for each head")
    yield pytest.param(added, None, id="float")
    yield pytest.param(each.float(), None, id="float for each head")
    yield pytest.param(None, padding, id="padding")
    yield pytest.param(None, added_padding, id="float padding")
    yield pytest.param(added, added_padding, id="both float")
    yield pytest.param(torch.ones(7, 7, dtype=torch.bool).triu(1), padding, id="both bool")


@pytest.mark.parametrize("causal", [False, True], ids=["all", "causal"])
@pytest.mark.parametrize("batch_first", [False, True], ids=["sequence first", "batch first"])
@pytest.mark.parametrize(("attn_mask", "padding"), list(masks()))
def test_masks_mean_what_torchs_do(
    attn_mask: Tensor | None, padding: Tensor | None, batch_first: bool, causal: bool
) -> None:
    theirs = shaken(nn.MultiheadAttention(16, 4, batch_first=batch_first))
    ours = SelfAttention(16, 4, batch_first=batch_first, causal=causal)
    ours.load_state_dict(theirs.state_dict())
    x = inputs(16, *((3, 7) if batch_first else (7, 3)))
    argument = attn_mask
    if causal:
        later = torch.ones(7, 7, dtype=torch.bool).triu(1)
        if argument is None or argument.dtype is torch.bool:
            argument = later if argument is None else argument | later
        else:
            argument = argument.masked_fill(later, -torch.inf)
    if padding is not None and argument is not None and padding.dtype is not argument.dtype:
        argument = hidden(argument) if argument.dtype is torch.bool else argument
        padding_given = padding.float() if padding.dtype is not torch.bool else hidden(padding)
    else:
        padding_given = padding
    expected, _ = theirs(
        x, x, x, attn_mask=argument, key_padding_mask=padding_given, need_weights=False
    )
    assert distance(ours(x, attn_mask, padding), expected) < CLOSE


def test_a_query_that_sees_nothing_gets_zeros() -> None:
    attention = SelfAttention(8, 2, bias=False)
    x = inputs(8, 5, 2)
    blocked = torch.zeros(5, 5, dtype=torch.bool)
    blocked[3] = True
    y = attention(x, blocked)
    assert not y[3].any()
    y.sum().backward()
    assert x.grad is not None
    assert x.grad.isfinite().all()


def test_later_positions_change_nothing_before_them() -> None:
    block = TransformerBlock(8, 2, 16, norm="pre", batch_first=True, causal=True)
    x = inputs(8, 1, 6).detach()
    changed = x.clone()
    changed[0, 4:] += 1
    before, after = block(x), block(changed)
    assert torch.equal(before[0, :4], after[0, :4])
    assert not torch.equal(before[0, 4:], after[0, 4:])


@pytest.mark.parametrize("mask", ["attn_mask", "key_padding_mask"])
def test_masks_of_a_wrong_shape_or_kind_are_refused(mask: str) -> None:
    block = TransformerBlock(8, 2, 16)
    x = inputs(8, 5, 3)
    with pytest.raises(ValueError, match=rf"{mask} has shape \(4, 4\): expected"):
        block(x, **{mask: torch.zeros(4, 4)})
    with pytest.raises(TypeError, match=rf"{mask} is torch.int64: expected bool"):
        block(x, **{mask: torch.zeros(5, 5, dtype=torch.int64)})
