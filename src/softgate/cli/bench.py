"""`softgate bench`: times of activations in each implementation, in a layer, and against error."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from softgate.records.files import PICTURES, TABLES, file_format, output_path, read_text

from .arguments import CALLED, PASSED
from .output import Format, ProgressLine, echo, emit, formats

if TYPE_CHECKING:
    from softgate.runtime.activation import Activation
    from softgate.studies.bench.baseline import BaselineComparison
    from softgate.studies.bench.layer_record import Layer
    from softgate.studies.bench.pareto_record import Pareto
    from softgate.studies.bench.record import Bench
    from softgate.studies.subjects import PassedFunction

    Function = Activation | PassedFunction

TOLERANCE = 0.1
SHAPE = ("d_model", "d_hidden", "tokens")
SHARED = ("dtype", "threads", "budget", "seed")
"""Options that --layer takes too; --dtype and --threads name one there."""
RENAMED = {
    "quantities": "quantity", "dtypes": "dtype", "sizes": "size", "budget_s": "budget",
}  # fmt: skip
"""Fields of a record's settings, and the arguments of `bench` that they came from."""


def _context_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options `--layer` with its sizes, `--pareto` and `--samples` to a command."""
    for option in (
        click.option(
            "--samples", type=click.IntRange(1), metavar="N",
            help="With --pareto: inputs of each certificate.  [default: as certify]",
        ),
        click.option(
            "--pareto", is_flag=True, help="Certify too: error against time, with a chart for -o."
        ),
        click.option("--tokens", type=int, help="With --layer: rows of its input.  [default: 512]"),
        click.option("--d-hidden", type=int, help="With --layer: hidden width.  [default: 3072]"),
        click.option(
            "--d-model", type=int, help="With --layer: width.  [default: 768, as BERT-base]"
        ),
        click.option(
            "--layer", is_flag=True,
            help="Time a feed-forward layer instead, and the activation's share in it.",
        ),
    ):  # fmt: skip
        command = option(command)
    return command


@click.command(epilog=CALLED)
@click.argument("functions", nargs=-1, type=PASSED, metavar="[FUNCTION]...")
@click.option("--quantity", metavar="NAMES", help="Some of value,backward.  [default: both]")
@click.option(
    "--dtype", metavar="NAMES",
    help="Some of float32,float64,float16,bfloat16.  [default: float32]",
)  # fmt: skip
@click.option(
    "--size", metavar="SIZES",
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
    help="What to time beside softgate: torch,jax,…; all; none.  [default: installed and quick]",
)  # fmt: skip
@click.option(
    "--full", is_flag=True,
    help="All peers, dtypes, inputs and buffers, L2 to DRAM, 1 and all threads: takes hours.",
)  # fmt: skip
@click.option(
    "--budget", type=float, metavar="SECONDS",
    help="How long it should take; a few turns of each may take longer.  "
         "[default: 45, or 0.8 per cell if that is more]",
)  # fmt: skip
@click.option("--seed", type=int, help="Seed of the inputs.  [default: 0]")
@click.option(
    "--baseline", type=click.Path(dir_okay=False), metavar="FILE",
    help="Compare with this older result (JSON), whose settings are the defaults then.",
)  # fmt: skip
@click.option(
    "--tolerance", type=float, default=TOLERANCE, show_default=True,
    help="With --baseline: the slow-down that is allowed.",
)  # fmt: skip
@_context_options
@formats(*TABLES, *PICTURES)
def command(
    functions: tuple[Function, ...],
    full: bool,
    baseline: str | None,
    tolerance: float,
    form: Format,
    output: tuple[Path, ...],
    **options: Any,
) -> int:
    """Time activations in every implementation that is installed here: ns per element.

    Without FUNCTION: the whole catalogue. Each framework runs in a process of its own, and all take
    turns. relu and a copy of the same bytes are in every table. Notes list what was left out.

    Code without a formula is called itself and has its own row, with the gradient that autograd,
    jax.vjp or a gradient tape computes. If its values are those of a function of the catalogue,
    that follows with its implementations.

    Exit code 1 if --baseline finds anything slower by more than --tolerance, twice.

    \b
    softgate bench
    softgate bench gelu gelu_tanh --size L2,DRAM --threads 1,all
    softgate bench gelu --peers torch --dtype float32,bfloat16 -o gelu.json
    softgate bench --baseline gelu.json --tolerance 0.1
    softgate bench my_module:my_activation --inputs randn,mix
    softgate bench --layer --d-model 768 --d-hidden 3072 --tokens 512
    softgate bench gelu --pareto -o gelu.svg
    """
    settings = {name: value for name, value in options.items() if value is not None}
    flags = {name: True for name, on in (("full", full), ("baseline", baseline)) if on}
    pareto = settings.pop("pareto")
    if settings.pop("layer"):
        if pareto:
            raise click.UsageError("--layer cannot be combined with --pareto.")
        for path in output:
            output_path(path, TABLES, "--layer -o")
        emit(_run_layer(functions, settings | flags), form, output)
        return 0
    _check(functions, settings, pareto)
    if pareto:
        emit(_run_pareto(functions, settings | flags), form, output)
        return 0
    if not tolerance >= 0:
        raise click.UsageError(f"--tolerance {tolerance:g}: expected a number from 0 on.")
    if baseline is not None:
        if full:
            raise click.UsageError(
                "--full cannot be combined with --baseline, which times what it has."
            )
        for path in output:
            output_path(path, TABLES, "--baseline -o")
        old = _read(baseline)
        comparison, new = _compared(old, functions, settings, tolerance)
        emit(comparison, form, output)
        _warn(new)
        for text in comparison.failures:
            echo(f"Failed: {text}", err=True)
        return 1 if comparison.failures else 0
    pictures = [path for path in output if file_format(path) in PICTURES]
    if pictures and "value" not in settings.get("quantity", "value").split(","):
        file = pictures[0]
        raise click.UsageError(f"-o {file}: the chart shows the value; add it to --quantity.")
    record = _timed(functions, (_full() if full else {}) | settings)
    emit(record, form, output)
    if form != "text":
        _warn(record)
    return 0


def _timed(functions: tuple[Function, ...], settings: dict[str, Any]) -> Bench:
    from softgate.studies.bench import bench

    with ProgressLine() as progress:
        return bench(functions or None, progress=progress, **settings)


def _full() -> dict[str, Any]:
    from softgate.studies.bench.inputs import DTYPES, INPUTS
    from softgate.studies.bench.plan import BUFFERS

    return {
        "peers": "all", "dtype": DTYPES, "inputs": INPUTS, "buffers": BUFFERS,
        "size": "L2,L3,DRAM", "threads": "1,all",
    }  # fmt: skip


def _read(file: str) -> Bench:
    from softgate.studies.bench.record import Bench

    try:
        return Bench.from_json(read_text(file))
    except OSError as error:
        raise click.UsageError(f"--baseline {file}: {error.strerror}.") from None
    except ValueError as error:
        raise click.UsageError(
            f"--baseline {file} is not a result of bench ({error}): expected the output of "
            "`softgate bench --json`."
        ) from None


def _again(name: str) -> Function:
    """Return a function of an older result by name; raise a usage error if it is not found."""
    from softgate.runtime.lookup import lookup
    from softgate.studies.subjects import resolved, user_code

    try:  # a record names no code of the user to import
        known = user_code.read(name).record is not None
        return resolved.as_passed(name) if known else lookup(name)
    except ValueError as error:
        raise click.UsageError(
            f"--baseline: the function {name!r} of the older result is not found ({error}): name "
            "functions of yours again, as module:function."
        ) from None


def _defined(functions: tuple[Function, ...]) -> tuple[Activation, ...]:
    """Return functions with a definition; raise a usage error for other code."""
    from softgate.studies.subjects import PassedFunction, resolved

    try:
        return tuple(
            resolved.function(f.name) if isinstance(f, PassedFunction) else f for f in functions
        )
    except ValueError as error:
        raise click.UsageError(str(error)) from None


def _warn(record: Bench) -> None:
    for text in record.warnings:
        echo(f"Warning: {text}", err=True)


def _confirmed(
    new: Bench, old: Bench, tolerance: float, functions: tuple[Function, ...], **settings: Any
) -> Bench:
    """Time slower or missing functions again, as the machine may have been busy; return both."""
    from softgate.runtime.registry import activations, label
    from softgate.studies.bench.baseline import compare, merged

    first = compare(new, old, tolerance)
    slower = dict.fromkeys(change.now.function for change in (*first.slower, *first.lost))
    if not slower:
        return new
    echo(f"Timing slower functions again: {', '.join(slower)}", err=True)
    again = tuple(function for function in functions if label(function) in slower)
    return merged(new, _timed(again or (activations()["relu"],), settings))


def _compared(
    old: Bench, functions: tuple[Function, ...], settings: dict[str, Any], tolerance: float
) -> tuple[BaselineComparison, Bench]:
    """Time the functions of an older result; return the ratios and the new result."""
    from softgate.runtime.machine import this_machine
    from softgate.studies.bench.baseline import check_machine, compare

    check_machine(this_machine(), old.machine)  # raises for another machine's times
    then = {RENAMED.get(name, name): value for name, value in vars(old.settings).items()}
    names = then.pop("functions")
    functions = functions or tuple(map(_again, names))
    settings = {"peers": then.pop("implementations"), **then, **settings}
    new = _confirmed(_timed(functions, settings), old, tolerance, functions, **settings)
    return compare(new, old, tolerance), new


def _run_layer(functions: tuple[Any, ...], options: dict[str, Any]) -> Layer:
    """Measure a layer; raise an error for options that do not apply to --layer."""
    from softgate.studies.bench.layer_measure import ACTIVATIONS, measure_layer

    _refuse("--layer", [name for name in options if name not in (*SHAPE, *SHARED)])
    settings = {name: value for name, value in options.items() if name not in ("dtype", "threads")}
    dtype, threads = _dtype_and_threads("--layer", options)
    with ProgressLine() as progress:
        return measure_layer(
            _defined(functions) or ACTIVATIONS,
            dtype=dtype,
            threads=threads,
            progress=progress,
            **settings,
        )


def _check(functions: tuple[Any, ...], options: dict[str, Any], pareto: bool) -> None:
    """Raise an error for options that only --layer or --pareto takes."""
    from softgate.studies.subjects import PassedFunction

    if alone := [name for name in SHAPE if name in options]:
        raise click.UsageError(f"{', '.join(map(_option, alone))}: give --layer too.")
    for function in functions:
        if not isinstance(function, PassedFunction) and function.nin == 2:
            raise click.UsageError(
                f"{function.name!r} takes two arrays: give --layer, which times it in a layer."
            )
    if "samples" in options and not pareto:
        raise click.UsageError("--samples: give --pareto too.")


def _run_pareto(functions: tuple[Any, ...], options: dict[str, Any]) -> Pareto:
    """Time and certify one function."""
    from softgate.runtime.registry import activations

    samples = options.pop("samples", None)
    _refuse("--pareto", [name for name in options if name in ("full", "baseline", "quantity")])
    if len(functions) > 1:
        raise click.UsageError("--pareto takes one function, such as gelu.")
    (activation,) = _defined(functions) or (activations()["gelu"],)
    dtype, threads = _dtype_and_threads("--pareto", options)
    from softgate.studies.bench.pareto_measure import measure_pareto

    times = _timed((activation,), {**options, "quantity": "value"})
    with ProgressLine() as progress:
        return measure_pareto(
            times, activation, dtype=dtype, threads=threads, samples=samples,
            seed=times.settings.seed, progress=progress,
        )  # fmt: skip


def _dtype_and_threads(option: str, options: dict[str, Any]) -> tuple[str, int]:
    """Return the dtype and the number of threads; raise an error if several are given."""
    from softgate.studies.bench.inputs import DTYPES
    from softgate.studies.bench.plan import choose, choose_threads

    dtypes = choose("--dtype", options.get("dtype", "float32"), DTYPES)
    threads = choose_threads(options.get("threads", 1))
    for name, values in (("--dtype", dtypes), ("--threads", threads)):
        if len(values) > 1:
            raise click.UsageError(f"{name} {','.join(map(str, values))}: with {option} give one.")
    return dtypes[0], threads[0]


def _refuse(option: str, names: list[str]) -> None:
    if names:
        raise click.UsageError(
            f"{option} cannot be combined with {', '.join(map(_option, names))}."
        )


def _option(name: str) -> str:
    return "--" + name.replace("_", "-")
