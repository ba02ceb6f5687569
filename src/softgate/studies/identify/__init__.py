"""`identify`: the activation that a callable computes, determined from its values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from softgate.formula.formats import FORMATS, Format
from softgate.formula.rounding import dtype_of
from softgate.runtime.activation import Activation
from softgate.runtime.registry import activations

from ..subjects import Session, describe, open_session
from .families import Family, Float64s, Observation, points
from .fitting import (
    CLOSE,
    THRESHOLD,
    Clipped,
    Fit,
    Probe,
    Screen,
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
"""Runners-up that are told of."""
SEARCHED = 4
"""Functions whose parameters are searched for: those that come nearest on a coarse grid."""


def identify(
    subject: str | Callable[..., Any],
    *,
    dtype: str | None = None,
    keywords: Mapping[str, Any] | None = None,
    framework: str | None = None,
    among: Iterable[Activation] | None = None,
    isolated: bool = False,
) -> Identification:
    """Find which activation a callable, a module or a model computes, with which parameters.

    Parameters
    ----------
    subject : str or callable
        A function, an `nn.Module`, or a text as `certify` takes it: `torch.nn.functional:gelu`,
        `model.onnx`, `./library.so:symbol`.
    dtype : str, optional
        float32, float64, float16 or bfloat16: what it is called with. By default float32, the one
        format that a model takes, or what the name of a C function ends in: _f32, _f64, …
    keywords : mapping, optional
        What it is called with beside the array.
    framework : str, optional
        Whose arrays it takes, where its module does not tell: numpy, torch, jax, tensorflow, keras.
    among : iterable of Activation, optional
        The functions to choose from; by default the catalogue. Your own may be there too.
    isolated : bool
        Run it in a process of its own, so that it cannot take this one down.

    Returns
    -------
    Identification
        A record: the function, its parameters, a scale and an offset where they are needed, the
        largest difference, a probability, and the runners-up. `unknown` where nothing fits.

    Examples
    --------
    >>> import numpy as np, softgate as sg
    >>> found = sg.identify(lambda x: x / (1 + np.exp(-1.702 * x)), dtype="float64")
    >>> found.function, found.scale, found.offset
    ('gelu_sigmoid', 1.0, 0.0)
    >>> sg.identify(lambda x: np.where(x > 0, x, np.float32(0.2) * x)).parameters
    {'slope': 0.2}
    """
    if dtype is not None and dtype not in FORMATS:
        raise ValueError(f"dtype = {dtype!r}: accepted are {', '.join(FORMATS)}")
    described = describe(subject, keywords, framework=framework)
    if dtype is None and described.kind == "c":
        dtype = described.c_dtype
    with open_session(described, isolated=isolated) as session:
        return identified(session, described.shown, dtype, among)


def identified(
    session: Session,
    shown: str,
    dtype: str | None = None,
    among: Iterable[Activation] | None = None,
) -> Identification:
    """Find which activation the subject of a session computes."""
    fmt = _format(session, dtype, shown)
    probe = _prober(session, fmt)
    seen = probe(points(fmt).astype(np.float64))
    return _record(shown, seen, rank(seen, probe, among))


def _format(session: Session, dtype: str | None, shown: str) -> Format:
    taken = session.information.dtypes
    if dtype is None:
        dtype = "float32" if taken is None or "float32" in taken else taken[0]
    elif taken is not None and dtype not in taken:
        raise ValueError(f"{shown} takes {', '.join(taken)}: {dtype} was asked for")
    return FORMATS[dtype]


def _prober(session: Session, fmt: Format) -> Probe:
    """Return what calls the subject at numbers rounded to its format."""

    def probe(x: Float64s) -> Observation:
        rounded = np.unique(x.astype(dtype_of(fmt)))
        y = session.evaluate("value", rounded)
        return Observation(rounded.astype(np.float64), y.astype(np.float64), fmt)

    return probe


def rank(
    seen: Observation,
    probe: Probe,
    among: Iterable[Activation] | None = None,
) -> list[Fit]:
    """Return the best fit of each function, the best first; the nearest where none holds."""
    screen = _screen(tuple(activations().values() if among is None else among), seen.fmt)
    plain, searched = screen.plain(seen), list[Fit]()
    for way in ("itself", "both"):
        for start in screen.promising(seen, way, SEARCHED):
            found = search(seen, start)
            if isinstance(found.family, Clipped):
                found = with_threshold(seen, found, probe)
            searched.append(found)
        best = max([*plain, *searched], key=score)
        if seen.constant or best.rms <= CLOSE * seen.slack:
            break  # with a scale and an offset more may fit, and none of it better
    if not best.holds:
        apart = [*screen.distances(seen, plain), *(seen.difference(f.at(seen.x)) for f in searched)]
        fits = [*plain, *searched]
        near = _first_of_each(fits[i] for i in np.argsort(apart, kind="stable"))
        return [neat(seen, found) for found in near[:SHOWN]]
    ranked = _first_of_each(sorted([*plain, *searched], key=score, reverse=True))[: 2 * SHOWN]
    told = [neat(seen, _settled(seen, found, probe)) for found in ranked]
    return sorted(told, key=score, reverse=True)


def _first_of_each(fits: Iterable[Fit]) -> list[Fit]:
    """Return the first fit of each function."""
    found: dict[str, Fit] = {}
    for each in fits:
        found.setdefault(each.family.name, each)
    return list(found.values())


def _settled(seen: Observation, found: Fit, probe: Probe) -> Fit:
    """Return a fit with a threshold that only shows beside the right scale and offset."""
    if isinstance(found.family, Clipped) and found.holds and THRESHOLD not in found.values:
        return with_threshold(seen, found, probe)
    return found


@lru_cache(maxsize=16)
def _screen(among: tuple[Activation, ...], fmt: Format) -> Screen:
    families = [Clipped(a) if a.name == "softplus" else Family(a) for a in among]
    return Screen(families, points(fmt).astype(np.float64))


def _record(subject: str, seen: Observation, ranked: list[Fit]) -> Identification:
    chances = odds(ranked)
    candidates = tuple(
        Candidate(
            found.family.name,
            {name: float(value) for name, value in found.values.items()},
            found.affine.scale,
            found.affine.offset,
            seen.difference(found.at(seen.x)),
            round(chances[i], 4),
        )
        for i, found in enumerate(ranked[:SHOWN])
    )
    first, known = candidates[0], ranked[0].holds and not seen.constant
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
