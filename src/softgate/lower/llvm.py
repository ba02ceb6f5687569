"""A graph as a SIMD loop: straight-line IR in a counted loop, which LLVM vectorises to full width.

Only IEEE operations without fast-math flags are emitted, so the vector body and the scalar
remainder return the same bits, and a result depends only on its element.
Code is compiled on first use and kept in memory, without a C compiler or a cache on disk.

Other loops are here: `build_lookup`, `build_lookup_backward` and `build_lookup_pair` read results
of formats of at most 16 bits from a table of all inputs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

from llvmlite import ir

from softgate.formula.formats import FLOAT16, FLOAT32, Format
from softgate.formula.graph import Node, fold, is_constant, walk

from .target import (
    BYTE,
    DOUBLE,
    FALSE,
    HALFWORD,
    HOST,
    INDEX,
    POINTER,
    WORD,
    CountedLoop,
    Target,
    compile_module,
    emulated_fma,
    function,
    narrow_to_float16,
    widen_float16,
)

INTERLEAVE = 4
"""Vectors per iteration. Kernels are long chains of fmas, too long for the out-of-order window;
LLVM's cost model counts the registers that this spills, not the latency that it hides."""

SHORT = 20
"""Graphs of at most this many nodes are memory-bound: one vector per iteration is best."""

LONG = 120
"""Graphs with more nodes, such as users' formulas, take half as many vectors: four would double the
time to compile and save a tenth of the time to run."""

REAL = {"float32": ir.FloatType(), "float64": ir.DoubleType(), "float16": ir.HalfType()}
STORED = {**REAL, "bfloat16": HALFWORD}


@dataclass(frozen=True)
class Loop:
    """The specification of one compiled loop: one result per element for each of `roots`.

    `inputs` are the array operands in call order. Those in `parameter_inputs` are float64,
    whatever `storage` is. An output may be the memory of an input.
    """

    roots: tuple[Node, ...]
    arithmetic: Format
    storage: Format
    inputs: tuple[str, ...] = ("x",)
    parameters: tuple[str, ...] = ()
    parameter_inputs: tuple[str, ...] = ()

    @property
    def operands(self) -> int:
        """Number of arrays written and read."""
        return len(self.roots) + len(self.inputs)


def _operations(b: ir.IRBuilder, fmt: Format, target: Target) -> dict[str, Callable[..., ir.Value]]:
    """Return what emits each operation on values of one float format."""
    real, bits = REAL[fmt.name], ir.IntType(fmt.bits)
    shift = bits(fmt.mantissa_bits)
    # 2**mantissa_bits as a float, where one ulp is 1.
    whole = bits((fmt.max_exponent + fmt.mantissa_bits) << fmt.mantissa_bits)

    def intrinsic(name: str, *args: ir.Value) -> ir.Value:
        kind = ir.FunctionType(real, [real] * len(args))
        return b.call(b.module.declare_intrinsic(name, [real], kind), args)

    def to_exponent(t: ir.Value) -> ir.Value:
        return b.shl(b.bitcast(t, bits), shift)

    def add_exponent(x: ir.Value, t: ir.Value) -> ir.Value:
        moved = to_exponent(t)
        return b.bitcast(b.add(b.bitcast(x, bits), moved), real)

    return {
        "add": b.fadd,
        "sub": b.fsub,
        "mul": b.fmul,
        "div": b.fdiv,
        "neg": b.fneg,
        "fma": lambda x, y, z: fma(b, x, y, z, target),
        "abs": partial(intrinsic, "llvm.fabs"),
        "sqrt": partial(intrinsic, "llvm.sqrt"),
        "copysign": partial(intrinsic, "llvm.copysign"),
        "lt": partial(b.fcmp_ordered, "<"),
        "le": partial(b.fcmp_ordered, "<="),
        "eq": partial(b.fcmp_ordered, "=="),
        "where": b.select,
        "add_exponent": add_exponent,
        "exponent_only": lambda t: b.bitcast(to_exponent(t), real),
        "exponent_field": lambda x: b.bitcast(
            b.or_(b.lshr(b.bitcast(x, bits), shift), whole), real
        ),
    }


def fma(
    builder: ir.IRBuilder, a: ir.Value, b: ir.Value, c: ir.Value, target: Target = HOST
) -> ir.Value:
    """Return a·b + c, rounded once."""
    return builder.fma(a, b, c) if target.fuses else emulated_fma(builder, a, b, c)


def load(
    builder: ir.IRBuilder,
    storage: Format,
    arithmetic: Format,
    address: ir.Value,
    target: Target = HOST,
) -> ir.Value:
    """Load one element stored as `storage` into `arithmetic`."""
    emulate = storage is FLOAT16 and not target.converts_float16
    kind = HALFWORD if emulate else STORED[storage.name]
    value = builder.load(address, typ=kind, align=storage.bits // 8)
    if storage.bits == 16:
        if storage.name == "bfloat16":
            word = builder.shl(builder.zext(value, WORD), ir.Constant(WORD, 16))
            value = builder.bitcast(word, REAL["float32"])
        elif emulate:
            value = widen_float16(builder, value)
        else:
            value = builder.fpext(value, REAL["float32"])
        return value if arithmetic is FLOAT32 else builder.fpext(value, REAL[arithmetic.name])
    if storage is not arithmetic:
        return builder.fpext(value, REAL[arithmetic.name])
    # With AVX-512 a choice between two loaded values would become a masked load, which waits for
    # the other load instead of running in parallel.
    frozen = ir.instructions.Instruction(builder.block, value.type, "freeze", [value])
    builder._insert(frozen)
    return frozen


def store(
    builder: ir.IRBuilder,
    storage: Format,
    arithmetic: Format,
    value: ir.Value,
    address: ir.Value,
    target: Target = HOST,
) -> None:
    """Store one element, rounded once to `storage`."""
    if storage.bits == 16 and arithmetic.bits == 64:
        value = _to_odd_float32(builder, value)
    if storage.name == "bfloat16":
        value = _to_bfloat16(builder, value)
    elif storage is FLOAT16 and not target.converts_float16:
        value = narrow_to_float16(builder, value)
    elif storage is not arithmetic:
        value = builder.fptrunc(value, REAL[storage.name])
    builder.store(value, address, align=storage.bits // 8)


def _to_bfloat16(builder: ir.IRBuilder, value: ir.Value) -> ir.Value:
    word = builder.bitcast(value, WORD)
    half = ir.Constant(WORD, 16)
    odd = builder.and_(builder.lshr(word, half), ir.Constant(WORD, 1))
    # The addition cannot turn a NaN into infinity: its payload is from a bfloat16, or the CPU's
    # default, and ends in 16 zero bits. A signalling NaN that is only selected stays signalling.
    nearest = builder.add(word, builder.add(odd, ir.Constant(WORD, 0x7FFF)))
    return builder.trunc(builder.lshr(nearest, half), HALFWORD)


def _to_odd_float32(builder: ir.IRBuilder, value: ir.Value) -> ir.Value:
    """Return a float64, or if it is no float32 that one of its neighbours with an odd last bit.

    A format of 16 bits has neither that number nor one halfway to the next, so rounding it to 16
    bits is rounding once. LLVM would round from float64 with a function that may be missing.
    """
    near = builder.fptrunc(value, REAL["float32"])
    back, word = builder.fpext(near, DOUBLE), builder.bitcast(near, WORD)
    # Both have the same sign, so that the larger one has the larger bits.
    size, exact = (builder.bitcast(x, ir.IntType(64)) for x in (back, value))
    away = builder.icmp_unsigned(">", size, exact)
    towards_0 = builder.sub(word, builder.zext(away, WORD))
    odd = builder.bitcast(builder.or_(towards_0, ir.Constant(WORD, 1)), REAL["float32"])
    return builder.select(builder.fcmp_ordered("!=", back, value), odd, near)


def build(loop: Loop, target: Target = HOST) -> ir.Module:
    """Return the module with `kernel(outputs…, inputs…, parameters, n)` for `loop`."""
    module, builder, arguments = function(loop.operands + 1)
    # Four vectors per iteration spill registers; on an unaligned stack, spills across cache lines
    # take up to twice the time.
    builder.function.attributes.alignstack = 64
    bases, (parameters, count) = arguments[: loop.operands], arguments[loop.operands :]
    leaves = _load_invariants(builder, loop, parameters)
    outputs = bases[: len(loop.roots)]
    sources = dict(zip(loop.inputs, bases[len(loop.roots) :], strict=True))
    element = STORED[loop.storage.name]
    nodes = list(walk(*loop.roots))
    with CountedLoop(builder, count, vectors=_vectors(len(nodes), target)) as index:
        for node in nodes:
            if node.op == "input":
                leaves[node] = _input(builder, loop, str(node.attr), sources, index, target)
        operations = _operations(builder, loop.arithmetic, target)

        def emit(node: Node, args: list[ir.Value]) -> ir.Value:
            if isinstance(node.attr, Fraction) and node not in leaves:
                return ir.Constant(REAL[loop.arithmetic.name], loop.arithmetic.round(node.attr))
            return leaves[node] if node in leaves else operations[node.op](*args)

        values = fold(emit, *loop.roots)
        copies = [
            # A copy needs no conversion.
            builder.load(
                _place(builder, element, sources[str(root.attr)], index),
                typ=element,
                align=loop.storage.bits // 8,
            )
            if root.op == "input"
            else None
            for root in loop.roots
        ]
        for root, copy, output in zip(loop.roots, copies, outputs, strict=True):
            place = _place(builder, element, output, index)
            if copy is not None:
                builder.store(copy, place, align=loop.storage.bits // 8)
            else:
                store(builder, loop.storage, loop.arithmetic, values[root], place, target)
    builder.ret_void()
    return module


def _input(
    builder: ir.IRBuilder,
    loop: Loop,
    name: str,
    sources: dict[str, ir.Value],
    index: ir.Value,
    target: Target,
) -> ir.Value:
    """Return one element of an input in the arithmetic of a loop.

    A float64 parameter is two float32 numbers in float32 arithmetic: `name` and `name`.lo.
    """
    base, _, part = name.partition(".")
    if base not in loop.parameter_inputs:
        place = _place(builder, STORED[loop.storage.name], sources[name], index)
        return load(builder, loop.storage, loop.arithmetic, place, target)
    value = builder.load(_place(builder, DOUBLE, sources[base], index), typ=DOUBLE, align=8)
    if loop.arithmetic.bits == 64:
        return value
    high = builder.fptrunc(value, REAL["float32"])
    if not part:
        return high
    return builder.fptrunc(builder.fsub(value, builder.fpext(high, DOUBLE)), REAL["float32"])


def _vectors(nodes: int, target: Target) -> int:
    """Return the number of vectors that one iteration of a loop processes."""
    if nodes <= SHORT:
        return 1
    # An emulated fma is a dozen operations, so graphs with them count as long.
    return INTERLEAVE if nodes <= LONG and target.fuses else INTERLEAVE // 2


def _place(builder: ir.IRBuilder, kind: ir.Type, base: ir.Value, index: ir.Value) -> ir.Value:
    return builder.gep(base, [index], source_etype=kind)


def _load_invariants(builder: ir.IRBuilder, loop: Loop, base: ir.Value) -> dict[Node, ir.Value]:
    """Load the loop invariants: parameters, and zeros hidden from the optimiser."""
    leaves: dict[Node, ir.Value] = {}
    kind = REAL[loop.arithmetic.name]
    for node in walk(*loop.roots):
        if node.op == "parameter":
            slot = ir.Constant(INDEX, loop.parameters.index(str(node.attr)))
            leaves[node] = builder.load(_place(builder, kind, base, slot), typ=kind)
        elif node.op == "neg" and is_constant(node.args[0], 0):
            # LLVM turns fma(x, y, -0) into a multiplication.
            leaves[node] = _from_memory(builder, kind, -0.0)
        elif is_constant(node, 0) and loop.storage is not loop.arithmetic:
            # LLVM turns `x < 0 ? 0 : x` with a widened x into `x <= 0 ? 0 : x`, which loses -0.
            leaves[node] = _from_memory(builder, kind, 0.0)
    return leaves


def _from_memory(builder: ir.IRBuilder, kind: ir.Type, value: float) -> ir.Value:
    place = ir.GlobalVariable(builder.module, kind, f"number{len(builder.module.globals)}")
    place.initializer = ir.Constant(kind, value)
    return builder.load(place, typ=kind)


def compile_loop(loop: Loop, target: Target = HOST) -> Callable[..., None]:
    """Compile `loop`; the result is called with addresses and a count, without the GIL."""
    return compile_module(build(loop, target), loop.operands + 1, target=target)


LOOKUP_BLOCK = 512
"""Slopes that are gathered before they are multiplied: the block stays in L1 cache."""


def _pattern(b: ir.IRBuilder, kind: ir.IntType, x: ir.Value, i: ir.Value) -> ir.Value:
    """Return the bit pattern of x[i] as an index."""
    bits = b.load(b.gep(x, [i], source_etype=kind), typ=kind, align=kind.width // 8)
    return b.zext(bits, INDEX)


def build_lookup(kind: ir.IntType) -> ir.Module:
    """Return the module of kernel(out, x, table, count): out[i] = table[x[i]], in place or not.

    `kind` is the type of the bit patterns, HALFWORD or BYTE.
    """
    module, b, (out, x, table, count) = function(3)
    with CountedLoop(b, count) as i:
        result = b.load(b.gep(table, [_pattern(b, kind, x, i)], source_etype=kind), typ=kind)
        b.store(result, b.gep(out, [i], source_etype=kind), align=kind.width // 8)
    b.ret_void()
    return module


def compile_lookup(fmt: Format) -> Callable[..., None]:
    """Return the kernel that looks values up."""
    return compile_module(build_lookup(BYTE if fmt.itemsize == 1 else HALFWORD), pointers=3)


def build_lookup_pair() -> ir.Module:
    """Return the module of kernel(out, x, y, table, count): out[i] = table[256·x[i] + y[i]].

    `out` may be x or y.
    """
    module, b, (out, x, y, table, count) = function(4)
    with CountedLoop(b, count) as i:
        row = b.shl(_pattern(b, BYTE, x, i), INDEX(8))
        place = b.or_(row, _pattern(b, BYTE, y, i))
        result = b.load(b.gep(table, [place], source_etype=BYTE), typ=BYTE)
        b.store(result, b.gep(out, [i], source_etype=BYTE), align=1)
    b.ret_void()
    return module


def compile_lookup_pair() -> Callable[..., None]:
    """Return the kernel that looks results of two bytes up."""
    return compile_module(build_lookup_pair(), pointers=4)


def build_lookup_backward(fmt: Format, target: Target = HOST) -> ir.Module:
    """Return the module of kernel(out, x, grad, slopes, count).

    out[i] is slopes[x[i]]·grad[i], rounded to `fmt`. Slopes are gathered into a block that stays in
    L1 cache, and then multiplied with SIMD: a single loop would be scalar.
    """
    module, b, (out, x, grad, slopes, count) = function(4)
    real, limit = REAL["float32"], ir.Constant(INDEX, LOOKUP_BLOCK)
    block = b.alloca(real, size=LOOKUP_BLOCK)
    with CountedLoop(b, count, LOOKUP_BLOCK) as start:
        left = b.sub(count, start)
        size = b.select(b.icmp_signed("<", left, limit), left, limit)
        x_block, grad_block, out_block = (
            b.gep(base, [start], source_etype=HALFWORD) for base in (x, grad, out)
        )
        with CountedLoop(b, size) as i:
            entry = b.gep(slopes, [_pattern(b, HALFWORD, x_block, i)], source_etype=real)
            slope = b.load(entry, typ=real)
            b.store(slope, b.gep(block, [i], source_etype=real))
        with CountedLoop(b, size) as i:
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


def compile_copy() -> Callable[..., None]:
    """Return the kernel that copies bytes; it ignores the constants."""
    module, b, (out, x, _, count) = function(3)
    places = [POINTER, POINTER, INDEX, ir.IntType(1)]
    kind = ir.FunctionType(ir.VoidType(), places)
    b.call(ir.Function(module, kind, "llvm.memcpy.p0.p0.i64"), [out, x, count, FALSE])
    b.ret_void()
    return compile_module(module, pointers=3)
