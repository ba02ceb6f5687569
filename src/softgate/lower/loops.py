"""Counted loops in LLVM IR, one inside the other where needed."""

from __future__ import annotations

from llvmlite import ir

INDEX = ir.IntType(64)
POINTER = ir.PointerType()


class Counted:
    """A loop over an index from 0 to `count`, open between `with` and its end.

    `vectors` tells LLVM how many vectors to work on side by side in each round.
    """

    def __init__(
        self, builder: ir.IRBuilder, count: ir.Value, step: int = 1, vectors: int = 0
    ) -> None:
        self.builder, self.count, self.step, self.vectors = builder, count, step, vectors

    def __enter__(self) -> ir.Value:
        b = self.builder
        before, function = b.block, b.function
        self.body = function.append_basic_block("body")
        self.end = function.append_basic_block("end")
        zero = ir.Constant(INDEX, 0)
        b.cbranch(b.icmp_signed(">", self.count, zero), self.body, self.end)
        b.position_at_end(self.body)
        self.index = b.phi(INDEX)
        self.index.add_incoming(zero, before)
        return self.index

    def __exit__(self, *_: object) -> None:
        b = self.builder
        following = b.add(self.index, ir.Constant(INDEX, self.step), flags=["nsw", "nuw"])
        self.index.add_incoming(following, b.block)
        again = b.cbranch(b.icmp_signed("<", following, self.count), self.body, self.end)
        if self.vectors:
            again.set_metadata("llvm.loop", _interleave(b.module, self.vectors))
        b.position_at_end(self.end)


def _interleave(module: ir.Module, vectors: int) -> ir.MDValue:
    """Return a loop's metadata: so many vectors side by side in each round."""
    name = ir.MetaDataString(module, "llvm.loop.interleave.count")
    count = module.add_metadata([name, ir.Constant(ir.IntType(32), vectors)])
    return module.add_metadata([count])


def function(arrays: int, counts: int = 1) -> tuple[ir.Module, ir.IRBuilder, list[ir.Value]]:
    """Return a module, a builder in its one function of addresses and counts, the arguments."""
    module = ir.Module("softgate")
    kind = ir.FunctionType(ir.VoidType(), [POINTER] * arrays + [INDEX] * counts)
    function = ir.Function(module, kind, "kernel")
    return module, ir.IRBuilder(function.append_basic_block("head")), list(function.args)
