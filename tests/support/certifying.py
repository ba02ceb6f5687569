"""`softgate certify` run in this process, as the tests of its command line do."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from softgate import cli
from softgate.studies.certify.invariance import SAME, InvarianceChecks
from softgate.studies.certify.record import Dependence

Run = Callable[..., tuple[int, str, str]]
QUICK = ("--dtype", "float32", "--quantity", "value", "--samples", "2000")


def without_threads_check(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out the comparison with one core, for which a second process loads the subject."""
    same = Dependence("thread count", SAME)
    monkeypatch.setattr(InvarianceChecks, "threads", lambda *_: same)


def certify_in(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Run:
    """Return the command in a folder: exit code, stdout, stderr."""
    monkeypatch.chdir(folder)
    without_threads_check(monkeypatch)

    def command(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["softgate", "certify", *arguments])
        with pytest.raises(SystemExit) as left:
            cli.main()
        captured = capsys.readouterr()
        return int(left.value.code or 0), captured.out, captured.err

    return command
