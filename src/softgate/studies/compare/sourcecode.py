"""A script as text: its function's parameters, and the modules beside it that it imports.

Nothing is run for that: a script may take long to load, and belongs into another process.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Parameter:
    """A parameter of a function: whether it must be given, and its value if that can be read."""

    name: str
    required: bool
    default: Any = None


@dataclass(frozen=True)
class Function:
    """What can be seen of a function without running it."""

    parameters: tuple[Parameter, ...]
    takes_any: bool
    """Whether it has **keywords."""

    @property
    def names(self) -> tuple[str, ...]:
        """The parameters' names."""
        return tuple(parameter.name for parameter in self.parameters)


def parsed(file: Path) -> ast.Module:
    """Return a file's syntax tree; ValueError where it has none."""
    try:
        return ast.parse(file.read_bytes(), str(file))
    except SyntaxError as error:
        raise ValueError(f"{file.name}, line {error.lineno}: {error.msg}") from None


def function(file: Path, name: str) -> Function:
    """Return a function of a file; ValueError where it has none of that name."""
    tree = parsed(file)
    found = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    for node in found:
        if node.name == name:
            return _signature(node.args)
    others = ", ".join(node.name for node in found) or "none"
    raise ValueError(
        f"{file.name} defines no function {name!r}; it has: {others}. Expected "
        f"def {name}(activation, seed, report)"
    )


def _signature(given: ast.arguments) -> Function:
    plain = [*given.posonlyargs, *given.args]
    missing: list[ast.expr | None] = [None] * (len(plain) - len(given.defaults))
    defaults = [*missing, *given.defaults, *given.kw_defaults]
    parameters = tuple(
        Parameter(node.arg, default is None, _literal(default))
        for node, default in zip([*plain, *given.kwonlyargs], defaults, strict=True)
    )
    return Function(parameters, given.kwarg is not None)


def _literal(node: ast.expr | None) -> Any:
    try:
        return None if node is None else ast.literal_eval(node)
    except ValueError:
        return None


def files(script: Path) -> list[Path]:
    """Return a script and the modules in its folder that it imports, and those that they import."""
    folder, found, ahead = script.parent, [], [script]
    while ahead:
        file = ahead.pop(0)
        if file in found:
            continue
        found.append(file)
        for name in _imports(parsed(file), file, folder):
            ahead += _module(folder, name)
    return found


def _imports(tree: ast.Module, file: Path, folder: Path) -> Iterator[str]:
    package = file.parent.relative_to(folder).parts
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else ()
            base = ".".join([*above, *([node.module] if node.module else [])])
            yield base
            yield from (f"{base}.{alias.name}".lstrip(".") for alias in node.names)


def _module(folder: Path, name: str) -> list[Path]:
    """Return the files of a module that is in a folder: its own, and its packages'."""
    parts = [part for part in name.split(".") if part]
    found = [folder.joinpath(*parts[:i], "__init__.py") for i in range(1, len(parts) + 1)]
    if parts:
        found.append(folder.joinpath(*parts[:-1], f"{parts[-1]}.py"))
    return [file for file in found if file.is_file()]
