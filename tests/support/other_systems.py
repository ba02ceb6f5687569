"""What softgate's own code sees on Windows and on macOS, simulated on Linux.

`apply("windows")` hides from the modules of softgate, and from them alone, what those systems do
not have: attributes of `os`, `signal` and others, modules, `ctypes.CDLL(None)`, `/proc` and `/sys`.
They see `sys.platform`, `os.name` and `platform.uname()` as there. On Windows, files that are open
can neither be renamed nor removed by them, and Popen has `creationflags`.

Other libraries see Linux, because the code that they would run elsewhere is not installed here.
They are not tested: LLVM compiles for Linux, filelock locks as Linux does, and paths, exit codes of
killed processes and the console are Linux's.

Processes that a simulated one starts are simulated too: see `environment`.
"""

from __future__ import annotations

import builtins
import contextlib
import ctypes
import io
import json
import os
import platform
import signal
import subprocess
import sys
from collections.abc import Callable
from importlib.machinery import PathFinder
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

HERE = Path(__file__).parent
SOURCE = HERE.parents[1] / "src"

ABSENT: dict[str, dict[ModuleType, tuple[str, ...]]] = {
    "windows": {
        os: (
            "register_at_fork", "fork", "forkpty", "killpg", "setsid", "getpgid", "getpgrp",
            "setpgid", "sched_getaffinity", "sched_setaffinity", "posix_fallocate", "pread",
            "pwrite", "sysconf", "uname", "getloadavg", "getuid", "geteuid", "getgid", "statvfs",
            "fchmod", "chown", "mkfifo", "wait", "wait3", "wait4", "nice", "posix_spawn", "openpty",
            "WNOHANG", "O_CLOEXEC", "O_DIRECTORY", "O_NONBLOCK", "set_blocking", "sync",
        ),
        signal: (
            "SIGKILL", "SIGUSR1", "SIGUSR2", "SIGALRM", "SIGHUP", "SIGPIPE", "SIGCHLD", "SIGQUIT",
            "alarm", "setitimer", "pthread_kill", "pthread_sigmask", "sigwait", "siginterrupt",
        ),
    },
    "macos": {
        os: ("sched_getaffinity", "sched_setaffinity", "posix_fallocate"),
    },
}  # fmt: skip
MODULES = {
    "windows": {"fcntl", "resource", "termios", "tty", "pty", "pwd", "grp", "syslog"},
    "macos": set[str](),
}
PLATFORMS = {"windows": "win32", "macos": "darwin"}
SYSTEMS = {"windows": "Windows", "macos": "Darwin"}
PRESENT: dict[str, dict[ModuleType, dict[str, Any]]] = {
    "windows": {
        os: {"O_BINARY": 0},
        signal: {"CTRL_C_EVENT": 0},
        subprocess: {"CREATE_NEW_PROCESS_GROUP": 0x200},
    },
    "macos": {},
}
LIST = os.listdir
FILE_MODULES = {"pathlib", "shutil", "tempfile", "weakref", "contextlib", __name__}
"""Through these softgate opens, renames and removes files."""


def _is_softgate(frame: FrameType | None) -> bool:
    name = "" if frame is None else str(frame.f_globals.get("__name__", ""))
    return name == "softgate" or name.startswith("softgate.")


def _by_softgate(frame: FrameType | None) -> bool:
    """Return whether softgate uses a file, directly or through the standard library."""
    while frame is not None and frame.f_globals.get("__name__") in FILE_MODULES:
        frame = frame.f_back
    return _is_softgate(frame)


def _shown(module: ModuleType, name: str, there: Any) -> None:
    """Replace an attribute for softgate by its value on that system; Ellipsis removes it."""
    here = module.__dict__.get(name, ...)

    def value(_: object) -> Any:
        result = there if _is_softgate(sys._getframe(1)) else here
        if result is ...:
            raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")
        return result

    def change(_: object, new: Any) -> None:
        nonlocal here
        here = new

    if type(module) is ModuleType:
        module.__class__ = type("Simulated", (ModuleType,), {})
    setattr(type(module), name, property(value, change))


def apply(profile: str) -> None:
    """Make softgate see another system in this process, from now on."""
    for module, names in ABSENT[profile].items():
        for name in names:
            _shown(module, name, ...)
    for module, values in PRESENT[profile].items():
        for name, value in values.items():
            _shown(module, name, value)
    _shown(sys, "platform", PLATFORMS[profile])
    node = platform.uname()
    there = node._replace(system=SYSTEMS[profile])
    uname = platform.uname
    platform.uname = lambda: there if _is_softgate(_outside(platform)) else uname()  # type: ignore[assignment]
    _hide_modules(MODULES[profile])
    _hide_folders("/proc", "/sys")
    if profile == "windows":
        _shown(os, "name", "nt")
        _without_own_symbols()
        _with_creation_flags()
        _open_files_stay()


def _outside(module: ModuleType) -> FrameType | None:
    """Return the frame that called into a module."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and frame.f_globals.get("__name__") == module.__name__:
        frame = frame.f_back
    return frame


def _hide_modules(names: set[str]) -> None:
    real = builtins.__import__

    def imported(name: str, globals_: Any = None, *rest: Any, **keywords: Any) -> Any:
        if name in names and str((globals_ or {}).get("__name__")).startswith("softgate"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return real(name, globals_, *rest, **keywords)

    builtins.__import__ = imported


def _hide_folders(*folders: str) -> None:
    def hidden(path: object) -> bool:
        text = os.fspath(path) if isinstance(path, str | os.PathLike) else ""
        return any(str(text) == folder or str(text).startswith(f"{folder}/") for folder in folders)

    def guarded(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(path: Any = ".", *rest: Any, **keywords: Any) -> Any:
            if hidden(path) and _by_softgate(sys._getframe(1)):
                raise FileNotFoundError(2, "No such file or directory", str(path))
            return real(path, *rest, **keywords)

        return call

    builtins.open = io.open = guarded(io.open)
    for name in ("stat", "lstat", "open", "listdir", "scandir"):
        setattr(os, name, guarded(getattr(os, name)))


def _without_own_symbols() -> None:
    class Library(ctypes.CDLL):
        def __init__(self, name: Any, *rest: Any, **keywords: Any) -> None:
            if name is None and _is_softgate(sys._getframe(1)):
                raise TypeError("LoadLibrary() argument 1 must be str, not None")
            super().__init__(name, *rest, **keywords)

    def system_library(name: str) -> Any:
        assert name == "kernel32"
        return type("Kernel32", (), {"Sleep": Library(None).usleep})

    ctypes.CDLL = Library  # type: ignore[misc]
    ctypes.WinDLL = system_library  # type: ignore[attr-defined]


def _with_creation_flags() -> None:
    start = subprocess.Popen.__init__

    def __init__(self: Any, *arguments: Any, **keywords: Any) -> None:  # noqa: N807
        if _by_softgate(sys._getframe(1)):
            assert not keywords.get("preexec_fn"), "not on Windows"
            keywords.pop("creationflags", None)
        start(self, *arguments, **keywords)

    subprocess.Popen.__init__ = __init__  # type: ignore[method-assign]


def _open_files_stay() -> None:
    target = os.readlink

    def is_open(path: Any, folder: int | None) -> bool:
        place = os.fspath(path) if folder is None else f"{target(f'/proc/self/fd/{folder}')}/{path}"
        place = os.path.realpath(place)
        for number in LIST("/proc/self/fd"):
            with contextlib.suppress(OSError):  # that of the list itself
                if target(f"/proc/self/fd/{number}") == place:
                    return True
        return False

    def guarded(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(path: Any, *rest: Any, dir_fd: int | None = None, **keywords: Any) -> Any:
            if _by_softgate(sys._getframe(1)) and is_open(path, dir_fd):
                raise PermissionError(13, "The process cannot access the file", str(path))
            if dir_fd is not None:
                keywords["dir_fd"] = dir_fd
            return real(path, *rest, **keywords)

        return call

    for name in ("rename", "replace", "remove", "unlink"):
        setattr(os, name, guarded(getattr(os, name)))


def hide_packages(names: tuple[str, ...]) -> None:
    """Make packages impossible to find, as if they were not installed."""
    find = PathFinder.find_spec

    def found(name: str, *rest: Any) -> Any:
        return None if name in names else find(name, *rest)

    PathFinder.find_spec = found  # type: ignore[assignment, method-assign]


def environment(profile: str, folder: Path, without: tuple[str, ...] = ()) -> dict[str, str]:
    """Return the variables under which every Python is simulated; `folder` is for one file.

    Packages in `without` cannot be found or imported.
    """
    start = f"import other_systems as o; o.apply({profile!r}); o.hide_packages({without!r})\n"
    (folder / "sitecustomize.py").write_text(start, encoding="utf-8")
    path = os.pathsep.join(map(str, (folder, HERE, SOURCE)))
    return {**os.environ, "PYTHONPATH": path, "PYTHONWARNINGS": "error"}


def main() -> None:
    """Run commands of softgate, each a JSON list of words on a line; print the result of each."""
    from click.testing import CliRunner

    from softgate.cli import softgate

    for line in sys.stdin:
        result = CliRunner().invoke(softgate, json.loads(line), standalone_mode=False)
        error = result.exception
        answer = {
            "code": result.return_value or 0,
            "error": "" if error is None else f"{type(error).__name__}: {error}",
            "stdout": result.stdout,
            "stderr": result.stderr,
        }
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
