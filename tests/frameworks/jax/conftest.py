"""The fixture of tests about JAX operators."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import softgate.jax


@pytest.fixture
def jax_operators() -> Iterator[None]:
    """Compute with JAX operators, as on other platforms, in place of kernels."""
    with softgate.jax.prefer_operators():
        yield
