"""The way to a Ray cluster: one that runs, or one of our own that leaves nothing behind."""

from __future__ import annotations

import logging
import os
import secrets
import shutil
import signal
import tempfile
import threading
import warnings
from contextlib import suppress
from pathlib import Path
from typing import Any

from softgate.runtime.threads import available

from .serialization import ExecutionError

QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
}
"""Ray reads these when it starts: nothing is sent home, and no advice is printed."""
MODE, TOKEN = "RAY_AUTH_MODE", "RAY_AUTH_TOKEN"
"""By these it is told who may use a cluster; it sets the first one itself, and leaves it so."""
PRINT = "print_to_stdstream"
"""What prints errors of a cluster in Ray's module `worker`."""
ADVICE = (
    "Does it run (`ray status` there), with the same versions of Ray and Python, and is this its "
    "client port (10001)? One that asks for a token needs RAY_AUTH_MODE=token here"
)
CURRENT = "ray/ray_current_cluster"
"""Where `ray start` leaves an address."""
OURS = "sg-ray-"
"""How our folders begin, followed by the process: the paths of Ray's sockets must be short."""


class ClusterError(ExecutionError):
    """A Ray cluster that cannot be reached, or cannot be used from here."""


class Connection:
    """A connection to Ray, and the cluster itself where it was started for it."""

    def __init__(self, on: str, jobs: int | None) -> None:
        self.ray: Any = _import()
        self._folder: Path | None = None
        self._close = not self.ray.is_initialized()
        self._print: Any = None
        self._terminate = signal.getsignal(signal.SIGTERM)
        if not self._close:  # a session of the user's own: theirs to end
            if on != "ray":
                raise ClusterError(
                    f"on={on!r}: this process is connected to a Ray cluster already; call "
                    'ray.shutdown() first, or take that one with on="ray"'
                )
            return
        try:
            self._connect(on, jobs)
            self._silence()
        except (ConnectionError, RuntimeError, ValueError, OSError) as error:
            self.close()
            text = " ".join(str(error).split())[:600]
            raise ClusterError(
                f"no connection to a Ray cluster with on={on!r}: {text}. {ADVICE}"
            ) from error

    def _connect(self, on: str, jobs: int | None) -> None:
        # By "auto" Ray uses its token where it has one; by the same cluster's address it does not.
        address = on if on != "ray" else "auto" if _running() else None
        quiet = {"log_to_driver": False, "logging_level": logging.ERROR}
        with environment(QUIET):
            if address is not None:
                with warnings.catch_warnings():  # what it warns of, its error says too
                    warnings.simplefilter("ignore", UserWarning)
                    self.ray.init(address=address, **quiet)
                return
            self._start(jobs, quiet)

    def _start(self, jobs: int | None, quiet: dict[str, Any]) -> None:
        """Start a cluster with a token that nobody else has; Ray would leave one in ~/.ray."""
        _sweep()
        self._folder = Path(tempfile.mkdtemp(prefix=f"{OURS}{os.getpid()}-"))
        self._forget_token()
        with environment({TOKEN: secrets.token_hex(32)}, also=(MODE,)):
            self.ray.init(
                address="local",
                num_cpus=jobs or available(),
                include_dashboard=False,
                _temp_dir=str(self._folder),
                **quiet,
            )

    def _forget_token(self) -> None:
        """Make Ray look for a token again; versions without tokens have nothing to forget."""
        loader = getattr(self.ray._raylet, "AuthenticationTokenLoader", None)
        if loader is not None:
            loader.instance().reset_cache()

    def _silence(self) -> None:
        """Stop Ray from printing a page on standard output for each worker that dies.

        It has no setting for it, and standard output is where people want JSON.
        """
        worker = self.ray._private.worker
        self._print = getattr(worker, PRINT, None)
        if self._print is not None:
            setattr(worker, PRINT, lambda *_, **__: None)

    @property
    def cores(self) -> int:
        """How many tasks of one core the cluster can run."""
        return max(1, int(self.ray.cluster_resources().get("CPU", 1)))

    def close(self) -> None:
        """Leave the cluster; where it is ours, end it and remove its files."""
        if self._close:
            self.ray.shutdown()
            if self._print is not None:
                setattr(self.ray._private.worker, PRINT, self._print)
            if threading.current_thread() is threading.main_thread():
                signal.signal(signal.SIGTERM, self._terminate)  # which Ray had taken
        if self._folder is not None:
            self._forget_token()  # a cluster of the user's has another
            shutil.rmtree(self._folder, ignore_errors=True)


class environment:  # noqa: N801  (read as a verb: with environment(...))
    """Variables that are set for a while, and others that are put back as they were."""

    def __init__(self, given: dict[str, str], also: tuple[str, ...] = ()) -> None:
        self._given, self._names = given, (*given, *also)

    def __enter__(self) -> None:
        variables = os.environ  # noqa: TID251  (Ray is told by them alone)
        self._before = {name: variables.get(name) for name in self._names}
        variables.update(self._given)

    def __exit__(self, *_: object) -> None:
        variables = os.environ  # noqa: TID251
        for name, value in self._before.items():
            if value is None:
                variables.pop(name, None)
            else:
                variables[name] = value


def _import() -> Any:
    try:
        import ray
    except ModuleNotFoundError as error:
        if error.name != "ray":
            raise
        raise ImportError('on="ray" needs Ray: pip install "softgate[ray]"', name="ray") from error
    return ray


def _running() -> bool:
    """Tell whether a cluster is meant for everybody: by RAY_ADDRESS, or started by `ray start`.

    "auto" alone would also find one that another program has started for itself.
    """
    if os.environ.get("RAY_ADDRESS"):  # noqa: TID251  (Ray's own way to be told)
        return True
    with suppress(OSError):
        return bool(Path(tempfile.gettempdir(), CURRENT).read_text(encoding="utf-8").strip())
    return False


def _sweep() -> None:
    """Remove the folders of our clusters whose process was killed."""
    for folder in Path(tempfile.gettempdir()).glob(f"{OURS}*"):
        process = folder.name.removeprefix(OURS).partition("-")[0]
        if process.isdigit() and not _alive(int(process)):
            shutil.rmtree(folder, ignore_errors=True)


def _alive(process: int) -> bool:
    if hasattr(signal, "CTRL_C_EVENT"):  # Windows, where a signal 0 is Ctrl+C
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
