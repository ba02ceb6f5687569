"""Files of users: how they are read, and written so that an old one is never damaged.

The extension of an output file selects its format. Every file that softgate writes for a user goes
through `write_file`, which replaces it only when it is complete; texts are read by `read_text`.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterable
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any
from zipfile import ZipFile, is_zipfile

import numpy as np

TABLES = ("html", "json", "csv")
"""Formats of every record."""
PICTURES = ("svg", "png", "pdf")
"""Formats of records that have a chart, and of plots."""


def output_path(file: str | os.PathLike[str], formats: Iterable[str], name: str = "output") -> Path:
    """Return a path whose extension is one of `formats`.

    Raises
    ------
    TypeError
        If `file` is not a path.
    ValueError
        If it is empty or has another extension; `name` is the argument in the message.
    """
    known = [f".{kind}" for kind in formats]
    if not isinstance(file, str | os.PathLike):
        raise TypeError(f"{name} = {file!r}: expected a path that ends in {_or(known)}")
    if not os.fspath(file):
        raise ValueError(f"{name} is empty: expected a file that ends in {_or(known)}")
    path = Path(file)
    if path.suffix.lower() not in known:
        ending = f"the format {path.suffix}" if path.suffix else "no extension"
        raise ValueError(f"{name} {path} has {ending}: expected {_or(known)}")
    return path


def file_format(path: Path) -> str:
    """Return the format of a file by its extension, such as "svg"."""
    return path.suffix.lower().lstrip(".")


def _or(choices: list[str]) -> str:
    *others, last = choices
    return f"{', '.join(others)} or {last}" if others else last


def read_text(file: str | os.PathLike[str], encoding: str = "utf-8") -> str:
    """Return the text of a file.

    Raises
    ------
    OSError
        If the file cannot be read, or is a pipe or a device: reading those may never end.
    ValueError
        If it is not text in the encoding.
    """
    path = Path(file)
    if path.is_dir():
        raise OSError(errno.EISDIR, "it is a folder", str(file))
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "it is not a regular file", str(file))
    try:
        return path.read_text(encoding=encoding)
    except UnicodeDecodeError as error:
        raise ValueError(f"{file} is not text in UTF-8: {error.reason}") from None


MOST_BYTES, MOST_EXPANSION = 1 << 31, 100
"""A file whose content takes more bytes than this, and than this multiple of the file on the disk,
is refused: it would fill the memory."""


def check_expansion(file: str | os.PathLike[str]) -> None:
    """Raise ValueError if a zip archive, or a file with holes, has far more content than bytes."""
    status = Path(file).stat()
    content = status.st_size
    # Holes are not allocated. Windows has no st_blocks.
    allocated = min(content, 512 * status.st_blocks) if hasattr(status, "st_blocks") else content
    if is_zipfile(file):
        with ZipFile(file) as archive:
            content = max(content, sum(part.file_size for part in archive.infolist()))
    if content > max(MOST_BYTES, MOST_EXPANSION * allocated):
        raise ValueError(f"{content:,} bytes of content in a file of {allocated:,}")


def read_arrays(file: str | os.PathLike[str]) -> dict[str, np.ndarray[Any, Any]]:
    """Return the arrays of an .npz file; its objects are never unpickled.

    Raises
    ------
    ValueError
        If it is not an .npz file, is damaged, or has far more bytes of arrays than a file has.
    """
    if not is_zipfile(file):
        raise ValueError(f"{file} is not an .npz file, or is incomplete")
    try:
        check_expansion(file)
        with np.load(file, allow_pickle=False) as content:
            return {name: content[name] for name in content.files}
    except Exception as error:  # zipfile and NumPy raise their own exception types
        reason = " ".join(str(error).split()) or type(error).__name__
        raise ValueError(f"{file} cannot be read as .npz: {reason}") from error


def check_writable(file: Path) -> None:
    """Raise OSError if `file` cannot be written, for a check before a long computation."""
    path = Path(os.path.realpath(file))
    folder = path.parent
    if not folder.is_dir():
        raise FileNotFoundError(f"{file}: there is no folder {folder}; make it first")
    if path.is_dir():
        raise IsADirectoryError(f"{file} is a folder: name a file")
    if path.exists() and not path.is_file():
        return  # a device or a pipe
    try:
        with NamedTemporaryFile(dir=folder, prefix=f".{path.name}."):
            pass  # os.access misses some reasons
    except OSError as error:
        raise type(error)(
            f"{file} cannot be written ({error.strerror}): name another file"
        ) from None


def write_file(file: str | os.PathLike[str], content: str | bytes) -> None:
    """Write a file through a temporary file beside it, which then replaces the old one.

    If writing fails, for example on a full disk, the old file is unchanged. A link is followed, the
    permissions of an old file are kept, and devices and pipes are written directly. Text is UTF-8.

    Raises
    ------
    OSError
        With the name of `file`, if it cannot be written.
    """
    data = content.encode() if isinstance(content, str) else content
    path = Path(os.path.realpath(file))
    try:
        if path.exists() and not path.is_file():
            path.write_bytes(data)
        else:
            _replace(path, data)
    except OSError as error:  # the error of a full disk lacks the file name
        raise OSError(error.errno, error.strerror, str(file)) from error


def _replace(path: Path, data: bytes) -> None:
    with NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as part:
        try:
            part.write(data)
            part.close()
            if path.exists():
                shutil.copymode(path, part.name)
            else:
                mask = os.umask(0)
                os.umask(mask)
                Path(part.name).chmod(0o666 & ~mask)
            Path(part.name).replace(path)
        except BaseException:
            Path(part.name).unlink(missing_ok=True)
            raise
