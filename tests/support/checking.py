"""Runs the functions named check_… of some modules in a process, and reports failures as JSON.

    KERAS_BACKEND=... python checking.py MODULE,MODULE... ARGUMENTS...

A test starts the process; a framework is imported once in it for many checks.
"""

from __future__ import annotations

import fcntl
import gc
import json
import os
import subprocess
import sys
import traceback
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
UNUSED = {"matplotlib", "pandas", "sklearn"}
"""Packages that Keras imports if they are installed and no check uses: hidden, as are the other
backends, because they take longer to import than Keras."""
BACKENDS = {"jax", "tensorflow", "torch"}


def raises(error: type[Exception], text: str, call: Callable[[], object]) -> None:
    """Require that a call raises an error whose message contains `text`."""
    with pytest.raises(error) as raised:
        call()
    assert text in str(raised.value), str(raised.value)


def run_checks(*modules: str) -> None:
    """Run the functions named check_… of each module, and print the failures.

    Each module is imported after the checks of the one before.
    """
    checked, failures = [], {}
    for module in modules:
        functions = vars(import_module(module))
        gc.freeze()  # the garbage collector skips the objects of frameworks
        checks = [(name, call) for name, call in functions.items() if name.startswith("check_")]
        for name, check in checks:
            checked.append(name)
            try:
                check()
            except Exception:  # every failure is reported
                failures[name] = traceback.format_exc()
    print(json.dumps({"checked": checked, "failures": failures}))


def report(
    backend: str, *modules: str, arguments: tuple[str, ...] = (), **environment: str
) -> dict[str, Any]:
    """Return the report of the checks of some modules, run in a process.

    They can import Keras with one backend, and none of the other backends.
    """
    environment |= {"KERAS_BACKEND": backend, "TF_CPP_MIN_LOG_LEVEL": "3"}
    done = subprocess.run(
        [sys.executable, str(HERE / "checking.py"), ",".join(modules), *arguments],
        capture_output=True,
        text=True,
        encoding="utf-8",
        env=os.environ | {"CUDA_VISIBLE_DEVICES": ""} | environment,
        timeout=1200,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.strip().splitlines()
    result: dict[str, Any] = json.loads(lines[-1]) if lines else {}
    return result


def all_hold(result: dict[str, Any]) -> None:
    """Require that all checks passed; the message has the tracebacks of the failures."""
    assert result["checked"]
    assert not result["failures"], "\n".join(result["failures"].values())


def made_once(
    name: str, make: Callable[[Path], dict[str, Any]], temporary: pytest.TempPathFactory
) -> Path:
    """Return a folder that `make` has filled, once for all processes of a test run.

    What `make` returns is in its file report.json.
    """
    base = temporary.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / name
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            new = temporary.mktemp(name)
            (new / "report.json").write_text(json.dumps(make(new)), "utf-8")
            new.rename(folder)
    return folder


if __name__ == "__main__":
    hidden = UNUSED | BACKENDS - {os.environ["KERAS_BACKEND"]}
    sys.modules |= dict.fromkeys(hidden)
    run_checks(*sys.argv.pop(1).split(","))
