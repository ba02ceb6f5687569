"""`diagnose` and `what_if`: a model on data, as it is and with another activation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from softgate.frameworks.block_arguments import activation_of_block
from softgate.frameworks.torch.watching import Call, Known
from softgate.runtime.activation import Activation
from softgate.runtime.registry import label
from softgate.torch.modules import NAME_SOURCES

from .record import Diagnosis
from .watch import Watch
from .what_if import Exchanged, WhatIf

Loss = Callable[[Any, Any], Tensor]
"""A function of a model's output and the batch that it came from."""

PROJECTION = "output·r, r = ±1 at random, as no loss was given"
"""The squares of outputs would not do: behind a layer norm their sum is constant."""


def diagnose(
    model: nn.Module,
    batches: Iterable[Any],
    *,
    loss: Loss | None = None,
    gradients: bool = True,
    **thresholds: Any,
) -> Diagnosis:
    """Run a model on data and say what its activations do; nothing is trained.

    Parameters
    ----------
    model : torch.nn.Module
        The model; it is evaluated (`eval()`), and left as it was.
    batches : iterable
        Inputs: a tensor, a tuple or a list of arguments, or a mapping of named ones.
    loss : callable, optional
        loss(output, batch), for gradients. By default the output's own `loss`, where it has one, or
        outputs times random signs, over the root of their number; the record says which.
    gradients : bool
        Whether to look at what flows back, too.
    **thresholds : float
        As `watch` takes them.

    Examples
    --------
    >>> import torch
    >>> from torch import nn
    >>> model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    >>> _ = nn.init.constant_(model[0].bias, -10.0)
    >>> [finding.kind for finding in diagnose(model, [torch.rand(300, 4)]).findings]
    ['dead']
    """
    parameters = [p for p in model.parameters() if p.requires_grad]
    wanted = gradients and bool(parameters)
    watching = Watch(model, gradients=wanted, **thresholds)
    watching.trained = False
    with evaluated(model), watching, torch.set_grad_enabled(wanted):
        for batch in batches:
            output = call(model, batch)
            if wanted:
                value, watching.loss = _loss(output, batch, loss)
                if value.requires_grad:
                    torch.autograd.grad(value, parameters, allow_unused=True)
    return watching.report()


class Exchange(Watch):
    """Watches a model in which activations are others; without a replacement, as it is."""

    def __init__(self, model: nn.Module, replacement: Activation | None, only: str | None) -> None:
        super().__init__(model, gradients=False)
        self.replacement, self.only = replacement, only
        self.moved: dict[str, list[float]] = {}
        """Sums of squares, by site: of what outputs moved by, and of outputs."""

    def _observe(self, call: Call) -> Tensor | None:
        if call.known is None or self.only not in (None, call.known.answer):
            return None
        new, old = self.replacement, call.y
        if new is not None:
            call.y = new(call.x)
            call.known, call.again = Known(label(new), new), new
        stream = self._stream(call)
        self._count(call, stream)
        moved = self.moved.setdefault(stream.name, [0.0, 0.0])
        moved[0] += float((call.y.double() - old.double()).square().sum())
        moved[1] += float(old.double().square().sum())
        return None if new is None else call.y


@dataclass
class _Run:
    """What a model gave on all batches."""

    watching: Exchange
    losses: list[float] = field(default_factory=list)
    outputs: list[list[Tensor]] = field(default_factory=list)
    loss: str = ""


def what_if(
    model: nn.Module,
    batches: Iterable[Any],
    replacement: str | Activation,
    *,
    only: str | None = None,
    loss: Loss | None = None,
) -> WhatIf:
    """Run a model with another activation in place of its own, without training.

    Parameters
    ----------
    model, batches, loss
        As in `diagnose`; batches are gone through twice, and kept where they are no list.
    replacement : str or Activation
        What every activation is replaced by.
    only : str, optional
        Replace this function alone, as the record of a watch names it: "gelu".

    Returns
    -------
    WhatIf
        How far outputs and loss move at once, and how many units would be dead.

    Examples
    --------
    >>> import torch
    >>> from torch import nn
    >>> model = nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 2))
    >>> found = what_if(model, [torch.rand(300, 4)], "gelu_tanh")
    >>> found.outputs_moved < 0.01
    True
    """
    new = activation_of_block(replacement, NAME_SOURCES)
    if not isinstance(batches, list | tuple):
        batches = list(batches)  # the second time, a loader that shuffles would give others
    now = _run(model, batches, Exchange(model, None, only), loss)
    then = _run(model, batches, Exchange(model, new, only), loss)
    if not now.watching.moved:
        what = "activation" if only is None else f"call of {only}"
        raise ValueError(f"no {what} was seen in {type(model).__name__}: there is none to replace")
    difference = norm = 0.0
    for old, other in zip(now.outputs, then.outputs, strict=True):
        for a, b in zip(old, other, strict=True):
            difference += float((b.double() - a.double()).square().sum())
            norm += float(a.double().square().sum())
    return WhatIf(
        model=type(model).__name__,
        replacement=label(new),
        batches=len(now.outputs),
        outputs_moved=_share(difference, norm),
        loss=now.loss,
        loss_before=_mean(now.losses),
        loss_after=_mean(then.losses),
        sites=_exchanged(now.watching, then.watching),
    )


def _exchanged(now: Exchange, then: Exchange) -> tuple[Exchanged, ...]:
    before = {site.name: site for site in now.report().sites}
    return tuple(
        Exchanged(
            name=site.name,
            before=before[site.name].function,
            after=site.function,
            units=site.units,
            moved=_share(*then.moved[site.name]),
            dead_before=before[site.name].dead,
            dead_after=site.dead,
            flat_before=before[site.name].flat,
            flat_after=site.flat,
        )
        for site in then.report().sites
        if site.name in before
    )


def _run(model: nn.Module, batches: Iterable[Any], watching: Exchange, loss: Loss | None) -> _Run:
    run = _Run(watching)
    with evaluated(model), watching, torch.no_grad():
        for batch in batches:
            output = call(model, batch)
            run.outputs.append([tensor.clone() for tensor in tensors(output)])
            if loss is not None or getattr(output, "loss", None) is not None:
                value, run.loss = _loss(output, batch, loss)
                run.losses.append(float(value))
    return run


@contextmanager
def evaluated(model: nn.Module) -> Iterator[None]:
    """Evaluate a model for a while: no dropout, no running means; then it is as it was before."""
    before = {module: module.training for module in model.modules()}
    model.eval()
    try:
        yield
    finally:
        for module, training in before.items():
            module.training = training


def call(model: nn.Module, batch: Any) -> Any:
    """Call a model on a batch: one tensor, several arguments, or named ones."""
    if isinstance(batch, Mapping):
        return model(**batch)
    if isinstance(batch, tuple | list):
        return model(*batch)
    return model(batch)


def tensors(output: Any) -> Iterator[Tensor]:
    """Yield the tensors of floats in whatever a model returns, its loss apart."""
    if isinstance(output, Tensor):
        if output.is_floating_point():
            yield output
    elif isinstance(output, Mapping):
        for key, value in output.items():
            if key != "loss":
                yield from tensors(value)
    elif isinstance(output, tuple | list):
        for value in output:
            yield from tensors(value)


def _loss(output: Any, batch: Any, loss: Loss | None) -> tuple[Tensor, str]:
    if loss is not None:
        return loss(output, batch), "the loss"
    own = getattr(output, "loss", None)
    if isinstance(own, Tensor):
        return own, "the model's own loss"
    parts = [_projected(tensor.float()) for tensor in tensors(output)]
    if not parts:
        raise ValueError(
            f"the model returned a {type(output).__name__} without a tensor of floats: expected one"
        )
    return torch.stack(parts).sum(), PROJECTION


def _projected(output: Tensor) -> Tensor:
    signs = torch.randint(0, 2, output.shape, generator=torch.Generator().manual_seed(0)) * 2 - 1
    return (output * signs.to(output)).sum() / max(output.numel(), 1) ** 0.5


def _share(difference: float, norm: float) -> float:
    """Return the square root of a ratio of squares; of nothing nothing moves."""
    if difference == 0:
        return 0.0
    return float((difference / norm) ** 0.5) if norm > 0 else float("inf")


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
