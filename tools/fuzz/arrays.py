"""Calls on arrays and tensors with any shape, stride, dtype, alias and thread count.

Every result is compared, bit by bit, with the same call on fresh contiguous arrays. Arrays lie
inside larger ones filled with random bytes, of which no byte outside `out` may change; or they end
where a page begins that cannot be read or written, so that a wrong access ends the process.
"""

from __future__ import annotations

import ctypes
import math
import mmap
import threading
from collections.abc import Callable
from random import Random
from typing import Any

import ml_dtypes
import numpy as np

import softgate as sg

FLOATS = ("float16", "bfloat16", "float32", "float64")
NARROW = ("float8_e4m3fn", "float8_e5m2")
NEEDING = ("threshold", "clip")
"""Functions of softgate.torch.functional that need parameters, as torch's do."""
PAD = 40
"""Elements before and after an array."""
CASES = 25


def functions() -> list[Any]:
    return [*sg.activations().values(), sg.glu, sg.geglu, sg.swiglu, sg.reglu]


def dtype_named(name: str) -> np.dtype[Any]:
    return np.dtype(getattr(ml_dtypes, name, name))


def bits(array: Any) -> Any:
    """Return the bit patterns, with one pattern for every NaN."""
    plain = np.array(array)
    patterns = plain.view(f"u{plain.itemsize}").copy()
    patterns[np.isnan(plain.astype(np.float64))] = np.iinfo(patterns.dtype).max
    return patterns


def values(rng: Random, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    """Return numbers of moderate size, or any bit patterns."""
    generator = np.random.default_rng(rng.getrandbits(64))
    if rng.random() < 0.5:
        return generator.normal(0, 4, shape).astype(dtype)
    return generator.integers(0, 256, (*shape, dtype.itemsize), np.uint8).view(dtype)[..., 0]


class Layout:
    """A random view of a given shape into a larger array."""

    def __init__(self, rng: Random, shape: tuple[int, ...], *, negative: bool = True) -> None:
        self.shape = shape
        self.order = rng.sample(range(len(shape)), len(shape))
        self.steps = [rng.choice([1, 1, 1, 2, 3, *([-1, -2] if negative else [])]) for _ in shape]
        self.sizes = [n * abs(s) + rng.randrange(3) for n, s in zip(shape, self.steps, strict=True)]
        self.size = math.prod(self.sizes) + 2 * PAD

    def view(self, base: Any) -> Any:
        """Return the view into a flat array or tensor of `size` elements."""
        body = base[PAD : self.size - PAD].reshape([self.sizes[i] for i in self.order])
        parts = tuple(
            slice(0, self.shape[i] * abs(self.steps[i]), abs(self.steps[i])) for i in self.order
        )
        inverse = [self.order.index(i) for i in range(len(self.shape))]
        part = body[(*parts, ...)]
        part = part.transpose(inverse) if isinstance(part, np.ndarray) else part.permute(inverse)
        for axis, step in enumerate(self.steps):
            if step < 0:
                part = part[(slice(None),) * axis + (slice(None, None, -1),)]
        return part

    def outside(self) -> Any:
        """Return which elements of the base are not in the view."""
        mask = np.ones(self.size, bool)
        self.view(mask)[...] = False
        return mask


def shape_of(rng: Random) -> tuple[int, ...]:
    if rng.random() < 0.04:
        return (rng.randrange(1 << 17, 1 << 18),)  # long enough for several threads
    return tuple(rng.choice([0, 1, 2, 3, 7, 16, 33, 70]) for _ in range(rng.randrange(4)))


def filled(rng: Random, layout: Layout, dtype: np.dtype[Any]) -> Any:
    return values(rng, (layout.size,), dtype)


def called(function: Any, quantity: str, operands: list[Any], **options: Any) -> Any:
    method = function if quantity == "value" else getattr(function, quantity)
    with np.errstate(all="ignore"):
        return method(*operands, **options)


def attack_arrays(rng: Random) -> int:
    """Any layout, with and without `out`, which may overlap an operand."""
    for _ in range(CASES):
        sg.set_threads(rng.choice([1, 2, 4]))
        function = rng.choice(functions())
        gated = function.nin == 2
        dtype = dtype_named(rng.choice([*FLOATS, *FLOATS, *(() if gated else NARROW)]))
        quantity = "value" if gated else rng.choice(["value", "value", "slope", "backward"])
        shape = shape_of(rng)
        count = 2 if gated or quantity == "backward" else 1
        layouts = [Layout(rng, shape) for _ in range(count)]
        bases = [filled(rng, layout, dtype) for layout in layouts]
        operands = [layout.view(base) for layout, base in zip(layouts, bases, strict=True)]
        fresh = [np.array(operand, order="C") for operand in operands]
        expected = bits(called(function, quantity, fresh))
        before = [base.tobytes() for base in bases]
        kind = rng.choice(["none", "own", "operand", "shifted"])
        if kind == "none":
            result = called(function, quantity, operands)
            assert [base.tobytes() for base in bases] == before, "an operand has changed"
        elif kind == "own":
            target = Layout(rng, shape)
            memory = filled(rng, target, dtype)
            outside = target.outside()
            untouched = memory.view(np.uint8).reshape(target.size, -1)[outside].tobytes()
            result = called(function, quantity, operands, out=target.view(memory))
            assert [base.tobytes() for base in bases] == before, "an operand has changed"
            now = memory.view(np.uint8).reshape(target.size, -1)[outside].tobytes()
            assert now == untouched, "memory outside `out` has changed"
        else:
            base, layout = bases[0], layouts[0]
            out = operands[0]
            outside = layout.outside()
            if kind == "shifted" and out.ndim and out.flags.c_contiguous and out.size > 2:
                flat = base[PAD - 1 : PAD - 1 + out.size]
                outside = np.ones(base.size, bool)
                outside[PAD - 1 : PAD - 1 + out.size] = False
                out = flat.reshape(shape)
            untouched = base.view(np.uint8).reshape(base.size, -1)[outside].tobytes()
            result = called(function, quantity, operands, out=out)
            now = base.view(np.uint8).reshape(base.size, -1)[outside].tobytes()
            assert now == untouched, "memory outside `out` has changed"
        same = np.array_equal(bits(result), expected)
        assert same, f"{function.name} {quantity} {dtype} {shape} {kind}: other bits"
    return CASES


class Guarded:
    """Memory between two pages that cannot be accessed."""

    def __init__(self, pages: int = 16) -> None:
        page = mmap.PAGESIZE
        self.size = pages * page
        self.memory = mmap.mmap(-1, self.size + 2 * page)
        address = ctypes.addressof(ctypes.c_char.from_buffer(self.memory))
        protect = ctypes.CDLL(None, use_errno=True).mprotect
        for guard in (address, address + page + self.size):
            assert protect(ctypes.c_void_p(guard), ctypes.c_size_t(page), 0) == 0
        self.bytes = np.frombuffer(self.memory, np.uint8, self.size, page)

    def array(self, rng: Random, count: int, dtype: np.dtype[Any]) -> Any:
        """Return an array that begins or ends at an inaccessible page."""
        size = count * dtype.itemsize
        start = rng.choice([0, self.size - size])
        return self.bytes[start : start + size].view(dtype)


_guarded: list[Guarded] = []


def attack_guard_pages(rng: Random) -> int:
    """Operands and results at the edge of memory that cannot be read or written."""
    while len(_guarded) < 3:
        _guarded.append(Guarded())
    for _ in range(CASES):
        sg.set_threads(rng.choice([1, 2]))
        function = rng.choice(functions())
        gated = function.nin == 2
        dtype = dtype_named(rng.choice([*FLOATS, *(() if gated else NARROW)]))
        quantity = "value" if gated else rng.choice(["value", "slope", "backward"])
        count = rng.choice([1, 2, 3, 5, 8, 15, 31, 64, 100, 333, 1000, 8000])
        number = 2 if gated or quantity == "backward" else 1
        operands = []
        for memory in _guarded[:number]:
            operand = memory.array(rng, count, dtype)
            operand[...] = values(rng, (count,), dtype)
            operands.append(operand)
        expected = bits(called(function, quantity, [np.array(x) for x in operands]))
        out = rng.choice([_guarded[2].array(rng, count, dtype), operands[0]])
        step = rng.choice([1, 1, -1])
        result = called(function, quantity, [x[::step] for x in operands], out=out[::step])
        assert np.array_equal(bits(result), expected[::step]), f"{function.name}: other bits"
    return CASES


def attack_tensors(rng: Random) -> int:
    """PyTorch tensors: views, in-place calls and gradients."""
    import torch

    for _ in range(CASES):
        torch.set_num_threads(rng.choice([1, 2]))
        name = rng.choice(list(sg.activations()))
        function = sg.activations()[name]
        kind = rng.choice([torch.float16, torch.bfloat16, torch.float32, torch.float64])
        shape = shape_of(rng)
        layout = Layout(rng, shape, negative=False)
        generator = torch.Generator().manual_seed(rng.getrandbits(60))
        base = (torch.randn(layout.size, generator=generator, dtype=torch.float64) * 4).to(kind)
        x = layout.view(base)
        fresh = x.clone().contiguous()
        grad = torch.randn(shape, generator=generator, dtype=torch.float64).to(kind)
        alone = fresh.clone().requires_grad_()
        expected = function(alone)
        expected.backward(grad)
        before = base.clone()
        leaf = base.detach().requires_grad_()
        view = layout.view(leaf)
        result = function(view)
        assert same_tensors(result, expected), f"{name} {kind} {shape}: other bits"
        result.backward(grad)
        slopes = layout.view(leaf.grad)
        assert same_tensors(slopes, alone.grad), f"{name} {kind} {shape}: other gradient"
        assert same_tensors(base, before), "the operand has changed"
        inplace = getattr(sg.torch.functional, f"{name}_", None)
        if inplace is not None and name not in NEEDING and rng.random() < 0.5:
            inplace(x)
            assert same_tensors(x, expected), f"{name}_: other bits"
            outside = torch.from_numpy(layout.outside())
            assert same_tensors(base[outside], before[outside]), "memory outside has changed"
    return CASES


def same_tensors(first: Any, second: Any) -> bool:
    import torch

    return bool(torch.equal(torch.nan_to_num(first), torch.nan_to_num(second)))


def attack_threads(rng: Random) -> int:
    """First calls of one function from several threads at once."""
    factor = rng.uniform(0.5, 2.0)
    function = sg.activation(name="fuzzed")(lambda f, x: x * f.sigmoid(factor * x))
    x = values(rng, (100_000,), np.dtype(np.float64))
    sg.set_threads(2)
    results: list[Any] = []
    barrier = threading.Barrier(8)

    def call() -> None:
        barrier.wait()
        results.append(function(x))

    run_together([call] * 8)
    assert len(results) == 8, "a thread has raised"
    assert all(np.array_equal(bits(result), bits(results[0])) for result in results)
    return len(results)


def run_together(calls: list[Callable[[], None]]) -> None:
    threads = [threading.Thread(target=call) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
