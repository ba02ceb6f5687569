"""Activations in the workers of a DataLoader, forked and spawned: run by test_torch.py.

A spawned worker imports this file, hence nothing but what it needs is imported here.
"""

from __future__ import annotations

import torch
from torch.utils.data import DataLoader, Dataset

import softgate as sg


class Numbers(Dataset[torch.Tensor]):
    """Rows that a worker passes through an activation."""

    def __len__(self) -> int:
        return 6

    def __getitem__(self, index: int) -> torch.Tensor:
        result: torch.Tensor = sg.gelu(torch.full((70_000,), float(index) - 3))
        return result[:2]


def main() -> None:
    sg.gelu(torch.randn(300_000))  # the pool is at work before the fork
    for start, workers in (("fork", 2), ("spawn", 1)):
        loader = DataLoader(
            Numbers(), batch_size=3, num_workers=workers, multiprocessing_context=start
        )
        rows = torch.cat(list(loader))
        assert torch.equal(rows[:, 0], sg.gelu(torch.arange(6.0) - 3)), start


if __name__ == "__main__":
    main()
