"""The functions of native.c, compiled for this CPU from its LLVM IR, with constants for their use.

native.ll is written by tools/compile_native.py. Words of memory that C and Python share are 64 bits
each; the tuples of names here have the order of the structures in native.c.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, NamedTuple

from llvmlite import ir

from softgate.formula.formats import FLOAT32, Format

from .llvm import STORED, load
from .target import (
    DOUBLE,
    HOST,
    INDEX,
    POINTER,
    Symbols,
    Target,
    address_of,
    check_memory,
    compile_module,
    never_free,
    parse,
    remove_unused,
)

if TYPE_CHECKING:  # only target.py loads LLVM, and reports that there is too little memory for it
    import llvmlite.binding as llvm

Constants = Mapping[str, int]

FLUSH_X86 = 1 << 15 | 1 << 6
"""The bits of MXCSR that flush subnormal results and operands to 0."""
FLUSH_ARM = 1 << 24 | 1 << 19 | 1 << 0
"""The bits of FPCR that do so: FZ, FZ16 and FIZ."""
MODE_X86 = f"""
@FLUSH = constant i64 {FLUSH_X86}
declare void @llvm.x86.sse.stmxcsr(ptr)
declare void @llvm.x86.sse.ldmxcsr(ptr)
define i64 @get_mode() alwaysinline {{
  %place = alloca i32
  call void @llvm.x86.sse.stmxcsr(ptr %place)
  %word = load i32, ptr %place
  %mode = zext i32 %word to i64
  ret i64 %mode
}}
define void @set_mode(i64 %mode) alwaysinline {{
  %place = alloca i32
  %word = trunc i64 %mode to i32
  store i32 %word, ptr %place
  call void @llvm.x86.sse.ldmxcsr(ptr %place)
  ret void
}}"""
MODE_ARM = f"""
@FLUSH = constant i64 {FLUSH_ARM}
declare i64 @llvm.aarch64.get.fpcr()
declare void @llvm.aarch64.set.fpcr(i64)
define i64 @get_mode() alwaysinline {{
  %mode = call i64 @llvm.aarch64.get.fpcr()
  ret i64 %mode
}}
define void @set_mode(i64 %mode) alwaysinline {{
  call void @llvm.aarch64.set.fpcr(i64 %mode)
  ret void
}}"""
NO_MODE = """
@FLUSH = constant i64 0
define i64 @get_mode() alwaysinline {
  ret i64 0
}
define void @set_mode(i64 %mode) alwaysinline {
  ret void
}"""
"""On other architectures the mode is not changed."""
MODES = {"x86_64": MODE_X86, "aarch64": MODE_ARM, "arm64": MODE_ARM}


@cache
def _text() -> str:
    return resources.files(__package__).joinpath("native.ll").read_text(encoding="utf-8")


def called(prefix: str) -> list[str]:
    """Return the names with a prefix of the foreign functions that native.c calls."""
    return re.findall(rf"(?m)^declare .*@({prefix}\w+)\(", _text())


def _calls(operands: Sequence[int]) -> str:
    """Return the definition of `call` for kernels with one of some numbers of operands."""
    cases = " ".join(f"i64 {n}, label %call{n}" for n in operands)
    lines = [
        "define void @call(ptr %code, ptr %places, ptr %constants, i64 %count, i64 %operands) "
        f"alwaysinline {{\n  switch i64 %operands, label %none [{cases}]\nnone:\n  ret void"
    ]
    for n in operands:
        lines.append(f"call{n}:")
        for i in range(n):
            lines.append(f"  %p{n}.{i} = getelementptr ptr, ptr %places, i64 {i}")
            lines.append(f"  %a{n}.{i} = load ptr, ptr %p{n}.{i}")
        places = "".join(f"ptr %a{n}.{i}, " for i in range(n))
        lines.append(f"  call void %code({places}ptr %constants, i64 %count)\n  ret void")
    return "\n".join([*lines, "}"])


def build(
    name: str,
    constants: Constants,
    operands: Sequence[int] = (),
    more: ir.Module | None = None,
    target: Target = HOST,
) -> llvm.ModuleRef:
    """Return the module of `kernel`, one function of native.c.

    `operands` are the numbers of operands of the kernels that it calls; `more` defines what else it
    needs.
    """
    definitions = [f"@{key} = constant i64 {value}" for key, value in constants.items()]
    architecture = target.triple.partition("-")[0]
    definitions += [MODES.get(architecture, NO_MODE), _calls(operands)]
    check_memory()
    module = parse(_text(), target)
    module.link_in(parse("\n".join(definitions), target))
    if more is not None:
        module.link_in(parse(more, target))
    for value in (*module.functions, *module.global_variables):
        if not value.is_declaration and value.name != name:
            value.linkage = "internal"
    module.get_function(name).name = "kernel"
    remove_unused(module, target)
    return module


# Threads.

CHUNK_FIELDS = ("next", "count", "step", "item", "kernel", "constants")
"""The head of a job; the addresses of the operands follow.

Over rows, `next`, `count` and `step` count rows; the length of a row and the row stride of each
operand in elements precede the addresses."""


def build_chunk_loop(operands: int, rows: bool = False, target: Target = HOST) -> llvm.ModuleRef:
    """Return the module of run_chunks(job) or run_row_chunks(job)."""
    name = "run_row_chunks" if rows else "run_chunks"
    return build(name, {"OPERANDS": operands}, [operands], target=target)


def compile_chunk_loop(operands: int, rows: bool = False) -> Callable[..., None]:
    """Compile run_chunks(job), or run_row_chunks(job), for kernels with `operands` operands."""
    return compile_module(build_chunk_loop(operands, rows), 1, 0)


def compile_block_loop(results: int, operands: int) -> Callable[..., None]:
    """Compile run_row_blocks(job) for kernels with `operands` operands, results first."""
    module = build("run_row_blocks", {"RESULTS": results, "OPERANDS": operands}, [operands])
    return compile_module(module, 1, 0)


def compile_on_thread(sleep: int, duration: int) -> Callable[..., None]:
    """Compile run_on_thread(state, function, job, is_caller).

    `sleep` is the address of a function of the system, `duration` what it is called with.
    """
    module = build("run_on_thread", {"DURATION": duration})
    return compile_module(module, 3, 1, symbols={"sleep_for": sleep})


# XLA.

SLOT_FIELDS = ("chunks", "kernel", "constants", "item", "step", "inputs", "results")
"""A slot: what a stub passes to XLA's handler."""
STUBS = 64
"""Stubs in a batch."""
API_FUNCTIONS = {
    "Error_Create": 48,
    "Error_Destroy": 64,
    "ThreadPool_Schedule": 136,
    "ThreadPool_NumThreads": 144,
    "Future_Create": 152,
    "Future_SetAvailable": 160,
}
"""Offsets in bytes of the functions in XLA_FFI_Api that the handler calls."""


def build_stubs(
    version: tuple[int, int], with_state: bool, target: Target = HOST
) -> llvm.ModuleRef:
    """Return the module of xla_stubs(places).

    `version` is that of XLA's interface; `with_state` is whether its metadata have the type of a
    state.
    """
    constants = {"XLA_MAJOR": version[0], "XLA_MINOR": version[1], "XLA_HAS_STATE": int(with_state)}
    return build("xla_stubs", constants, target=target)


def compile_stubs(version: tuple[int, int], with_state: bool) -> list[tuple[int, int]]:
    """Return the addresses of a new batch of stubs and of their slots; they are never freed."""
    places = (ctypes.c_size_t * 2)()
    write = compile_module(build_stubs(version, with_state), 1, 0)
    write(ctypes.addressof(places))
    # XLA has no way to unregister a target, and its threads run until the process has ended.
    never_free(write)
    stubs = (ctypes.c_size_t * STUBS).from_address(places[0])
    return [(stub, places[1] + 8 * len(SLOT_FIELDS) * i) for i, stub in enumerate(stubs)]


# TensorFlow.

KERNEL_FIELDS = ("kernel", "constants", "chunks", "inputs", "results", "item", "dtype")
"""The description of a kernel of TensorFlow's op."""
LINE, SLOT = 64, 128
"""Bytes of a cache line, and of a worker: a line with its job, and one with its semaphore."""
THREAD_FUNCTIONS = ("sem_wait", "sem_post", "sched_yield")
"""The functions of the C library that workers and callers use."""


class WorkerMemory(NamedTuple):
    """Memory that callers and threads share: the number of threads, then a `SLOT` for each."""

    address: int
    min_bytes: int
    """The fewest bytes read and written for which a thread is used."""


def compile_callbacks(
    symbols: Symbols, process: int, pool: WorkerMemory | None
) -> list[Callable[..., None]]:
    """Compile tf_create, tf_compute, and tf_shape for one result, two and three."""
    address, min_bytes = (0, 1) if pool is None else pool
    modules = [
        build("tf_create", {"PROCESS": process}),
        build("tf_compute", {"POOL": address, "MIN_BYTES": min_bytes}),
        *(build("tf_shape", {"RESULTS": results}) for results in (1, 2, 3)),
    ]
    pointers = (1, 2, 2, 2, 2)
    pairs = zip(modules, pointers, strict=True)
    return [compile_module(module, n, 0, symbols=symbols) for module, n in pairs]


def compile_serve(symbols: Symbols) -> Callable[..., None]:
    """Compile tf_serve(worker): process the jobs posted to a worker, without end."""
    return compile_module(build("tf_serve", {}), 1, 0, symbols=symbols)


# NumPy.

DATA = ("current", "varying", "active", "item", "large", "threads", "failed")
"""The words that a ufunc's inner loop and Python share; native.c describes them."""
RECORD = ("code", "constants")
"""The words of a record: the address of a kernel and of what it reads beside its operands. The
values of the parameters follow."""
UNIFORM, VARYING, SHARE = range(3)
"""The reasons for calling `serve`: a record for uniform or varying parameters, or threads."""
DONE = 1
"""The answer of `serve` where results have been computed."""


class InnerLoop(NamedTuple):
    """The numbers of operands of a ufunc's inner loop."""

    inputs: int
    results: int
    parameters: int


def build_ufunc_loop(loop: InnerLoop, target: Target = HOST) -> llvm.ModuleRef:
    """Return the module of ufunc_loop(args, dimensions, steps, data)."""
    constants = {name.upper(): int(value) for name, value in loop._asdict().items()}
    operands = loop.results + loop.inputs
    numbers = sorted({operands, operands + loop.parameters})
    return build("ufunc_loop", constants, numbers, target=target)


def _python_symbols() -> dict[str, int]:
    return {name: address_of(getattr(ctypes.pythonapi, name)) for name in called("Py")}


def compile_ufunc_loop(loop: InnerLoop, serve: int) -> Callable[..., None]:
    """Compile a loop; `serve` is the address of what Python does for it."""
    symbols = _python_symbols() | {"serve": serve}
    return compile_module(build_ufunc_loop(loop), 4, 0, symbols=symbols)


# Python.


def compile_call_method(constants: Constants, run_code: int) -> Callable[..., None]:
    """Compile call_method(method, args, count, names); `run_code` is what it replaces."""
    symbols = _python_symbols() | {"run_code": run_code}
    return compile_module(build("call_method", constants), 4, 0, symbols=symbols)


# Sums over columns.

COUNTS = ("finite", "rising_little", "falling", "falling_steeply", "saturated")
"""Elements that are finite; with slope < flat; with slope < 0; with slope <= -flat; with a value
outside of two bounds."""
SUMS = ("first", "second", "third", "openness", "input_square")
"""Powers of value - shift; value/x; x²."""
FIELDS = (*COUNTS, *SUMS)
"""The sums of each column: one row each of the table of sums, after the row of shifts."""
SETTINGS = ("stride_x", "stride_y", "stride_slope", "stride_sums", "flat", "low", "high", "rows")
"""The settings of a call: row strides, three float64, the number of rows."""


def build_tally(storage: Format, target: Target = HOST) -> llvm.ModuleRef:
    """Return the module of column_sums(sums, x, value, slope, settings, columns)."""
    module = ir.Module()
    function = ir.Function(module, ir.FunctionType(DOUBLE, [POINTER, INDEX]), "load")
    function.attributes.add("alwaysinline")
    b = ir.IRBuilder(function.append_basic_block())
    base, index = function.args
    place = b.gep(base, [index], source_etype=STORED[storage.name])
    value = load(b, storage, FLOAT32 if storage.bits == 16 else storage, place, target)
    b.ret(value if value.type == DOUBLE else b.fpext(value, DOUBLE))
    return build("column_sums", {"ITEM": storage.itemsize}, more=module, target=target)


def compile_tally(storage: Format) -> Callable[..., None]:
    """Compile column_sums for a format."""
    return compile_module(build_tally(storage), 5)
