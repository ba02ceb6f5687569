"""Shared by the tests of `watch`: a seeded torch with one thread, and a model around a function."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402


@pytest.fixture(autouse=True)
def seeded():
    """The same weights in every test, whichever ran before."""
    torch.manual_seed(0)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # two threads for tensors this small only wait for each other
    yield
    torch.set_num_threads(threads)


class Calls(nn.Module):
    """A linear layer and a function of its output."""

    def __init__(self, function, width=6):
        super().__init__()
        self.fc, self.function = nn.Linear(width, width), function

    def forward(self, x):
        return self.function(self.fc(x))
