"""Measure what activations cost inside a feed-forward layer: rounds in which every layer runs once.

All layers of one kind share their weights, so what differs between two rows is the activation.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from math import inf
from time import perf_counter
from typing import TYPE_CHECKING

from softgate.formula.formats import FORMATS
from softgate.frameworks.block_arguments import check_choice, check_widths, function_of_block
from softgate.runtime.activation import Activation
from softgate.runtime.gated import Gated
from softgate.runtime.machine import free_bytes, in_bytes, this_machine
from softgate.runtime.registry import label

from .flops import Operations, kernel_operations, linear_flops
from .interleave import Score, Statistics, Turn, play, statistics
from .layer import OURS, PHASES, REFERENCES, Layer, LayerRow
from .plan import choose_threads
from .ratios import DISTURBED, DOUBTFUL
from .system_load import Bystanders

if TYPE_CHECKING:
    from torch import Tensor

    from .layer_blocks import Block, Run, Shape, Widths

ACTIVATIONS = ("relu", "gelu", "gelu_tanh", "silu", "reglu", "geglu", "swiglu")
"""What is measured when nobody says."""
BUDGET_S = 30.0
HIDDEN_TENSORS, MODEL_TENSORS = 6, 5
"""As many tensors of a layer's widths are there at once, at most, in a training step."""

Progress = Callable[[str, int, int], None]
"""Called with what is being done, how much of it is done, and how much there is."""


@dataclass
class Contestant:
    """One layer in one phase, and its runs so far."""

    function: Activation | Gated
    implementation: str
    phase: str
    block: Block
    widths: Widths
    x: Tensor
    run: Callable[[], Run]
    runs: list[Run] = field(default_factory=list)

    def turn(self) -> Turn:
        """Run once; how long the activation took is kept."""
        found = self.run()
        self.runs.append(found)
        return Turn((float(found.whole_ns),), found.whole_ns / 1e9)


def measure_layer(  # noqa: PLR0913 - settings of one study, by keyword
    activations: Iterable[str | Activation | Gated] = ACTIVATIONS,
    *,
    d_model: int = 768,
    d_hidden: int = 3072,
    tokens: int = 512,
    dtype: str = "float32",
    threads: int = 1,
    budget_s: float = BUDGET_S,
    seed: int = 0,
    progress: Progress | None = None,
) -> Layer:
    """Measure the share of activations in a feed-forward layer, torch's own and softgate's.

    Parameters
    ----------
    activations : iterable of str, Activation or Gated
        Plain ones stand between two linear layers; gated ones in a block of as many parameters.
        relu (for gated ones reglu) is measured in any case, to hold the others against.
    d_model, d_hidden, tokens : int
        Width of the layer, width of its hidden layer, rows of the input. By default BERT-base's.
    dtype : {"float32", "float64", "bfloat16", "float16"}
        Of the input and of the weights.
    threads : int
        torch's.
    budget_s : float
        Seconds to spend on rounds; at least four are run.
    seed : int
        Of weights and inputs.
    progress : callable, optional
        Called with what is being done, the seconds spent and the seconds to spend.

    Returns
    -------
    Layer
        A record: times, saved bytes, operations, and what swaps can gain at most.

    Examples
    --------
    >>> found = measure_layer(["gelu"], d_model=8, d_hidden=32, tokens=4, budget_s=0.01)
    >>> 0 < found.find("gelu", "torch", "forward").share < 1
    True
    """
    d_model, d_hidden, tokens = check_widths(d_model=d_model, d_hidden=d_hidden, tokens=tokens)
    check_choice("dtype", dtype, tuple(FORMATS))
    if not 0 < budget_s < inf:
        raise ValueError(f"budget_s = {budget_s!r}: expected a positive number of seconds")
    (threads,) = choose_threads(threads)
    functions = _functions(activations)
    _check_memory(d_model, d_hidden, tokens, dtype)
    from softgate.torch import saved_bytes  # first: it says what to install where there is no torch

    from .layer_blocks import Shape, settled

    shape = Shape(d_model, d_hidden, tokens, dtype)
    start = perf_counter()
    with settled(threads, seed):
        contestants, absent = _enter(functions, shape)
        bystanders = Bystanders()
        _rounds(contestants, budget_s, progress)
        others_share = bystanders.share()
        rows = tuple(
            _row(one, shape, saved_bytes(one.block, one.x) if one.phase == "step" else None)
            for one in contestants
        )
    return Layer(
        machine=this_machine(),
        d_model=d_model,
        d_hidden=d_hidden,
        tokens=tokens,
        dtype=dtype,
        threads=threads,
        seed=seed,
        when=datetime.now(UTC).isoformat(timespec="seconds"),
        seconds=perf_counter() - start,
        rows=rows,
        others_share=others_share,
        warnings=_warnings(rows, others_share),
        not_run=tuple(absent),
    )


def _functions(activations: Iterable[str | Activation | Gated]) -> list[Activation | Gated]:
    """Return what is measured, each kind's reference first."""
    given = [activations] if isinstance(activations, str | Activation | Gated) else activations
    found = [function_of_block(one) if isinstance(one, str) else one for one in given]
    if not found:
        raise ValueError("no activation is given: expected at least one, such as gelu")
    by_name: dict[str, Activation | Gated] = {}
    for kind in (Activation, Gated):
        chosen = [one for one in found if isinstance(one, kind)]
        if chosen:
            reference = function_of_block(REFERENCES["gated" if kind is Gated else "plain"])
            by_name |= {_label(one): one for one in (reference, *chosen)}
    return list(by_name.values())


def _label(function: Activation | Gated) -> str:
    return function.name if isinstance(function, Gated) else label(function)


def _check_memory(d_model: int, d_hidden: int, tokens: int, dtype: str) -> None:
    """Refuse what would not fit, before any of it is allocated."""
    weights = 2 * d_model * d_hidden
    rows = tokens * (HIDDEN_TENSORS * d_hidden + MODEL_TENSORS * d_model)
    needed = (3 * weights + rows) * FORMATS[dtype].bits // 8  # plain, gated, one's gradients
    free = free_bytes()
    if free is not None and needed > free:
        raise ValueError(
            f"d_model = {d_model}, d_hidden = {d_hidden}, tokens = {tokens} in {dtype}: a training "
            f"step needs about {in_bytes(needed)}, and {in_bytes(free)} are free; take fewer "
            "tokens or a narrower layer"
        )


def _enter(functions: list[Activation | Gated], shape: Shape) -> tuple[list[Contestant], list[str]]:
    """Return the layers, each run once to compile, and what torch has no operator for."""
    from .layer_blocks import IMPLEMENTATIONS, Widths, inputs, make, runner

    entered, absent = [], []
    x, grad = inputs(shape)
    of_kind: dict[bool, Widths] = {}
    for function in functions:
        gated = isinstance(function, Gated)
        widths = of_kind.setdefault(gated, Widths(shape, gated))
        for implementation in IMPLEMENTATIONS:
            block = make(function, widths, implementation)
            if block is None:
                absent.append(f"{_label(function)} in torch: torch has no operator for it")
                continue
            for phase in PHASES:
                run = runner(block, phase, x, grad)
                run()
                entered.append(Contestant(function, implementation, phase, block, widths, x, run))
    return entered, absent


def _rounds(contestants: list[Contestant], budget_s: float, progress: Progress | None) -> None:
    """Let the layers take turns; what is shown of it happens between two runs."""
    total, start = max(1, round(budget_s)), perf_counter()

    def clock() -> float:
        now = perf_counter()
        if progress is not None:
            progress("feed-forward layers", min(int(now - start), total), total)
        return now

    gc.collect()
    gc.disable()
    try:
        play(contestants, budget_s, clock)
    finally:
        gc.enable()


def _statistics(one: Contestant, times_ns: Iterable[int]) -> Statistics:
    turns = [(number, Turn((float(time),), 0.0)) for number, time in enumerate(times_ns)]
    found = statistics(Score(one, turns))
    assert found is not None  # everybody has had a turn
    return found


def _row(one: Contestant, shape: Shape, saved: int | None) -> LayerRow:
    whole = _statistics(one, (run.whole_ns for run in one.runs))
    inside = _statistics(one, (run.activation_ns for run in one.runs))
    return LayerRow(
        activation=_label(one.function),
        kind="gated" if isinstance(one.function, Gated) else "plain",
        implementation=one.implementation,
        phase=one.phase,
        d_hidden=one.widths.d_hidden,
        whole_ns=whole.least_ns,
        whole_median_ns=whole.median_ns,
        activation_ns=inside.least_ns,
        activation_median_ns=inside.median_ns,
        doubt=max(whole.doubt, inside.doubt),
        runs=len(one.runs),
        saved_bytes=saved,
        matmul_flops=linear_flops(shape.tokens, one.widths.shapes())
        * (1 if one.phase == "forward" else 3),  # of a product there and two back
        activation_flops=_activation_flops(one, shape),
    )


def _activation_flops(one: Contestant, shape: Shape) -> int | None:
    """Return what our kernels do in this phase; what torch's do is not known."""
    if one.implementation != OURS:
        return None
    passes = ["value"]
    if one.phase == "step":
        passes += ["from_value"] if one.block.hidden.keeps_one() else ["value", "backward"]
    total = Operations(0, 0)
    for quantity in passes:
        found = kernel_operations(
            one.function.entry, quantity, shape.dtype, one.function.parameters
        )
        if found is None:
            return None
        total += found
    return total.flops * shape.tokens * one.widths.d_hidden


def _warnings(rows: tuple[LayerRow, ...], others_share: float | None) -> tuple[str, ...]:
    found = []
    if others_share is not None and others_share > DISTURBED:
        found.append(f"Other processes took {100 * others_share:.0f} % of the cores meanwhile.")
    doubtful = [row for row in rows if row.doubt > DOUBTFUL]
    if doubtful:
        worst = max(doubtful, key=lambda row: row.doubt)
        found.append(
            f"The machine is too noisy for {len(doubtful)} of {len(rows)} figures: from half of "
            f"its runs, {worst.activation} in {worst.implementation} ({worst.phase}) would take "
            f"{100 * worst.doubt:.0f} % more. Give it more time, or run again when it is quiet."
        )
    return tuple(found)
