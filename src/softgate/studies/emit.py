"""`emit`: an activation as source code in C, JavaScript or Triton."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from functools import partial
from importlib import metadata
from textwrap import wrap
from typing import Any

from softgate.catalogue import Entry
from softgate.catalogue.entry import LIMITS
from softgate.formula.formats import FLOAT32, FLOAT64, Format
from softgate.lower.source import RESERVED, Function, Unit
from softgate.runtime import kernels
from softgate.runtime.activation import Activation
from softgate.runtime.kernels import Specification
from softgate.runtime.names import activation as activation_named
from softgate.runtime.registry import activations, gated, label
from softgate.runtime.routes import SMALL_PARAMETER

from . import accuracy

LANGUAGES = {"c": "C99", "js": "JavaScript", "triton": "Triton"}
DTYPES = {
    "c": ("float32", "float64"),
    "js": ("float64",),
    "triton": ("float32", "float64"),
}
"""The formats that each language has."""
DEFAULT_DTYPES = {**DTYPES, "triton": ("float32",)}
"""The formats that are printed by default."""
QUANTITIES = ("value", "slope")
FORMATS = {"float32": FLOAT32, "float64": FLOAT64}
CONTRACT_ULP = 4.0
"""The error bound for all parameters; that of an entry, for the defaults, is smaller."""
WIDTH = 92

LICENCE = (
    "Copyright the softgate authors.",
    "Licensed under the Apache License, Version 2.0: keep this notice with the code.",
    "SPDX-License-Identifier: Apache-2.0",
)

Wanted = Activation | str


def emit(
    activation: Wanted | Iterable[Wanted],
    language: str,
    *,
    dtype: str | None = None,
    quantity: str | None = None,
    form: str | None = None,
    **parameters: float,
) -> str:
    """Return source code that computes an activation and its slope, for use elsewhere.

    The code has the operations of softgate's kernels. Its comments state what it computes, its
    error bound, how to measure that again, and its licence.

    Parameters
    ----------
    activation : Activation, str, or several
        The activations; several are written to one file.
    language : {"c", "js", "triton"}
        C99 with a scalar function and a loop over arrays for each format; JavaScript as an ES
        module, or a script; Triton kernels for the value and for the backward pass.
    dtype : {"float32", "float64"}, optional
        One format only. C has both; JavaScript has float64; Triton's usual one is float32, in which
        it computes 16-bit tensors too.
    quantity : {"value", "slope"}, optional
        Only one of the two.
    form : {"module", "script"}, optional
        The form of JavaScript. A script, for pages without modules, declares one object `softgate`
        with the functions by name, where a module exports them.
    **parameters : float
        Written into the code as numbers. Otherwise an activation of the catalogue takes its
        parameters as arguments, with their defaults where the language has them; in C there are
        functions with the defaults written in and, under names with `_with`, functions that take
        them. Parameters set by `bind` and those of a user's formula are written in too.

    Returns
    -------
    str
        The text of a file.

    Raises
    ------
    ValueError
        For an unknown activation or language, or a format that the language lacks.

    Examples
    --------
    >>> import softgate as sg
    >>> code = sg.emit("relu", "c", dtype="float32", quantity="value")
    >>> print(code[code.index("static"):])
    static inline float softgate_relu_f32(float x)
    {
        return (x < 0.0f) ? 0.0f : x;
    }
    <BLANKLINE>
    void relu_f32(const float *x, float *y, size_t n)
    {
        for (size_t i = 0; i < n; i++)
            y[i] = softgate_relu_f32(x[i]);
    }
    <BLANKLINE>
    >>> "export function leaky_relu(x, slope = 0.01)" in sg.emit("leaky_relu", "js")
    True
    """
    key = _language(language)
    formats = _formats(key, dtype)
    quantities = _one_of("quantity", quantity, QUANTITIES) or QUANTITIES
    printer = _printer(key, form)
    several = isinstance(activation, Iterable) and not isinstance(activation, str)
    functions: list[Any] = list(activation) if several else [activation]  # type: ignore[arg-type]
    if not functions:
        raise ValueError("no activations were given: name at least one, such as gelu")
    for function in functions:
        refuse_gated(function)
    units = [unit(activation_named(f), key, formats, quantities, parameters) for f in functions]
    _check_names(units)
    made = f"Made by softgate {metadata.version('softgate')}. {LICENCE[0]}"
    return printer(units, (made, *LICENCE[1:]))


def refuse_gated(function: object) -> None:
    """Raise ValueError for a gated activation, with the alternative."""
    named = isinstance(function, str)
    name = str(function).partition(":")[0] if named else getattr(function, "name", None)
    gate = gated().get(name) if isinstance(name, str) else None
    if gate is not None:
        act = gate.act.name
        raise ValueError(
            f"{name!r} takes two arrays: emit {act}, and write {gate.entry.formula}; its partials "
            f"are {act}_slope(gate)*other and {act}(gate)"
        )


def unit(
    activation: Activation,
    language: str,
    formats: Sequence[Format],
    quantities: Sequence[str],
    parameters: dict[str, float],
) -> Unit:
    """Return the functions of one activation that are to be printed."""
    bound = activation.bind(**parameters)
    entry = bound.entry
    catalogued = activations().get(entry.name)
    is_catalogued = catalogued is not None and catalogued.entry is entry
    general = bool(entry.parameters) and is_catalogued and not parameters
    folded = not general or language == "c"
    shown = ["backward" if language == "triton" and q == "slope" else q for q in quantities]
    wanted = [(q, fmt, g) for g in (False, True) if (general if g else folded)
              for fmt in formats for q in shown]  # fmt: skip
    functions = [
        _function(entry, q, fmt, general=g, is_catalogued=is_catalogued) for q, fmt, g in wanted
    ]
    functions.sort(key=lambda f: f.widened)  # a function is defined before those that call it
    present = {(f.quantity, f.fmt.name) for f in functions}
    inner = [
        _function(entry, f.quantity, FLOAT64, general=False, is_catalogued=is_catalogued)
        for f in functions
        if (f.widened and (f.quantity, "float64") not in present)
        or (f.arguments and language == "js")
    ]
    return Unit(
        name=entry.name,
        command=_command(bound),
        heading=tuple(_heading(entry, general)),
        functions=tuple(functions),
        gated=accuracy.gate(entry) is not None,
        user_defined=entry.user is not None,
        inner=tuple(inner),
    )


def _function(
    entry: Entry, quantity: str, fmt: Format, *, general: bool, is_catalogued: bool
) -> Function:
    """Return one function; `general` takes its parameters as arguments."""
    widened = fmt is FLOAT32 and _takes_float64(entry) and not general
    arithmetic = FLOAT64 if widened else fmt
    root = kernels.trace(Specification(entry, quantity, arithmetic, arithmetic, not general))
    values = {p.name: p.default for p in entry.parameters}
    constants: dict[str, float] = {}
    if entry.user is not None:
        packed = kernels.pack(entry, values, arithmetic, quantity).tolist()[len(values) :]
        constants = dict(zip(_limits(arithmetic), packed, strict=True))
    bound = None
    if entry.bounds:  # backward has the bound of the slope
        which = "slope" if quantity == "backward" else quantity
        stated = float(getattr(entry.bounds[fmt.name], which))
        bound = stated if is_catalogued and not general else CONTRACT_ULP
    arguments = tuple(values.items()) if general else ()
    return Function(entry.name, quantity, fmt, root, bound, arguments, constants, widened)


def _limits(arithmetic: Format) -> list[str]:
    """Return the names of a formula's limits in the order in which kernels read them."""
    if arithmetic is FLOAT64:
        return list(LIMITS)
    return [part for name in LIMITS for part in (name, f"{name}.lo")]


def _takes_float64(entry: Entry) -> bool:
    """Return whether float32 results are rounded from float64, as in `routes`."""
    if entry.user is not None and not entry.user.fast:
        return True
    return any(0 < abs(p.default) < SMALL_PARAMETER for p in entry.parameters)


def _heading(entry: Entry, general: bool) -> Iterable[str]:
    yield from wrap(f"{entry.name}(x) = {entry.formula}", WIDTH, subsequent_indent="    ")
    for p in entry.parameters:
        accepted = f", a number {p.range}" if p.range and general else ""
        yield f"    {p.name} = {p.default!r}{' by default' if general else ''}{accepted}"
    if entry.paper:
        yield from wrap(entry.paper, WIDTH, subsequent_indent="    ")


def _command(activation: Activation) -> str | None:
    """Return the command-line name of an activation; for a user's formula its module, or None."""
    user = activation.entry.user
    if user is None:
        return label(activation)
    module = vars(sys.modules.get(user.module, object))
    names = [
        name
        for name, value in module.items()
        if isinstance(value, Activation) and value.entry is activation.entry
    ]
    return f"{user.module}:{names[0]}" if names and user.module != "__main__" else None


def _printer(language: str, form: str | None) -> Callable[[Sequence[Unit], Sequence[str]], str]:
    from softgate.lower import c, javascript, triton

    if language == "js":
        chosen = _one_of("form", form, javascript.FORMS) or javascript.FORMS
        return partial(javascript.program, form=chosen[0])
    if form is not None:
        raise ValueError(f"form = {form!r}: {LANGUAGES[language]} has one form; leave it out")
    return {"c": c.program, "triton": triton.program}[language]


def _language(language: str) -> str:
    known = {**{key: key for key in LANGUAGES}, "javascript": "js"}
    key = str(language).lower()
    if key in known:
        return known[key]
    near = get_close_matches(key, known, 1)
    hint = f"; did you mean {known[near[0]]!r}?" if near else ""
    raise ValueError(f"language = {language!r}: expected one of {', '.join(LANGUAGES)}{hint}")


def _formats(language: str, dtype: str | None) -> list[Format]:
    name = None if dtype is None else str(getattr(dtype, "__name__", dtype))
    chosen = _one_of("dtype", name, tuple(FORMATS)) or DEFAULT_DTYPES[language]
    absent = [name for name in chosen if name not in DTYPES[language]]
    if absent:
        raise ValueError(
            f"dtype = {dtype!r}: numbers in {LANGUAGES[language]} are float64; "
            "leave dtype out, or emit c or triton"
        )
    return [FORMATS[name] for name in chosen]


def _one_of(option: str, value: str | None, known: tuple[str, ...]) -> tuple[str, ...] | None:
    if value is None:
        return None
    if value not in known:
        raise ValueError(f"{option} = {value!r}: expected one of {', '.join(known)}, or None")
    return (value,)


def _check_names(units: Sequence[Unit]) -> None:
    """Raise ValueError for names that clash, or that are invalid in one of the languages."""
    names = [unit.name for unit in units]
    labels = Counter(each for unit in units for each in {f.label for f in unit.functions})
    for name in names:
        if not name.isascii():
            raise ValueError(
                f"{name!r} is not a name in these languages, which have the letters a to z: "
                "give the formula another, name='swish'"
            )
        taken = [language for language, words in RESERVED.items() if name in words]
        if taken:
            raise ValueError(
                f"{name!r} is taken in emitted {' and '.join(taken)}: "
                "give the formula another name, name='swish'"
            )
        if names.count(name) > 1:
            raise ValueError(f"{name} was given twice: emit each into a file of its own")
    for twice, times in labels.items():
        if times > 1:
            raise ValueError(
                f"{twice} would stand there twice, as one function and as the slope of another: "
                "emit each into a file of its own"
            )
