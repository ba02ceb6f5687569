"""What a subject is, in words that a process of its own can read.

`softgate:gelu` and `softgate:elu:alpha=0.5` are ours, `module:function` is Python (a class is made
into an object first, and so is a function without an argument), `model.onnx` a model with one input
and one output, `model.onnx:node` one of its nodes, `./lib.so:symbol` a C function
void(const T*, T*, size_t). Objects travel as pickles.
"""

from __future__ import annotations

import ast
import base64
import hashlib
import pickle
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from softgate.runtime.activation import Activation
from softgate.runtime.registry import activations, label

from .failure import Mistake

FRAMEWORKS = ("numpy", "torch", "jax", "tensorflow", "keras")
"""Whose arrays a Python callable may take."""

HOMES = {
    "torch": "torch",
    "transformers": "torch",
    "timm": "torch",
    "jax": "jax",
    "flax": "jax",
    "tensorflow": "tensorflow",
    "keras": "keras",
}
"""Packages whose functions take a framework's arrays; those of others take NumPy's."""

LIBRARY = re.compile(r".+\.(so(\.[0-9.]+)?|dylib|dll)")
FORMS = (
    "softgate:gelu, softgate:elu:alpha=0.5, module:function (torch.nn.functional:gelu), "
    "model.onnx, model.onnx:node or ./library.so:symbol"
)
SUFFIXES = {
    "bf16": "bfloat16",
    "f16": "float16",
    "f32": "float32",
    "f64": "float64",
    "float": "float32",
    "double": "float64",
}
"""What the name of a C function may say of its type."""
LONGEST = 160
"""Characters of an object's name."""


@dataclass(frozen=True)
class Subject:
    """One callable: its kind, where it is, what it is called with."""

    text: str
    kind: str
    """"softgate", "python", "object", "onnx" or "c"."""
    place: str = ""
    """A module, a file, or a pickle."""
    name: str = ""
    """A function of the module, a node of the model, a symbol of the library."""
    keywords: tuple[tuple[str, Any], ...] = ()
    framework: str | None = None
    path: tuple[str, ...] = ()
    """Where a child process looks for modules."""
    slope: Subject | None = None
    """A second callable that gives the slope."""
    held: Any = None
    """The object itself, in the process that was given it."""

    @property
    def shown(self) -> str:
        """The text with its keywords and with what gives its slope, as people see it."""
        given = ", ".join(f"{name}={value!r}" for name, value in self.keywords)
        text = f"{self.text} ({given})" if given else self.text
        return text if self.slope is None else f"{text}, slope {self.slope.shown}"

    @property
    def ours(self) -> Activation | None:
        """The activation, where the subject is one of ours."""
        return self.held if isinstance(self.held, Activation) else None

    @property
    def fingerprint(self) -> str:
        """What tells this very code from what the same name may mean after an edit."""
        second = "" if self.slope is None else f"-{self.slope.fingerprint}"
        return self._own_fingerprint + second

    @property
    def _own_fingerprint(self) -> str:
        if self.kind == "softgate":
            return ""
        if self.kind == "object":
            return _digest(_pickled(self.held, self.text).encode())
        file = Path(self.place)
        if self.kind == "python":
            file = _source(self.place, self.path)
        return _digest(file.read_bytes()) if file.is_file() else ""

    @property
    def c_dtype(self) -> str:
        """The format that a C symbol's name ends in: to guess it would be to misread memory."""
        for ending, dtype in SUFFIXES.items():
            if self.name.endswith(ending):
                return dtype
        raise Mistake(
            f"{self.text}: the name does not end in {', '.join(SUFFIXES)}: say what T is with "
            "--dtype (in Python dtypes= of certify, dtype= of identify)"
        )

    def message(self) -> dict[str, Any]:
        """Return what a child process is told."""
        plain = asdict(replace(self, held=None, slope=None))
        if self.kind in ("object", "softgate"):
            plain["place"] = _pickled(self.held, self.text)
        return plain | {"slope": None if self.slope is None else self.slope.message()}


def from_message(message: Mapping[str, Any]) -> Subject:
    """Return the subject that `message` made a message of."""
    fields = dict(message)
    second = fields.pop("slope")
    fields["keywords"] = tuple((name, value) for name, value in fields["keywords"])
    fields["path"] = tuple(fields["path"])
    return Subject(**fields, slope=None if second is None else from_message(second))


def describe(
    given: str | Callable[..., Any],
    keywords: Mapping[str, Any] | None = None,
    *,
    slope: str | Callable[..., Any] | None = None,
    framework: str | None = None,
) -> Subject:
    """Return the subject that a text names or that a callable is.

    Parameters
    ----------
    given : str or callable
        A text in one of the forms `softgate:gelu`, `module:function`, `model.onnx`,
        `model.onnx:node`, `./library.so:symbol`; or an activation, a function, an `nn.Module`.
    keywords : mapping, optional
        What a Python function is called with beside the array, or a class made with.
    slope : str or callable, optional
        A second callable for the slope, where the first has no automatic derivative.
    framework : str, optional
        Whose arrays a Python callable takes: numpy, torch, jax, tensorflow or keras. Known for the
        frameworks' own functions and modules; NumPy's for all others.

    Examples
    --------
    >>> describe("torch.nn.functional:gelu", {"approximate": "tanh"}).shown
    "torch.nn.functional:gelu (approximate='tanh')"
    """
    if framework is not None and framework not in FRAMEWORKS:
        raise Mistake(f"framework = {framework!r}: accepted are {', '.join(FRAMEWORKS)}")
    pairs = tuple((keywords or {}).items())
    if isinstance(given, Activation) and framework in (None, "numpy"):
        found = _ours(given, dict(pairs))
    elif isinstance(given, str):
        found = _from_text(given, pairs, framework)
    elif callable(given):
        kind = framework or framework_of(given)
        found = Subject(_label(given), "object", "", "", pairs, kind, _path(), None, given)
    else:
        raise Mistake(f"{given!r} is a {type(given).__name__}: expected a callable, or {FORMS}")
    if slope is None:
        return found
    return replace(found, slope=describe(slope, framework=framework))


def _source(module: str, path: tuple[str, ...]) -> Path:
    """Return a module's file, found without an import: packages above it run code too."""
    places, origin = list(path), None
    parts = module.split(".")
    for i in range(len(parts)):
        full = ".".join(parts[: i + 1])
        specs = (finder.find_spec(full, places) for finder in sys.meta_path)
        found = next((spec for spec in specs if spec is not None), None)
        if found is None:
            return Path()
        places, origin = list(found.submodule_search_locations or ()), found.origin
    return Path(origin or "")


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def literal(text: str) -> Any:
    """Return a keyword's value: a Python literal where it is one, else the text itself.

    Examples
    --------
    >>> literal("0.5"), literal("False"), literal("tanh")
    (0.5, False, 'tanh')
    """
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def _from_text(text: str, pairs: tuple[tuple[str, Any], ...], framework: str | None) -> Subject:
    place, colon, name = text.rpartition(":")
    if text.endswith(".onnx") or place.endswith(".onnx"):
        _refuse(text, pairs, "an ONNX model takes no keywords")
        file, node = (text, "") if text.endswith(".onnx") else (place, name)
        return Subject(text, "onnx", str(_file(file)), node)
    if colon and LIBRARY.fullmatch(place):
        _refuse(text, pairs, "a C function takes no keywords")
        return Subject(text, "c", str(_file(place)), name)
    if text.startswith("softgate:"):
        return _by_name(text, dict(pairs))
    if not colon or not all(part.isidentifier() for part in (*place.split("."), *name.split("."))):
        known = text.partition(":")[0] in activations()
        hint = f" Did you mean softgate:{text}?" if known else ""
        raise Mistake(f"can't interpret {text!r}: expected {FORMS}.{hint}")
    return Subject(text, "python", place, name, pairs, framework, _path())


def _by_name(text: str, parameters: dict[str, Any]) -> Subject:
    """Return ours: `softgate:elu`, its parameters as `softgate:elu:alpha=0.5` or as keywords."""
    _, name, *written = text.split(":", 2)
    known = activations()
    if name not in known:
        near = get_close_matches(name, known, 1)
        meant = f": did you mean {near[0]!r}?" if near else f"; it has {', '.join(known)}"
        raise Mistake(f"softgate has no activation {name!r}{meant}")
    for part in written[0].split(",") if written else ():
        parameter, _, number = part.partition("=")
        value = literal(number)
        if not parameter.isidentifier() or not isinstance(value, int | float):
            raise Mistake(
                f"{text!r}: {part!r} is no parameter: write softgate:{name}:PARAMETER=NUMBER"
            )
        if parameter in parameters:
            raise Mistake(f"{text!r} is given {parameter!r} twice")
        parameters[parameter] = value
    return _ours(known[name], parameters)


def _ours(activation: Activation, parameters: dict[str, Any]) -> Subject:
    bound = activation.bind(**parameters) if parameters else activation
    return Subject(f"softgate:{label(bound)}", "softgate", path=_path(), held=bound)


def _refuse(text: str, pairs: tuple[tuple[str, Any], ...], why: str) -> None:
    if pairs:
        raise Mistake(f"{text} was given {pairs[0][0]}={pairs[0][1]!r}: {why}")


def _file(text: str) -> Path:
    path = Path(text)
    if not path.is_file():
        raise Mistake(f"there is no file {text!r}")
    return path.resolve()


def _path() -> tuple[str, ...]:
    """Return where modules are looked for: last in the current folder, which shadows nothing."""
    here = str(Path.cwd())
    known = tuple(entry or here for entry in sys.path)
    return known if here in known else (*known, here)


def framework_of(given: Any) -> str | None:
    """Return whose arrays an object takes, as its class or its module tells."""
    classes = type(given).__mro__
    packages = [str(getattr(given, "__module__", None) or "")]
    packages += [kind.__module__ for kind in classes]
    for package in packages:
        home = HOMES.get(package.partition(".")[0])
        if home is not None:
            return home
    return None


def home_of(module: str) -> str:
    """Return whose arrays the functions of a module take."""
    return HOMES.get(module.partition(".")[0], "numpy")


def _label(given: Any) -> str:
    name = getattr(given, "__qualname__", None)
    if name is None:  # the text of a module with others inside has many lines
        text = " ".join(repr(given).split())
        return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
    module = getattr(given, "__module__", None) or "builtins"
    return f"{module}:{name}"


def _pickled(given: Any, text: str) -> str:
    try:
        return base64.b64encode(pickle.dumps(given)).decode("ascii")
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise Mistake(
            f"{text} cannot be sent to a process of its own ({error}): put it into a module and "
            "name it as 'module:function', or run it here, unguarded, with isolated=False"
        ) from None


def unpickled(text: str) -> Any:
    """Return the object that a description carries."""
    return pickle.loads(base64.b64decode(text))
