"""Functions as users write them: one grammar for all commands and Python calls.

- `gelu`, `gelu_new`: a name of softgate, or of a framework if softgate has none of that name.
- `torch.nn.functional.gelu`, `torch.nn.functional:gelu`: a path as `names` prints it.
- `module:function`, `package.module.function`, `file.py:function`: code of the user.
- In Python also an activation, any other callable, an `nn.Module` or its class.

Parameters follow a text after a colon: `elu:alpha=0.5`. `read` parses a text, and `load` imports
the code that it refers to; `subjects.resolved` makes functions of both.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from softgate.records.text import first_line
from softgate.runtime.lookup import parse, record_at
from softgate.runtime.name_table import Name
from softgate.runtime.registry import importers

FORMS = (
    "a name (gelu, elu:alpha=0.5), a path that `softgate names` prints (torch.nn.functional.gelu), "
    "module:function or file.py:function"
)
"""What a function may be written as, for error messages."""
PACKAGES = {"tf": "tensorflow"}
"""Packages that `names` abbreviates."""
PRIVATE = "softgate_file_"
"""Start of the names of modules whose file has the name of another module."""


class NotFound(ValueError):
    """A module, a file or a function in it does not exist."""


@dataclass(frozen=True)
class Spelling:
    """A text as it is written: a name, or a module or file with what is in it; its parameters."""

    place: str
    """A module or a file; "" for a name or a path with dots only."""
    name: str
    parameters: Mapping[str, Any]

    @property
    def shown(self) -> str:
        """The text without the parameters."""
        return f"{self.place}:{self.name}" if self.place else self.name

    @property
    def path(self) -> str:
        """The place and the name as a path of a framework."""
        return f"{self.place}.{self.name}" if self.place else self.name

    @property
    def record(self) -> Name | None:
        """The record of the path, if `names` lists it."""
        return record_at(self.path)


def read(text: str) -> Spelling:
    """Return what a text consists of, without importing it; raise ValueError if it has no form."""
    head, parameters = parse(text)
    return Spelling(*split(head), parameters)


def split(text: str) -> tuple[str, str]:
    """Return the module or file and the function in it; the first is empty for a name or a path.

    Raises ValueError if the text has none of the forms of this module.

    Examples
    --------
    >>> split("my.module:f"), split("C:/code/my.py:f"), split("torch.nn.GELU")
    (('my.module', 'f'), ('C:/code/my.py', 'f'), ('', 'torch.nn.GELU'))
    >>> split("softgate:gelu"), split("softgate.gelu")
    (('', 'gelu'), ('', 'gelu'))
    """
    place, colon, name = text.rpartition(":")
    ours = name if place == "softgate" else text.removeprefix("softgate.")
    if ours != text and ours.isidentifier():
        return "", ours
    if text.endswith(".py") or place.endswith(".py"):
        if not place.endswith(".py") or _expression(name) is None:
            file = text if text.endswith(".py") else place
            raise ValueError(f"can't interpret {text!r}: write {file}:function")
        return place, name
    if not colon:
        return "", text
    if not _is_dotted(place) or _expression(name) is None:
        raise ValueError(f"can't interpret {text!r}: expected {FORMS}")
    return place, name


def split_path(path: str) -> tuple[str, str]:
    """Return the module and the function of a dotted path; two empty texts if it is none.

    Examples
    --------
    >>> split_path("tf.nn.gelu"), split_path('transformers.activations.ACT2FN["gelu"]')
    (('tensorflow.nn', 'gelu'), ('transformers.activations', 'ACT2FN["gelu"]'))
    >>> split_path("gelu")
    ('', '')
    """
    end = min((path.index(bracket) for bracket in "[(" if bracket in path), default=len(path))
    place, dot, name = path[:end].rpartition(".")
    if not dot or not _is_dotted(place) or _expression(name + path[end:]) is None:
        return "", ""
    package, dot, rest = place.partition(".")
    return PACKAGES.get(package, package) + dot + rest, name + path[end:]


def is_code(text: str) -> bool:
    """Return whether a text is `module:name` or `file.py:name`, not a name, a path or a file.

    Examples
    --------
    >>> is_code("models.py:make"), is_code("data:batches"), is_code("C:/data.npz"), is_code("x.npz")
    (True, True, False, False)
    """
    try:
        return bool(split(text)[0])
    except ValueError:
        return False


def load(place: str, name: str) -> Any:
    """Return an object of a module or a file; raise NotFound, or ValueError if the import fails.

    `name` may be dotted, and have a subscript or a call with constants, as ACT2FN["gelu"] has.
    """
    expression = _expression(name)
    assert expression is not None, "`split` has checked it"
    module = import_source(place)
    try:
        return _evaluate(expression, module)
    except (AttributeError, LookupError) as error:
        near = f" ({error})" if isinstance(error, LookupError) else ""
        raise NotFound(f"{place} has no {name!r}{near}") from None


def import_source(place: str) -> Any:
    """Import a module, or a file given by its path; raise ValueError if that fails.

    The current folder and the file's folder are searched last, so that a file in them shadows no
    module of Python or of a package.
    """
    if not place.endswith(".py"):
        _search_last(Path.cwd())
        return _guarded(place, lambda: import_module(place))
    file = Path(place).expanduser().resolve()
    if not file.is_file():
        raise NotFound(f"there is no file {place!r}")
    _search_last(file.parent)
    if _is_found_as(file.stem, file):  # under its own name, which other processes can import
        return _guarded(place, lambda: import_module(file.stem))
    name = PRIVATE + hashlib.sha256(str(file).encode()).hexdigest()[:12]
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    try:
        _guarded(place, lambda: spec.loader.exec_module(module))  # type: ignore[union-attr]
    except ValueError:
        del sys.modules[name]
        raise
    importers[name] = import_source, str(file)
    return module


def source_of(module: str, path: Sequence[str]) -> Path:
    """Return a module's file without importing it or its parent packages; an empty path if none."""
    places, origin = list(path), None
    parts = module.split(".")
    for i in range(len(parts)):
        full = ".".join(parts[: i + 1])
        specs = (finder.find_spec(full, places) for finder in sys.meta_path)
        spec = next((spec for spec in specs if spec is not None), None)
        if spec is None:
            return Path()
        places, origin = list(spec.submodule_search_locations or ()), spec.origin
    return Path(origin or "")


def place_of(error: BaseException) -> str:
    """Return the file and the line of an error; of a syntax error those that cannot be parsed.

    For an error that softgate raised, that is the line of the user's code that called it.
    """
    if isinstance(error, SyntaxError) and error.filename is not None:
        return f"{error.filename}, line {error.lineno}"
    frames, ours = traceback.extract_tb(error.__traceback__), Path(__file__).parents[2]
    others = [frame for frame in frames if not Path(frame.filename).is_relative_to(ours)]
    frame = (others or frames)[-1]
    return f"{frame.filename}, line {frame.lineno}"


def _search_last(folder: Path) -> None:
    if str(folder) not in sys.path:
        sys.path.append(str(folder))


def _is_found_as(name: str, file: Path) -> bool:
    """Return whether `import name` imports this file."""
    try:
        spec = importlib.util.find_spec(name) if name.isidentifier() else None
    except ValueError:  # a module without a specification, such as a program's __main__
        return False
    return spec is not None and spec.origin is not None and Path(spec.origin) == file


def _guarded(place: str, run: Callable[[], Any]) -> Any:
    """Run an import; raise NotFound, or ValueError with the place of the error if it fails."""
    try:
        return run()
    except ModuleNotFoundError as error:
        if error.name is None or not (place + ".").startswith(error.name + "."):
            raise ValueError(f"{place} cannot be imported: {error}") from error
        raise NotFound(f"there is no module {error.name!r} here or on Python's path") from None
    except Exception as error:  # a user's module may raise anything when it is imported
        raise ValueError(
            f"{place} cannot be imported: {place_of(error)}: "
            f"{type(error).__name__}: {first_line(error)}"
        ) from error


def _is_dotted(name: str) -> bool:
    return all(part.isidentifier() for part in name.split("."))


def _expression(name: str) -> ast.expr | None:
    """Return the syntax tree of what `load` accepts as a name, else None."""
    try:
        expression = ast.parse(name, mode="eval").body
    except (SyntaxError, ValueError):
        return None
    node = expression
    while not isinstance(node, ast.Name):
        match node:
            case ast.Attribute(value=inner) | ast.Subscript(value=inner, slice=ast.Constant()):
                node = inner
            case ast.Call(func=inner, args=arguments, keywords=[]) if all(
                isinstance(a, ast.Constant) for a in arguments
            ):
                node = inner
            case _:
                return None
    return expression


def _evaluate(node: ast.expr, module: Any) -> Any:
    match node:
        case ast.Name(id=name):
            return getattr(module, name)
        case ast.Attribute(value=inner, attr=name):
            return getattr(_evaluate(inner, module), name)
        case ast.Subscript(value=inner, slice=ast.Constant(value=key)):
            return _evaluate(inner, module)[key]
        case ast.Call(func=inner, args=arguments):
            constants = [a.value for a in arguments if isinstance(a, ast.Constant)]
            return _evaluate(inner, module)(*constants)
    raise AssertionError("`_expression` has checked it")
