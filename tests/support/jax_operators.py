"""Inputs of the accuracy tests of JAX operators, and the results there.

As a program, `python jax_operators.py FILE`, it writes the results of the whole catalogue: XLA
reads the instruction set that it is limited to when its client starts.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from checks import call

import softgate as sg
import softgate.jax
from softgate.formula.formats import FLOAT32, FLOAT64, Format
from softgate.runtime.activation import Activation
from softgate.studies.accuracy import samples

QUANTITIES = ("value", "slope")
SPECIALS = np.array([0.0, -0.0, np.inf, -np.inf, np.nan])


def inputs(activation: Activation, fmt: Format, count: int) -> Any:
    """As many inputs, stratified, that are normal numbers or 0."""
    x = samples.stratified(fmt, activation.entry.intervals, 2 * count, seed=7)
    smallest = np.finfo(x.dtype).smallest_normal
    x = x[np.isfinite(x) & ((np.abs(x) >= smallest) | (x == 0))]
    return np.random.default_rng(3).permutation(x)[:count]


def tiny(count: int) -> Any:
    """The smallest normal numbers: there the halves of a float are subnormal."""
    rng = np.random.default_rng(5)
    return np.copysign(np.exp2(rng.uniform(-125.9, -100, count)), rng.normal(size=count))


def inputs32(activation: Activation) -> Any:
    """The inputs in float32; the last ones are `SPECIALS`."""
    x = np.concatenate([inputs(activation, FLOAT32, 8000), tiny(1000), SPECIALS])
    return x.astype(np.float32)


def inputs64(activation: Activation) -> Any:
    """The inputs in float64; the last ones are `SPECIALS`."""
    return np.concatenate([inputs(activation, FLOAT64, 120), SPECIALS])


def in_one_program(activations: Iterable[Activation], arrays: Iterable[Any]) -> list[list[Any]]:
    """Return the value and the slope of each activation at its inputs, compiled together."""
    functions = list(activations)

    @jax.jit
    def program(arrays: list[Any]) -> list[list[Any]]:
        return [
            [call(activation, quantity, x) for quantity in QUANTITIES]
            for activation, x in zip(functions, arrays, strict=True)
        ]

    results = program([jnp.asarray(x) for x in arrays])
    return [[np.asarray(y) for y in of_one] for of_one in results]


def main(path: Path) -> None:
    """Write the results of all activations, under the names "gelu value float32"."""
    activations = list(sg.activations().values())
    written = {}
    for name, points in (("float32", inputs32), ("float64", inputs64)):
        with softgate.jax.prefer_operators(), jax.enable_x64(name == "float64"):
            results = in_one_program(activations, map(points, activations))
        for activation, of_one in zip(activations, results, strict=True):
            for quantity, y in zip(QUANTITIES, of_one, strict=True):
                written[f"{activation.name} {quantity} {name}"] = y
    np.savez(path, **written)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
