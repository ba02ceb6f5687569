"""A hash of what a function does: its code, and that of all its own parts, not where it stands.

Code in the bytes of a pickle would change with line numbers, file names and the order of sets, and
every run would begin anew. What comes from an installed package counts by its name and version.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import pickle
import sysconfig
import types
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as distribution_version
from pathlib import Path
from typing import Any

import numpy as np

from softgate.runtime import machine

INSTALLED = {Path(path).resolve() for path in sysconfig.get_paths().values()}
PACKAGE = Path(__file__).parents[2]


def codeprint(thing: Any) -> str:
    """Return a hash of a function, or of anything else that `build` needs.

    Examples
    --------
    >>> codeprint(lambda x: x + 1) == codeprint(lambda x: x + 1)
    True
    >>> codeprint(lambda x: x + 1) == codeprint(lambda x: x + 2)
    False
    """
    return Walk().hash(thing)


class Walk:
    """What has been seen: functions may call each other."""

    def __init__(self) -> None:
        self._seen: dict[int, int] = {}
        self._kept: list[Any] = []
        """Else an object's identity could be that of another one before it."""

    def hash(self, thing: Any) -> str:
        """Return a hash of one thing."""
        found = hashlib.sha256()
        for part in self._parts(thing):
            found.update(part if isinstance(part, bytes) else part.encode())
            found.update(b"\0")
        return found.hexdigest()

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
        if id(thing) in self._seen:
            return ["again", str(self._seen[id(thing)])]
        self._seen[id(thing)] = len(self._seen)
        self._kept.append(thing)
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
        """Return what a compiler made, without where it stood."""
        names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
        counts = (code.co_argcount, code.co_kwonlyargcount, code.co_posonlyargcount, code.co_flags)
        return ["code", code.co_code, self.hash(code.co_consts), repr(names), repr(counts)]

    def _function(self, function: types.FunctionType) -> Iterable[str | bytes]:
        read = inspect.getclosurevars(function)
        around = {**read.globals, **read.nonlocals}
        inner = _inner_globals(function.__code__, function.__globals__)
        return [
            "function",
            self.hash(function.__code__),
            self.hash(function.__defaults__),
            self.hash(function.__kwdefaults__),
            *(self.hash((name, value)) for name, value in sorted({**inner, **around}.items())),
        ]

    def _class(self, kind: Any) -> Iterable[str | bytes]:
        own = {
            name: value
            for name, value in vars(kind).items()
            if name not in ("__dict__", "__weakref__", "__module__", "__doc__", "__firstlineno__")
        }
        plain = {n: getattr(v, "__func__", getattr(v, "fget", None)) or v for n, v in own.items()}
        return ["class", self.hash(kind.__bases__), *(self.hash(p) for p in sorted_items(plain))]

    def _instance(self, thing: Any) -> Iterable[str | bytes]:
        parts = ["instance", self.hash(type(thing))]
        if getattr(thing, "__dict__", None):
            return [*parts, self.hash(vars(thing))]
        try:
            return [*parts, pickle.dumps(thing, protocol=4)]
        # What an object of a user's does when it is pickled is its own business.
        except Exception:
            return [*parts, repr(thing)]


def sorted_items(given: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Return names and values in the order of names: values need not be comparable."""
    return sorted(given.items(), key=lambda pair: pair[0])


def installed(thing: Any) -> bool:
    """Tell whether code comes with a package, Python's or softgate's too: by its version then."""
    if "<" in thing.__qualname__:  # a lambda, a function in a function: no name leads there
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
    """Return the version of the package that a module belongs to, or nothing."""
    return machine.installed(module.partition(".")[0]) or ""


def _inner_globals(code: types.CodeType, known: Mapping[str, Any]) -> dict[str, Any]:
    """Return the globals that functions inside a function read, which no closure shows."""
    found = {name: known[name] for name in code.co_names if name in known}
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            found |= _inner_globals(constant, known)
    return found


def _array(thing: Any) -> Any:
    """Return an array or a tensor as NumPy's, or None."""
    if isinstance(thing, np.ndarray) and thing.dtype != object:
        return thing
    if hasattr(thing, "detach") and hasattr(thing, "numpy"):
        return np.asarray(thing.detach().cpu().float().numpy())
    return None


FOLDERS = (
    "formula", "blocks", "catalogue", "lower", "runtime", "frameworks/torch", "torch",
    "studies/diagnose", "studies/properties",
)  # fmt: skip
"""Packages whose code takes part in a trial."""
COMPARE = (
    "data", "functions", "models", "training", "user_model", "scripts", "tasks/*",
)  # fmt: skip
"""Modules of `studies.compare` that take part in a trial."""
DISTRIBUTIONS = {"sklearn": "scikit-learn"}


@cache
def code() -> str:
    """Return a hash of the source that computes."""
    files = list((PACKAGE / "frameworks").glob("*.py"))
    for folder in FOLDERS:
        files += (PACKAGE / folder).rglob("*.py")
    for name in COMPARE:
        files += (PACKAGE / "studies" / "compare").glob(f"{name}.py")
    found = hashlib.sha256()
    for file in sorted(set(files)):
        found.update(str(file.relative_to(PACKAGE)).encode())
        found.update(hashlib.sha256(file.read_bytes()).digest())
    return found.hexdigest()


def fingerprint(packages: Iterable[str], *sources: bytes) -> str:
    """Return a hash of the code, of packages by their versions, and of what data is made of."""
    found = hashlib.sha256(code().encode())
    for package in sorted({"numpy", "torch", *packages}):
        found.update(f"{package} {_version(package)}\n".encode())
    for source in sources:
        found.update(hashlib.sha256(source).digest())
    return found.hexdigest()[:32]


def _version(package: str) -> str:
    try:
        return distribution_version(DISTRIBUTIONS.get(package, package))
    except PackageNotFoundError:
        return "none"
