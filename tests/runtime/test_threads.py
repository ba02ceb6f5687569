"""Threads: the same bits for any number, safe with other threads, forks, workers and at exit."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import softgate as sg

SIZE = 1_000_003
"""Large enough to be shared out, and no multiple of anything."""


def sample(dtype: Any = np.float32) -> Any:
    return (np.random.default_rng(0).standard_normal(SIZE) * 3).astype(dtype)


def run(code: str) -> str:
    """Run a program in a process of its own and return what it prints."""
    result = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert result.returncode == 0, f"exit code {result.returncode}\n{result.stdout}{result.stderr}"
    return result.stdout


@pytest.mark.usefixtures("all_threads")
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_the_same_bits_for_any_number_of_threads(dtype: Any) -> None:
    x, grad = sample(dtype), sample(dtype)[::-1].copy()
    results = []
    for n in (1, 2, 3, 7):
        sg.set_threads(n)
        results.append((sg.gelu(x), sg.gelu.backward(x, grad)))
    for value, backward in results[1:]:
        assert np.array_equal(value, results[0][0])
        assert np.array_equal(backward, results[0][1])


@pytest.mark.usefixtures("all_threads")
@pytest.mark.parametrize("count", [1 << 18, (1 << 18) + 1, SIZE])
def test_every_element_is_computed_and_no_other_is_written(count: int) -> None:
    sg.set_threads(3)
    room = np.full(count + 128, 7.0)
    inside = room[64 : 64 + count]
    sg.gelu(np.full(count, 2.0), out=inside)
    assert (inside == sg.gelu(2.0)).all()
    assert (room[:64] == 7).all()
    assert (room[64 + count :] == 7).all()


@pytest.mark.usefixtures("all_threads")
@pytest.mark.parametrize("shape", [(1, 700_000), (3, 300_000), (5, 100_002), (4001, 130)])
def test_rows_have_the_same_bits_for_any_number_of_threads(shape: tuple[int, int]) -> None:
    x = np.random.default_rng(0).standard_normal(shape)
    sg.set_threads(1)
    expected = sg.swiglu(x)
    for n in (2, 3, 7):
        sg.set_threads(n)
        assert np.array_equal(sg.swiglu(x), expected)


@pytest.mark.usefixtures("all_threads")
def test_many_python_threads_at_once() -> None:
    x = sample()
    expected = sg.gelu(x)
    with ThreadPoolExecutor(8) as pool:
        for result in pool.map(lambda _: sg.gelu(x), range(40)):
            assert np.array_equal(result, expected)


@pytest.mark.parametrize(("n", "error"), [(0, ValueError), (-1, ValueError), (1.5, TypeError)])
def test_wrong_numbers_of_threads(n: Any, error: type[Exception]) -> None:
    before = sg.get_threads()
    with pytest.raises(error, match="at least 1"):
        sg.set_threads(n)
    assert sg.get_threads() == before


def test_kernels_release_the_gil() -> None:
    """Another thread runs during a call, although Python itself never switches between them."""
    out = run("""
        import sys, threading, numpy as np, softgate as sg
        sg.set_threads(1)
        x = np.zeros(1 << 20); y = np.empty_like(x)
        sg.gelu(x, out=y)
        held, ran = threading.Lock(), []
        held.acquire()
        def work():
            with held:
                ran.append(True)
        worker = threading.Thread(target=work); worker.start()
        sys.setswitchinterval(1e6)
        held.release()
        while not ran:
            sg.gelu(x, out=y)
        print(ran)
    """)
    assert out.strip() == "[True]"


def test_after_fork() -> None:
    """A child of a parent that had used threads computes, also large arrays, also new kernels."""
    out = run("""
        import os, numpy as np, softgate as sg
        sg.set_threads(4)
        x = np.linspace(-5, 5, 2_000_001, dtype=np.float32)
        expected = sg.gelu(x)
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            same = np.array_equal(sg.gelu(x), expected)
            new = sg.mish(x)[1_000_000]
            os.write(writer, repr((bool(same), float(new))).encode())
            os._exit(0)
        _, status = os.waitpid(child, 0)
        print(status, os.read(reader, 100).decode(), np.array_equal(sg.gelu(x), expected))
    """)
    assert out.split() == ["0", "(True,", "0.0)", "True"]


def test_fork_while_another_thread_compiles() -> None:
    out = run("""
        import os, threading, numpy as np, softgate as sg
        names, begun = list(sg.activations())[:20], threading.Semaphore(0)
        def compile_all():
            for name in names:
                begun.release()
                getattr(sg, name)(np.ones(3)); getattr(sg, name).slope(np.ones(3, np.float32))
        worker = threading.Thread(target=compile_all); worker.start()
        statuses = []
        for _ in names:
            begun.acquire()
            child = os.fork()
            if child == 0:
                sg.gelu(np.ones(3)); os._exit(0)
            statuses.append(os.waitpid(child, 0)[1])
        worker.join(); print(set(statuses))
    """)
    assert out.strip() == "{0}"


@pytest.mark.parametrize(
    "module", ["runtime.activation", "runtime.tables", "formula.formats", "lower.llvm"]
)
def test_fork_during_the_first_16_bit_call(module: str) -> None:
    """The process forks when another thread, which makes a table, has reached a module."""
    out = run(f"""
        import os, sys, threading, numpy as np, softgate as sg
        x, reached, seen = np.ones(3, np.float16), threading.Event(), []
        def trace(frame, event, argument):
            if frame.f_globals.get("__name__") == "softgate.{module}":
                reached.set()
        def work():
            sys.settrace(trace)
            sg.gelu(x)
            seen.append(reached.is_set())
            reached.set()
        worker = threading.Thread(target=work); worker.start()
        reached.wait()
        child = os.fork()
        if child == 0:
            sg.gelu(x); os._exit(0)
        status = os.waitpid(child, 0)[1]; worker.join(); print(status, seen)
    """)
    assert out.strip() == "0 [True]"


def test_tables_do_not_depend_on_the_precision_of_flint() -> None:
    """It is one for all threads: what a thread of the user sets makes balls wider, never wrong."""
    out = run("""
        import threading, flint, ml_dtypes, numpy as np, softgate as sg
        from softgate.runtime import tables
        from softgate.formula.formats import BFLOAT16
        stop = threading.Event()
        def user():
            while not stop.is_set():
                with flint.ctx.workprec(20):
                    flint.arb(1).exp()
        busy = threading.Thread(target=user); busy.start()
        x = np.arange(1 << 16, dtype=np.uint16).view(ml_dtypes.bfloat16)
        names = ["gelu", "silu", "gelu_tanh", "mish"]
        results = {}
        def work(name):
            results[name] = sg.activations()[name](x).view(np.uint16)
        workers = [threading.Thread(target=work, args=(name,)) for name in names]
        [w.start() for w in workers]; [w.join() for w in workers]
        stop.set(); busy.join()
        flint.ctx.prec = 77
        tables.table.cache_clear()
        same = []
        for name in names:
            activation = sg.activations()[name]
            key = tuple(activation.parameters.items())
            again = tables.table(activation.entry, "value", BFLOAT16, key)
            same.append(np.array_equal(again, results[name]))
        print(flint.ctx.prec, all(same))
    """)
    assert out.split() == ["77", "True"]


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_multiprocessing(method: str, tmp_path: Any) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        textwrap.dedent(f"""
            import multiprocessing, numpy as np, softgate as sg

            def work(seed):
                x = np.random.default_rng(seed).standard_normal(600_000).astype(np.float32)
                return float(sg.gelu(x).sum())

            if __name__ == "__main__":
                sg.set_threads(3)
                here = [work(seed) for seed in range(4)]
                with multiprocessing.get_context("{method}").Pool(2) as pool:
                    print(pool.map(work, range(4)) == here)
        """)
    )
    result = subprocess.run(
        [sys.executable, str(program)], capture_output=True, text=True, timeout=600, check=False
    )
    assert (result.returncode, result.stdout.strip()) == (0, "True"), result.stderr


def test_a_daemon_thread_at_exit() -> None:
    """The interpreter ends while a daemon thread is in the middle of large calls."""
    for _ in range(3):
        run("""
            import threading, numpy as np, softgate as sg
            sg.set_threads(3)
            x, begun = np.ones(3_000_000, np.float32), threading.Semaphore(0)
            def work():
                while True:
                    sg.gelu(x); sg.gelu.slope(x); begun.release()
            threading.Thread(target=work, daemon=True).start()
            for _ in range(5):
                begun.acquire()
        """)


def test_a_call_at_exit() -> None:
    out = run("""
        import atexit, numpy as np, softgate as sg
        sg.set_threads(3)
        x = np.ones(3_000_000, np.float32)
        atexit.register(lambda: print(sg.tanh(x)[0] == sg.tanh(x[:1])[0]))
    """)
    assert out.strip() == "True"


@pytest.mark.parametrize("call", ["numpy", "halves", "torch"])
@pytest.mark.parametrize("step", ["8", pytest.param("1", marks=pytest.mark.exhaustive)])
def test_no_thread_writes_after_an_interrupted_call(call: str, step: str) -> None:
    """Three interrupts follow each other at once, the first at every `step`th event of a call."""
    if call == "torch" and not hasattr(os, "fork"):
        pytest.skip("this system has no fork")
    program = Path(__file__).parents[1] / "support" / "interrupted_calls.py"
    result = subprocess.run(
        [sys.executable, str(program), call, step], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, f"{result.stdout}\n{result.stderr}"
    assert ", 0 failures" in result.stdout


def test_an_interrupted_compilation_leaves_the_code_generator_usable() -> None:
    out = run("""
        import gc, llvmlite.binding as llvm, numpy as np, softgate as sg

        def interrupt(*_):
            raise KeyboardInterrupt

        sg.relu(1.0)
        link = llvm.JITLibraryBuilder.link
        for f in (sg.gelu, sg.mish, sg.sigmoid, sg.silu, sg.elu, sg.tanh):
            llvm.JITLibraryBuilder.link = interrupt
            try:
                f(np.ones(3))
            except KeyboardInterrupt:
                llvm.JITLibraryBuilder.link = link
            gc.collect()
            f(np.ones(3))
        print(sg.tanh(0.0))
    """)
    assert out.strip() == "0.0"
