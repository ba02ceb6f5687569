"""Every test that takes `activation` runs for the whole catalogue, new entries included."""

from __future__ import annotations

import gc
import hashlib
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator

import pytest
from llvmlite import ir
from variants import named, parameter_sets

import softgate as sg
from softgate import cli
from softgate.lower import target

collect_ignore = ["support"]
"""Helpers have no doctests, and some are programs that must not share a process with others."""

gc.disable()  # until tests are collected: nearly all that is imported and collected stays


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Parametrise over the catalogue.

    By the scope, all tests of a module that take one activation follow each other, and share its
    tables and compiled graphs, of which only some are cached.
    """
    if "activation" in metafunc.fixturenames:
        known = sg.activations()
        metafunc.parametrize("activation", list(known.values()), ids=list(known), scope="module")
    if "variant" in metafunc.fixturenames:
        variants = [
            (activation, parameters)
            for activation in sg.activations().values()
            for parameters in parameter_sets(activation)
        ]
        ids = [named(*variant) for variant in variants]
        metafunc.parametrize("variant", variants, ids=ids, scope="module")


def pytest_collection_finish() -> None:
    """Exclude what is loaded now, frameworks and thousands of tests, from garbage collection.

    A full collection would take a second, and statsmodels and others start one at each call.
    """
    gc.enable()
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def shared_object_code(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Iterator[None]:
    """Compile a kernel once for all test processes: a third of them would be compiled again."""
    temporary = tmp_path_factory.getbasetemp()
    folder = (temporary if worker_id == "master" else temporary.parent) / "object_code"
    folder.mkdir(exist_ok=True)
    compile_here = target.object_code

    def compile_or_read(module: ir.Module, cpu: target.Target = target.HOST) -> bytes:
        file = folder / hashlib.sha256(f"{cpu}\n{module}".encode()).hexdigest()
        if not file.exists():
            part = folder / f"{file.name}.{worker_id}.{threading.get_ident()}"
            part.write_bytes(compile_here(module, cpu))
            part.replace(file)
        return file.read_bytes()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(target, "object_code", compile_or_read)
        yield


@pytest.fixture
def all_threads() -> Iterator[None]:
    """Four threads during a test, whatever the machine has; the old number afterwards."""
    before = sg.get_threads()
    sg.set_threads(4)
    yield
    sg.set_threads(before)


@pytest.fixture
def one_torch_thread() -> Iterator[None]:
    """One thread of torch during a test: two only wait for each other if tensors are small."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


RunHere = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run_here(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> RunHere:
    """Run a command line in this process, where loading softgate again would show nothing more."""

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        monkeypatch.setattr(sys, "argv", ["softgate", *arguments])
        with pytest.raises(SystemExit) as exited:
            cli.main()
        assert isinstance(exited.value.code, int)
        return subprocess.CompletedProcess(arguments, exited.value.code, *capsys.readouterr())

    return run
