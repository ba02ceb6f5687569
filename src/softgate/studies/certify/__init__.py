"""`certify`: how exact a callable is, measured as one of our functions."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any

from softgate.runtime.activation import Activation
from softgate.runtime.registry import activations, label

from ..identify import UNKNOWN, identified
from ..properties import named
from ..subjects import Failure, Mistake, Session, Subject, describe, open_session
from ..subjects.session import TIME_LIMIT
from .measure import ORDER, Plan, Progress, Study
from .record import Certificate

QUANTITIES = ("value", "slope", "curvature")
DEFAULT = {"float32": 2_000_000, "float64": 20_000}
"""Inputs of a sample; float64 is measured against arb, one by one."""
FEWEST = 1000
"""Fewer inputs do not reach every exponent."""


def certify(  # noqa: PLR0913  (settings of one study, by keyword)
    subject: str | Callable[..., Any],
    function: str | Activation | None = None,
    *,
    keywords: Mapping[str, Any] | None = None,
    slope: str | Callable[..., Any] | None = None,
    framework: str | None = None,
    quantities: str | Iterable[str] | None = None,
    dtypes: str | Iterable[str] | None = None,
    samples: int | None = None,
    exhaustive: bool = False,
    state: str | os.PathLike[str] | None = None,
    isolated: bool = True,
    time_limit: float = TIME_LIMIT,
    seed: int = 0,
    progress: Progress | None = None,
) -> Certificate:
    """Measure how exact a callable is, and return the certificate.

    float16 and bfloat16 are measured on all 65,536 inputs, float32 on a stratified sample of two
    millions or on all 2**32, float64 on a sample of 20,000 against arb. What is foreign runs in a
    process of its own: a crash, a hang, a wrong shape or dtype or a changed input is a finding.

    Parameters
    ----------
    subject : str or callable
        An activation, a function, an `nn.Module`; or a text: `softgate:gelu`, `module:function`,
        `model.onnx`, one of its nodes as `model.onnx:name`, `./library.so:symbol` with the C type
        void(const T*, T*, size_t).
    function : str or Activation, optional
        What it is measured as, such as "gelu". By default what `identify` finds; ours are measured
        as themselves.
    keywords : mapping, optional
        What a Python function is called with beside the array, or a class made with.
    slope : str or callable, optional
        A second callable for the slope, where the first has no automatic derivative.
    framework : {"numpy", "torch", "jax", "tensorflow", "keras"}, optional
        Whose arrays a Python callable takes, where its module does not tell; NumPy's else.
    quantities, dtypes : str or iterable of str, optional
        Some of value, slope and curvature; of float16, bfloat16, float32 and float64. By default
        all that the subject takes.
    samples : int, optional
        About how many inputs of float32 and float64.
    exhaustive : bool
        Look at all 2**32 inputs of float32's value and slope.
    state : path, optional
        A file that keeps what a sweep over all inputs has found, so that it can go on after an
        interrupt; removed when all is done.
    isolated : bool
        Whether a foreign callable gets a process of its own, which only what can be pickled can.
    time_limit : float
        Seconds that loading it, and then each call, may take there; inf for no limit.
    seed : int
        Of the sample.
    progress : callable, optional
        Called with what is being done, how much of it is done, and how much there is.

    Returns
    -------
    Certificate
        A record: printed, it has a table by region for every quantity and dtype. `failures` holds
        it to a bound, `regressions` to an older one.

    Examples
    --------
    >>> import softgate as sg
    >>> found = sg.certify(sg.gelu, dtypes="float16", quantities="value")
    >>> found.find("value", "float16").rounded_share, found.failures()
    (1.0, ())
    """
    if seed < 0:
        raise ValueError(f"seed = {seed}: expected a whole number from 0 on")
    if state is not None:
        check_state(Path(state), exhaustive)
    described = describe(subject, keywords, slope=slope, framework=framework)
    told = None if function is None else named(function)
    plan = Plan(
        chosen("quantities", quantities, QUANTITIES),
        chosen("dtypes", dtypes, ORDER) or described_dtypes(described),
        counts(samples),
        exhaustive,
        seed,
    )
    if exhaustive:
        check_sweep(plan)
    with ExitStack() as stack:
        session = stack.enter_context(
            open_session(described, isolated=isolated, time_limit=time_limit)
        )
        activation = told or described.ours or found_to_be(session, described, plan)
        alone = None
        if isolated and described.ours is None and hasattr(os, "sched_setaffinity"):
            alone = one_core(stack, described, time_limit)
        study = Study(session, activation, plan, described, alone, progress)
        if state is not None:
            study.keep(Path(state))
        measurements = study.run()
        return Certificate(
            subject=described.shown,
            function=label(activation),
            framework=session.information.framework,
            versions=session.information.versions,
            machine=machine(),
            seed=seed,
            samples=plan.samples,
            measurements=tuple(measurements),
            findings=tuple(study.findings),
            untested=tuple(study.untested),
        )


def found_to_be(session: Session, subject: Subject, plan: Plan) -> Activation:
    """Return the function that a subject computes; Mistake where that is none of the catalogue."""
    dtype = None if plan.dtypes is None else plan.dtypes[0]
    try:
        found = identified(session, subject.shown, dtype)
    except Failure as failure:
        raise Mistake(
            f"{subject.text} does not show what it is ({failure}): say what it is measured as, "
            "such as function='gelu' (--as gelu), and the certificate tells of that too"
        ) from None
    near = found.candidates[0]
    if found.function == UNKNOWN or (found.scale, found.offset) != (1.0, 0.0):
        what = (
            "none of the catalogue" if found.function == UNKNOWN else str(found).partition(":")[2]
        )
        raise Mistake(
            f"{subject.text} computes {what.strip().splitlines()[0]}, nearest is {near.function}: "
            "say what it is measured as, such as function='gelu' (--as gelu)"
        )
    activation = activations()[found.function]
    known = {name: found.parameters[name] for name in activation.parameters}
    return activation.bind(**known) if known else activation


def chosen(
    name: str, given: str | Iterable[str] | None, known: tuple[str, ...]
) -> tuple[str, ...] | None:
    """Return what was asked for in the usual order, None where nothing was."""
    if given is None:
        return None
    asked = [part.strip() for part in given.split(",")] if isinstance(given, str) else list(given)
    for one in asked:
        if one not in known:
            raise ValueError(f"{name} = {one!r}: accepted are {', '.join(known)}")
    if not asked:
        raise ValueError(f"{name} is empty: expected some of {', '.join(known)}")
    return tuple(one for one in known if one in asked)


def counts(samples: int | None) -> dict[str, int]:
    """Return how many inputs are looked at by format."""
    if samples is None:
        return dict(DEFAULT)
    if samples < FEWEST:
        raise ValueError(f"samples = {samples}: expected {FEWEST} or more, to reach every exponent")
    return dict.fromkeys(DEFAULT, samples)


def check_state(file: Path, exhaustive: bool) -> None:
    """Refuse a state that nothing would be kept in."""
    if not exhaustive:
        raise ValueError(f"state = {file}: only a sweep over all inputs (--exhaustive) keeps one")
    if not file.absolute().parent.is_dir():
        raise ValueError(f"state = {file}: there is no folder {file.parent}")


def check_sweep(plan: Plan) -> None:
    """Refuse a sweep over all inputs where none was asked for that has so many."""
    swept = plan.quantities is None or {"value", "slope"} & set(plan.quantities)
    if not swept or (plan.dtypes is not None and "float32" not in plan.dtypes):
        raise ValueError(
            "exhaustive (--exhaustive) is for float32's value and slope, and none of them was "
            "asked for: 16 bits are always looked at whole, float64 and curvatures by samples"
        )


def described_dtypes(subject: Subject) -> tuple[str, ...] | None:
    """Return the format that a C symbol's name ends in; None for what can be asked."""
    return (subject.c_dtype,) if subject.kind == "c" else None


def one_core(stack: ExitStack, subject: Subject, time_limit: float) -> Callable[[], Session]:
    """Return what opens a second session on one core, once and when it is first asked for."""

    @cache
    def open_once() -> Session:
        return stack.enter_context(open_session(subject, time_limit=time_limit, one_core=True))

    return open_once


def machine() -> str:
    """Return what the measurement ran on."""
    from softgate.lower.target import host

    return f"{platform.system()} {platform.machine()}, {host()[0]}"
