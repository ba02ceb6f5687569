"""`softgate names`: what each name means in each framework, and its default form there."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

from softgate.records.files import TABLES

from .arguments import FUNCTIONS
from .output import Format, emit, formats

if TYPE_CHECKING:
    from softgate.runtime.name_table import Names


def complete_name(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Return the frameworks' names that start with the typed text."""
    from softgate.runtime.name_table import catalogue_of_names

    return sorted({n.name for n in catalogue_of_names() if n.name.startswith(incomplete)})


def complete_source(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Return the sources that start with the typed text."""
    from softgate.runtime.name_table import SOURCES

    sources = {source: title for source, title in SOURCES.items() if source.startswith(incomplete)}
    return [CompletionItem(source, help=title) for source, title in sources.items()]


@click.command(epilog=FUNCTIONS)
@click.argument("names", nargs=-1, metavar="[FUNCTION]...", shell_complete=complete_name)
@click.option("--source", shell_complete=complete_source, help="Only one framework's names.")
@formats(*TABLES)
def command(
    names: tuple[str, ...], source: str | None, form: Format, output: tuple[Path, ...]
) -> None:
    """Show what each FUNCTION is called in each framework: PyTorch, Keras, JAX, …, ONNX.

    \b
    softgate names                          every function and its names
    softgate names gelu                     every meaning of gelu
    softgate names --source jax             all that JAX has
    softgate names com.microsoft.FastGelu   one, by its path
    """
    emit(wanted(names, source), form, output)


def wanted(which: tuple[str, ...], source: str | None) -> Names:
    """Return the records of the names without duplicates."""
    from softgate.runtime.name_table import Names
    from softgate.studies.names import names

    if not which:
        return names(source)
    records = (record for name in which for record in names(source, name=name))
    return Names(tuple(dict.fromkeys(records)))
