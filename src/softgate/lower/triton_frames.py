"""The Triton that stands around a formula: imports, kernels, launchers, autograd, bit operations.

What differs from one activation to the next is in braces, and `triton` fills it in.
"""

from __future__ import annotations

IMPORTS = """\
import torch
import triton
import triton.language as tl
{once}
BLOCK = 1024"""
ONCE = "from torch.autograd.function import once_differentiable\n"

COPYSIGN = """\
@triton.jit
def _copysign_{suffix}(x, y):
    size = tl.abs(x).to(tl.int{bits}, bitcast=True)
    sign = y.to(tl.int{bits}, bitcast=True) & {mask}
    return (size | sign).to(tl.float{bits}, bitcast=True)"""
ADD_EXPONENT = '''\
@triton.jit
def _add_exponent_{suffix}(x, t):
    """x times 2 to the integer in the low bits of t, by one addition into the exponent."""
    power = t.to(tl.int{bits}, bitcast=True) << {shift}
    return (x.to(tl.int{bits}, bitcast=True) + power).to(tl.float{bits}, bitcast=True)'''
EXPONENT_ONLY = '''\
@triton.jit
def _exponent_only_{suffix}(t):
    """The number whose exponent field is the integer in the low bits of t."""
    return (t.to(tl.int{bits}, bitcast=True) << {shift}).to(tl.float{bits}, bitcast=True)'''
EXPONENT_FIELD = '''\
@triton.jit
def _exponent_field_{suffix}(x):
    """2 to the {shift} plus the exponent field of x >= 0."""
    return (x.to(tl.int{bits}, bitcast=True) >> {shift}).to(tl.float{bits}) + {whole}'''
BITS = {
    "copysign": COPYSIGN,
    "add_exponent": ADD_EXPONENT,
    "exponent_only": EXPONENT_ONLY,
    "exponent_field": EXPONENT_FIELD,
}
"""What Triton has no operator for."""

KERNEL = """\
@triton.jit
def {kernel}({pointers}, n{signature}, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
{loads}
    tl.store(y_ptr + offsets, {result}, mask=inside)"""

LAUNCH = '''\
def {launcher}({inputs}{defaults}):
    """{doc}"""
    if x.dtype not in {taken}:
        raise TypeError(f"x is {{x.dtype}}: expected {named}")
{contiguous}
    y = torch.empty_like(x)
    if x.numel():
        grid = (triton.cdiv(x.numel(), BLOCK),)
        with torch.cuda.device_of(x):
            {kernel}[grid](
                {inputs}, y, x.numel(){passed}, BLOCK=BLOCK, enable_fp_fusion=False
            )
    return y'''

AUTOGRAD = '''\
class {owner}(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x{names}):
        ctx.save_for_backward(x){kept}
        return {value}(x{names})

    @staticmethod
    @once_differentiable
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return {backward}(x, grad{again}){nones}


def {name}(x{defaults}):
    """{title}, with its gradient."""
    return {owner}.apply(x{names})'''

SPLIT = '''\
def _split(number):
    """A number as the sum of two floats of 32 bits."""
    high = torch.tensor(number, dtype=torch.float32).item()
    return high, torch.tensor(number - high, dtype=torch.float32).item()'''
