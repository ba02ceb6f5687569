"""Arguments of feed-forward blocks: matched widths, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from torch import nn

import softgate as sg
from softgate.torch import FeedForward, GatedFeedForward, matched_width


def plain(**options: Any) -> FeedForward:
    return FeedForward(8, 24, **options)


def gated(**options: Any) -> GatedFeedForward:
    return GatedFeedForward(8, 24, **options)


@pytest.mark.parametrize(
    ("d_model", "d_hidden", "multiple_of", "width"),
    [(768, 3072, 1, 2048), (4096, 16384, 256, 11008), (512, 2048, 1, 1365)],
)
def test_a_gated_block_matches_a_plain_one(
    d_model: int, d_hidden: int, multiple_of: int, width: int
) -> None:
    assert matched_width(d_model, d_hidden, multiple_of=multiple_of) == width
    for bias in (False, True):
        options: Any = {"bias": bias, "device": "meta"}
        block = GatedFeedForward(d_model, d_hidden, match="parameters", **options)
        counts = [count(block), count(FeedForward(d_model, d_hidden, **options))]
        assert abs(counts[0] - counts[1]) <= 3 * d_model  # half a unit either way, and its biases
        assert count(GatedFeedForward(d_model, **options)) == counts[0]


def count(block: nn.Module) -> int:
    return sum(p.numel() for p in block.parameters())


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (
            lambda: plain(activation="gelo"),
            ValueError,
            "did you mean 'gelu'.*Choose from: .*, tanh",
        ),
        (lambda: plain(activation="swiglu"), ValueError, "use GatedFeedForward"),
        (lambda: plain(activation=sg.swiglu), ValueError, "use GatedFeedForward"),
        (lambda: plain(activation=3), TypeError, "activation is 3, of type int"),
        (lambda: gated(activation="gelu"), ValueError, "with one, it is 'geglu'"),
        (lambda: gated(activation="swigloo"), ValueError, "did you mean 'swiglu'"),
        (lambda: gated(match="speed"), ValueError, "match = 'speed': expected"),
        (lambda: plain(save="nothing"), ValueError, "save = 'nothing': expected"),
        (lambda: plain(dropout=-0.1), ValueError, "dropout = -0.1: expected a probability"),
        (lambda: plain(dropuot=0.1), TypeError, "gelu has no parameter 'dropuot'"),
        (lambda: FeedForward(8, 2.5), ValueError, "d_hidden = 2.5: expected a positive integer"),
        (
            lambda: FeedForward.from_linears(nn.Linear(2, 3), nn.Linear(4, 2)),
            ValueError,
            "not transposes",
        ),
        (lambda: FeedForward.from_linears(nn.Linear(2, 3), nn.ReLU()), TypeError, "fc2 is a ReLU"),
    ],
)
def test_wrong_arguments_are_refused(
    make: Callable[[], object], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        make()
