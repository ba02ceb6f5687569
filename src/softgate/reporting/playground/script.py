"""The playground's script: emitted modules, data, and the files in `assets/`, in one scope.

An inline script can import nothing, so a module becomes a function that returns what the module
would export; not a character of its functions is changed.
"""

from __future__ import annotations

import json
import re
from importlib.resources import files

import numpy as np

from softgate.runtime.records import plain

from .study import Playground

PARTS = (
    "random", "mesh", "statistics", "layers", "gate",
    "charts", "controls", "chosen", "one", "stack", "soft", "start",
)  # fmt: skip
"""The files in the order in which one needs the other."""
NODES = 16
EXPORT = re.compile(r"^export function (\w+)", re.MULTILINE)


def asset(name: str) -> str:
    """Return a file of the folder `assets` as text."""
    return files(__package__).joinpath("assets", name).read_text(encoding="utf-8")


def scope(module: str) -> str:
    r"""Return an expression for what a module of plain functions exports.

    Examples
    --------
    >>> print(scope("export function relu(x) {\n  return x < 0 ? 0 : x;\n}\n"))
    (() => {
    function relu(x) {
      return x < 0 ? 0 : x;
    }
    return { relu };
    })()
    """
    names = ", ".join(EXPORT.findall(module))
    inside = EXPORT.sub(r"function \1", module)
    return f"(() => {{\n{inside}return {{ {names} }};\n}})()"


def script(found: Playground) -> str:
    """Return the whole script."""
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    rule = {"nodes": nodes.tolist(), "weights": weights.tolist()}
    own = ",\n".join(f"{json.dumps(name)}: {scope(text)}" for name, text in found.own.items())
    data = {
        "CHOICES": json.dumps(plain(found.choices)),
        "RULE": json.dumps(rule),
        "KERNELS": scope(found.catalogue),
        "OWN": f"{{{own}}}",
    }
    constants = "".join(f"const {name} = {text};\n" for name, text in data.items())
    return constants + "\n".join(asset(f"{part}.js") for part in PARTS)
