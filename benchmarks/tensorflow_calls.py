"""Time gelu in TensorFlow on the CPU beside tf.nn.gelu, and steps of Keras' fit beside "gelu".

    python benchmarks/tensorflow_calls.py [--count 64,1M] [--rounds 30] [--json FILE]

float32 from N(0, 1), in tf.function and eagerly. In every round each call has its turn, and rounds
begin with another each time; the least time counts. Limits of the ratios: 0.6 for value, and value
and gradient, of 1M elements in tf.function; 1 for a step of fit.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import perf_counter_ns
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ["KERAS_BACKEND"] = "tensorflow"

import keras
import numpy as np
import tensorflow as tf

import softgate as sg
import softgate.keras

Call = Callable[[], Any]
FUNCTIONS = {"softgate": sg.gelu, "tf.nn": tf.nn.gelu}
BATCH, WIDTH, STEPS = 256, 512, 10
SUFFIXES = {"K": 1 << 10, "M": 1 << 20}


def pulled(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return value and gradient from one call."""

    def both(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = function(x)
        return y, tape.gradient(y, x)

    return both


def cases(count: int) -> dict[str, dict[str, Call]]:
    """Return the calls of each case, softgate's first."""
    x = tf.constant(np.random.default_rng(0).normal(size=count).astype(np.float32))
    forms: dict[str, Callable[[Any], Any]] = {
        "value": lambda f: tf.function(f, autograph=False),
        "value and gradient": lambda f: tf.function(pulled(f), autograph=False),
        "eager value": lambda f: f,
        "eager value and gradient": pulled,
    }
    return {
        case: {name: partial(form(function), x) for name, function in FUNCTIONS.items()}
        for case, form in forms.items()
    }


def fits() -> dict[str, Call]:
    """Return `STEPS` steps of training a small network with each activation."""
    rng = np.random.default_rng(0)
    x, y = (rng.normal(size=(BATCH * STEPS, n)).astype(np.float32) for n in (128, 1))
    calls: dict[str, Call] = {}
    for name, activation in (("softgate", softgate.keras.gelu), ('"gelu"', "gelu")):
        keras.utils.set_random_seed(0)
        hidden = [keras.layers.Dense(WIDTH, activation=activation) for _ in range(3)]
        model = keras.Sequential([keras.Input((128,)), *hidden, keras.layers.Dense(1)])
        model.compile("sgd", "mse")
        calls[name] = lambda m=model: m.fit(x, y, batch_size=BATCH, verbose=0, shuffle=False)
    return calls


def least_us(calls: dict[str, Call], rounds: int, repeats: int) -> dict[str, float]:
    """Return the least time of each call."""
    times, order = dict.fromkeys(calls, float("inf")), list(calls.items())
    for _, call in order:
        call()
    for index in range(rounds):
        first = index % len(order)
        for name, call in order[first:] + order[:first]:
            start = perf_counter_ns()
            for _ in range(repeats):
                call()
            times[name] = min(times[name], (perf_counter_ns() - start) / repeats / 1e3)
    return times


def number(text: str) -> int:
    scale = SUFFIXES.get(text[-1:], 1)
    return int(text.rstrip("KM")) * scale


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--count", default="64,1M", help="elements, separated by commas")
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    results: dict[str, dict[str, float]] = {}
    for text in options.count.split(","):
        repeats = max(1, min(20, (1 << 16) // number(text)))
        for case, calls in cases(number(text)).items():
            results[f"{text} {case}"] = least_us(calls, options.rounds, repeats)
    fit = least_us(fits(), max(2, options.rounds // 6), 1)
    results["step of fit"] = {name: time / STEPS for name, time in fit.items()}
    print(f"TensorFlow {tf.__version__}, float32: {sg.explain(tf.zeros(1 << 20))}")
    for case, times in results.items():
        (_, ours), (other, theirs) = times.items()
        print(f"{case:30} {ours:10.1f} us {other:>8} {theirs:10.1f} us  ratio {ours / theirs:.2f}")
    if options.json:
        options.json.write_text(json.dumps(results, indent=2), encoding="utf-8")


if __name__ == "__main__":
    main()
