"""Who runs a trial: a locked file, which the kernel unlocks when its owner dies.

The file that is locked is the one that the outcome is written to, before it gets its name. So one
thing says that a trial is being run, keeps room for its outcome on the disk, and is never taken for
an outcome however its owner ends; and nobody has to guess whether a process is still alive.
"""

from __future__ import annotations

import errno
import os
import sys
from abc import ABC, abstractmethod
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
}
UNRESERVED = (errno.EINVAL, errno.EOPNOTSUPP, errno.ENOSYS)
"""What file systems that cannot reserve room answer."""


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
        self.path, self._part = path, part
        self._handle: int | None = handle

    def keep(self, text: str) -> None:
        """Write the outcome; it is there as a whole, also after a power cut, or not at all."""
        assert self._handle is not None, "released"
        try:
            _replace(self._handle, text.encode())
            self._part.rename(self.path)
            handle, self._handle = self._handle, None  # from here on the name may be another's
            os.close(handle)
            _sync(self.path.parent)
        except OSError as error:
            raise trouble(self.path.parent, error) from error

    def release(self) -> None:
        """Let others have the trial."""
        if self._handle is None:
            return
        handle, self._handle = self._handle, None
        try:
            self._part.unlink(missing_ok=True)  # before the lock goes: it is nobody else's yet
        except OSError as error:
            raise trouble(self.path.parent, error) from error
        finally:
            os.close(handle)


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
    if sys.platform == "win32":
        raise OSError(errno.ENOLCK, "Windows has no flock")
    import fcntl

    while True:
        try:
            handle = os.open(part, os.O_RDWR | (os.O_CREAT if create else 0), 0o666)
        except FileNotFoundError:
            if create:
                raise
            return None
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            return None
        except OSError:
            os.close(handle)
            raise
        if _named(part, handle):
            return handle
        os.close(handle)  # its owner renamed or removed it after we had opened it


def _named(part: Path, handle: int) -> bool:
    """Tell whether the name still means the file that was locked."""
    try:
        return os.path.samestat(part.stat(), os.fstat(handle))
    except FileNotFoundError:
        return False


def _reserve(handle: int) -> None:
    if not hasattr(os, "posix_fallocate"):
        return
    try:
        os.posix_fallocate(handle, 0, ROOM)
    except OSError as error:
        if error.errno not in UNRESERVED:
            raise


def _replace(handle: int, content: bytes) -> None:
    written = 0
    while written < len(content):
        written += os.pwrite(handle, content[written:], written)
    os.ftruncate(handle, len(content))
    os.fsync(handle)


def _sync(folder: Path) -> None:
    """Make a new name in a folder last."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
