"""The CPUs that kernels are compiled for, and building and compiling LLVM functions for them.

For an operation that a CPU lacks, LLVM calls a runtime routine; a process without it crashes. A
`Target` therefore reports whether its CPU converts float16 and has fma; replacements made of
integer operations and float64, with the same bits, are at the end of this module.
"""

from __future__ import annotations

import ctypes
import itertools
import mmap
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

COMPILING = 1 << 26
"""Bytes for compiling a kernel: a kernel of the catalogue needs at most a quarter of them."""
LOADING = 1 << 28
"""Bytes for loading LLVM and compiling a first kernel."""


def check_memory(size: int = COMPILING) -> None:
    """Raise MemoryError if the system does not provide `size` bytes; they are not used.

    LLVM ends the process if an allocation fails.
    """
    flags = getattr(mmap, "MAP_PRIVATE", 0) | getattr(mmap, "MAP_ANONYMOUS", 0)
    try:
        (mmap.mmap(-1, size, flags=flags) if flags else mmap.mmap(-1, size)).close()
    except (OSError, MemoryError):
        raise MemoryError(
            f"compiling a kernel needs {size >> 20} MB, which the system does not provide: end "
            "other programs, or raise the limit (ulimit -v)"
        ) from None


try:
    import llvmlite.binding as llvm
    from llvmlite import ir
    from llvmlite.binding.newpassmanagers import NewPassManager
except (OSError, MemoryError):  # llvmlite reports a library that is missing, whatever the reason
    check_memory(LOADING)
    raise

INDEX = ir.IntType(64)
POINTER = ir.PointerType()
BYTE, HALFWORD, WORD, LONG, WIDE = (ir.IntType(bits) for bits in (8, 16, 32, 64, 128))
HALF, SINGLE, DOUBLE = ir.HalfType(), ir.FloatType(), ir.DoubleType()
FALSE = ir.Constant(ir.IntType(1), 0)


class CountedLoop:
    """A loop over an index from 0 to `count`; code emitted within the `with` block is its body.

    `vectors` is the number of vectors that LLVM interleaves per iteration. Such a loop writes no
    element that another iteration reads, so LLVM vectorises it without comparing addresses; within
    an iteration all reads precede the writes, so an output may overwrite an input in place.
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
            group = b.module.add_metadata([])
            for instruction in self.body.instructions:
                if instruction.opname in ("load", "store"):
                    instruction.set_metadata("llvm.access.group", group)
            again.set_metadata("llvm.loop", _independent(b.module, self.vectors, group))
        b.position_at_end(self.end)


def _independent(module: ir.Module, vectors: int, group: ir.MDValue) -> ir.MDValue:
    """Return the metadata of a loop of independent iterations, with its interleave count."""
    text = partial(ir.MetaDataString, module)
    count = [text("llvm.loop.interleave.count"), ir.Constant(ir.IntType(32), vectors)]
    parallel = [text("llvm.loop.parallel_accesses"), group]
    return module.add_metadata([module.add_metadata(count), module.add_metadata(parallel)])


def function(arrays: int, counts: int = 1) -> tuple[ir.Module, ir.IRBuilder, list[ir.Value]]:
    """Return a module, the builder of its `kernel(addresses…, counts…)`, and the arguments."""
    module = ir.Module("softgate")
    kind = ir.FunctionType(ir.VoidType(), [POINTER] * arrays + [INDEX] * counts)
    function = ir.Function(module, kind, "kernel")
    return module, ir.IRBuilder(function.append_basic_block("head")), list(function.args)


Symbols = Mapping[str, int]
"""Addresses of C functions by name."""


def address_of(function: Any) -> int:
    """Return the address of a function of a C library, or of a compiled one."""
    address = ctypes.cast(function, ctypes.c_void_p).value
    assert address is not None
    return address


class FunctionBuilder:
    """A function under construction that calls C functions by their addresses."""

    def __init__(self, symbols: Symbols, result: ir.Type, pointers: int, counts: int = 0) -> None:
        self.symbols, self.module = symbols, ir.Module("softgate")
        kind = ir.FunctionType(result, [POINTER] * pointers + [INDEX] * counts)
        function = ir.Function(self.module, kind, "kernel")
        entry = function.append_basic_block("entry")
        body = function.append_basic_block("body")
        self._entry = ir.IRBuilder(entry)
        self._entry.branch(body)
        self._entry.position_at_start(entry)
        self.builder = ir.IRBuilder(body)
        self.arguments = list(function.args)

    def call(self, name: str, result: ir.Type, *arguments: ir.Value) -> ir.Value:
        """Emit a call of a C function."""
        kind = ir.FunctionType(result, [argument.type for argument in arguments])
        address = INDEX(self.symbols[name])
        return self.builder.call(self.builder.inttoptr(address, kind.as_pointer()), arguments)

    def slot(self, kind: ir.Type, count: int = 1) -> ir.Value:
        """Return memory on the stack, allocated once at the start of the function."""
        return self._entry.alloca(kind, size=count)

    def text(self, text: str) -> ir.Value:
        """Return the address of a string constant."""
        data = bytearray(text.encode() + b"\0")
        constant = ir.Constant(ir.ArrayType(BYTE, len(data)), data)
        name = f"text{len(self.module.globals)}"
        place = ir.GlobalVariable(self.module, constant.type, name)
        place.initializer, place.linkage = constant, "internal"
        return place

    def place(self, base: ir.Value, index: ir.Value) -> ir.Value:
        """Return the address of a 64-bit word, an integer or a pointer."""
        return self.builder.gep(base, [self.builder.mul(index, INDEX(8))], source_etype=BYTE)

    def word(self, base: ir.Value, index: int) -> ir.Value:
        """Return a 64-bit word of memory."""
        return self.builder.load(self.place(base, INDEX(index)), typ=INDEX)


@dataclass(frozen=True)
class Target:
    """A CPU by its LLVM name, with features to add and to omit ("+avx2,-fma").

    `triple` names the architecture and the system, by default those of this process.
    """

    cpu: str
    features: str = ""
    triple: str = llvm.get_process_triple()

    @cached_property
    def machine(self) -> llvm.TargetMachine:
        """LLVM's code generator for this CPU."""
        if _architecture(self.triple) == _architecture(llvm.get_process_triple()):
            llvm.initialize_native_target()
            llvm.initialize_native_asmprinter()
        else:
            llvm.initialize_all_targets()
            llvm.initialize_all_asmprinters()
        features = [self.features] if self.features else []
        if _architecture(self.triple) == "x86_64":
            # For some CPUs LLVM prefers 256-bit vectors, because a few 512-bit operations would
            # lower the clock for all others. Kernels consist of wide operations only.
            features.append("-prefer-256-bit")
        return llvm.Target.from_triple(self.triple).create_target_machine(
            cpu=self.cpu, features=",".join(features), opt=3, jit=True
        )

    @cached_property
    def linker(self) -> llvm.LLJIT:
        """LLVM's linker of code for this CPU into the process, one for all kernels."""
        # RuntimeDyld may place the constants of an AArch64 kernel beyond the 4 GB that its code can
        # address, and then aborts the process. JITLink allocates both together.
        near = _architecture(self.triple) in ("aarch64", "arm64") and "windows" not in self.triple
        linker = llvm.create_lljit_compiler(self.machine, use_jit_link=near)
        never_free(linker)
        return linker

    @cached_property
    def converts_float16(self) -> bool:
        """Whether the CPU converts float16 to float32 and back (x86: F16C, from Ivy Bridge on)."""

        def double_it(builder: ir.IRBuilder, place: ir.Value) -> None:
            value = builder.fpext(builder.load(place, typ=HALF), SINGLE)
            builder.store(builder.fptrunc(builder.fadd(value, value), HALF), place)

        return not self._calls(double_it, b"hfsf", b"sfhf", b"h2f", b"f2h")

    @cached_property
    def fuses(self) -> bool:
        """Whether the CPU has a fused multiply-add (x86: FMA3, from Haswell on)."""

        def square_and_add(builder: ir.IRBuilder, place: ir.Value) -> None:
            value = builder.load(place, typ=SINGLE)
            builder.store(builder.fma(value, value, value), place)

        return not self._calls(square_and_add, b"fma")

    def _calls(self, emit: Callable[[ir.IRBuilder, ir.Value], None], *names: bytes) -> bool:
        """Return whether the code of a small function refers to a routine by one of the names."""
        module, builder, (place,) = function(1, counts=0)
        emit(builder, place)
        builder.ret_void()
        code: bytes = self.machine.emit_object(llvm.parse_assembly(str(module)))
        return any(name in code for name in names)


def _architecture(triple: str) -> str:
    return triple.partition("-")[0]


def _host_features() -> dict[str, bool]:
    try:
        return dict(llvm.get_host_cpu_features())
    except RuntimeError:  # LLVM cannot detect them on some systems; the CPU's name suffices
        return {}


def _host() -> Target:
    flags = (f"{'+' if has else '-'}{name}" for name, has in sorted(_host_features().items()))
    return Target(llvm.get_host_cpu_name(), ",".join(flags))


check_memory()
HOST = _host()
"""The CPU of this machine."""


def host() -> tuple[str, frozenset[str]]:
    """Return the name of this machine's CPU and the features that LLVM uses on it."""
    return HOST.cpu, frozenset(name for name, has in _host_features().items() if has)


def parse(module: ir.Module | str, target: Target = HOST) -> llvm.ModuleRef:
    """Return a module for a CPU, which llvmlite built or whose text names none, in LLVM's form."""
    if isinstance(module, str):
        return llvm.parse_assembly(f'target triple = "{target.triple}"\n{module}')
    module.triple = target.triple
    # Loop metadata must be distinct and refer to itself first, and an access group be distinct,
    # which llvmlite cannot express.
    text = re.sub(r"(?m)^(!\d+) = !\{ (!\d+, !\d+) \}$", r"\1 = distinct !{ \1, \2 }", str(module))
    text = re.sub(r"(?m)^(!\d+) = !\{ *\}$", r"\1 = distinct !{}", text)
    return llvm.parse_assembly(text)


def optimise(module: ir.Module | llvm.ModuleRef, target: Target = HOST) -> llvm.ModuleRef:
    """Return `module` after LLVM's O3 pipeline for a CPU, by default this machine's."""
    parsed = parse(module, target) if isinstance(module, ir.Module) else module
    parsed.verify()
    options = llvm.create_pipeline_tuning_options(speed_level=3)
    options.loop_vectorization = options.slp_vectorization = True
    options.loop_unrolling = options.loop_interleaving = True
    builder = llvm.create_pass_builder(target.machine, options)
    _run(builder.getModulePassManager(), parsed, builder)
    return parsed


def remove_unused(module: llvm.ModuleRef, target: Target = HOST) -> None:
    """Remove what the exported functions of a module do not need, before it is optimised."""
    builder = llvm.create_pass_builder(target.machine, llvm.create_pipeline_tuning_options())
    manager = llvm.create_new_module_pass_manager()
    manager.add_global_dead_code_eliminate_pass()
    _run(manager, module, builder)


def _run(
    manager: llvm.ModulePassManager, module: llvm.ModuleRef, builder: llvm.PassBuilder
) -> None:
    manager.run(module, builder)
    if type(manager)._dispose is llvm.ffi.ObjectRef._dispose:
        # A defect of llvmlite: this method does nothing and hides the one that frees the passes.
        NewPassManager._dispose(manager)
        manager.detach()


def object_code(module: ir.Module | llvm.ModuleRef, target: Target = HOST) -> bytes:
    """Return the object file of `module`, optimised for a CPU."""
    code: bytes = target.machine.emit_object(optimise(module, target))
    return code


def compile_module(
    module: ir.Module | llvm.ModuleRef,
    pointers: int,
    counts: int = 1,
    name: str = "kernel",
    target: Target = HOST,
    symbols: Symbols | None = None,
) -> Callable[..., None]:
    """Return `name` of `module` as a function of `pointers` addresses and some counts.

    `symbols` are the functions that it calls. The code is unloaded when the function is garbage
    collected. Raises MemoryError if there is little memory.
    """
    check_memory()
    library = llvm.JITLibraryBuilder().add_object_img(object_code(module, target))
    library = library.add_current_process()
    for symbol, address in (symbols or {}).items():
        library.import_symbol(symbol, address)
    loaded = library.export_symbol(name).link(target.linker, f"kernel{next(_libraries)}")
    signature = [ctypes.c_void_p] * pointers + [ctypes.c_int64] * counts
    kernel: Any = ctypes.CFUNCTYPE(None, *signature)(loaded[name])
    kernel.code = _Code(loaded)
    result: Callable[..., None] = kernel
    return result


_libraries = itertools.count()


class _Code:
    """Owns the machine code of one kernel; unloads it, except at the interpreter's exit.

    A daemon thread may still run the code while the interpreter tears modules down.
    """

    def __init__(self, loaded: llvm.ResourceTracker) -> None:
        self._loaded = loaded
        never_free(loaded)

    def __del__(self, finalizing: Callable[[], bool] = sys.is_finalizing) -> None:
        if not finalizing():
            self._loaded.close()
            _release(self._loaded)


def never_free(resource: Any, increment: Any = ctypes.pythonapi.Py_IncRef) -> None:
    """Keep an object alive, even while the interpreter exits."""
    increment(ctypes.py_object(resource))


def _release(resource: Any, decrement: Any = ctypes.pythonapi.Py_DecRef) -> None:
    decrement(ctypes.py_object(resource))


REBIAS = (127 - 15) << 23
"""Difference of the exponent biases of float32 and float16, shifted into place."""


def widen_float16(b: ir.IRBuilder, bits: ir.Value) -> ir.Value:
    """Return the float32 equal to the float16 with these bits; a NaN becomes quiet."""
    word = b.zext(bits, WORD)
    size = b.and_(word, WORD(0x7FFF))
    normal = b.add(b.shl(size, WORD(13)), WORD(REBIAS))
    # Infinity and NaN: the exponent field must be the largest of float32.
    special = b.add(normal, WORD(REBIAS))
    nan = b.icmp_unsigned(">", size, WORD(0x7C00))
    special = b.or_(special, b.select(nan, WORD(0x400000), WORD(0)))
    # Subnormals are multiples of 2**-24; in float32 they are normal.
    counted = b.fmul(b.sitofp(size, SINGLE), ir.Constant(SINGLE, 2.0**-24))
    wide = b.select(b.icmp_unsigned("<", size, WORD(0x7C00)), normal, special)
    wide = b.select(b.icmp_unsigned("<", size, WORD(0x400)), b.bitcast(counted, WORD), wide)
    sign = b.shl(b.and_(word, WORD(0x8000)), WORD(16))
    return b.bitcast(b.or_(wide, sign), SINGLE)


def narrow_to_float16(b: ir.IRBuilder, value: ir.Value) -> ir.Value:
    """Return the bits of the float16 nearest to a float32, ties to even; a NaN becomes quiet."""
    word = b.bitcast(value, WORD)
    size = b.and_(word, WORD(0x7FFFFFFF))
    # Numbers from 2**16 on become infinite; those that round up to 2**16 need no extra case.
    limit = WORD(0x47800000)
    limited = b.select(b.icmp_unsigned("<", size, limit), size, limit)
    odd = b.and_(b.lshr(size, WORD(13)), WORD(1))
    nearest = b.add(b.sub(limited, WORD(REBIAS)), b.add(odd, WORD(0xFFF)))
    normal = b.lshr(nearest, WORD(13))
    # The ulp of float32 at 0.5 is 2**-24, the spacing of float16's subnormals: the sum rounds.
    shifted = b.fadd(b.bitcast(size, SINGLE), ir.Constant(SINGLE, 0.5))
    counted = b.sub(b.bitcast(shifted, WORD), WORD(0x3F000000))
    narrow = b.select(b.icmp_unsigned("<", size, WORD(0x38800000)), counted, normal)
    quiet = b.or_(b.and_(b.lshr(size, WORD(13)), WORD(0x3FF)), WORD(0x7E00))
    narrow = b.select(b.icmp_unsigned(">", size, WORD(0x7F800000)), quiet, narrow)
    sign = b.and_(b.lshr(word, WORD(16)), WORD(0x8000))
    return b.trunc(b.or_(narrow, sign), HALFWORD)


def emulated_fma(b: ir.IRBuilder, x: ir.Value, y: ir.Value, z: ir.Value) -> ir.Value:
    """Return x·y + z of float32 or float64, rounded once, without an fma instruction."""
    return _fma32(b, x, y, z) if x.type == SINGLE else b.call(_fma64(b.module), (x, y, z))


def _fma32(b: ir.IRBuilder, x: ir.Value, y: ir.Value, z: ir.Value) -> ir.Value:
    """Return x·y + z of float32 from float64, where the product is exact.

    The sum is rounded to odd: where it is inexact, its last bit is 1. Rounding it to float32 gives
    the same result as rounding the exact sum.
    """
    x, y, z = (b.fpext(v, DOUBLE) for v in (x, y, z))
    product = b.fmul(x, y)
    total = b.fadd(product, z)
    added = b.fsub(total, product)
    lost = b.fadd(b.fsub(product, b.fsub(total, added)), b.fsub(z, added))
    bits = b.bitcast(total, LONG)
    apart = b.ashr(b.xor(bits, b.bitcast(lost, LONG)), LONG(63))  # -1 where the signs differ
    even = b.icmp_unsigned("==", b.and_(bits, LONG(1)), LONG(0))
    inexact = b.fcmp_ordered("!=", lost, ir.Constant(DOUBLE, 0.0))  # false of inf and NaN
    odd = b.add(bits, b.or_(apart, LONG(1)))
    return b.fptrunc(b.bitcast(b.select(b.and_(even, inexact), odd, bits), DOUBLE), SINGLE)


MANTISSA = 52
SIGN = 1 << 63
INFINITE = 0x7FF << MANTISSA
SMALLEST = -1074
"""The exponent of float64's smallest subnormal."""


def _fma64(module: ir.Module) -> ir.Function:
    """Return the function of `module` that computes x·y + z of float64 with integers.

    Product and addend are digits·2**exponent with digits in 128 bits, the leading one at bit 124 or
    125. Bits dropped by the shift to a common exponent become a sticky bit, which only breaks ties:
    for cancellation the exponents differ by at most 2, and then no bit is dropped.
    """
    if "fused" in module.globals:
        return module.globals["fused"]
    function = ir.Function(module, ir.FunctionType(DOUBLE, [DOUBLE] * 3), "fused")
    function.linkage = "internal"
    function.attributes.add("noinline")  # a kernel calls it dozens of times
    b = ir.IRBuilder(function.append_basic_block())
    x, y, z = (_Parts(b, value) for value in function.args)
    sign = b.and_(b.xor(x.bits, y.bits), LONG(SIGN))
    product = b.shl(b.mul(b.zext(x.digits, WIDE), b.zext(y.digits, WIDE)), WIDE(20))
    addend = b.shl(b.zext(z.digits, WIDE), WIDE(73))
    exponent = b.sub(b.add(x.exponent, y.exponent), LONG(20))
    above = b.sub(exponent, b.sub(z.exponent, LONG(73)))
    higher = b.icmp_signed(">", above, LONG(0))
    addend = _shift_right(b, addend, b.select(higher, above, LONG(0)))
    product = _shift_right(b, product, b.select(higher, LONG(0), b.neg(above)))
    exponent = b.select(higher, exponent, b.sub(exponent, above))
    apart = b.icmp_signed("<", b.xor(sign, z.bits), LONG(0))
    total = b.add(product, b.select(apart, b.neg(addend), addend))
    negative = b.icmp_signed("<", total, WIDE(0))
    digits = b.select(negative, b.neg(total), total)
    result = _round64(b, digits, exponent)
    result = b.or_(result, b.xor(sign, b.select(negative, LONG(SIGN), LONG(0))))
    result = b.select(b.icmp_unsigned("==", digits, WIDE(0)), LONG(0), result)
    # An infinity, a NaN or a product of 0: float arithmetic is exact there. A finite product is
    # replaced by 0, since it could overflow to an infinity of the opposite sign.
    finite = b.and_(x.finite, y.finite)
    factor = b.select(finite, b.bitcast(sign, DOUBLE), b.fmul(*function.args[:2]))
    plain = b.fadd(factor, function.args[2])
    nonzero = b.icmp_unsigned("!=", product, WIDE(0))
    rounded = b.and_(b.and_(finite, z.finite), nonzero)
    b.ret(b.select(rounded, b.bitcast(result, DOUBLE), plain))
    return function


class _Parts:
    """A float64 as digits·2**exponent; the first of 53 digits is 1 unless all are 0."""

    def __init__(self, b: ir.IRBuilder, value: ir.Value) -> None:
        self.bits = b.bitcast(value, LONG)
        field = b.and_(b.lshr(self.bits, LONG(MANTISSA)), LONG(0x7FF))
        self.finite = b.icmp_unsigned("!=", field, LONG(0x7FF))
        subnormal = b.icmp_unsigned("==", field, LONG(0))
        digits = b.and_(self.bits, LONG((1 << MANTISSA) - 1))
        digits = b.or_(digits, b.select(subnormal, LONG(0), LONG(1 << MANTISSA)))
        shift = b.sub(b.ctlz(digits, FALSE), LONG(63 - MANTISSA))
        self.digits = b.shl(digits, shift)
        exponent = b.add(b.select(subnormal, LONG(1), field), LONG(SMALLEST - 1))
        self.exponent = b.sub(exponent, shift)


def _shift_right(b: ir.IRBuilder, digits: ir.Value, by: ir.Value) -> ir.Value:
    """Return `digits` shifted, with a sticky bit: the last bit is 1 if a 1 was dropped."""
    by = b.zext(b.select(b.icmp_unsigned("<", by, LONG(127)), by, LONG(127)), WIDE)
    shifted = b.lshr(digits, by)
    dropped = b.icmp_unsigned("!=", b.shl(shifted, by), digits)
    return b.or_(shifted, b.zext(dropped, WIDE))


def _round64(b: ir.IRBuilder, digits: ir.Value, exponent: ir.Value) -> ir.Value:
    """Return the bits of the float64 nearest to digits·2**exponent > 0, ties to even."""
    # Move the leading digit to bit 125, so that the shift below is positive.
    zeros = b.ctlz(digits, FALSE)
    digits = _shift_right(b, b.shl(digits, zeros), LONG(2))
    exponent = b.add(b.sub(exponent, b.trunc(zeros, LONG)), LONG(2))
    unit = b.add(exponent, LONG(125 - MANTISSA))
    unit = b.select(b.icmp_signed(">", unit, LONG(SMALLEST)), unit, LONG(SMALLEST))
    drop = b.sub(unit, exponent)
    drop = b.zext(b.select(b.icmp_unsigned("<", drop, LONG(127)), drop, LONG(127)), WIDE)
    whole = b.lshr(digits, drop)
    rest = b.add(b.sub(digits, b.shl(whole, drop)), b.and_(whole, WIDE(1)))
    half = b.shl(WIDE(1), b.sub(drop, WIDE(1)))
    nearest = b.add(whole, b.zext(b.icmp_unsigned(">", rest, half), WIDE))
    field = b.sub(unit, LONG(SMALLEST))
    bits = b.add(b.shl(field, LONG(MANTISSA)), b.trunc(nearest, LONG))
    return b.select(b.icmp_unsigned("<", bits, LONG(INFINITE)), bits, LONG(INFINITE))
