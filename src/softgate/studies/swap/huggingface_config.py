"""Hugging Face configurations after a swap: the field that names the activation is updated.

A configuration covers the activations of the modules that hold it. transformers' own name of the
new function is written if there is one, so that the model loads without softgate; otherwise the
name that `softgate.torch.register_huggingface` registers.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

from torch import nn

from softgate.runtime.activation import Activation
from softgate.runtime.lookup import records_of
from softgate.runtime.registry import functions, label
from softgate.torch.huggingface import PREFIX, register_huggingface

from ..models.activations import CLAIMS, with_claim
from ..models.record import ScannedActivation

PROJECTION = "feed_forward_proj"
"""The field of T5 from which others are derived: relu, gated-gelu."""

Replaced = Sequence[tuple[ScannedActivation, Activation | None]]
"""Activations and their new functions; None for those that were not replaced."""
SetAttribute = Callable[[Any, str, Any], None]


def update_configurations(
    model: nn.Module, replaced: Replaced, set_attribute: SetAttribute
) -> list[str]:
    """Write the new functions to the configurations of a model, and return notes on them."""
    groups: dict[str, tuple[Any, str, list[tuple[ScannedActivation, Activation | None]]]] = {}
    for scanned, new in replaced:
        name, configuration, field = _configuration(model, scanned.path)
        if field is not None:
            groups.setdefault(name, (configuration, field, []))[2].append((scanned, new))
    notes = []
    for name, (configuration, field, members) in groups.items():
        notes += _update(name, configuration, field, members, set_attribute)
    return notes


def _configuration(model: nn.Module, path: str) -> tuple[str, Any, str | None]:
    """Return the saved configuration that names the activation at a path: its name and field.

    That is the configuration of the outermost module that has one, which `save_pretrained` writes,
    or a part of it that an inner module has. T5's encoder has a copy, which is not saved.
    """
    steps = path.split(".") if path else []
    around = [model.get_submodule(".".join(steps[:i])) for i in range(len(steps) + 1)]
    held = [c for c in (getattr(module, "config", None) for module in around) if _is_saved(c)]
    if not held:
        return "", None, None
    parts = {"config": held[0]}
    parts |= {f"config.{key}": c for key, c in vars(held[0]).items() if _is_saved(c)}
    for configuration in reversed(held):
        for name, part in parts.items():
            fields = (f for f in CLAIMS if isinstance(getattr(part, f, None), str))
            if part is configuration and (field := next(fields, None)) is not None:
                return name, part, field
    return "", None, None


def _is_saved(configuration: Any) -> bool:
    return hasattr(configuration, "to_dict") and hasattr(type(configuration), "from_dict")


def _update(
    place: str, configuration: Any, field: str, members: Replaced, set_attribute: SetAttribute
) -> list[str]:
    old = getattr(configuration, field)
    marked, _, _ = with_claim(tuple(scanned for scanned, _ in members), field, old)
    changed = [new is not None and label(new) != scanned.label for scanned, new in members]
    covered = [i for i, scanned in enumerate(marked) if scanned.claim is not None]
    notes = []
    functions_now = [members[i][1] for i in covered]
    new = functions_now[0] if functions_now else None
    labels = {"" if function is None else label(function) for function in functions_now}
    if new is not None and len(labels) == 1 and any(changed[i] for i in covered):
        updates = _updates(configuration, field, _name(new))
        for name, value in updates.items():
            set_attribute(configuration, name, value)
            notes.append(f"{place}.{name} = {value}")
        if updates:
            if _name(new).startswith(PREFIX):
                notes.append(
                    "call softgate.torch.register_huggingface() before from_pretrained; functions "
                    "with parameters and those of yours are its arguments"
                )
            changed = [change and i not in covered for i, change in enumerate(changed)]
    left = [scanned.path for (scanned, _), change in zip(members, changed, strict=True) if change]
    if left:
        notes.append(
            f"{place}.{field} = {getattr(configuration, field)} does not name the new functions of "
            f"{', '.join(left)}: repeat the swap after from_pretrained"
        )
    return notes


def _updates(configuration: Any, field: str, name: str) -> dict[str, str]:
    """Return the fields to set so that a saved configuration has the name; empty if none can."""
    choices = [{field: name}]
    projection = getattr(configuration, PROJECTION, None)
    if isinstance(projection, str):
        gate = "gated-" if projection.startswith("gated-") else ""
        choices.append({field: name, PROJECTION: gate + name})
    for choice in choices:
        changed = copy.deepcopy(configuration)
        for key, value in choice.items():
            setattr(changed, key, value)
        try:
            loaded = type(configuration).from_dict(changed.to_dict())
        except (TypeError, ValueError):
            continue
        if getattr(loaded, field, None) == name:
            return choice
    return {}


def _name(function: Activation) -> str:
    """Return transformers' name of a function, or the one that softgate registers."""
    from transformers.activations import ACT2FN

    known = functions().get(function.name)
    if known is not None and known.entry is function.entry:
        spelled = [
            record.name
            for record in records_of("huggingface")
            if record.function == function.name
            and record.name in ACT2FN
            and label(function.bind(**{**known.parameters, **record.parameters})) == label(function)
        ]
        if spelled:  # gelu_pytorch_tanh before gelu_new and other forms with the same values
            return min(spelled, key=lambda name: (name != function.name, "pytorch" not in name))
    register_huggingface(function)
    return PREFIX + label(function)
