"""Stable forms as Triton kernels, one for each quantity, and value with backward for autograd.

Division and square root are correctly rounded (`div_rn`, `sqrt_rn`): Triton's default ones have an
error of an ulp or two. fmas are explicit, and the compiler is set to create no others. 16-bit
tensors are computed in float32 and rounded when stored. Parameters are compile-time constants,
since Triton would pass a Python float as a float32.

The constants below are templates of the code around a formula; braces mark what differs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

from softgate.formula.formats import FLOAT32, FLOAT64, Format

from . import language_source as source
from .language_source import EmittedActivation, EmittedFunction, Language, Operation
from .notation import ATOM, CHOICE

SUFFIX = {"float32": "f32", "float64": "f64"}
TAKEN = {
    "float32": "(torch.float16, torch.bfloat16, torch.float32)",
    "float64": "(torch.float64,)",
}
NAMED = {"float32": "float16, bfloat16 or float32", "float64": "float64"}

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

KERNEL = """\
@triton.jit
def {kernel}({pointers}, n{signature}, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
{loads}
    {results} = {call}
{stores}"""

LAUNCH = '''\
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


def language(fmt: Format) -> Language:
    """Return the Triton language table of a format."""
    single, suffix = fmt is FLOAT32, SUFFIX[fmt.name]
    operations: dict[str, Operation] = {
        "where": ("tl.where({}, {}, {})", ATOM, (CHOICE, CHOICE, CHOICE)),
        "fma": source.call("tl.fma", 3),
        "abs": source.call("tl.abs", 1),
        "sqrt": source.call("tl.sqrt_rn" if single else "tl.sqrt", 1),
        **{name: source.call(f"_{name}_{suffix}", n) for name, n in source.BITS.items()},
    }
    if single:
        operations["div"] = source.call("tl.div_rn", 2)
    typed = f"tl.full((), {{}}, tl.{fmt.name})"
    return Language(source.OPERATORS | operations, partial(literal, fmt), "{} = {}", typed)


def device(function: EmittedFunction) -> tuple[str, frozenset[str]]:
    """Return the function that a kernel calls, and the operations it uses."""
    fmt, called = function.fmt, _device(function)
    operands = ", ".join(function.operands)
    opening = f"@triton.jit\ndef {called}({operands}{_signature(function)}):\n"
    if function.widened:
        return f"{opening}{_rounded(function)}", frozenset()
    leaves = dict(function.inputs)
    for name in _parts(function):
        leaves[name.replace("_lo", ".lo")] = f"{name}_"
    table, constants = language(fmt), function.constants
    body = source.body(function.roots, fmt, table, leaves, constants)
    inputs = {name for name, _ in function.inputs}
    lines = [
        f"{leaf} = tl.full((), {leaf[:-1]}, tl.{fmt.name})"
        for name, leaf in leaves.items()
        if name not in inputs and name in body.used
    ]
    like = function.operands[0]
    results = [
        text
        if inputs & source.body(root, fmt, table, leaves, constants).used
        else f"tl.full({like}.shape, {text}, {like}.dtype)"
        for root, text in zip(function.roots, body.results, strict=True)
    ]
    text = "".join(f"    {line}\n" for line in (*lines, *body.lines))
    return f"{opening}{text}    return {', '.join(results)}", body.used


def _rounded(function: EmittedFunction) -> str:
    """Return the lines that call the float64 function and round its results."""
    wide = ", ".join(f"{name}.to(tl.float64)" for name in function.operands)
    call = f"softgate_{function.label}_{SUFFIX['float64']}({wide})"
    if len(function.outputs) == 1:
        return f"    return {call}.to(tl.float32)"
    narrow = ", ".join(f"{name}.to(tl.float32)" for name in function.outputs)
    return f"    {', '.join(function.outputs)} = {call}\n    return {narrow}"


def _device(function: EmittedFunction) -> str:
    return f"softgate_{function.label}_{SUFFIX[function.fmt.name]}"


def _kernel(function: EmittedFunction) -> str:
    return f"{function.label}_kernel_{SUFFIX[function.fmt.name]}"


def _parts(function: EmittedFunction) -> list[str]:
    """Return the arguments of a kernel for its parameters: in float32 two numbers each."""
    names = [name for name, _ in function.arguments]
    if function.fmt is FLOAT64:
        return names
    return [part for name in names for part in (name, f"{name}_lo")]


def _signature(function: EmittedFunction) -> str:
    return "".join(f", {name}: tl.constexpr" for name in _parts(function))


def kernel(function: EmittedFunction) -> str:
    """Return the kernel over arrays."""
    operands, outputs = function.operands, function.outputs
    load = "    {0} = tl.load({0}_ptr + offsets, mask=inside).to(tl.{1})"
    store = "    tl.store({0}_ptr + offsets, {0}, mask=inside)"
    parts = "".join(f", {name}" for name in _parts(function))
    return KERNEL.format(
        kernel=_kernel(function),
        pointers=", ".join(f"{name}_ptr" for name in (*operands, *outputs)),
        signature=_signature(function),
        loads="\n".join(load.format(name, function.fmt.name) for name in operands),
        results=", ".join(outputs),
        call=f"{_device(function)}({', '.join(operands)}{parts})",
        stores="\n".join(store.format(name) for name in outputs),
    )


def launcher(function: EmittedFunction) -> str:
    """Return the function that runs a kernel on tensors."""
    operands, outputs = function.operands, function.outputs
    first = operands[0]
    contiguous = [f"    {name} = {name}.contiguous()" for name in operands if name != "grad"]
    if "grad" in operands:
        contiguous += [f"    grad = grad.to({first}.dtype).expand_as({first}).contiguous()"]
    exact = function.fmt is FLOAT64
    passed = [name if exact else f"*_split({name})" for name, _ in function.arguments]
    return LAUNCH.format(
        launcher=_launcher(function),
        inputs=", ".join(operands),
        first=first,
        outputs=", ".join(outputs),
        empty=", ".join([f"torch.empty_like({first})"] * len(outputs)),
        defaults=_defaults(function),
        doc=_doc(function),
        taken=TAKEN[function.fmt.name],
        named=NAMED[function.fmt.name],
        contiguous=(SAME if "b" in operands else "") + "\n".join(contiguous),
        kernel=_kernel(function),
        passed="".join(f", {part}" for part in passed),
    )


def _doc(function: EmittedFunction) -> str:
    operands = [name for name in function.operands if name != "grad"]
    what = "value" if function.quantity == "value" else "slope"
    what = f"{what}s" if len(function.outputs) > 1 else what
    times = ", times grad" if function.quantity == "backward" else ""
    return f"The {what} of {function.name} at {' and '.join(operands)}{times}."


def _launcher(function: EmittedFunction) -> str:
    return f"{function.name}_{function.quantity}" + ("" if function.fmt is FLOAT32 else "_f64")


def _defaults(function: EmittedFunction) -> str:
    return "".join(f", {name}={value!r}" for name, value in function.arguments)


def autograd(unit: EmittedActivation, value: EmittedFunction, backward: EmittedFunction) -> str:
    """Return the two kernels as one differentiable function."""
    names = [name for name, _ in value.arguments]
    end = "" if value.fmt is FLOAT32 else "_f64"
    return AUTOGRAD.format(
        owner=f"_{unit.name}{end}",
        name=f"{unit.name}{end}",
        operands=", ".join(value.operands),
        names="".join(f", {name}" for name in names),
        kept="".join(f"\n        ctx.{name} = {name}" for name in names),
        again="".join(f", ctx.{name}" for name in names),
        defaults=_defaults(value),
        comma="" if len(value.operands) > 1 else ",",
        star="*" if len(value.operands) > 1 and names else "",
        nones=", None" * len(names),
        value=_launcher(value),
        backward=_launcher(backward),
        title=unit.heading[0],
    )


def program(units: Sequence[EmittedActivation], closing: Sequence[str]) -> str:
    """Return the Triton source of some activations."""
    parts: list[str] = []
    needed: dict[tuple[str, str], str] = {}
    for unit in units:
        for function in (*unit.inner, *unit.functions):
            text, used = device(function)
            parts.append(text)
            if function in unit.functions:
                parts += [kernel(function), launcher(function)]
            if function.arguments and function.fmt is FLOAT32:
                needed["_split", ""] = SPLIT
            for name in BITS:
                if name in used:
                    needed[name, function.fmt.name] = _bits(name, function.fmt)
        parts += _pairs(unit)
    imports = IMPORTS.format(once=ONCE if any(map(_pairs, units)) else "")
    head = f"{_comment(units, closing)}\n\n{imports}"
    return "\n\n\n".join([head, *needed.values(), *parts]) + "\n"


def _bits(name: str, fmt: Format) -> str:
    return BITS[name].format(
        suffix=SUFFIX[fmt.name],
        bits=fmt.bits,
        shift=fmt.mantissa_bits,
        mask=-(1 << (fmt.bits - 1)),
        whole=literal(fmt, 2.0**fmt.mantissa_bits),
    )


def _pairs(unit: EmittedActivation) -> list[str]:
    functions = {(f.quantity, f.fmt.name): f for f in unit.functions}
    return [
        autograd(unit, function, functions["backward", name])
        for (quantity, name), function in functions.items()
        if quantity == "value" and ("backward", name) in functions
    ]


def _comment(units: Sequence[EmittedActivation], closing: Sequence[str]) -> str:
    lines: list[str] = []
    for unit in units:
        lines += [*unit.heading, "", *_listing(unit), ""]
    theirs = "results and bounds are theirs" if source.bounded(units) else "results are theirs"
    lines += [
        "The operations are those of softgate's kernels, fma included: on a device that does them",
        f"as IEEE has it, subnormal numbers included, {theirs}. Checked in",
        "Triton's interpreter on the CPU, not certified on a GPU.",
        *_certify(units),
        "",
        *closing,
    ]
    return "\n".join(f"# {line}".rstrip() for line in lines)


def _listing(unit: EmittedActivation) -> list[str]:
    shown = [(_launcher(f), source.described(f, f.fmt.name)) for f in unit.functions]
    for f in unit.functions if len(_pairs(unit)) else ():
        if f.quantity == "value":
            end = "" if f.fmt is FLOAT32 else "_f64"
            shown.append((f"{unit.name}{end}", "value and backward, for torch.autograd"))
    width = max(len(name) for name, _ in shown)
    return [*(f"    {name:{width}}  {what}" for name, what in shown), *source.remarks(unit)]


def _certify(units: Sequence[EmittedActivation]) -> list[str]:
    """Return the commands that certify values in the interpreter, one per format."""
    module, lines = f"{units[0].name}_triton", list[str]()
    for unit in units:
        values = [f for f in source.certifiable(unit) if f.quantity == "value"]
        lines += [source.IN_PYTHON.format(name=unit.name)] if values and not unit.command else []
        for f in values:
            subject = f"{module}:{_launcher(f)}"
            if unit.command is None:
                lines += [
                    f'    print(sg.certify("{subject}", {unit.name}, framework="torch",',
                    f'                     quantity="value", dtype="{f.fmt.name}"))',
                ]
                continue
            lines += [
                f"    TRITON_INTERPRET=1 softgate certify {subject} \\",
                f"        --framework torch --quantity value --dtype {f.fmt.name} \\",
                f"        --reference {unit.command}{source.limit(f.bound)}",
            ]
    opening = f"To certify values there (TRITON_INTERPRET=1), this file being {module}.py:"
    return [opening, *lines] if lines else []
