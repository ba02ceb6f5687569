"""Kernels of every kind, compiled for old and new CPUs: no missing routine, the same bits.

To keep this short, one or two functions stand for each kind of kernel. Together they cover each
operation (fma, division, square root, exponent bits), format, quantity, alias and layout. Objects
are checked for all CPUs, and run where this machine has what the CPU has.
"""

from __future__ import annotations

import ctypes
import re
import struct
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import llvmlite.binding as llvm
import numpy as np
import pytest
from formulas import swish
from llvmlite import ir

import softgate as sg
from softgate.formula.formats import BFLOAT16, FLOAT16, FLOAT32, FLOAT64, Format, encode, round_to
from softgate.lower import llvm as lowering
from softgate.lower import native
from softgate.lower.target import (
    BYTE,
    HALFWORD,
    HOST,
    Target,
    address_of,
    function,
    host,
    object_code,
    optimise,
)
from softgate.runtime import kernels
from softgate.studies.accuracy import ulp_error

LINUX = {"x86_64": "x86_64-unknown-linux-gnu", "aarch64": "aarch64-unknown-linux-gnu"}
TARGETS = {
    "x86-64": "sse2",
    "sandybridge": "avx popcnt",
    "ivybridge": "avx f16c popcnt",
    "x86-64-v3": "avx2 bmi bmi2 f16c fma lzcnt movbe",
    "x86-64-v4": "avx2 bmi bmi2 f16c fma lzcnt movbe avx512bw avx512cd avx512dq avx512f avx512vl",
    "aarch64": "",
}
"""CPUs, and the features that code for them may use."""

ALLOWED = {"memcpy", "memmove", "memset"}
"""Routines that LLVM makes of loops and that every C library has."""

CALLED = {name: address_of(getattr(ctypes.pythonapi, name)) for name in native.called("Py")}
CALLED["serve"] = address_of(ctypes.pythonapi.Py_IncRef)  # not called: the record is known
"""What the inner loop of a ufunc calls."""

COUNT = 1031
"""Elements of an operand: whole vectors of any width, and a remainder."""

FORMATS = (FLOAT16, BFLOAT16, FLOAT32, FLOAT64)
UNSIGNED = {16: np.uint16, 32: np.uint32, 64: np.uint64}


def assembly(module: ir.Module, target: Target) -> str:
    """Return the assembly of a module that was built for `target`."""
    text: str = target.machine.emit_assembly(optimise(module, target))
    return text


def target(name: str) -> Target:
    if name == "aarch64":
        return Target("generic", triple=LINUX["aarch64"])
    return Target(name, triple=LINUX["x86_64"])


def runs_here(name: str) -> bool:
    architecture = HOST.triple.partition("-")[0]
    if "linux" not in HOST.triple or architecture not in target(name).triple:
        return False
    return set(TARGETS[name].split()) <= host()[1]


def undefined(code: bytes) -> set[str]:
    """The symbols that an ELF file of 64 bits refers to and does not define."""
    assert code[:6] == b"\x7fELF\x02\x01"
    (start,) = struct.unpack_from("<Q", code, 40)
    size, number = struct.unpack_from("<HH", code, 58)
    sections = [struct.unpack_from("<IIQQQQIIQQ", code, start + i * size) for i in range(number)]
    names = set()
    for _, kind, _, _, offset, length, link, _, _, entry in sections:
        if kind != 2:  # the table of symbols
            continue
        strings = sections[link][4]
        for place in range(offset + entry, offset + length, entry):
            name, _, _, section = struct.unpack_from("<IBBH", code, place)
            if section == 0:
                begin = strings + name
                names.add(code[begin : code.index(b"\0", begin)].decode())
    return names


def loaded(code: bytes) -> Callable[..., None]:
    """The function `kernel` of an object file, for addresses and counts."""
    machine = Target(HOST.cpu, HOST.features).machine  # the engine frees it
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    for name, symbol in CALLED.items():
        llvm.add_symbol(name, symbol)
    engine.finalize_object()
    address = engine.get_function_address("kernel")

    def run(*arguments: int) -> None:
        assert engine  # which owns the code
        ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * len(arguments))(address)(*arguments)

    return run


@cache
def inputs(fmt: Format, number: int) -> Any:
    """Bits of special values, of random ones, and of some on the scale where functions bend."""
    rng = np.random.default_rng(number)
    kind, top = UNSIGNED[fmt.bits], 1 << (fmt.bits - 1)
    inf = (2 * fmt.max_exponent + 1) << fmt.mantissa_bits
    ends = [0, 1, (1 << fmt.mantissa_bits) - 1, 1 << fmt.mantissa_bits, inf - 1, inf, inf + 1]
    quiet = inf + (1 << (fmt.mantissa_bits - 1))
    special = np.array([*ends, quiet, *(top + end for end in (*ends, quiet))], kind)
    random = rng.integers(0, 2 * top - 1, COUNT, kind, endpoint=True)
    bent = rng.normal(0, 4, COUNT)
    half = fmt.bits == 16
    near = encode(round_to(bent, fmt), fmt) if half else bent.astype(fmt.name).view(kind)
    result = rng.permuted(np.concatenate([special, random[: COUNT // 2], near])[:COUNT])
    result.flags.writeable = False
    return result


@dataclass(frozen=True, eq=False)
class Case:
    """A kernel: how it is built for a target, and what it makes of fixed inputs."""

    build: Callable[[Target], ir.Module]
    run: Callable[[Callable[..., None]], list[Any]]
    """Calls the kernel and returns the bits of its results."""
    results: Format
    calls: frozenset[str] = frozenset()
    """Routines that it calls beside `ALLOWED`."""
    nan: str = "any"
    """Which bits of a NaN are compared: "all", "payload" or "any" NaN. See `same`."""


def loop_case(entry: Any, quantity: str, storage: Format, **options: Any) -> Case:
    """A kernel over arrays, made from an entry as `kernels` makes it.

    The result overwrites the input named by `in_place`.
    """
    in_place = options.pop("in_place", None)
    arithmetic = options.pop("arithmetic", kernels.native_arithmetic(quantity, storage))
    specification = kernels.Specification(entry, quantity, storage, arithmetic, **options)
    loop = kernels.loop(specification)
    values = {p.name: p.default for p in entry.parameters}
    packed = kernels.pack(entry, values, arithmetic, quantity)

    def run(kernel: Callable[..., None]) -> list[Any]:
        sources = [inputs(storage, i).copy() for i in range(len(loop.inputs))]
        outputs = [np.zeros_like(sources[0]) for _ in loop.roots]
        if in_place is not None:
            outputs[0] = sources[loop.inputs.index(in_place)]
        for name in loop.parameter_inputs:
            sources[loop.inputs.index(name)] = np.linspace(0.5, 1.5, COUNT)
        kernel(*(x.ctypes.data for x in (*outputs, *sources, packed)), COUNT)
        return outputs

    nan = "payload" if len(loop.inputs) == 1 else "any"
    return Case(lambda cpu: lowering.build(loop, cpu), run, storage, nan=nan)


def lookup_case(kind: ir.IntType) -> Case:
    def run(kernel: Callable[..., None]) -> list[Any]:
        unsigned = np.dtype(f"u{kind.width // 8}")
        x = inputs(FLOAT16, 0).astype(unsigned)
        table = np.arange(1 << kind.width, dtype=unsigned)[::-1].copy()
        out = np.zeros_like(x)
        kernel(out.ctypes.data, x.ctypes.data, table.ctypes.data, x.size)
        assert np.array_equal(out, table[x])
        return [out]

    return Case(lambda _: lowering.build_lookup(kind), run, FLOAT16, nan="all")


def lookup_pair_case() -> Case:
    def run(kernel: Callable[..., None]) -> list[Any]:
        x, y = (inputs(FLOAT16, i).astype(np.uint8) for i in range(2))
        table = np.random.default_rng(0).integers(0, 256, 1 << 16, np.uint8)
        out = np.zeros_like(x)
        kernel(*(a.ctypes.data for a in (out, x, y, table)), x.size)
        assert np.array_equal(out, table[256 * x.astype(int) + y])
        return [out]

    return Case(lambda _: lowering.build_lookup_pair(), run, FLOAT16, nan="all")


def lookup_backward_case(fmt: Format) -> Case:
    def run(kernel: Callable[..., None]) -> list[Any]:
        x, grad = inputs(fmt, 0), inputs(fmt, 1)
        slopes = np.linspace(-1.1, 1.1, 1 << 16, dtype=np.float32)
        out = np.zeros_like(x)
        kernel(*(a.ctypes.data for a in (out, x, grad, slopes)), x.size)
        return [out]

    return Case(lambda cpu: lowering.build_lookup_backward(fmt, cpu), run, fmt)


def tally_case(fmt: Format) -> Case:
    rows, columns = 7, 100

    def run(kernel: Callable[..., None]) -> list[Any]:
        operands = [inputs(fmt, i) for i in range(3)]
        sums = np.zeros((1 + len(native.FIELDS), columns))
        settings = np.array([columns] * 4 + [0] * 3 + [rows])
        settings[4:7].view(np.float64)[:] = 0.1, -1.0, 1.0
        arrays = (sums, *operands, settings)
        kernel(*(a.ctypes.data for a in arrays), columns)
        return [sums.view(np.uint64).ravel()]

    return Case(lambda cpu: native.build_tally(fmt, cpu), run, FLOAT64)


def share_case(rows: bool) -> Case:
    """The loop of a thread; it calls this machine's own kernel."""

    def run(share: Callable[..., None]) -> list[Any]:
        entry = sg.swiglu.entry if rows else sg.relu.entry
        specification = kernels.Specification(entry, "value", FLOAT32, FLOAT32)
        code = ctypes.cast(kernels.compiled(specification), ctypes.c_void_p).value
        sources = [inputs(FLOAT32, i) for i in range(1 + rows)]
        out = np.zeros_like(sources[0])
        operands = [a.ctypes.data for a in (out, *sources)]
        head = [0, 10, 3, 4, code, 0, 97, *[100] * 3] if rows else [0, COUNT, 100, 4, code, 0]
        job = np.array([*head, *operands])
        share(job.ctypes.data)
        return [out]

    return Case(lambda cpu: native.build_chunk_loop(2 + rows, rows, cpu), run, FLOAT32, nan="all")


def ufunc_loop_case() -> Case:
    """The inner loop of a ufunc; it calls this machine's own kernel."""

    def run(loop: Callable[..., None]) -> list[Any]:
        specification = kernels.Specification(sg.silu.entry, "value", FLOAT32, FLOAT32, False)
        code = ctypes.cast(kernels.compiled(specification), ctypes.c_void_p).value
        beta, packed = np.ones(1), np.array([1, 0], np.float32)
        record = np.array([code, packed.ctypes.data, *beta.view(np.int64)])
        data = np.array([record.ctypes.data, 0, 0, 4, COUNT + 1, record.ctypes.data])
        x, out = inputs(FLOAT32, 0), np.zeros(2 * COUNT, np.uint32)
        for first, steps in ((0, (4, 0, 8)), (1, (-4, 0, 8))):
            start = x.ctypes.data if not first else x.ctypes.data + 4 * (COUNT - 1)
            args = np.array([start, beta.ctypes.data, out.ctypes.data + 4 * first])
            loop(*(a.ctypes.data for a in (args, np.array([COUNT]), np.array(steps), data)))
        return [out]

    loop = native.InnerLoop(1, 1, 1)
    calls = frozenset(CALLED)
    return Case(lambda cpu: native.build_ufunc_loop(loop, cpu), run, FLOAT32, calls, nan="all")


def error_case() -> Case:
    def run(kernel: Callable[..., None]) -> list[Any]:
        x, y = inputs(FLOAT32, 0), inputs(FLOAT32, 1)
        truth, out = inputs(FLOAT64, 2), np.zeros(COUNT, np.uint64)
        arrays = (out, x, y, truth, truth)
        kernel(*(a.ctypes.data for a in arrays), COUNT)
        return [out]

    return Case(lambda _: ulp_error.build_error(), run, FLOAT64, nan="all")


def every_kind() -> dict[str, Callable[[], Case]]:
    """One kernel for each kind, and for each format it is made in."""
    cases: dict[str, Callable[[], Case]] = {"error": error_case, "lookup-pair": lookup_pair_case}
    for kind in (BYTE, HALFWORD):
        cases[f"lookup-{kind}"] = lambda kind=kind: lookup_case(kind)

    def add(name: str, quantity: str, formats: tuple[Format, ...], **options: Any) -> None:
        entry = swish.entry if name == "swish" else getattr(sg, name).entry
        words = [f"{key}={getattr(value, 'name', value)}" for key, value in options.items()]
        for fmt in formats:
            label = "-".join([name, quantity, fmt.name, *words])
            cases[label] = lambda fmt=fmt: loop_case(entry, quantity, fmt, **options)

    add("relu", "value", FORMATS)
    add("relu", "value", (FLOAT16, FLOAT32), in_place="x")
    add("identity", "value", (FLOAT16, FLOAT32))
    add("leaky_relu", "value", (FLOAT16, BFLOAT16), specialised=False)
    add("softshrink", "slope", (FLOAT16, BFLOAT16, FLOAT32))
    add("relu6", "backward", (FLOAT16, BFLOAT16), in_place="grad")
    add("sigmoid", "backward", FORMATS)
    add("gelu", "value", (FLOAT32, FLOAT64))
    add("gelu", "value", (FLOAT32,), arithmetic=FLOAT64)
    add("softplus", "slope", (FLOAT32, FLOAT64), specialised=False)
    add("squareplus", "backward", (FLOAT32,), in_place="x")
    add("tanh", "curvature", (FLOAT32, FLOAT64))
    add("swish", "value", (FLOAT32,), arithmetic=FLOAT64, specialised=False)
    add("reglu", "value", (FLOAT16, BFLOAT16), in_place="a")
    add("swiglu", "backward", (FLOAT32,), in_place="grad")
    add("elu", "value", (FLOAT32, FLOAT64), specialised=False, varying=True)
    add("geglu", "backward", (FLOAT16,))
    add("reglu", "backward", (BFLOAT16, FLOAT32))
    add("glu", "slope", (FLOAT64,))
    add("swiglu", "curvature", (FLOAT16, BFLOAT16))
    for fmt in (FLOAT16, FLOAT64):  # half a second for each CPU
        cases[f"tally-{fmt.name}"] = lambda fmt=fmt: tally_case(fmt)
    for fmt in (FLOAT16, BFLOAT16):
        cases[f"lookup-backward-{fmt.name}"] = lambda fmt=fmt: lookup_backward_case(fmt)
    cases["ufunc-loop"] = ufunc_loop_case
    for rows in (False, True):
        cases[f"share-rows={rows}"] = lambda rows=rows: share_case(rows)
    return cases


KINDS = every_kind()


def same(result: Any, expected: Any, fmt: Format, nan: str) -> bool:
    """Return whether bits are the same; of a NaN those that `nan` names.

    "all": the kernel copies bits, or calls the same kernel of this machine. "payload": one operand,
    so that a NaN has its payload or is the CPU's default. IEEE 754 leaves the sign open, and an
    instruction that subtracts may flip it; a conversion makes a signalling NaN quiet, a choice
    between float16 values does not, and CPUs differ in which of them a kernel uses. "any": of two
    NaN operands a CPU returns the first, and which one that is depends on the compiler.
    """
    if nan == "all":
        return bool((result == expected).all())
    inf = (2 * fmt.max_exponent + 1) << fmt.mantissa_bits
    size = np.array([result, expected]) & ((1 << (fmt.bits - 1)) - 1)
    alike = (size > inf).all(axis=0)
    if nan == "payload":
        payload = size & ((1 << (fmt.mantissa_bits - 1)) - 1)
        alike &= payload[0] == payload[1]
    return bool(((result == expected) | alike).all())


@pytest.mark.parametrize("kind", KINDS)
def test_kernels_of_every_kind_for_every_cpu(kind):
    case = KINDS[kind]()
    expected = None
    for name in TARGETS:
        code = object_code(case.build(target(name)), target(name))
        missing = undefined(code) - ALLOWED - case.calls
        assert not missing, f"{name}: {missing}"
        if runs_here(name):
            if expected is None:
                expected = case.run(loaded(object_code(case.build(HOST), HOST)))
            results = case.run(loaded(code))
            for result, wanted in zip(results, expected, strict=True):
                assert same(result, wanted, case.results, case.nan), name


def test_some_targets_run_here():
    if HOST.triple.partition("-")[0] not in LINUX or "linux" not in HOST.triple:
        pytest.skip(f"the objects are for Linux, and this is {HOST.triple}")
    assert runs_here("x86-64") != runs_here("aarch64")


def test_what_each_cpu_lacks():
    lacking = {name for name in TARGETS if not target(name).converts_float16}
    assert lacking == {"x86-64", "sandybridge"}
    assert {name for name in TARGETS if not target(name).fuses} == lacking | {"ivybridge"}


@pytest.mark.parametrize("triple", ["x86_64-pc-windows-msvc", "x86_64-apple-darwin", None])
def test_missing_operations_are_found_on_every_system(triple):
    old = Target("x86-64", triple=triple or LINUX["x86_64"])
    new = Target("x86-64-v3", triple=old.triple)
    assert (old.converts_float16, old.fuses) == (False, False)
    assert (new.converts_float16, new.fuses) == (True, True)


def test_llvms_own_conversion_is_reported_as_missing():
    module, b, (x, y) = function(2, counts=0)
    half, single = ir.HalfType(), ir.FloatType()
    wide = b.fpext(b.load(x, typ=half), single)
    b.store(b.fptrunc(b.fma(wide, wide, wide), half), y)
    b.ret_void()
    old = target("sandybridge")
    assert undefined(object_code(module, old)) == {"__extendhfsf2", "__truncsfhf2", "fmaf"}


def test_the_comparison_sees_one_bit():
    bits = inputs(FLOAT16, 0)
    number = (bits & 0x7FFF) <= 0x7C00
    for nan in ("all", "payload", "any"):
        assert same(bits, bits, FLOAT16, nan)
        for place in np.flatnonzero(number)[:50]:
            other = bits.copy()
            other[place] ^= 1 << 15
            assert not same(bits, other, FLOAT16, nan)
    for place in np.flatnonzero(~number)[:50]:
        for changed, seen in ((1 << 15, {"all"}), (1 << 9, {"all"}), (3, {"all", "payload"})):
            other = bits.copy()
            other[place] ^= changed
            if (other[place] & 0x7FFF) > 0x7C00:  # else the signalling NaN became inf
                assert {
                    n for n in ("all", "payload", "any") if not same(bits, other, FLOAT16, n)
                } == seen


def test_assembly_is_of_the_cpu_named():
    loop = kernels.loop(kernels.Specification(sg.relu.entry, "value", FLOAT16, FLOAT32))
    for name, conversion in (("sandybridge", False), ("ivybridge", True)):
        text = assembly(lowering.build(loop, target(name)), target(name))
        assert ("vcvtph2ps" in text) == conversion
        assert "hfsf" not in text


@pytest.mark.parametrize("cpu", ["skylake-avx512", "icelake-server", "znver4"])
def test_vectors_are_as_wide_as_the_cpu_has_them(cpu):
    specification = kernels.Specification(sg.gelu.entry, "value", FLOAT32, FLOAT32)
    chosen = Target(cpu, triple=LINUX["x86_64"])
    assert "zmm" in assembly(lowering.build(kernels.loop(specification), chosen), chosen)


@pytest.mark.parametrize("name", ["relu", "relu6", "leaky_relu"])
def test_no_load_waits_for_another(name):
    specification = kernels.Specification(
        sg.activations()[name].entry, "backward", FLOAT32, FLOAT32
    )
    chosen = Target("znver4", triple=LINUX["x86_64"])
    text = assembly(lowering.build(kernels.loop(specification), chosen), chosen)
    assert "zmm" in text
    assert not re.search(r"\), %[xyz]mm\d+ \{%k", text), "a load under a mask waits for the mask"


@pytest.mark.parametrize(
    ("triple", "expected"),
    [
        ("x86_64-unknown-linux-gnu", False),
        ("aarch64-unknown-linux-gnu", True),
        ("arm64-apple-darwin", True),
        ("aarch64-pc-windows-msvc", False),
    ],
)
def test_arm_kernels_are_linked_by_jitlink(
    triple: str, expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Whether RuntimeDyld aborts depends on the layout of memory: `make arm` shows it, sometimes.
    options: list[bool] = []

    def create(machine: llvm.TargetMachine, *, use_jit_link: bool) -> object:
        options.append(use_jit_link)
        return object()

    monkeypatch.setattr(llvm, "create_lljit_compiler", create)
    monkeypatch.setattr("softgate.lower.target.never_free", lambda linker: None)
    _ = Target("generic", triple=triple).linker
    assert options == [expected]
