"""`softgate bench` in context: a feed-forward layer, and the picture of error against time."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from .arguments import ActivationType
from .output import picture_file

if TYPE_CHECKING:
    from softgate.studies.bench.layer import Layer
    from softgate.studies.bench.pareto import Pareto
    from softgate.studies.bench.record import Bench

SHAPE = ("d_model", "d_hidden", "tokens")
SHARED = ("dtypes", "threads", "budget_s", "seed")
"""What a layer takes too; --dtype and --threads name one there."""


class FunctionType(ActivationType):
    """An activation, or the name of a gated one, which only a layer has."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the function that `value` names."""
        from softgate.runtime.registry import gated

        if isinstance(value, str) and value in gated():
            return gated()[value]
        return super().convert(value, param, ctx)


FUNCTION = FunctionType()


def context_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command `--layer` with its sizes, `--pareto` and `--samples`."""
    for option in (
        click.option(
            "--samples", type=click.IntRange(1), metavar="N",
            help="With --pareto: inputs of each certificate.  [default: as certify]",
        ),
        click.option(
            "--pareto", type=click.Path(dir_okay=False), metavar="FILE",
            help="Certify too, and draw error against time: .svg, .png or .pdf.",
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


def run_layer(functions: tuple[Any, ...], asked: dict[str, Any], progress: Any) -> Layer:
    """Measure a layer; refuse what only `bench` itself takes."""
    from softgate.studies.bench.layer_study import ACTIVATIONS, measure_layer

    _refuse("--layer", [name for name in asked if name not in (*SHAPE, *SHARED)])
    given = {name: value for name, value in asked.items() if name not in ("dtypes", "threads")}
    dtype, threads = _one_dtype("--layer", asked), _one_number("--layer", asked)
    try:
        return measure_layer(
            functions or ACTIVATIONS, dtype=dtype, threads=threads, progress=progress, **given
        )
    finally:
        progress.end()


def check_bench(functions: tuple[Any, ...], asked: dict[str, Any]) -> None:
    """Refuse what only a layer or a picture takes."""
    from softgate.runtime.gated import Gated

    if alone := [name for name in SHAPE if name in asked]:
        raise click.UsageError(f"{', '.join(map(_option, alone))}: give --layer too.")
    for function in functions:
        if isinstance(function, Gated):
            raise click.UsageError(
                f"{function.name!r} takes two arrays: give --layer, which times it in a layer."
            )
    if "samples" in asked and "pareto" not in asked:
        raise click.UsageError("--samples: give --pareto FILE too.")


def run_pareto(
    functions: tuple[Any, ...], asked: dict[str, Any], timed: Callable[..., Bench], progress: Any
) -> Pareto:
    """Time and certify one function, and write the picture."""
    from softgate.runtime.registry import activations

    path, samples = picture_file("--pareto", asked.pop("pareto")), asked.pop("samples", None)
    _refuse("--pareto", [name for name in asked if name in ("full", "against", "quantities")])
    if len(functions) > 1:
        raise click.UsageError("--pareto is of one function: name one, such as gelu.")
    activation = functions[0] if functions else activations()["gelu"]
    dtype, threads = _one_dtype("--pareto", asked), _one_number("--pareto", asked)
    from softgate.studies.bench.pareto_study import measure_pareto
    from softgate.studies.bench.plots import pareto_chart

    times = timed((activation,), {**asked, "quantities": "value"})
    try:
        found = measure_pareto(
            times, activation, dtype=dtype, threads=threads, samples=samples,
            seed=times.settings.seed, progress=progress,
        )  # fmt: skip
    finally:
        progress.end()
    pareto_chart(found).save(path)
    click.echo(f"Wrote {path}", err=True)
    return found


def _one_dtype(option: str, asked: dict[str, Any]) -> str:
    from softgate.studies.bench.inputs import DTYPES
    from softgate.studies.bench.plan import choose

    return str(_one(option, "--dtype", choose("--dtype", asked.get("dtypes", "float32"), DTYPES)))


def _one_number(option: str, asked: dict[str, Any]) -> int:
    from softgate.studies.bench.plan import choose_threads

    return int(_one(option, "--threads", choose_threads(asked.get("threads", 1))))


def _one(option: str, name: str, found: tuple[Any, ...]) -> Any:
    if len(found) > 1:
        raise click.UsageError(f"{name} {','.join(map(str, found))}: with {option} give one.")
    return found[0]


def _refuse(option: str, names: list[str]) -> None:
    if names:
        raise click.UsageError(f"{option} does not go with {', '.join(map(_option, names))}.")


def _option(name: str) -> str:
    singular = {"quantities": "quantity", "sizes": "size", "dtypes": "dtype"}
    return "--" + singular.get(name, name).replace("_", "-")
