"""Checks of sharded tensors in two processes: `python sharded.py FOLDER`.

Each checks that values and gradients of DTensors equal those of the whole tensors, bit for bit. One
is a fork of the other, which saves a second import of torch and its compiler.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

import softgate as sg

assert "torch.distributed.tensor" not in sys.modules, "import softgate loads torch.distributed"
sg.gelu(torch.ones(2, requires_grad=True)).sum().backward()
torch.func.vmap(sg.gelu)(torch.ones(2))
assert "torch.distributed.tensor" not in sys.modules, "plain calls load torch.distributed"

import torch._dynamo  # noqa: E402 - before the fork
from torch.distributed.tensor import (  # noqa: E402
    DTensor,
    Partial,
    Replicate,
    Shard,
    distribute_tensor,
    init_device_mesh,
)
from torch.distributed.tensor.parallel import (  # noqa: E402
    ColwiseParallel,
    RowwiseParallel,
    parallelize_module,
)


def check(
    function: Callable[..., Any], operands: tuple[Tensor, ...], placements: tuple[Any, ...]
) -> None:
    """Compare value and gradients with those of the same call on whole tensors."""
    whole = [x.clone().requires_grad_() for x in operands]
    parts = [
        distribute_tensor(x, MESH, [placement]).requires_grad_()
        for x, placement in zip(operands, placements, strict=True)
    ]
    expected, result = function(*whole), function(*parts)
    assert isinstance(result, DTensor)
    assert torch.equal(result.full_tensor(), expected), (function, placements)
    if len(set(placements)) == 1 and result.shape == operands[0].shape:
        assert result.placements == placements[:1], (function, result.placements)
    grad = torch.linspace(-1, 1, expected.numel()).reshape(expected.shape)
    expected.backward(grad)
    result.backward(distribute_tensor(grad, MESH, result.placements))
    for part, x in zip(parts, whole, strict=True):
        assert torch.equal(part.grad.full_tensor(), x.grad), (function, placements)


def check_partial(function: Callable[..., Any], x: Tensor) -> None:
    """A sum of which each process has a part is added up first."""
    part = DTensor.from_local(x, MESH, [Partial()])
    assert torch.equal(function(part).full_tensor(), function(2 * x)), function


class MLP(nn.Module):
    def __init__(self, act: nn.Module) -> None:
        super().__init__()
        self.up, self.act, self.down = nn.Linear(8, 16), act, nn.Linear(16, 8)

    def forward(self, x: Tensor) -> Any:
        return self.down(self.act(self.up(x)))


def check_tensor_parallel(act: nn.Module, local: bool, compiled: bool = False) -> None:
    """Compare a tensor-parallel model with the same model in one piece."""
    torch.manual_seed(0)
    model = MLP(act)
    x = torch.randn(4, 8)
    expected = model(x)
    expected.sum().backward()
    grad = model.up.weight.grad
    assert grad is not None
    model.zero_grad()
    plan = {"up": ColwiseParallel(use_local_output=local), "down": RowwiseParallel()}
    parallel: Any = parallelize_module(model, MESH, plan)
    run = torch.compile(parallel, backend="aot_eager") if compiled else parallel
    result = run(x)
    torch.testing.assert_close(result, expected)
    result.sum().backward()
    torch.testing.assert_close(parallel.up.weight.grad.full_tensor(), grad)


def main() -> None:
    x = torch.randn(4, 6, generator=torch.Generator().manual_seed(0))
    y = x.flip(0)
    # The operators take the function's name: one of each kind will do. The gradients of relu and
    # elu come from their values.
    for act in (sg.gelu, sg.relu, sg.elu):
        for placement in (Shard(0), Shard(1), Replicate()):
            check(act, (x,), (placement,))
        check_partial(act, x)
    check_partial(sg.gelu.slope, x)
    function = sg.swiglu
    for first in (Shard(0), Shard(1), Replicate()):
        for second in (first, Replicate()):
            check(function, (x, y), (first, second))
        check(function, (x,), (first,))  # its last axis is halved
        check(lambda a: function(a, axis=0), (x,), (first,))
    check_partial(function, x)
    check(sg.gelu.backward, (x, y), (Shard(0), Shard(0)))
    check(sg.gelu.slope, (x,), (Shard(1),))
    for local in (True, False):
        check_tensor_parallel(sg.torch.GELU(), local)
    check_tensor_parallel(sg.torch.ReLU(), False)
    check_tensor_parallel(sg.torch.GELU(), False, compiled=True)


if __name__ == "__main__":
    torch.set_num_threads(1)
    child = os.fork()
    store = f"file://{sys.argv[1]}/store"
    dist.init_process_group("gloo", store, rank=int(child == 0), world_size=2)
    MESH = init_device_mesh("cpu", (2,))
    main()
    dist.destroy_process_group()
    if child:
        sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
