"""A user's formula as an activation: `@sg.activation`."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Collection
from itertools import takewhile
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
"""Names that every activation already uses."""
OF_TWO = frozenset({"axis", "gate"})
"""Keywords that functions of two operands accept besides."""
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

    The function is called once, with an arithmetic `f`, one or two symbolic operands and symbolic
    keywords.
    Python's operators work, including `x**3`, and `f` has exp, expm1, log, log1p, sqrt, tanh,
    sigmoid, softplus, erf, erfc, Phi, phi, sin, cos, atan, abs, where, maximum, minimum, clip,
    relu, sign, square and pi. Write f.where(x > 0, a, b) instead of `if`. Keywords with a default
    are parameters, and may be any finite number.

    Parameters
    ----------
    function : callable
        `function(f, x, **parameters)` or `function(f, a, b, **parameters)`, where only parameters
        have defaults. It returns an expression.
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
    that of IEEE arithmetic; so are all results of a formula of two operands at ±inf. sin and cos
    are accurate up to 3.5e13 (with `fast` in float32: 1.3e5); beyond that they are only guaranteed
    to be between -1 and 1.

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
    >>> @sg.activation
    ... def capped_gate(f, gate, up, limit=7.0):
    ...     return f.sigmoid(gate) * f.minimum(up, limit)
    >>> capped_gate([0.0, 0.0], [4.0, 20.0])
    array([2. , 3.5])
    >>> capped_gate.slope(0.0, 4.0)
    (np.float64(1.0), np.float64(0.5))
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
    operands, parameters = _arguments(function)
    root = trace(function, operands, tuple(p.name for p in parameters))

    def definition(f: ExactArithmetic, *inputs: Node, **symbols: Node) -> Node:
        return replay(root, f, {**dict(zip(operands, inputs, strict=True)), **symbols})

    return composed(
        definition,
        name=called,
        formula=infix(root) if formula is None else formula,
        paper=paper,
        operands=operands,
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
    operands: tuple[str, ...] = ("x",),
    parameters: tuple[Parameter, ...],
    origin: tuple[str, str, str],
    fast: bool,
) -> Entry:
    """Return an entry for a definition; `origin` is its module, qualified name and docstring."""
    composition = Composition(definition, operands, tuple(p.name for p in parameters))
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
        operands=operands,
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


def _arguments(function: Callable[..., Any]) -> tuple[tuple[str, ...], tuple[Parameter, ...]]:
    """Return the names of a formula's operands, and its keywords with their defaults."""
    arguments = list(inspect.signature(function).parameters.values())
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    leading = takewhile(lambda p: p.kind in positional and p.default is p.empty, arguments)
    operands = list(leading)[1:3]  # after f
    if not operands:
        raise FormulaError(
            f"{place(function)}: {function.__name__}{inspect.signature(function)} must begin with "
            f"f and x: write `def {function.__name__}(f, x, …)`, f being the arithmetic whose "
            "functions it uses"
        )
    taken = RESERVED | OF_TWO if len(operands) == 2 else RESERVED
    parameters = tuple(_parameter(function, p, taken) for p in arguments[1 + len(operands) :])
    if len(operands) == 1:
        return ("x",), parameters
    for p in operands:
        if p.name in RESERVED - {"x"}:
            raise FormulaError(
                f"{place(function)}: operand {p.name!r} of {function.__name__}: a call has an "
                f"{p.name!r} already: rename it"
            )
    return tuple(p.name for p in operands), parameters


def _parameter(
    function: Callable[..., Any], p: inspect.Parameter, taken: Collection[str]
) -> Parameter:
    where = f"{place(function)}: parameter {p.name!r} of {function.__name__}"
    if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD, p.POSITIONAL_ONLY):
        raise FormulaError(f"{where}: write every parameter as a keyword, {p.name}=1.0")
    if p.name in taken:
        raise FormulaError(f"{where}: a call has an {p.name!r} already: rename it")
    if p.default is p.empty:
        raise FormulaError(f"{where} has no default: write {p.name}=1.0")
    number = isinstance(p.default, Real) and not isinstance(p.default, bool)
    if not number or not math.isfinite(p.default):
        raise FormulaError(f"{where} has the default {p.default!r}: expected a finite number")
    return Parameter(p.name, float(p.default))
