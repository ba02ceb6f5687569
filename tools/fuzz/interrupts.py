"""Interrupts and kills at random times: of compilation, threaded calls, sweeps and commands."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import softgate as sg
from softgate.formula.formats import FLOAT32
from softgate.studies.accuracy import sweep
from softgate.studies.accuracy.errors import Reference
from softgate.studies.accuracy.regions import Regions

SCRIPT = """
def run(activation, seed, report):
    import time
    for step in range(5):
        report(step, 1.0 / (seed + step + 1))
        time.sleep(0.01)
    return len(repr(activation)) / (seed + 1)
"""
START = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job ignores it
sys.argv[0] = "softgate"
from softgate.cli import main
main()
"""


@contextmanager
def interrupted_after(seconds: float) -> Iterator[None]:
    """Raise KeyboardInterrupt in this thread after some time, unless the block has ended."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def attempted(call: Callable[[], Any], seconds: float) -> Any:
    """Return the result of a call, or None if it was interrupted."""
    try:
        with interrupted_after(seconds):
            return call()
    except KeyboardInterrupt:
        return None


def attack_compilation(rng: Random) -> int:
    """Interrupt first calls; later ones compile and are right."""
    x = np.linspace(-5, 5, 100)
    for _ in range(5):
        factor = rng.uniform(0.5, 2.0)
        function = sg.activation(name="fuzzed")(lambda f, x, c=factor: x * f.sigmoid(c * x))
        attempted(lambda function=function: function(x), rng.uniform(1e-4, 0.03))
        expected = x / (1 + np.exp(-factor * x))
        assert np.allclose(function(x), expected, rtol=1e-12, atol=1e-300)
    return 5


def attack_threaded_calls(rng: Random) -> int:
    """Interrupt calls on several threads; nothing is written after they have raised."""
    sg.set_threads(4)
    x = np.random.default_rng(rng.getrandbits(64)).normal(size=1 << 22).astype(np.float32)
    out = np.full_like(x, -7)
    for _ in range(5):
        function = rng.choice([sg.gelu, sg.tanh, sg.softplus])
        call = partial(function, x, out=out)
        if attempted(call, rng.uniform(1e-4, 0.01)) is None:
            before = out.copy()
            time.sleep(0.01)
            assert np.array_equal(before, out), "written after the call has raised"
        assert np.array_equal(function(x, out=out)[:1000], function(x[:1000]))
    return 5


def attack_sweeps(rng: Random) -> int:
    """Interrupt a sweep, save its state, and resume it: the counts are those of one run."""
    stop = 3 * sweep.BLOCK
    activation = rng.choice([sg.relu, sg.silu])
    reference = Reference(activation.entry, "value", activation.parameters)
    regions = Regions(FLOAT32, ())
    evaluate = sweep.in_slices(activation, "value")

    def run(state: Any, save: Any) -> Any:
        return sweep.sweep(evaluate, reference, regions, state=state, stop=stop, save=save)

    whole = run(None, None)
    with tempfile.TemporaryDirectory() as folder:
        saved = sweep.SweepCheckpoint(Path(folder) / "state.json", {"subject": activation.name})
        for _ in range(20):
            state = saved.read(regions, "value")
            result = attempted(
                lambda state=state: run(state, lambda state: saved.write(state, "value")),
                rng.uniform(0.05, 2.0),
            )
            if result is not None:
                break
        else:
            result = run(saved.read(regions, "value"), None)
    assert result.done == whole.done
    counts = [
        [(t.inputs, t.max_ulp, t.rounded, t.undecided) for t in state.tallies]
        for state in (result, whole)
    ]
    assert counts[0] == counts[1], "other counts after an interrupt"
    return 1


def command(*arguments: str, folder: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", START, *arguments], cwd=folder, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8",
        env={**os.environ, "TMPDIR": str(folder / "scratch")},
    )  # fmt: skip


def attack_commands(rng: Random) -> int:
    """Interrupt or terminate a command; it ends in one line and leaves no file."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "scratch").mkdir()
        arguments = rng.choice([
            ("table", "gelu", "--at", "-3:3:0.001"),
            ("identify", "numpy:tanh"),
            ("certify", "numpy:tanh", "--reference", "tanh", "--samples", "20000"),
        ])  # fmt: skip
        number = rng.choice([signal.SIGINT, signal.SIGTERM])
        with command(*arguments, folder=folder) as process:
            time.sleep(rng.uniform(0.3, 3.0))
            process.send_signal(number)
            _, error = process.communicate(timeout=120)
        started = process.returncode != -number  # the command had not yet begun otherwise
        assert not started or process.returncode in (0, 1, 128 + number), process.returncode
        assert not started or "Traceback" not in error, error[-2000:]
        assert list((folder / "scratch").iterdir()) == [], "a temporary file is left"
    return 1


def attack_compare(rng: Random) -> int:
    """Kill comparisons; the next run finds every saved trial, and the result is the same."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "scratch").mkdir()
        (folder / "train.py").write_text(SCRIPT, encoding="utf-8")
        arguments = ("compare", "gelu", "relu", "--script", "train.py:run", "--seeds", "3",
                     "--json", "--store")  # fmt: skip
        with command(*arguments, "whole", folder=folder) as process:
            whole, error = process.communicate(timeout=300)
        assert process.returncode == 0, error[-2000:]
        number = rng.choice([signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
        with command(*arguments, "killed", folder=folder) as process:
            time.sleep(rng.uniform(1.0, 6.0))
            process.send_signal(number)
            process.communicate(timeout=300)
        saved = {file.name: file.read_bytes() for file in (folder / "killed").glob("*.json")}
        with command(*arguments, "killed", folder=folder) as process:
            again, error = process.communicate(timeout=300)
        assert process.returncode == 0, error[-2000:]
        for file, content in saved.items():
            assert (folder / "killed" / file).read_bytes() == content, "an outcome was replaced"
        assert scores(again) == scores(whole), "another result after a kill"
    return 1


def scores(text: str) -> list[Any]:
    """Return the scores of all trials of a comparison."""
    numbers: list[Any] = []

    def walk(part: Any) -> None:
        if isinstance(part, dict):
            numbers.extend(part[name] for name in sorted(part) if name in ("score", "mean"))
            for name in sorted(part):
                walk(part[name])
        elif isinstance(part, list):
            for item in part:
                walk(item)

    walk(json.loads(text))
    return numbers
