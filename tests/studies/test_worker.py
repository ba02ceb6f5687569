"""Worker processes: time limits hold, and nothing that a worker started remains."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from softgate.studies.subjects import SubjectFailure, describe, open_session
from softgate.studies.subjects.worker import MARK, PROCESSES

X = np.array([-2.0, 0.5], np.float32)
LIMIT_S = 5.0
LONG_S = 600
"""Seconds that a subject sleeps: a test that waits for it fails by its deadline."""
SUBJECTS = f"""
import os, subprocess, sys, time

def leave_child():
    if os.fork() == 0:
        os.setsid()
        time.sleep({LONG_S})
        os._exit(0)

def both_return(x):
    os.fork()
    return x

def child_remains(x):
    leave_child()
    return x

def hangs_with_child(x):
    leave_child()
    time.sleep({LONG_S})

def exits_with_child(x):
    leave_child()
    os._exit(3)

def signals_softgate(x):
    leave_child()
    with open(os.environ["LISTING"], "w") as file:
        file.write(repr(os.listdir(os.environ["TMPDIR"])))
    os.kill(os.getppid(), int(os.environ["SIGNAL"]))
    time.sleep({LONG_S})

def starts_program(x):
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep({LONG_S})"],
                     start_new_session=True)
    time.sleep({LONG_S})

def closes_pipes(x):
    os.closerange(3, 64)
    time.sleep({LONG_S})

def writes_to_pipes(x):
    for pipe in range(3, 64):
        try:
            os.write(pipe, b"[" * 50_000 + b"\\n")
        except OSError:
            pass
    time.sleep({LONG_S})
"""

pytestmark = pytest.mark.skipif(not PROCESSES.is_dir(), reason="looks for processes in /proc")


@pytest.fixture
def subjects(tmp_path: Path) -> Path:
    file = tmp_path / "subjects.py"
    file.write_text(SUBJECTS, encoding="utf-8")
    return file


def started(pid: int) -> list[str]:
    """Return the processes that workers of a process started."""
    mark = f"{MARK}={pid}-".encode()
    return [f.name for f in PROCESSES.glob("[0-9]*") if mark in content(f / "environ")]


def content(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError:  # of another user, or it has ended
        return b""


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("hangs_with_child", "hung"),
        ("starts_program", "hung"),
        ("exits_with_child", "crashed: exit code 3"),
        ("closes_pipes", "crashed"),
        ("writes_to_pipes", "crashed"),
    ],
)
def test_the_time_limit_holds_whatever_a_subject_starts(
    subjects: Path, name: str, kind: str
) -> None:
    start_s = time.monotonic()
    limit = LIMIT_S if kind == "hung" else LONG_S
    with open_session(describe(f"{subjects}:{name}"), time_limit=limit) as session:
        with pytest.raises(SubjectFailure, match=kind):
            session.evaluate("value", X)
        assert started(os.getpid()) == []
    assert time.monotonic() - start_s < LONG_S / 2


@pytest.mark.parametrize("name", ["both_return", "child_remains"])
def test_a_subject_that_forks_answers_once(subjects: Path, name: str) -> None:
    with open_session(describe(f"{subjects}:{name}"), time_limit=60) as session:
        for i in range(4):
            assert np.array_equal(session.evaluate("value", X + i), X + i)
    assert started(os.getpid()) == []


TERMINATED = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job ignores it
signal.signal(signal.SIGTERM, signal.SIG_DFL)
sys.argv[0] = "softgate"
from softgate.cli import main
main()
"""


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT"])
def test_a_signal_leaves_no_folder_and_no_process(
    subjects: Path, tmp_path: Path, name: str
) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    listing, number = tmp_path / "listing", getattr(signal, name)
    settings = {"TMPDIR": str(scratch), "LISTING": str(listing), "SIGNAL": str(int(number))}
    with subprocess.Popen(
        [sys.executable, "-c", TERMINATED, "identify", f"{subjects}:signals_softgate"],
        env={**os.environ, **settings}, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        _, error = process.communicate()
    assert listing.read_text(encoding="utf-8") not in ("", "[]")
    assert process.returncode == 128 + number
    assert error.strip() == ("Interrupted." if name == "SIGINT" else f"Ended by {name}.")
    assert list(scratch.iterdir()) == []
    assert started(process.pid) == []
