"""Sums and counts over the columns of matrices, in one pass and in float64.

One loop reads input, output and slope of an activation, row after row, and adds to a dozen sums for
each column. A block of columns is processed over all rows before the next, so that its sums stay
in L1 cache; LLVM vectorises over the columns of a block.
"""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir

from softgate.formula.formats import FLOAT32, Format

from .llvm import REAL, STORED, load
from .target import HOST, INDEX, POINTER, CountedLoop, Target, compile_module, function

COUNTS = ("finite", "rising_little", "falling", "falling_steeply", "saturated")
"""Elements that are finite; with slope < flat; with slope < 0; with slope <= -flat; with a value
outside of two bounds."""
SUMS = ("first", "second", "third", "openness", "input_square")
"""Powers of value - shift; value/x; x²."""
FIELDS = (*COUNTS, *SUMS)
"""The sums of each column: one row each of the table of sums, after the row of shifts."""

SETTINGS = ("stride_x", "stride_y", "stride_slope", "stride_sums", "flat", "low", "high", "rows")
"""The settings of a call, one 64-bit word each: row strides, three float64, the number of rows."""

BLOCK = 64
DOUBLE = REAL["float64"]


class _Column:
    """One column's element in the innermost loop, and its sums."""

    def __init__(self, b: ir.IRBuilder, sums: ir.Value, index: ir.Value) -> None:
        self.b, self.sums, self.index = b, sums, index

    def place(self, row: int) -> ir.Value:
        """Return the address of the sum in a row of the table, for this column of the block."""
        b = self.b
        return b.gep(
            self.sums, [b.add(INDEX(row * BLOCK), self.index)], inbounds=True, source_etype=DOUBLE
        )

    def read(self, row: int) -> ir.Value:
        """Return that sum."""
        return self.b.load(self.place(row), typ=DOUBLE)

    def add(self, field: str, value: ir.Value) -> None:
        """Add to the sum called `field`."""
        row = 1 + FIELDS.index(field)
        self.b.store(self.b.fadd(self.read(row), value), self.place(row))


def compile_tally(storage: Format) -> Callable[..., None]:
    """Return the kernel that `build_tally` describes."""
    return compile_module(build_tally(storage), pointers=5)


def build_tally(storage: Format, target: Target = HOST) -> ir.Module:
    """Return the module of kernel(sums, x, value, slope, settings, columns).

    `sums` is a table of float64: the row of shifts, which is read, and a row for each of `FIELDS`,
    which is added to. All addresses are those of the first column; elements with a non-finite input
    or output are skipped.
    """
    module, b, arguments = function(5)
    sums, *operands, settings, columns = arguments
    for argument in arguments:
        if argument.type == POINTER:
            argument.add_attribute("noalias")
    strides = [_setting(b, settings, i, INDEX) for i in range(4)]
    flat, low, high = (_setting(b, settings, 4 + i, DOUBLE) for i in range(3))
    rows = _setting(b, settings, 7, INDEX)
    local = b.alloca(DOUBLE, size=(1 + len(FIELDS)) * BLOCK)
    limit = ir.Constant(INDEX, BLOCK)
    element = STORED[storage.name]
    with CountedLoop(b, columns, BLOCK) as start:
        left = b.sub(columns, start)
        width = b.select(b.icmp_signed("<", left, limit), left, limit)
        _move(b, local, sums, strides[3], start, width, load_shifts=True)
        with CountedLoop(b, rows) as row:
            places = [
                b.gep(base, [b.add(b.mul(row, stride), start)], source_etype=element)
                for base, stride in zip(operands, strides, strict=False)
            ]
            with CountedLoop(b, width) as i:
                x, y, slope = (
                    load(b, storage, _wide(storage), b.gep(p, [i], source_etype=element), target)
                    for p in places
                )
                _tally(_Column(b, local, i), x, y, slope, (flat, low, high))
        _move(b, local, sums, strides[3], start, width, load_shifts=False)
    b.ret_void()
    return module


def _wide(storage: Format) -> Format:
    return FLOAT32 if storage.bits == 16 else storage


def _setting(b: ir.IRBuilder, settings: ir.Value, index: int, kind: ir.Type) -> ir.Value:
    return b.load(b.gep(settings, [INDEX(index)], source_etype=kind), typ=kind)


def _move(
    b: ir.IRBuilder,
    local: ir.Value,
    sums: ir.Value,
    stride: ir.Value,
    start: ir.Value,
    width: ir.Value,
    load_shifts: bool,
) -> None:
    """Load the shifts of a block and clear its sums, or add its sums to the table."""
    zero = ir.Constant(DOUBLE, 0.0)
    for row in range(1 + len(FIELDS)):
        if not row and not load_shifts:
            continue
        with CountedLoop(b, width) as i:
            column = _Column(b, local, i)
            far = b.gep(
                sums,
                [b.add(b.mul(INDEX(row), stride), b.add(start, i))],
                source_etype=DOUBLE,
            )
            if load_shifts:
                b.store(zero if row else b.load(far, typ=DOUBLE), column.place(row))
            else:
                b.store(b.fadd(b.load(far, typ=DOUBLE), column.read(row)), far)


def _tally(
    column: _Column,
    x: ir.Value,
    y: ir.Value,
    slope: ir.Value,
    bounds: tuple[ir.Value, ir.Value, ir.Value],
) -> None:
    """Add one element to the sums of its column."""
    b = column.b
    zero = ir.Constant(DOUBLE, 0.0)
    one = ir.Constant(DOUBLE, 1.0)
    x, y, slope = (v if v.type == DOUBLE else b.fpext(v, DOUBLE) for v in (x, y, slope))
    flat, low, high = bounds
    # x - x is 0 for finite numbers only; one inf or NaN would make a sum useless.
    finite = b.fcmp_ordered("==", b.fadd(b.fsub(x, x), b.fsub(y, y)), zero)

    def count(field: str, condition: ir.Value) -> None:
        column.add(field, b.select(b.and_(finite, condition), one, zero))

    column.add("finite", b.select(finite, one, zero))
    count("rising_little", b.fcmp_ordered("<", slope, flat))
    count("falling", b.fcmp_ordered("<", slope, zero))
    count("falling_steeply", b.fcmp_ordered("<=", slope, b.fneg(flat)))
    count("saturated", b.or_(b.fcmp_ordered("<=", y, low), b.fcmp_ordered(">=", y, high)))
    d = b.select(finite, b.fsub(y, column.read(0)), zero)
    column.add("first", d)
    column.add("second", b.fmul(d, d))
    column.add("third", b.fmul(b.fmul(d, d), d))
    # At 0 the ratio is replaced by its limit there, the slope.
    ratio = b.select(b.fcmp_ordered("==", x, zero), slope, b.fdiv(y, x))
    column.add("openness", b.select(finite, ratio, zero))
    finite_x = b.select(finite, x, zero)
    column.add("input_square", b.fmul(finite_x, finite_x))
