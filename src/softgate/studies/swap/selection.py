"""Which activations of a model are replaced, and by which functions.

One grammar for PyTorch, Keras and ONNX: one function for all activations, or a mapping. Its keys
are functions in any form of `subjects.user_code`, paths of modules, layers or nodes, which
include all that is inside them, and patterns of paths with *, ? and [ ]. If several keys select one
activation, a path takes precedence over a pattern, and a pattern over a function.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from softgate.records.text import a_type
from softgate.runtime.activation import Activation
from softgate.runtime.lookup import parse
from softgate.runtime.registry import label

from ..identify import UNKNOWN
from ..models.record import Scan, ScannedActivation
from ..subjects import resolved
from .record import UnswappedActivation

Replacements = Mapping[Any, Any] | str | Callable[..., Any]
SUCH_AS = 'such as {"gelu": "gelu_tanh"}'
SHOWN = 5
"""The most paths of one function in a message."""
NOT_SELECTED, LIMIT = "it was not selected", "it limits a divisor"
OURS_ALREADY = "it is computed by softgate already"
"""Reasons for which a function is unchanged."""
PATH, PATTERN, FUNCTION = range(3)
"""The precedence of keys."""


class SeveralFunctions(ValueError):
    """One new function was given for a model that has several; `counts` has those of the model."""

    counts: Mapping[str, int]


Selects = Callable[[ScannedActivation], bool]


def select(
    scanned: Sequence[ScannedActivation],
    replacements: Replacements,
    name: str,
    *,
    shared: Mapping[str, Collection[str]] | None = None,
    separator: str = ".",
) -> list[Activation | None]:
    """Return what replaces each activation; None for those that stay.

    Parameters
    ----------
    scanned : sequence of ScannedActivation
        The activations of the model.
    replacements : mapping, str or callable
        New functions by keys, or one function for a model whose activations are all the same.
    name : str
        The model, for messages.
    shared : mapping, optional
        All paths of an activation that has several, by its path.
    separator : str
        What separates the parts of a path.

    Raises
    ------
    TypeError
        If `replacements` is neither a mapping nor a function, or a value is not a function.
    ValueError
        If a key is unknown or selects nothing, if keys contradict each other, or if a value is not
        a function of one array.
    """
    if not isinstance(replacements, Mapping):
        if not isinstance(replacements, str) and not callable(replacements):
            raise TypeError(
                f"replacements is {a_type(replacements)}: expected a function, or a mapping, "
                f"{SUCH_AS}"
            )
        others = {a.label for a in scanned} - {label(resolved.activation(replacements))}
        if len(others) > 1:
            error = SeveralFunctions(
                f"{name} has several functions: expected a mapping, {SUCH_AS}; {summary(scanned)}"
            )
            error.counts = Counter(a.label for a in scanned)
            raise error
        replacements = {"*": replacements}
    if not replacements:
        raise ValueError(f"replacements is empty: expected a mapping, {SUCH_AS}")
    chosen: dict[int, tuple[int, Any, Activation]] = {}
    for key, value in replacements.items():
        new = resolved.activation(value)
        rank, selects = _selector(key, scanned, name, shared or {}, separator)
        for i, activation in enumerate(scanned):
            if not selects(activation):
                continue
            if i not in chosen or rank < chosen[i][0]:
                chosen[i] = rank, key, new
            elif chosen[i][0] == rank and label(chosen[i][2]) != label(new):
                raise ValueError(
                    f"{chosen[i][1]!r} and {key!r} both select {activation.path or name} "
                    f"({activation.answer}), for different functions: remove one of them"
                )
    return [chosen[i][2] if i in chosen else None for i in range(len(scanned))]


def computed(activation: ScannedActivation) -> Activation | None:
    """Return the function of the catalogue that an activation computes, or None.

    None if it was not identified, or is a function with a scale or an offset.
    """
    if activation.function == UNKNOWN or (activation.scale, activation.offset) != (1.0, 0.0):
        return None
    return activation.unscaled


def _selector(
    key: Any,
    scanned: Sequence[ScannedActivation],
    name: str,
    shared: Mapping[str, Collection[str]],
    separator: str,
) -> tuple[int, Selects]:
    """Return the precedence of a key and what it selects; raise if it selects nothing."""

    def paths(activation: ScannedActivation) -> Collection[str]:
        return shared.get(activation.path, (activation.path,))

    def by_path(activation: ScannedActivation) -> bool:
        return not key or any(p == key or p.startswith(key + separator) for p in paths(activation))

    def by_pattern(activation: ScannedActivation) -> bool:
        return any(fnmatchcase(path, key) for path in paths(activation))

    selects: Selects
    if isinstance(key, str) and any(map(by_path, scanned)):
        _refuse_ambiguous(key, [a for a in scanned if by_path(a)], scanned)
        return PATH, by_path
    if isinstance(key, str) and any(map(by_pattern, scanned)):
        return PATTERN, by_pattern
    selects = _by_function(key, scanned, name)
    if not any(map(selects, scanned)):
        shown = key if isinstance(key, str) else label(resolved.activation(key, by_values=True))
        raise ValueError(f"{shown!r} selects nothing in {name}; {summary(scanned)}")
    return FUNCTION, selects


def _refuse_ambiguous(
    key: str, at_path: list[ScannedActivation], scanned: Sequence[ScannedActivation]
) -> None:
    """Raise ValueError if a path is also the name of a function that is computed elsewhere."""
    by_name = [a for a in scanned if a.function == key]
    if by_name and by_name != at_path:
        raise ValueError(
            f"{key!r} is a function, and the path of {', '.join(a.answer for a in at_path)}: "
            f"write softgate.{key} for the function, [{key[0]}]{key[1:]} for the path"
        )


def _by_function(key: Any, scanned: Sequence[ScannedActivation], name: str) -> Selects:
    try:
        meant = resolved.activation(key, by_values=True)
    except ValueError as error:
        if not isinstance(key, str):
            raise
        raise ValueError(
            f"{key!r} is not a path in {name}, and not a function ({error}); {summary(scanned)}"
        ) from None
    # A name without parameters selects the function with any; "elu:alpha=0.5" only that one.
    any_parameters = isinstance(key, str) and not parse(key)[1] and label(meant) == meant.name

    def selects(activation: ScannedActivation) -> bool:
        if computed(activation) is None:
            return False
        if any_parameters:
            return activation.function == meant.name
        return activation.label == label(meant)

    return selects


def summary(scanned: Sequence[ScannedActivation]) -> str:
    """Return the functions of a model and some of their paths, for messages."""
    places: dict[str, list[str]] = {}
    for activation in scanned:
        places.setdefault(activation.answer, []).append(activation.path or "the model itself")
    if not places:
        return "no activation was identified in it"
    return "it has " + "; ".join(
        f"{function} at {', '.join(at[:SHOWN])}" + (", …" if len(at) > SHOWN else "")
        for function, at in places.items()
    )


def left_unchanged(
    scan: Scan,
    accounted: Iterable[ScannedActivation],
    reason: str,
    fused: Sequence[ScannedActivation] = (),
) -> tuple[UnswappedActivation, ...]:
    """Return what a swap leaves besides the activations that are `accounted` for.

    `reason` is that of activations of the scan, and of `fused`, those inside of operators.
    """
    rows = [(a, reason) for a in (*scan.activations, *fused)]
    rows += [
        (a, "no function of the catalogue" if a.function == UNKNOWN else LIMIT)
        for a in scan.unidentified
        if a.counted
    ]
    keys = {(a.path, a.answer, a.operators) for a in accounted}
    inside = {a.path for a in fused}
    return tuple(
        UnswappedActivation(a.path, a.label, a.operators, why)
        for a, why in rows
        if (a.path, a.answer, a.operators) not in keys
    ) + tuple(
        UnswappedActivation(o.path, "", o.operator, o.reason)
        for o in scan.unlisted
        if o.path not in inside
        for _ in range(o.count)
    )
