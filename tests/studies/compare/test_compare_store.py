"""The store: outcomes are complete, damaged files are reported, locks are exclusive."""

from __future__ import annotations

import errno
import math
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from trained import Toy, run_trial, trial

from softgate.studies.compare import store as store_module
from softgate.studies.compare.execution import Executor
from softgate.studies.compare.execution.backend import run_locked
from softgate.studies.compare.store import Store, StoreError
from softgate.studies.compare.trial import Outcome, Trial

HOLD = """
import sys, time
from pathlib import Path
from softgate.studies.compare.store import lock
held = lock(Path(sys.argv[1]))
print("held" if held else "refused", flush=True)
time.sleep(600)
"""


def outcome(item: Trial | None = None) -> Outcome:
    return run_trial(item or trial(), Toy().trial_function(), lambda *_: None)


@pytest.fixture(params=["folder", "memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    return Store(tmp_path / "deep" / "store" if request.param == "folder" else None)


def test_what_is_written_is_read(store: Store) -> None:
    stored = outcome()
    assert store.read(stored.trial) is None
    store.write(stored)
    result = store.read(stored.trial)
    assert result is not None
    assert result.to_json() == stored.to_json()
    assert result.measured.loss is not None
    assert math.isnan(result.measured.loss)
    assert result.measured.curve[0].train_loss == math.inf
    assert len(store) == 1
    assert store.read(trial(1)) is None
    assert store.messages == []


def test_a_lock_is_exclusive(store: Store) -> None:
    held = store.lock(trial())
    assert held is not None
    assert store.lock(trial()) is None
    other = store.lock(trial(1))
    assert other is not None
    other.release()
    with pytest.raises(StoreError, match="another process"):
        store.write(outcome())
    held.release()
    again = store.lock(trial())
    assert again is not None
    again.release()
    store.write(outcome())


def test_files_are_json_and_nothing_is_left(tmp_path: Path) -> None:
    store = Store(tmp_path)
    stored = outcome()
    store.write(stored)
    with store_module.lock(tmp_path / "other.json") or pytest.fail("not free"):
        assert (tmp_path / "other.part").stat().st_size == store_module.ROOM
    assert [file.name for file in tmp_path.iterdir()] == [f"{stored.trial.key}.json"]
    assert "NaN" not in next(tmp_path.iterdir()).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda text: "", "Expecting value"),
        (lambda text: text[: len(text) // 2], "cannot be read"),
        (lambda text: "\0" * len(text), "Expecting value"),
        (lambda text: "[1, 2]", "not a record"),
        (lambda text: text.replace('"version": 1', '"version": 0'), "version 0"),
        (lambda text: re.sub('"score": [^,]*', '"score": "0.9"', text, count=1), "score: '0.9'"),
        (
            lambda text: re.sub('"score": [^,]*', f'"score": {10**400}', text, count=1),
            "score: 1000",
        ),
        (lambda text: re.sub('"status": "[a-z]*"', '"status": NaN', text), "NaN is not JSON"),
        (lambda text: re.sub('"status": "[a-z]*"', '"status": "nan"', text), "status: 'nan'"),
        (lambda text: text.replace('"seed": 0', '"seed": 1'), "of trial"),
        (lambda text: text.replace('"step_ms"', '"steps_ms"'), "fields"),
        (lambda text: "[" * 100_000, "cannot be read"),
    ],
)
def test_damaged_files_are_reported(tmp_path: Path, damage: object, said: str) -> None:
    store, stored = Store(tmp_path), outcome()
    store.write(stored)
    file = tmp_path / f"{stored.trial.key}.json"
    assert callable(damage)
    file.write_text(damage(file.read_text(encoding="utf-8")), encoding="utf-8")
    assert store.read(stored.trial) is None
    assert said in store.messages[0]
    assert "run again" in store.messages[0]
    store.write(stored)
    assert store.read(stored.trial) is not None


def test_an_outcome_of_a_later_version_is_not_replaced(tmp_path: Path) -> None:
    store, stored = Store(tmp_path), outcome()
    store.write(stored)
    file = tmp_path / f"{stored.trial.key}.json"
    later = file.read_text(encoding="utf-8").replace('"version": 1', '"version": 2')
    file.write_text(later, encoding="utf-8")
    with pytest.raises(StoreError, match=r"later version of softgate.*install a later softgate"):
        store.read(stored.trial)
    with Executor(Toy(), store, on="here") as executor, pytest.raises(StoreError):
        executor.run([stored.trial])
    answer = run_locked(stored.trial, Toy().trial_function(), store, lambda *_: None)
    assert "later version" in answer["unsaved"]
    assert file.read_text(encoding="utf-8") == later


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes")
def test_a_pipe_is_reported_and_replaced(tmp_path: Path) -> None:
    store, stored = Store(tmp_path), outcome()
    file = tmp_path / f"{stored.trial.key}.json"
    os.mkfifo(file)
    os.mkfifo(tmp_path / "other.json")
    assert store.read(stored.trial) is None
    assert "not a regular file" in store.messages[0]
    assert list(store_module.stored_outcomes(tmp_path)) == []
    store.write(stored)
    assert store.read(stored.trial) is not None
    assert len(list(store_module.stored_outcomes(tmp_path))) == 1


def test_binary_files_are_reported(tmp_path: Path) -> None:
    store = Store(tmp_path)
    (tmp_path / f"{trial().key}.json").write_bytes(b"\xff\xfe\x00")
    assert store.read(trial()) is None
    (tmp_path / f"{trial(1).key}.json").mkdir()
    assert store.read(trial(1)) is None
    assert len(store.messages) == 2


def test_locks_of_dead_processes_are_removed(tmp_path: Path) -> None:
    store, stored = Store(tmp_path), outcome()
    target = tmp_path / f"{stored.trial.key}.json"
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(target)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    assert store.lock(stored.trial) is None
    Store(tmp_path)  # does not remove the lock of a live process
    assert target.with_suffix(".part").exists()
    process.kill()
    process.wait()
    process.stdout.close()
    (tmp_path / "gone.part").write_text("half of an outc", encoding="utf-8")
    assert store.read(stored.trial) is None
    Store(tmp_path)
    assert list(tmp_path.iterdir()) == []
    store.write(stored)


def test_a_renamed_file_is_not_locked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The owner may finish between opening and locking: the lock is then on the outcome."""
    target = tmp_path / "a.json"
    first = store_module.lock(target)
    assert first is not None
    import fcntl

    lock = fcntl.flock

    def late(handle: int, how: int) -> None:
        if not target.exists():
            first.save("outcome")
        lock(handle, how)

    monkeypatch.setattr(fcntl, "flock", late)
    second = store_module.lock(target)
    assert second is not None
    assert target.read_text(encoding="utf-8") == "outcome"
    second.release()
    assert target.read_text(encoding="utf-8") == "outcome"


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EIO])
def test_store_errors_are_raised_before_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    store = Store(tmp_path)
    store.write(outcome())

    def refuse(*_: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(store_module, "_reserve", refuse)
    with pytest.raises(StoreError, match=os.strerror(code)) as caught:
        store.lock(trial(1))
    assert str(tmp_path) in str(caught.value)
    assert [file.suffix for file in tmp_path.iterdir()] == [".json"]
    assert store.read(trial()) is not None


def test_a_write_that_fails_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, stored = Store(tmp_path), outcome()
    store.write(stored)
    longer = replace(stored, message="x" * 1000)

    def full(handle: int, content: bytes) -> None:
        os.pwrite(handle, content[:100], 0)
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(store_module, "_replace", full)
    with pytest.raises(StoreError, match="the disk is full: make room"):
        store.write(longer)
    result = store.read(stored.trial)
    assert result is not None
    assert result.message == stored.message
    assert [file.suffix for file in tmp_path.iterdir()] == [".json"]


def test_a_store_that_is_not_a_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(StoreError, match="not a folder"):
        Store(tmp_path / "file")
    with pytest.raises(StoreError, match="not a folder"):
        Store(tmp_path / "file" / "below")
