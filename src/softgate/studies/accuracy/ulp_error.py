"""The error of float32 results in ulps as one SIMD loop, for sweeps over all 2**32 inputs.

An ulp is a power of two: its inverse is built from the exponent bits of the scale. These errors are
infinite: NaN or infinity where the reference is finite, and vice versa; 0 where the reference is at
least the smallest subnormal; a wrong sign of a result that underflows. NaN is correct only if the
input is NaN, and then required, whatever the reference: it may have the same defect.
"""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir

from softgate.formula.formats import FLOAT32, FLOAT64
from softgate.lower.llvm import REAL
from softgate.lower.target import CountedLoop, compile_module, function

LONG = ir.IntType(64)
SINGLE, DOUBLE = REAL["float32"], REAL["float64"]
OVERFLOW = (2.0 - 2.0**-FLOAT32.precision) * 2.0**FLOAT32.max_exponent
"""Numbers of this size and larger round to infinity in float32."""


def _inverse_ulp(b: ir.IRBuilder, scale: ir.Value) -> ir.Value:
    """Return 2**-u, where 2**u is the spacing of float32 at `scale`."""
    shift, bias = ir.Constant(LONG, FLOAT64.mantissa_bits), FLOAT64.max_exponent
    field = b.and_(b.lshr(b.bitcast(scale, LONG), shift), ir.Constant(LONG, 0x7FF))
    least = ir.Constant(LONG, bias + FLOAT32.min_exponent)
    field = b.select(b.icmp_unsigned("<", field, least), least, field)
    inverse = b.sub(ir.Constant(LONG, 2 * bias + FLOAT32.mantissa_bits), field)
    return b.bitcast(b.shl(inverse, shift), DOUBLE)


def _error(
    b: ir.IRBuilder, x: ir.Value, y: ir.Value, truth: ir.Value, scale: ir.Value, strict: bool
) -> ir.Value:
    fabs = b.module.declare_intrinsic("llvm.fabs", [DOUBLE])
    zero, infinite = ir.Constant(DOUBLE, 0.0), ir.Constant(DOUBLE, float("inf"))
    smallest = ir.Constant(DOUBLE, 2.0**FLOAT32.smallest_exponent)
    size = b.call(fabs, [truth])
    # A reference that rounds to infinity is replaced by infinity: x² of a large x, for example.
    beyond = b.fcmp_ordered(">=", size, ir.Constant(DOUBLE, OVERFLOW))
    signed = b.select(b.fcmp_ordered("<", truth, zero), b.fneg(infinite), infinite)
    truth = b.select(beyond, signed, truth)
    error = b.fmul(b.call(fabs, [b.fsub(y, truth)]), _inverse_ulp(b, scale))
    is_zero = b.fcmp_ordered("==", y, zero)
    early = b.and_(is_zero, b.fcmp_ordered(">=", error, ir.Constant(DOUBLE, 1.0)))
    early = b.and_(early, b.fcmp_ordered(">=", size, smallest))
    flipped = b.icmp_signed("<", b.xor(b.bitcast(y, LONG), b.bitcast(truth, LONG)), LONG(0))
    lost = b.and_(b.and_(is_zero, flipped), b.fcmp_ordered("<", size, smallest))
    lost = b.and_(lost, b.fcmp_ordered(">", size, zero))
    bad = b.fcmp_unordered("uno", error, error)
    same = b.fcmp_ordered("==", y, truth)
    if strict:
        bad = b.or_(b.or_(early, lost), bad)
        same = b.and_(same, b.not_(lost))
    error = b.select(bad, infinite, error)
    error = b.select(same, zero, error)
    x_nan, y_nan = b.fcmp_unordered("uno", x, x), b.fcmp_unordered("uno", y, y)
    return b.select(b.or_(x_nan, y_nan), b.select(b.and_(x_nan, y_nan), zero, infinite), error)


def compile_error(strict: bool = True) -> Callable[..., None]:
    """Return the kernel that `build_error` describes."""
    return compile_module(build_error(strict), pointers=5)


def build_error(strict: bool = True) -> ir.Module:
    """Return the module of kernel(error, x, y, truth, scale, count).

    x and y are float32, the other arrays float64.

    Unless `strict`, a wrong 0 and a wrong sign of 0 have their error in ulps, not infinity.
    """
    module, b, (out, x, y, truth, scale, count) = function(5)
    with CountedLoop(b, count) as i:
        argument, result = (
            b.fpext(b.load(b.gep(base, [i], source_etype=SINGLE), typ=SINGLE), DOUBLE)
            for base in (x, y)
        )
        exact, size = (
            b.load(b.gep(base, [i], source_etype=DOUBLE), typ=DOUBLE) for base in (truth, scale)
        )
        error = _error(b, argument, result, exact, size, strict)
        b.store(error, b.gep(out, [i], source_etype=DOUBLE))
    b.ret_void()
    return module
