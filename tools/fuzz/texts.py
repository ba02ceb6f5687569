"""Texts of users: functions, points, sizes and conditions; formulas; commands; variables."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

import softgate as sg
from softgate import cli
from softgate.cli import MISTAKES
from softgate.lower.emit import LANGUAGES
from softgate.records.text import CONTROL, escape, message_line, visible
from softgate.runtime import lookup
from softgate.runtime.machine import this_machine
from softgate.studies.subjects import user_code

EXAMPLES = 100
WORDS = st.sampled_from([
    "gelu", "elu", ":", "alpha=", "=", ",", "..", "1e9999", "-", "[", "(", "nan", "%", ">", "dead",
    "L2", "K", "0.5", "torch.nn", ".py", "softgate", "\x1b", "é", " ", "10**9", "1:2:1e-300", "/",
])  # fmt: skip
TEXTS = st.one_of(st.text(max_size=40), st.lists(WORDS, max_size=8).map("".join))


def searched(
    rng: Random,
    strategy: st.SearchStrategy[Any],
    check: Callable[[Any], None],
    examples: int = EXAMPLES,
) -> int:
    """Run a check on examples that hypothesis generates and, if it fails, makes smaller."""
    count = 0

    @seed(rng.getrandbits(60))
    @settings(
        max_examples=examples, deadline=None, database=None,
        phases=[Phase.generate, Phase.shrink], suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(strategy)
    def run(example: Any) -> None:
        nonlocal count
        count += 1
        check(example)

    run()
    return count


def attack_grammar(rng: Random) -> int:
    """Texts for functions, points, sizes and conditions."""
    from softgate.studies.bench.inputs import size
    from softgate.studies.diagnose.findings import condition
    from softgate.studies.table import parse_points

    machine = this_machine()
    parsers: list[Callable[[str], object]] = [
        lookup.parse, lookup.literal, lookup.lookup, user_code.split, user_code.split_path,
        user_code.is_code, condition, lambda text: size(text, 4, machine),
    ]  # fmt: skip

    def check(text: str) -> None:
        for parse in parsers:
            with contextlib.suppress(*MISTAKES):
                parse(text)
        if len(text) < 20:  # a longer range may have millions of points
            with contextlib.suppress(*MISTAKES):
                parse_points(text)
        assert not CONTROL.search(visible(text) + escape(text) + message_line(text))

    return searched(rng, TEXTS, check)


def formulas() -> st.SearchStrategy[Any]:
    """Return programs: lists of (operation, operands) that refer to earlier results."""
    numbers = st.one_of(st.floats(), st.integers(-(10**30), 10**30), st.just(10**400))
    step = st.tuples(
        st.sampled_from(["add", "mul", "div", "power", "exp", "log", "sqrt", "where", "tanh"]),
        st.integers(0, 99), st.integers(0, 99), numbers, st.booleans(),
    )  # fmt: skip
    return st.tuples(st.lists(step, min_size=1, max_size=12), st.integers(1, 40))


def attack_formulas(rng: Random) -> int:
    """Formulas with any constants and sharing: computed, or refused with a message."""
    x = np.array([-3.0, -0.5, 0.0, 1e-300, 2.0, 800.0])

    def check(program: Any) -> None:
        steps, doublings = program

        def function(f: Any, x: Any) -> Any:
            results = [x]
            for op, first, second, number, constant in steps:
                a = results[first % len(results)]
                b = number if constant else results[second % len(results)]
                results.append(operation(f, op, a, b))
            y = results[-1]
            for _ in range(doublings):
                y = y + y
            return y

        with contextlib.suppress(*MISTAKES, ZeroDivisionError):
            result = sg.activation(name="fuzzed")(function)(x)
            assert result.shape == x.shape

    return searched(rng, formulas(), check, examples=5)  # each is compiled


def operation(f: Any, op: str, a: Any, b: Any) -> Any:
    match op:
        case "add":
            return a + b
        case "mul":
            return a * b
        case "div":
            return a / b
        case "power":
            return a ** (b if isinstance(b, int) else 2)
        case "where":
            return f.where(a > 0, a, b)
    return getattr(f, op)(a)


OPTIONS = (
    "--at", "-3:3:1", "1e400", "nan", "--json", "--csv", "--columns", "value", "--dtype", "float32",
    "float8", "--language", *LANGUAGES, "--quantity", "slope", "difference", "--log",
    "--width", "0", "1e9", "-5", "--reference", "relu", "--source", "jax", "-o", "/nowhere/x.svg",
    "--parameters", "x=1", "--help", "--", "", "\x1b[2J", "é", "gelu", "swiglu", "elu:alpha=nan",
    "elu:alpha=1e9", "rrelu:upper=0.1", "gelu:x=1", "no.such:thing", "nothing.py:f", "--limit", "3",
)  # fmt: skip
COMMANDS = ("table", "properties", "plot", "names", "emit", "identify", "nosuch")


def attack_options(rng: Random) -> int:
    """Commands with any arguments: exit code 0, 1 or 2, and one line for a mistake."""
    before = sys.argv
    try:
        for _ in range(10):
            words = [rng.choice(OPTIONS) for _ in range(rng.randrange(6))]
            sys.argv = ["softgate", rng.choice(COMMANDS), *words]
            out, err = io.StringIO(), io.StringIO()
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                try:
                    cli.main()
                except SystemExit as exited:
                    code = exited.code
            assert code in (0, 1, 2), (sys.argv, code)
            errors = [line for line in err.getvalue().splitlines() if line.startswith("Error: ")]
            assert code != 2 or len(errors) == 1 or "Usage" in err.getvalue(), sys.argv
            assert not CONTROL.search(out.getvalue() + err.getvalue()), sys.argv
    finally:
        sys.argv = before
    return 10


VARIABLES = {
    "COLUMNS": ("0", "-3", "1", "x", "99999999", "\x1b"),
    "LINES": ("0", "x"),
    "TERM": ("", "dumb", "xterm-256color", "nosuch"),
    "NO_COLOR": ("", "1"),
    "FORCE_COLOR": ("1",),
    "PYTHONIOENCODING": ("ascii", "latin-1", "utf-8:strict"),
    "LC_ALL": ("C", "nosuch", "tr_TR.UTF-8"),
    "TMPDIR": ("/nowhere", ""),
    "HOME": ("/nowhere", ""),
    "OMP_NUM_THREADS": ("0", "-1", "x", "99999"),
    "PYTHONUTF8": ("0", "1"),
    "PYTHONWARNINGS": ("error", "x"),
    "PYTHONHASHSEED": ("0",),
    "_SOFTGATE_COMPLETE": ("bash_complete", "x"),
    "SOFTGATE_WORKER": ("1",),
    "PYTHONDONTWRITEBYTECODE": ("1",),
}


def attack_environment(rng: Random) -> int:
    """Environment variables with unusual values do not change what is computed."""
    chosen = rng.sample(sorted(VARIABLES), rng.randrange(1, 5))
    changes = {name: rng.choice(VARIABLES[name]) for name in chosen}
    result = subprocess.run(
        [sys.executable, "-m", "softgate", "table", "gelu", "--at", "1", "--csv"],
        env={**os.environ, **changes}, capture_output=True, timeout=120, check=False,
    )  # fmt: skip
    assert b"Traceback" not in result.stderr, (changes, result.stderr[-1000:])
    if "_SOFTGATE_COMPLETE" not in changes:
        assert result.returncode == 0, (changes, result.stderr[-1000:])
        assert b"0.841344746068542" in result.stdout, (changes, result.stdout)
    return 1
