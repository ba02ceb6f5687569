"""Activations by text, which is how trials name them: `gelu`, `elu:alpha=0.5`, `snake#3f2a91c0`.

A user's own formula has no name that another process could look up, so it travels by value with the
subject, under its name and a hash of what it computes. That makes it a part of every trial's key,
too: another formula under the same name is another trial.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from softgate.catalogue.entry import Parameter
from softgate.formula.graph import Node
from softgate.lower.notation import infix
from softgate.runtime.activation import Activation
from softgate.runtime.gated import Gated
from softgate.runtime.names import get
from softgate.runtime.registry import functions, label
from softgate.runtime.user_formula import composed

from .plan import Trainable
from .trial import Measure, Setting, Work

Function = Activation | Gated
MARK = "#"
"""Stands between a formula's name and its hash."""

_arrived: dict[str, Activation] = {}
"""The users' formulas that this process has got, by name and hash."""


@dataclass(frozen=True)
class Formula:
    """A user's formula on its way: what an entry is made of again on the other side."""

    name: str
    formula: str
    definition: Callable[..., Node]
    parameters: tuple[Parameter, ...]
    origin: tuple[str, str, str]
    fast: bool

    @classmethod
    def of(cls, activation: Activation) -> Formula:
        """Return the formula of a user's activation, its parameters as they were written."""
        entry = activation.entry
        if entry.user is None:
            raise ValueError(f"{activation!r} is no formula of a user's: it is found by its name")
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
        """Its name and a hash of what it computes."""
        content = (
            infix(self.activation.entry.define()),
            [(p.name, p.default) for p in self.parameters],
            self.fast,
        )
        return f"{self.name}{MARK}{hashlib.sha256(repr(content).encode()).hexdigest()[:8]}"

    def __getstate__(self) -> dict[str, object]:
        """Return what travels: neither the activation nor what follows from it."""
        return {name: self.__dict__[name] for name in self.__dataclass_fields__}


def arrive(formulas: Iterable[Formula]) -> None:
    """Let `function` find these formulas in this process."""
    for formula in formulas:
        _arrived.setdefault(formula.key, formula.activation)


def function(text: str) -> Function:
    """Return the activation that a trial names.

    Examples
    --------
    >>> function("elu:alpha=0.5")
    <softgate.elu(x, alpha=0.5) = x where x > 0, else alpha*(exp(x) - 1)>
    """
    name, colon, rest = text.partition(":")
    parameters = _parameters(text, rest) if colon else {}
    if MARK in name:
        if name not in _arrived:
            raise ValueError(f"the formula {name} has not come with this trial's subject")
        return _arrived[name].bind(**parameters)
    known = functions()
    found: Function = (
        known[name].bind(**parameters) if name in known else get(name, None, **parameters)
    )
    return found


def resolve(given: Function | str) -> tuple[str, Formula | None]:
    """Return the text that names a function in trials, and the formula that has to come along."""
    found = function(given) if isinstance(given, str) else given
    if isinstance(found, Gated):
        return _gated_label(found), None
    if not isinstance(found, Activation):
        raise TypeError(
            f"{given!r} is a {type(given).__name__}: expected an activation or its name, such as "
            "'gelu'"
        )
    if found.entry.user is None:
        return label(found), None
    formula = Formula.of(found)
    return label(found).replace(found.name, formula.key, 1), formula


def shown(text: str) -> str:
    """Return a name without the hash: what tables show."""
    name, colon, rest = text.partition(":")
    return f"{name.partition(MARK)[0]}{colon}{rest}"


def _gated_label(found: Gated) -> str:
    usual = functions()[found.name].parameters
    given = [f"{n}={v!r}" for n, v in found.parameters.items() if usual.get(n) != v]
    return f"{found.name}:{','.join(given)}" if given else found.name


def _parameters(text: str, rest: str) -> dict[str, float]:
    pairs = [part.partition("=") for part in rest.split(",")]
    try:
        found = {name.strip(): float(number) for name, _, number in pairs}
    except ValueError:
        raise ValueError(
            f"{text!r}: {rest!r} is no list of parameters; write name:parameter=number"
        ) from None
    if len(found) < len(pairs):
        raise ValueError(f"{text!r} gives a parameter twice")
    return found


@dataclass(frozen=True)
class Carrying:
    """A subject and the users' formulas that its trials name."""

    subject: Trainable
    formulas: tuple[Formula, ...]

    @property
    def name(self) -> str:
        """The subject's."""
        return self.subject.name

    @property
    def measure(self) -> Measure:
        """The subject's."""
        return self.subject.measure

    @property
    def fingerprint(self) -> str:
        """The subject's: formulas are in the names that trials have for them."""
        return self.subject.fingerprint

    @property
    def settings(self) -> Mapping[str, Setting]:
        """The subject's."""
        return self.subject.settings

    @property
    def rates(self) -> tuple[float, ...]:
        """The subject's."""
        return self.subject.rates

    @property
    def conditions(self) -> tuple[tuple[str, Mapping[str, Setting]], ...]:
        """The subject's."""
        return self.subject.conditions

    @property
    def default_arms(self) -> tuple[str, ...]:
        """The subject's."""
        return self.subject.default_arms

    def arms(self, names: list[str]) -> list[tuple[str, str, Mapping[str, Setting]]]:
        """Return the subject's arms, labelled without hashes."""
        arrive(self.formulas)
        found = []
        for name, activation, settings in self.subject.arms(names):
            for formula in self.formulas:
                name = name.replace(formula.key, formula.name)  # noqa: PLW2901
            found.append((name, activation, settings))
        return found

    def describe(self) -> str:
        """Return the subject's line."""
        return self.subject.describe()

    def notes(self, names: Sequence[str] = ()) -> list[str]:
        """Return the subject's notes, and what the formulas are."""
        own = [f"{one.name} is {one.formula}" for one in self.formulas]
        return [*self.subject.notes([name for name in names if MARK not in name]), *own]

    def work(self) -> Work:
        """Return the subject's function, its formulas in place."""
        arrive(self.formulas)
        return self.subject.work()
