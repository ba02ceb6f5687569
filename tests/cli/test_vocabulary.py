"""One vocabulary: the option `--x-y` of a command is the keyword `x_y` of its Python function."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

import softgate as sg
import softgate.torch
from softgate import cli, reporting
from softgate.cli.arguments import Command
from softgate.runtime.deprecation import renamed
from softgate.studies.bench.layer_measure import measure_layer
from softgate.studies.bench.pareto_measure import measure_pareto
from softgate.studies.certify.record import Certificate

FUNCTIONS: dict[str, tuple[Callable[..., Any], ...]] = {
    "report": (sg.report, reporting.read),
    "table": (sg.table,),
    "properties": (sg.properties,),
    "plot": (sg.plot,),
    "names": (sg.names,),
    "identify": (sg.identify,),
    "scan": (sg.scan,),
    "swap": (sg.swap,),
    "parity": (sg.parity,),
    "certify": (sg.certify, Certificate.failures, Certificate.regressions),
    "bench": (sg.bench, measure_layer, measure_pareto),
    "emit": (sg.emit,),
    "diagnose": (sg.torch.diagnose, sg.torch.what_if),
    "compare": (sg.compare,),
    "doctor": (sg.check_bits,),
    "completion": (),
}
"""The functions that a command calls with its options."""

EVERYWHERE = {
    "json": "the format of stdout",
    "csv": "the format of stdout",
    "output": "the file of the record's `save`",
}
OPTIONS_ONLY = {
    "bench": {
        "baseline": "an older result, which Python compares with studies.bench.baseline.compare",
        "tolerance": "of that comparison, which decides the exit code",
        "full": "a set of values for the other options",
        "layer": "selects measure_layer",
        "pareto": "selects measure_pareto",
    },
    "diagnose": {
        "data": "a file that is loaded as `batches`",
        "allow_missing": "an argument of load_model",
        "batch": "the rows of each of those batches",
        "limit": "the number of those batches",
        "what_if": "selects what_if; its value is the positional `replacement`",
        "fail_on": "decides the exit code",
        "threshold": "one of **thresholds",
    },
    "scan": {
        "all": "also prints the record's `unidentified`",
        "strict": "decides the exit code",
    },
    "swap": {
        "from": "a key of the positional `replacements`",
        "to": "a value of it, or the function that replaces all",
    },
    "parity": {"strict": "decides the exit code"},
    "compare": {
        "task": "the positional `what`, a name",
        "script": "the positional `what`, a training loop",
        "model": "the positional `what`, a model",
        "set": "one of **settings",
        "match": "one of **settings",
        "init": "one of **settings",
        "same": "one of **settings",
        "seconds": "one of **settings",
        "tasks": "lists the tasks",
        "dry_run": "prints the plan",
    },
}
KEYWORDS_ONLY = {
    "report": {"command": "the command itself, for the page"},
    "names": {"name": "the positional FUNCTION"},
    "identify": {
        "among": "objects; the command chooses from the catalogue",
        "isolated": "the command always runs the subject in another process",
    },
    "certify": {"isolated": "the command always runs the subject in another process"},
    "diagnose": {"loss": "a callable; the command compares with the data's target"},
    "doctor": {"functions": "the command checks all"},
}
PROGRESS = "progress"
"""A callable; commands show the progress on stderr."""


def option_names(command: click.Command) -> set[str]:
    """Return the options as keywords: `--time-limit` is time_limit, `--no-store` is store."""
    longest = [max(p.opts, key=len) for p in command.params if isinstance(p, click.Option)]
    return {option.removeprefix("--").replace("-", "_").removeprefix("no_") for option in longest}


def command_named(name: str) -> click.Command:
    command = cli.softgate.get_command(click.Context(cli.softgate), name)
    assert command is not None
    return command


@pytest.mark.parametrize("name", list(cli.COMMANDS))
def test_options_and_keywords_are_the_same_words(name: str) -> None:
    parameters = [p for f in FUNCTIONS[name] for p in inspect.signature(f).parameters.values()]
    keywords = {p.name for p in parameters}
    keyword_only = {p.name for p in parameters if p.kind is p.KEYWORD_ONLY} - {PROGRESS}
    options = option_names(command_named(name))
    assert options - keywords - set(EVERYWHERE) == set(OPTIONS_ONLY.get(name, {}))
    assert keyword_only - options == set(KEYWORDS_ONLY.get(name, {}))


@pytest.mark.parametrize("name", [n for n in cli.COMMANDS if n != "completion"])
def test_every_command_writes_a_file(name: str) -> None:
    assert "output" in option_names(command_named(name))


def former_options() -> list[tuple[str, str, str]]:
    commands = {name: command_named(name) for name in cli.COMMANDS}
    return [
        (name, old, new)
        for name, command in commands.items()
        for old, new in getattr(command, "former", {}).items()
    ]


@pytest.mark.parametrize(("name", "old", "new"), former_options())
def test_former_options_name_present_ones(name: str, old: str, new: str) -> None:
    options = {option for p in command_named(name).params for option in p.opts}
    assert new in options
    assert old not in options


def test_a_former_option_warns_in_one_line_and_works() -> None:
    table, points = command_named("table"), ("--at", "-1")
    former = CliRunner().invoke(table, ["gelu", "--against", "relu", *points])
    present = CliRunner().invoke(table, ["gelu", "--reference=relu", *points])
    assert (former.exit_code, former.stdout) == (0, present.stdout)
    assert former.stderr == (
        "Warning: --against is deprecated and will be removed in the next version: "
        "write --reference\n"
    )
    assert present.stderr == ""


def test_the_former_range_of_a_plot() -> None:
    plot = command_named("plot")
    former = CliRunner().invoke(plot, ["gelu", "--from=-2", "--to", "3", "--width", "60"])
    present = CliRunner().invoke(plot, ["gelu", "--at", "-2:3", "--width", "60"])
    assert (former.exit_code, former.stdout) == (0, present.stdout)
    assert "--from, --to is deprecated" in former.stderr


def test_the_former_file_of_a_pareto_chart() -> None:
    from softgate.cli.bench import pareto_file

    assert pareto_file(["gelu", "--pareto", "x.svg"]) == ["gelu", "--pareto", "--output", "x.svg"]
    assert pareto_file(["--pareto", "gelu"]) == ["--pareto", "gelu"]


def test_words_after_two_dashes_are_not_options() -> None:
    @click.command(cls=Command, former={"--old": "--new"})
    @click.option("--new")
    @click.argument("words", nargs=-1)
    def command(new: str, words: tuple[str, ...]) -> None:
        click.echo(f"{new} {words}")

    result = CliRunner().invoke(command, ["--old=1", "--", "--old"])
    assert result.stdout == "1 ('--old',)\n"


def former_keywords() -> list[tuple[str, str, str]]:
    functions = {f for group in FUNCTIONS.values() for f in group}
    return sorted(
        (f.__name__, old, new) for f in functions for old, new in getattr(f, "former", {}).items()
    )


@pytest.mark.parametrize(("name", "old", "new"), former_keywords())
def test_former_keywords_name_present_ones(name: str, old: str, new: str) -> None:
    parameters = inspect.signature(getattr(sg, name)).parameters
    assert new in parameters
    assert old not in parameters


def test_a_former_keyword_warns_and_works(tmp_path: Path) -> None:
    with pytest.warns(DeprecationWarning, match="what is deprecated .* write quantity") as caught:
        figure = sg.plot("gelu", what="slope")
    assert caught[0].filename == __file__
    assert figure.axes[0].get_title() == sg.plot("gelu", quantity="slope").axes[0].get_title()


def test_both_names_of_a_keyword_are_an_error() -> None:
    @renamed(old="new")
    def function(new: int) -> int:
        return new

    with pytest.raises(TypeError, match="old is the former name of new: pass only new"):
        function(old=1, new=2)  # type: ignore[call-arg]


def test_a_setting_of_a_task_written_as_an_option() -> None:
    result = CliRunner().invoke(command_named("compare"), ["gelu", "relu", "--epochs", "2"])
    assert result.exit_code == 2
    assert "No such option --epochs: write --set epochs=2." in result.stderr
    unknown = CliRunner().invoke(command_named("compare"), ["gelu", "--epohcs", "2"])
    assert unknown.exit_code == 2
    assert "--set" not in unknown.stderr
