"""Subjects: descriptions of functions under test, which a worker process can load.

A function is written as everywhere else (`subjects.user_code`), but the code itself runs: a path
such as `torch.nn.functional.gelu` is PyTorch's function, a bare name softgate's. A class is
instantiated first, and a function without an argument is called. Beyond that grammar, `model.onnx`
is a model with one input and one output, `model.onnx:node` one of its nodes, `./lib.so:symbol` a C
function void(const T*, T*, size_t). Other objects are sent as pickles.
"""

from __future__ import annotations

import base64
import hashlib
import inspect
import pickle
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from softgate.records.text import a_type
from softgate.runtime.activation import Activation
from softgate.runtime.lookup import lookup, one_array
from softgate.runtime.registry import label

from . import user_code

FRAMEWORKS = ("numpy", "torch", "jax", "tensorflow", "keras")
"""Frameworks whose arrays a Python callable may take."""

HOMES = {
    "torch": "torch",
    "transformers": "torch",
    "timm": "torch",
    "jax": "jax",
    "jaxlib": "jax",
    "flax": "jax",
    "equinox": "jax",
    "tensorflow": "tensorflow",
    "keras": "keras",
    "softgate.torch": "torch",
    "softgate.jax": "jax",
    "softgate.keras": "keras",
}
"""Packages whose functions take a framework's arrays; other functions take NumPy's."""

LIBRARY = re.compile(r".+\.(so(\.[0-9.]+)?|dylib|dll)")
FORMS = f"{user_code.FORMS}; or model.onnx, model.onnx:node, ./library.so:symbol"
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


class SubjectFailure(Exception):
    """Invalid behaviour of a subject, such as a crash; a finding of its certificate.

    `kind` is one of the constants above.
    """

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(f"{kind}: {message}")
        self.kind, self.message = kind, message


class InvalidSubjectError(ValueError):
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
    def in_softgate(self) -> bool:
        """Whether it is an activation of softgate, or its function or module for a framework."""
        if self.slope is not None:
            return False
        home = self.place if self.kind == "python" else getattr(self.held, "__module__", None)
        home = home or type(self.held).__module__
        return self.ours is not None or str(home).partition(".")[0] == "softgate"

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
        if self.kind == "python" and not self.place.endswith(".py"):
            file = user_code.source_of(self.place, self.path)
        return _digest(file.read_bytes()) if file.is_file() else ""

    @property
    def c_dtype(self) -> str:
        """The format that a C symbol's name ends in; raises InvalidSubjectError without one."""
        for ending, dtype in SUFFIXES.items():
            if self.name.endswith(ending):
                return dtype
        raise InvalidSubjectError(
            f"{self.text}: the name does not end in {', '.join(SUFFIXES)}: give the format with "
            "--dtype (dtype=)"
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
        A text: `gelu`, `torch.nn.functional.gelu`, `module:function`, `file.py:function`,
        `model.onnx`, `model.onnx:node` or `./library.so:symbol`; or an activation, a function, an
        `nn.Module` or its class.
    keywords : mapping, optional
        Further arguments of a Python function, or those of a class.
    slope : str or callable, optional
        A second callable for the slope, if the first has no automatic derivative.
    framework : str, optional
        The framework whose arrays a Python callable takes: numpy, torch, jax, tensorflow or keras.
        By default that of its module or class; for other code NumPy, or the first framework it
        imports whose arrays it accepts.

    Examples
    --------
    >>> describe("torch.nn.functional:gelu", {"approximate": "tanh"}).shown
    "torch.nn.functional:gelu (approximate='tanh')"
    """
    if framework is not None and framework not in FRAMEWORKS:
        raise InvalidSubjectError(f"framework = {framework!r}: choose from {', '.join(FRAMEWORKS)}")
    arguments = dict(keywords or {})
    if isinstance(target, str):
        subject = _from_text(target, arguments, framework)
    elif isinstance(target, Activation):
        if target.nin > 1:
            raise InvalidSubjectError(
                f"{target.name!r} takes two arrays: expected a function of one, such as gelu"
            )
        subject = _ours(target, arguments, framework)
    elif callable(target):
        subject = _from_object(target, arguments, framework)
    else:
        raise InvalidSubjectError(
            f"{target!r} is {a_type(target)}: expected a callable, or {FORMS}"
        )
    if slope is None:
        return subject
    return replace(subject, slope=describe(slope, framework=framework))


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def _from_text(text: str, keywords: dict[str, Any], framework: str | None) -> Subject:
    place, colon, name = text.rpartition(":")
    if text.endswith(".onnx") or place.endswith(".onnx"):
        _refuse(text, keywords, "an ONNX model takes no keywords")
        file, node = (text, "") if text.endswith(".onnx") else (place, name)
        return Subject(text, "onnx", str(_file(file)), node)
    if colon and LIBRARY.fullmatch(place):
        _refuse(text, keywords, "a C function takes no keywords")
        return Subject(text, "c", str(_file(place)), name)
    try:
        spelling = user_code.read(text)
    except ValueError as error:
        raise InvalidSubjectError(
            f"{error}; or model.onnx, model.onnx:node, ./library.so:symbol"
        ) from None
    for keyword in keywords:
        if keyword in spelling.parameters:
            raise InvalidSubjectError(f"{text!r} gives {keyword!r} twice")
    arguments = {**keywords, **spelling.parameters}
    place, name, record = spelling.place, spelling.name, spelling.record
    if record is not None and record.source == "onnx":
        raise InvalidSubjectError(
            f"{text} is an operator of ONNX: expected a model with it, model.onnx"
        )
    if record is not None and record.source == "softgate":
        return _ours(_by_name(spelling.path, arguments), {}, framework)
    if record is not None or not place:
        place, name = user_code.split_path(spelling.path)
    if not place:
        return _ours(_by_name(spelling.path, arguments), {}, framework)
    shown, pairs = f"{place}:{name}", tuple(arguments.items())
    if not place.endswith(".py"):
        return Subject(shown, "python", place, name, pairs, framework, _path())
    place = str(_file(place))
    path_of_worker = tuple(dict.fromkeys((*_path(), str(Path(place).parent))))
    return Subject(shown, "python", place, name, pairs, framework, path_of_worker)


def _by_name(name: str, parameters: dict[str, Any]) -> Activation:
    """Return softgate's function of a name; raise InvalidSubjectError if there is none."""
    try:
        return one_array(lookup(name, parameters))
    except ValueError as error:
        raise InvalidSubjectError(str(error)) from None


def _ours(
    activation: Activation, parameters: dict[str, Any], framework: str | None = None
) -> Subject:
    """Return the subject of an activation; on the arrays of a framework it is like any callable."""
    bound = activation.bind(**parameters) if parameters else activation
    if framework not in (None, "numpy"):
        return _from_object(bound, {}, framework)
    return Subject(f"softgate:{label(bound)}", "softgate", path=_path(), held=bound)


def _from_object(
    target: Callable[..., Any], keywords: dict[str, Any], framework: str | None
) -> Subject:
    pairs, kind = tuple(keywords.items()), framework or framework_of(target)
    return Subject(_label(target), "object", "", "", pairs, kind, _path(), None, target)


def _refuse(text: str, keywords: dict[str, Any], why: str) -> None:
    for name, value in keywords.items():
        raise InvalidSubjectError(f"{text} was given {name}={value!r}: {why}")


def _file(text: str) -> Path:
    path = Path(text).expanduser()
    if not path.is_file():
        raise InvalidSubjectError(f"there is no file {text!r}")
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
        home = home_of(package)
        if home is not None:
            return home
    return None


def home_of(module: str) -> str | None:
    """Return the framework of the arrays that a module's functions take; None if unknown."""
    package, _, rest = module.partition(".")
    return HOMES.get(f"{package}.{rest.partition('.')[0]}") or HOMES.get(package)


def imported_frameworks(target: Any) -> list[str]:
    """Return the frameworks that the code of a callable imports, those of its module first."""
    plain = inspect.unwrap(getattr(target, "__func__", target))
    module = sys.modules.get(str(getattr(plain, "__module__", None) or type(plain).__module__))
    names = getattr(plain, "__globals__", None) or vars(module or object)
    packages = [
        value.__name__ if inspect.ismodule(value) else getattr(value, "__module__", None)
        for value in list(names.values())
    ]
    packages += getattr(getattr(plain, "__code__", None), "co_names", ())  # imported when called
    packages += [name for name in FRAMEWORKS if name in sys.modules]  # by a module it imports
    homes = [home_of(str(package)) for package in packages]
    return [home for home in dict.fromkeys(homes) if home is not None]


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
        raise InvalidSubjectError(
            f"{text} cannot be sent to a worker process ({error}): put it into a module and name "
            "it as 'module:function', or run it in this process, unguarded, with isolated=False"
        ) from None


def unpickled(text: str) -> Any:
    """Return the object that a description carries."""
    return pickle.loads(base64.b64decode(text))
