"""The CPUs that kernels are compiled for: this machine's by default, any other by name.

For an operation that a CPU lacks, LLVM calls a routine by its name. The process may not have it,
and then ends. A target therefore tells which operations its CPU lacks, and `emulated` has
replacements for them.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir

from .loops import function

HALF, SINGLE = ir.HalfType(), ir.FloatType()


@dataclass(frozen=True)
class Target:
    """A CPU as LLVM names it, with features to add and to leave out ("+avx2,-fma").

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
            # For some CPUs LLVM prefers half of a 512-bit vector, lest a few wide operations slow
            # the clock of all others. Kernels are nothing but wide operations.
            features.append("-prefer-256-bit")
        return llvm.Target.from_triple(self.triple).create_target_machine(
            cpu=self.cpu, features=",".join(features), opt=3, jit=True
        )

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
    except RuntimeError:  # LLVM cannot tell on some systems; the CPU's name is enough to go on
        return {}


def _host() -> Target:
    flags = (f"{'+' if has else '-'}{name}" for name, has in sorted(_host_features().items()))
    return Target(llvm.get_host_cpu_name(), ",".join(flags))


HOST = _host()
"""The CPU of this machine."""


def host() -> tuple[str, frozenset[str]]:
    """Return the name of this machine's CPU and the features that LLVM uses on it."""
    return HOST.cpu, frozenset(name for name, has in _host_features().items() if has)


def optimise(module: ir.Module, target: Target = HOST) -> llvm.ModuleRef:
    """Return `module` after LLVM's own O3 pipeline for a CPU, by default this machine's."""
    module.triple = target.triple
    # A loop's metadata must be distinct and begin with itself, which llvmlite cannot say.
    text = re.sub(r"(?m)^(!\d+) = !\{ (!\d+) \}$", r"\1 = distinct !{ \1, \2 }", str(module))
    parsed = llvm.parse_assembly(text)
    parsed.verify()
    options = llvm.create_pipeline_tuning_options(speed_level=3)
    options.loop_vectorization = options.slp_vectorization = True
    options.loop_unrolling = options.loop_interleaving = True
    passes = llvm.create_pass_builder(target.machine, options)
    passes.getModulePassManager().run(parsed, passes)
    return parsed


def assembly(module: ir.Module, target: Target = HOST) -> str:
    """Return the assembly of a module that was built for `target`."""
    text: str = target.machine.emit_assembly(optimise(module, target))
    return text


def object_code(module: ir.Module, target: Target = HOST) -> bytes:
    """Return the object file of a module that was built for `target`."""
    code: bytes = target.machine.emit_object(optimise(module, target))
    return code


def compile_module(
    module: ir.Module,
    pointers: int,
    counts: int = 1,
    name: str = "kernel",
    target: Target = HOST,
) -> Callable[..., None]:
    """Return `name` of `module` as a function of `pointers` addresses and some counts."""
    engine = llvm.create_mcjit_compiler(optimise(module, target), target.machine)
    engine.finalize_object()
    address = engine.get_function_address(name)
    _keep_for_ever(engine)
    signature = [ctypes.c_void_p] * pointers + [ctypes.c_int64] * counts
    return ctypes.CFUNCTYPE(None, *signature)(address)


def _keep_for_ever(engine: Any) -> None:
    # A daemon thread may still run the code while the interpreter tears modules down.
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(engine))
