"""The loop each thread of a team runs: take the next chunk of an array until none is left.

Compiled, so that it can be handed to a pool of threads that knows nothing of Python. One atomic
addition a chunk; which thread takes which does not show in the results.
"""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir

from .loops import INDEX, POINTER, function
from .target import compile_module

FIELDS = ("next", "count", "step", "item", "kernel", "beside")
"""What a job begins with, in words of 64 bits; the addresses of the operands follow.

`next` is the first element that nobody has taken, `step` the elements of a chunk, `item` the bytes
of an element, `kernel` the address of a loop over `beside`, its parameters or its table.

Over rows, `next`, `count` and `step` are rows; before the addresses stand the elements of a row
and, for each operand, the distance of two rows in elements."""


def compile_share(operands: int, rows: bool = False) -> Callable[..., None]:
    """Return the loop that `build_share` describes."""
    return compile_module(build_share(operands, rows), pointers=1, counts=0)


def build_share(operands: int, rows: bool = False) -> ir.Module:
    """Return the module of kernel(job): calls the job's kernel over chunks of its operands."""
    module, b, (job,) = function(1, counts=0)

    def word(place: int) -> ir.Value:
        return b.load(b.gep(job, [INDEX(place)], source_etype=INDEX), typ=INDEX)

    count, step, item, kernel, beside = (word(i) for i in range(1, len(FIELDS)))
    head = len(FIELDS) + (1 + operands if rows else 0)
    operand = [word(head + i) for i in range(operands)]
    take = b.append_basic_block("take")
    work, done = b.append_basic_block("work"), b.append_basic_block("done")
    b.branch(take)
    b.position_at_end(take)
    start = b.atomic_rmw("add", job, step, "monotonic")
    b.cbranch(b.icmp_signed("<", start, count), work, done)
    b.position_at_end(work)
    left = b.sub(count, start)
    size = b.select(b.icmp_signed("<", left, step), left, step)
    offset = b.mul(start, item)
    offsets = [offset] * operands
    rest = [b.inttoptr(beside, POINTER), size]
    if rows:
        offsets = [b.mul(offset, word(len(FIELDS) + 1 + i)) for i in range(operands)]
        steps = b.gep(job, [INDEX(len(FIELDS) + 1)], source_etype=INDEX)
        rest[1:] = [steps, word(len(FIELDS)), size]
    moved = zip(operand, offsets, strict=True)
    arguments = [*(b.inttoptr(b.add(base, by), POINTER) for base, by in moved), *rest]
    kind = ir.FunctionType(ir.VoidType(), [argument.type for argument in arguments])
    loop = b.inttoptr(kernel, kind.as_pointer())
    b.call(loop, arguments)
    b.branch(take)
    b.position_at_end(done)
    b.ret_void()
    return module
