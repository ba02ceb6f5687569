"""Images: scikit-learn's digits, MNIST-1D, and MNIST and Fashion-MNIST from IDX files.

The files are those in a folder of the user's, read as untrusted input; nothing is downloaded.
"""

from __future__ import annotations

import gzip
import hashlib
import math
import random
import zlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from .task import Option, Task, perceptron_options

if TYPE_CHECKING:
    from ..splits import Data

VALIDATION = 5000
"""Number of training images used for validation, as in the GELU paper."""
IDX = ("train-images-idx3-ubyte", "train-labels-idx1-ubyte",
       "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte")  # fmt: skip
LARGEST = 1 << 28
"""Bytes of a decompressed file, at most: five times MNIST's largest."""


def digits() -> Data:
    """Return scikit-learn's digits in three parts, standardised by the training part."""
    from sklearn.datasets import load_digits

    from ..splits import classified, split, standardised

    x, y = load_digits(return_X_y=True)
    rest, test = split(y, 450 / len(y))
    train, validation = split(y[rest], 270 / len(rest))
    parts = (rest[train], rest[validation], test)
    return classified(standardised(*(x[part] for part in parts)), [y[part] for part in parts], 10)


class Digits(Task):
    """Digits and the GELU paper's perceptron of 8 layers of 128; a trial takes about a second."""

    name: ClassVar[str] = "digits"
    about: ClassVar[str] = (
        "1,797 images of 8×8 pixels, 10 classes (scikit-learn): 1,077 for training, 270 for "
        "validation, 450 for testing, stratified by class"
    )
    options: ClassVar[dict[str, Option]] = perceptron_options()

    def load(self) -> Data:
        """Return scikit-learn's digits."""
        return digits()


class DeepDigits(Digits):
    """Digits with 8, 16, 32 and 48 hidden layers, one condition each; no residuals, no norms."""

    name: ClassVar[str] = "deep"
    options: ClassVar[dict[str, Option]] = perceptron_options(layers="8,16,32,48", width=64)
    rates: ClassVar[tuple[float, ...]] = (3e-4, 1e-3, 3e-3)


class Mnist1d(Task):
    """MNIST-1D: digits as generated curves of 40 points; a trial takes a few seconds."""

    name: ClassVar[str] = "mnist1d"
    about: ClassVar[str] = (
        "5,000 curves of 40 points, 10 classes (package mnist1d): 3,200 for training, 800 for "
        "validation, 1,000 for testing (the package's test set)"
    )
    options: ClassVar[dict[str, Option]] = perceptron_options(layers=3, epochs=40)
    needs: ClassVar[tuple[str, ...]] = ("torch", "sklearn", "mnist1d")

    def load(self) -> Data:
        """Return the curves, standardised by the training part.

        The package scales all curves, test data included, by one mean and standard deviation;
        standardising undoes that.
        """
        from ..splits import classified, split, standardised

        made = _mnist1d()
        x, y = made["x"], made["y"]
        train, validation = split(y, 800 / len(y))
        inputs = standardised(x[train], x[validation], made["x_test"])
        return classified(inputs, [y[train], y[validation], made["y_test"]], 10)


@cache
def _mnist1d() -> Any:
    """Return the package's data set; restores the global generators that it seeds."""
    import torch
    from mnist1d.data import get_dataset_args, make_dataset

    states = random.getstate(), np.random.get_state()  # noqa: NPY002
    try:
        with torch.random.fork_rng(devices=[]):
            return make_dataset(get_dataset_args())
    finally:
        random.setstate(states[0])
        np.random.set_state(states[1])  # noqa: NPY002


class Images(NamedTuple):
    """Images as rows of numbers in 0 … 1, and their classes."""

    pixels: npt.NDArray[np.float32]
    labels: npt.NDArray[np.int64]


def _find(folders: Sequence[Path], names: list[str]) -> Path:
    for folder in folders:
        for name in names:
            if (folder / name).is_file():
                return folder / name
    raise FileNotFoundError(f"{folders[0]} has no file {' or '.join(names)}: expected it there")


def read_idx_pair(images: Path, labels: Path) -> Images:
    """Return the images and labels of two IDX files."""
    pixels, classes = read_idx(images), read_idx(labels)
    if pixels.ndim != 3 or classes.shape != pixels.shape[:1]:
        raise ValueError(
            f"{images.name} has the shape {pixels.shape}, {labels.name} {classes.shape}: expected "
            "images of two axes and as many labels"
        )
    return _images(pixels, classes, str(labels))


def read_idx(file: Path) -> npt.NDArray[np.uint8]:
    """Return the array of bytes in an IDX file, compressed by gzip or not.

    It starts with the bytes 0, 0, 8, the number of axes, and the length of each in four bytes.
    """
    content = file.read_bytes()
    if content[:2] == b"\x1f\x8b":
        content = _decompressed(file)
    if len(content) < 4 or content[:3] != b"\0\0\x08":
        raise ValueError(f"{file} begins with {content[:4]!r}: expected IDX, bytes 0 0 8 and axes")
    start = 4 + 4 * content[3]
    shape = tuple(int.from_bytes(content[i : i + 4], "big") for i in range(4, start, 4))
    if len(content) != start + math.prod(shape):
        raise ValueError(
            f"{file} has {len(content):,} bytes: expected {start + math.prod(shape):,} for the "
            f"shape {shape} in its header; it may be truncated"
        )
    return np.frombuffer(content, np.uint8, offset=start).reshape(shape)


def _decompressed(file: Path) -> bytes:
    """Return the content of a gzip file; raise ValueError if it is damaged or absurdly large."""
    try:
        with gzip.open(file) as stream:
            content: bytes = stream.read(LARGEST + 1)
    except (EOFError, OSError, zlib.error) as error:
        raise ValueError(f"{file} cannot be decompressed: {error}") from None
    if len(content) > LARGEST:
        raise ValueError(f"{file} has more than {LARGEST:,} bytes: expected a set of small images")
    return content


def _images(pixels: npt.NDArray[Any], labels: npt.NDArray[Any], file: str) -> Images:
    if labels.size == 0 or labels.max() > 9 or labels.min() < 0:
        raise ValueError(f"{file} has no labels, or others than 0 … 9: expected ten classes")
    rows = pixels.reshape(len(pixels), -1).astype(np.float32) / np.float32(255)
    return Images(rows, labels.astype(np.int64))


class Mnist(Task):
    """Handwritten digits in four IDX files: ten classes, a training and a test part."""

    name: ClassVar[str] = "mnist"
    title: ClassVar[str] = "MNIST"
    options: ClassVar[dict[str, Option]] = perceptron_options(epochs=10, batch=128)
    rates: ClassVar[tuple[float, ...]] = (1e-4, 3e-4, 1e-3)
    takes: ClassVar[tuple[str, ...]] = ("data_dir",)

    def check(self) -> None:
        """Raise an error also if the folder or one of its files is missing."""
        super().check()
        self.files()

    def folder(self) -> Path:
        """Return the folder; raise ValueError if none was given."""
        if self.data_dir is None:
            raise ValueError(
                f"the task {self.name} needs the folder of its files: --data-dir DIR (data_dir=); "
                "nothing is downloaded"
            )
        return Path(self.data_dir)

    def files(self) -> list[Path]:
        """Return the four IDX files, in the folder or in MNIST/raw below it as in torchvision."""
        folder = self.folder()
        folders = [folder, folder / "raw", *sorted(folder.glob("*/raw"))]
        return [_find(folders, [name, f"{name}.gz", name.replace("-idx", ".idx")]) for name in IDX]

    def content(self) -> list[bytes]:
        """Return hashes of the files."""
        return [hashlib.sha256(file.read_bytes()).digest() for file in self.files()]

    def describe(self) -> str:
        """Return one line on data, model and training."""
        split = f"{VALIDATION:,} of the training images for validation, test images for testing"
        folder = self.data_dir or "a folder of yours (--data-dir)"
        return (
            f"{self.title} from {folder}: {split}; {self.describe_model()}; "
            f"{self.describe_training()}"
        )

    def load(self) -> Data:
        """Return the images as rows of numbers, standardised by the training part."""
        from ..splits import classified, split, standardised

        files = self.files()
        images, test = read_idx_pair(*files[:2]), read_idx_pair(*files[2:])
        fraction = min(VALIDATION, len(images.labels) // 5) / len(images.labels)
        train, validation = split(images.labels, fraction)
        x = standardised(images.pixels[train], images.pixels[validation], test.pixels)
        return classified(x, [images.labels[train], images.labels[validation], test.labels], 10)


class FashionMnist(Mnist):
    """Clothes in the files of MNIST."""

    name: ClassVar[str] = "fashion-mnist"
    title: ClassVar[str] = "Fashion-MNIST"
