"""The gated activations against PyTorch's own operators, interleaved, on one thread, as ratios.

    python benchmarks/gated.py                 1M elements a half, all dtypes
    python benchmarks/gated.py --only swiglu,glu --dtype float32 --rounds 200
    python benchmarks/gated.py --tensors       torch tensors, with autograd, 1 and all threads

A ratio is our time over torch's, the least of many rounds each. "two" are calls on two arrays,
"split" on one whose last axis is cut in two; both sides write into memory they are given where
torch has such an operator ("out"), or allocate results as users' calls do ("new"). Of tensors,
"value" is a call without gradients, "train" one that records and its backward; torch's side is
what its users write, F.silu(gate) * other.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from time import perf_counter
from typing import Any

import ml_dtypes  # noqa: F401  (NumPy knows bfloat16 by it)
import numpy as np
import torch
import torch.nn.functional as F

import softgate as sg
from softgate.studies.bench.interleave import SystemLoad

A = torch.ops.aten
COUNT = 1 << 20
WIDTHS = (4096, 256, 16)
Call = Callable[[], Any]

VALUES: dict[str, Callable[..., Any]] = {
    "glu": torch.sigmoid,
    "reglu": F.relu,
    "geglu": F.gelu,
    "geglu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "swiglu": F.silu,
}
VALUES_OUT: dict[str, Callable[..., Any]] = {
    "glu": A.sigmoid.out,
    "reglu": lambda x, out: A.clamp_min.out(x, 0, out=out),
    "geglu": A.gelu.out,
    "geglu_tanh": lambda x, out: A.gelu.out(x, approximate="tanh", out=out),
    "swiglu": A.silu.out,
}
BACKWARDS: dict[str, Callable[..., Any]] = {
    "glu": lambda g, x, y, out: A.sigmoid_backward.grad_input(g, y, grad_input=out),
    "reglu": lambda g, x, y, out: A.threshold_backward.grad_input(g, x, 0, grad_input=out),
    "geglu": lambda g, x, y, out: A.gelu_backward.grad_input(g, x, grad_input=out),
    "geglu_tanh": lambda g, x, y, out: A.gelu_backward.grad_input(
        g, x, approximate="tanh", grad_input=out
    ),
    "swiglu": lambda g, x, y, out: A.silu_backward.grad_input(g, x, grad_input=out),
}
"""(grad, gate, what the forward pass kept, out)."""


def tensor(x: np.ndarray[Any, Any]) -> torch.Tensor:
    """The same memory as a tensor."""
    if x.dtype.name == "bfloat16":
        return torch.from_numpy(x.view(np.uint16)).view(torch.bfloat16)
    return torch.from_numpy(x)


def torch_value(name: str, gate: torch.Tensor, other: torch.Tensor, out: torch.Tensor) -> Call:
    def call() -> Any:
        VALUES_OUT[name](gate, out=out)
        return torch.mul(out, other, out=out)

    return call


def torch_backward(
    name: str, gate: torch.Tensor, other: torch.Tensor, grad: torch.Tensor, outs: Any
) -> Call:
    """As autograd has it: grad·other, the activation's backward, grad·value (which it kept)."""
    saved = VALUES[name](gate)

    def call() -> Any:
        torch.mul(grad, other, out=outs[0])
        BACKWARDS[name](outs[0], gate, saved, outs[0])
        return torch.mul(grad, saved, out=outs[1])

    return call


def two_arrays(name: str, dtype: str) -> dict[str, tuple[Call, Call]]:
    rng = np.random.default_rng(0)
    gated = sg.gated()[name].bind(gate="first")
    a, b, grad = (rng.standard_normal(COUNT).astype(dtype) for _ in range(3))
    outs = (np.empty_like(a), np.empty_like(a))
    ta, tb, tg, *to = map(tensor, (a, b, grad, *outs))
    act = VALUES[name]
    return {
        "value, two, out": (lambda: gated(a, b, out=outs[0]), torch_value(name, ta, tb, to[0])),
        "value, two, new": (lambda: gated(a, b), lambda: act(ta) * tb),
        "backward, two, out": (
            lambda: gated.backward(a, b, grad, out=outs),
            torch_backward(name, ta, tb, tg, to),
        ),
    }


def halves(name: str, dtype: str, width: int) -> dict[str, tuple[Call, Call]]:
    """One array, its rows cut in two halves of `width`; torch has one operator for glu alone."""
    rng = np.random.default_rng(0)
    gated = sg.gated()[name]
    x = rng.standard_normal((COUNT // width, 2 * width)).astype(dtype)
    grad = rng.standard_normal((COUNT // width, width)).astype(dtype)
    out, whole = np.empty_like(grad), np.empty_like(x)
    tx, tg, to, tw = map(tensor, (x, grad, out, whole))
    first, second = tx.chunk(2, -1)
    if name == "glu":
        value: Call = lambda: A.glu.out(tx, out=to)  # noqa: E731
        backward: Call = lambda: A.glu_backward.grad_input(tg, tx, -1, grad_input=tw)  # noqa: E731
    else:
        value = torch_value(name, first, second, to)
        backward = torch_backward(name, first, second, tg, tw.chunk(2, -1))
    return {
        f"value, split {width}, out": (lambda: gated(x, out=out), value),
        f"backward, split {width}, out": (lambda: gated.backward(x, grad, out=whole), backward),
    }


def tensors(name: str, dtype: str, count: int) -> dict[str, tuple[Call, Call]]:
    """Calls on tensors, ours and torch's own, of two operands and of one that is cut in two."""
    generator = torch.Generator().manual_seed(0)
    act, function = VALUES[name], sg.gated()[name]
    width = min(count, WIDTHS[0])
    kind = getattr(torch, dtype)
    a, b, grad = (
        torch.randn(count // width, width, generator=generator).to(kind) for _ in range(3)
    )

    def composed(first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
        return first * act(second) if name == "glu" else act(first) * second

    def cut(x: torch.Tensor) -> torch.Tensor:
        return F.glu(x) if name == "glu" else composed(*x.chunk(2, -1))

    def train(call: Callable[..., torch.Tensor], *operands: torch.Tensor) -> Call:
        leaves = [x.clone().requires_grad_() for x in operands]

        def step() -> None:
            call(*leaves).backward(grad)
            for leaf in leaves:
                leaf.grad = None

        return step

    both = torch.cat([a, b], -1)
    return {
        "value, two": (lambda: function(a, b), lambda: composed(a, b)),
        "train, two": (train(function, a, b), train(composed, a, b)),
        "value, split": (lambda: function(both), lambda: cut(both)),
        "train, split": (train(function, both), train(cut, both)),
    }


def measure(calls: dict[str, tuple[Call, Call]], rounds: int) -> dict[str, tuple[float, float]]:
    """Return the least time of ours and torch's, each implementation in turn in each round."""
    best = {name: [float("inf")] * 2 for name in calls}
    for pair in calls.values():
        for call in pair:
            call()
    for _ in range(rounds):
        for name, pair in calls.items():
            for i, call in enumerate(pair):
                for _ in range(2):  # the second finds its arrays in the cache
                    start = perf_counter()
                    call()
                    best[name][i] = min(best[name][i], perf_counter() - start)
    return {name: (ours, torchs) for name, (ours, torchs) in best.items()}


def on_tensors(options: argparse.Namespace) -> int:
    """Time tensors of 64 and 1M elements."""
    print(f"tensors, {options.rounds} rounds; torch {torch.__version__}")
    head = "| function | dtype | elements | threads | call | ours µs | torch µs | ratio |"
    print(f"\n{head}\n" + "| --- " * 8 + "|")
    load, most = SystemLoad(), torch.get_num_threads()
    for name in options.only.split(","):
        for dtype in options.dtype.split(","):
            for count, threads in ((64, 1), *((COUNT, n) for n in sorted({1, most}))):
                torch.set_num_threads(threads)
                rounds = options.rounds * (50 if count < COUNT else 1)
                for call, (ours, torchs) in measure(tensors(name, dtype, count), rounds).items():
                    times = f"{1e6 * ours:.1f} | {1e6 * torchs:.1f} | {ours / torchs:.2f}"
                    print(f"| {name} | {dtype} | {count} | {threads} | {call} | {times} |")
    print(f"\nother processes took {load.share():.0%} of the machine meanwhile")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", default=",".join(VALUES), help="names, comma-separated")
    parser.add_argument("--dtype", default="float32,float64,bfloat16,float16")
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--tensors", action="store_true", help="torch tensors, with autograd")
    options = parser.parse_args()
    if options.tensors:
        return on_tensors(options)
    torch.set_num_threads(1)
    sg.set_threads(1)
    print(
        f"{COUNT} elements a half, one thread, {options.rounds} rounds; torch {torch.__version__}"
    )
    print("\n| function | dtype | call | ours ns | torch ns | ratio |\n" + "| --- " * 6 + "|")
    load = SystemLoad()
    for name in options.only.split(","):
        for dtype in options.dtype.split(","):
            calls = two_arrays(name, dtype)
            for width in WIDTHS:
                calls |= halves(name, dtype, width)
            for call, (ours, torchs) in measure(calls, options.rounds).items():
                times = f"{1e9 * ours / COUNT:.2f} | {1e9 * torchs / COUNT:.2f}"
                print(f"| {name} | {dtype} | {call} | {times} | {ours / torchs:.2f} |", flush=True)
    print(f"\nother processes took {load.share():.0%} of the machine meanwhile")
    return 0


if __name__ == "__main__":
    sys.exit(main())
