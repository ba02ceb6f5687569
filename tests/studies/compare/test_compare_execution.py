"""Execution of trials: the same results in this process and in workers, whatever a trial does."""

from __future__ import annotations

import os
import random
import re
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from places import SUPPORT
from trained import KILLS, Toy, execute, run_trial, some_trials, trial

import softgate as sg
from softgate.studies.compare import store as store_module
from softgate.studies.compare.execution import (
    Event,
    Executor,
    LoadError,
)
from softgate.studies.compare.execution.progress import ProgressBoard
from softgate.studies.compare.execution.run_trial import current_environment, isolated
from softgate.studies.compare.store import Store, StoreError
from softgate.studies.compare.trial import Outcome, ProgressCallback, TrainingResult, Trial

TRIALS = [
    *(trial(seed) for seed in range(3)),
    *(trial(7, mood=mood) for mood in ("diverge", "raise", "exit", "shout", "meddle")),
    *(trial(seed) for seed in range(3, 6)),
]
COMMAND = [sys.executable, str(SUPPORT / "trained_command.py")]


def same(outcomes: list[Outcome], others: list[Outcome]) -> bool:
    """Return whether results are bit-identical; times and memory may differ."""
    saved = [
        (repr(outcome.measured), outcome.status, outcome.message, outcome.trial.key)
        for outcome in outcomes
    ]
    return saved == [
        (repr(other.measured), other.status, other.message, other.trial.key) for other in others
    ]


def starts(journal: Path) -> list[str]:
    return journal.read_text(encoding="utf-8").splitlines() if journal.exists() else []


@pytest.fixture(scope="module")
def local() -> Iterator[Executor]:
    """Workers shared by all tests of this module, which tests isolation, too."""
    with Executor(Toy(), Store(None), jobs=2) as executor:
        yield executor


@pytest.fixture(scope="module")
def in_order() -> list[Outcome]:
    return [run_trial(item, Toy().trial_function(), lambda *_: None) for item in TRIALS]


def test_same_results_in_process_and_in_workers(local: Executor, in_order: list[Outcome]) -> None:
    backwards = local.run(TRIALS[::-1])[::-1]  # by another order, in processes that had others
    assert same(backwards, in_order)
    assert same(execute(TRIALS, Toy(), Store(None), on="here"), in_order)
    scores = [item.measured.score for item in in_order if item.status == "finished"]
    assert len(set(scores)) == len(scores) - 1  # shout and meddle have a seed in common
    altered = [run_trial(trial(9), Toy().trial_function(), lambda *_: None), *in_order[1:]]
    assert not same(altered, in_order)


def test_failures_are_outcomes(in_order: list[Outcome]) -> None:
    messages = {item.trial.settings.get("mood"): (item.status, item.message) for item in in_order}
    assert messages["diverge"] == ("diverged", "diverged at step 120: the loss is not finite")
    status, words = messages["raise"]
    assert status == "raised"
    assert re.fullmatch(r"ValueError: no luck with seed 7 \(trained\.py, line \d+\)", words)
    assert messages["exit"][1].startswith("SystemExit: 3")
    diverged = next(ended for ended in in_order if ended.status == "diverged")
    assert diverged.measured.curve[0].step == 100


def test_dead_processes_are_replaced(local: Executor) -> None:
    events: list[Event] = []
    vanished, killed, fine = local.run(
        [trial(0, mood="vanish"), trial(0, mood="killed"), trial(20)], events.append
    )
    assert vanished.message == "its process was ended (exit code 7) three times"
    assert re.match(r"its process was killed \(SIGKILL, signal 9.*three times", killed.message)
    assert fine.status == "finished"
    assert sum("was killed" in event.message for event in events) == 2
    assert local.store.read(killed.trial) is None
    assert local.store.read(fine.trial) is not None


def test_a_second_run_does_nothing(tmp_path: Path) -> None:
    journal, folder = tmp_path / "journal", tmp_path / "store"
    toy, trials = Toy(str(journal)), [*TRIALS[:5], TRIALS[0]]
    first = execute(trials, toy, Store(folder), jobs=1)
    assert len(starts(journal)) == 5  # one of the six is there twice
    before = {file: file.stat().st_mtime_ns for file in folder.iterdir()}
    events: list[Event] = []
    assert same(execute(trials, toy, Store(folder), progress=events.append), first)
    assert len(starts(journal)) == 5
    assert {file: file.stat().st_mtime_ns for file in folder.iterdir()} == before
    assert [(e.done, e.total, e.stored) for e in events] == [(5, 5, 5)]
    next(folder.iterdir()).write_text("{", encoding="utf-8")
    more = execute([*trials, trial(30)], toy, Store(folder), jobs=1, progress=events.append)
    assert same(more[:-1], first)
    assert len(starts(journal)) == 7
    assert any("cannot be read" in event.message for event in events)


def test_transient_errors_are_not_saved(tmp_path: Path) -> None:
    (result,) = execute([trial(0, mood="no memory")], Toy(), Store(tmp_path), on="here")
    assert result.message.startswith("MemoryError: of the machine")
    assert len(Store(tmp_path)) == 0


def test_results_that_json_cannot_hold() -> None:
    def run(item: Trial, progress: ProgressCallback) -> tuple[TrainingResult, list[float]]:
        return TrainingResult(score=np.float32(1.0)), []

    outcome = run_trial(trial(), run, lambda *_: None)
    assert outcome.status == "raised"
    assert "float32 is not JSON serializable" in outcome.message


def test_nothing_leaks_out_of_a_trial() -> None:
    import torch

    random.seed(5)
    np.random.seed(5)  # noqa: NPY002
    torch.manual_seed(5)
    expected = random.random(), np.random.rand(), torch.rand(()).item()  # noqa: NPY002
    random.seed(5)
    np.random.seed(5)  # noqa: NPY002
    torch.manual_seed(5)
    before = (os.getcwd(), list(sys.path), dict(os.environ), np.geterr(), sg.get_threads())  # noqa: PTH109
    threads = torch.get_num_threads()
    run_trial(trial(0, mood="meddle"), Toy().trial_function(), lambda *_: None)
    assert (os.getcwd(), list(sys.path), dict(os.environ), np.geterr(), sg.get_threads()) == before  # noqa: PTH109
    assert (random.random(), np.random.rand(), torch.rand(()).item()) == expected  # noqa: NPY002
    assert torch.get_num_threads() == threads
    assert torch.get_default_dtype() == torch.float32
    assert torch.is_grad_enabled()
    assert not torch.are_deterministic_algorithms_enabled()
    assert (torch.tensor(2.0**-140) * 0.5).item() > 0
    assert not torch.overrides._get_current_function_mode_stack()


def test_a_trial_has_one_thread() -> None:
    import torch

    with isolated(0):
        assert torch.get_num_threads() == sg.get_threads() == 1
        assert current_environment().threads == 1


def test_a_trainable_that_cannot_be_pickled() -> None:
    with pytest.raises(LoadError, match=r"cannot be sent .*lock.*on=\"here\""):
        execute([trial()], Toy(held=threading.Lock()), Store(None))
    (result,) = execute([trial()], Toy(held=threading.Lock()), Store(None), on="here")
    assert result.status == "finished"


class Broken(Toy):
    def trial_function(self) -> object:  # type: ignore[override]
        raise RuntimeError("no data")


def test_a_trainable_that_cannot_be_loaded() -> None:
    with pytest.raises(LoadError, match=r"'toy' cannot be loaded: RuntimeError: no data"):
        execute([trial()], Broken(), Store(None), jobs=1)


@pytest.mark.parametrize(("on", "jobs"), [("cloud", None), ("ray:/x", None), ("local", 0)])
def test_invalid_backends(on: str, jobs: int | None) -> None:
    with pytest.raises(ValueError, match="expected"):
        execute([], Toy(), Store(None), on=on, jobs=jobs)


@pytest.mark.parametrize(("on", "seed"), [("local", 2), ("here", 2), ("local", 1)])
def test_a_full_disk_is_reported(tmp_path: Path, on: str, seed: int) -> None:
    """Saved trials stay; after the first that cannot be saved, none is started."""
    store, journal = Store(tmp_path / "store"), tmp_path / "journal"
    store.write(run_trial(trial(0), Toy().trial_function(), lambda *_: None))
    (tmp_path / "store" / f"{trial(seed).key}.part").mkdir()  # it cannot be opened as a file
    with Executor(Toy(str(journal)), store, on=on, jobs=1) as executor:
        with pytest.raises(StoreError, match="the store "):
            executor.run([trial(number) for number in range(4)])
        assert (executor._backend is None) == (seed == 1)
    assert [store.read(trial(number)) is not None for number in range(4)] == [
        number < seed for number in range(4)
    ]
    assert len(starts(journal)) == seed - 1


def test_an_unsaved_outcome_is_saved_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    from softgate.studies.compare.execution.backend import Scheduler

    store = Store(None)
    board = ProgressBoard([], 2, 1, None)
    scheduler = Scheduler([trial(0), trial(1)], store, board)
    first = scheduler.next()
    assert first is not None
    outcome = run_trial(first, Toy().trial_function(), lambda *_: None)
    scheduler.answer(
        first, {"outcome": outcome.to_json(), "ran": True, "unsaved": "the disk is full"}
    )
    assert scheduler.next() is None
    assert not scheduler.unfinished
    with pytest.raises(StoreError, match="the disk is full"):
        scheduler.finish()
    assert store.read(first) is not None


def test_time_left() -> None:
    events: list[Event] = []
    board = ProgressBoard([], 4, 2, events.append)
    done = run_trial(trial(0), Toy().trial_function(), lambda *_: None)
    done = replace(done, seconds=1e6)
    assert events[-1].eta_s is None
    board.started(done.trial)
    board.ended(done)
    board.started(trial(1))
    assert events[-1].eta_s == pytest.approx(done.seconds * 1.5, rel=0.5)
    board.progress(trial(1).key, 50, 100, 0.5)
    assert events[-1].running[0].loss == 0.5
    board.progress("unknown", 1, 2, 0.5)
    board.ended(done, ran=False)
    assert (events[-1].done, events[-1].stored) == (1, 1)


def test_an_error_of_the_progress_callback_is_raised() -> None:
    def progress(event: Event) -> None:
        if any(running.loss is not None for running in event.running):
            raise ZeroDivisionError("of the display")

    for on in ("here", "local"):
        with pytest.raises(ZeroDivisionError, match="of the display"):
            execute([trial(0)], Toy(), Store(None), on=on, progress=progress)


def command(
    folder: Path, journal: Path, count: int, kills: str = "", gate: str = ""
) -> subprocess.Popen[str]:
    arguments = (str(folder), str(journal), str(count), kills, gate)
    return subprocess.Popen([*COMMAND, *arguments], stdout=subprocess.PIPE, text=True)


def wait_for_the_end(process: int) -> None:
    try:
        handle = os.pidfd_open(process)
    except ProcessLookupError:
        return
    select.select([handle], [], [])
    os.close(handle)


@pytest.mark.skipif(sys.platform != "linux", reason="waits for processes that others started")
@pytest.mark.parametrize("kills", KILLS)
def test_killed_processes_lose_and_repeat_no_finished_trial(tmp_path: Path, kills: str) -> None:
    folder, journal, count = tmp_path / "store", tmp_path / "journal", 12
    process = command(folder, journal, count, kills)
    out = process.communicate()[0]
    if kills.startswith("command"):
        assert (process.returncode, out) == (-signal.SIGKILL, "")
        for worker in {int(line.split()[1]) for line in starts(journal)}:
            wait_for_the_end(worker)
        out = command(folder, journal, count, kills).communicate()[0]
    assert out == f"{count} outcomes\n"
    assert set((tmp_path / "journal.5").read_text().split()) == {kills.split()[1]}
    lines, trials = starts(journal), some_trials(count, kills)
    assert not [line for line in lines if line.endswith("again")]
    assert {line.split()[0] for line in lines} == {item.key for item in trials}
    assert sorted(file.suffix for file in folder.iterdir()) == [".json"] * count
    outcomes = [Store(folder).read(item) for item in trials]
    toy = Toy(str(journal))
    fresh = [run_trial(item, toy.trial_function(), lambda *_: None) for item in trials]
    assert same([outcome for outcome in outcomes if outcome is not None], fresh)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_two_commands_share_a_store(tmp_path: Path) -> None:
    """No trial goes on until each of four workers has begun one."""
    folder, count = tmp_path / "store", 40
    journal, gate = tmp_path / "journal", tmp_path / "gate"
    os.mkfifo(journal)
    os.mkfifo(gate)
    with journal.open("r+b", buffering=0) as started, gate.open("r+b", buffering=0) as opened:
        both = [command(folder, journal, count, gate=str(gate)) for _ in range(2)]
        lines = [started.readline() for _ in range(4)]
        opened.write(b"x" * count)
        lines += [started.readline() for _ in range(count - 4)]
        outputs = [process.communicate()[0] for process in both]
        os.set_blocking(started.fileno(), False)
        assert started.read() is None
    assert outputs == [f"{count} outcomes\n"] * 2
    assert len({line.split()[1] for line in lines[:4]}) == 4
    assert len({line.split()[0] for line in lines}) == count


def test_an_interrupt_ends_what_hangs(tmp_path: Path) -> None:
    def interrupt(event: Event) -> None:
        if any(running.loss is not None for running in event.running):
            raise KeyboardInterrupt

    store = Store(tmp_path)
    store.write(run_trial(trial(0), Toy().trial_function(), lambda *_: None))
    with Executor(Toy(), store, jobs=1) as executor:
        with pytest.raises(KeyboardInterrupt):
            executor.run([trial(0), trial(0, mood="hang")], interrupt)
        executor.close()
    assert [file.name for file in tmp_path.glob("*.json")] == [f"{trial(0).key}.json"]
    held = store_module.lock(tmp_path / f"{trial(0, mood='hang').key}.json")
    assert held is not None
    held.release()
