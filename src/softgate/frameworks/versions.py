"""Which frameworks softgate works with, from which version on, and how each is installed.

An adapter asks here when it is imported, so that a missing or too old framework is said there and
then, and not in the middle of a call:

    try:
        import jax
    except ModuleNotFoundError as error:
        raise missing("jax", error) from error
    else:
        check("jax", jax.__version__)
"""

from __future__ import annotations

import re
from typing import NamedTuple


class Framework(NamedTuple):
    """A framework's name to readers, the oldest version that serves, and what pip installs."""

    label: str
    oldest: tuple[int, int]
    install: str


FRAMEWORKS = {
    "torch": Framework("PyTorch", (2, 4), "softgate[torch]"),
    "jax": Framework("JAX", (0, 5), "softgate[jax]"),
    "keras": Framework("Keras", (3, 9), "softgate[keras]"),
    "tensorflow": Framework("TensorFlow", (2, 18), "softgate[tensorflow]"),
}
"""By the name of the package; a test holds the versions to those of the extras."""


def missing(package: str, error: ModuleNotFoundError) -> ImportError:
    """Return what to raise where `import package` failed with `error`.

    Examples
    --------
    >>> print(missing("jax", ModuleNotFoundError("No module named 'jax'", name="jax")))
    softgate.jax needs JAX: pip install "softgate[jax]"
    """
    if error.name != package:  # it is there, and lacks something itself
        return error
    known = FRAMEWORKS[package]
    command = f'pip install "{known.install}"'
    return ImportError(f"softgate.{package} needs {known.label}: {command}", name=package)


def check(package: str, version: str) -> None:
    """Raise ImportError where the installed `version` is too old.

    Examples
    --------
    >>> check("jax", "0.4.38")
    Traceback (most recent call last):
    ImportError: softgate needs JAX 0.5 or newer, and 0.4.38 is installed: pip install --upgrade
    "softgate[jax]"
    """
    known = FRAMEWORKS[package]
    found = re.match(r"(\d+)\.(\d+)", version)
    if found is None or tuple(map(int, found.groups())) >= known.oldest:
        return  # a version that is no number is somebody's own build
    oldest = ".".join(map(str, known.oldest))
    raise ImportError(
        f"softgate needs {known.label} {oldest} or newer, and {version} is installed: "
        f'pip install --upgrade "{known.install}"',
        name=package,
    )
