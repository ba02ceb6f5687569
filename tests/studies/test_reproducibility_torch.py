"""The published digests from PyTorch tensors of any layout, on several threads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from softgate.runtime.activation import Activation
from softgate.studies.reproducibility import digests
from softgate.studies.reproducibility.digests import digest, operands, published_digest

torch = pytest.importorskip("torch")

FUNCTIONS = digests.catalogue()
EACH = pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)


@pytest.fixture
def torch_threads() -> Iterator[None]:
    """Four threads of torch during a test, and dynamo's caches empty after it."""
    before = torch.get_num_threads()
    torch.set_num_threads(4)
    yield
    torch.set_num_threads(before)
    torch._dynamo.reset()


def tensors(function: Activation, quantity: str, dtype: str) -> list[Any]:
    argument = operands(function, quantity, dtype)
    if dtype == "bfloat16":
        return [torch.from_numpy(x.view(np.int16).copy()).view(torch.bfloat16) for x in argument]
    return [torch.from_numpy(x.copy()) for x in argument]


def digest_of(*results: Any) -> str:
    """Return the digest of tensors; NaNs are alike, as a CPU chooses their sign and payload."""
    values = [y.detach().contiguous() for y in results]
    if values[0].dtype == torch.bfloat16:
        return digest(*(y.view(torch.int16).numpy().view(ml_dtypes.bfloat16) for y in values))
    return digest(*(y.numpy() for y in values))


@EACH
def test_threads_and_strides_of_tensors_do_not_change_a_bit(
    function: Activation, torch_threads: None
) -> None:
    argument = tensors(function, "value", "float32")
    expected = published_digest(function.name, "value", "float32")
    rows = 40
    assert rows * argument[0].nbytes > 3 << 20
    layouts = {
        "rows": [x.expand(rows, -1).contiguous() for x in argument],
        "broadcast": [x.expand(rows, -1) for x in argument],
        "columns": [x.expand(rows, -1).t().contiguous().t() for x in argument],
    }
    for name, operand in layouts.items():
        y = function(*operand)
        assert {digest_of(y[row]) for row in (0, 7, rows - 1)} == {expected}, name
