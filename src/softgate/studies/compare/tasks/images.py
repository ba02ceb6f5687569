"""MNIST, Fashion-MNIST and CIFAR-10 from a folder that the user has; nothing is downloaded."""

from __future__ import annotations

import gzip
import hashlib
import io
import math
import pickle
import zlib
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from .task import Option, Task, usual

if TYPE_CHECKING:
    from ..data import Data


class Images(NamedTuple):
    """Images as rows of numbers in 0 … 1, and their classes."""

    pixels: npt.NDArray[np.float32]
    labels: npt.NDArray[np.int64]


IDX = ("train-images-idx3-ubyte", "train-labels-idx1-ubyte",
       "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte")  # fmt: skip
BATCHES = (*(f"data_batch_{i}" for i in range(1, 6)), "test_batch")


def idx_files(folder: Path) -> list[Path]:
    """Return MNIST's four files in a folder, or in MNIST/raw below it as torchvision has them."""
    places = [folder, folder / "raw", *sorted(folder.glob("*/raw"))]
    return [_found(places, [name, f"{name}.gz", name.replace("-idx", ".idx")]) for name in IDX]


def batch_files(folder: Path) -> list[Path]:
    """Return CIFAR-10's six batches in a folder, or in cifar-10-batches-py below it."""
    return [_found([folder, folder / "cifar-10-batches-py"], [name]) for name in BATCHES]


def _found(places: Sequence[Path], names: list[str]) -> Path:
    for place in places:
        for name in names:
            if (place / name).is_file():
                return place / name
    raise FileNotFoundError(f"{places[0]} has no file {' or '.join(names)}: expected it there")


def read_idx_pair(images: Path, labels: Path) -> Images:
    """Return the images and labels of two IDX files that belong together."""
    pixels, classes = read_idx(images), read_idx(labels)
    if pixels.ndim != 3 or classes.shape != pixels.shape[:1]:
        raise ValueError(
            f"{images.name} has the shape {pixels.shape}, {labels.name} {classes.shape}: expected "
            "images of two axes and as many labels"
        )
    return _images(pixels, classes, str(labels))


def read_idx(file: Path) -> npt.NDArray[np.uint8]:
    """Return the array of bytes in an IDX file, compressed by gzip or not.

    It begins with 0, 0, 8 (bytes), the number of axes, and the length of each in four bytes.
    """
    content = file.read_bytes()
    if content[:2] == b"\x1f\x8b":
        try:
            content = gzip.decompress(content)
        except (EOFError, OSError, zlib.error) as error:
            raise ValueError(f"{file} cannot be decompressed: {error}") from None
    if len(content) < 4 or content[:3] != b"\0\0\x08":
        raise ValueError(f"{file} begins with {content[:4]!r}: expected IDX, bytes 0 0 8 and axes")
    start = 4 + 4 * content[3]
    shape = tuple(int.from_bytes(content[i : i + 4], "big") for i in range(4, start, 4))
    if len(content) != start + math.prod(shape):
        raise ValueError(
            f"{file} has {len(content):,} bytes: expected {start + math.prod(shape):,} for the "
            f"shape {shape} that it names; it may have been cut off"
        )
    return np.frombuffer(content, np.uint8, offset=start).reshape(shape)


ADMITTED = {
    ("numpy.core.multiarray", "_reconstruct"),
    ("numpy._core.multiarray", "_reconstruct"),
    ("numpy", "ndarray"),
    ("numpy", "dtype"),
    ("_codecs", "encode"),
}
"""What an array in a pickle is put together with; none of it runs code that a file brings."""


class Careful(pickle.Unpickler):
    """Reads pickles that hold arrays, dicts, lists, bytes and text, and no others."""

    def find_class(self, module: str, name: str) -> Any:
        """Return what an array is made with; refuse all else."""
        if (module, name) not in ADMITTED:
            raise pickle.UnpicklingError(
                f"it asks for {module}.{name}, which CIFAR-10's batches do not need: not read"
            )
        return super().find_class(module.replace("numpy.core", "numpy._core"), name)


def read_batch(file: Path) -> Images:
    """Return the images of one of CIFAR-10's Python batches."""
    try:
        content = Careful(io.BytesIO(file.read_bytes()), encoding="bytes").load()
        pixels, labels = np.asarray(content[b"data"]), np.asarray(content[b"labels"])
    except (pickle.UnpicklingError, EOFError, KeyError, TypeError, ValueError, IndexError) as error:
        raise ValueError(f"{file} is no batch of CIFAR-10: {error}") from None
    if pixels.dtype != np.uint8 or pixels.ndim != 2 or labels.shape != pixels.shape[:1]:
        raise ValueError(
            f"{file} has {pixels.dtype} of shape {pixels.shape} and labels {labels.shape}: "
            "expected bytes, a row for each label"
        )
    return _images(pixels, labels, str(file))


def together(parts: Sequence[Images]) -> Images:
    """Return all images of several files."""
    return Images(
        np.concatenate([p.pixels for p in parts]), np.concatenate([p.labels for p in parts])
    )


def _images(pixels: npt.NDArray[Any], labels: npt.NDArray[Any], file: str) -> Images:
    if labels.size == 0 or labels.max() > 9 or labels.min() < 0:
        raise ValueError(f"{file} has no labels, or others than 0 … 9: expected ten classes")
    rows = pixels.reshape(len(pixels), -1).astype(np.float32) / np.float32(255)
    return Images(rows, labels.astype(np.int64))


CHOSEN_BY = 5000
"""Examples of those to learn from that rates are chosen by, as in the GELU paper."""


@dataclass(frozen=True)
class ImageTask(Task):
    """Images of ten classes in files with a training and a test part."""

    title: ClassVar[str]
    options: ClassVar[dict[str, Option]] = usual(epochs=10, batch=128)
    rates: ClassVar[tuple[float, ...]] = (1e-4, 3e-4, 1e-3)
    takes: ClassVar[tuple[str, ...]] = ("data_dir",)

    def check(self) -> None:
        """Raise where the folder or one of its files is missing."""
        super().check()
        self.files()

    def folder(self) -> Path:
        """Return the folder, or raise."""
        if self.data_dir is None:
            raise ValueError(
                f"the task {self.name} needs the folder of its files: --data-dir DIR (data_dir=); "
                "nothing is downloaded"
            )
        return Path(self.data_dir)

    @abstractmethod
    def files(self) -> list[Path]:
        """Return the files, or raise and name the one that is missing."""

    @abstractmethod
    def read(self) -> tuple[Images, Images]:
        """Return what is in the files: images to learn from and images to test on."""

    @cached_property
    def _sources(self) -> list[bytes]:
        return [hashlib.sha256(file.read_bytes()).digest() for file in self.files()]

    def sources(self) -> list[bytes]:
        """Return hashes of the files."""
        return self._sources

    def describe(self) -> str:
        """Say in a line what is trained on what."""
        split = f"{CHOSEN_BY:,} of the training images to choose by, the files' own test images"
        place = self.data_dir or "a folder of yours (--data-dir)"
        return f"{self.title} from {place}: {split}; {self.architecture()}; {self.course()}"

    def load(self) -> Data:
        """Return the images as rows of numbers, standardised by those that are learnt from."""
        from ..data import classified, split, standardised

        learn, test = self.read()
        share = min(CHOSEN_BY, len(learn.labels) // 5) / len(learn.labels)
        train, validation = split(learn.labels, share)
        first, *others = standardised(learn.pixels[train], learn.pixels[validation], test.pixels)
        labels = (learn.labels[train], learn.labels[validation], test.labels)
        return classified((first, others[0], others[1]), labels, 10)


@dataclass(frozen=True)
class Mnist(ImageTask):
    """Handwritten digits in IDX files."""

    name: ClassVar[str] = "mnist"
    title: ClassVar[str] = "MNIST"

    def files(self) -> list[Path]:
        """Return the four IDX files."""
        return idx_files(self.folder())

    def read(self) -> tuple[Images, Images]:
        """Return what is in the IDX files."""
        files = self.files()
        return read_idx_pair(*files[:2]), read_idx_pair(*files[2:])


@dataclass(frozen=True)
class FashionMnist(Mnist):
    """Clothes in the files of MNIST."""

    name: ClassVar[str] = "fashion-mnist"
    title: ClassVar[str] = "Fashion-MNIST"


@dataclass(frozen=True)
class Cifar10(ImageTask):
    """Small photographs in CIFAR-10's Python batches."""

    name: ClassVar[str] = "cifar10"
    title: ClassVar[str] = "CIFAR-10"

    def files(self) -> list[Path]:
        """Return the six batches."""
        return batch_files(self.folder())

    def read(self) -> tuple[Images, Images]:
        """Return what is in the batches."""
        *learn, test = [read_batch(file) for file in self.files()]
        return together(learn), test
