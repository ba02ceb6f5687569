"""Subjects: descriptions of functions under test, which a worker process can load.

`softgate:gelu` and `softgate:elu:alpha=0.5` are softgate's, `module:function` is Python (a class is
instantiated first, and a function without an argument is called), `model.onnx` a model with one
input and one output, `model.onnx:node` one of its nodes, `./lib.so:symbol` a C function
void(const T*, T*, size_t). Other objects are sent as pickles.
"""

from __future__ import annotations

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
from softgate.runtime.names import parse
from softgate.runtime.registry import activations, label

from ..resolve import is_dotted

FRAMEWORKS = ("numpy", "torch", "jax", "tensorflow", "keras")
"""Frameworks whose arrays a Python callable may take."""

HOMES = {
    "torch": "torch",
    "transformers": "torch",
    "timm": "torch",
    "jax": "jax",
    "flax": "jax",
    "tensorflow": "tensorflow",
    "keras": "keras",
}
"""Packages whose functions take a framework's arrays; other functions take NumPy's."""

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
"""Endings of a C function's name, and the formats they stand for."""
LONGEST = 160
"""Most characters of an object's name."""

CRASHED, HUNG, RAISED = "crashed", "hung", "raised"
WRONG_RESULT, WRONG_SHAPE, WRONG_DTYPE = "wrong result", "wrong shape", "wrong dtype"
CHANGED_INPUT, WROTE_BEYOND = "changed its input", "wrote beyond its output"


class Failure(Exception):
    """Invalid behaviour of a subject, such as a crash; a finding of its certificate.

    `kind` is one of the constants above.
    """

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(f"{kind}: {message}")
        self.kind, self.message = kind, message


class Mistake(ValueError):
    """The subject does not exist or cannot be loaded: an error of the caller."""


@dataclass(frozen=True)
class Subject:
    """A callable: its kind, its place, and its keywords."""

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
    """`sys.path` of the worker."""
    slope: Subject | None = None
    """A second callable, for the slope."""
    held: Any = None
    """The object, in the process where it was described; None in a worker."""

    @property
    def shown(self) -> str:
        """The text with its keywords and its slope's subject."""
        keywords = ", ".join(f"{name}={value!r}" for name, value in self.keywords)
        text = f"{self.text} ({keywords})" if keywords else self.text
        return text if self.slope is None else f"{text}, slope {self.slope.shown}"

    @property
    def ours(self) -> Activation | None:
        """The activation, if the subject is softgate's, else None."""
        return self.held if isinstance(self.held, Activation) else None

    @property
    def fingerprint(self) -> str:
        """A hash of the code, which changes if the code under the same name is edited."""
        second = "" if self.slope is None else f"-{self.slope.fingerprint}"
        return self._code_fingerprint + second

    @property
    def _code_fingerprint(self) -> str:
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
        """The format that a C symbol's name ends in; raises Mistake if there is none."""
        for ending, dtype in SUFFIXES.items():
            if self.name.endswith(ending):
                return dtype
        raise Mistake(
            f"{self.text}: the name does not end in {', '.join(SUFFIXES)}: give the format with "
            "--dtype (in Python dtypes= of certify, dtype= of identify)"
        )

    def message(self) -> dict[str, Any]:
        """Return the description as JSON values, for a worker."""
        plain = asdict(replace(self, held=None, slope=None))
        if self.kind in ("object", "softgate"):
            plain["place"] = _pickled(self.held, self.text)
        return plain | {"slope": None if self.slope is None else self.slope.message()}


def from_message(message: Mapping[str, Any]) -> Subject:
    """Return the subject of a message."""
    fields = dict(message)
    second = fields.pop("slope")
    fields["keywords"] = tuple((name, value) for name, value in fields["keywords"])
    fields["path"] = tuple(fields["path"])
    return Subject(**fields, slope=None if second is None else from_message(second))


def describe(
    target: str | Callable[..., Any],
    keywords: Mapping[str, Any] | None = None,
    *,
    slope: str | Callable[..., Any] | None = None,
    framework: str | None = None,
) -> Subject:
    """Return the description of a callable, which is given as an object or as text.

    Parameters
    ----------
    target : str or callable
        A text in one of the forms `softgate:gelu`, `module:function`, `model.onnx`,
        `model.onnx:node`, `./library.so:symbol`; or an activation, a function, an `nn.Module`.
    keywords : mapping, optional
        Further arguments of a Python function, or those of a class.
    slope : str or callable, optional
        A second callable for the slope, if the first has no automatic derivative.
    framework : str, optional
        The framework whose arrays a Python callable takes: numpy, torch, jax, tensorflow or keras.
        By default that of its module or class, and NumPy for others.

    Examples
    --------
    >>> describe("torch.nn.functional:gelu", {"approximate": "tanh"}).shown
    "torch.nn.functional:gelu (approximate='tanh')"
    """
    if framework is not None and framework not in FRAMEWORKS:
        raise Mistake(f"framework = {framework!r}: choose from {', '.join(FRAMEWORKS)}")
    pairs = tuple((keywords or {}).items())
    if isinstance(target, Activation) and framework in (None, "numpy"):
        subject = _ours(target, dict(pairs))
    elif isinstance(target, str):
        subject = _from_text(target, pairs, framework)
    elif callable(target):
        kind = framework or framework_of(target)
        subject = Subject(_label(target), "object", "", "", pairs, kind, _path(), None, target)
    else:
        raise Mistake(f"{target!r} is a {type(target).__name__}: expected a callable, or {FORMS}")
    if slope is None:
        return subject
    return replace(subject, slope=describe(slope, framework=framework))


def _source(module: str, path: tuple[str, ...]) -> Path:
    """Return a module's file without importing it or its parent packages."""
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


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


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
    if not colon or not is_dotted(place, name):
        known = text.partition(":")[0] in activations()
        hint = f" Did you mean softgate:{text}?" if known else ""
        raise Mistake(f"can't interpret {text!r}: expected {FORMS}.{hint}")
    return Subject(text, "python", place, name, pairs, framework, _path())


def _by_name(text: str, keywords: dict[str, Any]) -> Subject:
    """Return a subject of softgate; parameters are in the text, `elu:alpha=0.5`, or keywords."""
    try:
        name, parameters = parse(text.removeprefix("softgate:"))
    except ValueError as error:
        name = text.split(":")[1]
        raise Mistake(f"{error} (for a subject, softgate:{name}:PARAMETER=NUMBER)") from None
    known = activations()
    if name not in known:
        near = get_close_matches(name, known, 1)
        hint = f"did you mean {near[0]!r}?" if near else f"choose from {', '.join(known)}"
        raise Mistake(f"softgate has no activation {name!r}: {hint}")
    for keyword in keywords:
        if keyword in parameters:
            raise Mistake(f"{text!r} gives {keyword!r} twice")
    return _ours(known[name], keywords | parameters)


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
    """Return `sys.path` with the current folder last, so that it shadows no other module."""
    here = str(Path.cwd())
    known = tuple(entry or here for entry in sys.path)
    return known if here in known else (*known, here)


def framework_of(target: Any) -> str | None:
    """Return the framework of an object's arrays, from its module and base classes."""
    packages = [str(getattr(target, "__module__", None) or "")]
    packages += [kind.__module__ for kind in type(target).__mro__]
    for package in packages:
        home = HOMES.get(package.partition(".")[0])
        if home is not None:
            return home
    return None


def home_of(module: str) -> str:
    """Return the framework of the arrays that a module's functions take."""
    return HOMES.get(module.partition(".")[0], "numpy")


def _label(target: Any) -> str:
    name = getattr(target, "__qualname__", None)
    if name is None:  # the text of a nested module has many lines
        text = " ".join(repr(target).split())
        return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
    module = getattr(target, "__module__", None) or "builtins"
    return f"{module}:{name}"


def _pickled(target: Any, text: str) -> str:
    try:
        return base64.b64encode(pickle.dumps(target)).decode("ascii")
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise Mistake(
            f"{text} cannot be sent to a worker process ({error}): put it into a module and name "
            "it as 'module:function', or run it in this process, unguarded, with isolated=False"
        ) from None


def unpickled(text: str) -> Any:
    """Return the object that a description carries."""
    return pickle.loads(base64.b64decode(text))
