"""Threads: the same bits for any number, safe with other threads, forks, workers and at exit."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import softgate as sg
from softgate.runtime import threads

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
        timeout=120,
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
def test_large_arrays_are_shared_out() -> None:
    seen = []
    threads.POOL.run(lambda start, stop: seen.append((start, stop)), SIZE, 8)
    assert min(seen)[0] == 0
    assert len(seen) > 1
    assert sum(stop - start for start, stop in seen) == SIZE
    seen.clear()
    threads.POOL.run(lambda start, stop: seen.append((start, stop)), 1000, 8)
    assert seen == [(0, 1000)]


@pytest.mark.usefixtures("all_threads")
def test_many_python_threads_at_once() -> None:
    x = sample()
    expected = sg.gelu(x)
    with ThreadPoolExecutor(8) as pool:
        for result in pool.map(lambda _: sg.gelu(x), range(40)):
            assert np.array_equal(result, expected)


@pytest.mark.usefixtures("all_threads")
@pytest.mark.parametrize("where", ["caller", "worker"])
def test_an_error_in_a_chunk_reaches_the_caller(where: str) -> None:
    caller = threading.get_ident()
    worked = threading.Event()

    def chunk(start: int, stop: int) -> None:
        here = "caller" if threading.get_ident() == caller else "worker"
        if here == where:
            worked.set()
            raise KeyboardInterrupt
        worked.wait(20)  # until the other side has had its turn

    for _ in range(3):
        worked.clear()
        with pytest.raises(KeyboardInterrupt):
            threads.POOL.run(chunk, SIZE, 8)
    assert np.array_equal(sg.relu(sample()), np.maximum(sample(), 0))


@pytest.mark.parametrize(("n", "error"), [(0, ValueError), (-1, ValueError), (1.5, TypeError)])
def test_wrong_numbers_of_threads(n: Any, error: type[Exception]) -> None:
    before = sg.get_threads()
    with pytest.raises(error, match="at least 1"):
        sg.set_threads(n)
    assert sg.get_threads() == before


def test_kernels_release_the_gil() -> None:
    """While one thread is in a kernel for tens of milliseconds, another runs."""
    out = run("""
        import threading, time, numpy as np, softgate as sg
        sg.set_threads(1)
        x = np.zeros(1 << 24); y = np.empty_like(x)
        sg.gelu(x[:10])
        span = []
        def work():
            start = time.perf_counter(); sg.gelu(x, out=y)
            span.append((start, time.perf_counter()))
        worker = threading.Thread(target=work); worker.start()
        ticks = []
        while worker.is_alive():
            ticks.append(time.perf_counter()); time.sleep(0.0005)
        (start, end), = span
        inside = [t for t in ticks if start + 0.01 < t < end - 0.01]
        print(len(inside) > 5)
    """)
    assert out.strip() == "True"


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
        import os, threading, time, numpy as np, softgate as sg
        names = list(sg.activations())
        def compile_all():
            for name in names:
                getattr(sg, name)(np.ones(3)); getattr(sg, name).slope(np.ones(3, np.float32))
        worker = threading.Thread(target=compile_all); worker.start()
        statuses = []
        while worker.is_alive() and len(statuses) < 20:
            child = os.fork()
            if child == 0:
                sg.gelu(np.ones(3)); os._exit(0)
            statuses.append(os.waitpid(child, 0)[1]); time.sleep(0.01)
        worker.join(); print(len(statuses) > 0, set(statuses))
    """)
    assert out.strip() == "True {0}"


@pytest.mark.parametrize("delay", [0.0, 0.01, 0.03, 0.06])
def test_fork_during_the_first_16_bit_call(delay: float) -> None:
    """What a table needs is imported and made by another thread while the process forks."""
    out = run(f"""
        import os, threading, time, numpy as np, softgate as sg
        x = np.ones(3, np.float16)
        worker = threading.Thread(target=lambda: sg.gelu(x)); worker.start()
        time.sleep({delay})
        child = os.fork()
        if child == 0:
            sg.gelu(x); os._exit(0)
        print(os.waitpid(child, 0)[1]); worker.join()
    """)
    assert out.strip() == "0"


def test_tables_leave_the_users_mpmath_alone() -> None:
    """Tables made in many threads neither use nor change mpmath's global precision."""
    out = run("""
        import threading, ml_dtypes, mpmath, numpy as np, softgate as sg
        from softgate.runtime import tables
        from softgate.formula.formats import BFLOAT16
        stop = threading.Event()
        def user():
            while not stop.is_set():
                with mpmath.workdps(6):
                    mpmath.exp(1)
        busy = threading.Thread(target=user); busy.start()
        x = np.arange(1 << 16, dtype=np.uint16).view(ml_dtypes.bfloat16)
        names = ["gelu", "silu", "gelu_tanh", "mish"]
        results = {}
        def work(name):
            results[name] = sg.activations()[name](x).view(np.uint16)
        workers = [threading.Thread(target=work, args=(name,)) for name in names]
        [w.start() for w in workers]; [w.join() for w in workers]
        stop.set(); busy.join()
        tables.table.cache_clear()
        same = []
        for name in names:
            activation = sg.activations()[name]
            key = tuple(activation.parameters.items())
            again = tables.table(activation.entry, "value", BFLOAT16, key)
            same.append(np.array_equal(again, results[name]))
        print(mpmath.mp.prec, all(same))
    """)
    assert out.split() == ["53", "True"]


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
        [sys.executable, str(program)], capture_output=True, text=True, timeout=120, check=False
    )
    assert (result.returncode, result.stdout.strip()) == (0, "True"), result.stderr


def test_a_daemon_thread_at_exit() -> None:
    """The interpreter ends while a daemon thread is in the middle of large calls."""
    for _ in range(3):
        run("""
            import threading, time, numpy as np, softgate as sg
            sg.set_threads(3)
            x = np.ones(3_000_000, np.float32)
            def work():
                while True:
                    sg.gelu(x); sg.gelu.slope(x)
            threading.Thread(target=work, daemon=True).start()
            time.sleep(0.3)
        """)


def test_a_call_at_exit() -> None:
    out = run("""
        import atexit, numpy as np, softgate as sg
        sg.set_threads(3)
        x = np.ones(3_000_000, np.float32)
        atexit.register(lambda: print(sg.tanh(x)[0] == sg.tanh(x[:1])[0]))
    """)
    assert out.strip() == "True"


@pytest.mark.usefixtures("all_threads")
def test_no_thread_writes_after_an_interrupted_call() -> None:
    """An interrupt in the caller is raised only when the chunks of other threads have ended."""
    caller, begun = threading.get_ident(), threading.Event()
    running = []

    def chunk(start: int, stop: int) -> None:
        if threading.get_ident() == caller:
            begun.wait(20)
            raise KeyboardInterrupt
        running.append(start)
        begun.set()
        time.sleep(0.05)
        running.remove(start)

    for _ in range(3):
        begun.clear()
        with pytest.raises(KeyboardInterrupt):
            threads.POOL.run(chunk, SIZE, 8)
        assert not running


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


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no interval timers")
def test_interrupts_during_compilation_and_threaded_calls() -> None:
    """After an interrupt at any time, the same and other first calls return the right bits."""
    out = run("""
        import random, signal, numpy as np, softgate as sg
        from softgate.runtime import kernels, threads

        def interrupt(*_):
            raise KeyboardInterrupt

        signal.signal(signal.SIGALRM, interrupt)
        random.seed(1)
        sg.set_threads(2)
        x = np.linspace(-4, 4, 300_000, dtype=np.float32)
        functions = [sg.gelu, sg.mish, sg.relu, sg.sigmoid]
        expected = [f(x) for f in functions]
        count = 0
        for round in range(60):
            f = functions[round % 4]
            out = np.empty_like(x)
            if round % 2:
                kernels._by_entry.clear(), kernels._by_graph.clear()
            seconds = random.uniform(1e-4, 0.06 if round % 2 else 6e-4)
            try:
                signal.setitimer(signal.ITIMER_REAL, seconds)
                f(x, out=out)
                signal.setitimer(signal.ITIMER_REAL, 0)
            except KeyboardInterrupt:
                count += 1
            before = out.copy()
            following = (round + 1) % 4
            assert np.array_equal(functions[following](x), expected[following])
            assert np.array_equal(out, before, equal_nan=True), "written after the call"
        print(count)
    """)
    assert int(out) > 5
