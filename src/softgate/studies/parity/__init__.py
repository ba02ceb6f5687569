"""`parity`: two models on the same inputs, compared output by output and at every activation.

runners       models of all kinds behind one interface, with torch_runner and keras_runner
variants      the activations with which a model reproduces expected outputs
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any

from ..models.arrays import Arrays, aligned, difference, load_arrays
from .record import ComparedActivation, ComparedOutput
from .record import Parity as Parity
from .runners import ModelRunner, Run, open_runner
from .variants import search

TOLERANCES = {2: 1e-2}
"""Default tolerances by the bytes of the coarsest float among the outputs."""
TOLERANCE = 1e-5
RESULTS = frozenset({"arr_0", "expected", "output", "outputs", "x", "y"})
"""Names of one expected array that is compared with the first output, whatever its name."""
Sized = tuple[int | None, str]
"""The number of elements of an activation, if it was observed, and its function."""
MOST_ALIGNED = 2000
"""The most activations that are aligned; longer sequences are paired by position."""
GAP, OTHER_FUNCTION = 2, 1
"""The costs of an activation without a counterpart, and of one with another function."""


def parity(
    first: Any,
    second: Any = None,
    inputs: Any = None,
    *,
    expected: Any = None,
    tolerance: float | None = None,
    trust: bool = False,
    allow_missing: bool = False,
    progress: Callable[[str, int, int], None] | None = None,
) -> Parity:
    """Compare two models on the same inputs: their outputs, and each activation.

    Activations are identified by their values, as in `scan`, and matched in the order of execution
    by their sizes and functions. A first difference far from the inputs shows where two ports of a
    model separate.

    Parameters
    ----------
    first, second : object, str or path
        Models as in `scan`, in any combination: a `torch.nn.Module` or a Keras model, a Hugging
        Face folder, an .onnx or .keras file; with `trust` also "module:factory", "file.py:factory",
        TorchScript and .pt2.
    inputs : path, mapping or array
        An .npz file, arrays by the names of the inputs, or one array for models with one input. If
        the models have different names for an input, arrays are given under both.
    expected : path, mapping or array, optional
        Expected outputs, in place of `second`: variants of the activations of the first model are
        run, one function for all or chosen individually, until one reproduces them. Arrays have the
        names of the outputs; one array is compared with the first output.
    tolerance : float, optional
        The largest difference relative to the largest magnitude that counts as equal; by default
        1e-5, and 1e-2 for 16-bit outputs.
    trust, allow_missing : bool, default False
        As in `scan`.
    progress : callable, optional
        Called with the variant that runs, its number, and the most variants that may run.

    Returns
    -------
    Parity
        A record: `equal`, `first_difference`, each output and activation with its difference, in
        ulps and relative; for expected outputs `variant`, which reproduces them, or None.

    Raises
    ------
    ValueError
        If a model cannot be read or run on the inputs.

    Examples
    --------
    >>> import torch, softgate as sg
    >>> exact, tanh = (torch.nn.GELU(approximate=form) for form in ("none", "tanh"))
    >>> x = torch.linspace(-3, 3, 64)
    >>> record = sg.parity(exact, tanh, x)
    >>> record.equal, record.first_difference.other_function
    (False, 'gelu_tanh')
    >>> sg.parity(exact, inputs=x, expected=tanh(x)).variant.change
    'gelu -> gelu_tanh'
    """
    if (second is None) == (expected is None):
        raise ValueError("pass a second model, or expected outputs (--expected), and not both")
    if inputs is None:
        raise ValueError("inputs are missing: pass an .npz file (--inputs), a mapping or an array")
    if tolerance is not None and not tolerance >= 0:
        raise ValueError(f"tolerance = {tolerance!r}: expected a number that is not negative")
    arrays = load_arrays(inputs)
    wanted = None if expected is None else load_arrays(expected, "expected")
    with ExitStack() as stack:

        def opened(target: Any) -> ModelRunner:
            runner = open_runner(target, arrays, trust=trust, allow_missing=allow_missing)
            stack.callback(runner.close)
            return runner

        runners = [opened(target) for target in (first, second) if target is not None]
        unused = [name for name in arrays if not any(name in r.inputs for r in runners)]
        if unused and len(arrays) > 1:
            takes = "; ".join(f"{r.name} takes {', '.join(r.inputs)}" for r in runners)
            raise ValueError(
                f"the inputs are {', '.join(arrays)}: {takes}; remove {', '.join(unused)}"
            )
        if wanted is not None:
            return _expected(runners[0], wanted, str(_name(expected)), tolerance, progress)
        return _models(runners[0], runners[1], tolerance)


def _name(expected: Any) -> Any:
    return expected if isinstance(expected, str) or hasattr(expected, "__fspath__") else "expected"


def _models(a: ModelRunner, b: ModelRunner, tolerance: float | None) -> Parity:
    runs = a.run(observe=True), b.run(observe=True)
    outputs, notes = _outputs(runs[0].outputs, runs[1].outputs)
    activations = _activations(a, b, runs)
    if len(a.activations) != len(b.activations):
        notes.append(
            f"{a.name} computes {len(a.activations)} activations, {b.name} {len(b.activations)}"
        )
    differ = [c for c in activations if c.functions_differ]
    if differ:
        pairs = dict.fromkeys(f"{c.function} and {c.other_function}" for c in differ)
        count = (
            "1 activation computes" if len(differ) == 1 else f"{len(differ)} activations compute"
        )
        notes.append(f"{count} different functions: {', '.join(pairs)}")
    return Parity(
        a.name, a.kind, b.name, b.kind, _tolerance(tolerance, runs[0].outputs, runs[1].outputs),
        outputs, activations, (), tuple(notes),
    )  # fmt: skip


def _expected(
    a: ModelRunner,
    wanted: Arrays,
    name: str,
    tolerance: float | None,
    progress: Callable[[str, int, int], None] | None,
) -> Parity:
    actual = a.run().outputs
    general = len(wanted) == 1 and set(wanted) <= RESULTS
    if not general and not set(wanted) <= set(actual):
        raise ValueError(
            f"the expected outputs are {', '.join(wanted)}: {a.name} returns {', '.join(actual)}; "
            "outputs are compared by name"
        )
    allowed = _tolerance(tolerance, actual, wanted)
    outputs, notes = _outputs(actual, wanted)
    variants, more = search(a, actual, wanted, allowed, progress)
    return Parity(a.name, a.kind, name, "expected", allowed, outputs, (), variants, (*notes, *more))


def _tolerance(tolerance: float | None, *outputs: Arrays) -> float:
    if tolerance is not None:
        return tolerance
    floats = [
        array.dtype.itemsize
        for arrays in outputs
        for array in arrays.values()
        if array.dtype.kind in "fV"
    ]
    return TOLERANCES.get(min(floats, default=4), TOLERANCE)


def _outputs(first: Arrays, second: Arrays) -> tuple[tuple[ComparedOutput, ...], list[str]]:
    """Return the outputs of both models in pairs: by name, or else by order."""
    pairs = paired(first, second)
    notes = []
    if len(first) != len(second):
        notes.append(f"{len(first)} and {len(second)} outputs: {len(pairs)} compared")
    if len(pairs) > 1 and any(name != other for name, other in pairs):
        notes.append("the outputs have different names, and are compared in their order")
    compared = []
    for name, other in pairs:
        a = first[name]
        b = aligned(a, second[other])
        apart = None if b is None else difference(a, b)
        compared.append(ComparedOutput(name, other, a.shape, str(a.dtype), apart))
    return tuple(compared), notes


def paired(first: Arrays, second: Arrays) -> list[tuple[str, str]]:
    """Return the names of outputs that belong together; raise ValueError if there are none."""
    if not first or not second:
        raise ValueError("a model has no output that is an array of numbers")
    shared = [(name, name) for name in first if name in second]
    return shared or list(zip(first, second, strict=False))


def _activations(
    a: ModelRunner, b: ModelRunner, runs: tuple[Run, Run]
) -> tuple[ComparedActivation, ...]:
    pairs = match(_sized(a, runs[0]), _sized(b, runs[1]))
    compared = []
    for i, j in pairs:
        x = None if i is None else runs[0].values.get(i)
        y = None if j is None else runs[1].values.get(j)
        moved = None if x is None or y is None else aligned(x, y)
        apart = None if x is None or moved is None else difference(x, moved)
        shown = x if x is not None else y
        compared.append(
            ComparedActivation(
                None if i is None else a.activations[i].path,
                "" if i is None else a.activations[i].label,
                None if j is None else b.activations[j].path,
                "" if j is None else b.activations[j].label,
                () if shown is None else shown.shape,
                apart,
            )
        )
    return tuple(compared)


def _sized(runner: ModelRunner, run: Run) -> list[Sized]:
    """Return the size and the function of each activation."""
    return [
        (run.values[i].size if i in run.values else None, activation.label)
        for i, activation in enumerate(runner.activations)
    ]


def match(first: Sequence[Sized], second: Sequence[Sized]) -> list[tuple[int | None, int | None]]:
    """Return pairs of positions in the order of execution; None where there is no counterpart.

    Counterparts have the same number of elements; those with the same function are preferred. Of
    all alignments of the two sequences, the one with the fewest changes is returned.

    Examples
    --------
    >>> match([(8, "gelu"), (4, "tanh")], [(8, "gelu_tanh"), (8, "relu"), (4, "tanh")])
    [(0, 0), (None, 1), (1, 2)]
    """
    n, m = len(first), len(second)
    if max(n, m) > MOST_ALIGNED:
        return [(i if i < n else None, i if i < m else None) for i in range(max(n, m))]
    # costs[i][j] is that of aligning what follows from i and j on, so that of equal alignments the
    # one with the earliest counterparts is taken.
    costs = [[GAP * (n - i + m - j) for j in range(m + 1)] for i in range(n + 1)]
    for i in reversed(range(n)):
        for j in reversed(range(m)):
            costs[i][j] = min(
                costs[i + 1][j + 1] + _cost(first[i], second[j]),
                costs[i + 1][j] + GAP,
                costs[i][j + 1] + GAP,
            )
    pairs: list[tuple[int | None, int | None]] = []
    i = j = 0
    while i < n or j < m:
        if i < n and j < m and costs[i][j] == costs[i + 1][j + 1] + _cost(first[i], second[j]):
            pairs.append((i, j))
            i, j = i + 1, j + 1
        elif i < n and costs[i][j] == costs[i + 1][j] + GAP:
            pairs.append((i, None))
            i += 1
        else:
            pairs.append((None, j))
            j += 1
    return pairs


def _cost(a: Sized, b: Sized) -> int:
    if a[0] is not None and b[0] is not None and a[0] != b[0]:
        return 2 * GAP + 1  # never chosen: two gaps cost less
    return 0 if a[1] == b[1] else OTHER_FUNCTION
