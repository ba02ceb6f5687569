"""Kernels over the memory of CPU tensors, without a copy where a tensor is dense.

Dense means one block of memory in any axis order. Strides matter: an
expanded gradient, as `.sum()` returns it, has one element in memory for all. Tensors that are not
dense are copied first, except the halves of a tensor: they are rows with a constant stride, over
which kernels run.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np
import torch

from softgate.formula.formats import BYTE_FORMATS, dtype_of
from softgate.runtime import kernels
from softgate.runtime.arrays import KERNEL_DTYPES
from softgate.runtime.threads import SERIAL, run_rows

from . import huge_pages, openmp, private
from .decompositions import QUANTITIES, Decomposition
from .huge_pages import empty_like
from .small_tensors import Table

if TYPE_CHECKING:
    from softgate.runtime.activation import Activation
    from softgate.runtime.routes import Route, Runner

DTYPES: dict[torch.dtype, np.dtype[Any]] = {
    torch.float16: np.dtype(np.float16),
    torch.bfloat16: np.dtype(ml_dtypes.bfloat16),
    torch.float32: np.dtype(np.float32),
    torch.float64: np.dtype(np.float64),
    **{
        getattr(torch, name): dtype_of(fmt)
        for name, fmt in BYTE_FORMATS.items()
        if hasattr(torch, name)
    },
}
ACCEPTED_BY_KERNELS = (
    f"{KERNEL_DTYPES} (integers and booleans are computed in torch's default dtype)"
)
ACCEPTED = f"{ACCEPTED_BY_KERNELS}, or float8 except float8_e8m0fnu"

SHORT_ROW = 4
"""Shorter rows are copied first: a kernel would take ten times as long over them."""

NO_MEMORY = (
    "a tensor has elements and no memory: its storage was freed (resize_(0)) or never there; "
    "fill it before it is computed with"
)

Parameters = tuple[tuple[str, float], ...]
Tensors = Sequence[torch.Tensor]


class BoundFunction:
    """A function with fixed parameters and its kernels, each looked up once per dtype."""

    __slots__ = (
        "arithmetic", "counts", "fingerprint", "forms", "from_output", "function", "in_rows", "key",
        "parameters", "runners", "tables", "values",
    )  # fmt: skip

    def __init__(
        self, function: Activation, key: str, parameters: Parameters, arithmetic: str | None
    ) -> None:
        self.function, self.parameters, self.arithmetic = function, parameters, arithmetic
        self.key, self.values = key, [value for _, value in parameters]
        """The arguments of an operator that identify the function and its parameters."""
        self.forms = Decomposition(function, parameters)
        self.counts = {
            quantity: function.entry.results(quantity) for quantity in kernels.QUANTITIES
        }
        """How many results each quantity has."""
        self.from_output = function.entry.can_save_output(dict(parameters))
        self.fingerprint: str | None = None
        """A hash of the formulas, once a compiled graph needs it."""
        self.runners: dict[tuple[str, torch.dtype, int | None], Runner] = {}
        """The kernels of tensors in their own format, by quantity, dtype and the only result."""
        self.tables: defaultdict[str, Table] = defaultdict(Table)
        """The same kernels by quantity, for the operators of small tensors."""
        self.in_rows: dict[tuple[str, torch.dtype], Route] = {}

    @property
    def arguments(self) -> tuple[str, list[float], str]:
        """The arguments of operators that follow the tensors."""
        return self.key, self.values, self.arithmetic or ""

    def saves_output(self, dtype: torch.dtype) -> bool:
        """Return whether autograd saves the value, whose backward has the bits of the input's.

        Not for float8: values overflow to NaN.
        """
        return self.from_output and dtype.itemsize > 1

    def route(self, quantity: str, dtype: torch.dtype, result: int | None = None) -> Route:
        """Return the route of tensors of `dtype`; raise if there is none."""
        if dtype not in DTYPES:
            raise TypeError(f"{self.function.name} of a {dtype} tensor: expected {ACCEPTED}")
        values = dict(self.parameters)
        return self.function.route(quantity, DTYPES[dtype], self.arithmetic, values, result)

    def runner(self, quantity: str, dtype: torch.dtype, result: int | None = None) -> Runner:
        """Return the kernel for a quantity of tensors of `dtype`; raise if there is none.

        With `result`, the kernel computes only that one of several results.
        """
        runner = self.runners.get((quantity, dtype, result))
        if runner is None:
            runner = self.route(quantity, dtype, result).runner()
            self.runners[quantity, dtype, result] = runner
            if self.counts[quantity] == 1:
                self.tables[quantity].add(dtype, runner)
        return runner

    def compute(self, quantity: str, *operands: torch.Tensor, result: int | None = None) -> Any:
        """Return the results of a quantity for CPU tensors: a tensor, or a tuple of several.

        With `result`, that one of several. The operands have the shape and dtype of the first.
        """
        first, *others = operands
        dtype = first.dtype
        runner = self.runners.get((quantity, dtype, result)) or self.runner(quantity, dtype, result)
        count = self.counts[quantity] if result is None else 1
        out = empty_like(first)
        results = (out,) if count == 1 else (out, *[empty_like(first) for _ in range(count - 1)])
        contiguous = first.is_contiguous() and not first.is_neg()
        for x in others:
            same = x.dtype is dtype and x.shape == first.shape
            contiguous = contiguous and same and x.is_contiguous() and not x.is_neg()
        if contiguous:
            run(runner, *results, *operands)
        else:
            self._fill(quantity, results, operands, result)
        return results if count > 1 else out

    def overwrite(self, quantity: str, results: Tensors, *operands: torch.Tensor) -> None:
        """Write results over tensors, which may be operands."""
        first = results[0]
        runner = self.runner(quantity, first.dtype)
        same = dense(first) is first and all(alike(x, first) is x for x in (*results, *operands))
        if same:
            run(runner, *results, *operands)
            return
        computed = self.compute(quantity, *operands)
        for result, new in zip(results, computed if len(results) > 1 else (computed,), strict=True):
            result.copy_(new)

    def _fill(
        self, quantity: str, results: Tensors, operands: Tensors, result: int | None = None
    ) -> None:
        """Write the results of a quantity to tensors of one layout, for operands of any layout."""
        route = self.route(quantity, results[0].dtype, result)
        _over(route, results, [x.resolve_neg() for x in operands])

    def halves(self, x: torch.Tensor, dim: int, swapped: bool) -> torch.Tensor:
        """Return the value at the halves of a CPU tensor; the second is first if `swapped`."""
        shape = list(x.shape)
        shape[dim] //= 2
        out = huge_pages.advise(x.new_empty(shape))
        if not self._over_rows("value", x, dim, swapped, (out,)):
            self._fill("value", (out,), halves(x, dim, swapped))
        return out

    def joined(self, x: torch.Tensor, dim: int, swapped: bool, grad: torch.Tensor) -> torch.Tensor:
        """Return the derivatives by both halves of `x` times `grad`, as one tensor like `x`."""
        if 2 * grad.numel() != x.numel():
            raise ValueError(f"grad has shape {tuple(grad.shape)}, and x {tuple(x.shape)}")
        result = empty_like(x, memory_format=torch.contiguous_format)
        if not self._over_rows("backward", x, dim, swapped, (grad,), result):
            operands = (*halves(x, dim, swapped), grad)
            self._fill("backward", halves(result, dim, swapped), operands)
        return result

    def _over_rows(
        self,
        quantity: str,
        x: torch.Tensor,
        dim: int,
        swapped: bool,
        others: Tensors,
        whole: torch.Tensor | None = None,
    ) -> bool:
        """Run a kernel over the halves of `x` and `whole`; return False if their rows are short.

        `others` has the result if `whole` is None, else the gradient.
        """
        for y in (x, *others):
            if not y.is_contiguous() or y.is_neg():
                return False
        count, item, dtype = x.numel(), x.element_size(), x.dtype
        columns = x.stride(dim) * x.shape[dim] // 2 if count else 0
        if columns < SHORT_ROW:
            return False
        route = self.in_rows.get((quantity, dtype))
        if route is None:
            route = self.in_rows[quantity, dtype] = self.route(quantity, dtype)
        # A kernel's operands are its results, the two of the function and the gradient.
        starts: list[int] = []
        for y in (x,) if whole is None else (whole, x):
            first = y.data_ptr()
            second = first + columns * item
            starts += (second, first) if swapped else (first, second)
        blocks = [y.data_ptr() for y in others]
        apart, adjacent = [2 * columns] * len(starts), [columns] * len(others)
        if whole is None:
            addresses, distances = blocks + starts, adjacent + apart
        else:
            addresses, distances = starts + blocks, apart + adjacent
        if 0 in addresses:
            raise RuntimeError(NO_MEMORY)
        shape = (count // (2 * columns), columns)
        kernel = route.runner().kernel
        run_rows(openmp.start(), openmp.plan, kernel, shape, item, distances, addresses)
        return True

    def memory(self, *operands: torch.Tensor) -> str:
        """Return a description of the copies that a kernel needs for these operands."""
        like = torch.empty_like(operands[0])
        pages = of_result(like.nbytes)
        if any(x.is_neg() or alike(x, like) is not x for x in operands):
            rows = _rows((like, *operands))
            if rows is None or rows[0] < SHORT_ROW or any(x.is_neg() for x in operands):
                return f"copied first: not contiguous{pages}"
            return f"input not copied, row by row{pages}"
        return f"input not copied{pages}"


def halves(x: torch.Tensor, dim: int, swapped: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """Return both halves of `x`, the second first if `swapped`."""
    first, second = x.chunk(2, dim)
    return (second, first) if swapped else (first, second)


def kernel_of(orders: Sequence[int]) -> tuple[str, int | None]:
    """Return the quantity of a derivative that has a kernel, and which of several results it is.

    `orders` is how often the function is differentiated by each operand.
    """
    order = sum(orders)
    return QUANTITIES[order], orders[1] if len(orders) == 2 and order else None


def of_result(size_bytes: int) -> str:
    """Return a description of a new result's memory, to be appended to that of the operands."""
    return ", result in huge pages" if huge_pages.used_for(size_bytes) else ""


def has_memory(x: torch.Tensor) -> bool:
    """Return whether a tensor has elements in memory: is neither meta nor fake."""
    return x.device.type != "meta" and not isinstance(x, private.fake_tensor.get())


def dense(x: torch.Tensor) -> torch.Tensor:
    """Return `x`, or a copy of it that fills one block of memory without gaps or repeats."""
    if x.is_neg():  # a view that is negated when read
        x = x.resolve_neg()
    if private.is_zero_tensor.get()(x):  # zeros without memory
        return x.clone()
    if x.is_contiguous() or torch.empty_like(x).stride() == x.stride():
        return x
    return x.clone()  # with the strides of `empty_like`, which a compiler expects


def alike(grad: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """Return `grad` with the dtype and strides of the dense `x`."""
    if (
        grad.dtype is x.dtype
        and grad.stride() == x.stride()
        and grad.shape == x.shape
        and not grad.is_neg()
    ):
        return grad
    return empty_like(x).copy_(grad)


def matched(like: torch.Tensor, *operands: torch.Tensor) -> list[torch.Tensor]:
    """Return operands with the dtype and shape of `like`, which kernels require."""
    return [
        x if x.dtype is like.dtype and x.shape == like.shape else x.to(like.dtype).expand_as(like)
        for x in operands
    ]


def run(runner: Runner, *tensors: torch.Tensor) -> None:
    """Call a kernel over dense tensors of one shape, results first, on as many threads as torch."""
    addresses = [x.data_ptr() for x in tensors]
    count = tensors[0].numel()
    if 0 in addresses and count:
        raise RuntimeError(NO_MEMORY)
    if count < SERIAL:
        runner.run(*addresses, runner.address, count)
    else:
        openmp.run(runner, count, tensors[0].element_size(), tuple(addresses))


def _over(route: Route, results: Tensors, operands: Tensors) -> None:
    """Run a kernel over tensors of one shape: over long rows where possible, else over copies."""
    first = results[0]
    if first.numel() == 0:
        return
    rows = _rows((*results, *operands))
    if rows is not None and rows[0] >= SHORT_ROW:
        columns, distances = rows
        if all(distance == columns for distance in distances):
            run(route.runner(), *results, *operands)
        else:
            addresses = [x.data_ptr() for x in (*results, *operands)]
            if 0 in addresses:
                raise RuntimeError(NO_MEMORY)
            shape, item = (first.numel() // columns, columns), first.element_size()
            kernel = route.runner().kernel
            run_rows(openmp.start(), openmp.plan, kernel, shape, item, distances, addresses)
        return
    copies = [empty_like(first) for _ in results]
    if copies[0].stride() == first.stride():
        copies = list(results)
    run(route.runner(), *copies, *(alike(x, copies[0]) for x in operands))
    for result, copy in zip(results, copies, strict=True):
        if copy is not result:
            result.copy_(copy)


def _rows(tensors: Tensors) -> tuple[int, list[int]] | None:
    """Return the length of rows that are contiguous in each tensor, and their row strides.

    None unless the rows of each tensor, in C order, have a constant stride.
    """
    shape = tensors[0].shape
    columns = min(_block(x) for x in tensors)
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


def _block(x: torch.Tensor) -> int:
    """Return how many elements of a tensor's last axes are adjacent in memory."""
    length = 1
    for size, stride in zip(reversed(x.shape), reversed(x.stride()), strict=True):
        if size != 1:
            if stride != length:
                break
            length *= size
    return length
