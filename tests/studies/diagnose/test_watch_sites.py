"""Which calls of a model are sites, and what they are called."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402
from watched import Calls, seeded  # noqa: E402, F401

import softgate as sg  # noqa: E402
from softgate.torch import FeedForward, GatedFeedForward, watch  # noqa: E402
from softgate.torch import functional as ours  # noqa: E402


def seen(model, *inputs, **options):
    with watch(model, **options) as w:
        model(*inputs)
    return w.report().sites


class QuickGELU(nn.Module):
    def forward(self, x):
        return x * torch.sigmoid(1.702 * x)


class Swish(nn.Module):
    def forward(self, x):
        return x / (1 + torch.exp(-x))


def relu_in_place(x):
    return x.relu_()


CALLS = {
    "gelu": F.gelu,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "relu": torch.relu,
    "relu ": lambda x: x.relu(),
    "relu  ": relu_in_place,
    "relu   ": lambda x: F.relu(x, inplace=True),
    "silu": lambda x: F.silu(input=x),
    "leaky_relu:slope=0.2": lambda x: F.leaky_relu(x, 0.2),
    "leaky_relu:slope=0.25": lambda x: F.prelu(x, torch.tensor([0.25])),
    "elu:alpha=0.5": lambda x: F.elu(x, 0.5),
    "sigmoid": torch.sigmoid,
    "tanh": lambda x: x.tanh(),
    "softplus": F.softplus,
    "mish": sg.mish,
    "elu:alpha=0.7": lambda x: sg.elu(x, alpha=0.7),
    "leaky_relu:slope=0.3": lambda x: ours.leaky_relu(x, 0.3),
    "relu    ": lambda x: ours.relu(x, inplace=True),
    "gelu ": ours.gelu,
}


@pytest.mark.parametrize("name", CALLS)
def test_functions_and_methods_are_sites(name):
    x = torch.randn(40, 6)
    with torch.no_grad():
        model = Calls(CALLS[name])
        plain = model(x)
        with watch(model) as w:
            watched = model(x)
    assert torch.equal(plain, watched)
    (site,) = w.report().sites
    if "prelu" in site.name:  # its weight is learnt: it has a name and no fixed parameters
        assert site.function == "prelu"
    else:
        assert site.function == name.strip()
    assert (site.units, site.inputs, site.calls) == (6, 40, 1)


MODULES = {
    "gelu": nn.GELU,
    "relu": lambda: nn.ReLU(inplace=True),
    "gelu_sigmoid": QuickGELU,
    "silu": Swish,
    "silu ": lambda: sg.torch.Swish(learnable=True),
    "leaky_relu:slope=0.25": nn.PReLU,
    "hard_swish": nn.Hardswish,
    "squareplus": lambda: sg.torch.Activation("squareplus"),
}


@pytest.mark.parametrize("name", MODULES)
def test_leaf_modules_are_sites_however_they_are_written(name):
    model = nn.Sequential(nn.Linear(6, 6), MODULES[name]())
    (site,) = seen(model, torch.randn(30, 6))
    assert (site.name, site.function) == ("1", name.strip())
    assert site.flat < 1


def test_a_module_called_by_keyword_is_a_site():
    class Named(nn.Module):
        def __init__(self):
            super().__init__()
            self.act = QuickGELU()

        def forward(self, x):
            return self.act(x=x)

    (site,) = seen(Named(), torch.randn(30, 6))
    assert (site.name, site.function) == ("act", "gelu_sigmoid")


def test_what_is_no_activation_is_no_site():
    model = nn.Sequential(
        nn.Linear(6, 6), nn.Dropout(0.5), nn.LayerNorm(6), nn.Identity(), nn.Softmax(-1)
    )
    assert seen(model, torch.randn(5, 6)) == ()
    with watch(model) as w:
        torch.sigmoid(model(torch.randn(5, 6)))  # outside of the model
    assert w.report().sites == ()


def test_looking_does_not_change_random_numbers():
    def run(watched):
        torch.manual_seed(3)
        model = nn.Sequential(nn.Linear(6, 6), nn.RReLU(), nn.Dropout(0.5), nn.Linear(6, 2))
        if not watched:
            return model(torch.randn(9, 6))
        with watch(model):
            return model(torch.randn(9, 6))

    assert torch.equal(run(True), run(False))


class Shared(nn.Module):
    """One activation module for two layers of different widths."""

    def __init__(self):
        super().__init__()
        self.a, self.b, self.act = nn.Linear(4, 6), nn.Linear(6, 5), nn.ReLU()

    def forward(self, x):
        return self.act(self.b(self.act(self.a(x))))


def test_a_module_used_twice_is_two_sites_and_a_block_used_twice_is_one():
    first, second = seen(Shared(), torch.randn(8, 4))
    assert (first.name, first.units, first.calls) == ("act", 6, 1)
    assert (second.name, second.units, second.calls) == ("act#2", 5, 1)

    class Recurrent(nn.Module):
        def __init__(self):
            super().__init__()
            self.cell = Calls(torch.tanh)

        def forward(self, x):
            for _ in range(5):
                x = self.cell(x)
            return x

    (site,) = seen(Recurrent(), torch.randn(8, 6))
    assert (site.name, site.calls, site.inputs) == ("cell.tanh()", 5, 40)


def test_channels_are_the_units_behind_a_convolution():
    model = nn.Sequential(nn.Conv2d(3, 5, 3), nn.BatchNorm2d(5), nn.ReLU(), nn.Flatten(),
                          nn.Linear(80, 7), nn.ReLU())  # fmt: skip
    conv, linear = seen(model, torch.randn(2, 3, 6, 6))
    assert (conv.units, conv.inputs) == (5, 32)
    assert (linear.units, linear.inputs) == (7, 2)
    model = nn.Sequential(nn.Conv1d(3, 5, 3), nn.GELU())
    assert seen(model, torch.randn(2, 3, 9))[0].units == 5
    tokens = nn.Sequential(nn.Linear(4, 6), nn.GELU())
    assert seen(tokens, torch.randn(2, 9, 4))[0].units == 6


def test_units_of_a_single_sample_and_of_an_axis_that_was_dropped():
    image = nn.Sequential(nn.Conv2d(3, 5, 3), nn.ReLU())
    assert seen(image, torch.randn(3, 8, 9))[0].units == 5
    signal = nn.Sequential(nn.Conv1d(3, 5, 3), nn.ReLU())
    assert seen(signal, torch.randn(3, 8))[0].units == 5
    flat = nn.Sequential(nn.Conv2d(3, 5, 3), nn.Flatten(2), nn.ReLU())
    assert seen(flat, torch.randn(2, 3, 8, 9))[0].units == 5
    vector = nn.Sequential(nn.Linear(4, 6), nn.ReLU())
    assert (seen(vector, torch.randn(4))[0].units, seen(vector, torch.randn(4))[0].inputs) == (6, 1)
    for shape in ((40, 6), (5, 8, 6)):
        score = Calls(lambda x: torch.sigmoid(x.sum(-1)))
        score.fc = nn.Linear(6, 1)
        (site,) = seen(score, torch.randn(shape))
        assert (site.units, site.inputs) == (1, 40)
    assert seen(nn.Sequential(nn.ReLU()), torch.tensor(1.0))[0].units == 1


def test_lengths_that_differ_do_not_make_sites_without_end():
    model = Calls(lambda x: torch.relu(x @ x.mT))
    with watch(model) as w:
        for length in range(3, 30):
            model(torch.randn(length, 6))
    sites = w.report().sites
    assert len(sites) == 9
    assert sites[-1].name == "relu() (other widths, all units as one)"
    assert sites[-1].inputs == sum(length**2 for length in range(11, 30))
    assert [site.units for site in sites] == [*range(3, 11), 1]


class Arctangent(nn.Module):
    def forward(self, x):
        return torch.atan(x)


class Clipped(nn.Module):
    def forward(self, x):
        return torch.clip(F.gelu(x), -0.1, 2.0)


class Doubled(nn.Module):
    def forward(self, x):
        return 2 * x + 1


class Normalised(nn.Module):
    def forward(self, x):
        return x / x.abs().sum(-1, keepdim=True)


class Noisy(nn.Module):
    def forward(self, x):
        return x + torch.rand_like(x) * x


@pytest.mark.parametrize(
    ("make", "functions"),
    [(Arctangent, ["unknown"]), (Clipped, ["gelu"]), (Doubled, []), (Normalised, []), (Noisy, [])],
)
def test_an_activation_outside_the_catalogue_is_a_site(make, functions):
    x = torch.randn(300, 6)
    model = nn.Sequential(nn.Linear(6, 6), make())
    sites = seen(model, x)
    assert [site.function for site in sites] == functions
    if functions == ["unknown"]:
        h = model[0](x).detach().requires_grad_()
        (slope,) = torch.autograd.grad(model[1](h).sum(), h)
        assert sites[0].flat == pytest.approx(float((slope.abs() < 0.01).double().mean()))
        assert sites[0].mean == pytest.approx(float(model(x).detach().mean()), rel=1e-5)


def test_recognition_leaves_nothing_in_a_module_that_remembers():
    class Recorder(nn.Module):
        def __init__(self):
            super().__init__()
            self.shapes, self.calls = [], 0

        def forward(self, x):
            self.shapes.append(tuple(x.shape))
            self.calls += 1
            return x

    model = nn.Sequential(nn.Linear(6, 6), Recorder(), nn.ReLU())
    assert [site.function for site in seen(model, torch.randn(5, 6))] == ["relu"]
    assert (model[1].shapes, model[1].calls) == ([(5, 6)], 1)


def test_what_makes_weights_is_no_site_and_no_step():
    class Positive(nn.Module):
        def forward(self, weight):
            return F.softplus(weight)

    linear = nn.Linear(6, 6)
    nn.utils.parametrize.register_parametrization(linear, "weight", Positive())
    model = nn.Sequential(linear, nn.ReLU())
    with watch(model) as w:
        model(torch.randn(5, 6))
        assert linear.weight.min() > 0
        model(torch.randn(5, 6))
    assert [(site.name, site.calls) for site in w.report().sites] == [("1", 2)]
    assert w.report().steps == 2


def test_operators_of_an_exported_model_are_sites():
    model = nn.Sequential(nn.Linear(6, 6), nn.GELU(), nn.Linear(6, 4), nn.ReLU())
    exported = torch.export.export(model, (torch.randn(5, 6),)).module()
    sites = seen(exported, torch.randn(5, 6))
    assert [(site.function, site.units) for site in sites] == [("gelu", 6), ("relu", 4)]


def test_transformer_layers_are_seen_in_training_and_in_evaluation():
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, activation="gelu")
    model = nn.TransformerEncoder(layer, 2)
    x = torch.randn(2, 5, 8)
    with torch.no_grad():
        plain = model.eval()(x)
        with watch(model) as w:  # unwatched, one kernel computes all
            torch.testing.assert_close(model(x), plain)
    assert [(site.function, site.units) for site in w.report().sites] == [("gelu", 16)] * 2


def test_blocks_of_ours_are_seen_inside():
    model = nn.Sequential(FeedForward(6, 12), GatedFeedForward(6, 8))
    plain = model(torch.ones(3, 6))
    with watch(model) as w:
        watched = model(torch.ones(3, 6))
        watched.sum().backward()
    torch.testing.assert_close(watched, plain)
    first, second = w.report().sites
    assert (first.name, first.function, first.units) == ("0.act", "gelu", 12)
    assert (second.name, second.function, second.units) == ("1.act", "silu", 8)
    assert first.gradient_input > 0
    assert second.gradient_input > 0


GATED = {
    "sigmoid": F.glu,
    "silu": sg.swiglu,
    "gelu": lambda h: sg.geglu(h[..., :4], h[..., 4:]),
    "relu": lambda h: ours.reglu(h, axis=-1),
    "silu:beta=2.0": lambda h: sg.swiglu(h, beta=2.0),
    "tanh": lambda h: sg.glu(torch.tanh(h)),
}


@pytest.mark.parametrize("name", GATED)
def test_the_gate_of_a_gated_call_is_a_site(name):
    model = Calls(GATED[name], 8)
    x = torch.randn(20, 8)
    plain = model(x)
    with watch(model) as w:
        watched = model(x)
        watched.sum().backward()
    torch.testing.assert_close(watched, plain)
    site = w.report().sites[0]
    assert site.function == name
    assert site.units == (8 if name == "tanh" else 4)
    assert site.gradient_input > 0
    assert w.report().sites[-1].function == ("sigmoid" if name == "tanh" else name)
