"""Where a picture goes: told before minutes of work, not after."""

from __future__ import annotations

from pathlib import Path

import click


def picture_file(option: str, file: str) -> Path:
    """Return where a picture goes, checked before anything is run."""
    from softgate.plotting.plot import drawing

    path = Path(file)
    drawing().file_format(path)
    if not path.absolute().parent.is_dir():
        raise click.UsageError(f"{option} {file}: there is no folder {path.parent}.")
    _try_writing(option, path)
    return path


def _try_writing(option: str, path: Path) -> None:
    """Refuse a file that cannot be written; os.access does not know of every reason."""
    there = path.exists()
    try:
        path.open("ab").close()
    except OSError as error:
        raise click.UsageError(
            f"{option} {path}: it cannot be written ({error.strerror}); name another file."
        ) from None
    if not there:
        path.unlink()
