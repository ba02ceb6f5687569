"""MNIST, Fashion-MNIST and CIFAR-10 from a folder that the user has; nothing is downloaded."""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from .options import Option
from .task import Task, usual

if TYPE_CHECKING:
    from ..data import Data
    from .image_files import Images

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
        from .image_files import idx_files

        return idx_files(self.folder())

    def read(self) -> tuple[Images, Images]:
        """Return what is in the IDX files."""
        from .image_files import read_idx_pair

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
        from .image_files import batch_files

        return batch_files(self.folder())

    def read(self) -> tuple[Images, Images]:
        """Return what is in the batches."""
        from .image_files import read_batch, together

        *learn, test = [read_batch(file) for file in self.files()]
        return together(learn), test
