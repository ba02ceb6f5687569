"""`emit`: functions as source code in other languages, or as ONNX models."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from importlib import metadata
from textwrap import wrap
from typing import Any, Literal, overload

from softgate.catalogue import Entry
from softgate.formula.formats import FLOAT32, FLOAT64, FORMATS, Format
from softgate.formula.trace import LIMITS
from softgate.lower.emit import LANGUAGES
from softgate.lower.emit.language import EmittedActivation, EmittedFunction, Language
from softgate.runtime import kernels
from softgate.runtime.activation import Activation
from softgate.runtime.kernels import Specification
from softgate.runtime.registry import functions as catalogue
from softgate.runtime.registry import label
from softgate.runtime.routes import SMALL_PARAMETER

from . import accuracy
from .certify import chosen
from .subjects import resolved

QUANTITIES = ("value", "slope", "backward")
ONCE_ULP, UNFUSED_ULP = 0.51, 5.0
"""Error bounds without fma: results rounded once from float64, and float64."""
WIDTH = 92
GATED_NOTES = (
    "The bounds hold where the activation of the gate is a normal number; where it is subnormal,",
    "its rounding error times the other operand comes on top.",
)

LICENCE = (
    "Copyright the softgate authors.",
    "Licensed under the Apache License, Version 2.0: keep this notice with the code.",
    "SPDX-License-Identifier: Apache-2.0",
)

Wanted = str | Callable[..., Any]


@overload
def emit(
    activation: Wanted | Iterable[Wanted],
    language: Literal["onnx"],
    *,
    dtype: str | None = None,
    quantity: str | Iterable[str] | None = None,
    form: str | None = None,
    **parameters: float,
) -> Any: ...


@overload
def emit(
    activation: Wanted | Iterable[Wanted],
    language: str,
    *,
    dtype: str | None = None,
    quantity: str | Iterable[str] | None = None,
    form: str | None = None,
    **parameters: float,
) -> str: ...


def emit(
    activation: Wanted | Iterable[Wanted],
    language: str,
    *,
    dtype: str | None = None,
    quantity: str | Iterable[str] | None = None,
    form: str | None = None,
    **parameters: float,
) -> Any:
    """Return source code that computes functions and their derivatives, for use elsewhere.

    The code has the operations of softgate's kernels. Its comments state what it computes, its
    error bound, how to measure that again, and its licence.

    Parameters
    ----------
    activation : str, callable, or several
        Activations and gated activations; several are written to one file. A gated one takes two
        operands, `a` and `b`, and has a slope for each.
    language : str
        One of those that `softgate emit --help` lists, such as "c", "js" or "onnx".
    dtype : {"float32", "float64", "float16"}, optional
        One format only, of those that the language has.
    quantity : {"value", "slope", "backward"}, or several, optional
        What is computed: backward is the slope times `grad`, an operand more. By default value and
        slope, in Triton value and backward, in ONNX the value.
    form : {"module", "script", "model", "function"}, optional
        The form of JavaScript and of ONNX. A script, for pages without modules, declares one object
        `softgate` with the functions by name, where a module exports them. The graph of a "model"
        consists of standard operators; in the form "function" they are local functions of the
        domain `softgate`, for operands of any shape, and the graph calls these.
    **parameters : float
        Written into the code as numbers. Otherwise a function of the catalogue takes its
        parameters as arguments, with their defaults where the language has them; in C and its
        dialects there are functions with the defaults written in and, under names with `_with`,
        functions that take them; in ONNX the defaults are written in. Parameters set by `bind` and
        those of a user's formula are written in too.

    Returns
    -------
    str or onnx.ModelProto
        The text of a file; the model for ONNX, which `onnx.save` writes.

    Raises
    ------
    ValueError
        For an unknown function, language, format or quantity, or a format that the language lacks.
    ImportError
        For ONNX, if the package onnx is not installed.

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
    >>> "export function swiglu(a, b, beta = 1)" in sg.emit("swiglu", "js")
    True
    """
    chosen_language = _language(language)
    formats = _formats(chosen_language, dtype)
    quantities = chosen("quantity", quantity, QUANTITIES) or chosen_language.default_quantities
    form = _form(chosen_language, form)
    functions = [resolved.function(spelled) for spelled in resolved.several(activation)]
    if not functions:
        raise ValueError("no functions were passed: name at least one, such as gelu")
    units = [unit(f, chosen_language, formats, quantities, parameters) for f in functions]
    _check_names(units)
    made = f"Made by softgate {metadata.version('softgate')}. {LICENCE[0]}"
    return chosen_language.program(units, (made, *LICENCE[1:]), form)


def unit(
    function: Activation,
    language: Language,
    formats: Sequence[Format],
    quantities: Sequence[str],
    parameters: dict[str, float],
) -> EmittedActivation:
    """Return the functions of one activation that are to be printed."""
    bound = function.bind(**parameters)
    entry = bound.entry
    catalogued = catalogue().get(entry.name)
    is_catalogued = catalogued is not None and catalogued.entry is entry
    takes = is_catalogued and not parameters and language.parameters != "defaults"
    general = bool(entry.parameters) and takes
    folded = not general or language.parameters == "both"

    def printed(quantity: str, fmt: Format, general: bool) -> EmittedFunction:
        return _function(
            entry, quantity, fmt, general=general, is_catalogued=is_catalogued, fused=language.fused
        )

    functions = [printed(q, fmt, g) for g in (False, True) if (general if g else folded)
                 for fmt in formats for q in quantities]  # fmt: skip
    functions.sort(key=lambda f: f.widened)  # a function is defined before those that call it
    present = {(f.quantity, f.fmt.name) for f in functions}
    inner = [
        printed(f.quantity, FLOAT64, False)
        for f in functions
        if (f.widened and (f.quantity, "float64") not in present)
        or (f.arguments and language.parameters == "inner")
    ]
    gated_notes = () if entry.gating is None else GATED_NOTES
    return EmittedActivation(
        name=entry.name,
        command=_command(bound) if bound.nin == 1 else None,
        heading=tuple(_heading(entry, general)),
        functions=tuple(functions),
        gated=entry.nin == 1 and accuracy.gate(entry) is not None,
        notes=(*_ranges(entry, formats, general), *gated_notes),
        user_defined=entry.user is not None,
        inner=tuple(inner),
    )


def _function(
    entry: Entry,
    quantity: str,
    fmt: Format,
    *,
    general: bool,
    is_catalogued: bool,
    fused: bool,
) -> EmittedFunction:
    """Return one function; `general` takes its parameters as arguments.

    Without fma it is computed in float64, and its results are rounded to `fmt`.
    """
    widened = fused and fmt is FLOAT32 and _takes_float64(entry) and not general
    arithmetic = FLOAT64 if widened or not fused else fmt
    kernel = Specification(entry, quantity, arithmetic, arithmetic, not general)
    roots = kernels.traced(kernel, fused)
    values = {p.name: p.default for p in entry.parameters}
    constants: dict[str, float] = {}
    if kernels.has_limits(entry):
        packed = kernels.pack(entry, values, arithmetic, quantity).tolist()[len(values) :]
        constants = dict(zip(_limits(arithmetic), packed, strict=True))
    bound = None
    which = "slope" if quantity == "backward" else quantity  # backward has the bound of the slope
    stated_for = fmt.name if fused else FLOAT64.name
    if entry.bounds and is_catalogued and not general:
        bound = float(getattr(entry.bounds[stated_for], which))
    elif entry.bounds:
        bound = entry.bound(which, stated_for, None if general else values)
    if not fused and bound is not None:
        bound = UNFUSED_ULP if fmt is FLOAT64 else ONCE_ULP
        if is_catalogued and all(getattr(stated, which) == 0 for stated in entry.bounds.values()):
            bound = 0.0
        elif which == "slope" and entry.nin == 1 and accuracy.gate(entry) is not None:
            bound = max(bound, 2 * ONCE_ULP)  # the scale may be half the slope
    inputs = tuple((name, name) for name in entry.inputs(quantity))
    outputs = ("y",) if len(roots) == 1 else tuple(f"d{name}" for name in entry.operands)
    return EmittedFunction(
        name=entry.name,
        quantity=quantity,
        fmt=fmt,
        roots=roots,
        bound=bound,
        inputs=inputs,
        outputs=outputs,
        arguments=tuple(values.items()) if general else (),
        constants=constants,
        widened=widened,
    )


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
    formulas = [f"{entry.name}({', '.join(entry.operands)}) = {entry.formula}"]
    if entry.gating is not None and entry.gating.factor is None:
        activation = entry.gating.activation
        formulas += [f"{activation.name}(x) = {activation.formula}"]
    for formula in formulas:
        yield from wrap(formula, WIDTH, subsequent_indent="    ")
    for p in entry.parameters:
        accepted = f", a number {p.range}" if p.range and general else ""
        yield f"    {p.name} = {p.default!r}{' by default' if general else ''}{accepted}"
    if entry.paper:
        yield from wrap(entry.paper, WIDTH, subsequent_indent="    ")


def _ranges(entry: Entry, formats: Sequence[Format], general: bool) -> Iterable[str]:
    """Return the parameters for which the bounds of functions that take them hold, if not all."""
    if general:
        for name, where in entry.bounded_where.items():
            if name in {fmt.name for fmt in formats}:
                yield f"Other parameters: the bounds of {name} hold where {where.text}."


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


def _language(spelled: str) -> Language:
    key = str(spelled).lower()
    known = {name: each for each in LANGUAGES.values() for name in (each.name, *each.spellings)}
    if key in known:
        return known[key]
    near = get_close_matches(key, known, 1)
    hint = f"; did you mean {known[near[0]].name!r}?" if near else ""
    raise ValueError(f"language = {spelled!r}: expected one of {', '.join(LANGUAGES)}{hint}")


def _formats(language: Language, dtype: str | None) -> list[Format]:
    name = None if dtype is None else str(getattr(dtype, "__name__", dtype))
    if name is not None and name not in language.dtypes:
        others = [key for key, other in LANGUAGES.items() if name in other.dtypes]
        instead = f", or emit {' or '.join(others)}" if others else ""
        raise ValueError(
            f"dtype = {name!r}: {language.title} is emitted in {' and '.join(language.dtypes)}; "
            f"choose one of these or leave dtype out{instead}"
        )
    return [FORMATS[name] for name in ((name,) if name else language.default_dtypes)]


def _form(language: Language, form: str | None) -> str:
    if form is not None and not language.forms:
        raise ValueError(f"form = {form!r}: {language.title} has one form; leave it out")
    if form is not None and form not in language.forms:
        raise ValueError(f"form = {form!r}: expected one of {', '.join(language.forms)}, or None")
    return form or next(iter(language.forms), "")


def _check_names(units: Sequence[EmittedActivation]) -> None:
    """Raise ValueError for names that clash, or that are invalid in one of the languages."""
    names = [unit.name for unit in units]
    labels = Counter(each for unit in units for each in {f.label for f in unit.functions})
    for name in names:
        if not name.isascii():
            raise ValueError(
                f"{name!r} is not a name in these languages, which have the letters a to z: "
                "give the formula another, name='swish'"
            )
        taken = [language.title for language in LANGUAGES.values() if name in language.words]
        if taken:
            raise ValueError(
                f"{name!r} is taken in emitted {', '.join(taken)}: "
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
