"""Arguments of the blocks of all frameworks: names of activations, widths, probabilities.

softgate's names take precedence over those of the block's framework, and these over those of
others. If the framework uses one of softgate's names for another function, the parameters decide,
or an error lists both.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable
from difflib import get_close_matches
from numbers import Real
from typing import Any

from softgate.records.text import a_type
from softgate.runtime.activation import Activation
from softgate.runtime.lookup import AmbiguousName, UnknownName, get
from softgate.runtime.name_table import SOURCES
from softgate.runtime.registry import activations, functions, gated


def is_gated(activation: object, sources: Iterable[str] = ()) -> bool:
    """Return whether a block with this activation needs a gate."""
    if not isinstance(activation, str):
        return isinstance(activation, Activation) and activation.nin == 2
    try:
        return function_of_block(activation, sources).nin == 2
    except ValueError:  # the constructor of the block reports the error
        return False


def function_of_block(
    activation: str, sources: Iterable[str] = (), /, **parameters: float
) -> Activation:
    """Return the function of a name: softgate's, else each source's, else any framework's."""
    _check_string(activation, "'gelu'")
    known, sources = functions(), tuple(sources)
    if activation in known:
        return _own_name(activation, sources[:1], parameters)
    for source in (*sources, None):
        try:
            return get(activation, source, **parameters)
        except UnknownName:
            continue
    raise unknown("activation", activation, known)


def _own_name(name: str, home: tuple[str, ...], parameters: dict[str, float]) -> Activation:
    """Return softgate's function, or the framework's if only it has these parameters, or raise."""
    ours = functions()[name]
    try:
        theirs = get(name, home[0], **parameters) if home else None
    except (UnknownName, TypeError):  # neither has the parameter: `bind` raises
        theirs = None
    if theirs is None:
        return ours.bind(**parameters)
    if not set(parameters) <= set(ours.parameters):
        return theirs  # a parameter that only the framework's function has
    bound = ours.bind(**parameters)
    meanings = [_shown(bound), _shown(theirs)]
    if meanings[0] == meanings[1]:
        return bound
    choices = " or ".join(dict.fromkeys(meaning.partition(", ")[2] for meaning in meanings))
    raise AmbiguousName(
        f"{name!r} is {meanings[0]}) in softgate and {meanings[1]}) in {SOURCES[home[0]]}: "
        f"pass {choices}"
    )


def _shown(function: Activation) -> str:
    values = "".join(f", {name}={value:g}" for name, value in function.parameters.items())
    return f"{function.name}(x{values}"


def activation_of_block(
    activation: str | Activation, sources: Iterable[str], /, **parameters: float
) -> Activation:
    """Return the activation of a plain block by any known name, those of `sources` first."""
    if isinstance(activation, Activation):
        meant = activation.bind(**parameters)
    else:
        meant = function_of_block(activation, sources, **parameters)
    if meant.nin == 2:
        shown = getattr(activation, "name", activation)
        raise ValueError(f"{shown!r} has two inputs, one of them a gate: use GatedFeedForward")
    return meant


def gate_activation(
    activation: str | Activation, sources: Iterable[str] = (), /, **parameters: float
) -> Activation:
    """Return the activation that a gated block applies to its gate."""
    function = gate_of_block(activation, sources, **parameters)
    return function.gate_activation or function


def gate_of_block(
    activation: str | Activation, sources: Iterable[str] = (), /, **parameters: float
) -> Activation:
    """Return the activation of the gate; the gated function if it changes the other operand, too.

    The latter is called with both operands, of which the gate is the first.
    """
    if isinstance(activation, Activation):
        meant = activation
    else:
        _check_string(activation, "'swiglu'")
        meant = named_gate(activation, sources)
    gating = meant.entry.gating
    if gating is None:  # the activation of the gate, or a formula of both operands
        return meant.bind(**parameters)
    if gating.factor is not None:
        return meant.bind(gate="first", **parameters)
    return activations()[gating.activation.name].bind(**{**meant.parameters, **parameters})


def gate_name(function: Activation) -> str | None:
    """Return the name of the activation of the gate, None where there is none."""
    return None if function.gate_activation is None else function.gate_activation.name


def with_gate(activation: Activation) -> Activation | None:
    """Return the gated function activation(a)·b; None if the catalogue has none."""
    for function in gated().values():
        plain = function.factor is None and activation.entry.user is None
        if plain and gate_name(function) == activation.name:
            return function.bind(gate="first", **activation.parameters)
    return None


def named_gate(name: str, sources: Iterable[str]) -> Activation:
    """Return the gated activation called `name`; raise with suggestions if there is none."""
    try:
        meant = function_of_block(name, sources)
    except ValueError:
        raise unknown("gated activation", name, gated()) from None
    if meant.nin == 2:
        return meant
    for known, function in gated().items():
        if meant.name == gate_name(function):
            raise ValueError(f"{name!r} has no gate: with one, it is {known!r}")
    error = unknown("gated activation", name, gated())
    error.add_note(f"softgate.{meant.name} itself, not its name, is applied to a gate.")
    raise error


def unknown(what: str, name: str, known: Iterable[str]) -> ValueError:
    """Return an error that lists the known names and suggests the closest."""
    known = list(known)
    near = get_close_matches(name.casefold(), known, 1)
    meant = f"did you mean {near[0]!r}? " if near else ""
    return ValueError(f"unknown {what} {name!r}; {meant}Choose from: {', '.join(known)}")


def _check_string(activation: Any, such_as: str) -> None:
    if not isinstance(activation, str):
        raise TypeError(
            f"activation is {activation!r}, of type {type(activation).__name__}: expected a name, "
            f"such as {such_as}, or one of softgate's activations"
        )


def matched_width(d_model: int, d_hidden: int, bias: bool = False, multiple_of: int = 1) -> int:
    """Return the width at which a gated block has a plain block's number of parameters.

    Examples
    --------
    >>> matched_width(768, 3072)
    2048
    """
    d_model, d_hidden, multiple_of = check_widths(
        d_model=d_model, d_hidden=d_hidden, multiple_of=multiple_of
    )
    per_unit, per_gated_unit = 2 * d_model + bias, 3 * d_model + 2 * bias
    nearest = max(1, round(d_hidden * per_unit / per_gated_unit))
    return -(-nearest // multiple_of) * multiple_of


def gated_width(
    d_model: int, d_hidden: int | None, bias: bool, match: str | None, multiple_of: int
) -> int:
    """Return the width of a gated block's hidden layer from its arguments, or raise."""
    if match not in (None, "parameters"):
        raise ValueError(f'match = {match!r}: expected "parameters" or None')
    (d_model,) = check_widths(d_model=d_model)
    if d_hidden is None or match:
        plain = 4 * d_model if d_hidden is None else d_hidden
        d_hidden = matched_width(d_model, plain, bias, multiple_of)
    return check_widths(d_hidden=d_hidden)[0]


def head_widths(
    d_model: int, n_heads: int, n_kv_heads: int | None, d_head: int | None
) -> tuple[int, int]:
    """Return the number of key and value heads and the width of a head, or raise."""
    d_model, n_heads = check_widths(d_model=d_model, n_heads=n_heads)
    n_kv = n_heads if n_kv_heads is None else n_kv_heads
    if d_head is None and d_model % n_heads:
        raise ValueError(
            f"d_model = {d_model} is not a multiple of n_heads = {n_heads}: change one of them, "
            "or give d_head"
        )
    width = d_model // n_heads if d_head is None else d_head
    n_kv, width = check_widths(n_kv_heads=n_kv, d_head=width)
    if n_heads % n_kv:
        raise ValueError(f"n_heads = {n_heads} is not a multiple of n_kv_heads = {n_kv_heads}")
    return n_kv, width


def check_widths(**widths: Any) -> tuple[int, ...]:
    """Return positive integers, NumPy's included, as Python integers, or raise.

    Examples
    --------
    >>> import numpy as np
    >>> check_widths(d_model=np.int64(4))
    (4,)
    """
    checked = []
    for name, width in widths.items():
        whole = hasattr(width, "__index__") and not isinstance(width, bool)
        if not whole or operator.index(width) < 1:
            raise ValueError(f"{name} = {width!r}: expected a positive integer")
        checked.append(operator.index(width))
    return tuple(checked)


def check_share(name: str, share: Any) -> float:
    """Return a dropout probability, or raise."""
    if not isinstance(share, Real):
        raise TypeError(
            f"{name} = {share!r} is {a_type(share)}: expected a probability from 0 to 1"
        )
    probability = float(share)
    if not 0 <= probability <= 1:
        raise ValueError(f"{name} = {share!r}: expected a probability from 0 to 1")
    return probability


def check_choice(name: str, choice: str, accepted: tuple[str, ...]) -> str:
    """Return `choice` if it is one of `accepted`, or raise.

    Examples
    --------
    >>> check_choice("norm", "sandwich", ("post", "pre"))
    Traceback (most recent call last):
    ...
    ValueError: norm = 'sandwich': expected "post" or "pre"
    """
    if choice not in accepted:
        known = " or ".join(f'"{word}"' for word in accepted)
        raise ValueError(f"{name} = {choice!r}: expected {known}")
    return choice


def check_mask(
    name: str, shape: tuple[Any, ...], dtype: object, *accepted: tuple[Any, ...]
) -> None:
    """Raise unless a mask has one of the accepted shapes; lengths that are no int are unknown.

    Examples
    --------
    >>> check_mask("attn_mask", (4, 4), "float32", (5, 5), (None, 5, 5))
    Traceback (most recent call last):
    ...
    ValueError: attn_mask has shape (4, 4): expected (5, 5) or (None, 5, 5)
    """
    if "bool" not in str(dtype) and "float" not in str(dtype):
        raise TypeError(f"{name} is {dtype}: expected bool (True: hidden) or numbers to add")
    known = [tuple(n if isinstance(n, int) else None for n in lengths) for lengths in accepted]
    for lengths in known:
        if len(shape) == len(lengths) and all(
            actual == expected or None in (actual, expected)
            for actual, expected in zip(shape, lengths, strict=True)
        ):
            return
    raise ValueError(f"{name} has shape {shape}: expected {' or '.join(map(str, known))}")
