"""Loops over 16-bit arrays that look results up in a table of 65,536 entries.

A table of values is one load an element. `backward` gathers slopes into a block that stays in the
first cache, then multiplies the block with SIMD: one loop that did both would be scalar.
"""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir

from softgate.formula.formats import FLOAT32, Format

from .llvm import REAL, fma, load, store
from .loops import INDEX, Counted, function
from .target import HOST, Target, compile_module

HALFWORD = ir.IntType(16)
BLOCK = 512


def _gather(b: ir.IRBuilder, table: ir.Value, kind: ir.Type, x: ir.Value, i: ir.Value) -> ir.Value:
    bits = b.load(b.gep(x, [i], source_etype=HALFWORD), typ=HALFWORD, align=2)
    return b.load(b.gep(table, [b.zext(bits, INDEX)], source_etype=kind), typ=kind)


def build_lookup() -> ir.Module:
    """Return the module of kernel(out, x, table, count): out[i] = table[x[i]], in place or not."""
    module, b, (out, x, table, count) = function(3)
    with Counted(b, count) as i:
        found = _gather(b, table, HALFWORD, x, i)
        b.store(found, b.gep(out, [i], source_etype=HALFWORD), align=2)
    b.ret_void()
    return module


def compile_lookup() -> Callable[..., None]:
    """Return the kernel that looks values up."""
    return compile_module(build_lookup(), pointers=3)


def build_lookup_backward(fmt: Format, target: Target = HOST) -> ir.Module:
    """Return the module of kernel(out, x, grad, slopes, count).

    out[i] is slopes[x[i]]·grad[i], rounded to `fmt`.
    """
    module, b, (out, x, grad, slopes, count) = function(4)
    real, limit = REAL["float32"], ir.Constant(INDEX, BLOCK)
    block = b.alloca(real, size=BLOCK)
    with Counted(b, count, BLOCK) as start:
        left = b.sub(count, start)
        size = b.select(b.icmp_signed("<", left, limit), left, limit)
        x_block, grad_block, out_block = (
            b.gep(base, [start], source_etype=HALFWORD) for base in (x, grad, out)
        )
        with Counted(b, size) as i:
            slope = _gather(b, slopes, real, x_block, i)
            b.store(slope, b.gep(block, [i], source_etype=real))
        with Counted(b, size) as i:
            slope = b.load(b.gep(block, [i], source_etype=real), typ=real)
            g = load(b, fmt, FLOAT32, b.gep(grad_block, [i], source_etype=HALFWORD), target)
            # Not fmul: on AMD a product that underflows is several times slower than an fma.
            product = fma(b, slope, g, ir.Constant(real, 0.0), target)
            place = b.gep(out_block, [i], source_etype=HALFWORD)
            store(b, fmt, FLOAT32, product, place, target)
    b.ret_void()
    return module


def compile_lookup_backward(fmt: Format) -> Callable[..., None]:
    """Return the kernel that multiplies gradients by slopes of a table."""
    return compile_module(build_lookup_backward(fmt), pointers=4)
