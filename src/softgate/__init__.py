"""softgate: accurate and fast activation functions from one definition, for every framework.

Names are loaded on first use, so that `import softgate` and the command line start quickly. Their
types are in `__init__.pyi`, which `make stubs` writes.

Examples
--------
>>> import softgate as sg
>>> sg.relu([-1.0, 2.0])
array([0., 2.])
"""

from __future__ import annotations

import sys

# While Python locates the module of `python -m softgate`, the current folder is first on the path.
# It becomes the last here, before any other import, so that its files shadow no module.
if (
    sys.argv[:1] == ["-m"]
    and not sys.flags.safe_path
    and any(option in " ".join(sys.orig_argv) for option in ("-m softgate", "-msoftgate"))
):
    sys.path.append(sys.path.pop(0))

from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from .lower.fork_lock import BUILDING as _BUILDING

__version__ = "0.2.0.dev0"

_MODULES = {
    "Activation": "runtime.activation",
    "FormulaError": "formula.graph",
    "activation": "runtime.user_formula",
    "activations": "runtime.registry",
    "bench": "studies.bench",
    "certify": "studies.certify",
    "check_bits": "studies.reproducibility",
    "compare": "studies.compare",
    "emit": "studies.emit",
    "explain": "runtime.explain",
    "gated": "runtime.registry",
    "get": "runtime.lookup",
    "identify": "studies.identify",
    "names": "studies.names",
    "parity": "studies.parity",
    "plot": "plotting.plot",
    "get_threads": "runtime.threads",
    "properties": "studies.properties",
    "quantized": "studies.quantized",
    "report": "reporting",
    "scan": "studies.scan",
    "set_threads": "runtime.threads",
    "swap": "studies.swap.onnx_model",
    "table": "studies.table",
}
"""The module of each public name, except activations."""

_FACADES = frozenset({"jax", "keras", "torch"})
"""Framework modules, imported on first use: `sg.torch`."""


@cache
def _submodules() -> frozenset[str]:
    return frozenset(module.name for module in iter_modules(__path__))


def __getattr__(name: str) -> Any:
    """Return a public name on first use: a function, a class, an activation."""
    with _BUILDING:
        return _load(name)


def _load(name: str) -> Any:
    if name == "__all__":
        return __dir__()
    if name in _FACADES:
        return import_module(f".{name}", __name__)
    if name in _MODULES:
        value = getattr(import_module(f".{_MODULES[name]}", __name__), name)
    elif name.startswith("_") or name in _submodules():
        # Python looks a submodule up here before it imports it: loading activations is not needed.
        raise AttributeError(f"softgate has no {name!r}")
    else:
        from .runtime.registry import activations, gated

        known: dict[str, Any] = {**activations(), **gated()}
        if name not in known:
            from .runtime.lookup import nearest

            meant = " or ".join(f"softgate.{near}" for near in nearest(name, [*_MODULES, *known]))
            hint = f"did you mean {meant}?" if meant else "softgate.activations() lists all"
            raise AttributeError(f"softgate has no {name!r}; {hint}")
        value = known[name]
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    from .runtime.registry import activations, gated

    return sorted([*_MODULES, *activations(), *gated()])
