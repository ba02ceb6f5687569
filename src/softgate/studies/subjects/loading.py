"""From a description to something that can be called, in whichever process this runs."""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from softgate.runtime.activation import Activation

from .backends.backend import Array, Backend
from .description import FRAMEWORKS, Subject, framework_of, home_of, unpickled
from .failure import RAISED, WRONG_DTYPE, WRONG_RESULT, WRONG_SHAPE, Failure, Mistake

EXTRAS = {"torch": "torch", "jax": "jax", "tensorflow": "keras", "keras": "keras"}


class Loaded:
    """A subject that can be called, its slope taken from a second one where there is one."""

    def __init__(self, value: Backend, slope: Backend | None = None) -> None:
        self.value, self.slope = value, slope

    @property
    def quantities(self) -> tuple[str, ...]:
        """What can be asked for."""
        if self.slope is None:
            return self.value.quantities
        return tuple(q for q in ("value", "slope", "curvature") if q in self._known())

    def _known(self) -> set[str]:
        return {*self.value.quantities, "slope"}

    def call(self, quantity: str, x: Array) -> Array:
        """Return a quantity at `x`, or raise Failure where the subject gives no such array."""
        second = quantity == "slope" and self.slope is not None
        backend = self.slope if second and self.slope is not None else self.value
        try:
            result = backend.call("value" if second else quantity, x)
        except Failure:
            raise
        except Exception as error:  # whatever somebody's function raises is what it did
            raise Failure(RAISED, f"{type(error).__name__}: {_first_line(error)}") from error
        return _checked(result, x)

    def information(self) -> dict[str, Any]:
        """Return what a session knows of its subject."""
        backends = [self.value, *([] if self.slope is None else [self.slope])]
        dtypes = [set(backend.dtypes) for backend in backends if backend.dtypes is not None]
        return {
            "framework": self.value.framework,
            "quantities": list(self.quantities),
            "dtypes": sorted(set.intersection(*dtypes)) if dtypes else None,
            "strides": all(backend.strides for backend in backends),
            "addresses": all(backend.addresses for backend in backends),
            "lengths": all(backend.lengths for backend in backends),
            "versions": {k: v for backend in backends for k, v in backend.versions().items()},
        }


def load(subject: Subject) -> Loaded:
    """Return a subject that can be called; Mistake where there is none."""
    second = None if subject.slope is None else _backend(subject.slope)
    return Loaded(_backend(subject), second)


def _backend(subject: Subject) -> Backend:
    if subject.kind == "softgate":
        from .backends.plain import Ours

        return Ours(_object(subject))
    if subject.kind == "c":
        from .backends.c import C

        return C(subject.place, subject.name)
    if subject.kind == "onnx":
        prepare(subject)
        from .backends.onnx import Onnx

        return Onnx(subject.place, subject.name)
    return _python(subject)


def prepare(subject: Subject) -> None:
    """Import what runs a subject, as far as its description tells, and nothing of the subject."""
    if subject.slope is not None:
        prepare(subject.slope)
    if subject.kind == "onnx":
        try:
            import_module(".backends.onnx", __package__)
        except ModuleNotFoundError as error:
            raise Mistake(f"there is no {error.name} here: pip install 'softgate[onnx]'") from None
    elif subject.kind in ("python", "object"):
        home = home_of(subject.place) if subject.kind == "python" else "numpy"
        adapter(subject.framework or home)


def _python(subject: Subject) -> Backend:
    found = _object(subject)
    if isinstance(found, Activation) and subject.framework in (None, "numpy"):  # a user's formula
        from .backends.plain import Ours

        return Ours(found.bind(**dict(subject.keywords)))
    if not callable(found):
        raise Mistake(f"{subject.text} is a {type(found).__name__}: expected a callable")
    if isinstance(found, type) or _is_factory(found, dict(subject.keywords)):
        function = _made(subject, found)
        found, home = function, str(type(function).__module__)
    else:
        function = partial(found, **dict(subject.keywords)) if subject.keywords else found
        home = str(getattr(found, "__module__", None) or type(found).__module__)
    place = subject.place if subject.kind == "python" else home
    framework = subject.framework or framework_of(found) or home_of(place)
    package = place.partition(".")[0]
    return wrap(function, framework, (package,) if package != "builtins" else ())


def _is_factory(found: Callable[..., Any], keywords: dict[str, Any]) -> bool:
    """Tell whether a Python function needs no array, so that it can only make a callable."""
    if not inspect.isfunction(found):
        return False
    wanted = [p for p in inspect.signature(found).parameters.values() if p.name not in keywords]
    return all(p.default is not p.empty or p.kind is p.VAR_KEYWORD for p in wanted)


def _made(subject: Subject, kind: Callable[..., Any]) -> Any:
    try:
        made = kind(**dict(subject.keywords))
    except Exception as error:  # whatever somebody's class does when it is made
        raise Mistake(
            f"{subject.shown} cannot be made: {type(error).__name__}: {_first_line(error)}"
        ) from None
    if not callable(made):
        raise Mistake(f"{subject.shown} makes a {type(made).__name__}: expected a callable")
    return made


def wrap(function: Callable[..., Any], framework: str, packages: tuple[str, ...] = ()) -> Backend:
    """Return the way to call a function of some framework's arrays."""
    called = adapter(framework)
    return called(function, (*packages, "keras") if framework == "keras" else packages)


def adapter(framework: str) -> Callable[[Callable[..., Any], tuple[str, ...]], Backend]:
    """Return what wraps functions of a framework's arrays; Keras's are those it runs on."""
    try:
        if framework == "keras":
            import keras

            framework = keras.backend.backend()
        if framework == "torch":
            from .backends.torch import Torch

            return Torch
        if framework == "jax":
            from .backends.jax import Jax

            return Jax
        if framework == "tensorflow":
            from .backends.tensorflow import TensorFlow

            return TensorFlow
    except ModuleNotFoundError as error:
        extra = EXTRAS[framework]
        raise Mistake(f"there is no {error.name} here: pip install 'softgate[{extra}]'") from None
    if framework != "numpy":
        raise Mistake(f"arrays of {framework!r} are not known: expected {', '.join(FRAMEWORKS)}")
    from .backends.plain import Plain

    return Plain


def _object(subject: Subject) -> Any:
    if subject.kind in ("object", "softgate"):
        if subject.held is not None:
            return subject.held
        try:
            return unpickled(subject.place)
        except (AttributeError, ImportError) as error:
            raise Mistake(
                f"{subject.text} is not found in a process of its own ({error}): put it into a "
                "module and name it as 'module:function', or run it here with isolated=False"
            ) from None
    found: Any = _imported(subject.place)
    for part in subject.name.split("."):
        if not hasattr(found, part):
            raise Mistake(f"{subject.place} has no {subject.name!r}")
        found = getattr(found, part)
    return found


def _imported(module: str) -> Any:
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not (module + ".").startswith(error.name + "."):
            raise Mistake(f"{module} cannot be imported: {error}") from None
        raise Mistake(f"there is no module {error.name!r} here or on Python's path") from None
    except Exception as error:  # whatever somebody's module does when it is imported
        raise Mistake(
            f"{module} cannot be imported: {place_of(error)}: "
            f"{type(error).__name__}: {_first_line(error)}"
        ) from None


def place_of(error: BaseException) -> str:
    """Return the file and the line of an error; of a syntax error those that cannot be read."""
    if isinstance(error, SyntaxError) and error.filename is not None:
        return f"{error.filename}, line {error.lineno}"
    where = traceback.extract_tb(error.__traceback__)[-1]
    return f"{where.filename}, line {where.lineno}"


def _first_line(error: BaseException) -> str:
    said = error.msg if isinstance(error, SyntaxError) else error  # the place is said apart
    lines = str(said).strip().splitlines()
    return lines[0] if lines else "no message"


def _checked(result: Any, x: Array) -> Array:
    if not isinstance(result, np.ndarray):
        raise Failure(WRONG_RESULT, f"a {type(result).__name__} came back: expected an array")
    if result.dtype != x.dtype:
        raise Failure(WRONG_DTYPE, f"{x.dtype} in, {result.dtype} out")
    if result.shape != x.shape:
        raise Failure(WRONG_SHAPE, f"{x.shape} in, {result.shape} out")
    return result
