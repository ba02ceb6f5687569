"""Where outcomes are kept: a JSON file for each trial, under the key that says all about it.

To run a command again is to resume it: what is found under a trial's key is not run again. A file
is believed only if it reads as the outcome of that very trial; else that is said, and the trial is
run again.
"""

from __future__ import annotations

import errno
import os
import sys
from abc import ABC, abstractmethod
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from .trial import Outcome, Trial

ROOM = 1 << 16
"""Bytes that are reserved before a trial begins: a full disk is said before hours of training."""

CAUSES = {
    errno.ENOSPC: "the disk is full: make room, then run the same command again",
    errno.EDQUOT: "the quota is used up: make room, then run the same command again",
    errno.EROFS: "the file system is read-only: choose another folder",
    errno.EACCES: "this user may not write there: choose another folder, or change its permissions",
    errno.EPERM: "this user may not write there: choose another folder, or change its permissions",
    errno.ENOTDIR: "that is no folder: choose another one",
    errno.EEXIST: "that is no folder: choose another one",
    errno.ENOLCK: "the file system has no locks: choose a folder on a local disk",
    errno.EOPNOTSUPP: "the file system has no locks: choose a folder on a local disk",
    errno.ENOSYS: "this Python has no file locks: use one from python.org, conda or your system",
}
READ_WRITE = os.O_RDWR | getattr(os, "O_BINARY", 0)
"""How files are opened; on Windows line ends would be translated otherwise."""
UNRESERVED = (errno.EINVAL, errno.EOPNOTSUPP, errno.ENOSYS)
"""What file systems that cannot reserve room answer."""


OPEN_FILES_MOVE = sys.platform != "win32"
"""Whether a file that is open can be renamed and removed."""


class StoreError(Exception):
    """The folder of outcomes cannot be used; what it holds is as it was."""


def trouble(folder: Path, error: OSError) -> StoreError:
    """Return what to raise where the operating system refused something in a store."""
    why = CAUSES.get(error.errno or 0, "see to that, then run the same command again")
    return StoreError(f"the store {str(folder)!r}: {error.strerror or error}: {why}")


class Claim(ABC):
    """A trial that is ours to run, until its outcome is kept or a `with` block ends."""

    @abstractmethod
    def keep(self, text: str) -> None:
        """Keep the outcome, as JSON."""

    @abstractmethod
    def release(self) -> None:
        """Let others have the trial; what was kept stays."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.release()


class Locked(Claim):
    """A claim on a file; a dead owner's is free again."""

    def __init__(self, path: Path, part: Path, handle: int) -> None:
        self.path, self._part, self._beside = path, part, path.with_suffix(".new")
        self._handle: int | None = handle

    def keep(self, text: str) -> None:
        """Write the outcome; it is there as a whole, also after a power cut, or not at all."""
        assert self._handle is not None, "released"
        try:
            if OPEN_FILES_MOVE:
                _replace(self._handle, text.encode())
                self._part.rename(self.path)
                handle, self._handle = self._handle, None  # from here on the name may be another's
                os.close(handle)
                _sync(self.path.parent)
            else:
                _write(self._beside, text.encode())
                self._beside.replace(self.path)
                self.release()
        except OSError as error:
            raise trouble(self.path.parent, error) from error

    def release(self) -> None:
        """Let others have the trial."""
        if self._handle is None:
            return
        handle, self._handle = self._handle, None
        try:
            if OPEN_FILES_MOVE:
                # While the lock is held: no other process has the file yet.
                self._part.unlink(missing_ok=True)
            else:
                self._beside.unlink(missing_ok=True)
        except OSError as error:
            raise trouble(self.path.parent, error) from error
        finally:
            os.close(handle)
        if not OPEN_FILES_MOVE:
            with suppress(OSError):  # open elsewhere: another process has it now, and removes it
                self._part.unlink()


def claim(path: Path) -> Claim | None:
    """Return the right to write the outcome `path`, or None while somebody alive has it."""
    part = path.with_suffix(".part")
    try:
        handle = _locked(part)
        if handle is None:
            return None
        try:
            _reserve(handle)
        except BaseException:
            Locked(path, part, handle).release()
            raise
    except OSError as error:
        raise trouble(path.parent, error) from error
    return Locked(path, part, handle)


def sweep(folder: Path) -> None:
    """Remove what dead owners left."""
    for part in folder.glob("*.part"):
        try:
            handle = _locked(part, create=False)
        except OSError:  # a folder that can only be read: nothing there is in anybody's way
            return
        if handle is not None:
            Locked(part.with_suffix(".json"), part, handle).release()


def _locked(part: Path, create: bool = True) -> int | None:
    """Return the open file, ours alone; None where it is somebody else's."""
    from filelock import lock_descriptor

    while True:
        try:
            handle = os.open(part, READ_WRITE | (os.O_CREAT if create else 0), 0o666)
        except FileNotFoundError:
            if create:
                raise
            return None
        try:
            free = lock_descriptor(handle, blocking=False)
        except OSError:
            os.close(handle)
            raise
        if free and _named(part, handle):
            return handle
        os.close(handle)
        if not free:
            return None
        # Its owner renamed or removed it after we had opened it: once more.


def _named(part: Path, handle: int) -> bool:
    """Tell whether the name still means the file that was locked."""
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
    """Make a new name in a folder last."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


__all__ = ["Claim", "Store", "StoreError"]


class Store:
    """Outcomes of trials.

    Several processes may use one folder at a time: each trial is run by the one that claims it.

    Parameters
    ----------
    folder : path or None
        Where the files are; it is made if need be. None keeps outcomes in memory.

    Attributes
    ----------
    said : list of str
        Files that were not believed, and why.

    Examples
    --------
    >>> store = Store(None)
    >>> len(store)
    0
    """

    def __init__(self, folder: str | os.PathLike[str] | None = None) -> None:
        self.folder = None if folder is None else Path(folder)
        self.said: list[str] = []
        self._memory: dict[str, str] = {}
        self._claimed: set[str] = set()
        if self.folder is not None:
            _open(self.folder)
            self.tidy()

    def __len__(self) -> int:
        """Return how many files there are, believed or not."""
        if self.folder is None:
            return len(self._memory)
        return sum(1 for _ in self.folder.glob("*.json"))

    def read(self, trial: Trial) -> Outcome | None:
        """Return the outcome of a trial, or None where there is none to be believed."""
        if self.folder is None:
            text = self._memory.get(trial.key)
            return None if text is None else Outcome.from_json(text)
        path = self._path(trial)
        try:
            return _believed(path.read_text(encoding="utf-8"), trial.key)
        except FileNotFoundError:
            return None
        except OSError as error:
            self._doubt(path, error.strerror or str(error))
        # Whatever else a damaged file may hold, `from_json` stumbles over it with one of these.
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            self._doubt(path, " ".join(str(error).split())[:200])
        return None

    def write(self, outcome: Outcome) -> None:
        """Keep an outcome; StoreError where that cannot be done."""
        owned = self.claim(outcome.trial)
        if owned is None:
            raise StoreError(
                f"the store {str(self.folder)!r}: another process is running the trial "
                f"{outcome.trial.key}: wait for it to end"
            )
        with owned:
            owned.keep(outcome.to_json())

    def claim(self, trial: Trial) -> Claim | None:
        """Return the right to run a trial, or None while somebody else has it.

        StoreError where the folder cannot be written to or has no room.
        """
        if self.folder is not None:
            return claim(self._path(trial))
        if trial.key in self._claimed:
            return None
        return Remembered(trial.key, self._memory, self._claimed)

    def check(self, trial: Trial) -> None:
        """See that the outcome of a trial could be kept: StoreError before anything is started."""
        owned = self.claim(trial)
        if owned is not None:
            owned.release()

    def tidy(self) -> None:
        """Remove what processes left that died while they ran a trial."""
        if self.folder is not None:
            sweep(self.folder)

    def _path(self, trial: Trial) -> Path:
        assert self.folder is not None
        return self.folder / f"{trial.key}.json"

    def _doubt(self, path: Path, why: str) -> None:
        said = f"{path.name} is not believed ({why}): the trial is run again"
        if said not in self.said:
            self.said.append(said)


class Remembered(Claim):
    """A claim in memory."""

    def __init__(self, key: str, memory: dict[str, str], claimed: set[str]) -> None:
        self._key, self._memory, self._claimed = key, memory, claimed
        claimed.add(key)

    def keep(self, text: str) -> None:
        """Keep the outcome."""
        self._memory[self._key] = text

    def release(self) -> None:
        """Let others have the trial."""
        self._claimed.discard(self._key)


def _open(folder: Path) -> None:
    """Make the folder if need be, and see that it can be read."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with os.scandir(folder):
            pass
    except OSError as error:
        raise trouble(folder, error) from error


def _believed(text: str, key: str) -> Outcome:
    outcome = Outcome.from_json(text)
    if outcome.trial.key != key:
        raise ValueError(f"it holds the outcome of trial {outcome.trial.key}")
    return outcome
