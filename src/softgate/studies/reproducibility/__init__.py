"""`check_bits`: whether this machine computes the bits that softgate publishes."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from .digests import Case, cases, catalogue, compute, quick_cases, read
from .inputs import Function
from .record import Comparison, Reproduction

__all__ = ["Comparison", "Reproduction", "check_bits"]


def check_bits(
    *,
    full: bool = False,
    functions: Mapping[str, Function] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Reproduction:
    """Compute digests on this machine and compare them with the published ones.

    Parameters
    ----------
    full : bool
        Check every published digest, which takes about half a minute. By default
        the float32 value and the float64 backward of every function.
    functions : mapping of str to Activation or Gated, optional
        What to check, by the names of the catalogue. By default the whole catalogue.
    progress : callable, optional
        Called with the number of digests computed and the number of all.

    Returns
    -------
    Reproduction
        A record. `ok` is True where all digests are the published ones; printed, it names the
        function, quantity and dtype of those that are not.

    Examples
    --------
    >>> import softgate as sg
    >>> sg.check_bits(functions={"relu": sg.relu}).ok
    True
    """
    from softgate.runtime.machine import this_machine

    chosen = catalogue() if functions is None else functions
    selected = list(cases(chosen) if full else quick_cases(chosen))
    published = read()["bits"]
    comparisons = []
    for i, case in enumerate(selected):
        computed = compute(case, chosen[case.function])
        comparisons.append(_comparison(case, computed, published.get(case.name)))
        if progress is not None:
            progress(i + 1, len(selected))
    return Reproduction(this_machine().processor, tuple(comparisons))


def _comparison(case: Case, computed: str, expected: str | None) -> Comparison:
    function, quantity, dtype = case.name.split(" ", 2)
    return Comparison(function, quantity, dtype, computed, expected)
