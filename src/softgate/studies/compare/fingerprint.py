"""Fingerprints of code, data and versions: the part of a trial's key that its settings do not hold.

The sources of softgate's modules that affect a trial are hashed, not only the version: a changed
kernel or model gives new trials. Modules that only show or store results are not hashed.

A user's functions are hashed by their bytecode and all that they refer to. Their pickles would
change with line numbers, file names and set order. Packages are hashed by name and version.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import pickle
import sysconfig
import types
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from softgate.runtime import machine

INSTALLED = {Path(path).resolve() for path in sysconfig.get_paths().values()}
PACKAGE = Path(__file__).parents[2]
SOURCES = (
    "formula/**/*", "blocks/**/*", "catalogue/**/*", "lower/**/*", "records/**/*", "runtime/**/*",
    "frameworks/*", "frameworks/torch/**/*", "torch/**/*",
    "studies/models/**/*", "studies/diagnose/**/*", "studies/properties/**/*",
    "studies/compare/splits", "studies/compare/trial_functions", "studies/compare/models",
    "studies/compare/training", "studies/compare/user_model", "studies/compare/scripts",
    "studies/compare/tasks/*", "studies/compare/execution/run_trial",
)  # fmt: skip
"""Patterns of the modules that affect trials, relative to the package and without a suffix."""
SUFFIXES = ("py", "toml", "ll")
"""Of sources: Python, coefficients and names, compiled C."""
DISTRIBUTIONS = {"sklearn": "scikit-learn"}
SEPARATOR = "-"
"""Between the hash of softgate's code and that of data and packages."""


@functools.cache
def code() -> str:
    """Return a hash of softgate's source files that affect trials."""
    files: set[Path] = set()
    for pattern in SOURCES:
        matches = {file for suffix in SUFFIXES for file in PACKAGE.glob(f"{pattern}.{suffix}")}
        if not matches:
            raise FileNotFoundError(
                f"fingerprint.SOURCES has {pattern!r}, which matches no module in {PACKAGE}; "
                "name an existing module, whose changes shall give new trials"
            )
        files |= matches
    digest = hashlib.sha256()
    for file in sorted(files):
        digest.update(str(file.relative_to(PACKAGE)).encode())
        digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()


def fingerprint(packages: Iterable[str], *content: bytes) -> str:
    """Return a hash of softgate's code, and one of package versions and the content given."""
    digest = hashlib.sha256()
    for package in sorted({"numpy", "torch", *packages}):
        installed_version = machine.installed(DISTRIBUTIONS.get(package, package)) or "none"
        digest.update(f"{package} {installed_version}\n".encode())
    for part in content:
        digest.update(hashlib.sha256(part).digest())
    return f"{code()[:16]}{SEPARATOR}{digest.hexdigest()[:16]}"


def same_code(first: str, second: str) -> bool:
    """Return whether two fingerprints have the same hash of softgate's code.

    A fingerprint without a separator was written by an earlier version.

    Examples
    --------
    >>> same_code("12ab-34cd", "12ab-56ef"), same_code("12ab-34cd", "12ab34cd")
    (True, False)
    """
    return SEPARATOR in first and first.partition(SEPARATOR)[0] == second.partition(SEPARATOR)[0]


def function_hash(thing: Any) -> str:
    """Return a hash of a function, or of any other object that it refers to.

    Examples
    --------
    >>> function_hash(lambda x: x + 1) == function_hash(lambda x: x + 1)
    True
    >>> function_hash(lambda x: x + 1) == function_hash(lambda x: x + 2)
    False
    """
    return FunctionHasher().hash(thing)


class FunctionHasher:
    """Hashes objects recursively; for a repeated object its index of first occurrence."""

    def __init__(self) -> None:
        self._numbers: dict[int, int] = {}
        self._alive: list[Any] = []
        """Keeps objects alive, so that no id is reused."""

    def hash(self, thing: Any) -> str:
        """Return a hash of an object."""
        digest = hashlib.sha256()
        for part in self._parts(thing):
            digest.update(part if isinstance(part, bytes) else part.encode())
            digest.update(b"\0")
        return digest.hexdigest()

    def _parts(self, thing: Any) -> Iterable[str | bytes]:
        if thing is None or isinstance(thing, bool | int | float | complex | str | bytes):
            return [type(thing).__name__, repr(thing)]
        if isinstance(thing, types.CodeType):
            return self._code(thing)
        if isinstance(thing, tuple | list):
            return [type(thing).__name__, *map(self.hash, thing)]
        if isinstance(thing, set | frozenset):
            return [type(thing).__name__, *sorted(map(self.hash, thing))]
        if isinstance(thing, Mapping):
            return ["mapping", *(self.hash(pair) for pair in thing.items())]
        if id(thing) in self._numbers:
            return ["again", str(self._numbers[id(thing)])]
        self._numbers[id(thing)] = len(self._numbers)
        self._alive.append(thing)
        return self._object(thing)

    def _object(self, thing: Any) -> Iterable[str | bytes]:
        if isinstance(thing, types.ModuleType):
            return ["module", thing.__name__, version(thing.__name__)]
        if isinstance(thing, types.MethodType):
            return ["method", self.hash(thing.__func__), self.hash(thing.__self__)]
        if isinstance(thing, functools.partial):
            return ["partial", *map(self.hash, (thing.func, thing.args, thing.keywords))]
        if isinstance(thing, types.FunctionType | type):
            if installed(thing):
                return ["named", thing.__module__, thing.__qualname__, version(thing.__module__)]
            return self._function(thing) if inspect.isfunction(thing) else self._class(thing)
        array = _array(thing)
        if array is not None:
            return ["array", str(array.dtype), str(array.shape), array.tobytes()]
        return self._instance(thing)

    def _code(self, code: types.CodeType) -> Iterable[str | bytes]:
        """Return bytecode, constants and names, without file and line numbers."""
        names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
        counts = (code.co_argcount, code.co_kwonlyargcount, code.co_posonlyargcount, code.co_flags)
        return ["code", code.co_code, self.hash(code.co_consts), repr(names), repr(counts)]

    def _function(self, function: types.FunctionType) -> Iterable[str | bytes]:
        closure = inspect.getclosurevars(function)
        names = {
            **_inner_globals(function.__code__, function.__globals__),
            **closure.globals,
            **closure.nonlocals,
        }
        return [
            "function",
            self.hash(function.__code__),
            self.hash(function.__defaults__),
            self.hash(function.__kwdefaults__),
            *(self.hash((name, value)) for name, value in sorted_items(names)),
        ]

    def _class(self, kind: Any) -> Iterable[str | bytes]:
        attributes = {
            name: getattr(value, "__func__", getattr(value, "fget", None)) or value
            for name, value in vars(kind).items()
            if name not in ("__dict__", "__weakref__", "__module__", "__doc__", "__firstlineno__")
        }
        return ["class", self.hash(kind.__bases__), *map(self.hash, sorted_items(attributes))]

    def _instance(self, thing: Any) -> Iterable[str | bytes]:
        parts = ["instance", self.hash(type(thing))]
        if getattr(thing, "__dict__", None):
            return [*parts, self.hash(vars(thing))]
        try:
            return [*parts, pickle.dumps(thing, protocol=4)]
        # Pickling a user's object can raise anything.
        except Exception:
            return [*parts, repr(thing)]


def sorted_items(mapping: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Return names and values sorted by name; values need not be comparable."""
    return sorted(mapping.items(), key=lambda pair: pair[0])


def installed(thing: Any) -> bool:
    """Return whether code belongs to an installed package, to Python or to softgate."""
    if "<" in thing.__qualname__:  # a lambda or a local function cannot be imported by name
        return False
    module = inspect.getmodule(thing)
    file = getattr(module, "__file__", None)
    if module is None or getattr(thing, "__module__", None) == "__main__":
        return False
    if file is None:
        return module.__name__ != "__main__" and not hasattr(thing, "__code__")
    parents = Path(file).resolve().parents
    return PACKAGE in parents or any(place in parents for place in INSTALLED)


@functools.cache
def version(module: str) -> str:
    """Return the version of the package that a module belongs to, or an empty string."""
    return machine.installed(module.partition(".")[0]) or ""


def _inner_globals(code: types.CodeType, module_globals: Mapping[str, Any]) -> dict[str, Any]:
    """Return the globals read by nested functions, which `getclosurevars` omits."""
    names = {name: module_globals[name] for name in code.co_names if name in module_globals}
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= _inner_globals(constant, module_globals)
    return names


def _array(thing: Any) -> Any:
    """Return an array or tensor as a NumPy array, or None for other objects."""
    if isinstance(thing, np.ndarray) and thing.dtype != object:
        return thing
    if hasattr(thing, "detach") and hasattr(thing, "numpy"):
        return np.asarray(thing.detach().cpu().float().numpy())
    return None
