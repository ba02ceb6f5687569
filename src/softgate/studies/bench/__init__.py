"""`bench`: the time of each activation on this machine, in each installed implementation."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import UTC, datetime
from math import inf
from time import perf_counter
from typing import Any

from softgate.runtime.machine import this_machine
from softgate.runtime.registry import label

from .. import Progress
from .inputs import DTYPES, INPUTS, default_size
from .plan import (
    BUFFERS,
    QUANTITIES,
    choose,
    choose_functions,
    choose_implementations,
    choose_threads,
    make_plan,
)
from .record import Bench, Settings, related, warnings
from .run import BenchRun

BUDGET_S = 45.0
"""Seconds that a benchmark takes by default."""

CELL_S = 0.8
"""Seconds for each function in each setting, if there are many."""


def bench(
    functions: str | Callable[..., Any] | Iterable[str | Callable[..., Any]] | None = None,
    *,
    peers: str | Iterable[str] | None = None,
    quantity: str | Iterable[str] = QUANTITIES,
    dtype: str | Iterable[str] = "float32",
    size: str | Iterable[str] | None = None,
    threads: str | int | Iterable[str | int] = 1,
    inputs: str | Iterable[str] = "randn",
    buffers: str | Iterable[str] = "reused",
    budget: float | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Bench:
    """Time functions in every implementation that is installed, and return the record.

    Each framework runs in a separate process; implementations of the same function are timed in
    turns, and the least time of many turns is reported. If a peer raises, its row has the error.
    relu and a copy of the same bytes are always timed too, as limits.

    Parameters
    ----------
    functions : str, callable or iterable of them, optional
        The functions to time, as in `table`; the whole catalogue by default. Code without a formula
        is called itself and has its own row; if its values are those of a function of the
        catalogue, that is timed too.
    peers : str or iterable of str, optional
        What to time beside softgate: "torch", "jax", …; "all" includes those that take long to
        compile, "none" is softgate alone. By default all that are installed and quick.
    quantity, dtype, inputs, buffers : str or iterable of str
        Some of value and backward; of float32, float64, float16 and bfloat16; of randn and mix
        (tails, subnormals, infinities, NaN); of reused and fresh output memory.
    size : str or iterable of str, optional
        L1, L2, L3, DRAM by this machine's caches, or numbers such as 4096, 64K and 1M. By default
        the last cache's size.
    threads : int, str or iterable
        Thread counts, or "all".
    budget : float, optional
        Total seconds, by default 45 or 0.8 per cell, whichever is more; each call gets a few turns
        even if that takes longer.
    seed : int
        Seed of the inputs.
    progress : callable, optional
        Called with what is being timed, the number of cells done, and their total.

    Returns
    -------
    Bench
        A record: `find` returns a row; printing it gives a table for every setting.

    Examples
    --------
    >>> import softgate as sg
    >>> found = sg.bench("gelu", peers="none", quantity="value", size="4096", budget=0.1)
    >>> found.find("gelu").ratio_to_copy > 0
    True
    """
    if budget is not None and not 0 < budget < inf:
        raise ValueError(f"budget = {budget!r}: expected a number of seconds above 0")
    start = perf_counter()
    machine = this_machine()
    chosen = choose_functions(functions)
    sized = default_size(machine) if size is None else size
    settings = Settings(
        functions=tuple(map(label, chosen)),
        implementations=choose_implementations(peers),
        quantities=choose("quantity", quantity, QUANTITIES),
        dtypes=choose("dtype", dtype, DTYPES),
        sizes=tuple(dict.fromkeys(sized.split(",") if isinstance(sized, str) else sized)),
        threads=choose_threads(threads),
        inputs=choose("inputs", inputs, INPUTS),
        buffers=choose("buffers", buffers, BUFFERS),
        budget_s=budget or BUDGET_S,
        seed=seed,
    )
    plan = make_plan(settings, chosen, machine)
    if budget is None:
        settings = replace(settings, budget_s=max(BUDGET_S, CELL_S * len(plan.cells)))
        plan = replace(plan, settings=settings)
    study = BenchRun(plan, progress)
    study.run()
    rows = related(study.rows)
    return Bench(
        machine=machine,
        settings=settings,
        when=datetime.now(UTC).isoformat(timespec="seconds"),
        seconds=perf_counter() - start,
        rows=rows,
        background_load=study.background_load,
        warnings=warnings(rows, study.background_load, max(settings.threads)),
        not_run=(*plan.not_run, *study.not_run),
        remarks=tuple(study.remarks),
    )
