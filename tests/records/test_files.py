"""Output files: formats by extension, and files that are replaced only when they are complete."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import numpy as np
import pytest

from softgate.records import files
from softgate.records.files import (
    PICTURES,
    TABLES,
    check_writable,
    output_path,
    read_arrays,
    read_text,
    write_file,
)


@pytest.mark.parametrize(
    ("file", "message"),
    [
        ("x.txt", r"x\.txt has the format \.txt: expected \.svg, \.png or \.pdf"),
        ("x", r"x has no extension: expected \.svg"),
        ("", "output is empty: expected a file"),
    ],
)
def test_other_extensions_are_refused(file: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        output_path(file, PICTURES)


def test_the_extension_may_be_upper_case_and_a_path() -> None:
    assert output_path(Path("a.JSON"), TABLES) == Path("a.JSON")
    with pytest.raises(TypeError, match="output = 3: expected a path"):
        output_path(3, TABLES)  # type: ignore[arg-type]


def test_a_file_that_cannot_be_written_is_found_before_the_work(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        check_writable(tmp_path / "no" / "x.svg")
    with pytest.raises(IsADirectoryError, match="is a folder"):
        check_writable(tmp_path)
    check_writable(tmp_path / "x.svg")
    assert list(tmp_path.iterdir()) == []


def test_a_failure_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "page.html"
    file.write_text("the old one", encoding="utf-8")

    def fail(self: Path, target: Path) -> Path:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", fail)
        with pytest.raises(OSError, match=r"No space left on device.*page\.html"):
            write_file(file, "the new one")
    assert file.read_text(encoding="utf-8") == "the old one"
    assert list(tmp_path.iterdir()) == [file]
    write_file(file, "the new one, φ")
    assert file.read_text(encoding="utf-8") == "the new one, φ"


@pytest.mark.skipif(os.name != "posix", reason="permissions, links and devices of POSIX")
def test_permissions_links_and_devices(tmp_path: Path) -> None:
    file, link = tmp_path / "x.json", tmp_path / "link.json"
    write_file(file, b"1")
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE(file.stat().st_mode) == 0o666 & ~mask
    file.chmod(0o640)
    link.symlink_to(file)
    write_file(link, b"2")
    assert link.is_symlink()
    assert file.read_bytes() == b"2"
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    write_file("/dev/null", b"3")
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)


def test_pipes_and_folders_are_not_read(tmp_path: Path) -> None:
    file = tmp_path / "text"
    file.write_bytes(b"\xef\xbb\xbfab")
    assert read_text(file, "utf-8-sig") == "ab"
    file.write_bytes(b"\xff")
    with pytest.raises(ValueError, match="is not text in UTF-8"):
        read_text(file)
    with pytest.raises(OSError, match="it is a folder"):
        read_text(tmp_path)
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(OSError, match="it is not a regular file"):
            read_text(tmp_path / "pipe")
    with pytest.raises(FileNotFoundError):
        read_text(tmp_path / "absent")


def test_arrays_that_are_damaged_or_expand_beyond_memory_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "x.npz"
    np.savez_compressed(file, x=np.zeros(1 << 20), y=np.arange(3))
    assert read_arrays(file)["y"].tolist() == [0, 1, 2]
    data = file.read_bytes()
    for damaged in (b"", data[: len(data) // 2], b"no zip file"):
        (tmp_path / "damaged.npz").write_bytes(damaged)
        with pytest.raises(ValueError, match=r"is not an \.npz file, or is incomplete"):
            read_arrays(tmp_path / "damaged.npz")
    (tmp_path / "changed.npz").write_bytes(data[:200] + b"\xff" * 9 + data[209:])
    with pytest.raises(ValueError, match=r"cannot be read as \.npz"):
        read_arrays(tmp_path / "changed.npz")
    np.savez(tmp_path / "objects.npz", x=np.array([{}], object))
    with pytest.raises(ValueError, match="allow_pickle"):
        read_arrays(tmp_path / "objects.npz")
    monkeypatch.setattr(files, "MOST_BYTES", 1000)
    with pytest.raises(ValueError, match=r"8,388,\d+ bytes"):
        read_arrays(file)
