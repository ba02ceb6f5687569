"""Checks of the file that a picture is written to, before minutes of work."""

from __future__ import annotations

from pathlib import Path

import click


def picture_file(option: str, file: str) -> Path:
    """Return the path of a picture; raise if it cannot be written or vl-convert is missing."""
    from softgate.plotting.picture import file_format
    from softgate.plotting.vega import library

    path = Path(file)
    file_format(path)
    library()
    if not path.absolute().parent.is_dir():
        raise click.UsageError(f"{option} {file}: there is no folder {path.parent}.")
    _try_writing(option, path)
    return path


def _try_writing(option: str, path: Path) -> None:
    """Raise if a file cannot be written; os.access misses some reasons."""
    there = path.exists()
    try:
        path.open("ab").close()
    except OSError as error:
        raise click.UsageError(
            f"{option} {path}: it cannot be written ({error.strerror}); name another file."
        ) from None
    if not there:
        path.unlink()
