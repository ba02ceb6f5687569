"""The published digests from PyTorch: eager tensors, autograd, torch.compile, any threads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import softgate as sg
from softgate.runtime.gated import Gated
from softgate.studies.reproducibility import digests
from softgate.studies.reproducibility.digests import Function, digest, operands, published_digest

torch = pytest.importorskip("torch")

# torch itself still uses in inductor what it deprecates.
pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")

FUNCTIONS = digests.catalogue()
EACH = pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
COMPILED = ("gelu", "tanh", "relu", "swiglu")
"""Compiling takes seconds each: two with a fit, one whose output is saved, and a gated one."""


@pytest.fixture
def torch_threads() -> Iterator[None]:
    """Four threads of torch during a test, and dynamo's caches empty after it."""
    before = torch.get_num_threads()
    torch.set_num_threads(4)
    yield
    torch.set_num_threads(before)
    torch._dynamo.reset()


def tensors(function: Function, quantity: str, dtype: str) -> list[Any]:
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


def differing(function: Function, call: Any, dtypes: tuple[str, ...]) -> list[str]:
    """Return the digests of value and autograd's gradients that are not the published ones."""
    values = []
    for dtype in dtypes:
        *inputs, grad = tensors(function, "backward", dtype)
        leaves = [x.requires_grad_() for x in inputs]
        y = call(*leaves)
        gradients = torch.autograd.grad(y, leaves, grad)
        for quantity, results in (("value", (y,)), ("backward", gradients)):
            if digest_of(*results) != published_digest(function.name, quantity, dtype):
                values.append(f"{function.name} {quantity} {dtype}")
    return values


@EACH
def test_eager_tensors_have_the_published_bits(function: Function) -> None:
    assert differing(function, function, digests.DTYPES) == []
    for quantity in ("slope", "backward"):
        results = getattr(function, quantity)(*tensors(function, quantity, "float32"))
        results = results if isinstance(results, tuple) else (results,)
        assert digest_of(*results) == published_digest(function.name, quantity, "float32")


@EACH
def test_threads_and_strides_of_tensors_do_not_change_a_bit(
    function: Function, torch_threads: None
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


@pytest.mark.parametrize("name", COMPILED)
def test_compiled_graphs_have_the_published_bits(name: str, torch_threads: None) -> None:
    function = FUNCTIONS[name]
    dtypes = ("float32",) if isinstance(function, Gated) else ("float32", "bfloat16")
    assert differing(function, torch.compile(function, fullgraph=True), dtypes) == []


def test_the_bits_of_another_gelu_are_not_the_published_ones() -> None:
    """torch's own gelu has other bits, which these tests would show."""
    assert differing(sg.gelu, torch.nn.functional.gelu, ("float32",)) != []
