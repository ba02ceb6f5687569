"""The reference of the public modules as pages of autodoc directives.

Names come from the sources of the modules, without importing them: autodoc imports them once.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from pathlib import Path

import softgate

PACKAGE = Path(softgate.__file__).parent
CLASSES_OF_MODULE = {
    "records/record.py": ("Record", "Grid"),
    "runtime/name_table.py": ("Names", "Name"),
    "studies/properties/record.py": ("PropertyTable", "Properties"),
    "studies/table.py": ("Table",),
    "studies/certify/record.py": ("Certificate", "Measurement"),
    "studies/identify/record.py": ("Identification",),
    "studies/models/record.py": ("Scan", "ScannedActivation"),
    "studies/models/operator_count.py": ("UnlistedOperator",),
    "studies/swap/record.py": ("Swap",),
    "studies/parity/record.py": ("Parity",),
    "studies/bench/record.py": ("Bench",),
    "studies/bench/layer_record.py": ("Layer",),
    "studies/bench/pareto_record.py": ("Pareto",),
    "studies/diagnose/record.py": ("Diagnosis", "WhatIf"),
    "studies/compare/record.py": ("Comparison",),
    "studies/reproducibility/record.py": ("Reproduction",),
    "studies/quantized.py": ("Quantized",),
}
"""The records that public functions return."""
TORCH_BLOCKS = (
    "FeedForward", "GatedFeedForward", "SelfAttention", "TransformerBlock", "Stack", "Preset",
    "Watch", "Activation", "Swish",
)  # fmt: skip
"""Classes of softgate.torch that are not classes of torch.nn."""
TITLES = {
    "softgate": "softgate",
    "torch": "softgate.torch",
    "functional": "softgate.torch.functional",
    "jax": "softgate.jax",
    "keras": "softgate.keras",
    "records": "Records",
}

INDEX = """\
API reference
=============

Every public function, class and method, from the docstrings: functions of arrays and studies
(softgate), the modules for PyTorch, JAX and Keras, and the records that studies return.

.. toctree::
   :maxdepth: 1
"""


def exported(file: str) -> list[str]:
    """Return the names that a module's `__all__` lists as texts."""
    for node in ast.parse((PACKAGE / file).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            assert isinstance(node.value, ast.List)
            items = [item for item in node.value.elts if isinstance(item, ast.Constant)]
            return [str(item.value) for item in items]
    raise ValueError(f"{file} has no __all__")


def defined(file: str) -> list[str]:
    """Return the public functions that a module defines."""
    body = ast.parse((PACKAGE / file).read_text(encoding="utf-8")).body
    names = [node.name for node in body if isinstance(node, ast.FunctionDef)]
    return [name for name in names if not name.startswith("_")]


def directive(path: str) -> str:
    """Return the autodoc directive of a public name: a class or a function."""
    name = path.rpartition(".")[2]
    if not name[0].isupper():
        return f".. autofunction:: {path}\n"
    members = "   :members:\n   :exclude-members: forward, extra_repr, call, build\n"
    return f".. autoclass:: {path}\n{members}"


def page(module: str, text: str, paths: Iterable[str]) -> str:
    """Return the page of a module: a text, then its names."""
    title = TITLES[module]
    return "\n".join([title, "=" * len(title), "", text, "", *map(directive, paths)])


def module_page(name: str, names: Iterable[str]) -> str:
    """Return the page of a module, with the docstring of the module as its text."""
    path = TITLES[name]
    return page(name, f".. automodule:: {path}\n", (f"{path}.{item}" for item in names))


def pages() -> dict[str, str]:
    """Return the sources of the reference, by file name."""
    torch = exported("torch/__init__.py")
    layers = [name for name in torch if name[0].isupper() and name not in TORCH_BLOCKS]
    others = [name for name in torch if name not in (*layers, "functional")]
    keras = exported("keras/__init__.py")
    records = [
        f"softgate.{file.removesuffix('.py').removesuffix('/__init__').replace('/', '.')}.{name}"
        for file, names in CLASSES_OF_MODULE.items()
        for name in names
    ]
    modules = ("softgate", "torch", "functional", "jax", "keras", "records")
    return {
        "api/index.rst": "\n".join([INDEX, *(f"   {name}" for name in modules), ""]),
        "api/softgate.rst": module_page("softgate", sorted(softgate._MODULES, key=str.casefold)),
        "api/torch.rst": module_page("torch", [*others, *layers]),
        "api/functional.rst": module_page("functional", defined("torch/functional.py")),
        "api/jax.rst": module_page("jax", exported("jax.py")),
        "api/keras.rst": module_page("keras", keras),
        "api/records.rst": page(
            "records",
            "What studies return: frozen dataclasses that print as tables, convert to JSON, CSV "
            "and\n"
            "pandas, and are written to files by ``save``.\n",
            records,
        ),
    }
