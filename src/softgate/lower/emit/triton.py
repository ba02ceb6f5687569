"""Stable forms as Triton kernels, one for each quantity, and value with backward for autograd.

Division and square root are correctly rounded (`div_rn`, `sqrt_rn`): Triton's default ones have an
error of an ulp or two. fmas are explicit, and the compiler is set to create no others. 16-bit
tensors are computed in float32 and rounded when stored. Parameters are compile-time constants,
since Triton would pass a Python float as a float32.

The constants below are templates of the code around a formula; braces mark what differs.
"""

from __future__ import annotations

import keyword
import math
from collections.abc import Sequence
from functools import partial

from softgate.formula.formats import FLOAT32, FLOAT64, Format

from ..notation import ATOM, CHOICE, Operation
from . import body as source
from .body import Syntax
from .language import EmittedActivation, EmittedFunction, Language, limit

TAKEN = {
    "float32": "(torch.float16, torch.bfloat16, torch.float32)",
    "float64": "(torch.float64,)",
}
NAMED = {"float32": "float16, bfloat16 or float32", "float64": "float64"}

NOTES = """\
The operations are those of softgate's kernels, fma included: on a device that does them
as IEEE has it, subnormal numbers included, results{bounds} are theirs. Checked in
Triton's interpreter on the CPU, not certified on a GPU."""

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
"""Operations without a Triton operator."""

KERNEL = '''\
@triton.jit
def {kernel}({pointers}, n{signature}, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
{loads}
    {outputs} = {call}
{stores}


def {launcher}({inputs}{defaults}):
    """{doc}"""
    if {first}.dtype not in {taken}:
        raise TypeError(f"{first} is {{{first}.dtype}}: expected {named}")
{contiguous}
    {outputs} = {empty}
    if {first}.numel():
        grid = (triton.cdiv({first}.numel(), BLOCK),)
        with torch.cuda.device_of({first}):
            {kernel}[grid](
                {inputs}, {outputs}, {first}.numel(){passed}, BLOCK=BLOCK, enable_fp_fusion=False
            )
    return {outputs}'''
SAME = """\
    if (a.dtype, a.shape) != (b.dtype, b.shape):
        raise ValueError(f"a and b differ: {a.dtype} {tuple(a.shape)}, {b.dtype} {tuple(b.shape)}")
"""

AUTOGRAD = '''\
class {owner}(torch.autograd.Function):
    @staticmethod
    def forward(ctx, {operands}{names}):
        ctx.save_for_backward({operands}){kept}
        return {value}({operands}{names})

    @staticmethod
    @once_differentiable
    def backward(ctx, grad):
        {operands}{comma} = ctx.saved_tensors
        return {star}{backward}({operands}, grad{again}){nones}


def {name}({operands}{defaults}):
    """{title}, with its gradient."""
    return {owner}.apply({operands}{names})'''

SPLIT = '''\
def _split(number):
    """A number as the sum of two floats of 32 bits."""
    high = torch.tensor(number, dtype=torch.float32).item()
    return high, torch.tensor(number - high, dtype=torch.float32).item()'''


def literal(fmt: Format, value: float) -> str:
    """Return a Python literal."""
    return source.shortest(value, fmt) if math.isfinite(value) else f'float("{value}")'


def syntax(fmt: Format) -> Syntax:
    """Return the syntax of a format."""
    single = fmt is FLOAT32
    operations: dict[str, Operation] = {
        "where": ("tl.where({}, {}, {})", ATOM, (CHOICE, CHOICE, CHOICE)),
        "fma": source.call("tl.fma", 3),
        "abs": source.call("tl.abs", 1),
        "sqrt": source.call("tl.sqrt_rn" if single else "tl.sqrt", 1),
        **{name: source.call(f"_{name}_f{fmt.bits}", n) for name, n in source.BITS.items()},
    }
    if single:
        operations["div"] = source.call("tl.div_rn", 2)
    typed = f"tl.full((), {{}}, tl.{fmt.name})"
    return Syntax(source.OPERATORS | operations, partial(literal, fmt), "{} = {}", typed)


def device(function: EmittedFunction) -> tuple[str, set[str]]:
    """Return the function that a kernel calls, and the operations it uses."""
    fmt = function.fmt
    operands, parts = ", ".join(function.operands), parts_of(function)
    taken = "".join(f", {name}: tl.constexpr" for name in parts)
    opening = f"@triton.jit\ndef softgate_{function.label}_{function.suffix}({operands}{taken}):\n"
    if function.widened:
        return f"{opening}{rounded(function)}", set()
    leaves = dict(function.inputs)
    for name in parts:
        leaves[name.replace("_lo", ".lo")] = f"{name}_"
    written, constants = syntax(fmt), function.constants
    body = source.Body(function.roots, fmt, written, leaves, constants)
    inputs = {name for name, _ in function.inputs}
    lines = [
        f"{leaf} = tl.full((), {leaf[:-1]}, tl.{fmt.name})"
        for name, leaf in leaves.items()
        if name not in inputs and name in body.used
    ]
    like = function.operands[0]
    results = [
        text
        if inputs & source.Body((root,), fmt, written, leaves, constants).used
        else f"tl.full({like}.shape, {text}, {like}.dtype)"
        for root, text in zip(function.roots, body.results, strict=True)
    ]
    text = "".join(f"    {line}\n" for line in (*lines, *body.lines))
    return f"{opening}{text}    return {', '.join(results)}", body.used


def rounded(function: EmittedFunction) -> str:
    """Return the lines that call the float64 function and round its results."""
    wide = ", ".join(f"{name}.to(tl.float64)" for name in function.operands)
    call = f"softgate_{function.label}_f64({wide})"
    if len(function.outputs) == 1:
        return f"    return {call}.to(tl.float32)"
    narrow = ", ".join(f"{name}.to(tl.float32)" for name in function.outputs)
    return f"    {', '.join(function.outputs)} = {call}\n    return {narrow}"


def parts_of(function: EmittedFunction) -> list[str]:
    """Return the arguments of a kernel for its parameters: in float32 two numbers each."""
    names = [name for name, _ in function.arguments]
    if function.fmt is FLOAT64:
        return names
    return [part for name in names for part in (name, f"{name}_lo")]


def kernel(function: EmittedFunction) -> str:
    """Return the kernel over arrays, and the function that runs it on tensors."""
    operands, outputs, parts = function.operands, function.outputs, parts_of(function)
    tensors, first = [name for name in operands if name != "grad"], operands[0]
    load = "    {0} = tl.load({0}_ptr + offsets, mask=inside).to(tl.{1})"
    store = "    tl.store({0}_ptr + offsets, {0}, mask=inside)"
    contiguous = [f"    {name} = {name}.contiguous()" for name in tensors]
    if "grad" in operands:
        contiguous += [f"    grad = grad.to({first}.dtype).expand_as({first}).contiguous()"]
    split = "*_split({})" if function.fmt is FLOAT32 else "{}"
    what = "value" if function.quantity == "value" else "slope"
    return KERNEL.format(
        kernel=f"{function.label}_kernel_{function.suffix}",
        pointers=", ".join(f"{name}_ptr" for name in (*operands, *outputs)),
        signature="".join(f", {name}: tl.constexpr" for name in parts),
        loads="\n".join(load.format(name, function.fmt.name) for name in operands),
        outputs=", ".join(outputs),
        call=f"softgate_{function.label}_{function.suffix}({', '.join([*operands, *parts])})",
        stores="\n".join(store.format(name) for name in outputs),
        launcher=launcher(function),
        inputs=", ".join(operands),
        first=first,
        empty=", ".join([f"torch.empty_like({first})"] * len(outputs)),
        defaults=defaults(function),
        doc=f"The {what}{'s' if len(outputs) > 1 else ''} of {function.name} at "
        f"{' and '.join(tensors)}{', times grad' if 'grad' in operands else ''}.",
        taken=TAKEN[function.fmt.name],
        named=NAMED[function.fmt.name],
        contiguous=(SAME if "b" in operands else "") + "\n".join(contiguous),
        passed="".join(f", {split.format(name)}" for name, _ in function.arguments),
    )


def launcher(function: EmittedFunction) -> str:
    """Return the name of the function that runs a kernel on tensors."""
    return f"{function.name}_{function.quantity}{ending(function)}"


def ending(function: EmittedFunction) -> str:
    """Return the format as the end of a name, which in float32 has none."""
    return "" if function.fmt is FLOAT32 else "_f64"


def defaults(function: EmittedFunction) -> str:
    """Return the parameters as keyword arguments."""
    return "".join(f", {name}={value!r}" for name, value in function.arguments)


def autograd(title: str, value: EmittedFunction, backward: EmittedFunction) -> str:
    """Return the two kernels as one differentiable function."""
    names = [name for name, _ in value.arguments]
    end, several = ending(value), len(value.operands) > 1
    return AUTOGRAD.format(
        owner=f"_{value.name}{end}",
        name=f"{value.name}{end}",
        operands=", ".join(value.operands),
        names="".join(f", {name}" for name in names),
        kept="".join(f"\n        ctx.{name} = {name}" for name in names),
        again="".join(f", ctx.{name}" for name in names),
        defaults=defaults(value),
        comma="" if several else ",",
        star="*" if several and names else "",
        nones=", None" * len(names),
        value=launcher(value),
        backward=launcher(backward),
        title=title,
    )


def pairs(unit: EmittedActivation) -> list[tuple[EmittedFunction, EmittedFunction]]:
    """Return values and backwards of one format, which form a function for torch.autograd."""
    functions = {(f.quantity, f.fmt.name): f for f in unit.functions}
    both = [(f, functions.get(("backward", f.fmt.name))) for f in functions.values()]
    return [(f, backward) for f, backward in both if f.quantity == "value" and backward]


def certification(units: Sequence[EmittedActivation]) -> list[str]:
    """Return the commands that certify values in the interpreter, one per format."""
    module, lines = f"{units[0].name}_triton", list[str]()
    for unit in units:
        values = [f for f in unit.certifiable if f.quantity == "value"]
        subjects = [(f, f"{module}:{launcher(f)}") for f in values]
        if unit.command is not None:
            for f, subject in subjects:
                lines += [
                    f"    TRITON_INTERPRET=1 softgate certify {subject} \\",
                    f"        --framework torch --quantity value --dtype {f.fmt.name} \\",
                    f"        --reference {unit.command}{limit(f.bound)}",
                ]
        elif subjects:
            calls = [
                f'"{subject}", {unit.name}, framework="torch",\n'
                f'                     quantity="value", dtype="{f.fmt.name}"'
                for f, subject in subjects
            ]
            lines += "\n".join(unit.in_python(*calls)).split("\n")
    opening = f"To certify values there (TRITON_INTERPRET=1), this file being {module}.py:"
    return [opening, *lines] if lines else []


class Triton(Language):
    """Triton, with functions for torch."""

    name, title, extensions = "triton", "Triton", ("py",)
    contents = "kernels, and a function for torch.autograd"
    words = frozenset({
        "BLOCK", "TypeError", "_split", "float", "once_differentiable", "staticmethod", "tl",
        "torch", "triton",
    } | {*keyword.kwlist})  # fmt: skip
    default_dtypes = ("float32",)
    default_quantities = ("value", "backward")
    marks = "", "# ", ""

    def program(self, units: Sequence[EmittedActivation], closing: Sequence[str], form: str) -> str:
        parts: list[str] = []
        needed: dict[tuple[str, str], str] = {}
        for unit in units:
            for function in (*unit.inner, *unit.functions):
                text, used = device(function)
                parts.append(text)
                if function in unit.functions:
                    parts.append(kernel(function))
                if function.arguments and function.fmt is FLOAT32:
                    needed["_split", ""] = SPLIT
                fmt = function.fmt
                for name in (name for name in BITS if name in used):
                    needed[name, fmt.name] = BITS[name].format(
                        suffix=function.suffix,
                        bits=fmt.bits,
                        shift=fmt.mantissa_bits,
                        mask=-(1 << (fmt.bits - 1)),
                        whole=literal(fmt, 2.0**fmt.mantissa_bits),
                    )
            parts += [autograd(unit.heading[0], *pair) for pair in pairs(unit)]
        bounds = " and bounds" if any(unit.bounded for unit in units) else ""
        middle = [*NOTES.format(bounds=bounds).split("\n"), *certification(units)]
        imports = IMPORTS.format(once=ONCE if any(map(pairs, units)) else "")
        head = f"{self.comment(units, middle, closing)}\n\n{imports}"
        return "\n\n\n".join([head, *needed.values(), *parts]) + "\n"

    def listed(self, unit: EmittedActivation) -> list[str]:
        rows = [(launcher(f), f.described(f.fmt.name)) for f in unit.functions]
        for f, _ in pairs(unit):
            rows.append((f"{unit.name}{ending(f)}", "value and backward, for torch.autograd"))
        return unit.listing(rows)


LANGUAGE = Triton()
