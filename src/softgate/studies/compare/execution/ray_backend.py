"""Trials as tasks of a Ray cluster, one core each: a running cluster, or one started for the run.

Tasks do not see the driver's disk, so the driver locks trials and writes their outcomes. A task
returns nothing before it ends; training progress is sent through an actor if there is a display.
A cluster started here leaves no files or settings behind.
"""

from __future__ import annotations

import hashlib
import logging
import os
import secrets
import shutil
import signal
import sys
import tempfile
import threading
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from time import perf_counter, sleep
from typing import Any, NamedTuple

from softgate.records.packages import require
from softgate.records.record import SPECIAL, plain
from softgate.runtime.threads import available

from ..store import Store, StoreError, TrialLock
from ..trial import ProgressCallback, Trainable, Trial, TrialFunction
from .backend import TICK_S, Scheduler
from .progress import ProgressBoard, throttled
from .run_trial import (
    ExecutionError,
    LoadError,
    current_environment,
    describe_error,
    freeze_imports,
    load_trainable,
    pack,
    run_classified,
    unpack,
)

QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
}
"""Read by Ray when it starts: no usage statistics are sent, and no advice is printed."""
MODE, TOKEN = "RAY_AUTH_MODE", "RAY_AUTH_TOKEN"
"""Access to a cluster; Ray sets the first one itself and does not reset it."""
PRINT = "print_to_stdstream"
"""Function in Ray's module `worker` that prints a cluster's errors."""
ADVICE = (
    "Does it run (`ray status` there), with the same versions of Ray and Python, and is this its "
    "client port (10001)? A cluster that requires a token needs RAY_AUTH_MODE=token here"
)
CURRENT = "ray/ray_current_cluster"
"""File with the address of a cluster started by `ray start`."""
OURS = "sg-ray-"
"""Prefix of our folders, followed by the process id: paths of Ray's sockets must be short."""
PROGRESS_INTERVAL_S = 0.5
"""Seconds between two reports of training progress."""


class RayClusterError(ExecutionError):
    """A Ray cluster that cannot be reached or used."""


class RayConnection:
    """A connection to Ray, and the cluster if it was started for it."""

    def __init__(self, on: str, jobs: int | None) -> None:
        self.ray: Any = _import()
        self._folder: Path | None = None
        self._close = not self.ray.is_initialized()
        self._print: Any = None
        self._terminate = signal.getsignal(signal.SIGTERM)
        if not self._close:  # the user's session, not closed here
            if on != "ray":
                raise RayClusterError(
                    f"on={on!r}: this process is connected to a Ray cluster already; call "
                    'ray.shutdown() first, or use that one with on="ray"'
                )
            return
        try:
            self._connect(on, jobs)
            self._silence()
        except (ConnectionError, RuntimeError, ValueError, OSError) as error:
            self.close()
            text = " ".join(str(error).split())[:600]
            raise RayClusterError(
                f"no connection to a Ray cluster with on={on!r}: {text}. {ADVICE}"
            ) from error

    def _connect(self, on: str, jobs: int | None) -> None:
        # Ray uses its token, if it has one, with "auto" but not with the same cluster's address.
        address = on if on != "ray" else "auto" if _running() else None
        quiet = {"log_to_driver": False, "logging_level": logging.ERROR}
        with environment(QUIET):
            if address is not None:
                with warnings.catch_warnings():  # the exception holds the same text
                    warnings.simplefilter("ignore", UserWarning)
                    self.ray.init(address=address, **quiet)
                return
            self._start(jobs, quiet)

    def _start(self, jobs: int | None, quiet: dict[str, Any]) -> None:
        """Start a cluster with a new token; Ray would otherwise write one to ~/.ray."""
        _remove_stale_folders()
        self._folder = Path(tempfile.mkdtemp(prefix=f"{OURS}{os.getpid()}-"))
        self._forget_token()
        with environment({TOKEN: secrets.token_hex(32)}, restored=(MODE,)):
            self.ray.init(
                address="local",
                num_cpus=jobs or available(),
                include_dashboard=False,
                _temp_dir=str(self._folder),
                **quiet,
            )

    def _forget_token(self) -> None:
        """Clear Ray's token cache; versions without tokens have none."""
        loader = getattr(self.ray._raylet, "AuthenticationTokenLoader", None)
        if loader is not None:
            loader.instance().reset_cache()

    def _silence(self) -> None:
        """Keep Ray from printing a page to standard output for each worker that dies.

        Ray has no setting for it, and standard output may hold JSON.
        """
        worker = self.ray._private.worker
        self._print = getattr(worker, PRINT, None)
        if self._print is not None:
            setattr(worker, PRINT, lambda *_, **__: None)

    @property
    def cores(self) -> int:
        """Number of one-core tasks that the cluster can run."""
        return max(1, int(self.ray.cluster_resources().get("CPU", 1)))

    def close(self) -> None:
        """Disconnect; if the cluster was started here, stop it and remove its files."""
        if self._close:
            self.ray.shutdown()
            if self._print is not None:
                setattr(self.ray._private.worker, PRINT, self._print)
            if threading.current_thread() is threading.main_thread():
                signal.signal(signal.SIGTERM, self._terminate)  # Ray replaces the handler
        if self._folder is not None:
            self._forget_token()  # a later cluster has another token
            shutil.rmtree(self._folder, ignore_errors=True)


@contextmanager
def environment(variables: Mapping[str, str], restored: tuple[str, ...] = ()) -> Iterator[None]:
    """Set environment variables; at the end restore these and those named in `restored`."""
    environ = os.environ  # noqa: TID251  (Ray is configured by them alone)
    before = {name: environ.get(name) for name in (*variables, *restored)}
    environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                environ.pop(name, None)
            else:
                environ[name] = value


def _import() -> Any:
    require("ray", purpose='on="ray"')
    import ray

    return ray


def _running() -> bool:
    """Return whether there is a shared cluster: in RAY_ADDRESS, or started by `ray start`.

    "auto" would also find a private cluster of another program.
    """
    if os.environ.get("RAY_ADDRESS"):  # noqa: TID251  (Ray's own setting)
        return True
    with suppress(OSError):
        return bool(Path(tempfile.gettempdir(), CURRENT).read_text(encoding="utf-8").strip())
    return False


def _remove_stale_folders() -> None:
    """Remove the folders of clusters that softgate processes left when they were killed."""
    for folder in Path(tempfile.gettempdir()).glob(f"{OURS}*"):
        process = folder.name.removeprefix(OURS).partition("-")[0]
        if process.isdigit() and not _alive(int(process)):
            shutil.rmtree(folder, ignore_errors=True)


def _alive(process: int) -> bool:
    if hasattr(signal, "CTRL_C_EVENT"):  # Windows, where signal 0 is Ctrl+C
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


class SharedTrainable(NamedTuple):
    """A trainable in the cluster's object store.

    `reference` is a list, so that Ray does not fetch the object for each task; `path` is the
    driver's sys.path, for workers on the same machine.
    """

    name: str
    reference: list[Any]
    path: list[str]


def trial_request(trial: Trial) -> dict[str, Any]:
    """Return a task's argument: the trial, and the driver's versions of torch and softgate."""
    here = current_environment()
    return {"trial": plain(trial), "torch": here.torch, "softgate": here.softgate}


class ProgressActor:
    """Ray actor that collects the latest progress of each trial until it is read."""

    def __init__(self) -> None:
        self._latest: dict[str, tuple[int, int, Any]] = {}

    def put(self, key: str, step: int, steps: int, loss: Any) -> None:
        """Record the progress of a trial."""
        self._latest[key] = (step, steps, loss)

    def take(self) -> dict[str, tuple[int, int, Any]]:
        """Return and clear the progress of all trials."""
        latest, self._latest = self._latest, {}
        return latest


def run_task(
    shared: SharedTrainable, request: dict[str, Any], actor: list[Any] | None
) -> dict[str, Any]:
    """Run a trial in a Ray worker; return its outcome, or an error if it cannot run here."""
    difference = mismatch(request)
    if difference:
        return {"error": difference}
    # Loading a user's code may raise anything; the driver reports it.
    try:
        run = _load(shared)
    except (Exception, SystemExit) as error:
        host = current_environment().host
        return {"error": f"cannot be loaded on {host}: {describe_error(error)}"}
    trial = Trial(**request["trial"])
    outcome, lasts = run_classified(trial, run, _progress_to(actor, trial.key))
    return {"outcome": outcome.to_json(), "ran": True, "lasts": lasts}


def mismatch(request: dict[str, Any]) -> str:
    """Return a message if this machine's package versions differ from the driver's, else ""."""
    here = current_environment()
    for package, version in (("torch", here.torch), ("softgate", here.softgate)):
        expected = request[package]
        if version != expected:
            return (
                f"{here.host} has {package} {version or 'not installed'}, this machine "
                f"{expected or 'none'}: a trial must not depend on where it runs, install the same"
            )
    return ""


_LOADED: dict[str, TrialFunction] = {}


def _load(shared: SharedTrainable) -> TrialFunction:
    """Return the function of a trainable, cached for the worker's next task."""
    if shared.name not in _LOADED:
        import ray

        sys.path += [entry for entry in shared.path if entry not in sys.path]
        _LOADED.clear()
        _LOADED[shared.name] = load_trainable(unpack(ray.get(shared.reference[0])))
        freeze_imports()
    return _LOADED[shared.name]


def _progress_to(actor: list[Any] | None, key: str) -> ProgressCallback:
    def report(step: int, steps: int, loss: Any) -> None:
        if actor is not None:
            actor[0].put.remote(key, step, steps, loss)

    return throttled(report, PROGRESS_INTERVAL_S)


class PendingTask(NamedTuple):
    """A trial submitted to the cluster; the driver holds its lock until the task returns."""

    trial: Trial
    lock: TrialLock
    since_s: float


class RayBackend:
    """Runs trials as tasks of a Ray cluster."""

    def __init__(self, trainable: Trainable, on: str, jobs: int | None) -> None:
        packed = pack(trainable)
        self._name = trainable.name
        self._connection = RayConnection(on, jobs)
        self._ray: Any = self._connection.ray
        self._actor: Any = None
        self._pending: dict[Any, PendingTask] = {}
        try:
            self.width = jobs or self._connection.cores
            digest = hashlib.sha256(packed).hexdigest()
            self._shared = SharedTrainable(digest, [self._ray.put(packed)], list(sys.path))
            self._task = self._ray.remote(num_cpus=1, max_retries=0)(run_task)
        except BaseException:
            self.close()
            raise

    def run(self, missing: Sequence[Trial], store: Store, board: ProgressBoard) -> None:
        """Run trials as tasks, and wait for those that another command runs."""
        if board.watched and self._actor is None:
            self._actor = self._ray.remote(num_cpus=0)(ProgressActor).remote()
        scheduler = Scheduler(missing, store, board)
        try:
            while scheduler.unfinished:
                self._submit(scheduler, store)
                for task in self._wait(board):
                    pending = self._pending.pop(task)
                    board.returned(pending.trial)
                    self._submit(scheduler, store)  # first, so that no core is idle
                    self._collect(task, pending, scheduler)
            scheduler.finish()
        finally:
            self._cancel()

    def _submit(self, scheduler: Scheduler, store: Store) -> None:
        while len(self._pending) < self.width and (trial := scheduler.next()) is not None:
            try:
                lock = store.lock(trial)
            except StoreError as error:
                scheduler.answer(trial, {"unsaved": str(error)})
                continue
            if lock is None:
                scheduler.answer(trial, {"elsewhere": True})
                continue
            if (saved := store.read(trial)) is not None:  # by another process, before the lock
                lock.release()
                scheduler.answer(trial, {"outcome": saved.to_json(), "ran": False})
                continue
            actor = None if self._actor is None else [self._actor]
            task = self._task.remote(self._shared, trial_request(trial), actor)
            self._pending[task] = PendingTask(trial, lock, perf_counter())

    def _wait(self, board: ProgressBoard) -> list[Any]:
        if not self._pending:
            sleep(TICK_S)
            return []
        try:
            done, _ = self._ray.wait(list(self._pending), num_returns=1, timeout=TICK_S)
        except (self._ray.exceptions.RaySystemError, ConnectionError) as error:
            raise RayClusterError(f"the Ray cluster is gone: {last_line(error)}") from error
        self._read_progress(board)
        return list(done)

    def _read_progress(self, board: ProgressBoard) -> None:
        if self._actor is None:
            return
        try:
            latest = self._ray.get(self._actor.take.remote(), timeout=5 * TICK_S)
        except (self._ray.exceptions.RayActorError, self._ray.exceptions.GetTimeoutError):
            return  # affects only the display
        for key, (step, steps, loss) in latest.items():
            board.progress(key, step, steps, SPECIAL.get(loss, loss))

    def _collect(self, task: Any, pending: PendingTask, scheduler: Scheduler) -> None:
        errors = self._ray.exceptions
        with pending.lock:
            try:
                answer: dict[str, Any] = self._ray.get(task)
            except errors.RayTaskError as error:
                raise LoadError(
                    f"the Ray cluster cannot run trials of {self._name!r}: {last_line(error)}: "
                    "its machines need the same packages as this one"
                ) from error
            except errors.RayError as error:  # the worker, its node or its result were lost
                pending.lock.release()
                how = f"killed ({type(error).__name__} of Ray)"
                scheduler.died(pending.trial, how, perf_counter() - pending.since_s)
                return
            if "error" in answer:
                raise LoadError(f"{self._name!r}: {answer['error']}")
            if answer["lasts"]:
                try:
                    pending.lock.save(answer["outcome"])
                except StoreError as error:
                    answer = answer | {"unsaved": str(error)}
            scheduler.answer(pending.trial, answer)

    def _cancel(self) -> None:
        """Cancel all pending tasks."""
        pending, self._pending = self._pending, {}
        for task, trial in pending.items():
            with suppress(self._ray.exceptions.RayError, ConnectionError):  # the cluster is gone
                self._ray.cancel(task, force=True)
            trial.lock.release()

    def close(self) -> None:
        """Disconnect from the cluster; stop it if it was started here."""
        self._cancel()
        if self._actor is not None:
            with suppress(self._ray.exceptions.RayError, ConnectionError):
                self._ray.kill(self._actor)
        self._connection.close()


def last_line(error: BaseException) -> str:
    """Return the last line of an exception's message, which names the error in Ray's traces."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[-1] if isinstance(error, Exception) and lines else type(error).__name__)[:300]
