"""Activations by name, as trials hold them: `gelu`, `elu:alpha=0.5`, `snake#3f2a91c0`.

A user's formula has no name that another process could look up. It is sent by value with the
trainable, under its name and a hash of what it computes. The hash is thereby part of every trial's
key: another formula under the same name gives another trial.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from softgate.catalogue.entry import Parameter
from softgate.formula.graph import Node
from softgate.lower.notation import infix
from softgate.runtime.activation import Activation
from softgate.runtime.lookup import lookup, parse
from softgate.runtime.registry import label
from softgate.runtime.user_formula import composed

from ..subjects import resolved
from .trial import Arms, Trainable, TrialFunction

Function = Activation
MARK = "#"
"""Separates a formula's name from its hash."""

_registered: dict[str, Activation] = {}
"""The users' formulas received by this process, by name and hash."""


@dataclass(frozen=True)
class PicklableFormula:
    """A user's formula in picklable form."""

    name: str
    formula: str
    definition: Callable[..., Node]
    parameters: tuple[Parameter, ...]
    origin: tuple[str, str, str]
    fast: bool

    @classmethod
    def of(cls, activation: Activation) -> PicklableFormula:
        """Return the formula of a user's activation, with the parameters' original defaults."""
        entry = activation.entry
        if entry.user is None:
            raise ValueError(f"{activation!r} is not a user's formula: use its name")
        defaults = dict(entry.user.defaults)
        return cls(
            name=entry.name,
            formula=entry.formula,
            definition=entry.definition,
            parameters=tuple(replace(p, default=defaults[p.name]) for p in entry.parameters),
            origin=(entry.user.module, entry.user.qualname, entry.user.doc),
            fast=entry.user.fast,
        )

    @cached_property
    def activation(self) -> Activation:
        """The formula as an activation of this process."""
        return Activation(
            composed(
                self.definition,
                name=self.name,
                formula=self.formula,
                paper="",
                parameters=self.parameters,
                origin=self.origin,
                fast=self.fast,
            )
        )

    @cached_property
    def key(self) -> str:
        """Name and hash of what the formula computes."""
        content = (
            infix(self.activation.entry.define()),
            [(p.name, p.default) for p in self.parameters],
            self.fast,
        )
        return f"{self.name}{MARK}{hashlib.sha256(repr(content).encode()).hexdigest()[:8]}"

    def __getstate__(self) -> dict[str, object]:
        """Return the fields without cached properties."""
        return {name: self.__dict__[name] for name in self.__dataclass_fields__}


def register(formulas: Iterable[PicklableFormula]) -> None:
    """Make formulas available to `function` in this process."""
    for formula in formulas:
        _registered.setdefault(formula.key, formula.activation)


def function(text: str) -> Function:
    """Return the activation that a trial names.

    Examples
    --------
    >>> function("elu:alpha=0.5")
    <softgate.elu(x, alpha=0.5) = x where x > 0, else alpha*(exp(x) - 1)>
    """
    if MARK not in text:
        return lookup(text)
    name, parameters = parse(text)
    if name not in _registered:
        raise ValueError(f"the formula {name} was not sent to this process with its trial")
    return _registered[name].bind(**parameters)


def trial_name(activation: Any) -> tuple[str, PicklableFormula | None]:
    """Return the text that names an activation in trials, and the formula to send with them.

    The activation is written in any form of `subjects.user_code`, or as a trial names it.
    """
    in_trial = isinstance(activation, str) and MARK in activation
    meant = function(activation) if in_trial else resolved.function(activation)
    if meant.nin == 2 and meant.gate_activation is None:
        raise ValueError(
            f"{meant.name} is a formula of two operands: expected one of x, or a gated function of "
            "the catalogue, such as swiglu"
        )
    if meant.entry.user is None:
        return label(meant), None
    formula = PicklableFormula.of(meant)
    return label(meant).replace(meant.name, formula.key, 1), formula


def shown(text: str) -> str:
    """Return a name as tables show it, without the hash."""
    name, colon, rest = text.partition(":")
    return f"{name.partition(MARK)[0]}{colon}{rest}"


@dataclass(frozen=True)
class TrainableWithFormulas:
    """A trainable and the users' formulas named in its trials, which are sent along with it."""

    trainable: Trainable
    formulas: tuple[PicklableFormula, ...]

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the trainable."""
        if name.startswith("__") or name in self.__dataclass_fields__:  # while unpickling
            raise AttributeError(name)
        return getattr(self.trainable, name)

    def arms(self, names: list[str]) -> Arms:
        """Return the trainable's arms, labelled without hashes."""
        register(self.formulas)
        arms = []
        for label_, activation, settings in self.trainable.arms(names):
            for formula in self.formulas:
                label_ = label_.replace(formula.key, formula.name)  # noqa: PLW2901
            arms.append((label_, activation, settings))
        return arms

    def notes(self, names: Sequence[str] = ()) -> list[str]:
        """Return the trainable's notes, and the formulas."""
        notes = self.trainable.notes([name for name in names if MARK not in name])
        return [*notes, *(f"{formula.name} is {formula.formula}" for formula in self.formulas)]

    def trial_function(self) -> TrialFunction:
        """Return the trainable's function, with the formulas registered."""
        register(self.formulas)
        return self.trainable.trial_function()
