"""Tasks on files of the user: IDX, tables, and what is wrong with them."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from compare_trials import SMALL, run, small

from softgate.studies.compare.tasks import task
from softgate.studies.compare.tasks.images import IDX, read_idx
from softgate.studies.compare.tasks.tabular import read_table

QUICK = {"layers": 1, "width": 16, "epochs": 8, "batch": 16, "evaluations": 1}


def idx(array: np.ndarray[Any, Any]) -> bytes:
    sizes = b"".join(int(n).to_bytes(4, "big") for n in array.shape)
    return bytes([0, 0, 8, array.ndim]) + sizes + array.tobytes()


def images(count: int, seed: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return noise with a bright pixel at the class's index."""
    labels = np.arange(count, dtype=np.uint8) % 10
    pixels = np.random.default_rng(seed).integers(0, 60, (count, 4, 4), np.uint8)
    pixels.reshape(count, 16)[np.arange(count), labels] = 255
    return pixels, labels


@pytest.fixture
def mnist(tmp_path: Path) -> Path:
    for i, (count, stem) in enumerate([(200, "train"), (50, "t10k")]):
        pixels, labels = images(count, i)
        (tmp_path / f"{stem}-images-idx3-ubyte").write_bytes(idx(pixels))
        (tmp_path / f"{stem}-labels-idx1-ubyte.gz").write_bytes(gzip.compress(idx(labels)))
    return tmp_path


@pytest.mark.parametrize("name", ["mnist", "fashion-mnist"])
def test_idx_files_are_read_compressed_or_not(name: str, mnist: Path) -> None:
    chosen = task(name, data_dir=mnist, settings=QUICK)
    data = chosen.load()
    assert [len(p) for p in (data.train, data.validation, data.test)] == [160, 40, 50]
    assert data.train.x.shape == (160, 16)
    measured = run(chosen, "relu", lr=3e-2)
    assert measured.score is not None
    assert measured.score > 0.5
    assert str(mnist) in chosen.describe()


def test_a_changed_file_is_another_task(mnist: Path) -> None:
    before = task("mnist", data_dir=mnist).fingerprint
    pixels, _ = images(50, 9)
    (mnist / IDX[2]).write_bytes(idx(pixels))
    assert task("mnist", data_dir=mnist).fingerprint != before


def test_a_missing_file_is_named(mnist: Path) -> None:
    (mnist / IDX[2]).unlink()
    with pytest.raises(FileNotFoundError, match=r"t10k-images-idx3-ubyte or .*\.gz"):
        task("mnist", data_dir=mnist)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"PNG....", "expected IDX"),
        (b"", "expected IDX"),
        (idx(np.zeros((3, 2), np.uint8))[:-1], "it may be truncated"),
        (gzip.compress(idx(np.zeros((3, 2), np.uint8)), mtime=0)[:-9], "cannot be decompressed"),
    ],
)
def test_invalid_idx_files(tmp_path: Path, content: bytes, message: str) -> None:
    file = tmp_path / "file"
    file.write_bytes(content)
    with pytest.raises(ValueError, match=message):
        read_idx(file)


def test_a_small_file_with_gigabytes_inside_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from softgate.studies.compare.tasks import images

    monkeypatch.setattr(images, "LARGEST", 1 << 20)
    read: list[int | None] = []

    class Stream(gzip.GzipFile):
        def read(self, size: int | None = -1) -> bytes:
            read.append(size)
            return super().read(size)

    monkeypatch.setattr(images.gzip, "open", Stream)
    file = tmp_path / "images.gz"
    file.write_bytes(gzip.compress(b"\0\0\x08\x01" + b"\x7f" * 4 + bytes(1 << 24)))
    with pytest.raises(ValueError, match="has more than 1,048,576 bytes"):
        images.read_idx(file)
    assert read == [(1 << 20) + 1]


def test_mismatched_idx_files(mnist: Path) -> None:
    (mnist / IDX[0]).write_bytes(idx(np.zeros((9, 4, 4), np.uint8)))
    with pytest.raises(ValueError, match="as many labels"):
        task("mnist", data_dir=mnist).load()
    (mnist / IDX[0]).write_bytes(idx(images(200, 0)[0]))
    (mnist / f"{IDX[1]}.gz").write_bytes(gzip.compress(idx(np.full(200, 11, np.uint8))))
    with pytest.raises(ValueError, match="expected ten classes"):
        task("mnist", data_dir=mnist).load()


def table(rows: int = 60, separator: str = ",") -> str:
    """Return a table whose target depends on one column, with blanks, row names and words."""
    lines = ["id,Size,Colour,empty,label"]
    for i in range(rows):
        size = "" if i % 7 == 0 else f"{i % 10}"
        colour = "NA" if i % 11 == 0 else ("red", "green", "blue")[i % 3]
        lines.append(f"row{i},{size},{colour},,{'big' if i % 10 > 4 else 'small'}")
    return "\n".join(lines).replace(",", separator)


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_a_users_table(tmp_path: Path, separator: str) -> None:
    file = tmp_path / "table.csv"
    file.write_text(table(400, separator) + f"\nx{separator * 4}?", encoding="utf-8-sig")
    chosen = task("churn", data=file, settings={**SMALL["churn"], "target": "label", "epochs": 20})
    assert chosen.measure.name == "test area under the ROC curve"
    message = " ".join(chosen.notes())
    for part in (
        "1 rows have no label", "Size (58), became the median", "Colour (37), are a category",
        "Left out: id (identifies rows), empty (one value, or none)",
        "by the 240 training rows alone",
    ):  # fmt: skip
        assert part in message
    measured = run(chosen, "relu")
    assert measured.score is not None
    assert measured.score > 0.8


def test_blanks_and_categories_are_fitted_to_training_rows_alone(tmp_path: Path) -> None:
    from softgate.studies.compare.splits import split
    from softgate.studies.compare.tasks.tabular import prepare

    file = tmp_path / "table.csv"
    file.write_text(table(100))
    first = prepare(read_table(file).with_target("label"))
    y = [line.endswith("small") for line in table(100).splitlines()[1:]]
    _, test = split(np.array(y), 0.2)
    lines = table(100).splitlines()
    for i in test:  # other sizes and a new colour in rows that must not be used
        lines[i + 1] = f"row{i},1000,violet,,{lines[i + 1].rpartition(',')[2]}"
    file.write_text("\n".join(lines))
    second = prepare(read_table(file).with_target("label"))
    assert np.array_equal(first.x[0], second.x[0])
    assert np.array_equal(first.x[1], second.x[1])
    assert not np.array_equal(first.x[2], second.x[2])
    assert np.isfinite(second.x[2]).all()


@pytest.mark.parametrize(
    ("content", "target", "message"),
    [
        (table(), "Labels", "unknown column 'Labels'; did you mean 'label'"),
        (table(), None, "give target=COLUMN"),
        (table(), "id", "has 60 different values: expected 2 to 20 classes"),
        (table(12), "label", "expected 10 or more"),
        ("a,b\n1,2\n3", "a", "row 3: 1 cells, but the header has 2"),
        ("a,a\n1,2", "a", "two columns 'a'"),
        ("a,b", "a", "expected a header and rows"),
        (f'a,b\n1,"{"x" * 200_000}\n', "a", r"line 2: field larger .*is a quote missing"),
        ("1,2\n3,4", "2", "first line of the table is numbers"),
        ("label\n" + "x\ny\n" * 20, "label", "no column beside"),
    ],
)
def test_invalid_tables(tmp_path: Path, content: str, target: Any, message: str) -> None:
    file = tmp_path / "table.csv"
    file.write_text(content)
    with pytest.raises(ValueError, match=message):
        task("churn", data=file, settings={"target": target})


def test_the_synthetic_table_is_reproducible_and_learnable() -> None:
    import hashlib

    chosen = small("churn", epochs=5)
    digest = hashlib.sha256(chosen.table.content).hexdigest()  # type: ignore[attr-defined]
    assert digest.startswith("9645563397ede5ee")
    assert "Left out: customer (identifies rows)." in chosen.notes()
    score = run(chosen, "relu").score
    assert score is not None
    assert score > 0.8
