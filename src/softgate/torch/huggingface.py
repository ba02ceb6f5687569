"""softgate's functions under names that Hugging Face configurations accept."""

from __future__ import annotations

from typing import Any

from softgate.records.packages import require
from softgate.runtime.registry import activations, label

from .modules import make

PREFIX = "softgate."
"""Start of the names of softgate's functions in configurations."""


def register_huggingface(*functions: Any) -> tuple[str, ...]:
    """Register softgate's functions in `transformers.activations.ACT2FN`, and return the names.

    A configuration with `hidden_act = "softgate.mish"` can then be loaded. The catalogue is
    registered, and the functions that are passed.

    Parameters
    ----------
    *functions : str or callable
        Functions with parameters, registered as "softgate.elu:alpha=0.5", and functions of
        `@softgate.activation`, registered under their names.

    Raises
    ------
    ImportError
        If transformers is not installed.

    Examples
    --------
    >>> from transformers.activations import ACT2FN
    >>> names = register_huggingface("elu:alpha=0.5")
    >>> ACT2FN["softgate.mish"], ACT2FN["softgate.elu:alpha=0.5"]
    (Mish(), ELU(alpha=0.5))
    """
    require("transformers", purpose="register_huggingface")
    from transformers.activations import ACT2FN

    from softgate.studies.subjects import resolved

    chosen = [*activations().values(), *map(resolved.activation, functions)]
    names = {PREFIX + label(function): function for function in chosen}
    ACT2FN.update({name: (make, {"name": function}) for name, function in names.items()})
    return tuple(names)
