"""The callbacks of TensorFlow's C API for an op that runs kernels, and the threads they share.

`create` finds the description of the kernel that a node refers to; `compute` allocates the results
and runs the kernel over chunks, without Python. The C API has no thread pool, so threads wait in
`serve`, each on its own semaphore. A thread is idle, has a job that it has not begun, or runs one:

    slot = 0            idle; a caller may post a job (compare-and-swap)
    slot = job          posted; the caller may withdraw it, the thread may begin it
    slot = job | 1      running; the caller waits for this chunk to end

A caller processes chunks itself until none is left, withdraws what was not begun, and waits for the
rest: its job can therefore be on its stack, and a thread that was lost in a fork delays nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from llvmlite import ir

from .llvm import CHUNK_FIELDS
from .target import (
    BYTE,
    INDEX,
    POINTER,
    WORD,
    CountedLoop,
    FunctionBuilder,
    Symbols,
    compile_module,
    gradual_underflow,
)

VOID = ir.VoidType()
NULL = ir.Constant(POINTER, None)
KERNEL_FIELDS = ("code", "constants", "chunks", "inputs", "results", "item", "dtype")
"""The description of a kernel in 64-bit words: the address of its loop, that of its parameters or
table, that of the chunk loop, the numbers of operands, bytes per element, TensorFlow's dtype."""

MOST_OPERANDS = 8
MOST_AXES = 254
"""The largest rank of a TensorFlow tensor."""

LINE = 64
SLOT = 2 * LINE
"""Bytes per thread: a cache line with the job, and one with the semaphore."""

CHUNKS = 4
"""Chunks per thread, so that a slow thread delays the others little."""

STATUS_FUNCTIONS = ("TF_NewStatus", "TF_DeleteStatus", "TF_GetCode", "TF_SetStatus")
FUNCTIONS = (
    *STATUS_FUNCTIONS,
    "TF_OpKernelConstruction_GetAttrInt64",
    "TF_OpKernelConstruction_Failure",
    "TF_OpKernelContext_Failure",
    "TF_GetInput",
    "TF_NumDims",
    "TF_Dim",
    "TF_TensorByteSize",
    "TF_TensorData",
    "TF_AllocateOutput",
    "TF_DeleteTensor",
    "TF_NewShapeHandle",
    "TF_DeleteShapeHandle",
    "TF_ShapeInferenceContextGetInput",
    "TF_ShapeInferenceContextSetOutput",
)
"""The functions of TensorFlow's C API that the callbacks call."""
THREAD_FUNCTIONS = ("sem_wait", "sem_post", "sched_yield")
"""Those of the C library."""

INVALID_ARGUMENT = 3
"""TensorFlow's status code of an invalid argument."""


class WorkerMemory(NamedTuple):
    """Memory that callers and threads share: the number of threads, then a `SLOT` for each."""

    address: int
    min_bytes: int
    """The fewest bytes read and written for which a thread is used."""


def compile_create(symbols: Symbols, process: int) -> Callable[..., None]:
    """Compile create(construction): return the address of the kernel's description.

    It is the attribute `kernel` of the node, valid in the process with the same attribute `process`
    only; a node from elsewhere fails with a message.
    """
    code = FunctionBuilder(symbols, POINTER, 1)
    b, (construction,) = code.builder, code.arguments
    status = code.call("TF_NewStatus", POINTER)
    words = [code.slot(INDEX), code.slot(INDEX)]
    for name, word in zip(("kernel", "process"), words, strict=True):
        b.store(INDEX(0), word)
        read = "TF_OpKernelConstruction_GetAttrInt64"
        code.call(read, VOID, construction, code.text(name), word, status)
    kernel, origin = (b.load(word, typ=INDEX) for word in words)
    with b.if_then(b.icmp_unsigned("!=", origin, INDEX(process))):
        message = "a softgate kernel of another process: save the function, not its optimised graph"
        code.call("TF_SetStatus", VOID, status, WORD(INVALID_ARGUMENT), code.text(message))
        code.call("TF_OpKernelConstruction_Failure", VOID, construction, status)
    code.call("TF_DeleteStatus", VOID, status)
    b.ret(b.inttoptr(kernel, POINTER))
    return compile_module(code.module, pointers=1, counts=0)


def compile_shape(symbols: Symbols, results: int) -> Callable[..., None]:
    """Compile shape(context, status): `results` results have the shape of the first operand."""
    code = FunctionBuilder(symbols, VOID, 2)
    context, status = code.arguments
    shape = code.call("TF_NewShapeHandle", POINTER)
    code.call("TF_ShapeInferenceContextGetInput", VOID, context, WORD(0), shape, status)
    for i in range(results):
        code.call("TF_ShapeInferenceContextSetOutput", VOID, context, WORD(i), shape, status)
    code.call("TF_DeleteShapeHandle", VOID, shape)
    code.builder.ret_void()
    return compile_module(code.module, pointers=2, counts=0)


def compile_compute(symbols: Symbols, pool: WorkerMemory | None) -> Callable[..., None]:
    """Compile compute(kernel, context): allocate the results of a node and compute them.

    TensorFlow's threads flush subnormal numbers to 0; while a kernel runs they do not.
    """
    code = FunctionBuilder(symbols, VOID, 2)
    b, (kernel, context) = code.builder, code.arguments
    fields = {name: code.word(kernel, i) for i, name in enumerate(KERNEL_FIELDS)}
    operands = b.add(fields["inputs"], fields["results"])
    tensors = code.slot(POINTER, MOST_OPERANDS)  # the results first, as kernels have them
    with CountedLoop(b, operands) as i:
        b.store(NULL, code.place(tensors, i))
    status = code.call("TF_NewStatus", POINTER)
    size = _open_tensors(code, context, fields, tensors, status)
    failed = b.icmp_signed("!=", code.call("TF_GetCode", WORD, status), WORD(0))
    with b.if_else(failed) as (on_failure, otherwise):
        with on_failure:
            code.call("TF_OpKernelContext_Failure", VOID, context, status)
        with otherwise:
            job = code.slot(INDEX, 1 + len(CHUNK_FIELDS) + MOST_OPERANDS)
            with CountedLoop(b, operands) as i:
                tensor = b.load(code.place(tensors, i), typ=POINTER)
                data = b.ptrtoint(code.call("TF_TensorData", POINTER, tensor), INDEX)
                b.store(data, code.place(job, b.add(i, INDEX(1 + len(CHUNK_FIELDS)))))
            count = b.udiv(size, fields["item"])
            threads = _threads(code, b.mul(size, operands), pool)
            share = b.udiv(count, b.mul(threads, INDEX(CHUNKS)))
            # A multiple of 64 elements, at least one: no two threads share a cache line.
            step = b.and_(b.add(share, INDEX(64)), INDEX(-64))
            step = b.select(b.icmp_unsigned("==", threads, INDEX(1)), count, step)
            names = ("chunks", "item", "code", "constants")
            loop, *described = (fields[name] for name in names)
            for i, value in enumerate((loop, INDEX(0), count, step, *described)):
                b.store(value, code.place(job, INDEX(i)))
            nonempty = b.icmp_unsigned("!=", count, INDEX(0))
            with b.if_then(nonempty), gradual_underflow(b):
                _run(code, job, threads, pool)
    with CountedLoop(b, operands) as i:
        tensor = b.load(code.place(tensors, i), typ=POINTER)
        with b.if_then(b.icmp_unsigned("!=", tensor, NULL)):
            code.call("TF_DeleteTensor", VOID, tensor)
    code.call("TF_DeleteStatus", VOID, status)
    b.ret_void()
    return compile_module(code.module, pointers=2, counts=0)


def _open_tensors(
    code: FunctionBuilder,
    context: ir.Value,
    fields: Mapping[str, ir.Value],
    tensors: ir.Value,
    status: ir.Value,
) -> ir.Value:
    """Emit the calls that read the operands and allocate the results; return their bytes."""
    b, inputs, results = code.builder, fields["inputs"], fields["results"]
    with CountedLoop(b, inputs) as i:
        place = code.place(tensors, b.add(results, i))
        code.call("TF_GetInput", VOID, context, b.trunc(i, WORD), place, status)
    first = b.load(code.place(tensors, results), typ=POINTER)
    axes = code.call("TF_NumDims", WORD, first)
    lengths = code.slot(INDEX, MOST_AXES)
    with CountedLoop(b, b.sext(axes, INDEX)) as axis:
        length = code.call("TF_Dim", INDEX, first, b.trunc(axis, WORD))
        b.store(length, code.place(lengths, axis))
    size = code.call("TF_TensorByteSize", INDEX, first)
    dtype = b.trunc(fields["dtype"], WORD)
    with CountedLoop(b, results) as i:
        arguments = (context, b.trunc(i, WORD), dtype, lengths, axes, size, status)
        b.store(code.call("TF_AllocateOutput", POINTER, *arguments), code.place(tensors, i))
    with CountedLoop(b, inputs) as i:
        other = b.load(code.place(tensors, b.add(results, i)), typ=POINTER)
        other_size = code.call("TF_TensorByteSize", INDEX, other)
        with b.if_then(b.icmp_unsigned("!=", other_size, size)):
            message = code.text("the operands of a softgate kernel have different sizes")
            code.call("TF_SetStatus", VOID, status, WORD(INVALID_ARGUMENT), message)
    return size


def compile_serve(symbols: Symbols) -> Callable[..., None]:
    """Compile serve(slot): process the jobs posted to a slot, without end."""
    code = FunctionBuilder(symbols, VOID, 1)
    b, (slot,) = code.builder, code.arguments
    semaphore = b.gep(slot, [INDEX(LINE)], source_etype=BYTE)
    with gradual_underflow(b):  # a thread inherits the mode of the one that started it
        wait, begin, run = (b.append_basic_block(name) for name in ("wait", "begin", "run"))
        b.branch(wait)
        b.position_at_end(wait)
        code.call("sem_wait", WORD, semaphore)  # an interrupt ends it too: the job is 0 then
        job = b.load_atomic(slot, "acquire", 8, typ=INDEX)
        running = b.or_(job, INDEX(1))
        # 0 after a job was withdrawn; a running one is never seen here.
        b.cbranch(b.icmp_unsigned("!=", job, INDEX(0)), begin, wait)
        b.position_at_end(begin)
        exchanged = b.cmpxchg(slot, job, running, "acq_rel", "monotonic")
        b.cbranch(b.extract_value(exchanged, 1), run, wait)
        b.position_at_end(run)
        _process(code, b.inttoptr(job, POINTER))
        b.atomic_rmw("xchg", slot, INDEX(0), "release")
        b.branch(wait)
        b.position_at_end(b.append_basic_block("unreachable"))
    b.ret_void()
    return compile_module(code.module, pointers=1, counts=0)


def _threads(code: FunctionBuilder, moved: ir.Value, pool: WorkerMemory | None) -> ir.Value:
    """Emit the number of threads for `moved` bytes read and written."""
    if pool is None:
        return INDEX(1)
    b = code.builder
    workers = code.word(b.inttoptr(INDEX(pool.address), POINTER), 0)
    size, useful = b.add(workers, INDEX(1)), b.udiv(moved, INDEX(pool.min_bytes))
    threads = b.select(b.icmp_unsigned("<", size, useful), size, useful)
    return b.select(b.icmp_unsigned("<", threads, INDEX(1)), INDEX(1), threads)


def _run(
    code: FunctionBuilder, job: ir.Value, threads: ir.Value, pool: WorkerMemory | None
) -> None:
    """Emit the call of the chunk loop on this thread and, if there are more, on idle ones."""
    b = code.builder
    if pool is None:
        _process(code, job)
        return
    with b.if_else(b.icmp_unsigned("==", threads, INDEX(1))) as (alone, shared):
        with alone:
            _process(code, job)
        with shared:
            head = b.inttoptr(INDEX(pool.address), POINTER)
            workers, mark = code.word(head, 0), b.ptrtoint(job, INDEX)
            free = code.slot(INDEX)
            b.store(b.sub(threads, INDEX(1)), free)
            with CountedLoop(b, workers) as i:
                wanted = b.load(free, typ=INDEX)
                with b.if_then(b.icmp_signed(">", wanted, INDEX(0))):
                    slot = _slot(b, head, i)
                    posted = b.cmpxchg(slot, INDEX(0), mark, "acq_rel", "monotonic")
                    with b.if_then(b.extract_value(posted, 1)):
                        b.store(b.sub(wanted, INDEX(1)), free)
                        semaphore = b.gep(slot, [INDEX(LINE)], source_etype=BYTE)
                        code.call("sem_post", WORD, semaphore)
            _process(code, job)
            running = b.or_(mark, INDEX(1))
            with CountedLoop(b, workers) as i:
                slot = _slot(b, head, i)
                b.cmpxchg(slot, mark, INDEX(0), "acq_rel", "monotonic")
                _wait_while(code, slot, running)


def _wait_while(code: FunctionBuilder, slot: ir.Value, running: ir.Value) -> None:
    b = code.builder
    look, again, done = (b.append_basic_block(name) for name in ("look", "again", "done"))
    b.branch(look)
    b.position_at_end(look)
    state = b.load_atomic(slot, "acquire", 8, typ=INDEX)
    b.cbranch(b.icmp_unsigned("==", state, running), again, done)
    b.position_at_end(again)
    code.call("sched_yield", WORD)
    b.branch(look)
    b.position_at_end(done)


def _process(code: FunctionBuilder, job: ir.Value) -> None:
    """Emit the call of a job's chunk loop: the address of the loop, then its argument."""
    b = code.builder
    loop = b.inttoptr(code.word(job, 0), ir.FunctionType(VOID, [POINTER]).as_pointer())
    b.call(loop, [b.gep(job, [INDEX(1)], source_etype=INDEX)])


def _slot(b: ir.IRBuilder, head: ir.Value, i: ir.Value) -> ir.Value:
    offset = b.mul(b.add(i, INDEX(1)), INDEX(SLOT))
    return b.gep(head, [offset], source_etype=BYTE)
