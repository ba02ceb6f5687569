"""An XLA FFI handler as LLVM IR: loops over memory that programs compiled by XLA for a CPU call.

XLA calls a handler with a call frame; its layout is that of `xla/ffi/api/c_api.h` in jaxlib's
headers. One handler serves every loop. A target that XLA calls by name is a stub of two
instructions, which passes the handler the slot with the address of its loop. Stubs are compiled in
batches, so a new target costs no compilation.

XLA sets its threads to flush subnormal numbers to 0; the handler turns that off while a loop runs.
A large array is divided into chunks, which the calling thread and tasks on XLA's threads take in
turn. The handler returns when no chunk is left to take, with a future that becomes available when
the last one is finished.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from llvmlite import ir

from .target import (
    BYTE,
    HOST,
    INDEX,
    POINTER,
    WORD,
    Target,
    compile_module,
    function,
    gradual_underflow,
    never_free,
)

SLOT_FIELDS = ("kernel", "constants", "item", "step", "inputs", "results")
"""A slot, in 64-bit words: what a stub passes to the handler.

`kernel` is the address of a loop called as (results…, inputs…, constants, count), `constants` that
of its parameters or table; 0 if these are the operand after the inputs. `item` is the bytes per
element, `step` the elements per chunk; at most that many are computed on the calling thread alone.
"""
STUBS = 64
"""Stubs in a batch."""
MOST_OPERANDS = 5
"""Results and inputs of a loop, at most: those of a gated function's backward."""

_JOB = ("next", "count", "left", "owners", "future", "api", "slot", "constants")
"""The head of a job, in 64-bit words; the addresses of results and inputs follow.

`next` is the first element not yet taken, `left` the number of elements not yet computed, `owners`
the number of threads that still use the job: the last one frees it.
"""

# Offsets in bytes of the structures in c_api.h.
FRAME_SIZE, FRAME_EXTENSION, FRAME_API, FRAME_CONTEXT, FRAME_STAGE = 0, 8, 16, 24, 32
FRAME_ARGS, FRAME_RESULTS, FRAME_ATTRIBUTES, FRAME_FUTURE = 40, 80, 120, 168
LIST_LENGTH, LIST_ITEMS = 16, 32
BUFFER_DATA, BUFFER_RANK, BUFFER_SHAPE = 24, 32, 40
EXTENSION_TYPE, EXTENSION_METADATA = 8, 24
METADATA_MAJOR, METADATA_MINOR, METADATA_TRAITS, METADATA_STATE = 24, 28, 32, 40
METADATA, EXECUTE = 1, 3
"""The type of the extension that queries metadata; the stage in which results are computed."""
INTERNAL_ERROR = 13
API_FUNCTIONS = {
    name: 48 + 8 * place
    for name, place in (
        ("Error_Create", 0),
        ("Error_Destroy", 2),
        ("ThreadPool_Schedule", 11),
        ("ThreadPool_NumThreads", 12),
        ("Future_Create", 13),
        ("Future_SetAvailable", 14),
    )
}
"""Offsets in bytes of the functions in XLA_FFI_Api."""

NULL = ir.Constant(POINTER, None)


class _Memory:
    """Reads and writes structures at byte offsets."""

    def __init__(self, builder: ir.IRBuilder) -> None:
        self.builder = builder

    def at(self, base: ir.Value, offset: int) -> ir.Value:
        return self.builder.gep(base, [INDEX(offset)], source_etype=BYTE)

    def get(self, base: ir.Value, offset: int, kind: ir.Type = POINTER) -> ir.Value:
        return self.builder.load(self.at(base, offset), typ=kind)

    def put(self, value: ir.Value, base: ir.Value, offset: int) -> None:
        if value.type.is_pointer:
            value = self.builder.ptrtoint(value, INDEX)
        self.builder.store(value, self.at(base, offset))

    def stack(self, words: int) -> ir.Value:
        """Return the address of words on the stack."""
        return self.builder.alloca(INDEX, size=words)

    def word(self, base: ir.Value, fields: tuple[str, ...], name: str) -> ir.Value:
        return self.get(base, 8 * fields.index(name), INDEX)

    def structure(self, *words: ir.Value) -> ir.Value:
        """Return a structure of XLA's API: its size, no extension, then `words`."""
        fields = [INDEX(16 + 8 * len(words)), NULL, *words]
        base = self.stack(len(fields))
        for place, value in enumerate(fields):
            self.put(value, base, 8 * place)
        return base

    def call(self, api: ir.Value, name: str, arguments: ir.Value) -> ir.Value:
        """Call a function of XLA's API; the result is an error or null."""
        routine = self.get(api, API_FUNCTIONS[name], INDEX)
        return call(self.builder, routine, ir.FunctionType(POINTER, [POINTER]), [arguments])


def call(
    b: ir.IRBuilder, address: ir.Value, kind: ir.FunctionType, arguments: list[ir.Value]
) -> ir.Value:
    """Call the function at an address, an integer."""
    return b.call(b.inttoptr(address, kind.as_pointer()), arguments)


def is_null(b: ir.IRBuilder, pointer: ir.Value) -> ir.Value:
    """Return whether a pointer is null."""
    return b.icmp_unsigned("==", pointer, NULL)


def build_stubs(
    version: tuple[int, int], with_state: bool, count: int = STUBS, target: Target = HOST
) -> ir.Module:
    """Return the module of kernel(places), which writes two addresses.

    They are that of an array of the stubs' addresses, to be registered with XLA, and that of their
    slots, to be filled before. `version` is that of XLA's interface; `with_state` is whether its
    metadata have the type of a state.
    """
    module, b, (places,) = function(1, counts=0)
    task = _build_task(module, _build_run(module, target))
    handler = _build_handler(module, task, version, with_state)
    kind = ir.ArrayType(ir.ArrayType(INDEX, len(SLOT_FIELDS)), count)
    slots = ir.GlobalVariable(module, kind, "slots")
    slots.initializer, slots.linkage = ir.Constant(kind, None), "internal"
    stubs = []
    for place in range(count):
        stub = _internal(module, f"stub{place}", ir.FunctionType(POINTER, [POINTER]))
        s = ir.IRBuilder(stub.append_basic_block())
        slot = _Memory(s).at(slots, 8 * len(SLOT_FIELDS) * place)
        s.ret(s.call(handler, [stub.args[0], slot], tail=True))
        stubs.append(stub.ptrtoint(INDEX))
    table = ir.GlobalVariable(module, ir.ArrayType(INDEX, count), "table")
    table.initializer, table.linkage = ir.Constant(table.value_type, stubs), "internal"
    memory = _Memory(b)
    memory.put(table, places, 0)
    memory.put(slots, places, 8)
    b.ret_void()
    return module


def _internal(module: ir.Module, name: str, kind: ir.FunctionType) -> ir.Function:
    routine = ir.Function(module, kind, name)
    routine.linkage = "internal"
    routine.attributes.add("noinline")
    return routine


def _build_run(module: ir.Module, target: Target) -> ir.Function:
    """Return run(job): process chunks until none is left to take."""
    run = _internal(module, "run", ir.FunctionType(ir.VoidType(), [POINTER]))
    (job,) = run.args
    b = ir.IRBuilder(run.append_basic_block("head"))
    memory = _Memory(b)
    count, slot = memory.word(job, _JOB, "count"), memory.get(job, 8 * _JOB.index("slot"))
    step, item = (memory.word(slot, SLOT_FIELDS, name) for name in ("step", "item"))
    finished = b.alloca(ir.IntType(1))
    b.store(ir.IntType(1)(0), finished)
    with gradual_underflow(b, target):
        take, work = b.append_basic_block("take"), b.append_basic_block("work")
        taken, done = b.append_basic_block("taken"), b.append_basic_block("done")
        b.branch(take)
        b.position_at_end(take)
        start = b.atomic_rmw("add", job, step, "monotonic")
        b.cbranch(b.icmp_signed("<", start, count), work, done)
        b.position_at_end(work)
        rest = b.sub(count, start)
        size = b.select(b.icmp_signed("<", rest, step), rest, step)
        _call_loop(b, job, slot, b.mul(start, item), size, taken)
        b.position_at_end(taken)
        left = b.atomic_rmw("sub", memory.at(job, 8 * _JOB.index("left")), size, "acq_rel")
        b.store(b.icmp_signed("==", left, size), finished)
        b.branch(take)
        b.position_at_end(done)
    # XLA runs the operations that wait for the result inside this call, so it is made only after
    # the thread flushes subnormal numbers again.
    future = memory.get(job, 8 * _JOB.index("future"))
    last = b.load(finished, typ=ir.IntType(1))
    with b.if_then(b.and_(last, b.not_(is_null(b, future)))):
        api = memory.get(job, 8 * _JOB.index("api"))
        memory.call(api, "Future_SetAvailable", memory.structure(future))
    b.ret_void()
    return run


def _call_loop(
    b: ir.IRBuilder,
    job: ir.Value,
    slot: ir.Value,
    offset: ir.Value,
    size: ir.Value,
    after: ir.Block,
) -> None:
    """Call the loop of a slot over `size` elements, and branch to `after`."""
    memory = _Memory(b)
    inputs, results = (memory.word(slot, SLOT_FIELDS, name) for name in ("inputs", "results"))
    kernel = memory.word(slot, SLOT_FIELDS, "kernel")
    constants = memory.get(job, 8 * _JOB.index("constants"))
    choice = b.switch(b.add(inputs, results), after)
    for operands in range(2, MOST_OPERANDS + 1):
        block = b.append_basic_block(f"operands{operands}")
        choice.add_case(INDEX(operands), block)
        b.position_at_end(block)
        bases = [memory.get(job, 8 * (len(_JOB) + i)) for i in range(operands)]
        moved = [b.gep(base, [offset], source_etype=BYTE) for base in bases]
        kind = ir.FunctionType(ir.VoidType(), [POINTER] * (operands + 1) + [INDEX])
        call(b, kernel, kind, [*moved, constants, size])
        b.branch(after)


def _build_task(module: ir.Module, run: ir.Function) -> ir.Function:
    """Return task(job): run, then free the job unless another thread uses it."""
    task = _internal(module, "task", ir.FunctionType(ir.VoidType(), [POINTER]))
    (job,) = task.args
    b = ir.IRBuilder(task.append_basic_block("head"))
    b.call(run, [job])
    owners = _Memory(b).at(job, 8 * _JOB.index("owners"))
    last = b.icmp_signed("==", b.atomic_rmw("sub", owners, INDEX(1), "acq_rel"), INDEX(1))
    with b.if_then(last):
        b.call(_declare(module, "free", ir.VoidType(), POINTER), [job])
    b.ret_void()
    return task


def _declare(module: ir.Module, name: str, result: ir.Type, argument: ir.Type) -> ir.Function:
    return ir.Function(module, ir.FunctionType(result, [argument]), name)


def _build_handler(
    module: ir.Module, task: ir.Function, version: tuple[int, int], with_state: bool
) -> ir.Function:
    """Return handler(frame, slot), the function that XLA's C API describes, with a slot."""
    handler = _internal(module, "handler", ir.FunctionType(POINTER, [POINTER, POINTER]))
    frame, slot = handler.args
    b = ir.IRBuilder(handler.append_basic_block("head"))
    memory = _Memory(b)
    _answer_metadata(b, frame, version, with_state)
    with b.if_then(b.icmp_signed("!=", memory.get(frame, FRAME_STAGE, WORD), WORD(EXECUTE))):
        b.ret(NULL)
    api = memory.get(frame, FRAME_API)
    slot_constants = memory.get(slot, 8 * SLOT_FIELDS.index("constants"))
    passed = is_null(b, slot_constants)
    inputs, results = (memory.word(slot, SLOT_FIELDS, name) for name in ("inputs", "results"))
    _refuse_other_frames(b, frame, api, b.add(inputs, b.zext(passed, INDEX)), results)
    sources = memory.get(frame, FRAME_ARGS + LIST_ITEMS)
    targets = memory.get(frame, FRAME_RESULTS + LIST_ITEMS)
    count = _count_elements(b, memory.get(targets, 0))

    words = len(_JOB) + MOST_OPERANDS
    job = memory.stack(words)
    memory.put(INDEX(0), job, 8 * _JOB.index("next"))
    memory.put(count, job, 8 * _JOB.index("count"))
    memory.put(count, job, 8 * _JOB.index("left"))
    memory.put(INDEX(1), job, 8 * _JOB.index("owners"))
    memory.put(NULL, job, 8 * _JOB.index("future"))
    memory.put(api, job, 8 * _JOB.index("api"))
    memory.put(slot, job, 8 * _JOB.index("slot"))
    memory.put(slot_constants, job, 8 * _JOB.index("constants"))
    with b.if_then(passed):
        memory.put(_data(b, sources, inputs), job, 8 * _JOB.index("constants"))
    places = memory.at(job, 8 * len(_JOB))
    _copy_addresses(b, targets, results, places)
    _copy_addresses(b, sources, inputs, b.gep(places, [results], source_etype=INDEX))

    step = memory.word(slot, SLOT_FIELDS, "step")
    run = module.globals["run"]
    with b.if_then(b.icmp_signed("<=", count, step)):
        b.call(run, [job])
        b.ret(NULL)
    context = memory.get(frame, FRAME_CONTEXT)
    helpers = _count_helpers(b, api, context, count, step)
    with b.if_then(b.icmp_signed("<=", helpers, INDEX(0))):
        b.call(run, [job])
        b.ret(NULL)
    _share(b, frame, job, words, helpers, task)
    b.ret(NULL)
    return handler


def _answer_metadata(
    b: ir.IRBuilder, frame: ir.Value, version: tuple[int, int], with_state: bool
) -> None:
    """Return from the handler if the frame is a query for metadata."""
    memory = _Memory(b)
    extension = memory.get(frame, FRAME_EXTENSION)
    with b.if_then(b.not_(is_null(b, extension))):
        kind = memory.get(extension, EXTENSION_TYPE, WORD)
        with b.if_then(b.icmp_signed("==", kind, WORD(METADATA))):
            metadata = memory.get(extension, EXTENSION_METADATA)
            memory.put(WORD(version[0]), metadata, METADATA_MAJOR)
            memory.put(WORD(version[1]), metadata, METADATA_MINOR)
            memory.put(WORD(0), metadata, METADATA_TRAITS)
            if with_state:
                memory.put(INDEX(0), metadata, METADATA_STATE)
            b.ret(NULL)


def _refuse_other_frames(
    b: ir.IRBuilder, frame: ir.Value, api: ir.Value, inputs: ir.Value, results: ir.Value
) -> None:
    """Return an error from the handler if a frame does not have the operands of its slot."""
    memory = _Memory(b)
    fits = b.icmp_unsigned(">=", memory.get(frame, FRAME_SIZE, INDEX), INDEX(FRAME_FUTURE))
    for offset, expected in ((FRAME_ARGS, inputs), (FRAME_RESULTS, results)):
        length = memory.get(frame, offset + LIST_LENGTH, INDEX)
        fits = b.and_(fits, b.icmp_signed("==", length, expected))
    with b.if_then(b.not_(fits), likely=False):
        text = b"softgate: the number of operands or results is not that of the target\0"
        message = ir.GlobalVariable(b.module, ir.ArrayType(BYTE, len(text)), "message")
        message.initializer = ir.Constant(message.value_type, bytearray(text))
        message.linkage = "internal"
        error = memory.structure(message, INDEX(INTERNAL_ERROR))
        b.ret(memory.call(api, "Error_Create", error))


def _count_elements(b: ir.IRBuilder, buffer: ir.Value) -> ir.Value:
    """Return the number of elements of a buffer: the product of its dimensions."""
    memory = _Memory(b)
    rank, shape = memory.get(buffer, BUFFER_RANK, INDEX), memory.get(buffer, BUFFER_SHAPE)
    total = b.alloca(INDEX)
    b.store(INDEX(1), total)
    with _each(b, rank) as axis:
        length = b.load(b.gep(shape, [axis], source_etype=INDEX), typ=INDEX)
        b.store(b.mul(b.load(total, typ=INDEX), length), total)
    return b.load(total, typ=INDEX)


@contextmanager
def _each(b: ir.IRBuilder, count: ir.Value) -> Iterator[ir.Value]:
    """Emit a loop over 0 … count - 1; the `with` block is its body."""
    place = b.alloca(INDEX)
    b.store(INDEX(0), place)
    head, body, after = (b.append_basic_block(name) for name in ("each", "body", "after"))
    b.branch(head)
    b.position_at_end(head)
    index = b.load(place, typ=INDEX)
    b.cbranch(b.icmp_signed("<", index, count), body, after)
    b.position_at_end(body)
    yield index
    b.store(b.add(index, INDEX(1)), place)
    b.branch(head)
    b.position_at_end(after)


def _data(b: ir.IRBuilder, buffers: ir.Value, index: ir.Value) -> ir.Value:
    """Return the address of the elements of a buffer in a list."""
    memory = _Memory(b)
    return memory.get(memory.get(b.gep(buffers, [index], source_etype=INDEX), 0), BUFFER_DATA)


def _copy_addresses(b: ir.IRBuilder, buffers: ir.Value, count: ir.Value, places: ir.Value) -> None:
    with _each(b, count) as index:
        _Memory(b).put(_data(b, buffers, index), b.gep(places, [index], source_etype=INDEX), 0)


def _count_helpers(
    b: ir.IRBuilder, api: ir.Value, context: ir.Value, count: ir.Value, step: ir.Value
) -> ir.Value:
    """Return how many threads of XLA's pool can take part; 0 without a pool."""
    memory = _Memory(b)
    threads = memory.stack(1)
    memory.put(INDEX(1), threads, 0)
    query = memory.structure(context, threads)
    _destroy(b, api, memory.call(api, "ThreadPool_NumThreads", query))
    chunks = b.udiv(b.sub(b.add(count, step), INDEX(1)), step)
    size = memory.get(threads, 0, INDEX)
    return b.sub(b.select(b.icmp_signed("<", size, chunks), size, chunks), INDEX(1))


def _destroy(b: ir.IRBuilder, api: ir.Value, error: ir.Value) -> ir.Value:
    """Free an error, unless it is null; return whether there was one."""
    failed = b.not_(is_null(b, error))
    memory = _Memory(b)
    with b.if_then(failed, likely=False):
        memory.call(api, "Error_Destroy", memory.structure(error))
    return failed


def _share(
    b: ir.IRBuilder,
    frame: ir.Value,
    job: ir.Value,
    words: int,
    helpers: ir.Value,
    task: ir.Function,
) -> None:
    """Schedule a task for each helper, and take part."""
    memory, module = _Memory(b), b.module
    api, context = memory.get(frame, FRAME_API), memory.get(frame, FRAME_CONTEXT)
    creation = memory.structure(NULL)
    with b.if_then(_destroy(b, api, memory.call(api, "Future_Create", creation)), likely=False):
        b.call(module.globals["run"], [job])
        b.ret(NULL)
    future = memory.get(creation, 16)
    memory.put(future, frame, FRAME_FUTURE)
    memory.put(future, job, 8 * _JOB.index("future"))
    memory.put(b.add(helpers, INDEX(1)), job, 8 * _JOB.index("owners"))
    # Tasks may outlive this call: those that begin late find no chunk, and drop the job.
    shared = b.call(_declare(module, "malloc", POINTER, INDEX), [INDEX(8 * words)])
    for offset in range(0, 8 * words, 8):
        memory.put(memory.get(job, offset, INDEX), shared, offset)
    order = memory.structure(context, task, shared)
    owners = memory.at(shared, 8 * _JOB.index("owners"))
    with _each(b, helpers):
        failed = _destroy(b, api, memory.call(api, "ThreadPool_Schedule", order))
        with b.if_then(failed, likely=False):
            b.atomic_rmw("sub", owners, INDEX(1), "acq_rel")
    b.call(task, [shared])


def compile_stubs(version: tuple[int, int], with_state: bool) -> list[tuple[int, int]]:
    """Return the addresses of a new batch of stubs and of their slots; they are never freed."""
    places = (ctypes.c_size_t * 2)()
    write: Callable[..., None] = compile_module(build_stubs(version, with_state), 1, counts=0)
    write(ctypes.addressof(places))
    # XLA has no way to unregister a target, and its threads run until the process has ended.
    never_free(write)
    stubs = (ctypes.c_size_t * STUBS).from_address(places[0])
    return [(stub, places[1] + 8 * len(SLOT_FIELDS) * i) for i, stub in enumerate(stubs)]
