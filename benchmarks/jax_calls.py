"""Time gelu under jax.jit beside jax.nn.gelu(approximate=False), as a share of its time.

    python benchmarks/jax_calls.py [--counts 64,1048576] [--rounds 100] [--json FILE] [--gate]

float32 from N(0, 1): the value, value and gradient, and the value between two operations that XLA
would fuse with its neighbours, x + 1 and · 2. In every round each has its turn, and rounds begin
with another each time; the shortest time counts. "operators" is softgate within `prefer_operators`.
The limits: at 64 elements 0.8 for the value; at 1,048,576 elements 0.65 for the value and 0.75 for
value and gradient, on all threads; 1.1 between operations, at every count. `--gate` exits with 1 if
one is exceeded.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from time import perf_counter_ns
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import softgate as sg
import softgate.jax

Call = Callable[[], Any]


def exact(x: Any) -> Any:
    return jax.nn.gelu(x, approximate=False)


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "softgate": sg.gelu,
    "operators": sg.gelu,
    "jax.nn": exact,
}


def pulled(function: Callable[[Any], Any]) -> Callable[[Any, Any], Any]:
    """Return value and gradient from one call."""

    def both(x: Any, grad: Any) -> Any:
        value, pull = jax.vjp(function, x)
        return value, pull(grad)[0]

    return jax.jit(both)


def between(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return the function between two operations."""
    return jax.jit(lambda x: function(x + 1) * 2)


def calls(count: int) -> dict[tuple[str, str], Call]:
    """Return the calls to be timed by what is computed and by which function."""
    rng = np.random.default_rng(0)
    x, grad = (jnp.asarray(rng.normal(size=count), jnp.float32) for _ in range(2))
    results: dict[tuple[str, str], Call] = {}
    for name, function in FUNCTIONS.items():
        with softgate.jax.prefer_operators() if name == "operators" else nullcontext():
            value, both, chain = jax.jit(partial(function)), pulled(function), between(function)
            results["value", name] = partial(value, x)
            results["value and gradient", name] = partial(both, x, grad)
            results["x + 1, value, * 2", name] = partial(chain, x)
            for call in (partial(value, x), partial(both, x, grad), partial(chain, x)):
                jax.block_until_ready(call())  # traced here
    results["value, not jitted by the caller", "softgate"] = lambda: sg.gelu(x)
    results["value, not jitted by the caller", "jax.nn"] = partial(exact, x)
    return results


def least_ns(
    calls: dict[tuple[str, str], Call], rounds: int, count: int
) -> dict[tuple[str, str], float]:
    """Return the shortest time of each call, in ns."""
    times = dict.fromkeys(calls, float("inf"))
    order = list(calls.items())
    repeats = max(2, min(100, 200_000 // count))
    for index in range(rounds):
        first = index % len(order)
        for name, call in order[first:] + order[:first]:
            jax.block_until_ready(call())  # brings the operands back into the caches
            start = perf_counter_ns()
            for _ in range(repeats):
                result = call()
            jax.block_until_ready(result)
            times[name] = min(times[name], (perf_counter_ns() - start) / repeats)
    return times


def limit_of(count: int, what: str) -> float | None:
    """Return the largest share of jax.nn's time that is accepted."""
    if what.startswith("x + 1"):
        return 1.1
    return {
        (64, "value"): 0.8,
        (1 << 20, "value"): 0.65,
        (1 << 20, "value and gradient"): 0.75,
    }.get((count, what))


def main() -> None:
    """Print the times and their shares of jax.nn's; with --gate exit with 1 above a limit."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--counts", default="64,4096,65536,262144,1048576", help="elements, with commas"
    )
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--json", type=Path, help="write the times in ns there")
    parser.add_argument("--gate", action="store_true", help="exit with 1 above a limit")
    options = parser.parse_args()
    print(f"jax {jax.__version__} on {jax.default_backend()}; {sg.explain(jnp.ones(3))}")
    print(f"{'':<42}{'softgate':>12}{'operators':>12}{'jax.nn':>12}   softgate  operators")
    print(f"{'elements':>9} {'':<32}{'':>36}{'/jax.nn':>11}{'/jax.nn':>11}{'limit':>7}")
    exceeded, record = False, {}
    for count in map(int, options.counts.split(",")):
        times = least_ns(calls(count), options.rounds, count)
        record[count] = {" by ".join(key): time for key, time in times.items()}
        for what in dict.fromkeys(what for what, _ in times):
            shown = "".join(
                f"{times[what, name] / 1000:>9.2f} µs" if (what, name) in times else " " * 12
                for name in FUNCTIONS
            )
            share = times[what, "softgate"] / times[what, "jax.nn"]
            fused = times.get((what, "operators"))
            operators = "" if fused is None else f"{fused / times[what, 'jax.nn']:.2f}"
            limit = limit_of(count, what)
            print(f"{count:>9,} {what:<32}{shown}{share:>11.2f}{operators:>11}{limit or '':>7}")
            exceeded |= limit is not None and share > limit
    if options.json:
        options.json.write_text(json.dumps(record), encoding="utf-8")
    sys.exit(options.gate and exceeded)


if __name__ == "__main__":
    main()
