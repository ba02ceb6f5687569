"""Functions by their names in frameworks.

softgate's names come first: "gelu" is softgate's gelu, x·Phi(x), although JAX's is the tanh form.
Without a source, a name that softgate lacks and that means two functions, as "HardSigmoid" does,
raises an error that lists both.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from typing import Any

from softgate.records.text import a_type

from .activation import Activation
from .name_table import SOURCES, Name, Names, catalogue_of_names
from .registry import functions

SYNONYMS = {
    "pytorch": "torch",
    "tf": "tensorflow",
    "hf": "huggingface",
    "transformers": "huggingface",
    "act2fn": "huggingface",
    "ai.onnx": "onnx",
    "sg": "softgate",
} | {title.casefold(): source for source, title in SOURCES.items()}


PARAMETERS = re.compile(r"(.+?):(\s*\w+\s*=[^:]*)")
"""A function and its parameters, which follow the last colon."""


class UnknownName(ValueError):
    """The name is unknown in all frameworks, or in the source."""


class AmbiguousName(ValueError):
    """The name means two functions and no source was given."""


class NotImplementedName(ValueError):
    """The name is known, but softgate does not implement its function."""


def names(source: str | None = None, *, name: str | Callable[..., Any] | None = None) -> Names:
    """Return what names mean in PyTorch, Keras, TensorFlow, JAX, Hugging Face, timm and ONNX.

    Parameters
    ----------
    source : str, optional
        One framework ("torch", "keras", "tensorflow", "jax", "huggingface", "timm", "onnx"),
        "softgate", or a module of one, such as "keras.ops". All of them by default.
    name : str or callable, optional
        One name, in any spelling: leaky_relu, LeakyReLU. For a function that is written otherwise,
        as "elu:alpha=0.5", "file.py:function" or a callable, the names of what it computes. All of
        them by default.

    Returns
    -------
    Names
        A sequence of records; its string is a table.

    Examples
    --------
    >>> import softgate as sg
    >>> [record.path for record in sg.names("keras", name="gelu")]
    ['keras.activations.gelu', 'keras.ops.gelu']
    >>> {record.path: record.computes for record in sg.names(name="nn.gelu")}
    {'torch.nn.GELU': 'gelu', 'tf.nn.gelu': 'gelu', 'jax.nn.gelu': 'gelu_tanh'}
    """
    scope = _of_source(source)
    if name is None:
        return scope
    if isinstance(name, str):
        records = tuple(r for r in scope if r.answers(name.replace(":", "."), _letters))
        if records:
            return Names(records)
        if not PARAMETERS.fullmatch(name) and ":" not in name:
            raise _unknown(name, source, scope)
    from softgate.studies.subjects.resolved import function as resolved

    meant = resolved(name, by_values=True).name
    records = tuple(record for record in scope if record.function == meant)
    if not records:
        raise UnknownName(f"{meant} has no name in {source or 'any framework'}")
    return Names(records)


def get(name: str, source: str | None = None, **parameters: Any) -> Activation | Any:
    """Return softgate's function called `name`, else the one that a framework calls so.

    A name of softgate means softgate's function unless a source is given: "gelu" is x·Phi(x), which
    PyTorch, Keras, TensorFlow and Hugging Face call so too. In JAX and keras.ops it means gelu_tanh
    by default: get("gelu", source="jax"). `softgate names gelu` lists all of its meanings.

    Parameters
    ----------
    name : str
        softgate's name, or a framework's name or full path: "gelu", "gelu_new", "LeakyReLU",
        "torch.nn.GELU", "com.microsoft.FastGelu".
    source : str, optional
        The framework of the name, as in `names`. Needed if softgate has no function of this name
        and frameworks use it for several.
    **parameters
        softgate's parameters, or with a source also those of the framework: `negative_slope=0.2`,
        `approximate="tanh"`.

    Returns
    -------
    Activation
        With the parameters bound. Few names refer to gated functions, so the annotation is
        Activation.

    Raises
    ------
    ValueError
        If the name is unknown, is none of softgate's and means several functions, or one that
        softgate does not implement.

    Examples
    --------
    >>> import softgate as sg
    >>> sg.get("gelu").name, sg.get("gelu_new").name
    ('gelu', 'gelu_tanh')
    >>> sg.get("gelu", source="jax").name, sg.get("keras.ops.gelu").name
    ('gelu_tanh', 'gelu_tanh')
    >>> sg.get("gelu", source="torch", approximate="tanh").name
    'gelu_tanh'
    >>> sg.get("leaky_relu", source="tensorflow")
    <softgate.leaky_relu(x, slope=0.2) = x where x > 0, else slope*x>
    """
    if not isinstance(name, str):
        raise TypeError(f"name is {a_type(name)}: expected a string, such as 'gelu'")
    if source is None and name in functions():
        known = functions()[name]
        for argument, value in parameters.items():
            if argument not in (*known.parameters, "gate"):
                raise TypeError(_no_such_parameter(None, name, argument, value))
        return known.bind(**parameters)
    scope = _of_source(source)
    records = _alike(scope, name) if source is None else _nearest(scope, name)
    if not records:
        raise _unknown(name, source, scope)
    if not any(record.implemented for record in records):
        raise _not_implemented(name, records)
    if len({record.function for record in records}) > 1:
        raise _ambiguous(name, records, parameters)
    if source is None and "." in name and len({record.source for record in records}) == 1:
        source = records[0].source  # a path belongs to one source
    meant = [_bound(record, parameters, source) for record in records]
    if len({tuple(function.parameters.items()) for function in meant}) > 1:
        raise _ambiguous(name, records, parameters)
    return meant[0]


def parse(text: str) -> tuple[str, dict[str, Any]]:
    """Return the function and the parameters of a text such as "elu:alpha=0.5"; raise ValueError.

    Examples
    --------
    >>> parse("elu:alpha=0.5"), parse("torch.nn.functional:gelu")
    (('elu', {'alpha': 0.5}), ('torch.nn.functional:gelu', {}))
    """
    match = PARAMETERS.fullmatch(text)
    name, rest = match.groups() if match else (text, None)
    if match is None and text.partition(":")[0] in functions():
        name, colon, rest = text.partition(":")
        rest = rest if colon else None
    parameters: dict[str, Any] = {}
    for part in () if rest is None else rest.split(","):
        parameter, sign, value = (side.strip() for side in part.partition("="))
        if parameter in parameters:
            raise ValueError(f"{text!r} gives {parameter!r} twice")
        if not sign or not value or not parameter.isidentifier():
            raise ValueError(f"{text!r}: {part!r} is not a parameter; write {name}:parameter=value")
        parameters[parameter] = literal(value)
    return name, parameters


def literal(text: str) -> Any:
    """Return the value of a Python literal, or the text unchanged if it is not a literal.

    Examples
    --------
    >>> literal("0.5"), literal("False"), literal("tanh")
    (0.5, False, 'tanh')
    """
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def nearest(name: str, known: Iterable[str]) -> list[str]:
    """Return the names that a user may mean by `name`: the function it denotes, or close matches.

    Examples
    --------
    >>> nearest("swish", ()), nearest("GELU", ()), nearest("certfy", ["certify", "compare"])
    (['silu'], ['gelu'], ['certify'])
    """
    records = _alike(catalogue_of_names(), name)
    meanings = dict.fromkeys(r.function for r in records if r.function is not None)
    if meanings:
        return list(meanings)
    spelled = {candidate.casefold(): candidate for candidate in known}
    return [spelled[near] for near in get_close_matches(name.casefold(), spelled, 2)]


def function(text: str) -> Activation:
    """Return the function that a text such as "swiglu" or "elu:alpha=0.5" names.

    For texts from records: nothing is imported. `studies.subjects.resolved` accepts what users
    write. Raises ValueError as `get` does.
    """
    name, parameters = parse(text)
    meant: Activation = get(name, None, **parameters)
    return meant


def _letters(name: str) -> str:
    return name.casefold().replace("_", "")


def _of_source(source: str | None) -> Names:
    """Return the names of one framework, or of one of its modules; raise if it is unknown."""
    known = catalogue_of_names()
    if source is None:
        return known
    if not isinstance(source, str):
        raise TypeError(f"source is {a_type(source)}: expected one of {', '.join(SOURCES)}")
    key = SYNONYMS.get(source.casefold(), source)
    records = Names(tuple(r for r in known if r.source == key or r.path.startswith(f"{source}.")))
    if not records:
        near = get_close_matches(source.casefold(), [*SOURCES, *SYNONYMS], 1)
        meant = f"; did you mean {near[0]!r}?" if near else ""
        raise ValueError(f"unknown source {source!r}: choose from {', '.join(SOURCES)}{meant}")
    return records


def _alike(scope: Names, name: str) -> Names:
    """Return the records called `name`; if there are none, ignore the case of letters."""
    exact = Names(tuple(r for r in scope if r.answers(name)))
    return exact or Names(tuple(r for r in scope if r.answers(name, str.casefold)))


def _nearest(scope: Names, name: str) -> Names:
    """Return the preferred records of `name`: keras.activations.gelu before keras.ops.gelu.

    Names with a prefix (ops., com.microsoft.) are returned only if there are none without.
    """
    records = _alike(scope, name)
    return Names(tuple(r for r in records if r.name.casefold() == name.casefold())) or records


def _bound(record: Name, parameters: Mapping[str, Any], source: str | None) -> Activation:
    """Return the function of a record, bound to the record's parameters and `parameters`."""
    function, values, rest = record.function, dict(record.parameters), dict(parameters)
    if source is not None:
        function, values = _translate(record, rest)
    assert function is not None
    unbound = functions()[function]
    for argument, value in rest.items():
        if argument not in unbound.parameters:
            shown = None if source is None else record
            raise TypeError(_no_such_parameter(shown, function, argument, value))
    return unbound.bind(gate=record.gate, **values | rest)


def _translate(record: Name, keywords: dict[str, Any]) -> tuple[str | None, dict[str, float]]:
    """Remove a framework's parameters from `keywords`; return the function and its parameters."""
    function, forms, takes = record.function, record.forms, record.takes
    values = dict(record.parameters)
    for argument in [name for name in keywords if name in forms]:
        value = keywords.pop(argument)
        chosen = _form(record, argument, value, forms[argument])
        if chosen != record.function:
            function, values = chosen, {}
    for argument in [name for name in keywords if name in takes]:
        other, _, ours = takes[argument].rpartition(".")
        if other:
            function, values = other, {}
        value, inverse = keywords.pop(argument), ours.startswith("1/")
        ours = ours.removeprefix("1/")
        if ours in keywords:
            raise TypeError(
                f"{argument} of {record.path} is softgate's {ours}: give one of the two"
            )
        if inverse and not value:
            raise ValueError(
                f"{argument} = {value!r} has no reciprocal, which softgate's {ours} is"
            )
        values[ours] = 1 / value if inverse else value
    for argument in record.ignores:
        keywords.pop(argument, None)
    return function, values


def _form(record: Name, argument: str, value: Any, forms: Iterable[tuple[Any, str]]) -> str:
    for accepted, function in forms:
        if accepted == ("None" if value is None else value):
            return function
    known = ", ".join(f"{accepted} ({function})" for accepted, function in forms)
    note = f" ({record.note})" if record.note else ""
    raise ValueError(
        f"{record.path} with {argument}={value!r} is none of softgate's functions{note}; "
        f"known values: {known}"
    )


def hint_of_argument(function: str, argument: str, value: Any) -> str:
    """Return what a framework's argument of the function of this name means; "" if unknown.

    Examples
    --------
    >>> hint_of_argument("gelu", "approximate", "tanh")
    "approximate='tanh' in PyTorch is softgate.gelu_tanh"
    >>> hint_of_argument("leaky_relu", "negative_slope", 0.2)
    'negative_slope in PyTorch is slope'
    """
    for record in catalogue_of_names():
        if _letters(record.name) != _letters(function):
            continue
        for accepted, meant in record.forms.get(argument, ()):
            if accepted == value and type(accepted) is type(value):
                where = SOURCES[record.source]
                return f"{argument}={value!r} in {where} is softgate.{meant}"
        if argument in record.takes and record.function == function:
            return f"{argument} in {SOURCES[record.source]} is {record.takes[argument]}"
    return ""


def _no_such_parameter(record: Name | None, function: str, argument: str, value: Any) -> str:
    """Return the message for an argument that neither softgate nor the record's framework has."""
    ours = ", ".join(functions()[function].parameters) or "none"
    if record is None:
        hint = hint_of_argument(function, argument, value)
        return (
            f"{function} has no parameter {argument!r}: its parameters: {ours}; "
            f"{f'{hint}; ' if hint else ''}those of a framework are accepted with source="
        )
    theirs = ", ".join([*record.forms, *record.takes, *record.ignores]) or "none"
    note = f" ({record.note})" if record.note else ""
    return (
        f"{record.path} is {function} and takes no {argument!r}{note}: "
        f"its parameters: {theirs}; softgate's: {ours}"
    )


def _sources(records: Iterable[Name]) -> str:
    """Return the sources of names as text, with the path of names that have a prefix."""
    titles = []
    for record in records:
        place = f" ({record.path})" if "." in record.name else ""
        titles.append(SOURCES[record.source] + place)
    return ", ".join(dict.fromkeys(titles))


def _ambiguous(name: str, records: Names, parameters: Mapping[str, Any]) -> AmbiguousName:
    meanings: dict[str, list[Name]] = {}
    for record in records:
        meanings.setdefault(_described(record), []).append(record)
    keywords = "".join(f", {key}={value!r}" for key, value in parameters.items())
    lines = [f"{name!r} means {len(meanings)} functions, and no source was given:"]
    choices, paths = [], []
    for what, same in meanings.items():
        lines.append(f"  {what}: in {_sources(same)}")
        # In Keras, gelu is keras.activations.gelu; keras.ops.gelu needs its full path.
        usual = [r for r in same if "." not in r.name and r.source != "softgate"]
        choice = f'"{name}", source="{usual[0].source}"' if usual else f'"{same[0].path}"'
        choices.append(f"get({choice}{keywords})")
        paths.append(same[0].path)
    write = f"Write {' or '.join(choices)}; in a command {' or '.join(paths)}."
    return AmbiguousName("\n".join([*lines, write]))


def _described(record: Name) -> str:
    """Return what a record computes by default, with all parameters and its formula."""
    if record.function is None:
        return f"{record.note} (not implemented)"
    bound = functions()[record.function].bind(**record.parameters)
    arguments = "".join(f", {name}={value:g}" for name, value in bound.parameters.items())
    return f"{record.function}(x{arguments}) = {bound.entry.formula}"


def _not_implemented(name: str, records: Names) -> NotImplementedName:
    what = "; ".join(dict.fromkeys(record.note for record in records))
    where = ", ".join(record.path for record in records)
    return NotImplementedName(
        f"{name!r} is known and softgate does not have it: {what} ({where}). "
        "@softgate.activation makes an activation of a formula in x alone."
    )


def _unknown(name: str, source: str | None, scope: Names) -> UnknownName:
    spelled: dict[str, list[Name]] = {}
    for record in scope:
        spelled.setdefault(record.name.rpartition(".")[2].casefold(), []).append(record)
    near = get_close_matches(name.casefold().rpartition(".")[2], spelled, 3)
    meant = [
        f"{spelled[key][0].name!r} ({', '.join(Names(tuple(spelled[key])).titles)})" for key in near
    ]
    text = f"unknown name {name if len(name) < 60 else name[:60] + '…'!r}"
    if source is not None:
        elsewhere = _alike(catalogue_of_names(), name)
        text += f" in {source}"
        text += f", a name in {', '.join(elsewhere.titles)}" if elsewhere else ""
    hint = f"did you mean {' or '.join(meant)}?" if meant else "`softgate names` lists all."
    return UnknownName(f"{text}; {hint}")
