"""Private names of frameworks: each is looked up once, checked, and replaced if it differs.

A framework may remove or change a private name in any release. A capability is what an adapter
builds on such names, in its `private.py`. A missing or changed name costs speed, and a line in
`sg.explain` and `softgate doctor`; never an import, never a wrong result:

    @capability("torch", "torch._C._is_tracing", cost="…", otherwise=lambda: True)
    def is_tracing(found: Callable[[], bool]) -> Callable[[], bool]:
        if found():
            raise Changed("it returns True outside of a trace")
        return found

`is_tracing.get()` is then what the function returns, or `otherwise`, which uses public names only.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Changed(Exception):
    """Raised by a check: a private name has another meaning than the one that softgate uses."""


@dataclass(eq=False)
class Capability(Generic[T]):
    """What is built on private names of a framework, and what replaces it without them."""

    framework: str
    names: tuple[str, ...]
    """The private names, dotted, beginning with the framework."""
    cost: str
    """What is slower without them."""
    build: Callable[..., T]
    """Returns the object of these names to be used, after checking them; raises if one differs."""
    otherwise: T
    imported: bool = True
    """Whether what the names refer to is passed to `build`; if not, it looks for it by itself."""
    _result: tuple[T, str] | None = field(default=None, init=False)
    """The object in use and why it is `otherwise`, set by the first use."""

    @property
    def name(self) -> str:
        """The name of the function that builds it."""
        return self.build.__name__

    def get(self) -> T:
        """Return what is built on the private names, or `otherwise` if they cannot be used."""
        result = self._result
        return (self._look_up() if result is None else result)[0]

    @property
    def reason(self) -> str:
        """Why the private names are not used, one line; empty if they are."""
        return self._look_up()[1]

    def _look_up(self) -> tuple[T, str]:
        if self._result is None:  # an interrupt leaves it so, and the next use looks up again
            try:
                with warnings.catch_warnings(action="ignore"):  # a user's filter may raise them
                    objects = map(find, self.names) if self.imported else ()
                    self._result = self.build(*objects), ""
            except Exception as error:
                version = getattr(sys.modules.get(self.framework), "__version__", "")
                kind = "" if isinstance(error, Changed) else f"{type(error).__name__}: "
                why = " ".join(f"{kind}{error}".split())
                others = f" and {len(self.names) - 1} others" if self.names[1:] else ""
                what = f"{self.names[0]}{others} of {self.framework} {version}"
                reason = f"{what} cannot be used ({why})"
                self._result = self.otherwise, reason
        return self._result

    def __str__(self) -> str:
        return f"{self.reason}: {self.cost}" if self.reason else f"{', '.join(self.names)}: in use"


CAPABILITIES: dict[str, dict[str, Capability[Any]]] = {}
"""All that have been defined, by framework and name."""


def capability(
    framework: str, *names: str, cost: str, otherwise: Any, imported: bool = True
) -> Callable[[Callable[..., T]], Capability[T]]:
    """Return a decorator: a function of what the names refer to becomes a `Capability`."""

    def define(build: Callable[..., T]) -> Capability[T]:
        defined = Capability(framework, names, cost, build, otherwise, imported)
        CAPABILITIES.setdefault(framework, {})[defined.name] = defined
        return defined

    return define


def find(name: str) -> Any:
    """Return what a dotted name refers to, a module or an attribute; raise if there is none."""
    path, *parts = name.split(".")
    target: Any = import_module(path)
    for part in parts:
        path = f"{path}.{part}"
        target = getattr(target, part) if hasattr(target, part) else _imported(path)
    return target


def _imported(path: str) -> Any:
    try:
        return import_module(path)
    except ModuleNotFoundError as error:
        if error.name != path:
            raise
        raise Changed(f"there is no {path}") from None


def report(framework: str) -> None:
    """Print how many capabilities of a framework there are and a line for each that is missing."""
    import_module(f"softgate.frameworks.{framework}")
    lines = [str(each) for each in missing(framework)]
    sys.stdout.write(f"{json.dumps([len(CAPABILITIES.get(framework, {})), lines])}\n")


def missing(framework: str) -> list[Capability[Any]]:
    """Return the capabilities of a framework that cannot be used; its adapter defines them."""
    return [each for each in CAPABILITIES.get(framework, {}).values() if each.reason]
