"""A user's formula as an activation: `@sg.activation`."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from numbers import Real
from typing import Any, overload

from softgate.catalogue.entry import Entry, Parameter
from softgate.formula.arithmetic import ExactArithmetic
from softgate.formula.graph import FormulaError, Node
from softgate.formula.trace import UserFormula, place, replay, trace
from softgate.lower.compose import Composition
from softgate.lower.notation import infix
from softgate.records.text import a_type

from .activation import Activation
from .dispatch import UFUNC_OPTIONS

RESERVED = frozenset({"x", "grad", "out", "arithmetic", *UFUNC_OPTIONS})
"""Keywords that every activation already accepts."""
INTERVALS = ((-1.0, 1.0), (-20.0, 20.0))


@overload
def activation(function: Callable[..., Any], /) -> Activation: ...


@overload
def activation(
    *, name: str | None = None, formula: str | None = None, paper: str = "", fast: bool = False
) -> Callable[[Callable[..., Any]], Activation]: ...


def activation(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    formula: str | None = None,
    paper: str = "",
    fast: bool = False,
) -> Activation | Callable[[Callable[..., Any]], Activation]:
    """Make an activation from a formula: kernels in every format, slope and curvature included.

    The function is called once, with an arithmetic `f`, a symbolic `x` and symbolic keywords.
    Python's operators work, including `x**3`, and `f` has exp, expm1, log, log1p, sqrt, tanh,
    sigmoid, softplus, erf, erfc, Phi, phi, sin, cos, atan, abs, where, maximum, minimum, clip,
    relu, sign, square and pi. Write f.where(x > 0, a, b) instead of `if`. Keywords with a default
    are parameters, and may be any finite number.

    Parameters
    ----------
    function : callable
        `function(f, x, **parameters)`, returning an expression.
    name : str, optional
        The name of the activation; by default that of the function.
    formula, paper : str, optional
        Shown in the docstring; by default the formula is that of the traced expression.
    fast : bool
        Compute float32 in float32. Otherwise it is computed in float64 and rounded once.

    Returns
    -------
    Activation
        Called like those of the catalogue, but not added to it.

    Raises
    ------
    FormulaError
        If Python branches or loops on a value, or a function is not one of `f`; the message has the
        file, the line and what to write instead.

    Notes
    -----
    The formula is computed as written, except for identities that avoid cancellation or overflow
    in terms such as 1/(1 + exp(-x)), log(1 + exp(x)) and 1 + erf(x). Other differences may cancel,
    which reduces the accuracy of float64. Results at ±inf are the formula's limits, NaN where it
    has none. If a part of the formula overflows at a finite x (float64: above 1e308), the result is
    that of IEEE arithmetic. sin and cos are accurate up to 3.5e13 (with `fast` in float32: 1.3e5);
    beyond that they are only guaranteed to be between -1 and 1.

    Examples
    --------
    >>> import numpy as np, softgate as sg
    >>> @sg.activation
    ... def snake(f, x, a=1.0):
    ...     return x + (1 - f.cos(2 * a * x)) / (2 * a)
    >>> snake
    <...snake(x, a=1) = x + (1 - cos(2*a*x))/(2*a)>
    >>> snake(np.array([-np.inf, 0.0, 1.0], np.float32))
    array([     -inf, 0.       , 1.7080734], dtype=float32)
    >>> snake.slope([0.0, 1.0], a=0.5)
    array([1.        , 1.84147098])
    """

    def make(function: Callable[..., Any]) -> Activation:
        return Activation(_entry(function, name, formula, paper, fast))

    return make if function is None else make(function)


def _entry(
    function: Callable[..., Any], name: str | None, formula: str | None, paper: str, fast: bool
) -> Entry:
    if not inspect.isfunction(function):
        raise TypeError(
            f"{function!r} is {a_type(function)}: expected a function of f and x, "
            "as in `def swish(f, x): return x*f.sigmoid(x)`"
        )
    called = function.__name__ if name is None else name
    if not called.isidentifier():
        raise ValueError(
            f"{place(function)}: {called!r} is not an identifier: give one, name='swish'"
        )
    parameters = _parameters(function)
    names = tuple(p.name for p in parameters)
    root = trace(function, names)

    def definition(f: ExactArithmetic, x: Node, **symbols: Node) -> Node:
        return replay(root, f, {"x": x, **symbols})

    return composed(
        definition,
        name=called,
        formula=infix(root) if formula is None else formula,
        paper=paper,
        parameters=parameters,
        origin=(function.__module__, function.__qualname__, inspect.getdoc(function) or ""),
        fast=fast,
    )


def composed(
    definition: Callable[..., Node],
    *,
    name: str,
    formula: str,
    paper: str,
    parameters: tuple[Parameter, ...],
    origin: tuple[str, str, str],
    fast: bool,
) -> Entry:
    """Return an entry for a definition; `origin` is its module, qualified name and docstring."""
    composition = Composition(definition, tuple(p.name for p in parameters))
    module, qualname, doc = origin
    return Entry(
        name=name,
        formula=formula,
        paper=paper,
        definition=definition,
        value=composition.form("value"),
        slope=composition.form("slope"),
        curvature=composition.form("curvature"),
        bounds={},
        intervals=INTERVALS,
        parameters=parameters,
        user=UserFormula(
            module=module,
            qualname=qualname,
            doc=doc,
            limits=composition.limits,
            fast=fast,
            defaults=tuple((p.name, p.default) for p in parameters),
        ),
    )


def _parameters(function: Callable[..., Any]) -> tuple[Parameter, ...]:
    """Return the keywords of a formula with their defaults."""
    arguments = list(inspect.signature(function).parameters.values())
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    first = arguments[:2]
    if len(first) < 2 or any(p.kind not in positional or p.default is not p.empty for p in first):
        raise FormulaError(
            f"{place(function)}: {function.__name__}{inspect.signature(function)} must begin with "
            f"f and x: write `def {function.__name__}(f, x, …)`, f being the arithmetic whose "
            "functions it uses"
        )
    return tuple(_parameter(function, p) for p in arguments[2:])


def _parameter(function: Callable[..., Any], p: inspect.Parameter) -> Parameter:
    where = f"{place(function)}: parameter {p.name!r} of {function.__name__}"
    if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD, p.POSITIONAL_ONLY):
        raise FormulaError(f"{where}: write every parameter as a keyword, {p.name}=1.0")
    if p.name in RESERVED:
        raise FormulaError(f"{where}: a call has an {p.name!r} already: rename it")
    if p.default is p.empty:
        raise FormulaError(f"{where} has no default: write {p.name}=1.0")
    number = isinstance(p.default, Real) and not isinstance(p.default, bool)
    if not number or not math.isfinite(p.default):
        raise FormulaError(f"{where} has the default {p.default!r}: expected a finite number")
    return Parameter(p.name, float(p.default))
