"""softgate: activation functions, exact and fast, written once and lowered everywhere.

Everything is loaded when it is first asked for, so that `import softgate` costs next to nothing and
the command line answers at once.

Examples
--------
>>> import softgate as sg
>>> sg.relu([-1.0, 2.0])
array([0., 2.])
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any

from .forks import BUILDING as _BUILDING

if TYPE_CHECKING:
    from ._activation import Activation as Activation
    from ._bench import bench as bench
    from ._certify import certify as certify
    from ._compare import compare as compare
    from ._emit import emit as emit
    from ._explain import explain as explain
    from ._formula import activation as activation
    from ._identify import identify as identify
    from ._names import get as get
    from ._names import names as names
    from ._plot import plot as plot
    from ._properties import properties as properties
    from ._report import report as report
    from ._table import table as table
    from .graph import FormulaError as FormulaError
    from .registry import activations as activations
    from .registry import gated as gated
    from .reproducibility import check_bits as check_bits
    from .threads import get_threads as get_threads
    from .threads import set_threads as set_threads

__version__ = "0.1.0"

_HOMES = {
    "Activation": "_activation",
    "FormulaError": "graph",
    "activation": "_formula",
    "activations": "registry",
    "bench": "_bench",
    "certify": "_certify",
    "check_bits": "reproducibility",
    "compare": "_compare",
    "emit": "_emit",
    "explain": "_explain",
    "gated": "registry",
    "get": "_names",
    "identify": "_identify",
    "names": "_names",
    "plot": "_plot",
    "get_threads": "threads",
    "properties": "_properties",
    "report": "_report",
    "set_threads": "threads",
    "table": "_table",
}
"""The module that each public name but the activations' comes from."""


_FACADES = frozenset({"jax", "keras", "torch"})
"""Modules for a framework, imported when they are first asked for: `sg.torch`."""


@cache
def _modules() -> frozenset[str]:
    return frozenset(module.name for module in iter_modules(__path__))


def __getattr__(name: str) -> Any:
    """Return what is public and not loaded yet: a function, a class, an activation."""
    with _BUILDING:
        return _load(name)


def _load(name: str) -> Any:
    if name == "__all__":
        return __dir__()
    if name in _FACADES:
        return import_module(f".{name}", __name__)
    if name in _HOMES:
        found = getattr(import_module(f".{_HOMES[name]}", __name__), name)
    elif name.startswith("_") or name in _modules():
        # Python asks before it imports a module; what comes of that must not depend on the answer.
        raise AttributeError(f"softgate has no {name!r}")
    else:
        from .registry import activations, gated

        known: dict[str, Any] = {**activations(), **gated()}
        if name not in known:
            raise AttributeError(f"softgate has no {name!r}; activations: {', '.join(known)}")
        found = known[name]
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    from .registry import activations, gated

    return sorted([*_HOMES, *activations(), *gated()])
