"""Public names, arguments and command-line options: none may disappear by accident.

`public_names.json` lists them. A name may be added there at any time; one may be removed only with
a release that announces it.
"""

from __future__ import annotations

import inspect
import json
from importlib import import_module
from pathlib import Path

import click
import pytest

import softgate as sg
from softgate.cli import softgate

PUBLIC = json.loads(Path(__file__).with_name("public_names.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("module", PUBLIC["modules"])
def test_every_public_name_exists(module: str) -> None:
    loaded = import_module(module)
    assert [name for name in PUBLIC["modules"][module] if not hasattr(loaded, name)] == []


@pytest.mark.parametrize("module", ["softgate", "softgate.torch", "softgate.keras"])
def test_nothing_is_exported_without_being_listed(module: str) -> None:
    loaded = import_module(module)
    assert set(loaded.__all__) <= set(PUBLIC["modules"][module])
    assert dir(loaded) == sorted(loaded.__all__)


@pytest.mark.parametrize("name", PUBLIC["signatures"])
def test_every_argument_is_accepted(name: str) -> None:
    function = getattr(sg, name)
    parameters = inspect.signature(function).parameters
    assert [argument for argument in PUBLIC["signatures"][name] if argument not in parameters] == []


@pytest.mark.parametrize("example", ["gelu", "swiglu"])
def test_every_attribute_exists(example: str) -> None:
    function = getattr(sg, example)
    names = PUBLIC["attributes"]["Activation" if example == "gelu" else "Gated"]
    assert [name for name in names if not hasattr(function, name)] == []


@pytest.mark.parametrize("name", PUBLIC["commands"])
def test_every_command_takes_its_options(name: str) -> None:
    command: click.Command = softgate
    for part in name.split() if name != "softgate" else ():
        assert isinstance(command, click.Group)
        child = command.get_command(click.Context(command), part)
        assert child is not None, part
        command = child
    options = {option for p in command.params for option in (*p.opts, *p.secondary_opts)}
    assert [option for option in PUBLIC["commands"][name] if option not in options] == []
