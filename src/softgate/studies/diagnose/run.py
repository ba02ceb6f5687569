"""`diagnose` and `what_if`: a model on data, with its activations and with others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from softgate.records.text import a_type
from softgate.runtime.activation import Activation
from softgate.runtime.registry import label

from ..models.loading import Loss, load_inputs, target_loss, target_of, tensors
from ..models.torch_recognition import RecognisedFunction
from ..subjects import resolved, user_code
from .observer import ActivationCall
from .record import Diagnosis, ReplacedSite, WhatIf
from .watch import Watch

PROJECTION = "output·r, r = ±1 at random, as no loss was given"
"""Not the sum of squares of the outputs: behind a layer norm it is constant."""


def diagnose(
    model: nn.Module | str | Callable[[], nn.Module],
    batches: Iterable[Any] | str | Callable[[], Any],
    *,
    loss: Loss | None = None,
    gradients: bool = True,
    trust: bool = False,
    **thresholds: Any,
) -> Diagnosis:
    """Run a model on data and return figures of its activations; nothing is trained.

    Parameters
    ----------
    model : torch.nn.Module, str or callable
        The model; it runs in evaluation mode (`eval()`), and is left unchanged. Or how to load it,
        as `softgate diagnose` takes it: a Hugging Face folder, "module:function",
        "file.py:function", a function or a class.
    batches : iterable, str or callable
        Each a tensor, a tuple or list of arguments, or a mapping of keyword arguments. The last of
        a tuple or list may be a target that the model does not take, as in a DataLoader of (x, y).
        A single tensor or mapping is one batch. Or how to load them, as `softgate diagnose` takes
        it: an .npz or .safetensors file, a text, "module:function", "file.py:function" or a
        function.
    loss : callable, optional
        loss(output, batch), for gradients. By default the output's `loss` attribute, if it has one,
        or outputs times random signs, over the root of their number; the record states which.
    gradients : bool
        Whether to measure gradients.
    trust : bool
        Whether Python code in a Hugging Face folder may run, as `trust_remote_code` of
        transformers.
    **thresholds : float
        As in `watch`.

    Examples
    --------
    >>> import torch
    >>> from torch import nn
    >>> model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    >>> _ = nn.init.constant_(model[0].bias, -10.0)
    >>> [finding.kind for finding in diagnose(model, [torch.rand(300, 4)]).findings]
    ['dead']
    """
    model, batches, loss = load_inputs(model, batches, loss, trust=trust)
    parameters = [p for p in model.parameters() if p.requires_grad]
    gradients = gradients and bool(parameters)
    watch = Watch(model, gradients=gradients, **thresholds)
    watch.trained = False
    with evaluation_mode(model), watch, torch.set_grad_enabled(gradients):
        for batch in batches:
            output = call_model(model, batch)
            if gradients:
                value, watch.loss = _loss(model, output, batch, loss)
                if value.requires_grad:
                    torch.autograd.grad(value, parameters, allow_unused=True)
    return watch.report()


class ReplacementWatch(Watch):
    """Observes a model with replaced activations; unchanged ones if `replacement` is None."""

    def __init__(self, model: nn.Module, replacement: Activation | None, only: str | None) -> None:
        super().__init__(model, gradients=False)
        self.replacement, self.only = replacement, only
        self.moved: dict[str, list[float]] = {}
        """Sums of squares of the changes of outputs and of the outputs, by site."""
        self.losses: list[float] = []
        self.outputs: list[Tensor] = []

    def _observe(self, call: ActivationCall) -> Tensor | None:
        if call.recognised is None or self.only not in (None, call.recognised.name):
            return None
        new, old = self.replacement, call.y
        if new is not None:
            call.y = new(call.x)
            call.recognised, call.function = RecognisedFunction(label(new), new), new
        site = self._site(call)
        self._count(call, site)
        moved = self.moved.setdefault(site.name, [0.0, 0.0])
        moved[0] += float((call.y.double() - old.double()).square().sum())
        moved[1] += float(old.double().square().sum())
        return None if new is None else call.y

    def run(self, model: nn.Module, batches: Iterable[Any], loss: Loss | None) -> None:
        """Run the model on all batches, and record its outputs and losses."""
        with evaluation_mode(model), self, torch.no_grad():
            for batch in batches:
                output = call_model(model, batch)
                self.outputs += [tensor.clone() for tensor in tensors(output)]
                has_loss = getattr(output, "loss", None) is not None
                if loss is not None or has_loss or target_of(model, batch) is not None:
                    value, self.loss = _loss(model, output, batch, loss)
                    self.losses.append(float(value))


def what_if(
    model: nn.Module | str | Callable[[], nn.Module],
    batches: Iterable[Any] | str | Callable[[], Any],
    replacement: str | Callable[..., Any],
    *,
    only: str | Callable[..., Any] | None = None,
    loss: Loss | None = None,
    trust: bool = False,
) -> WhatIf:
    """Run a model with other activations, without training.

    Parameters
    ----------
    model, batches, loss, trust
        As in `diagnose`; the model runs twice on each batch.
    replacement : str or callable
        The activation that replaces every other: "gelu", "torch.nn.functional.gelu",
        "file.py:function", or a callable.
    only : str or callable, optional
        Replace only this function, written likewise, or named as in the record of `diagnose`.

    Returns
    -------
    WhatIf
        The immediate change of outputs and loss, and the share of units that would be dead.

    Examples
    --------
    >>> import torch
    >>> from torch import nn
    >>> model = nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 2))
    >>> effect = what_if(model, [torch.rand(300, 4)], "gelu_tanh")
    >>> effect.outputs_moved < 0.01
    True
    """
    new = resolved.activation(replacement)
    model, batches, loss = load_inputs(model, batches, loss, trust=trust)
    replaced = None if only is None else _recorded_name(only)
    if not isinstance(batches, list | tuple):
        batches = list(batches)  # a shuffling loader would give other batches in the second run
    now, then = ReplacementWatch(model, None, replaced), ReplacementWatch(model, new, replaced)
    for exchange in (now, then):
        exchange.run(model, batches, loss)
    if not now.moved:
        what = "activation" if replaced is None else f"call of {replaced}"
        raise ValueError(
            f"no {what} was observed in {type(model).__name__}: there is nothing to replace"
        )
    difference = norm = 0.0
    for a, b in zip(now.outputs, then.outputs, strict=True):
        difference += float((b.double() - a.double()).square().sum())
        norm += float(a.double().square().sum())
    return WhatIf(
        model=type(model).__name__,
        replacement=label(new),
        batches=len(batches),
        outputs_moved=_share(difference, norm),
        loss=now.loss,
        loss_before=_mean(now.losses),
        loss_after=_mean(then.losses),
        sites=_replaced_sites(now, then),
    )


def _recorded_name(only: str | Callable[..., Any]) -> str:
    """Return the name that a function has in the record of `diagnose`."""
    if isinstance(only, str) and not user_code.is_code(only):
        try:
            return label(resolved.activation(only, by_values=True))
        except ValueError:  # a name of the record alone, such as 0.5·gelu
            return only
    return label(resolved.activation(only, by_values=True))


def _replaced_sites(now: ReplacementWatch, then: ReplacementWatch) -> tuple[ReplacedSite, ...]:
    before = {site.name: site for site in now.report().sites}
    return tuple(
        ReplacedSite(
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


@contextmanager
def evaluation_mode(model: nn.Module) -> Iterator[None]:
    """Set a model to evaluation mode, and restore the mode of each module afterwards."""
    before = {module: module.training for module in model.modules()}
    model.eval()
    try:
        yield
    finally:
        for module, training in before.items():
            module.training = training


def call_model(model: nn.Module, batch: Any) -> Any:
    """Return a model's output on a batch: a tensor, arguments, or keyword arguments."""
    if isinstance(batch, Mapping):
        return model(**batch)
    if isinstance(batch, tuple | list):
        return model(*(batch if target_of(model, batch) is None else batch[:-1]))
    return model(batch)


def _loss(model: nn.Module, output: Any, batch: Any, loss: Loss | None) -> tuple[Tensor, str]:
    if loss is not None:
        return loss(output, batch), "the loss"
    model_loss = getattr(output, "loss", None)
    if isinstance(model_loss, Tensor):
        return model_loss, "the model's own loss"
    target = target_of(model, batch)
    if target is not None:
        return target_loss(output, target), "the loss of the targets"
    parts = [_projected(tensor.float()) for tensor in tensors(output)]
    if not parts:
        raise ValueError(
            f"the model returned {a_type(output)}: expected a floating-point tensor in it"
        )
    return torch.stack(parts).sum(), PROJECTION


def _projected(output: Tensor) -> Tensor:
    signs = torch.randint(0, 2, output.shape, generator=torch.Generator().manual_seed(0)) * 2 - 1
    return (output * signs.to(output)).sum() / max(output.numel(), 1) ** 0.5


def _share(difference: float, norm: float) -> float:
    """Return the square root of a ratio of squares; 0 if nothing changed."""
    if difference == 0:
        return 0.0
    return float((difference / norm) ** 0.5) if norm > 0 else float("inf")


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
