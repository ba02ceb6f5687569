"""softgate where there is no fork, no flock, no affinity, no /proc: see `other_systems`.

What is not simulated, its docstring says: other libraries run as they do on Linux.
"""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import other_systems
import pytest

from softgate.studies.compare import store as store_module
from softgate.studies.compare.store import Store, StoreError

EACH_SYSTEM = pytest.mark.parametrize("system", ["windows", "macos"])

COMPUTE = """
import hashlib, sys
import ml_dtypes, numpy as np
import softgate as sg
from softgate.runtime.machine import this_machine

def digest(threads):
    sg.set_threads(threads)
    found = hashlib.sha256()
    for dtype in (np.float16, ml_dtypes.bfloat16, np.float32, np.float64):
        x = np.linspace(-20, 20, 1 << 19).astype(dtype)
        for y in (sg.gelu(x), sg.gelu.slope(x), sg.gelu.backward(x, x), sg.swiglu(x)):
            found.update(y.tobytes())
    return found.hexdigest()

assert sg.get_threads() >= 1
print(this_machine().system.split()[0], digest(1), digest(4))
"""

WRITE = """
from pathlib import Path
from softgate.records.files import write_file
write_file(Path("page.html"), "first")
write_file(Path("page.html"), "φ")
"""

MODEL = """
from torch import nn

def make():
    return nn.Sequential(nn.Linear(6, 8), nn.GELU(), nn.Linear(8, 2))
"""

FUNCTIONS = """
def half(x):
    return x / 2

def same(x):
    return x

def hangs(x):
    import time
    time.sleep(600)
"""

HANGS = "certify functions:hangs --reference relu --dtype float32 --quantity value --time-limit 0.5"

TRAIN = """
def run(activation, seed, report, hope=1.0):
    for step in range(3):
        report(step=step, steps=3, loss=1.0 / (step + 1 + seed))
    return {"score": hope + seed + (activation.name == "gelu")}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    for name, text in (("models", MODEL), ("functions", FUNCTIONS), ("train", TRAIN)):
        (tmp_path / "work" / f"{name}.py").write_text(text, encoding="utf-8")
    return tmp_path


def run(
    system: str, folder: Path, program: str, said: str = "", without: tuple[str, ...] = ()
) -> str:
    """Run a program where softgate sees another system, and return what it prints."""
    done = subprocess.run(
        [sys.executable, "-c", program],
        input=said,
        capture_output=True,
        text=True,
        encoding="utf-8",
        env=other_systems.environment(system, folder, without),
        cwd=folder / "work",
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def commands(
    system: str, folder: Path, *lines: str, without: tuple[str, ...] = ()
) -> list[dict[str, Any]]:
    """Run commands of softgate in one such process; a list of their answers."""
    message = "".join(json.dumps(line.split()) + "\n" for line in lines)
    printed = run(system, folder, "import other_systems; other_systems.main()", message, without)
    answers = [json.loads(line) for line in printed.splitlines()]
    assert len(answers) == len(lines)
    return answers


def check(answers: list[dict[str, Any]], *expected: str) -> None:
    """Hold answers to having succeeded and to saying something."""
    for answer, text in zip(answers, expected, strict=True):
        assert answer["error"] == "", answer
        assert answer["code"] == 0, answer
        assert text in answer["stdout"], answer


def test_the_simulation_hides_what_it_says(folder: Path) -> None:
    seen = """
import sys
program = '''
import ctypes, os, platform, signal, sys
from pathlib import Path
lines = [sys.platform, os.name, platform.system(), hasattr(os, "fork"), hasattr(signal, "SIGKILL")]
try:
    import fcntl
except ImportError:
    lines.append("no fcntl")
try:
    ctypes.CDLL(None)
except TypeError:
    lines.append("no own symbols")
lines.append(Path("/proc/self/stat").exists())
with open("open.txt", "w") as file:
    try:
        Path("open.txt").unlink()
    except PermissionError:
        lines.append("stays")
print(*lines, sep=", ")
'''
for name in ("softgate.simulated", "another"):
    exec(program, {"__name__": name})
"""
    ours, others = run("windows", folder, seen).splitlines()
    assert ours == "win32, nt, Windows, False, False, no fcntl, no own symbols, False, stays"
    assert others == f"{sys.platform}, posix, Linux, True, True, True"


def test_import_threads_and_files(folder: Path) -> None:
    here = subprocess.run(
        [sys.executable, "-c", COMPUTE], capture_output=True, text=True, check=True, timeout=600
    )
    _, words, several = here.stdout.split()
    assert words == several
    for system, name in (("windows", "Windows"), ("macos", "Darwin")):
        assert run(system, folder, COMPUTE + WRITE).split() == [name, words, words]
        assert (folder / "work" / "page.html").read_text(encoding="utf-8") == "φ"
        (folder / "work" / "page.html").unlink()


@EACH_SYSTEM
def test_commands_without_a_framework(system: str, folder: Path) -> None:
    """In one process, which cannot import torch: `compare` would load it for any loop."""
    lines = {
        "table gelu relu --at -1:1:0.5": "gelu",
        "properties relu": "relu",
        "names gelu": "gelu",
        "plot relu": "relu",
        "emit relu --language c": "relu",
        "emit relu --language js -o relu.js": "",
        "identify functions:half": "identity",
        "certify functions:same --reference identity --dtype float32 --quantity value "
        "--samples 1000": "identity",
        "certify softgate:relu --dtype float32 --quantity value --samples 1000 --json": "relu",
        "bench relu --peers textbook --size 4096 --quantity value --budget 0.2": "relu",
        "completion bash": "softgate",
        "compare gelu relu --script train.py:run --seeds 2 --jobs 1 --store kept --json": '"arms"',
    }
    if system == "windows":  # it takes as long as all others, and macOS has all it needs
        lines["doctor"] = "reproduces"
    *answers, hung = commands(system, folder, *lines, HANGS, without=("torch",))
    check(answers, *lines.values())
    assert "took more than 0.5 s" in hung["error"] + hung["stdout"]  # loaded, or called
    assert hung["code"] or hung["error"]
    left = {file.name for file in (folder / "work").iterdir()} - {"__pycache__"}
    assert left == {"models.py", "functions.py", "train.py", "relu.js", "kept"}
    saved = sorted(file.suffix for file in (folder / "work" / "kept").iterdir())
    assert saved == [".json"] * 4


def test_diagnose(folder: Path) -> None:
    """On Windows alone: macOS has all that it needs."""
    np.savez(folder / "work" / "inputs.npz", input=np.ones((4, 6), np.float32))
    check(commands("windows", folder, "diagnose models:make --data inputs.npz"), "gelu")


# compare's store


def test_outcomes_where_open_files_cannot_be_moved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_module, "OPEN_FILES_MOVE", False)
    target = tmp_path / "trial.json"
    held = store_module.lock(target)
    assert held is not None
    assert (tmp_path / "trial.part").stat().st_size == store_module.ROOM
    assert store_module.lock(target) is None
    held.save("first")
    assert target.read_text(encoding="utf-8") == "first"
    assert [file.name for file in tmp_path.iterdir()] == ["trial.json"]
    with store_module.lock(target) or pytest.fail("not free") as again:
        again.save("2nd")
    assert target.read_text(encoding="utf-8") == "2nd"
    for name in ("dead.part", "dead.new"):  # of a process that died while it wrote
        (tmp_path / name).write_text("half of an outc", encoding="utf-8")
    Store(tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["trial.json"]


def test_room_is_reserved_where_nothing_allocates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """macOS and Windows have no posix_fallocate: what is written has its room, too."""
    monkeypatch.delattr(store_module.os, "posix_fallocate")
    with store_module.lock(tmp_path / "trial.json") or pytest.fail("not free") as held:
        room = (tmp_path / "trial.part").stat()
        assert room.st_size == store_module.ROOM
        assert room.st_blocks * 512 >= store_module.ROOM
        held.save("short")
    assert (tmp_path / "trial.json").read_bytes() == b"short"


def test_a_python_without_locks_is_said_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import filelock

    def missing(*_: Any, **__: Any) -> bool:
        raise OSError(store_module.errno.ENOSYS, "fcntl is unavailable")

    monkeypatch.setattr(filelock, "lock_descriptor", missing)
    with pytest.raises(StoreError, match=r"fcntl is unavailable: this Python has no file locks"):
        store_module.lock(tmp_path / "trial.json")


# what the source may assume


def test_text_files_name_their_encoding() -> None:
    """Windows would take the system's, which is not UTF-8."""
    for file in (other_systems.SOURCE / "softgate").rglob("*.py"):
        text = file.read_text(encoding="utf-8")
        tree = ast.parse(text) if re.search(r"open\(|(read|write)_text\(", text) else ast.Module()
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and _opens_text(node):
                assert _named_encoding(node), f"{file}, line {node.lineno}: no encoding"


def _opens_text(call: ast.Call) -> bool:
    name = getattr(call.func, "attr", getattr(call.func, "id", ""))
    of_os = isinstance(call.func, ast.Attribute) and getattr(call.func.value, "id", "") == "os"
    modes = [str(x.value) for x in call.args if isinstance(x, ast.Constant)]
    if name == "open":  # softgate's methods of that name take no mode
        return not of_os and any(set(mode) <= set("rwax+t") for mode in modes)
    if name in ("read_text", "write_text") and isinstance(call.func, ast.Name):
        return False  # softgate's functions, which use UTF-8
    return name in ("read_text", "write_text", "fdopen") and not any("b" in m for m in modes[1:])


def _named_encoding(call: ast.Call) -> bool:
    argument = [x.value for x in call.args if isinstance(x, ast.Constant)]
    return "utf-8" in argument or any(keyword.arg == "encoding" for keyword in call.keywords)


def test_streams_write_every_character(folder: Path) -> None:
    """A pipe of Windows has the encoding of the system, which may lack what is printed."""
    done = subprocess.run(
        [sys.executable, "-m", "softgate", "compare", "--tasks"],
        capture_output=True,
        env={**other_systems.environment("windows", folder), "PYTHONIOENCODING": "cp437"},
        cwd=folder,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    text = done.stdout.decode("cp437")
    assert "8x8 pixels" in text  # the encoding has no ×
    assert "?" not in text
