"""`softgate certify --exhaustive`: progress, interrupts, and states that belong to one sweep."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any, NoReturn

import pytest
from certifying import QUICK, Run, certify_in

from softgate.studies.accuracy import sweep


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    """The command in an empty folder."""
    return certify_in(tmp_path, monkeypatch, capsys)


@pytest.fixture
def small_sweeps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sweeps over the first patterns only, in four rounds."""
    monkeypatch.setattr(sweep, "INPUTS", 1 << 22)
    monkeypatch.setattr(sweep, "ROUND", 1 << 20)
    monkeypatch.setattr(sweep, "BLOCK", 1 << 18)


@pytest.mark.usefixtures("small_sweeps")
def test_an_interrupted_sweep_goes_on(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ("softgate:gelu", *QUICK[:4], "--samples", "2000", "--exhaustive", "--json")
    code, whole, _ = run(*arguments)
    assert code == 0
    assert list(tmp_path.iterdir()) == []
    started: list[int] = []
    measure = sweep.RegionMeter.measure

    def interrupted(meter: sweep.RegionMeter, first: int, y: object) -> None:
        started.append(first)
        if first >= 1 << 21:
            raise KeyboardInterrupt
        measure(meter, first, y)  # type: ignore[arg-type]

    monkeypatch.setattr(sweep.RegionMeter, "measure", interrupted)
    code, out, err = run(*arguments)
    assert (code, out) == (130, "")
    assert "float32 value 2,097,152 of 4,194,304 inputs. Rerun this command to resume" in err
    (state,) = tmp_path.iterdir()
    assert json.loads(state.read_text())["sweeps"]["float32 value"]["done"] == 1 << 21
    started.clear()
    monkeypatch.setattr(sweep.RegionMeter, "measure", measure)
    code, again, err = run(*arguments)
    assert code == 0
    assert "Resuming from" in err
    assert again == whole
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("small_sweeps")
@pytest.mark.parametrize("where", ["a thread is started", "the threads are awaited"])
def test_an_interrupt_in_the_first_round_keeps_what_was_done(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    arguments = ("softgate:gelu", *QUICK, "--exhaustive", "--json")
    _, whole, _ = run(*arguments)
    measure = sweep.RegionMeter.measure
    measured, stopped = threading.Event(), threading.Event()

    class Blocks(sweep.BlockQueue):
        def __setattr__(self, name: str, value: Any) -> None:
            super().__setattr__(name, value)
            if name == "stopped" and value:
                stopped.set()

    def measure_two(meter: sweep.RegionMeter, first: int, y: Any) -> None:
        measure(meter, first, y)
        if first == sweep.BLOCK:
            measured.set()
        if first >= sweep.BLOCK:  # no thread takes another block until the sweep has stopped
            assert stopped.wait(600)

    def interrupt(*_: Any) -> NoReturn:
        assert measured.wait(600)
        raise KeyboardInterrupt

    class Pool(sweep.ThreadPoolExecutor):
        def submit(self, *arguments: Any) -> Any:
            future = super().submit(*arguments)
            return interrupt() if where == "a thread is started" else future

    with monkeypatch.context() as patched:
        patched.setattr(sweep, "BlockQueue", Blocks)
        patched.setattr(sweep, "ROUND", sweep.INPUTS)
        patched.setattr(sweep.RegionMeter, "measure", measure_two)
        patched.setattr(sweep, "ThreadPoolExecutor", Pool)
        if where == "the threads are awaited":
            patched.setattr(sweep, "wait", interrupt)
        code, out, err = run(*arguments)
    assert (code, out) == (130, "")
    (state,) = tmp_path.iterdir()
    done = json.loads(state.read_text())["sweeps"]["float32 value"]["done"]
    assert 2 * sweep.BLOCK <= done < sweep.INPUTS
    assert f"Saved in {state.name}: float32 value {done:,} of 4,194,304 inputs" in err
    assert run(*arguments)[1] == whole


def test_an_interrupt_before_the_sweep_says_that_nothing_is_kept(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> NoReturn:
        raise KeyboardInterrupt

    monkeypatch.setattr(sweep, "sweep", interrupted)
    code, _, err = run("softgate:gelu", *QUICK, "--exhaustive")
    assert code == 130
    assert "Nothing was saved" in err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("small_sweeps")
def test_progress_says_how_long(run: Run) -> None:
    _, _, err = run("softgate:gelu", *QUICK[:4], "--samples", "2000", "--exhaustive")
    lines = err.splitlines()
    assert lines[-1] == "float32 value: 100 %, 0 s left"
    assert any(" s left" in line for line in lines)


@pytest.mark.usefixtures("small_sweeps")
def test_another_sweeps_state_is_refused(run: Run, tmp_path: Path) -> None:
    content = {"key": {"subject": "another"}, "sweeps": {}}
    signed = content | {"digest": sweep._digest(content)}
    (tmp_path / "state.json").write_text(json.dumps(signed))
    arguments = ("softgate:gelu", *QUICK, "--exhaustive", "--state", "state.json")
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert "another" in err
    (tmp_path / "state.json").write_text("nonsense")
    code, _, err = run(*arguments)
    assert code == 2
    assert "does not hold the state of a sweep" in err
    (tmp_path / "state.json").write_text("[" * 200_000)
    code, _, err = run(*arguments)
    assert code == 2
    assert "does not hold the state of a sweep" in err


def test_a_changed_state_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "state.json"
    saved = sweep.SweepCheckpoint(file, {"subject": "f"})
    for done in (10**12, -(1 << 20), 1234, float("nan"), True, None):
        content = {"key": {"subject": "f"}, "sweeps": {"float32 value": {"done": done}}}
        for digest in ("", sweep._digest(content)):
            file.write_text(json.dumps(content | {"digest": digest}))
            with pytest.raises(ValueError, match=r"was changed after it .*remove it|not hold"):
                saved.check()
