"""`compare`: train the same model with each activation and test whether results differ."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable
from typing import Any

from .record import Comparison, Pairs
from .request import ALPHA, ComparisonRequest, FunctionLike
from .run import Progress


def compare(
    what: str | os.PathLike[str] | Callable[..., Any],
    data: Any = None,
    activations: FunctionLike | Iterable[FunctionLike] | None = None,
    *,
    seeds: int | Iterable[int] | None = None,
    lr: float | None = None,
    rates: Iterable[float] | None = None,
    tuning_seeds: int | Iterable[int] | None = None,
    baseline: FunctionLike | None = None,
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
    """Train the same model with each activation, several times, and compare the results.

    For each seed all activations start from the same weights and see the same data in the same
    order. The learning rate of each is chosen on validation data, with separate seeds; test data is
    evaluated once, after training. Verdicts come from an exact sign-flip test of the paired
    differences with Holm's correction; "no detectable difference" is one of them.

    Parameters
    ----------
    what : str or callable
        A bundled task: "digits", "mnist1d", "text", "deep", "swap", "churn", and with `data_dir`
        "mnist" and "fashion-mnist"; or `build(activation)`, which returns a torch
        module; or a training loop `run(activation, seed, report)` as text, "train.py:run" or
        "module:run". A `build` may be written as text too.
    data : optional
        For a `build`: (x, y), a mapping with train, validation and test, an .npz file with x and y,
        or a function that returns them, also as "file.py:data". For text and churn: a file.
    activations : str, callable or several, optional
        Activations to compare: "gelu", "elu:alpha=0.5", "torch.nn.functional.gelu", "swiglu", a
        user's formula, also as "file.py:formula", or a callable. The default depends on the task.
    seeds, tuning_seeds : int or iterable of int, optional
        Number of reported seeds, 8 by default, and of seeds for tuning, 2; or the seeds.
    lr : float, optional
        One learning rate for all, without tuning.
    rates : iterable of float, optional
        Learning rates to tune over, instead of the task's.
    baseline : str or activation, optional
        The activation that others are compared with; the first by default.
    pairs : {"baseline", "all"}
        Compare with the baseline, or all pairs.
    alpha : float
        Significance level: the probability of a false detection, over all comparisons.
    data_dir : path, optional
        Folder of the files of mnist or fashion-mnist.
    preset : str, optional
        A published experiment, "gelu-paper-mnist", for the task mnist or fashion-mnist: sets
        activations, settings, rates and seeds that are not given, and adds its finding to the
        notes.
    store : path, optional
        A folder for the outcomes of trials. Stored trials are not run again: the same call resumes
        an interrupted one, and more seeds only add trials. Trials computed by another version of
        softgate's code are not reused; a note reports them.
    on : str
        "local" processes, "ray", "ray://host:port", or "here": one by one in this process.
    jobs : int, optional
        Number of concurrent trials; the number of cores by default.
    progress : callable, optional
        Called with an `Update` during the run.
    **settings
        Settings of the task, such as epochs=5, width=64, match="flops", init="fitted",
        same="time", seconds=2; a list, layers=[8, 48], makes a condition of each value. For a
        `build`: epochs, batch, loss, score and higher; for a script: further arguments.

    Returns
    -------
    Comparison
        A record: printed it is a summary, `save` draws a figure, `table` has a row per trial.

    Notes
    -----
    Requires torch and more: pip install 'softgate[compare]'. Trials run in other processes, one
    thread each, and are bit-identical wherever they run on the same kind of CPU.

    Examples
    --------
    >>> import softgate as sg
    >>> comparison = sg.compare(
    ...     "digits", activations=["gelu", "relu"], seeds=6, lr=1e-3, epochs=1, width=16, on="here"
    ... )
    >>> comparison.arms, len(comparison.outcomes), comparison.baseline
    (('gelu', 'relu'), 12, 'gelu')
    """
    request = ComparisonRequest(
        what, data, activations, seeds, tuning_seeds, lr, rates, baseline, pairs, alpha, data_dir,
        preset, settings,
    )  # fmt: skip
    study = request.plan()
    if not study.attainable_p.enough:
        warnings.warn(str(study.attainable_p), UserWarning, stacklevel=2)
    return study.run(store, on, jobs, progress)
