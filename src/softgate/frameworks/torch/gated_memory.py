"""Kernels of gated activations over the memory of CPU tensors: two operands, one or two results.

Halves of a tensor are rows that lie apart; so are the results that fill the halves of a gradient.
Kernels run over them where they lie.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch

from softgate.runtime.gated_call import RESULTS, Options
from softgate.runtime.pairs import SHORT_ROW

from . import openmp, operators
from .gated_operands import halves
from .memory import ACCEPTED, DTYPES, NO_MEMORY, Parameters, alike, run

if TYPE_CHECKING:
    from softgate.runtime.gated import Gated
    from softgate.runtime.routes import GatedRoute, Runner

Tensors = Sequence[torch.Tensor]


class Pair:
    """A gated activation with fixed parameters and its kernels, each looked up once a dtype."""

    __slots__ = (
        "act",
        "arithmetic",
        "function",
        "in_rows",
        "key",
        "parameters",
        "runners",
        "values",
    )

    def __init__(
        self, function: Gated, key: str, parameters: Parameters, arithmetic: str | None
    ) -> None:
        self.function, self.key = function, key
        self.parameters, self.arithmetic = parameters, arithmetic
        self.values = [value for _, value in parameters]
        self.act = operators.bound_of(function.entry.act.name, self.values, arithmetic or "")
        """The activation of the gate alone, of which second derivatives are made."""
        self.runners: dict[tuple[str, torch.dtype], Runner] = {}
        self.in_rows: dict[tuple[str, torch.dtype], GatedRoute] = {}

    def route(self, quantity: str, dtype: torch.dtype) -> GatedRoute:
        """Return the way of a quantity of tensors of `dtype`; raise where there is none."""
        if dtype not in DTYPES:
            name = self.function.name
            raise TypeError(f"{name} of a {dtype} tensor: accepted are {ACCEPTED}")
        options = Options(None, self.arithmetic, None, dict(self.parameters))
        return self.function.gating.route(quantity, DTYPES[dtype], options)

    def value(self, gate: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
        """Return act(gate)·other for CPU tensors of one shape and dtype."""
        return self.compute("value", gate, other)[0]

    def compute(self, quantity: str, *operands: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Return the results of a quantity for CPU tensors of one shape and dtype."""
        gate = operands[0]
        results = tuple([torch.empty_like(gate) for _ in range(RESULTS[quantity])])
        runner = self.runners.get((quantity, gate.dtype))
        if runner is not None and all(x.is_contiguous() and not x.is_neg() for x in operands):
            run(runner, *results, *operands)
        else:
            self.fill(quantity, results, operands)
        return results

    def fill(self, quantity: str, results: Tensors, operands: Tensors) -> None:
        """Write the results of a quantity to tensors of one layout, whatever the operands' is."""
        route, dtype = self.route(quantity, results[0].dtype), results[0].dtype
        if route.storage.bits != 8 * dtype.itemsize:  # 16 bits, and a kernel for float64 only
            wide = [torch.empty_like(result, dtype=torch.float64) for result in results]
            _over(route, wide, [x.double() for x in operands])
            for result, found in zip(results, wide, strict=True):
                result.copy_(found)
            return
        self.runners[quantity, dtype] = route.runner()
        _over(route, results, [x.resolve_neg() for x in operands])

    def halves(self, x: torch.Tensor, dim: int, gate_first: bool) -> torch.Tensor:
        """Return act(gate)·other of the halves of a CPU tensor."""
        shape = list(x.shape)
        shape[dim] //= 2
        out = x.new_empty(shape)
        if not self._over_rows("value", x, dim, gate_first, (out,)):
            self.fill("value", (out,), halves(x, dim, gate_first))
        return out

    def joined(
        self, x: torch.Tensor, dim: int, gate_first: bool, grad: torch.Tensor
    ) -> torch.Tensor:
        """Return the derivatives by both halves of `x` times `grad`, as one tensor like `x`."""
        if 2 * grad.numel() != x.numel():
            raise ValueError(f"grad has shape {tuple(grad.shape)}, and x {tuple(x.shape)}")
        result = torch.empty_like(x, memory_format=torch.contiguous_format)
        if not self._over_rows("backward", x, dim, gate_first, (grad,), result):
            operands = (*halves(x, dim, gate_first), grad)
            self.fill("backward", halves(result, dim, gate_first), operands)
        return result

    def _over_rows(
        self,
        quantity: str,
        x: torch.Tensor,
        dim: int,
        gate_first: bool,
        beside: Tensors,
        whole: torch.Tensor | None = None,
    ) -> bool:
        """Run a kernel over the halves of `x`, and those of `whole`, if they lie in long rows."""
        for y in (x, *beside):
            if not y.is_contiguous() or y.is_neg():
                return False
        count, item, dtype = x.numel(), x.element_size(), x.dtype
        columns = x.stride(dim) * x.shape[dim] // 2 if count else 0
        if columns < SHORT_ROW:
            return False
        route = self.in_rows.get((quantity, dtype))
        if route is None:
            route = self.route(quantity, dtype)
            if route.storage.bits != 8 * item:
                return False
            self.in_rows[quantity, dtype] = route
        # Of `whole`, which is written, then of `x` the gate and the other; what lies beside them
        # is written first or read last.
        starts: list[int] = []
        for y in (x,) if whole is None else (whole, x):
            first = y.data_ptr()
            second = first + columns * item
            starts += (first, second) if gate_first else (second, first)
        pieces = [y.data_ptr() for y in beside]
        apart, dense = [2 * columns] * len(starts), [columns] * len(beside)
        if whole is None:
            addresses, distances = pieces + starts, dense + apart
        else:
            addresses, distances = starts + pieces, apart + dense
        if 0 in addresses:
            raise RuntimeError(NO_MEMORY)
        shape = (count // (2 * columns), columns)
        openmp.run_rows(route, shape, item, distances, addresses)
        return True

    def memory(self, quantity: str, *operands: torch.Tensor) -> str:
        """Say whether a kernel reads operands where they lie."""
        like = torch.empty_like(operands[0])
        if any(x.is_neg() or alike(x, like) is not x for x in operands):
            lie = _rows((like, *operands))
            if lie is None or lie[0] < SHORT_ROW or any(x.is_neg() for x in operands):
                return "copied first: not one piece of memory"
            return "read where it lies, row by row"
        return "read where it lies"

    def overwrite(self, grad: torch.Tensor, gate: torch.Tensor, other: torch.Tensor) -> Tensors:
        """Return both derivatives times `grad`, the gate's in the memory of `grad` if it can be."""
        route, all_three = self.route("backward", grad.dtype), (gate, other, grad)
        same_format = route.storage.bits == 8 * grad.dtype.itemsize
        if not same_format or any(x.is_neg() or not x.is_contiguous() for x in all_three):
            return self.compute("backward", *all_three)
        beside = torch.empty_like(grad)
        run(route.runner("grad"), grad, beside, *all_three)
        return grad, beside


def matched(like: torch.Tensor, *operands: torch.Tensor) -> list[torch.Tensor]:
    """Return operands in the format and shape of another: kernels take it for granted."""
    return [
        x if x.dtype is like.dtype and x.shape == like.shape else x.to(like.dtype).expand_as(like)
        for x in operands
    ]


def _over(route: GatedRoute, results: Tensors, operands: Tensors) -> None:
    """Run a kernel over tensors of one shape: where they lie in rows, else on copies."""
    first = results[0]
    if first.numel() == 0:
        return
    lie = _rows((*results, *operands))
    if lie is not None and lie[0] >= SHORT_ROW:
        columns, distances = lie
        if all(distance == columns for distance in distances):
            run(route.runner(), *results, *operands)
        else:
            addresses = [x.data_ptr() for x in (*results, *operands)]
            if 0 in addresses:
                raise RuntimeError(NO_MEMORY)
            shape, item = (first.numel() // columns, columns), first.element_size()
            openmp.run_rows(route, shape, item, distances, addresses)
        return
    dense = [torch.empty_like(first) for _ in results]
    if dense[0].stride() == first.stride():
        dense = list(results)
    run(route.runner(), *dense, *(alike(x, dense[0]) for x in operands))
    for result, found in zip(results, dense, strict=True):
        if found is not result:
            result.copy_(found)


def _rows(tensors: Tensors) -> tuple[int, list[int]] | None:
    """Return the length of rows that are one piece of memory in each tensor, and their distances.

    In C order, and a tensor's rows must be equally far apart; else None.
    """
    shape = tensors[0].shape
    columns = min(_piece(x) for x in tensors)
    axes, length = len(shape), 1
    while axes and length * shape[axes - 1] <= columns:
        axes -= 1
        length *= shape[axes]
    distances = []
    for x in tensors:
        distance, expected = columns, None
        for axis in reversed(range(axes)):
            if shape[axis] == 1:
                continue
            if expected is None:
                distance = expected = x.stride(axis)
            elif x.stride(axis) != expected:
                return None
            expected *= shape[axis]
        distances.append(distance)
    return columns, distances


def _piece(x: torch.Tensor) -> int:
    """Return how many elements of a tensor's last axes lie side by side."""
    length = 1
    for size, stride in zip(reversed(x.shape), reversed(x.stride()), strict=True):
        if size != 1:
            if stride != length:
                break
            length *= size
    return length
