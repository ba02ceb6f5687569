"""`scan`, `parity` and `swap` of TorchScript and exported programs: objects, files, commands."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import softgate as sg

torch = pytest.importorskip("torch")
import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402

import softgate.torch  # noqa: E402

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]
X = torch.linspace(-2, 2, 16).reshape(2, 8)


class Block(nn.Module):
    """A layer, an activation module and a call."""

    def __init__(self, form: str) -> None:
        super().__init__()
        self.up = nn.Linear(8, 8)
        self.act = nn.GELU(approximate=form)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.silu(self.up(self.act(self.up(x))))


class Network(nn.Module):
    """Two lists of blocks with equal names inside, and a call at the end."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.first = nn.ModuleList([Block("none"), Block("none")])
        self.second = nn.ModuleList([Block("tanh")])
        self.head = nn.Linear(8, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for block in self.first:
            x = block(x)
        for block in self.second:
            x = block(x)
        return torch.relu(self.head(x))


FOUND = [
    ("first.0.act", "gelu"), ("first.0", "silu"), ("first.1.act", "gelu"), ("first.1", "silu"),
    ("second.0.act", "gelu_tanh"), ("second.0", "silu"), ("", "relu"),
]  # fmt: skip


def scripted(model: nn.Module) -> Any:
    return torch.jit.script(model)


def traced(model: nn.Module) -> Any:
    return torch.jit.trace(model, X)


def frozen(model: nn.Module) -> Any:
    return torch.jit.freeze(torch.jit.script(model))


def exported(model: nn.Module) -> Any:
    return torch.export.export(model, (X,))


PROGRAMS = [scripted, traced, frozen, exported]


def saved(program: Any, folder: Path) -> Path:
    if isinstance(program, torch.export.ExportedProgram):
        torch.export.save(program, folder / "m.pt2")
        return folder / "m.pt2"
    torch.jit.save(program, folder / "m.pt")
    return folder / "m.pt"


@pytest.mark.parametrize("make", PROGRAMS)
def test_every_activation_has_its_path_and_is_one_row(
    make: Callable[[nn.Module], Any], tmp_path: Path
) -> None:
    program = make(Network().eval())
    expected = [("", function) for _, function in FOUND] if make is frozen else FOUND
    answers = [function for _, function in expected]
    file = saved(program, tmp_path)
    for record in (sg.scan(program), sg.scan(file, trust=True), sg.scan(program, data=X)):
        if make is frozen:  # it has no modules any more, so that equal calls are one row
            calls = {a.function: a.calls for a in record.activations}
            assert calls == {name: answers.count(name) for name in answers}
        else:
            assert [(a.path, a.function) for a in record.activations] == expected


@pytest.mark.parametrize("make", PROGRAMS)
def test_the_command(make: Callable[[nn.Module], Any], tmp_path: Path, run_here: Any) -> None:
    file = str(saved(make(Network().eval()), tmp_path))
    np.savez(tmp_path / "x.npz", x=X.numpy())
    for options in ([], ["--data", str(tmp_path / "x.npz")]):
        done = run_here("scan", file, "--trust", *options)
        assert done.returncode == 0, done.stderr
        assert done.stderr == ""
        assert "1 gelu_tanh" in done.stdout
    refused = run_here("scan", file)
    assert refused.returncode == 2
    assert refused.stderr.count("\n") == 1
    assert "--trust" in refused.stderr


@pytest.mark.parametrize("make", PROGRAMS)
def test_parity_with_the_original(make: Callable[[nn.Module], Any], tmp_path: Path) -> None:
    model = Network().eval()
    file = saved(make(model), tmp_path)
    record = sg.parity(model, file, {"x": X}, trust=True)
    assert record.equal
    assert [(a.path or "").removeprefix("model") for a in record.activations] == [
        p for p, _ in FOUND
    ]
    assert make is frozen or all(a.path == a.other_path for a in record.activations)
    assert [a.other_function for a in record.activations] == [function for _, function in FOUND]
    assert all(a.difference is not None and a.difference.equal for a in record.activations)


@pytest.mark.parametrize("make", PROGRAMS)
def test_the_program_is_unchanged(make: Callable[[nn.Module], Any]) -> None:
    program = make(Network().eval())
    module = program.module() if make is exported else program
    code = str(module.code)
    sg.scan(module, data=X)
    assert str(module.code) == code
    with torch.no_grad():
        assert torch.equal(module(X), Network()(X))


@pytest.mark.parametrize("make", PROGRAMS)
def test_swap_is_refused_and_changes_nothing(make: Callable[[nn.Module], Any]) -> None:
    program = make(Network().eval())
    module = program.module() if make is exported else program
    with pytest.raises(ValueError, match=r"export|scripted"):
        softgate.torch.swap(module, {"gelu": "relu"}, data=X)
    with torch.no_grad():
        assert torch.equal(module(X), Network()(X))


def test_programs_inside_modules() -> None:
    class Outer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.parts = nn.ModuleList([torch.jit.script(Block("none")), Block("tanh")])

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            for part in self.parts:
                x = part(x)
            return torch.tanh(x)

    model = Outer().eval()
    inner = model.parts[0]
    record = sg.scan(model, data=X)
    assert [(a.path, a.function) for a in record.activations] == [
        ("parts.0.act", "gelu"), ("parts.0", "silu"), ("parts.1.act", "gelu_tanh"),
        ("parts.1", "silu"), ("", "tanh"),
    ]  # fmt: skip
    assert model.parts[0] is inner


class Choosing(nn.Module):
    """Branches and loops, which a script keeps."""

    def __init__(self) -> None:
        super().__init__()
        self.act, self.other = nn.GELU(), nn.Tanh()

    def forward(self, x: torch.Tensor, steps: int = 3) -> torch.Tensor:
        for _ in range(steps):
            x = self.act(x) if bool(x.sum() > -1e9) else self.other(x)
            x = x - x.mean()
        return x


def test_loops_are_counted_once_for_each_call() -> None:
    record = sg.scan(torch.jit.script(Choosing()), data=X)
    assert [(a.path, a.function, a.calls) for a in record.activations] == [("act", "gelu", 3)]


class Image(nn.Module):
    """A grouped convolution first."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(6, 4, 3, groups=2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.hardswish(self.conv(x))


class Two(nn.Module):
    """Two inputs."""

    def forward(self, left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
        return F.mish(left + right)


def test_inputs_are_made_or_named(tmp_path: Path) -> None:
    assert [a.function for a in sg.scan(torch.jit.script(Image())).activations] == ["hard_swish"]
    words = nn.Sequential(nn.Embedding(10, 4), nn.ELU())
    assert [a.function for a in sg.scan(torch.jit.script(words)).activations] == ["elu"]
    two = torch.jit.script(Two())
    with pytest.raises(ValueError, match=r"left, right.*--data"):
        sg.scan(two)
    assert [a.function for a in sg.scan(two, data=(X, X)).activations] == ["mish"]
    keywords = torch.export.export(Two(), (X,), {"right": X})
    torch.export.save(keywords, tmp_path / "k.pt2")
    assert [a.function for a in sg.scan(tmp_path / "k.pt2", trust=True).activations] == ["mish"]


@pytest.mark.parametrize("name", ["bad.pt", "bad.pt2"])
def test_a_damaged_file_is_one_line(name: str, tmp_path: Path, run_here: Any) -> None:
    (tmp_path / name).write_bytes(b"x")
    done = run_here("scan", str(tmp_path / name), "--trust")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert name in done.stderr
