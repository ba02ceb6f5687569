"""Sharding of softgate's operators for `torch.distributed.tensor.DTensor`.

Each is elementwise on operands of one shape, so any axis may be sharded, the same for all operands
and results; a tensor that is a partial sum is reduced first. The rules are registered when the
first DTensor arrives: nothing else needs torch.distributed.tensor, which takes long to import.
"""

from __future__ import annotations

import sys
from typing import Any

import torch

_registered: list[Any] = []


def prepare(*tensors: Any) -> None:
    """Register the operators' sharding rules if one of the tensors is a DTensor.

    Without tensors, register if the class is imported: under a compiler no tensor is available.
    """
    module = sys.modules.get("torch.distributed.tensor")
    if module is not None and not _registered:
        kind = getattr(module, "DTensor", ())  # absent while the module is being imported
        if kind and (not tensors or any(isinstance(x, kind) for x in tensors)):
            _register()


def _register() -> None:
    from torch.distributed.tensor import Replicate, Shard
    from torch.distributed.tensor.experimental import register_sharding

    softgate = torch.ops.softgate
    for operator in (
        softgate.evaluate.default,
        softgate.backward.default,
        softgate.from_value.default,
        softgate.gated.default,
        softgate.gated_backward.default,
    ):
        schema = operator._schema
        tensors = sum(str(argument.type) == "Tensor" for argument in schema.arguments)

        results = len(schema.returns)

        def alike(x: Any, *_: Any, operands: int = tensors, results: int = results) -> Any:
            placements = [Replicate(), *map(Shard, range(x.ndim))]
            return [([p] * results, [p] * operands) for p in placements]

        register_sharding(operator)(alike)
        _registered.append(operator)
