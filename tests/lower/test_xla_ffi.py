"""The handler that XLA calls, as code for other CPUs; test_jax_cpu_kernels.py runs it here."""

from __future__ import annotations

import pytest

from softgate.lower.target import Target, optimise
from softgate.lower.xla_ffi import build_stubs

CODE = {
    Target("haswell", triple="x86_64-unknown-linux-gnu"): ("stmxcsr", "ldmxcsr"),
    Target("apple-m1", triple="arm64-apple-macosx"): ("fpcr",),
    Target("generic", triple="aarch64-unknown-linux-gnu"): ("fpcr",),
}


@pytest.mark.parametrize("target", CODE, ids=lambda target: target.triple)
def test_flushing_is_turned_off_and_restored(target: Target) -> None:
    """One write turns it off, one restores it on each way out: with the last result and without."""
    module = optimise(build_stubs((0, 3), True, count=2, target=target), target)
    assembly = target.machine.emit_assembly(module).lower()
    read, *write = CODE[target]
    if write:
        assert (assembly.count(read), assembly.count(write[0])) == (1, 3)
    else:
        assert assembly.count("mrs") == 1
        assert assembly.count("msr") == 3
        assert assembly.count(read) == 4


def test_a_stub_costs_a_few_instructions() -> None:
    target = next(iter(CODE))
    sizes = []
    for count in (2, 34):
        module = optimise(build_stubs((0, 3), True, count=count, target=target), target)
        sizes.append(len(target.machine.emit_object(module)))
    assert (sizes[1] - sizes[0]) / 32 < 400  # with its symbol, its relocations and its slot
