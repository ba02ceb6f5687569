"""The closing line of a scan of a PyTorch model: each activation operator is in a row."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import softgate as sg

torch = pytest.importorskip("torch")
import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402

import softgate.torch  # noqa: E402


def sum_of_rows(scan: Any) -> int:
    rows = sum(row.counted for row in (*scan.activations, *scan.unidentified))
    return rows + sum(operator.count for operator in scan.unlisted)


def test_a_model_whose_operators_are_all_listed(tmp_path: Path, run_here: Any) -> None:
    (tmp_path / "m.py").write_text(
        "from torch import nn\ndef make(): return nn.Sequential(nn.Linear(4, 4), nn.GELU(),"
        " nn.Linear(4, 4), nn.Tanhshrink(), nn.GLU(), nn.Hardswish())\n"
    )
    done = run_here("scan", f"{tmp_path / 'm.py'}:make", "--trust")
    assert done.returncode == 0, done.stderr
    last = done.stdout.splitlines()[-1]
    assert last == "All 4 activation operators that the model ran are listed."


class Left(nn.Module):
    """Operators that are in no row, each for another reason."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("table", torch.linspace(-2, 2, 8))
        self.slopes = nn.PReLU(8)
        self.layer = nn.Linear(8, 8)
        self.recurrent = nn.LSTM(8, 8)

    def forward(self, x: Any) -> Any:
        bias = torch.tanh(self.table)
        position = torch.arange(8).clamp(max=5)  # integers
        torch.sigmoid(x)  # not used
        x = self.slopes(self.layer(x)) + bias + position
        x = x.clamp(-1e9, 1e9)
        x = torch.clamp(x, max=x.amax())
        return F.elu(self.recurrent(x)[0] @ self.layer.weight)


def test_operators_that_are_not_listed_are_named_with_reasons() -> None:
    scan = sg.scan(Left().eval(), data=torch.linspace(-1, 1, 16).reshape(2, 8))
    left = [(operator.operator, operator.path, operator.reason) for operator in scan.unlisted]
    for name, path, reason in [
        ("tanh", "", "depend on the input"), ("sigmoid", "", "not used"),
        ("_prelu_kernel", "slopes", "slopes"), ("clamp", "", "linear"), ("clamp", "", "scalar"),
        ("mkldnn_rnn_layer", "recurrent", "inside"),
    ]:  # fmt: skip
        found = [why for n, at, why in left if (n, at) == (name, path)]
        assert any(reason in why for why in found), (name, left)
    assert [row.answer for row in scan.activations] == ["elu"]
    assert scan.operators == sum_of_rows(scan)
    assert scan.closing.startswith(f"{sum(o.count for o in scan.unlisted)} of {scan.operators} ")


def test_softgates_operators_are_counted() -> None:
    model = nn.Sequential(nn.Linear(4, 4), softgate.torch.GELU(), softgate.torch.Mish())
    scan = sg.scan(model)
    assert scan.operators == 2
    assert scan.unlisted == ()


def test_swap_leaves_the_count_as_it_was() -> None:
    model = nn.Sequential(nn.Linear(4, 4), nn.GELU(), nn.Linear(4, 4), nn.ReLU())
    softgate.torch.swap(model, {"gelu": "gelu_tanh"})
    scan = sg.scan(model)
    assert (scan.operators, scan.unlisted) == (2, ())


def test_swap_lists_what_it_leaves() -> None:
    model = nn.Sequential(
        nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 8), nn.ReLU(), softgate.torch.Mish(), nn.PReLU(8),
        nn.LSTM(8, 8),
    )  # fmt: skip
    torch.nn.init.uniform_(model[5].weight)
    record = softgate.torch.swap(model, {"gelu": "gelu_tanh"})
    left = {(u.path, u.function or u.operators) for u in record.unchanged}
    assert left == {
        ("3", "relu"), ("4", "mish"), ("5", "_prelu_kernel"), ("6", "sigmoid"), ("6", "tanh"),
    }  # fmt: skip
    assert all(u.reason for u in record.unchanged)
    assert "Left unchanged" in str(record)
    single = softgate.torch.swap(nn.Sequential(nn.Linear(4, 4), nn.GELU()), "silu")
    assert single.unchanged == ()
    assert "No other activation is left unchanged" in str(single)
