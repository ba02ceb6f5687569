"""`diagnose` and `what_if`: a model on data, as it is and with another activation."""

from __future__ import annotations

import math

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402
from watched import seeded  # noqa: E402, F401

import softgate as sg  # noqa: E402
from softgate.studies.diagnose.findings import condition  # noqa: E402
from softgate.studies.diagnose.record import WhatIf  # noqa: E402
from softgate.studies.models.torch_recognition import recognise  # noqa: E402
from softgate.torch import diagnose, what_if  # noqa: E402


def network(make=nn.GELU):
    model = nn.Sequential(nn.Linear(8, 20), make(), nn.Dropout(0.5), nn.Linear(20, 20), make(),
                          nn.Linear(20, 3))  # fmt: skip
    with torch.no_grad():
        model[0].bias[:5] = -2.5  # gelu is not flat there on every input, relu is
        model[0].weight[:5] *= 0.1
    return model


BATCHES = [torch.randn(100, 8, generator=torch.Generator().manual_seed(i)) for i in range(4)]


def test_a_diagnosis_leaves_the_model_as_it_was():
    model = network()
    model[2].eval()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    report = diagnose(model, BATCHES)
    assert model.training
    assert not model[2].training
    assert all(parameter.grad is None for parameter in model.parameters())
    assert all(torch.equal(before[name], value) for name, value in model.state_dict().items())
    assert report.steps == 4
    assert "output·r" in report.loss
    assert report.gradient_ratio > 0
    assert report == diagnose(model, BATCHES)  # no dropout: the same each time


def test_gradients_are_of_the_loss_argument():
    model = network()
    target = torch.randint(0, 3, (100,))

    def loss(output, batch):
        return nn.functional.cross_entropy(output, target)

    report = diagnose(model, BATCHES[:1], loss=loss)
    assert report.loss == "the loss"
    h = model[0](BATCHES[0])
    a = sg.gelu(h)
    y = model[5](sg.gelu(model[3](a)))
    (grad,) = torch.autograd.grad(nn.functional.cross_entropy(y, target), h)
    assert report.sites[0].gradient_input == pytest.approx(float(grad.norm()), rel=1e-4)
    assert diagnose(model, BATCHES, gradients=False).gradient_ratio is None


def test_inputs_may_be_a_tensor_arguments_or_named():
    class Two(nn.Module):
        def forward(self, a, b):
            return {"loss": None, "logits": torch.tanh(a + b)}

    ones = torch.ones(5, 3)
    for batch in ((ones, ones), [ones, ones], {"a": ones, "b": ones}):
        assert diagnose(Two(), [batch]).sites[0].inputs == 5


def test_few_of_the_last_inputs_do_not_make_a_unit_dead():
    model = nn.Sequential(nn.Linear(1, 1), nn.ReLU())
    with torch.no_grad():
        model[0].weight[:], model[0].bias[:] = 1.0, 0.0
    batches = [torch.ones(300, 1), *(-torch.ones(300, 1) for _ in range(7))]
    site = diagnose(model, batches).sites[0]
    assert site.unit.dead == site.unit.recently_dead == ()


def test_what_if_is_what_a_model_with_the_other_activation_gives():
    model = network().eval()

    def loss(output, batch):
        return output.square().mean()

    effect = what_if(model, BATCHES, "relu", loss=loss)
    other = network(nn.ReLU).eval()
    other.load_state_dict(model.state_dict())
    with torch.no_grad():
        old, new = (torch.cat([m(batch) for batch in BATCHES]) for m in (model, other))
    assert effect.outputs_moved == pytest.approx(float((new - old).norm() / old.norm()), rel=1e-5)
    assert effect.loss_before == pytest.approx(float(old.square().mean()), rel=1e-5)
    assert effect.loss_after == pytest.approx(float(new.square().mean()), rel=1e-5)
    assert [(site.before, site.after) for site in effect.sites] == [("gelu", "relu")] * 2
    right = diagnose(other, BATCHES)
    assert [site.dead_after for site in effect.sites] == [site.dead for site in right.sites]
    assert effect.sites[0].dead_after == 0.25
    assert effect.sites[0].dead_before == 0.0
    assert effect.dead_after > effect.dead_before
    assert WhatIf.from_json(effect.to_json()) == effect
    assert "relu" in str(effect)
    assert torch.equal(torch.cat([model(batch) for batch in BATCHES]), old)


def test_what_if_reaches_functions_and_blocks_of_ours():
    class Mixed(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc, self.block = nn.Linear(8, 8), sg.torch.FeedForward(8, 16)

        def forward(self, x):
            return self.block(torch.nn.functional.gelu(self.fc(x)) + sg.silu(x))

    model = Mixed()
    assert what_if(model, BATCHES, "gelu", only="gelu").outputs_moved < 1e-6
    some = what_if(model, BATCHES, "relu", only="silu")
    assert [site.before for site in some.sites] == ["silu"]
    every = what_if(model, BATCHES, "relu")
    assert sorted(site.before for site in every.sites) == ["gelu", "gelu", "silu"]
    assert every.outputs_moved > some.outputs_moved > 0
    with pytest.raises(ValueError, match="no call of tanh was observed"):
        what_if(model, BATCHES, "relu", only="tanh")


@pytest.mark.parametrize(
    ("text", "fails"),
    [
        ("dead>5%", True),
        ("dead>20%", False),
        ("dead > 0.05", True),
        ("flat<1%", True),
        ("gradient_ratio>1e6", False),
        ("gradient_ratio<1e6", True),
        ("nan>0", False),
        ("saturated>0", False),  # relu has no bounds
    ],
)
def test_conditions_look_at_the_worst_site(text, fails):
    model = network(nn.ReLU)
    with torch.no_grad():
        model[0].bias[:] = 3.0
        model[0].bias[:3] = -50.0
        model[3].weight *= 0.01
        model[3].bias[:] = 1.0
    report = diagnose(model, BATCHES)
    failure = condition(text).failure(report)
    assert (failure is not None) == fails
    if text == "dead>5%":
        assert failure == "dead>5%: dead is 15 % at 1 (relu, 400 inputs)"


def test_a_condition_on_nan_fails():
    model = nn.Sequential(nn.Linear(8, 4), nn.ReLU(), nn.Linear(4, 4), nn.ReLU())
    report = diagnose(model, [torch.full((10, 8), math.nan)])
    assert condition("nan>0").failure(report) is not None


@pytest.mark.parametrize("text", ["", "dead", "dead>", "dead>x", "dead>=5", "deed>5%", "dead>nan"])
def test_wrong_conditions_are_refused(text):
    with pytest.raises(ValueError, match=r"condition|figure|limit"):
        condition(text)


def test_recognition_needs_no_name_and_invents_none():
    assert recognise(lambda x: 0.5 * x * (1 + torch.erf(x / 2**0.5))).name == "gelu"
    assert recognise(lambda x: 2 * torch.relu(x)).scale == 2
    assert recognise(torch.cumsum) is None
    assert recognise(lambda x: torch.softmax(x, -1)) is None


def test_a_scaled_function_has_the_scaled_slope():
    class Doubled(nn.Module):
        def forward(self, x):
            return -2 * torch.relu(x)

    model = nn.Sequential(nn.Linear(8, 6), Doubled())
    (site,) = diagnose(model, BATCHES).sites
    assert site.function == "-2·relu"
    assert site.negative == pytest.approx(1 - site.flat)
    assert site.unit.trapped == ()  # it falls everywhere: there is no minimum to be left of


def small_model() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))


def test_batches_of_a_data_loader_have_a_target() -> None:
    x, y = torch.randn(20, 4), torch.randint(0, 3, (20,))
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), batch_size=5)
    seen = diagnose(small_model(), loader)
    assert (seen.steps, seen.sites[0].inputs) == (4, 20)
    assert seen.loss == "the loss of the targets"
    effect = what_if(small_model(), loader, "gelu")
    expected = nn.functional.cross_entropy(small_model()(x), y).item()
    assert effect.loss_before == pytest.approx(expected, rel=1e-5)


def test_a_tensor_or_a_mapping_is_one_batch() -> None:
    x = torch.randn(20, 4)
    for data in (x, {"input": x}):
        seen = diagnose(small_model(), data)
        assert (seen.steps, seen.sites[0].inputs) == (1, 20)


@pytest.mark.parametrize("text", ["dead>5", "flat>1.5", "saturated>90"])
def test_a_share_above_1_without_a_percent_sign_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"is a share, at most 1: write \w+>[\d.]+%"):
        condition(text)
    assert condition(f"{text}%").limit < 1
