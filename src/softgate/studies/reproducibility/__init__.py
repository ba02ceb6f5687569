"""`check_bits`: whether this machine computes the bits that softgate publishes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import product

from softgate.runtime.activation import Activation
from softgate.runtime.lookup import lookup

from . import gradients
from .digests import (
    DTYPES,
    DigestCase,
    cases,
    catalogue,
    compute,
    digest,
    quick_cases,
    read,
)
from .record import DigestComparison, Reproduction

__all__ = ["DigestComparison", "Reproduction", "check_bits"]


def check_bits(
    *,
    full: bool = False,
    frameworks: str | Sequence[str] = (),
    functions: Mapping[str, Activation] | Iterable[str | Activation] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Reproduction:
    """Compute digests on this machine and compare them with the published ones.

    Parameters
    ----------
    full : bool
        Check every published digest, which takes about half a minute. By default
        the value in float16, bfloat16, float32 and float64 and the float64 backward of every
        function.
    frameworks : str or sequence of str
        Compare also values and gradients as a framework computes them, by its automatic derivative:
        some of torch, torch.compile, jax, tensorflow and keras (on its configured backend), or
        "all" that are installed, which leaves out torch.compile (a minute or two). They have the
        digests of `value` and `backward`, in float16, bfloat16, float32 and float64.
    functions : iterable of str, Activation, or a mapping of str to these, optional
        Names or functions of the catalogue; in a mapping, functions to be compared with the
        digests published for the names. By default the whole catalogue.
    progress : callable, optional
        Called with the number of digests computed and the number of all.

    Returns
    -------
    Reproduction
        A record. `ok` is True where all digests are the published ones; printed, it names the
        function, quantity and dtype of those that are not, and functions without digests.

    Raises
    ------
    ValueError
        If a name is not in the catalogue or no framework, or `functions` is empty.
    ImportError
        If a framework is not installed.
    TypeError
        If `functions` contains anything but names and functions.

    Examples
    --------
    >>> import softgate as sg
    >>> sg.check_bits(functions=["relu", "swiglu"]).ok
    True
    """
    from softgate.runtime.machine import this_machine

    chosen = catalogue() if functions is None else _selected(functions)
    selected = list(cases(chosen) if full else quick_cases(chosen))
    published = read()["bits"]
    comparisons: list[DigestComparison] = []
    names = gradients.chosen(frameworks)
    total = len(selected) + 2 * len(chosen) * len(names) * len(DTYPES)

    def compare(case: DigestCase, computed: str, framework: str = "") -> None:
        function, quantity, dtype = case.name.split(" ", 2)
        expected = published.get(case.name)
        comparison = DigestComparison(function, quantity, dtype, computed, expected, framework)
        comparisons.append(comparison)
        if progress is not None:
            progress(len(comparisons), total)

    for case in selected:
        compare(case, compute(case, chosen[case.function]))
    for framework, dtype in product(names, DTYPES):
        computed = gradients.results(framework, tuple(chosen.values()), dtype)
        for name, (value, slopes) in zip(chosen, computed, strict=True):
            compare(DigestCase(name, "value", dtype), digest(value), framework)
            compare(DigestCase(name, "backward", dtype), digest(*slopes), framework)
    return Reproduction(this_machine().processor, tuple(comparisons))


def _selected(
    functions: Mapping[str, Activation] | Iterable[str | Activation],
) -> dict[str, Activation]:
    """Return the functions to check, by the names of their digests."""
    if isinstance(functions, str | Activation):
        functions = [functions]
    if isinstance(functions, Mapping):
        selected = dict(functions)
    elif isinstance(functions, Iterable):
        selected = dict(map(_named, functions))
    else:
        raise TypeError(f"functions = {functions!r}: expected names or functions of the catalogue")
    if not selected:
        raise ValueError("functions is empty: leave it out to check the whole catalogue")
    for function in selected.values():
        _check_kind(function)
    return selected


def _named(function: str | Activation) -> tuple[str, Activation]:
    """Return the name of a function's digests, if the catalogue has it, and the function."""
    known = catalogue()
    if isinstance(function, str):
        try:
            function = lookup(function)
        except ValueError as error:
            raise ValueError(f"no digests are published for {function!r}: {error}") from None
    _check_kind(function)
    if known.get(function.name, function) is function:
        return function.name, function
    # A bound function has other kernels, and a user's function may have a name of the catalogue.
    parameters = ",".join(f"{name}={value!r}" for name, value in function.parameters.items())
    return f"{function.name}({parameters})", function


def _check_kind(function: object) -> None:
    if not isinstance(function, Activation):
        raise TypeError(
            f"functions contains {function!r}: expected names or functions of the catalogue"
        )
