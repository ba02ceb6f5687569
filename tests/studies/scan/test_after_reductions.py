"""Activations behind a mean or a pooling are activations; the clamp of a variance or norm is none.

Each model is examined in PyTorch, and as the ONNX file that PyTorch exports.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import softgate as sg

torch = pytest.importorskip("torch")
pytest.importorskip("onnxscript")
pytest.importorskip("onnxruntime")
import softgate.torch  # noqa: E402

nn, functional = torch.nn, torch.nn.functional


class PooledHead(nn.Module):  # type: ignore[misc]
    """mean → Linear → GELU → Linear → GELU."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(6, 6), nn.Linear(6, 6)
        self.act1, self.act2 = nn.GELU(), nn.GELU()

    def forward(self, x: Any) -> Any:
        """Return the head's output for x, [batch, 6, 5, 5]."""
        return self.act2(self.second(self.act1(self.first(x.mean((2, 3))))))


class SqueezeExcite(nn.Module):  # type: ignore[misc]
    """A convolution whose channels are weighted by pooled values, and a head with a ReLU."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.pool = nn.Conv2d(6, 6, 3), nn.AdaptiveAvgPool2d(1)
        self.reduce, self.expand = nn.Conv2d(6, 2, 1), nn.Conv2d(2, 6, 1)
        self.act, self.inner, self.gate = nn.SiLU(), nn.SiLU(), nn.Sigmoid()
        self.last, self.head = nn.ReLU(), nn.Linear(6, 3)

    def forward(self, x: Any) -> Any:
        """Return the output for x, [batch, 6, 5, 5]."""
        x = self.act(self.conv(x))
        x = x * self.gate(self.expand(self.inner(self.reduce(self.pool(x)))))
        return self.head(self.last(self.pool(x).flatten(1) - 0.5))


class Limited(nn.Module):  # type: ignore[misc]
    """Three divisors with limits, as in norms and quantisation, and one activation."""

    def __init__(self) -> None:
        super().__init__()
        self.linear, self.act = nn.Linear(5, 5), nn.Tanh()

    def forward(self, x: Any) -> Any:
        """Return the output for x, [batch, 6, 5, 5]."""
        x = functional.normalize(self.linear(x), dim=-1)
        mean = x.mean(-1, keepdim=True)
        variance = (x * x).mean(-1, keepdim=True) - mean * mean
        x = (x - mean) * torch.rsqrt(functional.relu(variance) + 1e-5)
        return self.act(x / x.abs().amax(-1, keepdim=True).clamp(min=1e-3))


CASES: dict[str, tuple[Callable[[], Any], dict[str, int]]] = {
    "pooled-head": (PooledHead, {"gelu": 2}),
    "squeeze-excite": (SqueezeExcite, {"silu": 2, "sigmoid": 1, "relu": 1}),
    "limited": (Limited, {"leaky_relu(slope=-1)": 1, "tanh": 1}),
}


def model_of(name: str) -> Any:
    torch.manual_seed(0)
    return CASES[name][0]().eval()


def inputs() -> Any:
    return torch.from_numpy(np.random.default_rng(0).standard_normal((2, 6, 5, 5), np.float32))


def exported(model: Any, x: Any, file: Path) -> Path:
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(model, (x,), str(file), dynamo=True, verbose=False)
    return file


@pytest.mark.parametrize("name", CASES)
def test_scan_finds_what_is_computed(name: str, tmp_path: Path) -> None:
    model = model_of(name)
    assert sg.scan(model, data=inputs()).counts == CASES[name][1]
    file = exported(model, inputs(), tmp_path / "m.onnx")
    scan = sg.scan(file)
    assert scan.counts == CASES[name][1]
    assert not [o for o in scan.unlisted if o.operator != "Clip"]


@pytest.mark.parametrize("name", ["pooled-head", "squeeze-excite"])
def test_swap_replaces_all_of_them(name: str, tmp_path: Path) -> None:
    old = "gelu" if name == "pooled-head" else "silu"
    wanted = {("mish" if f == old else f): n for f, n in CASES[name][1].items()}
    model = model_of(name)
    file = exported(model, inputs(), tmp_path / "m.onnx")
    new = tmp_path / "new.onnx"
    sg.swap(file, {old: "mish"}, output=new)
    assert sg.scan(new).counts == wanted
    sg.torch.swap(model, {old: "mish"}, data=inputs())
    assert sg.scan(model, data=inputs()).counts == wanted


def test_parity_names_the_activation_behind_a_mean(tmp_path: Path) -> None:
    model, x = model_of("pooled-head"), inputs()
    changed = model_of("pooled-head")
    changed.act1 = changed.act2 = nn.GELU(approximate="tanh")
    for other in (changed, str(exported(changed, x, tmp_path / "m.onnx"))):
        record = sg.parity(model, other, inputs=x.numpy())
        text = str(record)
        assert "gelu_tanh" in text
        assert "act1" in text
    wanted = changed(x).detach().numpy()
    for target in (model, str(exported(model, x, tmp_path / "m.onnx"))):
        record = sg.parity(target, inputs=x.numpy(), expected=wanted)
        assert record.variant is not None
        assert record.variant.change == "gelu -> gelu_tanh"


def test_an_efficientnet_has_all_of_its_activations() -> None:
    transformers = pytest.importorskip("transformers")
    config = transformers.EfficientNetConfig(
        image_size=32, width_coefficient=0.25, depth_coefficient=0.4, hidden_dim=320
    )
    model = transformers.EfficientNetModel(config).eval()
    kinds = [type(module).__name__ for module in model.modules()]
    silu = sum("SiLU" in kind for kind in kinds)
    counts = sg.scan(model).counts
    assert counts == {"silu": silu, "sigmoid": kinds.count("Sigmoid")}
    assert silu > counts["sigmoid"] > 5
