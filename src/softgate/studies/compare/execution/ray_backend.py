"""Trials as tasks of a Ray cluster, a core for each: one that runs already, or one of our own.

Tasks do not see the driver's disk, so the driver claims trials, and writes what comes back. A task
says nothing to the driver before it ends; how training goes passes through an actor, where somebody
watches.
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
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from time import perf_counter, sleep
from typing import Any, NamedTuple

from softgate.runtime.records import SPECIAL, plain
from softgate.runtime.threads import available

from ..store import Claim, Store, StoreError
from ..trial import Subject, Told, Trial, Work
from .progress import Board, seldom
from .run_trial import attempt, place, words
from .scheduler import TICK_S, Shift
from .serialization import ExecutionError, SubjectError, pack, ready, settle_down, unpack

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


QUIET_S = 0.5
"""Seconds between two words about how training goes."""


class Parcel(NamedTuple):
    """A subject in the cluster's memory; in a list, so that a task fetches it only if need be."""

    name: str
    held: list[Any]
    path: list[str]
    """Where the driver finds modules: on the same machine, workers find them there as well."""


def name(packed: bytes) -> str:
    """Return what a worker knows a subject by."""
    return hashlib.sha256(packed).hexdigest()


def asked(trial: Trial) -> dict[str, Any]:
    """Return what a task is told: the trial, and the versions that its key stands for."""
    here = place()
    return {"trial": plain(trial), "torch": here.torch, "softgate": here.softgate}


class Notes:
    """How training goes in all tasks: a line for each trial, until it is read."""

    def __init__(self) -> None:
        self._notes: dict[str, tuple[int, int, Any]] = {}

    def note(self, key: str, step: int, steps: int, loss: Any) -> None:
        """Take a note."""
        self._notes[key] = (step, steps, loss)

    def read(self) -> dict[str, tuple[int, int, Any]]:
        """Hand out the notes."""
        notes, self._notes = self._notes, {}
        return notes


def run(parcel: Parcel, question: dict[str, Any], notes: list[Any] | None) -> dict[str, Any]:
    """Run a trial; return its outcome, or why no trial of this subject can be run here."""
    wrong = mismatch(question)
    if wrong:
        return {"error": wrong}
    # Loading a user's code may throw anything; the driver says it.
    try:
        work = _work(parcel)
    except (Exception, SystemExit) as error:
        return {"error": f"cannot be loaded on {place().host}: {words(error)}"}
    trial = Trial(**question["trial"])
    outcome, lasts = attempt(trial, work, _teller(trial.key, notes))
    return {"outcome": outcome.to_json(), "ran": True, "lasts": lasts}


def mismatch(question: dict[str, Any]) -> str:
    """Return in what this machine's packages differ from the driver's, or nothing."""
    here = place()
    for package, found in (("torch", here.torch), ("softgate", here.softgate)):
        wanted = question[package]
        if found != wanted:
            return (
                f"{here.host} has {package} {found or 'not installed'}, this machine "
                f"{wanted or 'none'}: a trial must not depend on where it runs, install the same"
            )
    return ""


_LOADED: dict[str, Work] = {}


def _work(parcel: Parcel) -> Work:
    if parcel.name not in _LOADED:
        import ray

        sys.path += [entry for entry in parcel.path if entry not in sys.path]
        _LOADED.clear()
        _LOADED[parcel.name] = ready(unpack(ray.get(parcel.held[0])))
        settle_down()
    return _LOADED[parcel.name]


def _teller(key: str, notes: list[Any] | None) -> Told:
    def say(step: int, steps: int, loss: Any) -> None:
        if notes is not None:
            notes[0].note.remote(key, step, steps, loss)

    return seldom(say, QUIET_S)


class Flight(NamedTuple):
    """A trial that was handed to the cluster; the claim is ours until it is back."""

    trial: Trial
    claim: Claim
    since_s: float


class Cluster:
    """Ray."""

    def __init__(self, subject: Subject, on: str, jobs: int | None) -> None:
        packed = pack(subject)
        self._name = subject.name
        self._connection = Connection(on, jobs)
        self._ray: Any = self._connection.ray
        self._notes: Any = None
        self._flying: dict[Any, Flight] = {}
        try:
            self.width = jobs or self._connection.cores
            self._parcel = Parcel(name(packed), [self._ray.put(packed)], list(sys.path))
            self._task = self._ray.remote(num_cpus=1, max_retries=0)(run)
        except BaseException:
            self.close()
            raise

    def run(self, todo: Sequence[Trial], store: Store, board: Board) -> None:
        """Run trials as tasks; those that another command runs are waited for."""
        if board.watched and self._notes is None:
            self._notes = self._ray.remote(num_cpus=0)(Notes).remote()
        shift = Shift(todo, store, board)
        try:
            while shift.unfinished:
                self._fill(shift, store)
                for flown in self._wait(board):
                    flight = self._flying.pop(flown)
                    board.landed(flight.trial)
                    self._fill(shift, store)  # first, so that a core waits no longer than it must
                    self._land(flown, flight, shift)
            shift.settle()
        finally:
            self._abort()

    def _fill(self, shift: Shift, store: Store) -> None:
        while len(self._flying) < self.width and (trial := shift.next()) is not None:
            try:
                claim = store.claim(trial)
            except StoreError as error:
                shift.answer(trial, {"unsaved": str(error)})
                continue
            if claim is None:
                shift.answer(trial, {"elsewhere": True})
                continue
            if (found := store.read(trial)) is not None:  # by somebody faster than our asking
                claim.release()
                shift.answer(trial, {"outcome": found.to_json(), "ran": False})
                continue
            notes = None if self._notes is None else [self._notes]
            task = self._task.remote(self._parcel, asked(trial), notes)
            self._flying[task] = Flight(trial, claim, perf_counter())

    def _wait(self, board: Board) -> list[Any]:
        if not self._flying:
            sleep(TICK_S)
            return []
        try:
            ready, _ = self._ray.wait(list(self._flying), num_returns=1, timeout=TICK_S)
        except (self._ray.exceptions.RaySystemError, ConnectionError) as error:
            raise ClusterError(f"the Ray cluster is gone: {first_line(error)}") from error
        self._look(board)
        return list(ready)

    def _look(self, board: Board) -> None:
        """Tell the board how training goes."""
        if self._notes is None:
            return
        try:
            notes = self._ray.get(self._notes.read.remote(), timeout=5 * TICK_S)
        except (self._ray.exceptions.RayActorError, self._ray.exceptions.GetTimeoutError):
            return  # only the display lacks it
        for key, (step, steps, loss) in notes.items():
            board.told(key, step, steps, SPECIAL.get(loss, loss))

    def _land(self, task: Any, flight: Flight, shift: Shift) -> None:
        errors = self._ray.exceptions
        with flight.claim:
            try:
                answer: dict[str, Any] = self._ray.get(task)
            except errors.RayTaskError as error:
                raise SubjectError(
                    f"the Ray cluster cannot run trials of {self._name!r}: {first_line(error)}: "
                    "its machines need the same packages as this one"
                ) from error
            except errors.RayError as error:  # the worker, its node or its result were lost
                flight.claim.release()
                how = f"killed ({type(error).__name__} of Ray)"
                shift.died(flight.trial, how, perf_counter() - flight.since_s)
                return
            if "error" in answer:
                raise SubjectError(f"{self._name!r}: {answer['error']}")
            shift.answer(flight.trial, self._kept(answer, flight.claim))

    @staticmethod
    def _kept(answer: dict[str, Any], claim: Claim) -> dict[str, Any]:
        if not answer["lasts"]:
            return answer
        try:
            claim.keep(answer["outcome"])
        except StoreError as error:
            return answer | {"unsaved": str(error)}
        return answer

    def _abort(self) -> None:
        """Give up what is on its way."""
        flying, self._flying = self._flying, {}
        for task, flight in flying.items():
            with suppress(self._ray.exceptions.RayError, ConnectionError):  # a cluster that is gone
                self._ray.cancel(task, force=True)
            flight.claim.release()

    def close(self) -> None:
        """Leave the cluster; stop it where it is ours."""
        self._abort()
        if self._notes is not None:
            with suppress(self._ray.exceptions.RayError, ConnectionError):
                self._ray.kill(self._notes)
        self._connection.close()


def first_line(error: BaseException) -> str:
    """Return what Ray says, without a page of traces: the line that names what happened."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[-1] if isinstance(error, Exception) and lines else type(error).__name__)[:300]
