"""Who implements which function, read from what frameworks' names mean.

`names.toml` says which function each name of a framework computes, and which keywords make it
another: so a peer is found for every function, with the parameters that are asked for, and no list
is kept here. What frameworks have no name for (x·σ(1.702·x), relu squared) is composed of what they
have, as people do; Hugging Face's decomposed forms are classes of their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from softgate.runtime.activation import Activation
from softgate.runtime.framework_names import Name
from softgate.runtime.names import names
from softgate.runtime.registry import activations, label

from .implementations import IMPLEMENTATIONS, absent
from .peer import Node, Peer

OPSET = 20
"""The oldest operator set that has Gelu."""


OURS = "softgate"
WITHIN = {"softgate.torch": ("softgate", "torch"), "softgate.jax": ("softgate.jax", "jax")}
"""Where our own functions are found within a framework, and which that is."""

PLACES: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "torch": ("torch", ("torch.nn.functional.", "torch.special.")),
    "torch.compile": ("torch", ("torch.nn.functional.", "torch.special.")),
    "jax": ("jax", ("jax.nn.", "jax.scipy.special.")),
    "tensorflow": ("tensorflow", ("tf.nn.",)),
    "tensorflow.xla": ("tensorflow", ("tf.nn.",)),
    "keras": ("keras", ("keras.activations.",)),
}
"""Where an implementation's functions are: the source of its names, and the beginnings of paths."""

MODULES = {"tf.nn": "tensorflow.nn"}

COMPOSED = {
    "torch": ("gelu_sigmoid", "squared_relu", "squareplus", "identity"),
    "jax": ("gelu_sigmoid", "squared_relu", "tanhshrink"),
}
"""What a framework has no name for, composed in `peers.composed_torch` and `peers.composed_jax`."""

TRANSFORMERS: Mapping[tuple[str, str], tuple[str, dict[str, Any]]] = {
    ("transformers", "gelu"): ("GELUActivation", {"use_gelu_python": True}),
    ("transformers", "gelu_tanh"): ("NewGELUActivation", {}),
    ("transformers", "gelu_sigmoid"): ("QuickGELUActivation", {}),
    ("transformers", "squared_relu"): ("ReLUSquaredActivation", {}),
    ("transformers.fast", "gelu_tanh"): ("FastGELUActivation", {}),
}
"""Hugging Face's classes that compose a function; its others are torch's own."""

TEXTBOOK = {
    ("textbook", "gelu"): ("gelu", "z * norm.cdf(z), SciPy"),
    ("textbook", "gelu_tanh"): ("gelu_tanh", "0.5 * z * (1 + np.tanh(…)), NumPy"),
    ("scipy.erf", "gelu"): ("gelu_erf", "x/2 * (1 + erf(x/√2)), SciPy"),
}
"""Functions of `peers.textbook`, and what they look like."""


def peers(
    function: str | Activation, implementations: Iterable[str] = tuple(IMPLEMENTATIONS)
) -> dict[str, Peer]:
    """Return who implements a function, by implementation, whether installed or not.

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
    found = {one: _peer(activation, one) for one in implementations}
    return {one: peer for one, peer in found.items() if peer is not None}


def subject(peer: Peer, folder: Path) -> str:
    """Return what `certify` takes: of an ONNX operator a model, which is written to `folder`."""
    if peer.node is None:
        return peer.subject
    from .models import model

    file = folder / f"{peer.function.replace(':', '_')}.onnx"
    file.write_bytes(model(peer, "float32"))
    return str(file)


def _peer(activation: Activation, implementation: str) -> Peer | None:
    text, name = label(activation), activation.name
    ours = activation.entry.user is None and name in activations()
    usual = ours and activation.parameters == activations()[name].parameters
    if implementation == OURS:
        return Peer(text, OURS, f"softgate.{name}", f"softgate:{name}", usual=usual)
    if not ours:  # nobody else has a user's own formula
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
        if operator == "BiasGelu":  # takes two inputs
            continue
        private = domain != "ai.onnx"
        node = Node(operator, domain if private else "", OPSET if private else _opset(record))
        return Peer(text, "onnxruntime", f"onnxruntime {_title(operator, keywords)}", "",
                    keywords, node=node)  # fmt: skip
    return None


def _opset(record: Name) -> int:
    return max(OPSET, record.since or OPSET)


def _composed(name: str, implementation: str, usual: bool) -> Peer | None:
    source, _ = PLACES[implementation]
    if not usual or name not in COMPOSED.get(source, ()):
        return None
    title = f"{name}, composed of {source}'s operators"
    return Peer(name, implementation, title, f"softgate.studies.peers.composed_{source}:{name}",
                framework=source)  # fmt: skip


def _formula(name: str, implementation: str) -> Peer | None:
    if (implementation, name) in TRANSFORMERS:
        kind, keywords = TRANSFORMERS[implementation, name]
        place = f"transformers.activations.{kind}"
        return Peer(name, implementation, _title(place, keywords),
                    f"transformers.activations:{kind}", keywords, "torch")  # fmt: skip
    if (implementation, name) in TEXTBOOK:
        function, title = TEXTBOOK[implementation, name]
        return Peer(name, implementation, title, f"softgate.studies.peers.textbook:{function}")
    if implementation == "scipy" and name in _formulas():
        return Peer(
            name, implementation, f"{name}, NumPy and SciPy", f"softgate.studies.peers.plain:{name}"
        )
    return None


def _formulas() -> Iterable[str]:
    if absent("scipy"):
        return ()
    from .plain import FORMULAS

    return FORMULAS


def _records(activation: Activation, source: str) -> Iterator[tuple[Name, dict[str, Any]]]:
    """Yield the names that mean a function and the keywords it takes, the fewest first."""
    known = [(record, keywords_for(record, activation)) for record in names(source)]
    found = [(record, given) for record, given in known if given is not None and not record.gated]
    yield from sorted(found, key=lambda pair: len(pair[1]))


def keywords_for(record: Name, activation: Activation) -> dict[str, Any] | None:
    """Return what a framework's function is called with to be `activation`; None where it is not.

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
    own = {ours: name for name, ours in reversed(list(record.takes.items()))}
    keywords: dict[str, Any] = {}
    for name, value in wanted.items():
        if has.get(name) == value:
            continue
        if name in own:
            keywords[own[name]] = value
        elif f"1/{name}" in own:
            keywords[own[f"1/{name}"]] = 1 / value
        else:
            return None
    return keywords


def _title(path: str, keywords: Mapping[str, Any]) -> str:
    given = ", ".join(f"{name}={value!r}" for name, value in keywords.items())
    return f"{path} ({given})" if given else path
