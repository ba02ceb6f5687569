"""A watch finds what was planted, and is silent where nothing is wrong."""

from __future__ import annotations

import math

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402
from watched import Calls, seeded  # noqa: E402, F401

import softgate as sg  # noqa: E402
from softgate.studies.diagnose.record import Diagnosis  # noqa: E402
from softgate.torch import watch  # noqa: E402

ROOT = -0.7517915246935645
"""Where gelu has its minimum."""


def stack(make, depth=3, width=32, gain=1.0):
    """Return linear layers of one width with an activation behind each."""
    layers = []
    for _ in range(depth):
        linear = nn.Linear(width, width)
        nn.init.normal_(linear.weight, std=gain / math.sqrt(width))
        nn.init.zeros_(linear.bias)
        layers += [linear, make()]
    return nn.Sequential(*layers, nn.Linear(width, 4))


def train(model, steps=12, rows=64, width=32, spoil=None, **options):
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    with watch(model, **options) as w:
        for step in range(steps):
            x = torch.randn(rows, width)
            if spoil is not None:
                spoil(step, x)
            optimizer.zero_grad()
            model(x).square().mean().backward()
            optimizer.step()
    return w.report()


def kinds(report):
    return {finding.kind for finding in report.findings}


ALIVE = ("relu", "gelu", "gelu_tanh", "silu", "elu", "mish", "selu", "tanh")


@pytest.mark.parametrize("name", ALIVE)
def test_a_healthy_model_has_no_findings(name):
    gain = 1.5 if name in ("relu", "gelu", "gelu_tanh", "silu", "mish") else 1.0
    report = train(stack(lambda: sg.torch.Activation(name), gain=gain))
    assert [site.function for site in report.sites] == [name] * 3
    assert report.findings == ()
    assert report.sites[0].unit.dead == report.sites[0].unit.trapped == ()


@pytest.mark.parametrize("name", ["relu", "gelu", "silu", "elu", "mish"])
def test_units_with_a_bias_of_minus_ten_are_dead(name):
    model = stack(lambda: sg.torch.Activation(name), gain=0.5)
    with torch.no_grad():
        model[2].bias[[3, 7, 20]] = -10.0
    report = train(model)
    assert report.sites[1].unit.dead == (3, 7, 20)
    assert report.sites[0].unit.dead == report.sites[2].unit.dead == ()
    (finding,) = [finding for finding in report.findings if finding.kind == "dead"]
    assert finding.site == "3"
    assert finding.value == 3 / 32
    assert "9.38 % of the units at site 3 (3 of 32" in finding.text
    assert finding.advice


def test_a_saturated_stack_of_tanh_is_found_in_every_layer():
    report = train(stack(nn.Tanh, gain=30.0))
    saturated = [finding for finding in report.findings if finding.kind == "saturated"]
    assert [finding.site for finding in saturated] == ["1", "3", "5"]
    assert all(site.saturated > 0.5 for site in report.sites)
    assert report.sites[0].openness is None


def squeeze(x):
    return x * torch.sigmoid(x)


def test_a_gate_may_be_open_or_closed():
    class Excited(nn.Module):
        def __init__(self):
            super().__init__()
            self.gate = nn.Sigmoid()

        def forward(self, x):
            return self.gate(x) * x

    class Plain(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc, self.gate = nn.Linear(32, 32), nn.Sigmoid()

        def forward(self, x):
            return self.fc(self.gate(x)) * 2

    for inner in (Calls(squeeze, 32), Excited(), Calls(nn.functional.glu, 32), Plain()):
        with watch(nn.Sequential(inner)) as w:
            w._observer.model(500 * torch.randn(300, 32))
        (site,) = w.report().sites
        assert site.saturated > 0.5
        assert site.multiplied == (not isinstance(inner, Plain))
        assert ("saturated" in kinds(w.report())) == isinstance(inner, Plain)


def test_a_stack_of_sigmoids_lets_the_gradient_vanish():
    report = train(stack(nn.Sigmoid, depth=8))
    assert "vanishing" in kinds(report)
    assert report.gradient_ratio < 1e-3
    first, last = report.sites[0], report.sites[-1]
    assert report.gradient_ratio == pytest.approx(first.gradient_input / last.gradient_input)


def test_a_gradient_that_explodes_is_found():
    report = train(stack(lambda: nn.LeakyReLU(0.5), gain=9.0, depth=6), steps=1)
    assert "exploding" in kinds(report)
    assert "growing" in kinds(report)


def test_units_left_of_gelus_minimum_are_trapped():
    model = stack(nn.GELU)
    with torch.no_grad():
        model[0].weight[[4, 9]] *= 0.05
        model[0].bias[[4, 9]] = ROOT - 0.7
    report = train(model)
    assert report.sites[0].unit.trapped == (4, 9)
    assert report.sites[0].unit.dead == ()
    assert "trapped" in kinds(report)
    with torch.no_grad():  # to the right of it they are not
        model[0].bias[[4, 9]] = ROOT + 0.7
    assert train(model).sites[0].unit.trapped == ()


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_the_step_of_the_first_nan_is_reported(value):
    def spoil(step, x):
        if step in (7, 9):
            x[3, 2] = value

    report = train(stack(nn.ReLU), spoil=spoil)
    site = report.sites[0]
    places = {trouble.where: trouble for trouble in site.not_finite}
    where = "input nan" if math.isnan(value) else "input inf"
    assert places[where].first_step == 7
    (finding,) = [finding for finding in report.findings if finding.kind == "not finite"]
    assert "first in step 7" in finding.text
    assert math.isfinite(site.mean)
    assert math.isfinite(site.sd)


def test_a_nan_is_reported_where_it_first_arrives():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(4, 4)
            self.last = nn.ReLU()

        def forward(self, x):
            return self.last(torch.log(torch.relu(self.fc(x)) - 1))

    model = Model()
    with watch(model) as w:
        model(torch.randn(300, 4))
    first, last = w.report().sites
    assert first.not_finite == ()
    assert {trouble.where for trouble in last.not_finite if trouble.count} >= {"input nan"}


def test_units_that_die_on_the_way_are_found_though_they_lived():
    model = stack(nn.ReLU)
    with watch(model) as w:
        for step in range(64):
            if step == 32:
                with torch.no_grad():
                    model[0].bias[5] = -50.0
            model(torch.randn(64, 32))
    report = w.report()
    assert report.sites[0].unit.dead == ()
    assert report.sites[0].unit.recently_dead == (5,)
    assert "the last quarter" in next(f.text for f in report.findings if f.kind == "dead")


def test_few_inputs_are_no_evidence():
    report = train(stack(nn.ReLU, gain=0.1), steps=1, rows=2)
    assert report.sites[0].unit.dead
    assert "dead" not in kinds(report)


def test_thresholds_can_be_set():
    model = stack(nn.ReLU)
    with torch.no_grad():
        model[0].bias[0] = -10.0
    assert "dead" in kinds(train(model))
    assert "dead" not in kinds(train(model, dead=0.5))
    assert train(model, flat=2.0).sites[0].flat == 1.0
    with pytest.raises(ValueError, match="flat"):
        watch(model, flat=0.0)
    with pytest.raises(TypeError, match="deaf"):
        watch(model, deaf=1.0)


def test_a_model_that_was_not_called_is_not_called_healthy():
    with watch(nn.Linear(2, 2)) as w:
        pass
    (finding,) = w.report().findings
    assert finding.kind == "nothing seen"
    assert "never called" in finding.text


def test_the_record_survives_json_and_shows_itself():
    model = stack(nn.GELU)
    with torch.no_grad():
        model[0].bias[:4] = -10.0
    report = train(model)
    assert Diagnosis.from_json(report.to_json()) == report
    text = str(report)
    assert "gelu" in text
    assert "12.5 %" in text
    header, rows = report.table()
    assert len(rows) == 3
    assert all(len(row) == len(header) for row in rows)
    assert "<table>" in report._repr_html_()
