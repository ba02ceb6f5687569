"""Implementations of softgate's functions in other libraries (peers), looked up in `names.toml`.

`names.toml` maps each framework's names, with keyword arguments, to functions of the catalogue.
The peers of a function and their keyword arguments are derived from it.
Functions without a name in a framework (x·σ(1.702·x), squared ReLU) are composed of its operators;
Hugging Face has separate classes for composed forms.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Self

from softgate.runtime.activation import Activation
from softgate.runtime.lookup import records_of
from softgate.runtime.name_table import Name
from softgate.runtime.registry import activations, label


@dataclass(frozen=True)
class Implementation:
    """A library, or a way to call it (compiled, eager): a column of a table."""

    label: str
    title: str
    framework: str
    """The start of the name of the module that calls it ("torch_calls"), in a worker process."""
    needs: tuple[str, ...] = ()
    slow: str = ""
    """Why it is not timed by default; empty if it is."""
    backward: bool = True
    """Whether it has derivatives."""


IMPLEMENTATIONS = {
    implementation.label: implementation
    for implementation in (
        Implementation("softgate", "softgate on NumPy arrays", "softgate"),
        Implementation("torch", "PyTorch, eager", "torch", ("torch",)),
        Implementation(
            "torch.compile", "PyTorch, compiled", "torch", ("torch",),
            "takes about 10 s to compile a function",
        ),
        Implementation("jax", "jax.jit", "jax", ("jax",)),
        Implementation("tensorflow", "TensorFlow, eager", "tensorflow", ("tensorflow",)),
        Implementation(
            "tensorflow.function", "tf.function", "tensorflow", ("tensorflow",),
            "traces each function",
        ),
        Implementation(
            "tensorflow.xla", "tf.function(jit_compile=True)", "tensorflow", ("tensorflow",),
            "compiles each function",
        ),
        Implementation("keras", "Keras, on its configured backend", "keras", ("keras",)),
        Implementation(
            "onnxruntime", "onnxruntime", "onnxruntime", ("onnx", "onnxruntime"), backward=False
        ),
        Implementation("scipy", "NumPy and SciPy, in place", "scipy", ("scipy",)),
        Implementation(
            "textbook", "NumPy and scipy.stats, as in textbooks", "scipy", ("scipy",)
        ),
        Implementation(
            "scipy.erf", "x/2 * (1 + erf(x/√2))", "scipy", ("scipy",), "is one more form of gelu"
        ),
        Implementation(
            "transformers", "Hugging Face's decomposed forms", "torch", ("torch", "transformers")
        ),
        Implementation(
            "transformers.fast", "FastGELUActivation", "torch", ("torch", "transformers"),
            "is one more form of gelu_tanh",
        ),
        Implementation(
            "softgate.torch", "softgate on torch tensors", "torch", ("torch",),
            "runs the kernels that softgate runs",
        ),
        Implementation(
            "softgate.jax", "softgate under jax.jit", "jax", ("jax",),
            "runs the kernels that softgate runs",
        ),
        Implementation(
            "softgate.tensorflow", "softgate in tf.function", "tensorflow", ("tensorflow",),
            "runs the kernels that softgate runs",
        ),
    )
}  # fmt: skip
"""Every implementation, in the order of a table's columns."""

OPSET = 20
"""The oldest operator set that has Gelu."""
SEVERAL_INPUTS = ("BiasGelu", "Clip", "PRelu")
"""ONNX operators with a second input: a bias, a bound, slopes."""
TENSOR_PARAMETERS = ("torch.nn.functional.prelu",)
"""Functions whose parameters are tensors, not numbers."""


OURS = "softgate"
WITHIN = {
    "softgate.torch": ("softgate", "torch"),
    "softgate.jax": ("softgate.jax", "jax"),
    "softgate.tensorflow": ("softgate", "tensorflow"),
}
"""softgate's functions for a framework's arrays: their module, and the framework."""

PLACES: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "torch": ("torch", ("torch.nn.functional.", "torch.special.")),
    "torch.compile": ("torch", ("torch.nn.functional.", "torch.special.")),
    "jax": ("jax", ("jax.nn.", "jax.scipy.special.")),
    "tensorflow": ("tensorflow", ("tf.nn.",)),
    "tensorflow.function": ("tensorflow", ("tf.nn.",)),
    "tensorflow.xla": ("tensorflow", ("tf.nn.",)),
    "keras": ("keras", ("keras.activations.",)),
}
"""The source of an implementation's names, and the prefixes of their paths."""

MODULES = {"tf.nn": "tensorflow.nn"}

COMPOSED = {
    "torch": ("gelu_sigmoid", "squared_relu", "squareplus", "identity"),
    "jax": ("gelu_sigmoid", "squared_relu", "tanhshrink"),
}
"""Functions without a name in a framework, composed in `torch_calls` and `jax_calls`."""

TRANSFORMERS: Mapping[tuple[str, str], tuple[str, dict[str, Any]]] = {
    ("transformers", "gelu"): ("GELUActivation", {"use_gelu_python": True}),
    ("transformers", "gelu_tanh"): ("NewGELUActivation", {}),
    ("transformers", "gelu_sigmoid"): ("QuickGELUActivation", {}),
    ("transformers", "squared_relu"): ("ReLUSquaredActivation", {}),
    ("transformers.fast", "gelu_tanh"): ("FastGELUActivation", {}),
}
"""Hugging Face's classes that compose a function; its other classes call torch's functions."""

TEXTBOOK = {
    ("textbook", "gelu"): ("gelu", "z * norm.cdf(z), SciPy"),
    ("textbook", "gelu_tanh"): ("gelu_tanh", "0.5 * z * (1 + np.tanh(…)), NumPy"),
    ("scipy.erf", "gelu"): ("gelu_erf", "x/2 * (1 + erf(x/√2)), SciPy"),
}
"""Functions of `scipy_calls`, and their formulas."""


@dataclass(frozen=True)
class OnnxOperator:
    """An ONNX operator; it has no Python name, so a model of it is built."""

    operator: str
    domain: str
    opset: int


@dataclass(frozen=True)
class Peer:
    """One implementation of a function, as plain data that can be sent as JSON.

    `subject`, `keywords` and `framework` are what `softgate.certify` takes; see
    `subject` for ONNX operators.
    """

    function: str
    """What it computes, as commands take it: "gelu", "elu:alpha=0.5"."""
    implementation: str
    """A key of `IMPLEMENTATIONS`."""
    title: str
    subject: str = ""
    keywords: Mapping[str, Any] = field(default_factory=dict, hash=False)
    framework: str | None = None
    node: OnnxOperator | None = None
    usual: bool = True
    """Whether the function's parameters are the catalogue's defaults."""

    def message(self) -> dict[str, Any]:
        """Return the fields as JSON values."""
        return asdict(self)

    @classmethod
    def of(cls, message: Mapping[str, Any]) -> Self:
        """Return the peer that `message` describes."""
        node = message["node"]
        return cls(**{**message, "node": None if node is None else OnnxOperator(**node)})


def absent(implementation: str) -> str:
    """Return why an implementation cannot run here, or an empty string; imports no framework."""
    needs = IMPLEMENTATIONS[implementation].needs
    missing = [package for package in needs if find_spec(package) is None]
    if missing:
        return f"{' and '.join(missing)} not installed"
    if implementation == "torch.compile" and not any(map(shutil.which, ("c++", "g++", "clang++"))):
        return "no C++ compiler on the path"
    return ""


def peers(
    function: str | Activation, implementations: Iterable[str] = tuple(IMPLEMENTATIONS)
) -> dict[str, Peer]:
    """Return the peers of a function by implementation, installed or not.

    Parameters
    ----------
    function : str or Activation
        One of the catalogue by name, or any activation with its parameters.
    implementations : iterable of str
        Keys of `IMPLEMENTATIONS`.

    Examples
    --------
    >>> found = peers("gelu_tanh")
    >>> found["torch"].title
    "torch.nn.functional.gelu (approximate='tanh')"
    >>> found["tensorflow"].subject, found["tensorflow"].keywords
    ('tensorflow.nn:gelu', {'approximate': True})
    """
    activation = activations()[function] if isinstance(function, str) else function
    candidates = {name: _peer(activation, name) for name in implementations}
    return {name: peer for name, peer in candidates.items() if peer is not None}


def subject(peer: Peer, folder: Path) -> str:
    """Return the subject for `certify`; the model of an ONNX operator is written to `folder`."""
    if peer.node is None:
        return peer.subject
    from .timed_call import onnx_model

    file = folder / f"{peer.function.replace(':', '_')}.onnx"
    file.write_bytes(onnx_model(peer, "float32"))
    return str(file)


def _peer(activation: Activation, implementation: str) -> Peer | None:
    text, name = label(activation), activation.name
    ours = activation.entry.user is None and name in activations()
    usual = ours and activation.parameters == activations()[name].parameters
    if implementation == OURS:
        return Peer(text, OURS, f"softgate.{name}", f"softgate:{name}", usual=usual)
    if not ours:  # a user's formula
        return None
    if implementation in WITHIN:
        place, framework = WITHIN[implementation]
        keywords = {} if usual else dict(activation.parameters)
        title = f"softgate.{name} on {framework} arrays"
        return Peer(text, implementation, title, f"{place}:{name}", keywords, framework,
                    usual=usual)  # fmt: skip
    if implementation == "onnxruntime":
        return _onnx(activation, text)
    if implementation in PLACES:
        return _named(activation, text, implementation) or _composed(name, implementation, usual)
    return _formula(name, implementation) if usual else None


def _named(activation: Activation, text: str, implementation: str) -> Peer | None:
    source, beginnings = PLACES[implementation]
    for record, keywords in _records(activation, source):
        if record.path.startswith(beginnings):
            place, _, name = record.path.rpartition(".")
            return Peer(
                text, implementation, _title(record.path, keywords),
                f"{MODULES.get(place, place)}:{name}", keywords, source, usual=not keywords
                or activation.parameters == activations()[activation.name].parameters,
            )  # fmt: skip
    return None


def _onnx(activation: Activation, text: str) -> Peer | None:
    for record, keywords in _records(activation, "onnx"):
        domain, _, operator = record.path.rpartition(".")
        if operator in SEVERAL_INPUTS:
            continue
        private = domain != "ai.onnx"
        opset = OPSET if private else max(OPSET, record.since or OPSET)
        node = OnnxOperator(operator, domain if private else "", opset)
        return Peer(text, "onnxruntime", f"onnxruntime {_title(operator, keywords)}", "",
                    keywords, node=node)  # fmt: skip
    return None


def _composed(name: str, implementation: str, usual: bool) -> Peer | None:
    source, _ = PLACES[implementation]
    if not usual or name not in COMPOSED.get(source, ()):
        return None
    title = f"{name}, composed of {source}'s operators"
    calls = f"{__package__}.{source}_calls:{name}"
    return Peer(name, implementation, title, calls, framework=source)


def _formula(name: str, implementation: str) -> Peer | None:
    if (implementation, name) in TRANSFORMERS:
        kind, keywords = TRANSFORMERS[implementation, name]
        place = f"transformers.activations.{kind}"
        return Peer(name, implementation, _title(place, keywords),
                    f"transformers.activations:{kind}", keywords, "torch")  # fmt: skip
    if (implementation, name) in TEXTBOOK:
        function, title = TEXTBOOK[implementation, name]
        return Peer(name, implementation, title, f"{__package__}.scipy_calls:{function}")
    if implementation == "scipy" and name in _formulas():
        return Peer(
            name,
            implementation,
            f"{name}, NumPy and SciPy",
            f"softgate.studies.subjects.peers.formulas:{name}",
        )
    return None


def _formulas() -> Iterable[str]:
    if absent("scipy"):
        return ()
    from .formulas import FORMULAS

    return FORMULAS


def _records(activation: Activation, source: str) -> Iterator[tuple[Name, dict[str, Any]]]:
    """Yield the names of a function with the keywords they need, fewest keywords first."""
    pairs = [(record, keywords_for(record, activation)) for record in records_of(source)
             if record.path not in TENSOR_PARAMETERS]  # fmt: skip
    matching = [(record, keywords) for record, keywords in pairs
                if keywords is not None and not record.gated]  # fmt: skip
    yield from sorted(matching, key=lambda pair: len(pair[1]))


def keywords_for(record: Name, activation: Activation) -> dict[str, Any] | None:
    """Return the keywords with which a framework's function is `activation`; None without any.

    Examples
    --------
    >>> import softgate as sg
    >>> leaky = sg.names("tensorflow", name="leaky_relu")[0]
    >>> keywords_for(leaky, sg.leaky_relu), keywords_for(leaky, sg.relu)
    ({'alpha': 0.01}, None)
    """
    usual = dict(activations()[activation.name].parameters)
    if record.function == activation.name:
        return _parameters(record, usual | dict(record.parameters), activation.parameters)
    for parameter, values in record.forms.items():
        for value, function in values:
            if function == activation.name and activation.parameters == usual:
                return {parameter: value}
    return None


def _parameters(
    record: Name, has: Mapping[str, float], wanted: Mapping[str, Any]
) -> dict[str, Any] | None:
    theirs = {ours: name for name, ours in reversed(list(record.takes.items()))}
    keywords: dict[str, Any] = {}
    for name, value in wanted.items():
        if has.get(name) == value and theirs.get(name) not in record.required:
            continue
        if name in theirs:
            keywords[theirs[name]] = value
        elif f"1/{name}" in theirs:
            keywords[theirs[f"1/{name}"]] = 1 / value
        else:
            return None
    return keywords


def _title(path: str, keywords: Mapping[str, Any]) -> str:
    text = ", ".join(f"{name}={value!r}" for name, value in keywords.items())
    return f"{path} ({text})" if text else path
