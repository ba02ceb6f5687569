"""`certify`: the errors of a callable, measured as one function of the catalogue."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any

from softgate.runtime.activation import Activation
from softgate.runtime.registry import label

from .. import Progress
from ..identify import UNKNOWN, identified
from ..subjects import (
    InvalidSubjectError,
    Session,
    Subject,
    SubjectFailure,
    describe,
    open_session,
    resolved,
)
from ..subjects.session import TIME_LIMIT
from .measure import ORDER, CertifyPlan, CertifyRun
from .record import Certificate

QUANTITIES = ("value", "slope", "curvature")
DEFAULT = {"float32": 2_000_000, "float64": 20_000}
"""Inputs of a sample; float64 is measured against arb, one by one."""
FEWEST = 1000
"""Fewer inputs do not reach every exponent."""


def certify(
    subject: str | Callable[..., Any],
    reference: str | Callable[..., Any] | None = None,
    *,
    parameters: Mapping[str, Any] | None = None,
    slope: str | Callable[..., Any] | None = None,
    framework: str | None = None,
    quantity: str | Iterable[str] | None = None,
    dtype: str | Iterable[str] | None = None,
    samples: int | None = None,
    exhaustive: bool = False,
    state: str | os.PathLike[str] | None = None,
    isolated: bool = True,
    time_limit: float = TIME_LIMIT,
    seed: int = 0,
    progress: Progress | None = None,
) -> Certificate:
    """Measure the errors of a callable, and return the certificate.

    float16 and bfloat16 are measured at all 65,536 inputs, float32 at a stratified sample of two
    million or at all 2**32, float64 at a sample of 20,000 against arb, with a search for larger
    errors around its largest ones. Callables other than
    softgate's run in a separate process: a crash, a hang, a wrong shape or dtype or a changed input
    is a finding.

    Parameters
    ----------
    subject : str or callable
        An activation, a function, an `nn.Module` or its class; or a text: "gelu",
        "torch.nn.functional.gelu", "module:function", "file.py:function", "model.onnx", one of its
        nodes as "model.onnx:name", "./library.so:symbol" with the C type
        void(const T*, T*, size_t).
    reference : str or callable, optional
        The function it is measured as, such as "gelu". By default the one that `identify` finds;
        softgate's activations are measured as themselves.
    parameters : mapping, optional
        Keyword arguments of a Python function beside the array, or of a class.
    slope : str or callable, optional
        A second callable for the slope, where the first has no automatic derivative.
    framework : {"numpy", "torch", "jax", "tensorflow", "keras"}, optional
        The framework whose arrays a Python callable takes. By default that of its module; for
        other code NumPy, or the first framework it imports whose arrays it accepts.
    quantity, dtype : str or iterable of str, optional
        Some of value, slope and curvature; of float16, bfloat16, float32 and float64. By default
        all that the subject supports.
    samples : int, optional
        The approximate number of float32 and of float64 inputs.
    exhaustive : bool
        Measure float32's value and slope at all 2**32 inputs.
    state : path, optional
        A file with the state of a sweep over all inputs, from which it resumes after an interrupt;
        removed when the sweep has ended.
    isolated : bool
        Run a callable other than softgate's in a separate process; it must be picklable.
    time_limit : float
        Seconds for loading it, and for each call, in that process; inf for no limit.
    seed : int
        Seed of the sample.
    progress : callable, optional
        Called with the measurement's name, the number of inputs done, and their total.

    Returns
    -------
    Certificate
        A record: printed, it has a table by region for every quantity and dtype. `failures` checks
        it against a bound, `regressions` against an older certificate.

    Examples
    --------
    >>> import softgate as sg
    >>> certificate = sg.certify(sg.gelu, dtype="float16", quantity="value")
    >>> certificate.find("value", "float16").rounded_share, certificate.failures()
    (1.0, ())
    """
    if seed < 0:
        raise ValueError(f"seed = {seed}: expected a whole number from 0 on")
    if state is not None:
        check_state(Path(state), exhaustive)
    described = describe(subject, parameters, slope=slope, framework=framework)
    measured_as = None if reference is None else resolved.activation(reference)
    named = (described.c_dtype,) if described.kind == "c" else None  # by the C symbol
    plan = CertifyPlan(
        chosen("quantity", quantity, QUANTITIES),
        chosen("dtype", dtype, ORDER) or named,
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
        activation = measured_as or described.ours or identified_as(session, described, plan)
        alone = None
        if isolated and described.ours is None and hasattr(os, "sched_setaffinity"):
            alone = one_core(stack, described, time_limit)
        own = described.ours
        if own is None and measured_as is None and described.in_softgate:
            own = activation  # of softgate.torch, for example: the bounds hold there too
        study = CertifyRun(session, activation, plan, described, alone, progress, own)
        if state is not None:
            study.save_to(Path(state))
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


def identified_as(session: Session, subject: Subject, plan: CertifyPlan) -> Activation:
    """Return the function that a subject computes; raise InvalidSubjectError without one."""
    dtype = None if plan.dtypes is None else plan.dtypes[0]
    try:
        identification = identified(session, subject.shown, dtype)
    except SubjectFailure as failure:
        raise InvalidSubjectError(
            f"{subject.text} could not be identified ({failure}): name the function it is measured "
            "as, such as reference='gelu' (--reference gelu); the certificate then reports this "
            "failure"
        ) from None
    if identification.not_elementwise:
        raise InvalidSubjectError(
            f"{subject.text} is {identification.not_elementwise}: expected a function whose "
            "results depend on their own inputs alone"
        )
    activation = identification.activation
    if activation is None:
        known = identification.function != UNKNOWN
        computed = identification.answer if known else "no function of the catalogue"
        raise InvalidSubjectError(
            f"{subject.text} computes {computed}, the nearest is "
            f"{identification.candidates[0].function}: name the function it is measured as, such "
            "as reference='gelu' (--reference gelu)"
        )
    return activation


def chosen(
    name: str, names: str | Iterable[str] | None, known: tuple[str, ...]
) -> tuple[str, ...] | None:
    """Return `names` in the order of `known`, or None; raise ValueError for unknown names."""
    if names is None:
        return None
    wanted = [part.strip() for part in names.split(",")] if isinstance(names, str) else list(names)
    for item in wanted:
        if item not in known:
            raise ValueError(f"{name} = {item!r}: choose from {', '.join(known)}")
    if not wanted:
        raise ValueError(f"{name} is empty: choose from {', '.join(known)}")
    return tuple(item for item in known if item in wanted)


def counts(samples: int | None) -> dict[str, int]:
    """Return the number of sampled inputs by format."""
    if samples is None:
        return dict(DEFAULT)
    if samples < FEWEST:
        raise ValueError(f"samples = {samples}: expected {FEWEST} or more, to reach every exponent")
    return dict.fromkeys(DEFAULT, samples)


def check_state(file: Path, exhaustive: bool) -> None:
    """Raise ValueError for a state file that would not be used or cannot be written."""
    if not exhaustive:
        raise ValueError(f"state = {file}: only a sweep over all inputs (--exhaustive) has a state")
    if not file.absolute().parent.is_dir():
        raise ValueError(f"state = {file}: there is no folder {file.parent}")


def check_sweep(plan: CertifyPlan) -> None:
    """Raise ValueError if nothing to measure has a sweep over all inputs."""
    swept = plan.quantities is None or {"value", "slope"} & set(plan.quantities)
    if not swept or (plan.dtypes is not None and "float32" not in plan.dtypes):
        raise ValueError(
            "exhaustive (--exhaustive) applies to float32's value and slope, and neither is to be "
            "measured: 16-bit formats always use all inputs, float64 and curvatures a sample"
        )


def one_core(stack: ExitStack, subject: Subject, time_limit: float) -> Callable[[], Session]:
    """Return a function that opens a one-core session on its first call and returns it."""

    @cache
    def open_once() -> Session:
        return stack.enter_context(open_session(subject, time_limit=time_limit, one_core=True))

    return open_once


def machine() -> str:
    """Return the system and the CPU of this machine."""
    from softgate.lower.target import host

    return f"{platform.system()} {platform.machine()}, {host()[0]}"
