"""The handler that XLA calls, as code for other CPUs; test_jax_cpu_kernels.py runs it here."""

from __future__ import annotations

import re

import pytest

from softgate.lower.native import STUBS, build_stubs
from softgate.lower.target import Target, optimise

CODE = {
    Target("haswell", triple="x86_64-unknown-linux-gnu"): ("stmxcsr", "ldmxcsr"),
    Target("apple-m1", triple="arm64-apple-macosx"): ("fpcr",),
    Target("generic", triple="aarch64-unknown-linux-gnu"): ("fpcr",),
}


@pytest.mark.parametrize("target", CODE, ids=lambda target: target.triple)
def test_flushing_is_turned_off_and_restored(target: Target) -> None:
    """One write turns it off, one restores it, before the future and on the way out without one."""
    assembly = target.machine.emit_assembly(optimise(build_stubs((0, 3), True, target), target))
    (run,) = re.findall(r"(?s)\n_?xla_run:(.*?)\n\s*retq?\n", assembly)
    read, *write = CODE[target]
    if write:
        assert (run.count(read), run.count(write[0])) == (1, 2)
    else:
        assert (run.count("mrs"), run.count("msr"), run.lower().count(read)) == (1, 2, 3)


def test_a_stub_costs_a_few_instructions() -> None:
    target = next(iter(CODE))
    assembly = target.machine.emit_assembly(optimise(build_stubs((0, 3), True, target), target))
    stubs = re.findall(r"\nstub\d+:\n((?:\t.*\n)*)", assembly)
    assert len(stubs) == STUBS
    instructions = [re.findall(r"(?m)^\t[a-z].*", stub) for stub in stubs]
    assert max(map(len, instructions)) <= 3
