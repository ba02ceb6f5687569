"""Trials on Ray: the same bits as here, also when workers are killed, and nothing left behind.

All tests share one cluster, because starting one takes longer than the tests.
"""

from __future__ import annotations

import os
import re
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from places import ROOT
from test_compare_execution import TRIALS, same, starts
from trained import KILLS, Toy, execute, run_trial, trial

from softgate.studies.compare.execution import (
    Event,
    Executor,
    ray_backend,
)
from softgate.studies.compare.execution.ray_backend import OURS, RayClusterError, RayConnection
from softgate.studies.compare.execution.run_trial import LoadError
from softgate.studies.compare.store import Store

pytest.importorskip("ray")
COUNT = 10


class Kept:
    """The folders of the module's cluster and store."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.home.mkdir()
        self.store, self.journal = folder / "store", folder / "journal"
        self.trainable = Toy(str(self.journal), str(self.store))


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Kept:
    return Kept(tmp_path_factory.mktemp("ray"))


@pytest.fixture(scope="module")
def cluster(kept: Kept) -> Iterator[Executor]:
    before = signal.getsignal(signal.SIGTERM)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(kept.home))
        variables = dict(os.environ)
        with Executor(kept.trainable, Store(kept.store), on="ray", jobs=2) as executor:
            yield executor
        assert {n: v for n, v in os.environ.items() if n.startswith("RAY_AUTH")} == {
            n: v for n, v in variables.items() if n.startswith("RAY_AUTH")
        }
    assert not list(kept.home.iterdir())  # where Ray keeps a token
    assert signal.getsignal(signal.SIGTERM) is before
    assert not list(Path(tempfile.gettempdir()).glob(f"{OURS}{os.getpid()}-*"))


def test_bit_identical_to_this_process(
    cluster: Executor, kept: Kept, capfd: pytest.CaptureFixture[str]
) -> None:
    here = [run_trial(item, Toy().trial_function(), lambda *_: None) for item in TRIALS]
    capfd.readouterr()
    assert same(cluster.run(TRIALS), here)
    assert len(starts(kept.journal)) == len(TRIALS)
    assert same(cluster.run(TRIALS), here)
    assert len(starts(kept.journal)) == len(TRIALS)
    assert capfd.readouterr() == ("", "")


def test_killed_workers(cluster: Executor, kept: Kept, capfd: pytest.CaptureFixture[str]) -> None:
    """No finished trial is repeated, none is missing."""
    killing = [
        trial(seed, kills=kills) for seed, kills in enumerate(KILLS) if kills.startswith("worker")
    ]
    trials = [*killing, *(trial(seed) for seed in range(20, 20 + COUNT))]
    events: list[Event] = []
    outcomes = cluster.run(trials, events.append)
    lines = starts(kept.journal)
    here = [run_trial(item, kept.trainable.trial_function(), lambda *_: None) for item in trials]
    assert same(outcomes, here)
    assert not [line for line in lines if line.endswith("again")]
    assert len(Store(kept.store)) == len(TRIALS) + len(trials)
    assert not list(kept.store.glob("*.part"))
    assert any(run.loss == 2.0 and run.steps == 10 for e in events for run in e.running)
    assert "raylet" not in "".join(capfd.readouterr())


def test_a_trial_that_kills_its_worker(cluster: Executor) -> None:
    (result,) = cluster.run([trial(0, mood="vanish")])
    assert result.message == "its process was killed (WorkerCrashedError of Ray) three times"
    assert cluster.store.read(result.trial) is None


def test_a_trainable_that_cannot_be_loaded(cluster: Executor) -> None:
    """An existing session is used and stays open."""
    import ray

    class Broken(Toy):
        def trial_function(self) -> object:  # type: ignore[override]
            raise RuntimeError("no data")

    with pytest.raises(LoadError, match=r"cannot be loaded on .*: RuntimeError: no data"):
        execute([trial()], Broken(), Store(None), on="ray")
    assert ray.is_initialized()
    (result,) = execute([trial()], Toy(), Store(None), on="ray")
    assert result.status == "finished"
    with pytest.raises(RayClusterError, match="connected to a Ray cluster already"):
        execute([trial()], Toy(), Store(None), on="ray://127.0.0.1:10001")


@pytest.mark.usefixtures("cluster")
def test_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The blocks of docs/ray.md, on the cluster that this process is connected to."""
    page = (ROOT / "docs" / "ray.md").read_text(encoding="utf-8")
    script, call = re.findall(r"(?ms)^```python\n(.*?)^```", page)
    monkeypatch.chdir(tmp_path)
    Path(script.split("\n")[0].removeprefix("# ")).write_text(script, encoding="utf-8")
    names: dict[str, Any] = {}
    # In one process: each takes seconds to import PyTorch.
    exec(compile(call.replace('on="ray"', 'on="ray", jobs=1'), "ray.md", "exec"), names)
    header, rows = names["comparison"].table()
    scores = [row[header.index("score")] for row in rows]
    assert len(scores) == 12
    assert min(scores) > 0.6


def test_versions_that_differ() -> None:
    question = ray_backend.trial_request(trial())
    assert ray_backend.mismatch(question) == ""
    assert "has torch" in ray_backend.mismatch(question | {"torch": "1.0"})
    answer = ray_backend.run_task(
        ray_backend.SharedTrainable("", [], []), question | {"softgate": "0.0"}, None
    )
    assert "install the same" in answer["error"]


def test_without_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ImportError, match=r'pip install "softgate\[ray\]"'):
        RayConnection("ray", 1)
