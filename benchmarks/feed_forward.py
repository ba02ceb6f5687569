"""Memory and time of feed-forward blocks, softgate's beside torch's own and torch's checkpoint.

    python benchmarks/feed_forward.py                768/3072 plain, 768/2048 gated, 1 and 2 threads
    python benchmarks/feed_forward.py --quick         fewer rounds and token counts
    python benchmarks/feed_forward.py --only inference --tokens 4096 16384
    python benchmarks/feed_forward.py --only training --kinds relu silu
    python benchmarks/feed_forward.py --json FILE     write what was measured there

Memory is what autograd's hooks see saved (each piece of memory once, parameters apart), and how
much the resident memory of a fresh process grows over one forward pass of 16,384 tokens, its output
included. "peak" is by how much the resident memory of a pass without gradients exceeds its output
at any time. Time is that of forward and backward together, "inference" that of a pass without
gradients; implementations, each in its own process, take turns in every round, each round starts
with another one, and the median of the rounds' ratios counts. Exit status is 0
unless --gate is given and a limit is missed.
"""

from __future__ import annotations

import argparse
import gc
import json
import platform
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import torch
from rich.console import Console
from rich.table import Table
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from softgate.studies.bench.interleave import SystemLoad
from softgate.torch import FeedForward, GatedFeedForward, saved_bytes

D_MODEL, D_HIDDEN, D_GATED = 768, 3072, 2048
GROWN_TOKENS = 16_384
LIMITS = {
    "saved": 0.56, "growth": 0.56, "gradients": 1e-6, "time": 1.05, "peak": 0.1, "inference": 1.0,
}  # fmt: skip
"""The most that `preactivation` may be: shares of torch's figure, and a relative distance."""
SAVE_THE_OUTPUT = ("relu", "tanh")
"""Activations for which torch saves no more than softgate."""


def limit_of(kind: str, what: str) -> float:
    """Return the limit of a figure of one block."""
    return 1.02 if what in ("saved", "growth") and kind in SAVE_THE_OUTPUT else LIMITS[what]


OURS, THEIRS = "preactivation", "torch"
CONTESTANTS = (THEIRS, "all", OURS, "checkpoint")
KINDS = ("gelu", "gated")


class Llama(nn.Module):
    """A gated block in torch's own operators."""

    def __init__(self) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(D_MODEL, D_GATED, bias=False)
        self.up_proj = nn.Linear(D_MODEL, D_GATED, bias=False)
        self.down_proj = nn.Linear(D_GATED, D_MODEL, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.down_proj(nn.functional.silu(self.gate_proj(x)) * self.up_proj(x))


class Checkpointed(nn.Module):
    """torch's way to keep the input alone."""

    def __init__(self, block: nn.Module) -> None:
        super().__init__()
        self.block = block

    def forward(self, x: Tensor) -> Tensor:
        return checkpoint(self.block, x, use_reentrant=False)


ACTIVATIONS = {"gelu": nn.GELU, "relu": nn.ReLU, "silu": nn.SiLU, "tanh": nn.Tanh}


def blocks(kind: str) -> dict[str, nn.Module]:
    """Return the implementations, with the same weights; `kind` is "gated" or an activation."""
    torch.manual_seed(0)
    if kind == "gated":
        llama = Llama()
        made: dict[str, nn.Module] = {THEIRS: llama}
        for save in ("all", OURS):
            made[save] = GatedFeedForward(D_MODEL, D_GATED, save=save)
            made[save].load_state_dict(llama.state_dict())
        return made | {"checkpoint": Checkpointed(llama)}
    layers = nn.Sequential(
        nn.Linear(D_MODEL, D_HIDDEN), ACTIVATIONS[kind](), nn.Linear(D_HIDDEN, D_MODEL)
    )
    made = {THEIRS: layers}
    for save in ("all", OURS):
        made[save] = FeedForward.from_linears(layers[0], layers[2], kind, save=save)
    return made | {"checkpoint": Checkpointed(layers)}


@dataclass
class Row:
    """One figure of every implementation."""

    kind: str
    what: str
    values: dict[str, float]
    tokens: int
    threads: int
    unit: str
    limit: float | None = None
    background_load: float | None = None

    @property
    def measured(self) -> float:
        """What the limit is held against."""
        if self.what == "gradients":
            return self.values[OURS]
        return self.values[f"{OURS} / {THEIRS}"]

    @property
    def holds(self) -> bool:
        return self.limit is None or self.measured <= self.limit


def with_ratios(values: dict[str, float]) -> dict[str, float]:
    return values | {
        f"{name} / {THEIRS}": values[name] / values[THEIRS] for name in values if name != THEIRS
    }


def measure_saved(kind: str, tokens: int = 1024) -> Row:
    """Count what the hooks of saved tensors see."""
    x = torch.randn(tokens, D_MODEL, requires_grad=True)
    values = {name: float(saved_bytes(block, x)) for name, block in blocks(kind).items()}
    return Row(
        kind, "saved", with_ratios(values), tokens, torch.get_num_threads(), "B",
        limit_of(kind, "saved"),
    )  # fmt: skip


def resident_bytes(field: str = "VmRSS") -> int:
    """Return the resident memory of this process; "VmHWM" is its largest so far."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) * 1024
    raise SystemExit("/proc/self/status does not say how much memory is resident")


def grow(kind: str, name: str) -> int:
    """Return how much this process grows over a forward pass whose graph is kept."""
    block = blocks(kind)[name]
    block(torch.randn(4096, D_MODEL)).sum().backward()  # kernels and buffers that come once
    x = torch.randn(GROWN_TOKENS, D_MODEL, requires_grad=True)
    gc.collect()
    before = resident_bytes()
    y = block(x)
    grown = resident_bytes() - before
    assert y.requires_grad
    return grown


def peak(kind: str, name: str) -> int:
    """Return the largest memory of a pass without gradients, beyond its output."""
    block = blocks(kind)[name]
    with torch.no_grad():
        block(torch.randn(1024, D_MODEL))  # kernels and buffers that come once
        x = torch.randn(GROWN_TOKENS, D_MODEL)
        gc.collect()
        Path("/proc/self/clear_refs").write_text("5")  # the largest starts anew
        before = resident_bytes()
        y = block(x)
    return resident_bytes("VmHWM") - before - y.nbytes


def measure_memory(kind: str, what: str, names: Sequence[str]) -> Row:
    """Measure each implementation in a fresh process."""
    values = {}
    for name in names:
        command = [sys.executable, __file__, "--memory", what, kind, name]
        values[name] = float(subprocess.run(command, capture_output=True, check=True).stdout)
    threads = torch.get_num_threads()
    return Row(kind, what, with_ratios(values), GROWN_TOKENS, threads, "B", limit_of(kind, what))


def measure_gradients(kind: str, tokens: int = 1024) -> Row:
    """Return the largest relative distance of a gradient to torch's."""
    x = torch.randn(tokens, D_MODEL, requires_grad=True)
    grad = torch.randn(tokens, D_MODEL)
    results = {}
    for name, block in blocks(kind).items():
        results[name] = torch.autograd.grad(block(x), [x, *block.parameters()], grad)
    values = {}
    for name in CONTESTANTS:
        pairs = zip(results[name], results[THEIRS], strict=True)
        values[name] = max(float((a - b).norm() / b.norm()) for a, b in pairs)
    threads = torch.get_num_threads()
    return Row(kind, "gradients", values, tokens, threads, "", LIMITS["gradients"])


def step(block: nn.Module, x: Tensor, grad: Tensor) -> Callable[[], float]:
    """Return a function that times one forward and backward pass."""
    leaves = [x, *block.parameters()]

    def run() -> float:
        start = perf_counter()
        torch.autograd.grad(block(x), leaves, grad)
        return perf_counter() - start

    return run


def inference(block: nn.Module, x: Tensor) -> Callable[[], float]:
    """Return a function that times one pass without gradients."""

    def run() -> float:
        start = perf_counter()
        with torch.no_grad():
            block(x)
        return perf_counter() - start

    return run


def serve(kind: str, what: str, name: str, tokens: str, threads: str) -> None:
    """Run one implementation once for each line of stdin, and print the seconds."""
    torch.set_num_threads(int(threads))
    torch.manual_seed(0)
    x = torch.randn(int(tokens), D_MODEL, requires_grad=True)
    block, grad = blocks(kind)[name], torch.randn(int(tokens), D_MODEL)
    run = inference(block, x) if what == "inference" else step(block, x, grad)
    run()
    gc.collect()
    gc.disable()
    print("ready", flush=True)
    for _ in sys.stdin:
        print(run(), flush=True)


class Server:
    """A process with one implementation.

    In one process the memory that one implementation frees is what another one allocates next, and
    huge pages that softgate advised would serve torch too.
    """

    def __init__(self, *arguments: str) -> None:
        command = [sys.executable, __file__, "--serve", *arguments]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.answer()

    def answer(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline()

    def step(self) -> float:
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return float(self.answer())

    def stop(self) -> None:
        self.process.communicate()


def measure_time(kind: str, what: str, tokens: int, threads: int, rounds: int) -> Row:
    """Time implementations in turns, each in its own process."""
    names = [THEIRS, OURS] if what == "inference" else list(CONTESTANTS)
    servers = {name: Server(kind, what, name, str(tokens), str(threads)) for name in names}
    times: dict[str, list[float]] = {name: [] for name in names}
    load = SystemLoad()
    for index in range(rounds):
        first = index % len(names)
        for name in names[first:] + names[:first]:
            times[name].append(servers[name].step())
    for server in servers.values():
        server.stop()
    values = {name: min(result) for name, result in times.items()}
    for name in names[1:]:
        pairs = zip(times[name], times[THEIRS], strict=True)
        values[f"{name} / {THEIRS}"] = median(ours / theirs for ours, theirs in pairs)
    return Row(kind, what, values, tokens, threads, "s", LIMITS[what], load.share())


def shown(value: float, unit: str) -> str:
    if unit == "B":
        return f"{value / 1e6:.1f} MB"
    return f"{value * 1e3:.1f} ms" if unit == "s" else f"{value:.1e}"


def report(rows: Sequence[Row], console: Console) -> None:
    """Print a table, the share of torch's figure behind each figure."""
    table = Table(
        title=f"Feed-forward blocks, float32, {platform.machine()}, torch {torch.__version__}"
    )
    for name in ("block", "figure", "tokens", "threads", *CONTESTANTS, "limit"):
        table.add_column(name, justify="left" if name in ("block", "figure") else "right")
    for row in rows:
        cells = []
        for name in CONTESTANTS:
            ratio = row.values.get(f"{name} / {THEIRS}")
            share = "" if ratio is None else f" ({ratio:.3f})"
            cells.append(shown(row.values[name], row.unit) + share if name in row.values else "")
        limit = "" if row.limit is None else f"≤ {row.limit:g} {'✓' if row.holds else '✗'}"
        what = row.what
        if row.background_load is not None and row.background_load > 0.1:
            what += f" (others took {row.background_load:.0%})"
        table.add_row(row.kind, what, str(row.tokens), str(row.threads), *cells, limit)
    console.print(table)
    console.print(
        "In brackets: share of torch's. saved: what hooks see, parameters apart. growth: of"
    )
    console.print(
        "resident memory over a forward pass. time: the least, and the rounds' median ratio."
    )


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="fewer rounds and token counts")
    parser.add_argument("--tokens", type=int, nargs="+", help="token counts to time")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2], help="thread counts")
    parser.add_argument("--rounds", type=int, help="rounds at 1024 tokens (default: 40)")
    parser.add_argument("--json", metavar="FILE", type=Path, help="write what was measured there")
    parser.add_argument("--gate", action="store_true", help="exit with 1 when a limit is missed")
    parser.add_argument(
        "--kinds", nargs="+", choices=(*ACTIVATIONS, "gated"), default=KINDS, metavar="KIND",
        help=f"plain blocks with {', '.join(ACTIVATIONS)}, or gated (default: {' '.join(KINDS)})",
    )  # fmt: skip
    parser.add_argument("--only", choices=("training", "inference"), help="half of the rows")
    parser.add_argument("--memory", nargs=3, help=argparse.SUPPRESS)
    parser.add_argument("--serve", nargs=5, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    options.tokens = options.tokens or ([256] if options.quick else [256, 1024, 4096])
    options.rounds = options.rounds or (15 if options.quick else 40)
    return options


def measure(options: argparse.Namespace) -> list[Row]:
    rows: list[Row] = []
    whats = {"training": ("time",), "inference": ("inference",), None: ("time", "inference")}
    for kind in options.kinds:
        if options.only != "inference":
            rows += [measure_saved(kind), measure_memory(kind, "growth", CONTESTANTS)]
            rows.append(measure_gradients(kind))
        if options.only != "training":
            rows.append(measure_memory(kind, "peak", (THEIRS, OURS)))
        for threads in options.threads:
            for tokens in options.tokens:
                rounds = max(8, min(options.rounds * 4, options.rounds * 1024 // tokens))
                for what in whats[options.only]:
                    rows.append(measure_time(kind, what, tokens, threads, rounds))
    return rows


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse(arguments)
    if options.memory:
        what, kind, name = options.memory
        print({"growth": grow, "peak": peak}[what](kind, name))
        return 0
    if options.serve:
        serve(*options.serve)
        return 0
    rows = measure(options)
    report(rows, Console(width=max(140, Console().width)))
    if options.json:
        content: dict[str, Any] = {
            "torch": torch.__version__,
            "rows": [asdict(row) for row in rows],
        }
        options.json.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    return 1 if options.gate and not all(row.holds for row in rows) else 0


if __name__ == "__main__":
    raise SystemExit(main())
