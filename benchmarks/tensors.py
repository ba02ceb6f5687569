"""Time softgate on torch tensors against torch's own operators, as a model calls them.

    python benchmarks/tensors.py                 64 and 1M elements, 1 thread, all formats
    python benchmarks/tensors.py --full          all sizes up to 25M elements, 1 and all threads
    python benchmarks/tensors.py --compiled --only gelu --size 1M --threads 1,2
    python benchmarks/tensors.py --only gelu,silu --dtype float32 --size 16M,25M --threads 1,2

Both make their outputs anew and go through autograd: "value" is a call without gradients, "train" a
call that records and its backward, "backward" only that backward. Implementations take turns in
every round, and the least time of many rounds counts. `--markdown` prints shares of torch's time.
At 64 elements the limits are 6 µs for a value, and for training what F.gelu of float32 takes
itself, which has its turn in each round.
"""

from __future__ import annotations

import argparse
import gc
import json
from collections.abc import Callable
from itertools import product
from pathlib import Path
from time import perf_counter, perf_counter_ns
from typing import Any

import torch

import softgate as sg
from softgate.frameworks.torch.decompositions import native
from softgate.lower import inductor

DTYPES = {name: getattr(torch, name) for name in ("float32", "float64", "float16", "bfloat16")}
SIZES = {"64": 64, "64K": 1 << 16, "1M": 1 << 20, "16M": 1 << 24, "25M": 24 << 20}
CALLS = {"64": 50, "64K": 3, "1M": 1, "16M": 1, "25M": 1}
VALUE_LIMIT_US = 6.0
Call = Callable[[], Any]


def with_twins() -> dict[str, Callable[[torch.Tensor], torch.Tensor]]:
    """The activations that torch has an operator for, and that operator."""
    results = {name: native(a, a.parameters) for name, a in sg.activations().items()}
    return {
        name: implementation
        for name, implementation in results.items()
        if implementation is not None
    }


def calls(function: Any, x: torch.Tensor, grad: torch.Tensor) -> dict[str, Call]:
    """What is timed: a call without gradients, one with its backward, and the backward alone."""
    recorded = x.clone().requires_grad_()
    result = function(recorded)

    def value() -> None:
        function(x)

    def train() -> None:
        function(recorded).backward(grad)
        recorded.grad = None

    def backward() -> None:
        torch.autograd.grad(result, recorded, grad, retain_graph=True)

    return {"value": value, "train": train, "backward": backward}


def least_us(calls: dict[str, Call], repeat: int, budget_s: float) -> dict[str, float]:
    """The least time of one call in microseconds, in interleaved rounds."""
    best = dict.fromkeys(calls, float("inf"))
    for call in calls.values():
        call()
    start, rounds = perf_counter(), 0
    while rounds < 5 or perf_counter() - start < budget_s:
        for name, call in calls.items():
            before = perf_counter_ns()
            for _ in range(repeat):
                call()
            best[name] = min(best[name], (perf_counter_ns() - before) / repeat / 1000)
        rounds += 1
    return best


def measure(
    name: str, own: Any, dtype: torch.dtype, size: str, threads: int, budget_s: float
) -> list[dict[str, Any]]:
    """Time one activation in one format, size and number of threads."""
    torch.set_num_threads(threads)
    generator = torch.Generator().manual_seed(0)
    x, grad = (torch.randn(SIZES[size], generator=generator).to(dtype) for _ in range(2))
    ours, theirs = calls(sg.activations()[name], x, grad), calls(own, x, grad)
    gelu = calls(torch.nn.functional.gelu, *(t.float() for t in (x, grad)))["train"]
    rows = []
    gc.collect()
    gc.disable()
    try:
        for what, call in ours.items():
            timed = {"ours": call, "torch": theirs[what]}
            if size == "64" and what != "backward":
                timed["F.gelu"] = gelu
            times = least_us(timed, CALLS[size], budget_s)
            rows.append({
                "activation": name, "what": what, "dtype": str(dtype).removeprefix("torch."),
                "size": size, "threads": threads, "ours_us": times["ours"],
                "torch_us": times["torch"], "share": times["ours"] / times["torch"],
                "limit_us": _limit_us(what, times),
            })  # fmt: skip
    finally:
        gc.enable()
    return rows


def _limit_us(what: str, times: dict[str, float]) -> float | None:
    if "F.gelu" not in times:
        return None
    return VALUE_LIMIT_US if what == "value" else times["F.gelu"]


def measure_compiled(name: str, own: Any, size: str, threads: int, budget_s: float) -> None:
    """Time x + 1 -> f -> * 2 under torch.compile: fused, as an operator, and with torch's f."""
    torch.set_num_threads(threads)
    generator = torch.Generator().manual_seed(0)
    x, grad = (torch.randn(SIZES[size], generator=generator) for _ in range(2))
    activation = sg.activations()[name]
    functions = {"fused": activation, "operator": activation, "torch": own}
    timed: dict[str, dict[str, Call]] = {}
    fuses = inductor.unavailable
    torch.compiler.reset()
    for kind, function in functions.items():
        inductor.unavailable = (lambda: "for comparison") if kind == "operator" else fuses

        def chain(v: torch.Tensor, function: Any = function) -> torch.Tensor:
            return function(v + 1) * 2

        # torch.compile finds what it compiled by the code object, which must differ
        chain.__code__ = chain.__code__.replace(co_name=kind)
        timed[kind] = calls(torch.compile(chain, fullgraph=True), x, grad)
        for what in ("value", "train"):
            timed[kind][what]()
    inductor.unavailable = fuses
    for what in ("value", "train"):
        times = least_us({kind: timed[kind][what] for kind in functions}, CALLS[size], budget_s)
        shares = ", ".join(
            f"{times['fused'] / times[other]:.2f} of {other}" for other in ("operator", "torch")
        )
        head = f"x + 1 -> {name} -> * 2  {size:>4}{threads:>3}  {what:<9}"
        print(f"{head}{times['fused']:>11.2f} us: {shares}", flush=True)


def show(row: dict[str, Any]) -> None:
    limit = row["limit_us"]
    note = "" if limit is None else f"  limit {limit:.1f} us: {row['ours_us'] / limit:.2f} of it"
    print(
        f"{row['activation']:<14}{row['dtype']:<10}{row['size']:>4}{row['threads']:>3}  "
        f"{row['what']:<9}{row['ours_us']:>11.2f}{row['torch_us']:>11.2f} us {row['share']:>7.2f}"
        f"{note}",
        flush=True,
    )


def markdown(rows: list[dict[str, Any]], size: str, threads: int) -> None:
    """Print value / train / backward shares of torch's time at one size."""
    kinds = list(dict.fromkeys(row["dtype"] for row in rows))
    print(f"\n| time / torch's, {size} | {' | '.join(kinds)} |\n| --- |{' --- |' * len(kinds)}")
    for name in dict.fromkeys(row["activation"] for row in rows):
        cells = []
        for kind in kinds:
            mine = {
                row["what"]: row["share"]
                for row in rows
                if (row["activation"], row["dtype"]) == (name, kind)
                and (row["size"], row["threads"]) == (size, threads)
            }
            cells.append(" / ".join(f"{share:.2f}" for share in mine.values()))
        print(f"| {name} | {' | '.join(cells)} |")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    twins = with_twins()
    parser.add_argument("--full", action="store_true", help="all sizes, 1 and all threads")
    parser.add_argument("--only", help=f"some activations: {', '.join(twins)}")
    parser.add_argument("--dtype", help=f"some formats: {', '.join(DTYPES)}")
    parser.add_argument("--size", help=f"some sizes: {', '.join(SIZES)}")
    parser.add_argument("--threads", help="some numbers of threads: 1,2")
    parser.add_argument(
        "--compiled", action="store_true", help="a chain of three operations under torch.compile"
    )
    parser.add_argument("--budget", type=float, default=0.4, help="seconds a cell (0.4)")
    parser.add_argument("--json", type=Path, help="write what was measured there")
    parser.add_argument("--markdown", action="store_true", help="print tables of shares")
    options = parser.parse_args()
    names = options.only.split(",") if options.only else list(twins)
    kinds = options.dtype.split(",") if options.dtype else list(DTYPES)
    sizes = list(SIZES) if options.full else ["64", "1M"]
    if options.size:
        sizes = options.size.split(",")
    threads = sorted({1, torch.get_num_threads()}) if options.full else [1]
    if options.threads:
        threads = [int(count) for count in options.threads.split(",")]
    for argument, known in ((names, twins), (kinds, DTYPES), (sizes, SIZES)):
        if wrong := set(argument) - set(known):
            parser.error(f"unknown: {', '.join(sorted(wrong))}; known are {', '.join(known)}")
    print(f"torch {torch.__version__}, softgate {sg.__version__}; time of a call")
    if options.compiled:
        for size, count, name in product(sizes, threads, names):
            measure_compiled(name, twins[name], size, count, options.budget)
        return
    head = f"{'function':<14}{'dtype':<10}size thr  {'what':<9}{'softgate':>11}{'torch':>11}"
    print(f"{head}      ratio")
    rows: list[dict[str, Any]] = []
    for size, count, name, kind in product(sizes, threads, names, kinds):
        result = measure(name, twins[name], DTYPES[kind], size, count, options.budget)
        rows += result
        for row in result:
            show(row)
    if options.markdown:
        for size in sizes:
            for count in threads:
                markdown(rows, size, count)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
