"""`softgate bench`: what each activation costs on this machine, in each implementation."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .bench_context import FUNCTION, check_bench, context_options, run_layer, run_pareto
from .output import check_formats, emit, formats, show

if TYPE_CHECKING:
    from softgate.runtime.activation import Activation
    from softgate.studies.bench.record import Bench

EVERY_S = 5.0
"""Seconds between two lines of progress where stderr is no terminal."""

TOLERANCE = 0.1


class Progress:
    """Says on stderr which cell is being timed; a terminal has one line, removed at the end."""

    def __init__(self) -> None:
        self.terminal = sys.stderr.isatty()
        self.start, self.shown = time.monotonic(), float("-inf")

    def __call__(self, what: str, done: int, total: int) -> None:
        """Show a step."""
        now = time.monotonic()
        line = f"[{done}/{total}] {now - self.start:.0f} s  {what}"
        if self.terminal:
            click.echo(f"\r\033[K{line} ", nl=False, err=True)
        elif now - self.shown > EVERY_S:
            self.shown = now
            click.echo(line, err=True)

    def end(self) -> None:
        """Remove the line."""
        if self.terminal:
            click.echo("\r\033[K", nl=False, err=True)


@click.command()
@click.argument("functions", nargs=-1, type=FUNCTION, metavar="[NAMES]...")
@click.option(
    "--quantity", "quantities", metavar="NAMES", help="Some of value,backward.  [default: both]"
)
@click.option(
    "--dtype", "dtypes", metavar="NAMES",
    help="Some of float32,float64,float16,bfloat16.  [default: float32]",
)  # fmt: skip
@click.option(
    "--size", "sizes", metavar="SIZES",
    help="Some of L1,L2,L3,DRAM, or numbers such as 4096,64K,1M.  [default: the last cache]",
)  # fmt: skip
@click.option("--threads", metavar="NUMBERS", help="Numbers of threads, or all.  [default: 1]")
@click.option(
    "--inputs", metavar="NAMES",
    help="Some of randn,mix (tails, subnormals, inf, NaN).  [default: randn]",
)  # fmt: skip
@click.option(
    "--buffers", metavar="NAMES", help="Some of reused,fresh output memory.  [default: reused]"
)
@click.option(
    "--peers", metavar="NAMES",
    help="Whom to time beside softgate: torch,jax,…; all; none.  [default: installed and quick]",
)  # fmt: skip
@click.option(
    "--full", is_flag=True,
    help="All peers, dtypes, inputs and buffers, L2 to DRAM, 1 and all threads: takes hours.",
)  # fmt: skip
@click.option(
    "--budget", "budget_s", type=float, metavar="SECONDS",
    help="How long it should take; a few turns of everybody may take longer.  "
         "[default: 45, or 0.8 a cell if that is more]",
)  # fmt: skip
@click.option("--seed", type=int, help="Of the inputs.  [default: 0]")
@click.option(
    "--against", type=click.Path(dir_okay=False), metavar="FILE",
    help="Compare with this older result (JSON), which is also what is timed unless you say so.",
)  # fmt: skip
@click.option(
    "--tolerance", type=float, default=TOLERANCE, show_default=True,
    help="With --against: how much slower may be.",
)  # fmt: skip
@context_options
@formats
def command(
    functions: tuple[Activation, ...],
    full: bool,
    against: str | None,
    tolerance: float,
    as_json: bool,
    as_csv: bool,
    **asked: Any,
) -> int:
    """Time activations in every implementation that is installed here: ns per element.

    NAMES are activations (gelu, elu:alpha=0.5, gelu_new) or your own module:function; all of the
    catalogue by default. Each framework runs in a process of its own, and all take turns. relu and
    a copy of the same bytes are in every table. What is left out is said below it.

    Exit code 1 where --against finds anything slower by more than --tolerance, twice.

    \b
    softgate bench
    softgate bench gelu gelu_tanh --size L2,DRAM --threads 1,all
    softgate bench gelu --peers torch,torch.compile --dtype float32,bfloat16 --json > gelu.json
    softgate bench --against gelu.json --tolerance 0.1
    softgate bench my_module:my_activation --inputs randn,mix
    softgate bench --layer --d-model 768 --d-hidden 3072 --tokens 512
    softgate bench gelu --pareto gelu.svg
    """
    check_formats(as_json, as_csv)
    given = {name: value for name, value in asked.items() if value is not None}
    flags = {name: True for name, on in (("full", full), ("against", against)) if on}
    if given.pop("layer"):
        emit(run_layer(functions, given | flags, Progress()), as_json, as_csv)
        return 0
    check_bench(functions, given)
    if "pareto" in given:
        emit(run_pareto(functions, given | flags, _timed, Progress()), as_json, as_csv)
        return 0
    if not tolerance >= 0:
        raise click.UsageError(f"--tolerance {tolerance:g}: expected a number from 0 on.")
    if against is not None:
        if full:
            raise click.UsageError("--full does not go with --against, which times what it has.")
        return _against(_read(against), functions, given, tolerance, as_json, as_csv)
    found = _timed(functions, (_full() if full else {}) | given)
    emit(found, as_json, as_csv)
    if as_json or as_csv:
        _warn(found)
    return 0


def _timed(functions: tuple[Activation, ...], given: dict[str, Any]) -> Bench:
    from softgate.studies.bench import bench

    progress = Progress()
    try:
        return bench(functions or None, progress=progress, **given)
    finally:
        progress.end()


def _full() -> dict[str, Any]:
    from softgate.studies.bench.inputs import DTYPES, INPUTS
    from softgate.studies.bench.plan import BUFFERS

    return {
        "peers": "all", "dtypes": DTYPES, "inputs": INPUTS, "buffers": BUFFERS,
        "sizes": "L2,L3,DRAM", "threads": "1,all",
    }  # fmt: skip


def _read(file: str) -> Bench:
    from softgate.studies.bench.record import Bench

    try:
        return Bench.from_json(Path(file).read_text(encoding="utf-8"))
    except OSError as error:
        raise click.UsageError(f"--against {file}: {error.strerror}.") from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise click.UsageError(
            f"--against {file} is no result of bench ({error}): give what "
            "`softgate bench --json` printed."
        ) from None


def _check_machine(old: Bench) -> None:
    """Refuse another machine's times before anything is timed."""
    from softgate.runtime.machine import this_machine
    from softgate.studies.bench.baseline import check_machine

    check_machine(this_machine(), old.machine)


def _as_then(
    old: Bench, given: dict[str, Any], functions: tuple[Activation, ...]
) -> dict[str, Any]:
    """Return what is timed now: what was timed then, unless something else is asked for."""
    then = old.settings
    return {
        "functions": functions or tuple(_again(name) for name in then.functions),
        "peers": then.implementations,
        "quantities": then.quantities,
        "dtypes": then.dtypes,
        "sizes": then.sizes,
        "threads": then.threads,
        "inputs": then.inputs,
        "buffers": then.buffers,
        "budget_s": then.budget_s,
        "seed": then.seed,
        **given,
    }


def _again(name: str) -> Activation:
    """Return a function of an older result."""
    from .arguments import resolve

    try:
        return resolve(name)
    except ValueError as error:
        raise click.UsageError(
            f"--against: what was timed as {name!r} is not found by that name ({error}): name your "
            "own functions again, as module:function."
        ) from None


def _warn(found: Bench) -> None:
    for text in found.warnings:
        click.echo(f"Warning: {text}", err=True)


def _confirmed(
    found: Bench, old: Bench, tolerance: float, functions: tuple[Activation, ...], **given: Any
) -> Bench:
    """Time once more what is too slow or lost: a busy minute must not count as a change."""
    from softgate.runtime.registry import activations, label
    from softgate.studies.bench.baseline import compare, merged

    first = compare(found, old, tolerance)
    late = dict.fromkeys(one.now.function for one in (*first.slower, *first.lost))
    if not late:
        return found
    click.echo(f"Timing once more what is slower: {', '.join(late)}", err=True)
    again = tuple(one for one in functions if label(one) in late)
    return merged(found, _timed(again or (activations()["relu"],), given))


def _against(
    old: Bench,
    functions: tuple[Activation, ...],
    given: dict[str, Any],
    tolerance: float,
    as_json: bool,
    as_csv: bool,
) -> int:
    """Time what was timed then, print the ratios, and return the exit code."""
    from softgate.studies.bench.baseline import compare

    _check_machine(old)
    given = _as_then(old, given, functions)
    functions = given.pop("functions")
    found = _confirmed(_timed(functions, given), old, tolerance, functions, **given)
    comparison = compare(found, old, tolerance)
    if as_json or as_csv:
        emit(comparison, as_json, as_csv)
    else:
        show(comparison.grids())
    _warn(found)
    for text in comparison.failures:
        click.echo(f"Failed: {text}", err=True)
    return 1 if comparison.failures else 0
