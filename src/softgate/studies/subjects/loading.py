"""Loads described subjects, in this process or in a worker."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from softgate.records.packages import PACKAGES, explained, require
from softgate.records.text import a_type, first_line
from softgate.runtime.activation import Activation

from . import user_code
from .backends import BACKENDS, Array, CBackend, NumPyBackend, SoftgateBackend, SubjectBackend
from .description import (
    FRAMEWORKS,
    RAISED,
    WRONG_DTYPE,
    WRONG_RESULT,
    WRONG_SHAPE,
    InvalidSubjectError,
    Subject,
    SubjectFailure,
    framework_of,
    home_of,
    imported_frameworks,
    unpickled,
)

TRIED = (-1.5, 0.25, 2.0)
"""Inputs with which code is called to find the framework whose arrays it accepts."""


class LoadedSubject:
    """A subject that can be called; a second backend, if any, computes the slope."""

    def __init__(self, value: SubjectBackend, slope: SubjectBackend | None = None) -> None:
        self.value, self.slope = value, slope

    @property
    def quantities(self) -> tuple[str, ...]:
        """The quantities that it can compute."""
        known = {*self.value.quantities, *(() if self.slope is None else ("slope",))}
        return tuple(name for name in ("value", "slope", "curvature") if name in known)

    def call(self, quantity: str, x: Array) -> Array:
        """Return a quantity at `x`; raise SubjectFailure if it raises or the result is unusable."""
        second = quantity == "slope" and self.slope is not None
        backend = self.slope if second and self.slope is not None else self.value
        try:
            result = backend.call("value" if second else quantity, x)
        except SubjectFailure:
            raise
        except Exception as error:  # a foreign function may raise anything
            raise SubjectFailure(RAISED, f"{type(error).__name__}: {first_line(error)}") from error
        return _checked(result, x)

    def information(self) -> dict[str, Any]:
        """Return the fields of a session's `Information`."""
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


def load(subject: Subject) -> LoadedSubject:
    """Return a subject that can be called; raise InvalidSubjectError if it cannot be loaded."""
    slope = None if subject.slope is None else _backend(subject.slope)
    return LoadedSubject(_backend(subject), slope)


def _backend(subject: Subject) -> SubjectBackend:
    if subject.kind == "softgate":
        return SoftgateBackend(_object(subject))
    if subject.kind == "c":
        return CBackend(subject.place, subject.name)
    if subject.kind == "onnx":
        prepare(subject)
        from .onnx_backend import OnnxBackend

        return OnnxBackend(subject.place, subject.name)
    return _python(subject)


def prepare(subject: Subject) -> None:
    """Import the framework that a subject's description names."""
    if subject.slope is not None:
        prepare(subject.slope)
    if subject.kind == "onnx":
        try:
            require("onnx", "onnxruntime", purpose="an ONNX model")
        except ImportError as error:
            raise InvalidSubjectError(str(error)) from None
        import_module(".onnx_backend", __package__)
    elif subject.kind in ("python", "object"):
        home = home_of(subject.place) if subject.kind == "python" else None
        adapter(subject.framework or home or "numpy")


def _python(subject: Subject) -> SubjectBackend:
    target = _object(subject)
    keywords = dict(subject.keywords)
    in_module = subject.kind == "python" and not subject.place.endswith(".py")
    named = subject.framework or (home_of(subject.place) if in_module else None)
    if isinstance(target, Activation) and named in (None, "numpy"):  # a user's formula
        return SoftgateBackend(target.bind(**keywords))
    if not callable(target):
        raise InvalidSubjectError(f"{subject.text} is {a_type(target)}: expected a callable")
    if isinstance(target, type) or _is_factory(target, keywords):
        function = _instance(subject, target)
        target, home = function, str(type(function).__module__)
    else:
        function = partial(target, **keywords) if keywords else target
        home = str(getattr(target, "__module__", None) or type(target).__module__)
    package = (subject.place if in_module else home).partition(".")[0]
    packages = (package,) if package != "builtins" else ()
    framework = named or framework_of(target) or home_of(package)
    if framework is not None:
        return wrap(function, framework, packages)
    return _accepted(function, imported_frameworks(target), packages)


def _accepted(
    function: Callable[..., Any], frameworks: list[str], packages: tuple[str, ...]
) -> SubjectBackend:
    """Return the backend of NumPy, or of the first framework whose arrays a function accepts.

    The errors of a function that accepts none are those of the first framework.
    """
    if not frameworks:
        return wrap(function, "numpy", packages)
    for framework in ("numpy", *frameworks):
        backend = wrap(function, framework, packages)
        try:
            LoadedSubject(backend).call("value", np.array(TRIED, np.float32))
        except SubjectFailure as failure:
            if failure.kind != WRONG_DTYPE:  # a finding, not a refusal of the arrays
                continue
        return backend
    return wrap(function, frameworks[0], packages)


def _is_factory(function: Callable[..., Any], keywords: dict[str, Any]) -> bool:
    """Return whether a Python function takes no array, so that it must return a callable."""
    if not inspect.isfunction(function):
        return False
    wanted = [p for p in inspect.signature(function).parameters.values() if p.name not in keywords]
    return all(p.default is not p.empty or p.kind is p.VAR_KEYWORD for p in wanted)


def _instance(subject: Subject, factory: Callable[..., Any]) -> Any:
    try:
        instance = factory(**dict(subject.keywords))
    except Exception as error:  # a foreign class may raise anything
        raise InvalidSubjectError(
            f"{subject.shown} cannot be made: {type(error).__name__}: {first_line(error)}"
        ) from None
    if not callable(instance):
        raise InvalidSubjectError(f"{subject.shown} makes {a_type(instance)}: expected a callable")
    return instance


def wrap(
    function: Callable[..., Any], framework: str, packages: tuple[str, ...] = ()
) -> SubjectBackend:
    """Return the backend of a function of a framework's arrays."""
    backend = adapter(framework)
    return backend(function, (*packages, "keras") if framework == "keras" else packages)


def adapter(framework: str) -> type[NumPyBackend]:
    """Return the backend class of a framework; for Keras, that of its backend."""
    try:
        if framework in PACKAGES:
            require(framework, purpose=f"a function of {PACKAGES[framework].label}")
        if framework == "keras":
            import keras

            framework = keras.backend.backend()
        if framework in BACKENDS:
            import_module(framework)
            return BACKENDS[framework]
    except ImportError as error:
        raise InvalidSubjectError(explained(error)) from None
    raise InvalidSubjectError(f"framework {framework!r}: expected one of {', '.join(FRAMEWORKS)}")


def _object(subject: Subject) -> Any:
    if subject.kind in ("object", "softgate"):
        if subject.held is not None:
            return subject.held
        try:
            return unpickled(subject.place)
        except (AttributeError, ImportError) as error:
            raise InvalidSubjectError(
                f"{subject.text} is not found in a worker process ({error}): put it into a module "
                "and name it as 'module:function', or run it here with isolated=False"
            ) from None
    try:
        return user_code.load(subject.place, subject.name)
    except ValueError as error:
        raise InvalidSubjectError(str(error)) from None


def _checked(result: Any, x: Array) -> Array:
    if not isinstance(result, np.ndarray):
        raise SubjectFailure(WRONG_RESULT, f"returned {a_type(result)}: expected an array")
    if result.dtype != x.dtype:
        raise SubjectFailure(WRONG_DTYPE, f"{x.dtype} in, {result.dtype} out")
    if result.shape != x.shape:
        raise SubjectFailure(WRONG_SHAPE, f"{x.shape} in, {result.shape} out")
    return result
