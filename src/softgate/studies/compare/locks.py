"""Who runs a trial: a locked file, which the kernel unlocks when its owner dies.

The file that is locked is the one that the outcome is written to, before it gets its name. So one
thing says that a trial is being run, keeps room for its outcome on the disk, and is never taken for
an outcome however its owner ends; and nobody has to guess whether a process is still alive.

Windows neither renames nor removes a file that is open. There the outcome is written to a file
beside the locked one, which is removed when it has been closed.
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
