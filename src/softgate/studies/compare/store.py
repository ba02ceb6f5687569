"""The folder of outcomes: a JSON file for each trial, named by the trial's key, and its locks.

Rerunning a command resumes it: a trial with a stored outcome is not run again. If a file cannot be
read as the outcome of its trial, a message is printed and the trial is run again. An outcome of a
later version of softgate raises StoreError and is not replaced.

A trial is locked while it runs, by an operating-system lock on the temporary file that its outcome
is written to before it is renamed. The kernel releases the lock when its process dies. The file
also reserves disk space, and its name differs from that of an outcome.
`filelock.lock_descriptor` takes the lock; this module adds reserving space, atomic renaming, and
messages for a full disk or a read-only folder.

On Windows an open file can be neither renamed nor removed. There the outcome is written to a second
file, and the locked one is removed after it is closed.
"""

from __future__ import annotations

import errno
import os
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Self

from softgate.records.files import read_text
from softgate.records.packages import require
from softgate.records.record import NewerVersion
from softgate.records.text import message_line

from .trial import Outcome, Trial

ROOM = 1 << 16
"""Bytes reserved before a trial starts, so that a full disk is reported before training."""

CAUSES = {
    errno.ENOSPC: "the disk is full: make room, then run the same command again",
    errno.EDQUOT: "the quota is used up: make room, then run the same command again",
    errno.EROFS: "the file system is read-only: choose another folder",
    errno.EACCES: "this user may not write there: choose another folder, or change its permissions",
    errno.EPERM: "this user may not write there: choose another folder, or change its permissions",
    errno.ENOTDIR: "this is not a folder: choose another one",
    errno.EEXIST: "this is not a folder: choose another one",
    errno.EISDIR: "it is in place of a file: remove it, or choose another folder",
    errno.ENOLCK: "the file system has no locks: choose a folder on a local disk",
    errno.EOPNOTSUPP: "the file system has no locks: choose a folder on a local disk",
    errno.ENOSYS: "this Python has no file locks: use one from python.org, conda or your system",
}
READ_WRITE = os.O_RDWR | getattr(os, "O_BINARY", 0)
"""Flags of `os.open`; without O_BINARY, Windows would translate line ends."""
UNRESERVED = (errno.EINVAL, errno.EOPNOTSUPP, errno.ENOSYS)
"""Error codes of file systems that cannot reserve space."""
OPEN_FILES_MOVE = sys.platform != "win32"
"""Whether an open file can be renamed and removed."""


class StoreError(Exception):
    """The folder of outcomes cannot be used; its content is unchanged."""


def store_error(folder: Path, error: OSError) -> StoreError:
    """Return the exception to raise for an error of the operating system in a store."""
    advice = CAUSES.get(error.errno or 0, "fix this, then run the same command again")
    reason = error.strerror or str(error)
    if error.errno == errno.EISDIR and error.filename is not None:
        reason = f"{Path(error.filename).name} is a folder"
    return StoreError(f"the store {str(folder)!r}: {reason}: {advice}")


class TrialLock(ABC):
    """Exclusive right to run a trial, until its outcome is saved or a `with` block ends."""

    @abstractmethod
    def save(self, text: str) -> None:
        """Store the outcome, given as JSON."""

    @abstractmethod
    def release(self) -> None:
        """Release the lock; a saved outcome stays."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


class FileLock(TrialLock):
    """A locked file; the lock is released when its process ends."""

    def __init__(self, path: Path, part: Path, handle: int) -> None:
        self.path, self._part, self._beside = path, part, path.with_suffix(".new")
        self._handle: int | None = handle

    def save(self, text: str) -> None:
        """Write the outcome atomically: even after a power cut it is complete or absent."""
        assert self._handle is not None, "released"
        try:
            if OPEN_FILES_MOVE:
                _replace(self._handle, text.encode())
                self._part.rename(self.path)
                handle, self._handle = self._handle, None  # another lock may have created `_part`
                os.close(handle)
                _sync(self.path.parent)
            else:
                _write(self._beside, text.encode())
                self._beside.replace(self.path)
                self.release()
        except OSError as error:
            raise store_error(self.path.parent, error) from error

    def release(self) -> None:
        """Release the lock and remove its file."""
        if self._handle is None:
            return
        handle, self._handle = self._handle, None
        try:
            # Removed while locked, so that no other process can hold the lock of this file.
            (self._part if OPEN_FILES_MOVE else self._beside).unlink(missing_ok=True)
        except OSError as error:
            raise store_error(self.path.parent, error) from error
        finally:
            os.close(handle)
        if not OPEN_FILES_MOVE:
            with suppress(OSError):  # open in another process, which will remove it
                self._part.unlink()


class MemoryLock(TrialLock):
    """A lock of a store in memory."""

    def __init__(self, key: str, memory: dict[str, str], locked: set[str]) -> None:
        self._key, self._memory, self._locked = key, memory, locked
        locked.add(key)

    def save(self, text: str) -> None:
        """Store the outcome."""
        self._memory[self._key] = text

    def release(self) -> None:
        """Release the lock."""
        self._locked.discard(self._key)


def lock(path: Path) -> TrialLock | None:
    """Return a lock for writing the outcome `path`, or None if a live process holds it."""
    part = path.with_suffix(".part")
    try:
        for file in (path, part):
            if file.is_dir():
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(file))
        handle = _open_locked(part)
        if handle is None:
            return None
        try:
            _reserve(handle)
        except BaseException:
            FileLock(path, part, handle).release()
            raise
    except OSError as error:
        raise store_error(path.parent, error) from error
    return FileLock(path, part, handle)


def _open_locked(part: Path, create: bool = True) -> int | None:
    """Return a descriptor of the file, locked; None if another process holds the lock."""
    require("filelock", purpose="a store of trials")
    from filelock import lock_descriptor

    while True:
        try:
            handle = os.open(part, READ_WRITE | (os.O_CREAT if create else 0), 0o666)
        except FileNotFoundError:
            if create:
                raise
            return None
        try:
            locked = lock_descriptor(handle, blocking=False)
        except OSError:
            os.close(handle)
            raise
        if locked and _is_at(part, handle):
            return handle
        os.close(handle)
        if not locked:
            return None
        # The process with the lock renamed or removed the file after it was opened: try again.


def _is_at(part: Path, handle: int) -> bool:
    """Return whether the path still refers to the open file."""
    try:
        return os.path.samestat(part.stat(), os.fstat(handle))
    except FileNotFoundError:
        return False


def _reserve(handle: int) -> None:
    if not hasattr(os, "posix_fallocate"):  # macOS, Windows
        _replace(handle, bytes(ROOM))
        return
    try:
        os.posix_fallocate(handle, 0, ROOM)
    except OSError as error:
        if error.errno not in UNRESERVED:
            raise


def _replace(handle: int, content: bytes) -> None:
    os.lseek(handle, 0, os.SEEK_SET)
    written = 0
    while written < len(content):
        written += os.write(handle, content[written:])
    os.ftruncate(handle, len(content))
    os.fsync(handle)


def _write(path: Path, content: bytes) -> None:
    handle = os.open(path, READ_WRITE | os.O_CREAT, 0o666)
    try:
        _replace(handle, content)
    finally:
        os.close(handle)


def _sync(folder: Path) -> None:
    """Make a renamed file durable."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


class Store:
    """Outcomes of trials.

    Several processes may use one folder: each trial is run by the process that locks it.

    Parameters
    ----------
    folder : path or None
        Folder of the files, created if missing. None keeps outcomes in memory.

    Attributes
    ----------
    messages : list of str
        Files that could not be read, and why.

    Examples
    --------
    >>> store = Store(None)
    >>> len(store)
    0
    """

    def __init__(self, folder: str | os.PathLike[str] | None = None) -> None:
        self.folder = None if folder is None else Path(folder)
        self.messages: list[str] = []
        self._memory: dict[str, str] = {}
        self._locked: set[str] = set()
        if self.folder is not None:
            try:
                self.folder.mkdir(parents=True, exist_ok=True)
                with os.scandir(self.folder):
                    pass
            except OSError as error:
                raise store_error(self.folder, error) from error
            self.remove_stale_locks()

    def __len__(self) -> int:
        """Return the number of files, readable or not."""
        if self.folder is None:
            return len(self._memory)
        return sum(1 for _ in self.folder.glob("*.json"))

    def read(self, trial: Trial) -> Outcome | None:
        """Return the outcome of a trial, or None if there is none or it cannot be read.

        Raises StoreError for an outcome of a later version of softgate.
        """
        if self.folder is None:
            text = self._memory.get(trial.key)
            return None if text is None else Outcome.from_json(text)
        path = self._path(trial)
        try:
            outcome = Outcome.from_json(read_text(path))
            if outcome.trial.key != trial.key:
                raise ValueError(f"it holds the outcome of trial {outcome.trial.key}")
        except FileNotFoundError:
            return None
        except OSError as error:
            self._unreadable(path, error.strerror or str(error))
        except NewerVersion as error:
            raise StoreError(
                f"the store {str(self.folder)!r}: {path.name} was written by a later version of "
                f"softgate ({error}), or choose another folder"
            ) from None
        except ValueError as error:
            self._unreadable(path, message_line(error, 200))
        else:
            return outcome
        return None

    def write(self, outcome: Outcome) -> None:
        """Store an outcome; raise StoreError if that fails or another process runs the trial."""
        held = self.lock(outcome.trial)
        if held is None:
            raise StoreError(
                f"the store {str(self.folder)!r}: another process is running the trial "
                f"{outcome.trial.key}: wait for it to end"
            )
        with held:
            held.save(outcome.to_json())

    def lock(self, trial: Trial) -> TrialLock | None:
        """Return a lock for running a trial, or None if another process holds it.

        Raises StoreError if the folder cannot be written to or has no room.
        """
        if self.folder is not None:
            return lock(self._path(trial))
        if trial.key in self._locked:
            return None
        return MemoryLock(trial.key, self._memory, self._locked)

    def check(self, trial: Trial) -> None:
        """Raise StoreError if the outcome of a trial could not be stored."""
        held = self.lock(trial)
        if held is not None:
            held.release()

    def remove_stale_locks(self) -> None:
        """Remove lock files of processes that died."""
        for part in self.folder.glob("*.part") if self.folder is not None else ():
            try:
                handle = _open_locked(part, create=False)
            except OSError:  # in a read-only folder locks have no effect
                return
            if handle is not None:
                FileLock(part.with_suffix(".json"), part, handle).release()

    def _path(self, trial: Trial) -> Path:
        assert self.folder is not None
        return self.folder / f"{trial.key}.json"

    def _unreadable(self, path: Path, why: str) -> None:
        message = f"{path.name} cannot be read ({why}): the trial is run again"
        if message not in self.messages:
            self.messages.append(message)


def stored_outcomes(folder: str | os.PathLike[str]) -> Iterator[Outcome]:
    """Yield every readable outcome in a folder."""
    for path in Path(folder).glob("*.json"):
        with suppress(OSError, ValueError):
            yield Outcome.from_json(read_text(path))
