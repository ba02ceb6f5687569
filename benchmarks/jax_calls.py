"""Time gelu under jax.jit beside jax.nn.gelu(approximate=False): value, value and gradient.

    python benchmarks/jax_calls.py [--count 1048576] [--rounds 100] [--json FILE]

float32 from N(0, 1). In every round each has its turn of two calls, and rounds begin with another
each time; the least time counts. The limit is 1.1 for the value.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from time import perf_counter_ns
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import softgate as sg

Call = Callable[[], Any]


def exact(x: Any) -> Any:
    return jax.nn.gelu(x, approximate=False)


def pulled(function: Callable[[Any], Any]) -> Callable[[Any, Any], Any]:
    """Return value and gradient from one call."""

    def both(x: Any, grad: Any) -> Any:
        value, pull = jax.vjp(function, x)
        return value, pull(grad)[0]

    return jax.jit(both)


def calls(count: int) -> dict[str, Call]:
    rng = np.random.default_rng(0)
    x, grad = (jnp.asarray(rng.normal(size=count), jnp.float32) for _ in range(2))
    results: dict[str, Call] = {}
    for name, function in (("softgate", sg.gelu), ("jax.nn", exact)):
        value, both = jax.jit(function), pulled(function)
        results[f"{name} value"] = lambda value=value: value(x)
        results[f"{name} value and gradient"] = lambda both=both: both(x, grad)
    results["softgate value, not jitted by the caller"] = lambda: sg.gelu(x)
    return results


def least_ns(calls: dict[str, Call], rounds: int, count: int) -> dict[str, float]:
    """Return each one's least time an element."""
    times = dict.fromkeys(calls, float("inf"))
    order = list(calls.items())
    for _, call in order:
        jax.block_until_ready(call())
    for index in range(rounds):
        first = index % len(order)
        for name, call in order[first:] + order[:first]:
            for _ in range(2):
                start = perf_counter_ns()
                jax.block_until_ready(call())
                times[name] = min(times[name], (perf_counter_ns() - start) / count)
    return times


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=1 << 20)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--json", type=Path, help="write the times there")
    options = parser.parse_args()
    times = least_ns(calls(options.count), options.rounds, options.count)
    print(f"jax {jax.__version__} on {jax.default_backend()}, {options.count} float32")
    for name, taken in times.items():
        print(f"{name:<42}{taken:>8.3f} ns")
    for what in ("value", "value and gradient"):
        ratio = times[f"softgate {what}"] / times[f"jax.nn {what}"]
        print(f"{what:<42}{ratio:>8.2f} of jax.nn's time")
    if options.json:
        options.json.write_text(json.dumps(times), encoding="utf-8")


if __name__ == "__main__":
    main()
