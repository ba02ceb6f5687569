"""Training: paired by seed, matched in size, divergence."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from compare_trials import run, small, trial
from torch import nn

import softgate as sg
from softgate.runtime.registry import gated
from softgate.studies.compare.models import gain, nearest, operations, perceptron, products
from softgate.studies.compare.splits import Data, DataSplit
from softgate.studies.compare.training import (
    REGRESSION,
    accuracy,
    evaluate,
    r_squared,
    roc_auc,
    train,
)
from softgate.studies.compare.trial import Diverged, TrainingResult

DIGITS = small("digits")


def ignore(step: int, steps: int, loss: float) -> None:
    pass


def model(arm: str, seed: int = 0, **settings: Any) -> nn.Module:
    return perceptron(64, 10, trial(DIGITS, arm, seed, **settings))


def weights(arm: str, **settings: Any) -> torch.Tensor:
    return torch.cat([p.flatten() for p in model(arm, **settings).parameters()]).detach()


@pytest.mark.parametrize("arm", ["relu", "tanh", "elu:alpha=0.5", "squareplus"])
def test_elementwise_activations_start_with_the_same_weights(arm: str) -> None:
    assert torch.equal(weights(arm), weights("gelu"))
    assert not torch.equal(weights(arm, seed=1), weights("gelu"))


def test_activations_see_the_same_order_and_dropout() -> None:
    chosen = small("digits", dropout=0.5, layers=1, epochs=1, evaluations=20)
    # leaky_relu with a slope of 0 is relu by another name: all of a run must be the same
    same = [run(chosen, arm) for arm in ("relu", "leaky_relu:slope=0.0")]
    assert same[0].curve == same[1].curve
    assert run(chosen, "relu", dropout=0.0).curve != same[0].curve


@pytest.mark.parametrize("arm", ["gelu", "tanh", "silu", "softplus", "swiglu"])
def test_fitted_weights_keep_signals_at_one(arm: str) -> None:
    x = torch.randn(500, 64, generator=torch.Generator().manual_seed(99))
    reached = []
    for init in ("fitted", "he"):
        made = model(arm, layers=2, width=600, init=init)
        second = getattr(made, "linear2", None) or made.gate2.gate  # type: ignore[operator,union-attr]
        read: list[torch.Tensor] = []
        second.register_forward_hook(lambda module, argument, z, read=read: read.append(z))
        made(x)
        reached.append(read[0].square().mean().item())
    assert reached[0] == pytest.approx(1, abs=0.05)
    assert arm == "tanh" or reached[1] > 1.3, "He's factor is for another activation"


def test_gains_are_those_of_formulas() -> None:
    assert gain(sg.relu, "fitted") == pytest.approx(math.sqrt(2))
    z = torch.randn(2_000_000, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    for activation in (sg.gelu, sg.tanh):
        measured = 1 / activation(z).square().mean().sqrt().item()
        assert gain(activation, "fitted") == pytest.approx(measured, rel=2e-3)
    assert gain(sg.geglu, "fitted") == gain(sg.gelu, "fitted")
    assert gain(sg.gelu, "rows") == 1


def test_rows_of_norm_one() -> None:
    made = model("gelu", init="rows")
    norms = [m.weight.norm(dim=1) for m in made.modules() if isinstance(m, nn.Linear)]
    assert all(torch.allclose(norm, torch.ones_like(norm)) for norm in norms)


@pytest.mark.parametrize("match", ["parameters", "flops"])
@pytest.mark.parametrize("arm", gated())
def test_gated_models_are_as_large_as_plain_ones(arm: str, match: str) -> None:
    sizes = [
        [sum(p.numel() for p in item.parameters()), operations(item, torch.zeros(64))]
        for item in (model(a, layers=8, width=128, match=match) for a in ("gelu", arm))
    ]
    i = ("parameters", "flops").index(match)
    assert sizes[1][i] == pytest.approx(sizes[0][i], rel=0.012)
    assert products(model(arm)) == operations(model(arm), torch.zeros(64))


def test_gated_blocks_of_a_decoder_are_matched_too() -> None:
    chosen = small("text", hidden=64, width=16)
    plain, gate = run(chosen, "gelu"), run(chosen, "swiglu")
    assert gate.parameters == pytest.approx(plain.parameters, rel=0.01)
    assert gate.flops == pytest.approx(plain.flops, rel=0.02)


def test_nearest_finds_the_width_from_either_side() -> None:
    for target in (1, 2, 7, 49, 50, 1000):
        result = nearest(lambda width: width * width, target, 3)
        assert abs(result**2 - target) == min(abs(w * w - target) for w in range(1, 60))


def test_a_rate_that_is_too_large_diverges() -> None:
    with pytest.raises(Diverged, match=r"diverged at step \d+") as caught:
        run(small("digits", epochs=20), "relu", lr=1e30)
    error: Any = caught.value
    assert isinstance(error.measured, TrainingResult)
    assert error.step == error.measured.steps
    assert all(math.isfinite(point.train_loss) for point in error.measured.curve[:-1])


def test_the_same_time_is_a_time_of_updates() -> None:
    chosen = small("digits", same="time", seconds=0.2, evaluations=4)
    measured, times = chosen.trial_function()(trial(chosen, "relu"), ignore)
    assert sum(times[:-1]) < 0.2 <= sum(times)
    assert measured.steps == len(times)
    assert 1 <= len(measured.curve) <= 4


def test_progress_callback_receives_steps() -> None:
    heard: list[tuple[int, int, float]] = []
    chosen = small("digits", same="time", seconds=1.0)
    measured, _ = chosen.trial_function()(
        trial(chosen, "relu"), lambda *argument: heard.append(argument)
    )
    assert heard
    assert all(0 < step <= measured.steps and loss > 0 for step, _, loss in heard)
    assert all(steps >= step for step, steps, _ in heard)


class Constant(nn.Module):
    """Returns the same output for every example; has an activation."""

    def __init__(self) -> None:
        super().__init__()
        self.linear, self.act = nn.Linear(3, 1), sg.torch.GELU()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.act(self.linear(x))


def test_regression() -> None:
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(90, 3, generator=generator)
    y = torch.relu(x @ torch.tensor([1.0, -2.0, 0.5]))
    part = [DataSplit(x[i::3], y[i::3]) for i in range(3)]
    torch.manual_seed(0)
    made = Constant()
    requests = trial(small("digits", epochs=60, batch=10), "gelu")
    measured, _ = train(made, Data(part[0], part[1], part[2], 1), requests, ignore, REGRESSION)
    assert measured.score is not None
    assert measured.score > 0.5
    assert measured.loss == evaluate(made, part[2], REGRESSION).loss


def test_scores_are_what_libraries_compute() -> None:
    from sklearn.metrics import accuracy_score, r2_score, roc_auc_score

    generator = torch.Generator().manual_seed(0)
    output, y = torch.randn(50, 2, generator=generator), torch.arange(50) % 2
    assert accuracy(output, y) == accuracy_score(y, output.argmax(1))
    assert roc_auc(output, y) == roc_auc_score(y, output[:, 1] - output[:, 0])
    assert r_squared(output[:, 0], output[:, 1]) == pytest.approx(
        r2_score(output[:, 1], output[:, 0])
    )


def test_evaluation_in_portions_is_that_of_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    from softgate.studies.compare import training

    made, part = model("gelu"), DIGITS.load().validation
    objective = DIGITS.objective()
    whole = evaluate(made, part, objective)
    monkeypatch.setattr(training, "EVALUATED_AT_ONCE", 100)
    portions = evaluate(made, part, objective)
    assert portions.score == whole.score
    assert portions.loss == pytest.approx(whole.loss, rel=1e-6)
    with torch.no_grad():
        direct = nn.functional.cross_entropy(made(part.x), part.y).item()
    assert whole.loss == pytest.approx(direct, rel=1e-6)
