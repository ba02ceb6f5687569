"""Measures activations inside a feed-forward layer, with interleaved runs of all layers.

All layers of one kind share their weights, so that only the activation differs between rows.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from math import inf
from time import perf_counter
from typing import TYPE_CHECKING, Any

from softgate.formula.formats import FORMATS
from softgate.frameworks.block_arguments import check_choice, check_widths
from softgate.runtime.activation import Activation
from softgate.runtime.machine import free_bytes, in_bytes, this_machine
from softgate.runtime.registry import label

from .. import Progress
from ..subjects import resolved
from .flops import Operations, kernel_operations, linear_flops
from .interleave import Statistics, SystemLoad, TurnTimes, interleave, statistics
from .layer_record import OURS, PHASES, REFERENCES, Layer, LayerRow
from .plan import choose_threads
from .record import DISTURBED, UNCERTAIN

if TYPE_CHECKING:
    from torch import Tensor

    from .layer_modules import FeedForwardBlock, LayerShape, LayerTimes, SharedLinears

ACTIVATIONS = ("relu", "gelu", "gelu_tanh", "silu", "reglu", "geglu", "swiglu")
"""What is measured by default."""
BUDGET_S = 30.0
HIDDEN_TENSORS, MODEL_TENSORS = 6, 5
"""Largest number of tensors of the hidden and of the outer width in a training step."""


@dataclass
class TimedLayer:
    """One layer in one phase, and its runs so far."""

    function: Activation
    implementation: str
    phase: str
    block: FeedForwardBlock
    linears: SharedLinears
    x: Tensor
    run: Callable[[], LayerTimes]
    runs: list[LayerTimes] = field(default_factory=list)

    def turn(self) -> TurnTimes:
        """Run the layer once and return its time."""
        run = self.run()
        self.runs.append(run)
        return TurnTimes((float(run.whole_ns),), run.whole_ns / 1e9)


def measure_layer(
    activations: Iterable[str | Callable[..., Any]] = ACTIVATIONS,
    *,
    d_model: int = 768,
    d_hidden: int = 3072,
    tokens: int = 512,
    dtype: str = "float32",
    threads: int = 1,
    budget: float = BUDGET_S,
    seed: int = 0,
    progress: Progress | None = None,
) -> Layer:
    """Measure the share of activations in a feed-forward layer, torch's and softgate's.

    Parameters
    ----------
    activations : iterable of str, Activation
        Plain ones are between two linear layers; gated ones in a block of as many parameters.
        relu (for gated ones reglu) is always measured too, for comparison.
    d_model, d_hidden, tokens : int
        Width of the layer, width of its hidden layer, rows of the input. By default BERT-base's.
    dtype : {"float32", "float64", "bfloat16", "float16"}
        Format of the input and of the weights.
    threads : int
        torch's threads.
    budget : float
        Seconds of timing; each layer runs at least four times.
    seed : int
        Seed of weights and inputs.
    progress : callable, optional
        Called with a label, the seconds spent, and the seconds to spend.

    Returns
    -------
    Layer
        A record: times, saved bytes, operations, and the largest gain of swaps.

    Examples
    --------
    >>> found = measure_layer(["gelu"], d_model=8, d_hidden=32, tokens=4, budget=0.01)
    >>> 0 < found.find("gelu", "torch", "forward").share < 1
    True
    """
    d_model, d_hidden, tokens = check_widths(d_model=d_model, d_hidden=d_hidden, tokens=tokens)
    check_choice("dtype", dtype, tuple(FORMATS))
    if not 0 < budget < inf:
        raise ValueError(f"budget = {budget!r}: expected a positive number of seconds")
    (threads,) = choose_threads(threads)
    functions = _functions(activations)
    _check_memory(d_model, d_hidden, tokens, dtype)
    from softgate.torch import saved_bytes  # first: its error names the extra that has torch

    from .layer_modules import LayerShape, torch_state

    shape = LayerShape(d_model, d_hidden, tokens, dtype)
    start = perf_counter()
    with torch_state(threads, seed):
        layers, absent = _prepare(functions, shape)
        load = SystemLoad()
        _time(layers, budget, progress)
        background_load = load.share()
        rows = tuple(
            _row(layer, shape, saved_bytes(layer.block, layer.x) if layer.phase == "step" else None)
            for layer in layers
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
        background_load=background_load,
        warnings=_warnings(rows, background_load),
        not_run=tuple(absent),
    )


def _functions(activations: Any) -> list[Activation]:
    """Return the functions to measure, each kind's reference first."""
    functions = [resolved.function(spelled) for spelled in resolved.several(activations)]
    if not functions:
        raise ValueError("activations is empty: expected at least one, such as gelu")
    by_name: dict[str, Activation] = {}
    for kind, operands in (("plain", 1), ("gated", 2)):
        chosen = [function for function in functions if function.nin == operands]
        if chosen:
            reference = resolved.function(REFERENCES[kind])
            by_name |= {_label(function): function for function in (reference, *chosen)}
    return list(by_name.values())


def _label(function: Activation) -> str:
    return function.name if function.nin == 2 else label(function)


def _check_memory(d_model: int, d_hidden: int, tokens: int, dtype: str) -> None:
    """Raise ValueError if the layers do not fit into memory."""
    weights = 2 * d_model * d_hidden
    rows = tokens * (HIDDEN_TENSORS * d_hidden + MODEL_TENSORS * d_model)
    needed = (3 * weights + rows) * FORMATS[dtype].bits // 8  # plain, gated, gradients of one
    free = free_bytes()
    if free is not None and needed > free:
        raise ValueError(
            f"d_model = {d_model}, d_hidden = {d_hidden}, tokens = {tokens} in {dtype}: a training "
            f"step needs about {in_bytes(needed)}, and {in_bytes(free)} are free; use fewer "
            "tokens or a narrower layer"
        )


def _prepare(functions: list[Activation], shape: LayerShape) -> tuple[list[TimedLayer], list[str]]:
    """Return the layers, each run once to compile, and the activations that torch lacks."""
    from .layer_modules import IMPLEMENTATIONS, SharedLinears, inputs, make, runner

    layers, absent = [], []
    x, grad = inputs(shape)
    of_kind: dict[bool, SharedLinears] = {}
    for function in functions:
        gated = function.nin == 2
        linears = of_kind.setdefault(gated, SharedLinears(shape, gated))
        for implementation in IMPLEMENTATIONS:
            block = make(function, linears, implementation)
            if block is None:
                absent.append(f"{_label(function)} in torch: torch has no operator for it")
                continue
            for phase in PHASES:
                run = runner(block, phase, x, grad)
                run()
                layers.append(TimedLayer(function, implementation, phase, block, linears, x, run))
    return layers, absent


def _time(layers: list[TimedLayer], budget_s: float, progress: Progress | None) -> None:
    """Run the layers in turns; `progress` is called between two runs."""
    total, start = max(1, round(budget_s)), perf_counter()

    def clock() -> float:
        now = perf_counter()
        if progress is not None:
            progress("feed-forward layers", min(int(now - start), total), total)
        return now

    gc.collect()
    gc.disable()
    try:
        interleave(layers, budget_s, clock)
    finally:
        gc.enable()


def _statistics(times_ns: Iterable[int]) -> Statistics:
    times = statistics([TurnTimes((float(time),), 0.0) for time in times_ns])
    assert times is not None  # every layer has run
    return times


def _row(layer: TimedLayer, shape: LayerShape, saved: int | None) -> LayerRow:
    whole = _statistics(run.whole_ns for run in layer.runs)
    inside = _statistics(run.activation_ns for run in layer.runs)
    return LayerRow(
        activation=_label(layer.function),
        kind="gated" if layer.function.nin == 2 else "plain",
        implementation=layer.implementation,
        phase=layer.phase,
        d_hidden=layer.linears.d_hidden,
        whole_ns=whole.least_ns,
        whole_median_ns=whole.median_ns,
        activation_ns=inside.least_ns,
        activation_median_ns=inside.median_ns,
        relative_uncertainty=max(whole.relative_uncertainty, inside.relative_uncertainty),
        runs=len(layer.runs),
        saved_bytes=saved,
        matmul_flops=linear_flops(shape.tokens, layer.linears.shapes())
        * (1 if layer.phase == "forward" else 3),  # one product forward and two backward
        activation_flops=_activation_flops(layer, shape),
    )


def _activation_flops(layer: TimedLayer, shape: LayerShape) -> int | None:
    """Return the operations of softgate's kernels in this phase; None for torch's."""
    if layer.implementation != OURS:
        return None
    passes = ["value"]
    if layer.phase == "step":
        passes += ["backward"] if layer.block.hidden.keeps_one() else ["value", "backward"]
    total = Operations(0, 0)
    for quantity in passes:
        operations = kernel_operations(
            layer.function.entry, quantity, shape.dtype, layer.function.parameters
        )
        if operations is None:
            return None
        total += operations
    return total.flops * shape.tokens * layer.linears.d_hidden


def _warnings(rows: tuple[LayerRow, ...], background_load: float | None) -> tuple[str, ...]:
    texts = []
    if background_load is not None and background_load > DISTURBED:
        texts.append(
            f"Other processes used {100 * background_load:.0f} % of the cores during the "
            "measurement."
        )
    uncertain = [row for row in rows if row.relative_uncertainty > UNCERTAIN]
    if uncertain:
        worst = max(uncertain, key=lambda row: row.relative_uncertainty)
        texts.append(
            f"{len(uncertain)} of {len(rows)} times are uncertain by more than {UNCERTAIN:.0%} "
            f"(worst: {worst.activation} in {worst.implementation}, {worst.phase}, "
            f"{worst.relative_uncertainty:.0%}). Use a larger budget, or run again when the "
            "machine is quiet."
        )
    return tuple(texts)
