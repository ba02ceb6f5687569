"""Memory: kernels are shared by equal formulas and freed with the functions that use them."""

from __future__ import annotations

import gc
import subprocess
import sys
import textwrap
import weakref
from typing import Any

import numpy as np
import pytest

import softgate as sg
from softgate.runtime import kernels
from softgate.runtime.activation import Activation

X = np.ones(3)

on_linux = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc/self/statm")


def scaled(factor: float) -> Activation:
    @sg.activation(name="scaled")
    def function(f: Any, x: Any, a: float = 1.0) -> Any:
        return a * x * f.sigmoid(factor * x)

    return function


def kernel_of(function: Activation) -> Any:
    function(X)
    return function.route("value", X.dtype).runner().run


def test_equal_formulas_share_a_kernel() -> None:
    assert kernel_of(scaled(1.25)) is kernel_of(scaled(1.25))
    assert kernel_of(scaled(1.25)) is not kernel_of(scaled(1.5))
    assert kernel_of(sg.elu) is not kernel_of(sg.celu.bind(alpha=0.5))


def test_kernels_of_collected_functions_are_freed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "MOST_UNUSED", 2)
    kept = scaled(2.25)
    used, unused = weakref.ref(kernel_of(kept)), weakref.ref(kernel_of(scaled(2.5)))
    for factor in (2.75, 3.25, 3.5):
        kernel_of(scaled(factor))
    gc.collect()
    assert unused() is None
    assert used() is kernel_of(kept)
    assert np.array_equal(kept(X), X * sg.sigmoid(2.25 * X))


def grown(code: str) -> float:
    """Return by how many MB a process grows while it runs `code`, after the definitions here."""
    program = f"""
        import gc, numpy as np, softgate as sg
        from softgate.lower import llvm, target
        from softgate.runtime import kernels

        def megabytes():
            gc.collect()
            return int(open("/proc/self/statm").read().split()[1]) * 4096 / 1e6

        def new(i):
            sg.activation(name="new")(lambda f, x: x * f.sigmoid((1 + i / 4096) * x))(x)

        def same(i):
            new(0)

        def bind(i):
            sg.elu.bind(alpha=1 + i / 4096)(x)

        def table(i):
            sg.elu(half, alpha=1 + i / 4099)  # a short alpha has ties, which take seconds

        def optimise(i):
            loop = kernels.loop(kernels.Specification(sg.relu.entry, "value", f64, f64))
            target.optimise(llvm.build(loop))

        from softgate.formula.formats import FLOAT64 as f64
        x, half = np.ones(3), np.ones(3, np.float16)
        for i in range(4):
            new(i), bind(i), table(i), optimise(i)
        before = megabytes()
        {code}
        print(megabytes() - before)
    """
    result = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, check=True
    )
    return float(result.stdout)


@on_linux
def test_the_optimiser_and_equal_formulas_leave_nothing_behind() -> None:
    assert grown("[(same(i), optimise(i)) for i in range(150)]") < 4


@on_linux
@pytest.mark.exhaustive
@pytest.mark.parametrize("kind", ["new", "same", "bind", "table"])
def test_two_thousand_functions_take_little_memory(kind: str) -> None:
    assert grown(f"[{kind}(i) for i in range(4, 2004)]") < 60


LITTLE = """
    import resource
    import numpy as np
    import softgate as sg

    def limited(megabytes, function):
        used = int(open("/proc/self/statm").read().split()[0]) * 4096
        hard = resource.getrlimit(resource.RLIMIT_AS)[1]
        resource.setrlimit(resource.RLIMIT_AS, (used + megabytes * 2**20, hard))
        try:
            function(x)
        except MemoryError as error:
            print("compiling a kernel needs" in str(error))
        finally:
            resource.setrlimit(resource.RLIMIT_AS, (hard, hard))

    x = np.ones(1000, np.float32)
    limited(100, sg.relu)  # LLVM cannot be loaded
    limited(190, sg.relu)  # LLVM is loaded, and little is left
    print(float(sg.relu(x)[0]))
    limited(1, sg.gelu)
    print(float(sg.relu6(x)[0]))
"""


@on_linux
def test_too_little_memory_for_llvm_raises_memory_error() -> None:
    """LLVM ends the process if an allocation fails; llvmlite reports a missing file."""
    result = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(LITTLE)], capture_output=True, text=True, check=False
    )
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.split() == ["True", "True", "1.0", "True", "1.0"]
