"""Measure the facts at the top of the README, and run the commands whose output it shows.

    python tools/docs/readme_facts.py [--check]

Needs PyTorch, JAX and TensorFlow; takes half a minute. `--check` measures and writes nothing.
"""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys

import jax
import numpy as np
import readme_blocks
import tensorflow as tf
import torch

import softgate as sg
from softgate.runtime.machine import this_machine

COMMANDS = (
    "softgate identify jax.nn.gelu",
    "softgate names gelu_new",
    "softgate table gelu gelu_tanh relu --at=-6,-1,0,1",
    "softgate certify torch.nn.functional.gelu --dtype float32 --quantity value --samples 20000",
)
LINES = {"certify": 6}
"""Lines that are shown of the commands that print more."""
PATTERNS = 1 << 20


def facts() -> list[str]:
    """Return what was measured here, one fact for each reason to use softgate."""
    x = np.linspace(-6, 6, 120_001, dtype=np.float32)
    by_torch = torch.nn.functional.gelu(torch.from_numpy(x)).numpy()
    by_jax = np.asarray(jax.nn.gelu(x))
    apart = np.abs(by_torch.astype(np.float64) - by_jax)
    negative = -np.arange(1, 15, 1 / 64, dtype=np.float32)
    zeros = negative[torch.nn.functional.gelu(torch.from_numpy(negative)).numpy() == 0]
    first, lost = float(zeros[0]), float(sg.gelu(zeros[0]))
    patterns = np.random.default_rng(0).integers(0, 1 << 32, PATTERNS, np.uint32).view(np.float32)
    ours = sg.gelu(patterns)
    within = {
        "PyTorch": sg.gelu(torch.from_numpy(patterns)).numpy(),
        "jax.jit": np.asarray(jax.jit(sg.gelu)(patterns)),
        "tf.function": tf.function(sg.gelu)(tf.constant(patterns)).numpy(),
    }
    differing = {
        name: int(np.sum((ours.view(np.uint32) != y.view(np.uint32)) & ~np.isnan(ours)))
        for name, y in within.items()
    }
    if any(differing.values()):
        raise SystemExit(f"bits differ from NumPy's: {differing}")
    exact = np.asarray(jax.nn.gelu(patterns, approximate=False))
    of_torch = torch.nn.functional.gelu(torch.from_numpy(patterns)).numpy()
    number = np.isfinite(of_torch) & np.isfinite(exact)
    others = np.mean(of_torch.view(np.uint32)[number] != exact.view(np.uint32)[number])
    return [
        f"**One name, several functions.** `gelu` is x·Φ(x) in PyTorch and its tanh approximation "
        f"in JAX: their results differ by up to {apart.max():.1e}.",
        f"**Lost tails.** PyTorch's float32 GELU returns 0 for x ≤ {first:g}, where the exact "
        f"result is {lost:.1e}, {ends_of_torch()} softgate keeps full relative accuracy down to "
        "the last subnormal number.",
        f"**The same bits everywhere.** softgate's GELU in NumPy, {', '.join(within)}: 0 of "
        f"{PATTERNS:,} random float32 inputs differ, and tests compare the results with published "
        f"digests. PyTorch's and JAX's own exact GELU differ at {100 * others:.0f} % of these "
        "inputs.",
    ]


def ends_of_torch() -> str:
    """Return the end of a sentence: what PyTorch's float32 GELU returns for the largest inputs."""
    ends = np.float32([-np.inf, np.inf])
    limits = [float(torch.nn.functional.gelu(torch.full((64,), end))[0]) for end in ends]
    wrong = [
        f"{limit:g} at {end:+g}"
        for limit, end in zip(limits, ends, strict=True)
        if limit != float(sg.gelu(end))
    ]
    large = np.linspace(1e38, 3.4e38, 241, dtype=np.float32)
    infinite = large[np.isinf(torch.nn.functional.gelu(torch.from_numpy(large)).numpy())]
    if infinite.size:
        return f"{' and '.join(wrong)}, and inf for x ≥ {infinite[0]:.2g} (AVX-512)."
    return (
        f"and {' and '.join(wrong)}. On CPUs with AVX-512 it runs another kernel, which overflows "
        "and returns NaN at +inf ([details](docs/internals.md#pytorch))."
    )


def output(command: str) -> str:
    """Return a command and what it prints."""
    done = subprocess.run(
        [sys.executable, "-m", *shlex.split(command)], capture_output=True, text=True,
        check=True, env={**os.environ, "COLUMNS": "100"},
    )  # fmt: skip
    lines = done.stdout.rstrip().splitlines()
    most = LINES.get(command.split()[1])
    if most is not None and len(lines) > most:
        lines = [*lines[:most], "…"]
    return "\n".join([f"$ {command}", *(line.rstrip() for line in lines)])


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="measure, and write nothing")
    check = parser.parse_args().check
    measured = "\n".join(f"- {fact}" for fact in facts())
    machine = f"Measured on {this_machine().processor} by `python tools/docs/readme_facts.py`."
    commands = "```console\n" + "\n\n".join(map(output, COMMANDS)) + "\n```"
    if check:
        print(measured, machine, commands, sep="\n\n")
        return
    readme_blocks.replace("facts", f"{measured}\n\n{machine}")
    readme_blocks.replace("commands", commands)
    print(f"Wrote {readme_blocks.README}")


if __name__ == "__main__":
    main()
