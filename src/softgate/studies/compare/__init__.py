"""`compare`: train the same model with each activation, and say honestly what differs."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable
from typing import Any

from .record import Comparison, Pairs
from .request import ALPHA, Asked, Named
from .run import Progress


def compare(  # noqa: PLR0913  (settings of one study, by keyword)
    what: str | os.PathLike[str] | Callable[..., Any],
    data: Any = None,
    activations: Named | Iterable[Named] | None = None,
    *,
    seeds: int | Iterable[int] | None = None,
    lr: float | None = None,
    rates: Iterable[float] | None = None,
    tuning_seeds: int | Iterable[int] | None = None,
    baseline: Named | None = None,
    pairs: Pairs = "baseline",
    alpha: float = ALPHA,
    data_dir: str | os.PathLike[str] | None = None,
    preset: str | None = None,
    store: str | os.PathLike[str] | None = None,
    on: str = "local",
    jobs: int | None = None,
    progress: Progress | None = None,
    **settings: Any,
) -> Comparison:
    """Train the same model with each activation, several times, and compare what comes out.

    For each seed all activations start from the same weights and see the same data in the same
    order. The learning rate is chosen for each on validation data, with seeds of its own; test data
    is looked at once, after training. The verdict is that of an exact sign-flip test of the paired
    differences with Holm's correction, and "no detectable difference" is one.

    Parameters
    ----------
    what : str or callable
        A task that comes with softgate: "digits", "mnist1d", "text", "deep", "swap", "churn", and
        with `data_dir` "mnist", "fashion-mnist" and "cifar10"; or `build(activation)`, which
        returns a torch module; or "train.py:run", a function `run(activation, seed, report)` in a
        file of yours.
    data : optional
        For a `build`: (x, y), or a mapping with train, validation and test. For text and churn: a
        file.
    activations : names or activations, optional
        What is compared: "gelu", "elu:alpha=0.5", "swiglu", a formula of your own. By default what
        the task is about.
    seeds, tuning_seeds : int or iterable of int, optional
        How many seeds are reported, 8 by default, and how many choose learning rates, 2; or which.
    lr : float, optional
        One learning rate for all: nothing is tuned.
    rates : iterable of float, optional
        The learning rates to choose from, instead of the task's.
    baseline : str or activation, optional
        What the others are compared with: the first by default.
    pairs : {"baseline", "all"}
        Compare with the baseline, or each with each.
    alpha : float
        The chance of finding a difference where there is none, over all comparisons.
    data_dir : path, optional
        Where the files of mnist, fashion-mnist or cifar10 are.
    preset : str, optional
        A published experiment, "gelu-paper-mnist", for the task mnist or fashion-mnist: its
        activations, settings, rates and seeds, unless others are given, and its finding beside
        yours.
    store : path, optional
        A folder that keeps each trial in a file. What is there already is not trained again, so the
        same call goes on where one was interrupted, and more seeds only add.
    on : str
        "local" processes, "ray", "ray://host:port", or "here", one after the other in this process.
    jobs : int, optional
        How many trials run at a time: as many as there are cores by default.
    progress : callable, optional
        Called with an `Update` now and then.
    **settings
        What the task lets one choose, such as epochs=5, width=64, match="flops", init="fitted",
        same="time", seconds=2; a list, layers=[8, 48], makes a condition of each. For a `build`
        epochs, batch, loss, score and higher; for a script further arguments of its function.

    Returns
    -------
    Comparison
        A record: printed it is a summary, `save` draws it, `table` has a row for each trial.

    Notes
    -----
    Needs torch and more: pip install 'softgate[compare]'. Trials run in other processes, one thread
    each, and give the same bits wherever they run on the same kind of CPU.

    Examples
    --------
    >>> import softgate as sg
    >>> found = sg.compare(
    ...     "digits", activations=["gelu", "relu"], seeds=6, lr=1e-3, epochs=1, width=16, on="here"
    ... )
    >>> found.arms, len(found.outcomes), found.baseline
    (('gelu', 'relu'), 12, 'gelu')
    """
    asked = Asked(
        what, data, activations, seeds, tuning_seeds, lr, rates, baseline, pairs, alpha, data_dir,
        preset, settings,
    )  # fmt: skip
    study = asked.prepared()
    if not study.possible.enough:
        warnings.warn(str(study.possible), UserWarning, stacklevel=2)
    return study.run(store, on, jobs, progress)
