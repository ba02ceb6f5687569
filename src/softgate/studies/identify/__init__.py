"""`identify`: the activation that a callable computes, determined from its values."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache, partial
from typing import Any

import numpy as np

from softgate.formula.formats import FORMATS, Format, dtype_of
from softgate.runtime.activation import Activation
from softgate.runtime.registry import activations

from ..subjects import Session, SubjectFailure, describe, open_session, resolved
from ..subjects.session import TIME_LIMIT
from .elementwise import dependence
from .families import Family, Float64s, Observation, points
from .fitting import (
    CLOSE,
    THRESHOLD,
    CandidateValues,
    ClippedFamily,
    FittedFunction,
    Probe,
    neat,
    odds,
    score,
    search,
    with_threshold,
)
from .record import UNKNOWN as UNKNOWN
from .record import Candidate as Candidate
from .record import Identification as Identification

SHOWN = 5
"""The number of candidates reported."""
SEARCHED = 4
"""The number of functions with a search of parameters: the nearest on a coarse grid."""
FAR_OUT = np.array([150.0, 200.0, 300.0, 700.0, 2e3, 1e4, 5e4])
"""Magnitudes beyond those of `points`, where what was identified must still hold."""
FAR_OUT_TOLERANCE = 0.02
"""Above the rounding of 16-bit formats there."""


def identify(
    subject: str | Callable[..., Any],
    *,
    dtype: str | None = None,
    parameters: Mapping[str, Any] | None = None,
    framework: str | None = None,
    among: Iterable[str | Callable[..., Any]] | None = None,
    isolated: bool = False,
    time_limit: float = TIME_LIMIT,
) -> Identification:
    """Find which activation a callable, a module or a model computes, with which parameters.

    Parameters
    ----------
    subject : str or callable
        A function, an `nn.Module` or its class, or a text as `certify` takes it: "gelu",
        "torch.nn.functional.gelu", "file.py:function", "model.onnx", "./library.so:symbol".
    dtype : str, optional
        The dtype it is called with: float32, float64, float16 or bfloat16. By default float32, the
        one that a model takes, or the one in the name of a C function: _f32, _f64, …
    parameters : mapping, optional
        Keyword arguments beside the array.
    framework : str, optional
        The framework whose arrays it takes: numpy, torch, jax, tensorflow or keras. By default that
        of its module; for other code NumPy, or the first framework it imports whose arrays it
        accepts.
    among : iterable of str or callable, optional
        The functions to choose from, user-defined ones too; by default the catalogue without
        entries that equal another one with other parameters, such as prelu and leaky_relu.
    isolated : bool
        Run it in a separate process, so that a crash does not end this one.
    time_limit : float
        Seconds for loading it, and for each call, in that process; inf for no limit.

    Returns
    -------
    Identification
        A record: the function, or `unknown` if none fits, its parameters, a scale and an offset if
        needed, the largest difference, a probability, and the next best candidates. If results
        change with the other elements of an array, or from call to call, it is `unknown` and
        `not_elementwise` says why.

    Examples
    --------
    >>> import numpy as np, softgate as sg
    >>> identification = sg.identify(lambda x: x / (1 + np.exp(-1.702 * x)), dtype="float64")
    >>> identification.function, identification.scale, identification.offset
    ('gelu_sigmoid', 1.0, 0.0)
    >>> sg.identify(lambda x: np.where(x > 0, x, np.float32(0.2) * x)).parameters
    {'slope': 0.2}
    """
    if dtype is not None and dtype not in FORMATS:
        raise ValueError(f"dtype = {dtype!r}: choose from {', '.join(FORMATS)}")
    described = describe(subject, parameters, framework=framework)
    if dtype is None and described.kind == "c":
        dtype = described.c_dtype
    candidates = None if among is None else [resolved.activation(one) for one in among]
    with open_session(described, isolated=isolated, time_limit=time_limit) as session:
        return identified(session, described.shown, dtype, candidates)


def identified(
    session: Session,
    shown: str,
    dtype: str | None = None,
    among: Iterable[Activation] | None = None,
) -> Identification:
    """Return the activation that the subject of a session computes."""
    fmt = _format(session, dtype, shown)
    evaluate = partial(session.evaluate, "value")
    if why := dependence(evaluate, fmt):
        return Identification(
            shown, fmt.name, 0, UNKNOWN, {}, math.inf, 1.0, 0.0, 1.0, (), not_elementwise=why
        )
    return identify_values(evaluate, fmt, shown, among)


def identify_values(
    evaluate: Callable[[Any], Any],
    fmt: Format,
    shown: str,
    among: Iterable[Activation] | None = None,
) -> Identification:
    """Return the activation that `evaluate` computes, an elementwise function of one format."""
    probe = _prober(evaluate, fmt)
    seen = probe(points(fmt).astype(np.float64))
    ranked = rank(seen, probe, among)
    known = ranked[0].holds and not seen.constant and _holds_far_out(ranked[0], probe)
    return _record(shown, seen, ranked, known)


def _holds_far_out(fit: FittedFunction, probe: Probe) -> bool:
    """Return whether a fit holds beyond the points it was made with: a clamp at 200 is no relu.

    Results that are not finite there, or an exception, as of `math.exp`, are no evidence.
    """
    try:
        seen = probe(np.array([*-FAR_OUT, *FAR_OUT]))
    except SubjectFailure:
        return True
    expected = fit.at(seen.x)
    with np.errstate(invalid="ignore"):
        wrong = np.abs(seen.y - expected) > FAR_OUT_TOLERANCE * (1 + np.abs(expected))
    return not np.any(wrong & np.isfinite(seen.y) & np.isfinite(expected))


def is_default(evaluate: Callable[[Any], Any], fmt: Format) -> bool:
    """Return whether an activation with its default parameters is computed; without a search."""
    seen = _prober(evaluate, fmt)(points(fmt).astype(np.float64))
    screen = _screen(_catalogue(), fmt)
    return any(candidate.holds for candidate in screen.plain(seen) if not candidate.affine.free)


def _format(session: Session, dtype: str | None, shown: str) -> Format:
    taken = session.information.dtypes
    if dtype is None:
        dtype = "float32" if taken is None or "float32" in taken else taken[0]
    elif taken is not None and dtype not in taken:
        raise ValueError(f"{shown} takes {', '.join(taken)}: it cannot be called with {dtype}")
    return FORMATS[dtype]


def _prober(evaluate: Callable[[Any], Any], fmt: Format) -> Probe:
    """Return a function that evaluates at numbers rounded to the format."""

    def probe(x: Float64s) -> Observation:
        rounded = np.unique(x.astype(dtype_of(fmt)))
        y = evaluate(rounded)
        return Observation(rounded.astype(np.float64), y.astype(np.float64), fmt)

    return probe


def rank(
    seen: Observation,
    probe: Probe,
    among: Iterable[Activation] | None = None,
) -> list[FittedFunction]:
    """Return the best fit of each function, the best first; the nearest ones if none holds."""
    screen = _screen(_catalogue() if among is None else tuple(among), seen.fmt)
    plain, searched = screen.plain(seen), list[FittedFunction]()
    for kind in ("itself", "both"):
        for start in screen.promising(seen, kind, SEARCHED):
            candidate = search(seen, start)
            if isinstance(candidate.family, ClippedFamily):
                candidate = with_threshold(seen, candidate, probe)
            searched.append(candidate)
        best = max([*plain, *searched], key=score)
        if seen.constant or best.rms <= CLOSE * seen.slack:
            break  # a fitted scale and offset would not be better
    if not best.holds:
        apart = [*screen.distances(seen, plain), *(seen.difference(f.at(seen.x)) for f in searched)]
        fits = [*plain, *searched]
        near = _first_of_each(fits[i] for i in np.argsort(apart, kind="stable"))
        return [neat(seen, candidate) for candidate in near[:SHOWN]]
    ranked = _first_of_each(sorted([*plain, *searched], key=score, reverse=True))[: 2 * SHOWN]
    fits = [neat(seen, _with_late_threshold(seen, candidate, probe)) for candidate in ranked]
    return sorted(fits, key=score, reverse=True)


def _first_of_each(fits: Iterable[FittedFunction]) -> list[FittedFunction]:
    """Return the first fit of each function."""
    first: dict[str, FittedFunction] = {}
    for each in fits:
        first.setdefault(each.family.name, each)
    return list(first.values())


def _with_late_threshold(
    seen: Observation, candidate: FittedFunction, probe: Probe
) -> FittedFunction:
    """Return the fit, with a threshold if one is visible with the fitted scale and offset."""
    if (
        isinstance(candidate.family, ClippedFamily)
        and candidate.holds
        and THRESHOLD not in candidate.values
    ):
        return with_threshold(seen, candidate, probe)
    return candidate


def _catalogue() -> tuple[Activation, ...]:
    """Return the catalogue without entries that equal another one with other parameters."""
    return tuple(a for a in activations().values() if not a.entry.special_case_of)


@lru_cache(maxsize=16)
def _screen(among: tuple[Activation, ...], fmt: Format) -> CandidateValues:
    families = [ClippedFamily(a) if a.name == "softplus" else Family(a) for a in among]
    return CandidateValues(families, points(fmt).astype(np.float64))


def _record(
    subject: str, seen: Observation, ranked: list[FittedFunction], known: bool
) -> Identification:
    chances = odds(ranked)
    candidates = tuple(
        Candidate(
            candidate.family.name,
            {name: float(value) for name, value in candidate.values.items()},
            candidate.affine.scale,
            candidate.affine.offset,
            seen.difference(candidate.at(seen.x)),
            round(chances[i], 4),
        )
        for i, candidate in enumerate(ranked[:SHOWN])
    )
    first = candidates[0]
    return Identification(
        subject=subject,
        dtype=seen.fmt.name,
        points=seen.x.size,
        function=first.function if known else UNKNOWN,
        parameters=first.parameters if known else {},
        max_difference=first.max_difference,
        scale=first.scale if known else 1.0,
        offset=first.offset if known else 0.0,
        confidence=first.confidence if known else 1.0 if seen.constant else round(chances[-1], 4),
        candidates=candidates,
    )
