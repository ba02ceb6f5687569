"""Large results are in huge pages where the system has them, and only their own pages."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

import softgate as sg
from softgate.frameworks.torch import huge_pages

LARGE = huge_pages.LEAST_BYTES // 4
"""Elements of float32 from which on huge pages are advised."""


@pytest.fixture
def advised(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[int, int]]]:
    """The ranges for which huge pages are advised, instead of that advice."""
    ranges: list[tuple[int, int]] = []

    def madvise(start: int, length: int, advice: int) -> int:
        assert advice == 14  # Linux's MADV_HUGEPAGE
        ranges.append((start, start + length))
        return 0

    monkeypatch.setattr(mmap, "MADV_HUGEPAGE", 14, raising=False)
    monkeypatch.setattr(huge_pages, "_madvise", lambda: madvise)
    return ranges


def inside(result: torch.Tensor, advised: tuple[int, int]) -> bool:
    """Return whether the range is all the whole pages of a tensor."""
    start, stop = advised
    first, end = result.data_ptr(), result.data_ptr() + result.nbytes
    whole = start % mmap.PAGESIZE == 0 and stop % mmap.PAGESIZE == 0
    return whole and 0 <= start - first < mmap.PAGESIZE and 0 <= end - stop < mmap.PAGESIZE


def test_results_and_gradients(advised: list[tuple[int, int]]) -> None:
    x, grad = torch.ones(LARGE, requires_grad=True), torch.ones(LARGE)
    value = sg.gelu(x)
    assert len(advised) == 1
    assert inside(value, advised.pop())
    (slope,) = torch.autograd.grad(value, x, grad)
    assert len(advised) == 1
    assert inside(slope, advised.pop())
    direct = sg.gelu.backward(grad, grad)
    assert inside(direct, advised.pop())
    assert torch.equal(direct, slope)


def test_results_of_gated_functions(advised: list[tuple[int, int]]) -> None:
    x = torch.ones(2, 2 * LARGE, requires_grad=True)
    value = sg.swiglu(x)
    assert inside(value, advised.pop())
    (slope,) = torch.autograd.grad(value, x, torch.ones_like(value))
    assert inside(slope, advised.pop())
    for result in sg.swiglu.slope(value.detach(), value.detach()):
        assert inside(result, advised.pop(0))
    assert not advised


def test_small_and_overwritten_tensors_are_left_alone(advised: list[tuple[int, int]]) -> None:
    sg.gelu(torch.ones(LARGE - 1))
    sg.torch.functional.gelu_(torch.ones(LARGE))
    assert not advised
    sg.gelu(torch.ones(LARGE, dtype=torch.float16))
    assert not advised
    sg.gelu(torch.ones(2 * LARGE, dtype=torch.float16))
    assert len(advised) == 1


@pytest.mark.skipif(huge_pages._madvise() is None, reason="this system has no huge pages")
def test_the_system_was_advised() -> None:
    value = sg.gelu(torch.ones(4 * LARGE))
    middle, flags = value.data_ptr() + value.nbytes // 2, None
    for line in Path("/proc/self/smaps").read_text(encoding="utf-8").splitlines():
        head = line.split()[0]
        if "-" in head and not head.endswith(":"):
            start, stop = (int(end, 16) for end in head.split("-"))
        elif head == "VmFlags:" and start <= middle < stop:
            flags = line.split()[1:]
    assert flags is not None
    assert "hg" in flags


@pytest.mark.parametrize(
    ("setting", "available"), [("always [madvise] never", True), ("always madvise [never]", False)]
)
def test_the_setting_of_the_system(
    setting: str, available: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "enabled"
    monkeypatch.setattr(huge_pages, "SETTING", file)
    assert huge_pages._madvise.__wrapped__() is None  # no such file
    file.write_text(setting)
    has_function = huge_pages._madvise.__wrapped__() is not None
    assert has_function == (available and hasattr(mmap, "MADV_HUGEPAGE"))


def test_explain(advised: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch) -> None:
    large = torch.ones(LARGE)
    assert sg.explain(large).memory == "input not copied, result in huge pages"
    assert sg.explain((large, large), "swiglu").memory.endswith("result in huge pages")
    assert sg.explain(large[1:]).memory == "input not copied"
    monkeypatch.setattr(huge_pages, "_madvise", lambda: None)
    assert sg.explain(large).memory == "input not copied"
    assert torch.equal(sg.gelu(large)[:9], sg.gelu(large[:9]))
