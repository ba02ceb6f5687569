"""The supported frameworks, their oldest versions, and how each is installed.

An adapter checks this when it is imported, so that a missing or outdated framework is reported
then, not during a call:

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
    """A framework's name, the oldest supported version, and what pip installs."""

    label: str
    oldest: tuple[int, int]
    install: str


FRAMEWORKS = {
    "torch": Framework("PyTorch", (2, 4), "softgate[torch]"),
    "jax": Framework("JAX", (0, 5), "softgate[jax]"),
    "keras": Framework("Keras", (3, 9), "softgate[keras]"),
    "tensorflow": Framework("TensorFlow", (2, 18), "softgate[tensorflow]"),
}
"""By package name; a test compares the versions with those of the extras."""


def missing(package: str, error: ModuleNotFoundError) -> ImportError:
    """Return the exception to raise if `import package` failed with `error`.

    Examples
    --------
    >>> print(missing("jax", ModuleNotFoundError("No module named 'jax'", name="jax")))
    softgate.jax needs JAX: pip install "softgate[jax]"
    """
    if error.name != package:  # it is installed, but one of its imports failed
        return error
    known = FRAMEWORKS[package]
    command = f'pip install "{known.install}"'
    return ImportError(f"softgate.{package} needs {known.label}: {command}", name=package)


def check(package: str, version: str) -> None:
    """Raise ImportError if the installed `version` is too old.

    Examples
    --------
    >>> check("jax", "0.4.38")
    Traceback (most recent call last):
    ImportError: softgate needs JAX 0.5 or newer, and 0.4.38 is installed: pip install --upgrade
    "softgate[jax]"
    """
    known = FRAMEWORKS[package]
    numbers = re.match(r"(\d+)\.(\d+)", version)
    if numbers is None or tuple(map(int, numbers.groups())) >= known.oldest:
        return  # a version without numbers is a local build
    oldest = ".".join(map(str, known.oldest))
    raise ImportError(
        f"softgate needs {known.label} {oldest} or newer, and {version} is installed: "
        f'pip install --upgrade "{known.install}"',
        name=package,
    )
