"""Counted loops in LLVM IR, one inside the other where needed."""

from __future__ import annotations

from llvmlite import ir

from .llvm import INDEX, POINTER


class Counted:
    """A loop over an index from 0 to `count`, open between `with` and its end."""

    def __init__(self, builder: ir.IRBuilder, count: ir.Value, step: int = 1) -> None:
        self.builder, self.count, self.step = builder, count, step

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
        b.cbranch(b.icmp_signed("<", following, self.count), self.body, self.end)
        b.position_at_end(self.end)


def function(arrays: int) -> tuple[ir.Module, ir.IRBuilder, list[ir.Value]]:
    """Return a module, a builder in its one function of addresses and a count, the arguments."""
    module = ir.Module("softgate")
    kind = ir.FunctionType(ir.VoidType(), [POINTER] * arrays + [INDEX])
    function = ir.Function(module, kind, "kernel")
    return module, ir.IRBuilder(function.append_basic_block("head")), list(function.args)
