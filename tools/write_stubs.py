"""Write the type stubs of the public modules from the catalogue and the sources.

    python tools/write_stubs.py [--check]

Names that a module's `__getattr__` returns are invisible to type checkers and editors. The stubs
declare them: each function of the catalogue with its keywords and its formula. What it accepts and
returns is declared once for all functions of one operand and once for all of two, in overloads for
numbers, arrays and tensors; `Activation` accepts what either does. Functions and classes that
sources annotate are imported from there.
With --check nothing is written; the exit code is 1 if a stub is not current.

Stubs import no framework that a user may lack: an unresolved import is `Any`, which accepts and
returns everything. Tensors are therefore described by protocols.
"""

from __future__ import annotations

import argparse
import ast
import builtins
import inspect
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from textwrap import fill, indent

import softgate
from softgate.runtime import registry
from softgate.runtime.activation import Activation

PACKAGE = Path(softgate.__file__).parent
COMMAND = "make stubs"
TYPES = "softgate.runtime.function_types"
HEADER = f"# Written by tools/write_stubs.py: edit that or the sources, then run `{COMMAND}`.\n"

PRELUDE = '''\
# A function of the catalogue takes only its own parameters, and `Activation` any; the overload for
# one type of arrays precedes a more general one.
# mypy: disable-error-code="override,overload-overlap"
# pyright: reportIncompatibleMethodOverride=false, reportOverlappingOverload=false

P = ParamSpec("P")
T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

class TorchTensor(Protocol[T_co]):
    """torch.Tensor and its subclasses; results are of the type that its operators return."""

    @property
    def requires_grad(self) -> bool: ...
    def neg(self) -> T_co: ...

class JaxArray(Protocol[T_co]):
    """jax.Array, also while it is traced."""

    @property
    def at(self) -> Any: ...
    def block_until_ready(self) -> Any: ...
    def __neg__(self) -> T_co: ...

class Shaped(Protocol):
    """Tensors of TensorFlow and Keras, Series of polars."""

    @property
    def shape(self) -> Any: ...
    @property
    def dtype(self) -> Any: ...

class OverridesUfuncs(Protocol):
    """Arrays of pandas, xarray and dask."""

    def __array_ufunc__(self, ufunc: Any, method: Any, /, *inputs: Any, **kwargs: Any) -> Any: ...

Number: TypeAlias = float | SupportsFloat
Scalar: TypeAlias = float | np.integer | np.bool
NumberSequence: TypeAlias = (
    Sequence[float] | Sequence[Sequence[float]] | Sequence[Sequence[Sequence[float]]]
)
Integers: TypeAlias = NDArray[np.integer | np.bool]
ArraySequence: TypeAlias = (
    Sequence[np.number] | Sequence[NDArray[Any]] | Sequence[Sequence[np.number | NDArray[Any]]]
)
Operand: TypeAlias = Scalar | np.floating | NumberSequence | ArraySequence | NDArray[Any]
Anything: TypeAlias = Operand | TorchTensor[Any] | JaxArray[Any] | Shaped | OverridesUfuncs
Floats = TypeVar("Floats", bound=np.ndarray[Any, np.dtype[np.floating]] | np.floating)
Array = TypeVar("Array", bound=Shaped | OverridesUfuncs)
Out = TypeVar("Out", bound=np.ndarray[Any, Any] | TorchTensor[Any] | tuple[Any, ...])
OptionalOut: TypeAlias = np.ndarray[Any, Any] | TorchTensor[Any] | tuple[Any, ...] | None
'''
"""Types of operands and results."""

TENSOR = "TorchTensor[T] | JaxArray[T]"
FLOAT64 = "NDArray[np.float64]"
UNARY = (
    ("Scalar", "float"),
    ("Floats", "Floats"),
    ("NumberSequence | Integers", FLOAT64),
    (TENSOR, "T"),
    ("ArraySequence", "NDArray[Any]"),
    ("Array", "Array"),
)
"""The result for each type of operand, in the order in which type checkers try them."""

BINARY = (
    (("Scalar", "Scalar"), "float"),
    (("Floats", "Floats | Scalar | NumberSequence"), "Floats"),
    (("Scalar | NumberSequence", "Floats"), "Floats"),
    (("Scalar | NumberSequence | Integers", "Scalar | NumberSequence | Integers"), FLOAT64),
    ((TENSOR, f"{TENSOR} | float"), "T"),
    (("float", TENSOR), "T"),
    (("Operand", "Operand"), "NDArray[Any]"),
    (("Array", "Array | Operand"), "Array"),
)
"""The result for two operands."""


@dataclass(frozen=True)
class Overload:
    """The types of the operands and of the result of one signature of a method."""

    operands: tuple[str, ...]
    result: str
    out: str = "None"


def unary_signatures() -> list[Overload]:
    """Return the signatures of a function of one operand."""
    return [
        *(Overload((operand,), result) for operand, result in UNARY),
        Overload(("Anything",), "Out", "Out"),
    ]


def binary_signatures(pair: bool = False, more: int = 0) -> list[Overload]:
    """Return the signatures for two operands, and `more` of the second's type, with one result.

    With `pair` the result is a tuple of two.
    """
    rows = [
        Overload((first, *[second] * (1 + more)), f"tuple[{result}, {result}]" if pair else result)
        for (first, second), result in BINARY
    ]
    return [*rows, Overload(("Anything",) * (2 + more), "Out", "Out")]


ACTIVATION = {
    "__call__": unary_signatures(),
    "slope": unary_signatures(),
    "curvature": unary_signatures(),
    "backward": binary_signatures(),
}
GATED = {
    "__call__": [*unary_signatures()[1:], *binary_signatures()],
    "slope": [*unary_signatures()[1:], *binary_signatures(pair=True)],
    "curvature": [Overload(("Anything",), "Curvature"), Overload(("Anything",) * 2, "Curvature")],
    "backward": [*binary_signatures()[1:], *binary_signatures(pair=True, more=1)],
}
EITHER = {
    "__call__": [*unary_signatures(), *binary_signatures()],
    "slope": [*unary_signatures(), *binary_signatures(pair=True)],
    "curvature": [*unary_signatures(), Overload(("Anything",) * 2, "Curvature")],
    "backward": [*binary_signatures(), *binary_signatures(pair=True, more=1)],
}
"""The signatures of each method; its options and their defaults are those of the source."""

SOURCE = "softgate.runtime.activation"
OF_TWO = ["axis: int | None = None", "gate: str | None = None"]
"""Options of functions of two operands, which the source has among its keywords."""


@dataclass(frozen=True)
class Kind:
    """Functions of one operand, of two, or of either: what they accept, and under which names."""

    name: str
    operands: tuple[str, ...]
    options: Sequence[str]
    methods: Mapping[str, Sequence[Overload]]
    functions: Mapping[str, Activation] = field(default_factory=dict)

    def class_of(self, function: Activation) -> str:
        """Return the class that declares a function, which is named after its parameters."""
        names = "".join(name.title().replace("_", "") for name in function.parameters)
        prefix = "Gated" if function.nin == 2 else ""
        return f"{prefix}With{names}" if names else f"{prefix}WithoutParameters"


ANY = Kind("Activation", ("a", "b", "grad"), OF_TWO, EITHER)
KINDS = (
    Kind("CatalogueActivation", ("x", "grad"), (), ACTIVATION, registry.activations()),
    Kind("CatalogueGated", ("a", "b", "grad"), OF_TWO, GATED, registry.gated()),
)


def source_class() -> ast.ClassDef:
    """Return the source of the class of functions."""
    classes = (node for node in tree_of(SOURCE).body if isinstance(node, ast.ClassDef))
    return next(node for node in classes if node.name == ANY.name)


def source_method(name: str) -> ast.FunctionDef:
    """Return the source of a method."""
    return definitions(source_class().body, name)[-1]


def source_of(module: str) -> Path:
    """Return the file of a module of softgate, without importing its framework."""
    path = PACKAGE.parent.joinpath(*module.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


@cache
def tree_of(module: str) -> ast.Module:
    """Return the syntax tree of a module of softgate."""
    return ast.parse(source_of(module).read_text(encoding="utf-8"))


def exported(module: str) -> list[str]:
    """Return the names that `__all__` of a module lists, without those of the catalogue."""
    for node in tree_of(module).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return [n.value for n in ast.walk(node.value) if isinstance(n, ast.Constant)]
    raise ValueError(f"{source_of(module)} has no __all__")


def definitions(body: Iterable[ast.stmt], name: str) -> list[ast.FunctionDef]:
    """Return the overloads of a function, if it has any, and its implementation."""
    return [node for node in body if isinstance(node, ast.FunctionDef) and node.name == name]


@dataclass
class Stub:
    """The text of one stub, and the imports that its annotations need."""

    module: str
    imports: set[str] = field(default_factory=set)
    parts: list[str] = field(default_factory=list)
    declared: frozenset[str] = frozenset()
    """Names in annotations that mean another type here than in the sources."""

    @property
    def path(self) -> Path:
        """The file beside the module's source."""
        return source_of(self.module).with_suffix(".pyi")

    def reexport(self, module: str, name: str) -> None:
        """Declare a name that another module defines."""
        self.imports.add(f"from {module} import {name} as {name}")

    def variable(self, name: str, kind: str, documentation: str) -> None:
        """Declare a variable with the first line of its documentation."""
        self.parts.append(f"{name}: {kind}\n{summary(documentation)}")

    def function(self, module: str, name: str) -> None:
        """Declare a function as its source does, with the first line of its docstring."""
        *overloads, implementation = definitions(tree_of(module).body, name)
        for definition in overloads or [implementation]:
            self.define(module, definition, str(ast.get_docstring(implementation)))

    def define(self, module: str, definition: ast.FunctionDef, documentation: str) -> None:
        """Declare a function by a definition of `module`, without its body."""
        decorators = [d for d in definition.decorator_list if ast.unparse(d) == "overload"]
        for node in (*decorators, definition.returns, *annotations(definition.args)):
            self.require(module, node)
        result = ast.unparse(definition.returns) if definition.returns else "None"
        line = f"def {definition.name}({ast.unparse(definition.args)}) -> {result}:"
        overload = "@overload\n" if decorators else ""
        self.parts.append(f"{overload}{line}\n    {summary(documentation)}")

    def require(self, module: str, node: ast.AST | None) -> None:
        """Import the names that an annotation of `module` uses."""
        for name in ast.walk(node) if node is not None else ():
            if isinstance(name, ast.Name) and name.id not in self.declared:
                statement = import_of(module, name.id)
                if statement:
                    self.imports.add(statement)

    def text(self) -> str:
        """Return the stub. A signature is one line: wrapped, the file would be twice as long."""
        return "\n\n".join([HEADER + "\n".join(sorted(self.imports)), *self.parts]) + "\n"


def annotations(arguments: ast.arguments) -> Iterator[ast.AST | None]:
    """Yield the annotations of all arguments."""
    named = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
    for argument in (*named, arguments.vararg, arguments.kwarg):
        if argument is not None:
            yield argument.annotation


def import_of(module: str, name: str) -> str | None:
    """Return the statement that imports what `name` means in a module; None for a built-in."""
    for node in ast.walk(tree_of(module)):
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                if (alias.asname or alias.name) == name:
                    origin = absolute(module, node)
                    renamed = f" as {name}" if alias.asname else ""
                    return f"from {origin} import {alias.name}{renamed}"
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if (alias.asname or alias.name) == name:
                    return f"import {alias.name} as {name}" if alias.asname else f"import {name}"
    if hasattr(builtins, name):
        return None
    return f"from {module} import {name}"


def absolute(module: str, node: ast.ImportFrom) -> str:
    """Return the full name of the module that a statement imports from."""
    if not node.level:
        return str(node.module)
    parts = module.split(".")
    levels = node.level - (source_of(module).name == "__init__.py")
    return ".".join((*parts[: len(parts) - levels], *filter(None, [node.module])))


def summary(documentation: str) -> str:
    """Return the first line of a documentation as a docstring."""
    text = documentation.partition("\n")[0]
    prefix = "r" if "\\" in text else ""
    return f'{prefix}"""{text}"""'


UFUNC_OPTIONS = [
    "where: Any = True",
    'casting: str = "same_kind"',
    'order: str = "K"',
    "dtype: Any = None",
    "subok: bool = True",
]
"""Options of NumPy's ufuncs, which methods with an `out` accept among their parameters."""


def options_of(kind: Kind, name: str, out: str) -> list[str]:
    """Return the keyword-only arguments of a method, `out` declared as given."""
    arguments = source_method(name).args
    options = [
        out if option.arg == "out" else f"{ast.unparse(option)} = {ast.unparse(default)}"
        for option, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
        if default is not None
    ]
    return [*options, *kind.options, *UFUNC_OPTIONS]


def method(kind: Kind, name: str, own: bool) -> str:
    """Return the overloads of a method.

    With `own` keywords it takes those of the function, which its type parameter P describes; else
    any parameters. P contains `out`, which determines the result only for numbers: arrays and
    tensors need an `out` of the result's type.
    """
    text = []
    for row in sorted(kind.methods[name], key=lambda row: own and row.out == "None"):
        with_out = row.out != "None"
        options = options_of(kind, name, f"out: {row.out}" if with_out else "out: None = None")
        operands = (
            ["Scalar | np.floating"] * len(row.operands) if own and with_out else row.operands
        )
        keywords = ["*", *options, "**parameters: Number"]
        if own and not with_out:
            keywords = ["*args: P.args", "**keywords: P.kwargs"]
        passed = (f"{each}: {kinds}" for each, kinds in zip(kind.operands, operands, strict=False))
        line = f"def {name}({', '.join(('self', *passed, '/', *keywords))})"
        body = " ..." if text else f"\n    {summary(str(ast.get_docstring(source_method(name))))}"
        text.append(f"@overload\n{line} -> {row.result}:{body}")
    return "\n".join(text)


def class_with_any_parameters() -> str:
    """Return the class of functions whose operands and parameters are unknown, as users' are."""
    methods = [method(ANY, name, own=False) for name in ANY.methods]
    bind = "def bind(self, *, gate: Any = None, **parameters: Number) -> Self: ..."
    body = "\n".join([summary(str(ast.get_docstring(source_class()))), *methods, bind])
    return f"class {ANY.name}({ANY.name}Source):\n{indent(body, '    ')}"


def classes_with_own_keywords(kind: Kind) -> list[str]:
    """Return the class of the catalogue's functions, and a subclass for each set of parameters.

    The subclasses are for lists and dicts of several functions. For two of one generic class mypy
    infers `object`; for two of different classes it infers a base that both name.
    """
    documentation = '"""A function of the catalogue, which accepts the keywords P."""'
    constructor = "def __init__(self, keywords: Callable[P, Any], /) -> None: ..."
    methods = [method(kind, name, own=True) for name in kind.methods]
    bind = "def bind(self, *args: P.args, **keywords: P.kwargs) -> Self: ..."
    body = indent("\n".join([documentation, constructor, *methods, bind]), "    ")
    subclasses = sorted({kind.class_of(function) for function in kind.functions.values()})
    return [
        f"class {kind.name}({ANY.name}, Generic[P]):\n{body}",
        "\n".join(f"class {n}({kind.name}[P], {ANY.name}): ..." for n in subclasses),
    ]


def declaration(kind: Kind, function: Activation) -> str:
    """Return the declaration of a function of the catalogue: keywords and one line about it."""
    own = [f"{p.name}: Number = {p.default!r}" for p in function.entry.parameters]
    options = options_of(kind, "__call__", "out: OptionalOut = None")
    return (
        f"@{kind.class_of(function)}\n"
        f"def {function.name}({', '.join(('*', *own, *options))}) -> Any:\n"
        f"    {summary(str(function.__doc__))}"
    )


def function_types() -> Stub:
    """Return the stub with the classes of functions, which has no source: they share one there."""
    stub = Stub(TYPES)
    typing = "Any, Generic, ParamSpec, Protocol, Self, SupportsFloat, TypeAlias, TypeVar, overload"
    stub.imports |= {
        "import numpy as np",
        "from collections.abc import Callable, Sequence",
        "from numpy.typing import NDArray",
        f"from {SOURCE} import Activation as ActivationSource",
        f"from {SOURCE} import Curvature",
        f"from typing import {typing}",
    }
    stub.parts += [PRELUDE, class_with_any_parameters()]
    for kind in KINDS:
        stub.parts += classes_with_own_keywords(kind)
    return stub


def top_level() -> Stub:
    """Return the stub of `softgate`."""
    stub = Stub("softgate", declared=frozenset({"Activation"}))
    stub.imports |= {f"from . import {name} as {name}" for name in softgate._FACADES}
    stub.imports |= {
        f"from {TYPES} import Number, OptionalOut",
        "from typing import Any",
    }
    for kind in KINDS:
        classes = sorted({kind.class_of(function) for function in kind.functions.values()})
        stub.imports |= {f"from {TYPES} import {name}" for name in classes}
        stub.parts += [declaration(kind, function) for function in kind.functions.values()]
    stub.parts += ["__version__: str", all_of(softgate.__all__)]
    for name, module in sorted(softgate._MODULES.items()):
        full = f"softgate.{module}"
        if name == "Activation":
            stub.reexport(TYPES, name)
        elif any(map(returns_function, definitions(tree_of(full).body, name))):
            stub.function(full, name)
        else:
            stub.reexport(full, name)
    return stub


def returns_function(definition: ast.FunctionDef) -> bool:
    """Return whether a function returns activations, which the stub describes."""
    names = ast.walk(definition.returns) if definition.returns is not None else ()
    return any(isinstance(n, ast.Name) and n.id == "Activation" for n in names)


def jax() -> Stub:
    """Return the stub of `softgate.jax`."""
    stub = Stub(
        "softgate.jax", {"from softgate import Activation"}, declared=frozenset({"Activation"})
    )
    stub.function(stub.module, "get")
    stub.reexport("softgate.frameworks.jax.cpu_kernels", "prefer_operators")
    for name in registry.functions():
        stub.reexport("softgate", name)
    return stub


def keras() -> Stub:
    """Return the stub of `softgate.keras`."""
    stub = facade("softgate.keras", registry.functions())
    for name, function in registry.functions().items():
        stub.variable(name, "Activation", str(function.__doc__))
    return stub


def torch() -> Stub:
    """Return the stub of `softgate.torch`."""
    return facade("softgate.torch")


def facade(module: str, functions: Iterable[str] = ()) -> Stub:
    """Return the stub of a package whose `__all__` names what it imports, and `functions`."""
    stub = Stub(module)
    for name in exported(module):
        statement = str(import_of(module, name)).partition(" as ")[0]
        stub.imports.add(f"{statement} as {name}")
    stub.parts.append(all_of((*exported(module), *functions)))
    return stub


def all_of(names: Iterable[str]) -> str:
    """Return the definition of `__all__`."""
    listed = fill(", ".join(f'"{name}"' for name in sorted(names)), width=95)
    return f"__all__ = [\n{indent(listed, '    ')},\n]"


def functional() -> Stub:
    """Return the stub of `softgate.torch.functional`."""
    import softgate.torch.functional as module

    stub = Stub("softgate.torch.functional")
    written = {n.name for n in tree_of(stub.module).body if isinstance(n, ast.FunctionDef)}
    for name in dir(module):
        if name in written:
            stub.function(stub.module, name)
            continue
        function = getattr(module, name)
        if function is registry.functions().get(name):
            stub.reexport("softgate", name)
        else:
            definition = ast.parse(
                "def {}{}: ...".format(name, str(inspect.signature(function)).replace("'", ""))
            ).body[0]
            assert isinstance(definition, ast.FunctionDef)
            stub.define(stub.module, definition, str(function.__doc__))
    return stub


STUBS = (function_types, top_level, jax, keras, torch, functional)


def main() -> None:
    """Write or check all stubs."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing; fail if one is old")
    check = parser.parse_args().check
    old = []
    for make in STUBS:
        stub = make()
        text = stub.text()
        if not stub.path.exists() or stub.path.read_text(encoding="utf-8") != text:
            old.append(str(stub.path.relative_to(PACKAGE.parent)))
            if not check:
                stub.path.write_text(text, encoding="utf-8")
    if check and old:
        sys.exit(f"not current: {', '.join(old)}; run `{COMMAND}`")
    print(f"written: {', '.join(old)}" if old else "all stubs are current")


if __name__ == "__main__":
    main()
