"""The inner loop of a NumPy ufunc that calls a kernel: loop(args, dimensions, steps, data).

Dense operands are passed to the kernel whole; others are gathered into blocks that fit in L1 cache.
Parameters are float64 operands. Where they have a stride of 0, the kernel is that of the record for
their values; where they vary, the kernel reads them as arrays.

A record that is missing is made in Python: `serve` returns its address, or `DONE` if it computed
the results itself, or minus the address of an exception's class, which is then raised in this
thread: NumPy's loops cannot report errors. It returns 0 if it was itself interrupted.

The floating-point status is restored: NumPy would warn of overflow within a kernel.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from llvmlite import ir

from .target import (
    BYTE,
    HOST,
    INDEX,
    POINTER,
    WORD,
    CountedLoop,
    FunctionBuilder,
    Target,
    address_of,
    compile_module,
    gradual_underflow,
)

DATA = ("current", "varying", "active", "item", "large", "threads", "failed")
"""The words at `data`: the addresses of the record used last and of the one for parameters that
vary, both 0 at first; how many threads are in the loop; the bytes of an element; from how many
elements on threads are worth it; the address of the number of threads; and minus the address of the
exception that is raised where `serve` is interrupted: in rows after an error, this error. A record
that is not current may be freed while one thread is in the loop."""
RECORD = ("code", "constants")
"""The words of a record: the address of a kernel and of what it reads beside its operands. The
values of the parameters follow."""
UNIFORM, VARYING, SHARE = range(3)
"""The reasons for calling `serve`: a record for uniform or varying parameters, or threads."""
DONE = 1
"""The answer of `serve` where results have been computed."""
BLOCK = 512
"""The elements of a block."""


@dataclass(frozen=True)
class InnerLoop:
    """The operands of an inner loop.

    With `swapped`, the kernel takes the second operand first, and returns results in that order.
    """

    inputs: int
    results: int
    parameters: int
    swapped: bool = False

    @property
    def operands(self) -> list[int]:
        """The places in `args` of the kernel's operands, results first."""
        first = self.inputs + self.parameters
        results = list(range(first, first + self.results))
        inputs = list(range(self.inputs))
        if self.swapped:
            inputs[:2], results = [1, 0], results[::-1]
        return results + inputs


def compile_ufunc_loop(loop: InnerLoop, serve: int) -> Callable[..., None]:
    """Compile a loop; `serve` is an address."""
    return compile_module(build_ufunc_loop(loop, serve), pointers=4, counts=0)


def build_ufunc_loop(loop: InnerLoop, serve: int, target: Target = HOST) -> ir.Module:
    """Return the module of a loop."""
    return _Builder(loop, serve).build(target)


class _Builder:
    """Emits one inner loop."""

    def __init__(self, loop: InnerLoop, serve: int) -> None:
        python = ctypes.pythonapi
        names = ("PyGILState_Ensure", "PyGILState_Release", "PyThreadState_SetAsyncExc")
        symbols = {name: address_of(getattr(python, name)) for name in names}
        symbols["ident"] = address_of(python.PyThread_get_thread_ident)
        symbols["serve"] = serve
        self.loop = loop
        self.code = FunctionBuilder(symbols, ir.VoidType(), pointers=4)
        self.builder = self.code.builder
        self.args, dimensions, self.steps, self.data = self.code.arguments
        self.count = self.code.word(dimensions, 0)
        self.status, self.answer = self.code.slot(INDEX), self.code.slot(INDEX)
        count = loop.inputs + loop.parameters + loop.results
        self.buffers = [
            self.builder.bitcast(self.code.slot(INDEX, BLOCK), POINTER) for _ in range(count)
        ]
        self.item = self.code.word(self.data, DATA.index("item"))
        self.copy = _copy(self.code.module)

    def build(self, target: Target) -> ir.Module:
        b, data = self.builder, self.data
        with b.if_then(b.icmp_signed(">", self.count, INDEX(0))), gradual_underflow(b, target):
            active = self.code.place(data, INDEX(DATA.index("active")))
            b.atomic_rmw("add", active, INDEX(1), "seq_cst")
            b.store(INDEX(DONE), self.status)
            operands = self.loop.operands
            parameters = range(self.loop.inputs, self.loop.inputs + self.loop.parameters)
            if parameters:
                fixed = [b.icmp_signed("==", self.step(i), INDEX(0)) for i in parameters]
                alone = b.icmp_signed("==", self.count, INDEX(1))
                with b.if_else(b.or_(alone, _all(b, fixed))) as (uniform, varying):
                    with uniform:
                        self.run(UNIFORM, operands, parameters)
                    with varying:
                        self.run(VARYING, [*operands, *parameters], ())
            else:
                self.run(UNIFORM, operands, ())
            self.raise_error()
            b.atomic_rmw("sub", active, INDEX(1), "seq_cst")
        b.ret_void()
        return self.code.module

    def step(self, i: int) -> ir.Value:
        """Return the stride of an operand in bytes."""
        return self.code.word(self.steps, i)

    def address(self, i: int) -> ir.Value:
        """Return the address of an operand's first element."""
        return self.builder.inttoptr(self.code.word(self.args, i), POINTER)

    def run(self, reason: int, operands: Sequence[int], keys: Sequence[int]) -> None:
        """Find the record and call its kernel over `operands`, unless `serve` did or failed."""
        b, slot = self.builder, self.code.slot(INDEX)  # the record's address, or `serve`'s answer

        def answer() -> ir.Value:
            return b.load(slot, typ=INDEX)

        place = self.code.place(self.data, INDEX(DATA.index(("current", "varying")[reason])))
        b.store(b.load_atomic(place, "seq_cst", 8, typ=INDEX), slot)
        with b.if_then(b.icmp_signed("!=", answer(), INDEX(0))):
            record = b.inttoptr(answer(), POINTER)
            same = [
                b.icmp_signed("==", self.code.word(record, len(RECORD) + n), self._bits(i))
                for n, i in enumerate(keys)
            ]
            if same:
                b.store(b.select(_all(b, same), answer(), INDEX(0)), slot)
        with b.if_then(b.icmp_signed("==", answer(), INDEX(0))):
            b.store(self.serve(reason, self.args), slot)
            b.store(answer(), self.status)
        with b.if_then(b.icmp_signed(">", answer(), INDEX(DONE))):
            self.over(operands, b.inttoptr(answer(), POINTER))

    def _bits(self, i: int) -> ir.Value:
        return self.builder.load(self.address(i), typ=INDEX, align=1)

    def serve(self, reason: int, args: ir.Value) -> ir.Value:
        """Emit the call of `serve`; the answer is 0 if an exception interrupts it."""
        b, answer = self.builder, self.answer
        b.store(INDEX(0), answer)
        arguments = (INDEX(reason), self.data, args, self.steps, self.count, answer)
        self.code.call("serve", ir.VoidType(), *arguments)
        return b.load(answer, typ=INDEX)

    def over(self, operands: Sequence[int], record: ir.Value) -> None:
        """Emit the calls of the kernel of `record`, by one of four ways."""
        b, count = self.builder, self.count
        sizes = [INDEX(8) if self._is_parameter(i) else self.item for i in operands]
        kind = ir.FunctionType(ir.VoidType(), [POINTER] * (len(operands) + 1) + [INDEX])
        kernel = b.inttoptr(self.code.word(record, 0), kind.as_pointer())
        constants = b.inttoptr(self.code.word(record, 1), POINTER)

        def call(places: Sequence[ir.Value], size: ir.Value) -> None:
            b.call(kernel, [*places, constants, size])

        def element(i: int, index: ir.Value) -> ir.Value:
            return b.gep(self.address(i), [b.mul(index, self.step(i))], source_etype=BYTE)

        dense = [
            b.icmp_signed("==", self.step(i), size) for i, size in zip(operands, sizes, strict=True)
        ]
        alone = b.icmp_signed("==", count, INDEX(1))
        with b.if_else(self.depends(operands)) as (in_turn, independent):
            with in_turn, CountedLoop(b, count) as index:
                call([element(i, index) for i in operands], INDEX(1))
            with independent, b.if_else(b.or_(alone, _all(b, dense))) as (whole, strided):
                with whole:
                    places = [self.address(i) for i in operands]
                    with b.if_else(self.is_large()) as (large, small):
                        with large:
                            self.share(record, places)
                        with small:
                            call(places, count)
                with strided:
                    self.in_blocks(operands, sizes, element, call)

    def in_blocks(
        self,
        operands: Sequence[int],
        sizes: Sequence[ir.Value],
        element: Callable[[int, ir.Value], ir.Value],
        call: Callable[[Sequence[ir.Value], ir.Value], None],
    ) -> None:
        """Emit a loop over blocks: gather, call the kernel, scatter."""
        b = self.builder
        with CountedLoop(b, self.count, BLOCK) as start:
            left = b.sub(self.count, start)
            length = b.select(b.icmp_signed("<", left, INDEX(BLOCK)), left, INDEX(BLOCK))
            places, apart = [], []
            for i, size in zip(operands, sizes, strict=True):
                first, step = element(i, start), self.step(i)
                apart.append(b.icmp_signed("!=", step, size))
                places.append(b.select(apart[-1], self.buffers[i], first))
                if not self._is_result(i):
                    with b.if_then(apart[-1]):
                        b.call(self.copy, [first, step, self.buffers[i], size, size, length])
            call(places, length)
            for i, size, needed in zip(operands, sizes, apart, strict=True):
                if self._is_result(i):
                    with b.if_then(needed):
                        target = [element(i, start), self.step(i)]
                        b.call(self.copy, [self.buffers[i], size, *target, size, length])

    def depends(self, operands: Sequence[int]) -> ir.Value:
        """Return whether results are read as later elements, as `reduce` and `accumulate` do.

        In other calls NumPy copies operands that overlap a result, unless it overwrites them.
        """
        b, steps = self.builder, [self.step(i) for i in operands]
        addresses = [self.code.word(self.args, i) for i in operands]
        count = self.loop.results
        cases = []
        for step, address in zip(steps[:count], addresses[:count], strict=True):
            cases.append(b.icmp_signed("==", step, INDEX(0)))
            for other_step, other in zip(steps[count:], addresses[count:], strict=True):
                previous = b.icmp_signed("==", b.sub(address, other), step)
                cases.append(b.and_(previous, b.icmp_signed("==", step, other_step)))
        none = _all(b, [b.not_(case) for case in cases])
        return b.and_(b.not_(none), b.icmp_signed(">", self.count, INDEX(1)))

    def is_large(self) -> ir.Value:
        """Return whether the call is worth more than one thread, and there are more."""
        b = self.builder
        place = b.inttoptr(self.code.word(self.data, DATA.index("threads")), POINTER)
        several = b.icmp_signed(">", b.load(place, typ=INDEX), INDEX(1))
        large = self.code.word(self.data, DATA.index("large"))
        return b.and_(several, b.icmp_signed(">=", self.count, large))

    def share(self, record: ir.Value, places: Sequence[ir.Value]) -> None:
        """Emit the call of `serve` that divides dense operands among threads."""
        b, words = self.builder, self.code.slot(INDEX, 3 + len(places))
        numbers = [self.code.word(record, 0), self.code.word(record, 1), INDEX(len(places))]
        numbers += [b.ptrtoint(place, INDEX) for place in places]
        for n, number in enumerate(numbers):
            b.store(number, self.code.place(words, INDEX(n)))
        b.store(self.serve(SHARE, words), self.status)

    def raise_error(self) -> None:
        """Emit the raising of the exception that `serve` returned, if any, in this thread."""
        b, status = self.builder, self.builder.load(self.status, typ=INDEX)
        failed = self.code.word(self.data, DATA.index("failed"))
        status = b.select(b.icmp_signed("==", status, INDEX(0)), failed, status)
        with b.if_then(b.icmp_signed("<", status, INDEX(0))):
            state = self.code.call("PyGILState_Ensure", WORD)
            thread = self.code.call("ident", INDEX)
            self.code.call("PyThreadState_SetAsyncExc", WORD, thread, b.neg(status))
            self.code.call("PyGILState_Release", ir.VoidType(), state)

    def _is_result(self, i: int) -> bool:
        return i >= self.loop.inputs + self.loop.parameters

    def _is_parameter(self, i: int) -> bool:
        return not self._is_result(i) and i >= self.loop.inputs


def _all(b: ir.IRBuilder, conditions: Sequence[ir.Value]) -> ir.Value:
    """Return whether all of at least one condition hold."""
    first, *rest = conditions
    for condition in rest:
        first = b.and_(first, condition)
    return first


def _copy(module: ir.Module) -> ir.Function:
    """Return copy(source, step, target, step, size, count): elements with strides in bytes."""
    kind = ir.FunctionType(ir.VoidType(), [POINTER, INDEX, POINTER, INDEX, INDEX, INDEX])
    function = ir.Function(module, kind, "copy")
    function.linkage = "internal"
    function.attributes.add("noinline")
    source, source_step, target, target_step, size, count = function.args
    b = ir.IRBuilder(function.append_basic_block())
    for width in (1, 2, 4, 8):
        element = ir.IntType(8 * width)
        with b.if_then(b.icmp_signed("==", size, INDEX(width))), CountedLoop(b, count) as i:
            read = b.gep(source, [b.mul(i, source_step)], source_etype=BYTE)
            write = b.gep(target, [b.mul(i, target_step)], source_etype=BYTE)
            b.store(b.load(read, typ=element, align=1), write, align=1)
    b.ret_void()
    return function
