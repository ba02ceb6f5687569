"""Eight layers of 128 units that learn scikit-learn's digits, watched in every step."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib import import_module
from itertools import pairwise
from typing import TYPE_CHECKING

from .units import Progress, UnitStudy, Watched

if TYPE_CHECKING:
    from torch import Tensor, nn

    from softgate.studies.diagnose.record import Diagnosis

LAYERS, WIDTH, STEPS, BATCH, RATE = 8, 128, 150, 128, 1e-3
MISSING = "the study of units needs torch and scikit-learn: pip install 'softgate[compare]'"
ABOUT = (
    f"Two networks of {LAYERS} layers of {WIDTH} units, alike but for the activation, learn the "
    f"digits of scikit-learn ({{seen:,}} pictures of 8 × 8, {{held}} held back): {STEPS} steps of "
    f"Adam at a rate of {RATE:g}, {BATCH} pictures each, weights as PyTorch starts them. They are "
    "watched in every step. It is one run: which activation learns better, it does not tell. For "
    "a model of your own: `softgate report --model TARGET --data FILE`."
)


def digits(progress: Progress | None = None) -> UnitStudy:
    """Train, watch, and exchange the activations."""
    try:
        import_module("torch")  # first: without it, what scikit-learn imports is confused
        from softgate.studies.compare.tasks.digits import digits as load

        data = load()
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("torch", "sklearn"):
            raise
        raise ImportError(MISSING) from error
    seen, held = data.train, data.test
    about = ABOUT.format(seen=len(seen), held=len(held))
    with _alone():
        return _study(about, (seen.x, seen.y), (held.x, held.y), progress)


@contextmanager
def _alone() -> Iterator[None]:
    """Leave torch's random numbers and threads as they were; matrices this small want one."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.random.fork_rng(devices=[]):
            yield
    finally:
        torch.set_num_threads(threads)


def _study(
    about: str,
    seen: tuple[Tensor, Tensor],
    held: tuple[Tensor, Tensor],
    progress: Progress | None,
) -> UnitStudy:
    import torch
    from torch import nn
    from torch.nn.functional import cross_entropy

    from softgate.torch import what_if

    watched, exchanged = [], []
    for number, (name, other, activation) in enumerate(
        (("relu", "gelu", nn.ReLU), ("gelu", "relu", nn.GELU))
    ):
        if progress is not None:
            progress(f"training with {name}", number, 2)
        model, report = _trained(activation, seen)
        called = f"the network with {name}"
        with torch.no_grad():
            right = float((model(held[0]).argmax(dim=1) == held[1]).float().mean())
        watched.append(Watched(name, replace(report, model=called), right))
        exchange = what_if(model, [held[0]], other, loss=lambda y, _: cross_entropy(y, held[1]))
        exchanged.append(replace(exchange, model=called))
    return UnitStudy(about, tuple(watched), tuple(exchanged))


def _trained(
    activation: type[nn.Module], seen: tuple[Tensor, Tensor]
) -> tuple[nn.Module, Diagnosis]:
    """Return a network that has learnt, and what was seen meanwhile."""
    import torch
    from torch import nn

    from softgate.torch import watch

    torch.manual_seed(0)
    x, y = seen
    widths = [x.shape[1], *[WIDTH] * LAYERS]
    layers = [
        part
        for before, after in pairwise(widths)
        for part in (nn.Linear(before, after), activation())
    ]
    model = nn.Sequential(*layers, nn.Linear(WIDTH, 10))
    adam = torch.optim.Adam(model.parameters(), lr=RATE)
    chosen = torch.Generator().manual_seed(1)
    with watch(model) as watching:
        for _ in range(STEPS):
            rows = torch.randint(0, len(x), (BATCH,), generator=chosen)
            loss = nn.functional.cross_entropy(model(x[rows]), y[rows])
            adam.zero_grad()
            torch.autograd.backward(loss)
            adam.step()
    return model, watching.report()
