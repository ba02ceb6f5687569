"""What a watch cannot observe is a finding, and never counts as healthy."""

from __future__ import annotations

import warnings
from threading import Thread

import pytest

torch = pytest.importorskip("torch")

import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402
from watched import Calls, seeded  # noqa: E402, F401

from softgate.studies.diagnose.findings import condition  # noqa: E402
from softgate.studies.diagnose.record import Diagnosis  # noqa: E402
from softgate.torch import diagnose, watch  # noqa: E402


def seen(model, *inputs, call=None):
    with watch(model) as w:
        (call or model)(*inputs)
    return w.report()


def reasons(report):
    """Return the names that were not observed, by the reason; each must be a finding."""
    findings = [finding for finding in report.findings if finding.kind == "unseen"]
    assert [finding.advice for finding in findings] == [group.advice for group in report.unseen]
    assert all(
        group.why in finding.text for group, finding in zip(report.unseen, findings, strict=True)
    )
    assert Diagnosis.from_json(report.to_json()) == report
    return {group.why: group.names for group in report.unseen}


class Recurrent(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.first, self.layer = Calls(F.relu), kind(6, 5)

    def forward(self, x):
        return self.layer(self.first(x))[0]


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.RNN, nn.LSTMCell, nn.GRUCell])
def test_recurrent_layers_are_reported_as_unseen(kind):
    report = seen(Recurrent(kind), torch.randn(300, 6))
    assert [site.function for site in report.sites] == ["relu"]
    ((why, names),) = reasons(report).items()
    assert "recurrent" in why
    assert names == ("layer",)


def test_a_recurrent_layer_that_was_not_called_is_not_missed():
    model = Recurrent(nn.LSTM)
    assert seen(model, torch.randn(300, 6), call=model.first).findings == ()


OPERANDS = {
    "complex": lambda x: torch.tanh(torch.complex(x, x)).real,
    "sparse": lambda x: torch.relu(x.to_sparse()).to_dense(),
    "nested": lambda x: torch.relu(torch.nested.as_nested_tensor([x])).to_padded_tensor(0.0)[0],
    "without memory": lambda x: torch.relu(x.to("meta")),
    "torch.func": torch.func.vmap(torch.relu),
}


@pytest.mark.parametrize("word", OPERANDS)
def test_activations_of_operands_that_cannot_be_counted_are_reported(word):
    model = nn.Sequential(Calls(F.gelu), Calls(OPERANDS[word]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # nested tensors are a prototype
        report = seen(model, torch.randn(300, 6))
    assert [site.function for site in report.sites] == ["gelu"]
    ((why, names),) = reasons(report).items()
    assert word in why
    assert names in (("1.relu()",), ("1.tanh()",))


def test_quantised_models_are_reported_as_unseen():
    quantization = torch.ao.quantization
    model = nn.Sequential(
        quantization.QuantStub(), nn.Linear(6, 6), nn.ReLU(), nn.Linear(6, 6), nn.Sigmoid(),
        quantization.DeQuantStub(), nn.Tanh(),
    ).eval()  # fmt: skip
    x = torch.randn(300, 6)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch is about to move its quantisation
        model.qconfig = quantization.get_default_qconfig(torch.backends.quantized.engine)
        quantization.fuse_modules(model, [["1", "2"]], inplace=True)
        prepared = quantization.prepare(model)
        prepared(x)
        report = seen(quantization.convert(prepared), x)
    assert [site.function for site in report.sites] == ["tanh"]
    ((why, names),) = reasons(report).items()
    assert "quantised" in why
    assert names == ("1", "4.sigmoid()")


def test_another_thread_is_reported_once():
    model = nn.Sequential(nn.Linear(6, 6), nn.GELU())
    x = torch.randn(300, 6)

    def elsewhere(x):
        model(x)
        for _ in range(2):
            thread = Thread(target=model, args=(x,))
            thread.start()
            thread.join()

    report = seen(model, x, call=elsewhere)
    assert report.sites[0].calls == 1
    ((why, names),) = reasons(report).items()
    assert "another thread" in why
    assert names == ("",)
    assert "the model itself" in report.findings[0].text


def test_empty_batches_are_no_evidence():
    report = seen(nn.Sequential(nn.Linear(6, 6), nn.GELU()), torch.randn(0, 6))
    (finding,) = report.findings
    assert (finding.kind, finding.site) == ("nothing seen", "1")
    assert "called once, each with an empty tensor" in finding.text


def test_few_inputs_are_noted_above_the_table():
    model = nn.Sequential(nn.Linear(6, 6), nn.GELU())
    assert "too few inputs to call units dead: 1" in str(seen(model, torch.randn(40, 6)))
    assert "too few" not in str(seen(model, torch.randn(400, 6)))


@pytest.mark.parametrize("text", ["dead>5%", "flat>90%", "saturated>50%", "gradient_ratio<1e-3"])
def test_a_condition_on_what_was_not_seen_fails(text):
    report = diagnose(nn.Sequential(nn.Linear(6, 6)), [torch.randn(300, 6)])
    assert condition(text).failure(report) == f"{text}: no activation was observed"
    empty = diagnose(nn.Sequential(nn.Linear(6, 6), nn.GELU()), [torch.randn(0, 6)])
    assert condition(text).failure(empty) == f"{text}: no activation was observed"


def test_conditions_on_gradients_and_on_the_unseen():
    model, x = nn.Sequential(nn.Linear(6, 6), nn.GELU()), torch.randn(300, 6)
    without = diagnose(model, [x], gradients=False)
    assert condition("gradient_ratio<1e-3").failure(without).endswith("no gradient was observed")
    assert condition("gradient_ratio<1e-3").failure(diagnose(model, [x])) is None
    assert condition("unseen>0").failure(without) is None
    recurrent = diagnose(Recurrent(nn.GRU), [x])
    assert condition("unseen>0").failure(recurrent) == "unseen>0: unseen is 1"
