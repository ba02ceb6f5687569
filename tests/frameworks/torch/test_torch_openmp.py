"""Chunks on torch's own threads: the same bits as on one, in a forked child too."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import torch

import softgate as sg
from softgate.frameworks.torch import openmp

COUNTS = (1 << 14, (1 << 14) + 1, 65_537, 300_007)


@pytest.fixture(autouse=True)
def _threads() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("with_openmp", [True, False], ids=["OpenMP", "pool"])
def test_the_bits_do_not_depend_on_threads(
    dtype: torch.dtype, with_openmp: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if with_openmp and openmp._openmp() is None:
        pytest.skip("this torch is built without GNU OpenMP")
    if not with_openmp:
        monkeypatch.setattr(openmp, "_openmp", lambda: None)
    for count in COUNTS:
        x = torch.linspace(-12, 12, count).to(dtype)
        grad = torch.linspace(1, 2, count).to(dtype)
        torch.set_num_threads(1)
        value, backward = sg.gelu(x), sg.gelu.backward(x, grad)
        for threads in (2, 3, 7):
            torch.set_num_threads(threads)
            assert torch.equal(sg.gelu(x), value)
            assert torch.equal(sg.gelu.backward(x, grad), backward)
            again = x.clone()
            assert torch.equal(sg.torch.functional.gelu_(again), value)


def test_every_chunk_is_taken_once() -> None:
    """Not one element more than there are, none left out: the borders stay as they were."""
    torch.set_num_threads(3)
    runner = sg.gelu.route("value", np.dtype("float32"), None, {}).runner()
    for count in COUNTS:
        room = torch.full((count + 128,), 7.0)
        x = torch.full((count,), 2.0)
        openmp.run(runner, count, 4, (room.data_ptr() + 256, x.data_ptr()))
        assert (room[:64] == 7).all()
        assert (room[64 + count :] == 7).all()
        assert (room[64 : 64 + count] == sg.gelu(torch.tensor(2.0))).all()
