"""Functions in saved Keras models: their name and parameters, never their code.

A user's formula is looked up in its module, which must be imported before a model is loaded:
loading a file never imports modules.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from softgate.runtime.activation import Activation
from softgate.runtime.gated import Gated
from softgate.runtime.registry import activations, gated, imported, recipe

Config = dict[str, Any]


def config_of(function: Activation | Gated) -> Config:
    """Return the configuration that names a function in a file; raise if it cannot be restored.

    Examples
    --------
    >>> import softgate as sg
    >>> config_of(sg.elu.bind(alpha=0.5))
    {'function': 'elu', 'parameters': {'alpha': 0.5}}
    """
    config: Config = {"function": function.name, "parameters": dict(function.parameters)}
    if isinstance(function, Gated):
        return config | {"gate": function.entry.position}
    recipe(function)  # raises if the name refers to another function
    if function.entry.user is not None:
        config |= {"function": function.__qualname__, "module": function.__module__}
    return config


def function_of(config: Mapping[str, Any]) -> Activation | Gated:
    """Return the function that a configuration refers to."""
    name, parameters = config["function"], dict(config.get("parameters", {}))
    module = config.get("module")
    if module is not None:
        return _formula(module, name, parameters)
    if "gate" in config:
        return _known(name, gated(), "gated function").bind(gate=config["gate"], **parameters)
    return _known(name, activations(), "activation").bind(**parameters)


def _known(name: str, functions: Mapping[str, Any], what: str) -> Any:
    if name not in functions:
        known = ", ".join(functions)
        raise ValueError(
            f"the file names the {what} {name!r}, which softgate lacks: it has {known}"
        )
    return functions[name]


def _formula(module: str, qualname: str, parameters: Mapping[str, float]) -> Activation:
    if module not in sys.modules:
        raise ValueError(
            f"the file names the formula {qualname} of the module {module}, which is not loaded: "
            f"`import {module}` first"
        )
    try:
        return imported(module, qualname, tuple(parameters.items()))
    except AttributeError:
        raise ValueError(
            f"the file names the formula {qualname} of the module {module}, which has none: "
            "define it there as it was when the model was saved"
        ) from None
