"""One vocabulary: the option `--x-y` of a command is the keyword `x_y` of its Python function."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import click
import pytest
from click.testing import CliRunner

import softgate as sg
import softgate.torch
from softgate import cli, reporting
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


def test_a_setting_of_a_task_written_as_an_option() -> None:
    result = CliRunner().invoke(command_named("compare"), ["gelu", "relu", "--epochs", "2"])
    assert result.exit_code == 2
    assert "No such option --epochs: write --set epochs=2." in result.stderr
    unknown = CliRunner().invoke(command_named("compare"), ["gelu", "--epohcs", "2"])
    assert unknown.exit_code == 2
    assert "--set" not in unknown.stderr
