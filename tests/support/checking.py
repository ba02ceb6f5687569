"""Checks in a process of their own: every function called check_… of a script, what fails as JSON.

A framework is imported once a process and many checks share it; a test runs the script.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import traceback
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent


def raises(error: type[Exception], text: str, call: Callable[[], object]) -> None:
    """Require that a call raises an error whose message contains `text`."""
    with pytest.raises(error) as raised:
        call()
    assert text in str(raised.value), str(raised.value)


def run_checks(*scripts: Mapping[str, Any] | str) -> None:
    """Run what is called check_… in each script and print what went wrong.

    A script is what it holds, or the name of a module: that is imported when its turn has come.
    """
    checked, failures = [], {}
    for script in scripts:
        functions = vars(import_module(script)) if isinstance(script, str) else script
        checks = [(name, call) for name, call in functions.items() if name.startswith("check_")]
        for name, check in checks:
            checked.append(name)
            try:
                check()
            except Exception:  # whatever it is, it is reported
                failures[name] = traceback.format_exc()
    print(json.dumps({"checked": checked, "failures": failures}))


def report(script: str, *arguments: str, **environment: str) -> dict[str, Any]:
    """Return what a script of checks found, in an environment of its own."""
    done = subprocess.run(
        [sys.executable, str(HERE / script), *arguments],
        capture_output=True,
        text=True,
        encoding="utf-8",
        env=os.environ | {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""} | environment,
        timeout=1200,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.strip().splitlines()
    result: dict[str, Any] = json.loads(lines[-1]) if lines else {}
    return result


def all_hold(result: dict[str, Any]) -> None:
    """Fail with the tracebacks of what failed."""
    assert result["checked"]
    assert not result["failures"], "\n".join(result["failures"].values())
