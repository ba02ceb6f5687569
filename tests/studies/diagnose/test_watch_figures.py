"""What a watch counts is what NumPy counts, for every layout, dtype and function."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402
from torch.utils.checkpoint import checkpoint  # noqa: E402

import softgate as sg  # noqa: E402
from softgate.lower.native import FIELDS  # noqa: E402
from softgate.studies.diagnose import measure  # noqa: E402
from softgate.studies.diagnose.measure import SaturationLimits, count  # noqa: E402
from softgate.studies.diagnose.statistics import (  # noqa: E402
    HALF,
    AdaptiveHistogram,
    History,
    Period,
    moments,
)
from softgate.torch import watch  # noqa: E402

DTYPES = ("float32", "float64", "float16", "bfloat16")


def expected(x, y, slope, bounds, shift):
    """Return the table of sums as NumPy has it."""
    x, y, slope = (np.asarray(t.double()) for t in (x, y, slope))
    fine = np.isfinite(x) & np.isfinite(y)
    with np.errstate(all="ignore"):
        ratio = np.where(x == 0, slope, y / x)
        d = np.where(fine, y - shift, 0.0)
        terms = {
            "finite": fine,
            "rising_little": fine & (slope < bounds.flat),
            "falling": fine & (slope < 0),
            "falling_steeply": fine & (slope <= -bounds.flat),
            "saturated": fine & ((y <= bounds.low) | (y >= bounds.high)),
            "first": d,
            "second": d**2,
            "third": d**3,
            "openness": np.where(fine, ratio, 0.0),
            "input_square": np.where(fine, x**2, 0.0),
        }
    return np.stack([terms[name].sum(axis=0) for name in FIELDS])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(1, 1), (3, 5), (64, 64), (7, 200), (129, 513), (0, 4)])
def test_sums_are_those_of_numpy(dtype, shape):
    torch.manual_seed(1)
    x = torch.randn(shape).to(getattr(torch, dtype))
    if x.numel() > 20:
        x.view(-1)[[0, 3, 5]] = torch.tensor([0.0, float("nan"), float("inf")]).to(x.dtype)
    y, slope = sg.silu(x), sg.silu.slope(x)
    bounds, shift = SaturationLimits(0.01, -0.2, 1.0), np.full(shape[1], 0.25)
    counted = count(x, y, slope, bounds, shift, -1)
    assert counted.rows == shape[0]
    np.testing.assert_allclose(
        counted.sums[1:], expected(x, y, slope, bounds, shift), rtol=1e-12, atol=1e-12
    )
    np.testing.assert_array_equal(counted.sums[0], shift)


def test_operators_count_as_the_loop_does(monkeypatch):
    torch.manual_seed(2)
    x = torch.randn(50, 9, dtype=torch.float64)
    x[4, 3] = torch.nan
    arguments = (x, sg.gelu(x), sg.gelu.slope(x), SaturationLimits(0.01), None, -1)
    loop = count(*arguments)
    monkeypatch.setattr(measure, "DTYPES", {})
    np.testing.assert_allclose(count(*arguments).sums, loop.sums, rtol=1e-12, atol=1e-12)
    assert loop.not_finite == {
        "input nan": 1, "input inf": 0, "output nan": 1, "output inf": 0,
    }  # fmt: skip


def test_columns_that_lie_apart_are_read_where_they_are():
    torch.manual_seed(3)
    x = torch.randn(40, 8, 6)[..., ::2]
    counted = count(x, sg.relu(x), sg.relu.slope(x), SaturationLimits(0.01), np.zeros(8), 1)
    rows = x.movedim(1, -1).reshape(-1, 8)
    right = expected(rows, sg.relu(rows), sg.relu.slope(rows), SaturationLimits(0.01), 0.0)
    np.testing.assert_allclose(counted.sums[1:], right, rtol=1e-12)
    assert counted.rows == 120


def test_moments_keep_their_digits_far_from_zero():
    rng = np.random.default_rng(0)
    y = 1e6 + 1e-3 * rng.exponential(size=(4000, 3))
    x = torch.tensor(y)
    counted = count(x, x, torch.ones_like(x), SaturationLimits(0.01), None, -1)
    mean, sd, skew = moments(counted.sums)
    np.testing.assert_allclose(mean, y.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(sd, y.std(axis=0), rtol=1e-6)
    centred = y - y.mean(axis=0)
    np.testing.assert_allclose(skew, (centred**3).mean(axis=0) / y.std(axis=0) ** 3, rtol=1e-5)


def test_figures_of_a_site_are_those_of_all_its_outputs():
    torch.manual_seed(4)
    model = nn.Sequential(nn.Linear(6, 10), nn.GELU(), nn.Linear(10, 7), nn.Tanh())
    batches = [torch.randn(50, 6) for _ in range(4)]
    with watch(model) as w:
        for batch in batches:
            model(batch)
    first, second = w.report().sites
    h = model[0](torch.cat(batches)).detach().double()
    y = sg.gelu(h).numpy()
    assert first.mean == pytest.approx(y.mean(), rel=1e-5)
    assert first.sd == pytest.approx(y.std(), rel=1e-5)
    assert first.skew == pytest.approx(((y - y.mean()) ** 3).mean() / y.std() ** 3, rel=1e-4)
    np.testing.assert_allclose(first.unit.mean, y.mean(axis=0), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(first.unit.sd, y.std(axis=0), rtol=1e-4)
    assert first.openness == pytest.approx(float(np.mean(y / h.numpy())), rel=1e-5)
    assert first.flat == pytest.approx(float((sg.gelu.slope(h).abs() < 0.01).double().mean()))
    assert first.negative == pytest.approx(float((h < -0.7517915).double().mean()))
    z = model[1:](model[0](torch.cat(batches))).detach().double().numpy()
    assert second.layer_gain == pytest.approx(np.sqrt((z**2).mean() / (y**2).mean()), rel=1e-5)
    rms = float(h.square().mean().sqrt())
    assert first.activation_gain == pytest.approx(np.sqrt((y**2).mean()) / rms, rel=1e-5)
    assert first.inputs == 200
    assert first.sampled == 1.0
    assert sum(sum(part.counts) for part in first.history) == 2000


def test_gradients_are_the_norms_that_autograd_has():
    torch.manual_seed(5)
    model = nn.Sequential(nn.Linear(6, 10), nn.ReLU(), nn.Linear(10, 7), nn.Sigmoid())
    x = torch.randn(20, 6)
    with watch(model) as w:
        model(x).square().sum().backward()
    h = model[0](x)
    a = nn.functional.relu(h)
    k = model[2](a)
    b = torch.sigmoid(k)
    right = [float(g.norm()) for g in torch.autograd.grad(b.square().sum(), (h, a, k, b))]
    first, second = w.report().sites
    seen = (first.gradient_input, first.gradient_output, second.gradient_input,
            second.gradient_output)  # fmt: skip
    np.testing.assert_allclose(seen, right, rtol=1e-5)


class Two(nn.Module):
    """Two losses, of which a GradScaler scales one."""

    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(6, 10), nn.ReLU(), nn.Linear(10, 7), nn.Tanh())

    def forward(self, x):
        return self.net(x).square().mean()


@pytest.mark.parametrize("reentrant", [None, False, True])
def test_gradients_are_those_of_the_loss_before_scaling(reentrant):
    torch.manual_seed(5)
    model, x = Two(), torch.randn(20, 6, requires_grad=True)
    plain = model.net
    if reentrant is not None:
        model.net = Checkpointed(plain, reentrant)

    def norms(*scales):
        with watch(plain) as w:
            for scale in scales:
                scaler = torch.amp.GradScaler("cpu", init_scale=scale or 1.0, enabled=scale != 0)
                scaler.scale(model(x)).backward()
        return [(site.gradient_output, site.gradient_input) for site in w.report().sites]

    right = norms(0)
    for scales in ((65536.0,), (1024.0, 0, 65536.0), (0, 8.0)):
        np.testing.assert_allclose(norms(*scales), right, rtol=1e-5)
    with watch(plain) as w:  # a loss without a scale, after a scaled one
        torch.amp.GradScaler("cpu", init_scale=8.0).scale(model(x)).backward()
        (2 * model(x)).backward()
    norm = w.report().sites[0].gradient_output
    assert norm == pytest.approx(right[0][0] * (5 / 2) ** 0.5, rel=1e-5)


class Checkpointed(nn.Module):
    def __init__(self, inner, reentrant):
        super().__init__()
        self.inner, self.reentrant = inner, reentrant

    def forward(self, x):
        return checkpoint(self.inner, x, use_reentrant=self.reentrant)


def test_a_scaler_is_left_as_it_was_and_may_look_for_its_scale():
    scale = torch.amp.GradScaler.scale
    model, x = Two(), torch.randn(20, 6)
    scaler = torch.amp.GradScaler("cpu", init_scale=1e38)
    with watch(model) as w:
        scaler.scale(1e4 * model(x)).backward()
        for _ in range(19):
            model(x).backward()
    assert torch.amp.GradScaler.scale is scale
    report = w.report()
    assert {values.where for values in report.sites[1].not_finite} >= {"scaled gradient of output"}
    assert "not finite" not in {finding.kind for finding in report.findings}
    with watch(model) as w:
        for _ in range(3):
            torch.amp.GradScaler("cpu", init_scale=1e38).scale(1e4 * model(x)).backward()
    (finding,) = [finding for finding in w.report().findings if finding.kind == "not finite"]
    assert "scaled gradient" in finding.text
    assert "GradScaler" in finding.advice


def test_saturation_is_not_where_a_function_rests():
    x = torch.randn(400, 6)
    at_rest = nn.Sequential(nn.Linear(6, 6), nn.ReLU6())
    with watch(at_rest) as w:
        at_rest(x - 3)
    assert w.report().sites[0].saturated == 0.0
    assert w.report().sites[0].flat > 0.3
    with watch(at_rest) as w:
        y = at_rest(20 * x)
    right = float((y >= 5.94).double().mean())
    assert w.report().sites[0].saturated == pytest.approx(right) != 0.0
    bounded = nn.Sequential(nn.Linear(6, 6), nn.Sigmoid())
    with watch(bounded) as w:
        y = bounded(20 * x)
    right = float(((y <= 0.01) | (y >= 0.99)).double().mean())
    assert w.report().sites[0].saturated == pytest.approx(right) != 0.0


def test_gradients_below_float32_squares_are_no_zeros():
    model = nn.Sequential(nn.Linear(6, 6), nn.Tanh())
    with watch(model) as w:
        (model(torch.randn(9, 6)).sum() * 1e-30).backward()
    assert 0 < w.report().sites[0].gradient_output == pytest.approx(1e-30 * 54**0.5, rel=1e-5)


def test_memory_does_not_grow_with_steps():
    def size(history):
        return len(history.periods), sum(p.flat.nbytes + p.outputs.counts.nbytes
                                         for p in history.periods)  # fmt: skip

    history, largest, total = History(), 0, 0
    ones = np.ones(5, np.int64)
    for step in range(3000):
        values = np.array([step * 1.0, -step])
        history.add(Period(step, step, 1, ones, ones, AdaptiveHistogram.of(values)))
        largest, total = max(largest, size(history)[0]), total + values.size
    assert largest <= 32
    assert sum(int(p.outputs.counts.sum()) for p in history.periods) == total
    steps = [(p.first_step, p.last_step) for p in history.periods]
    assert steps[0][0] == 0
    assert steps[-1][1] == 2999
    assert all(a[1] + 1 == b[0] for a, b in pairwise(steps))


def test_histograms_of_different_widths_add_up():
    rng = np.random.default_rng(1)
    small, large = rng.normal(size=500), 1e3 * rng.normal(size=700)
    both = AdaptiveHistogram.of(small) + AdaptiveHistogram.of(large)
    again = AdaptiveHistogram.of(np.concatenate([small, large]))
    assert both.exponent == again.exponent
    np.testing.assert_array_equal(both.counts, again.counts)
    width = 2.0**both.exponent
    edges = width * np.arange(-HALF, HALF + 1)
    np.testing.assert_array_equal(both.counts, np.histogram(np.r_[small, large], edges)[0])
