"""Optional packages: the extra that installs each, and the error if one is missing or too old.

A function that needs one calls `require` before its work. A module that cannot be imported without
one reports that when it is imported:

    try:
        import jax
    except ModuleNotFoundError as error:
        raise missing("jax", error) from error
    else:
        check("jax", jax.__version__)
"""

from __future__ import annotations

import re
from importlib.util import find_spec
from typing import NamedTuple


class Package(NamedTuple):
    """The name that pip installs, the extra of softgate that has it, and its name in messages.

    `extra` is None if no extra has it; `oldest` is the oldest supported version of a framework.
    """

    distribution: str
    extra: str | None
    label: str
    oldest: tuple[int, int] | None = None


PACKAGES = {
    "torch": Package("torch", "torch", "PyTorch", (2, 4)),
    "jax": Package("jax", "jax", "JAX", (0, 5)),
    "keras": Package("keras", "keras", "Keras", (3, 9)),
    "tensorflow": Package("tensorflow", "tensorflow", "TensorFlow", (2, 18)),
    "onnx": Package("onnx", "onnx", "onnx"),
    "onnxruntime": Package("onnxruntime", "onnx", "onnxruntime"),
    "matplotlib": Package("matplotlib", "plot", "matplotlib"),
    "vl_convert": Package("vl-convert-python", "plot", "vl-convert-python"),
    "cloudpickle": Package("cloudpickle", "compare", "cloudpickle"),
    "filelock": Package("filelock", "compare", "filelock"),
    "mnist1d": Package("mnist1d", "compare", "mnist1d"),
    "sklearn": Package("scikit-learn", "compare", "scikit-learn"),
    "scipy": Package("scipy", "compare", "SciPy"),
    "statsmodels": Package("statsmodels", "compare", "statsmodels"),
    "ray": Package("ray", "ray", "Ray"),
    "triton": Package("triton", "triton", "Triton"),
    "pandas": Package("pandas", None, "pandas"),
    "polars": Package("polars", None, "polars"),
    "safetensors": Package("safetensors", None, "safetensors"),
    "transformers": Package("transformers", None, "transformers"),
}
"""By the name of the import; a test compares them with the extras of pyproject.toml."""
FRAMEWORKS = {name: package for name, package in PACKAGES.items() if package.oldest is not None}


def require(*packages: str, purpose: str, extra: str | None = None) -> None:
    """Raise ImportError if one of `packages` is not installed, with the command that installs it.

    Parameters
    ----------
    *packages : str
        Names of imports.
    purpose : str
        What needs them, the subject of the message.
    extra : str, optional
        An extra that has all of them; by default that of the first that is missing.

    Examples
    --------
    >>> require("pandas_of_mars", purpose="a table")
    Traceback (most recent call last):
    ImportError: a table needs pandas_of_mars: pip install "pandas_of_mars"
    """
    absent = [package for package in packages if not _is_installed(package)]
    if absent:
        raise ImportError(_message(absent, purpose, extra), name=absent[0])


def missing(package: str, error: ModuleNotFoundError, purpose: str = "") -> ImportError:
    """Return the exception to raise if `import package` failed with `error`.

    Examples
    --------
    >>> print(missing("jax", ModuleNotFoundError("No module named 'jax'", name="jax")))
    softgate.jax needs JAX: pip install "softgate[jax]"
    """
    if error.name != package:  # it is installed, but one of its imports failed
        return error
    return ImportError(_message([package], purpose or f"softgate.{package}", None), name=package)


def is_missing(error: ImportError) -> bool:
    """Return whether the error is that an optional package is not installed."""
    package = (error.name or "").partition(".")[0]
    return package in PACKAGES and not _is_installed(package)


def explained(error: ImportError) -> str:
    """Return the message of an error, with the command that installs a package that is missing.

    Examples
    --------
    >>> explained(ModuleNotFoundError("No module named 'ray'", name="ray"))
    'this needs Ray: pip install "softgate[ray]"'
    """
    package = (error.name or "").partition(".")[0]
    if isinstance(error, ModuleNotFoundError) and package in PACKAGES:
        return _message([package], "this", None)
    return str(error)


def install_command(package: str, extra: str | None = None) -> str:
    """Return the command that installs a package."""
    extra = extra or (PACKAGES[package].extra if package in PACKAGES else None)
    name = PACKAGES[package].distribution if package in PACKAGES else package
    return f'pip install "{name if extra is None else f"softgate[{extra}]"}"'


def check(package: str, version: str) -> None:
    """Raise ImportError if the installed `version` of a framework is too old.

    Examples
    --------
    >>> check("jax", "0.4.38")
    Traceback (most recent call last):
    ImportError: softgate needs JAX 0.5 or newer, and 0.4.38 is installed: pip install --upgrade
    "softgate[jax]"
    """
    known = PACKAGES[package]
    numbers = re.match(r"(\d+)\.(\d+)", version)
    if numbers is None or known.oldest is None or tuple(map(int, numbers.groups())) >= known.oldest:
        return  # a version without numbers is a local build
    oldest = ".".join(map(str, known.oldest))
    raise ImportError(
        f"softgate needs {known.label} {oldest} or newer, and {version} is installed: "
        f'pip install --upgrade "softgate[{known.extra}]"',
        name=package,
    )


def _is_installed(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except ModuleNotFoundError:
        return False


def _message(packages: list[str], purpose: str, extra: str | None) -> str:
    labels = [PACKAGES[name].label if name in PACKAGES else name for name in packages]
    return f"{purpose} needs {' and '.join(labels)}: {install_command(packages[0], extra)}"
