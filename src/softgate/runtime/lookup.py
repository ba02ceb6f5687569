"""`lookup`: the function that a name means, of softgate or of a framework.

A text is a name with parameters: `gelu`, `elu:alpha=0.5`, `gelu_new`, `torch.nn.GELU`. softgate's
names come first: "gelu" is softgate's gelu, x·Phi(x), although JAX's is the tanh form. Without a
source, a name that softgate lacks and that means two functions, as "HardSigmoid" does, raises an
error that lists both. Nothing but the catalogue is imported, so texts of files and records may be
looked up; `studies.subjects.user_code` reads texts that refer to code.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping
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


def get(name: str, source: str | None = None, **parameters: Any) -> Activation | Any:
    """Return softgate's function called `name`, else the one that a framework calls so.

    A name of softgate means softgate's function unless a source is given: "gelu" is x·Phi(x), which
    PyTorch, Keras, TensorFlow and Hugging Face call so too. In JAX and keras.ops it means gelu_tanh
    by default: get("gelu", source="jax"). `softgate names gelu` lists all of its meanings.

    Parameters
    ----------
    name : str
        softgate's name, or a framework's name or full path: "gelu", "gelu_new", "LeakyReLU",
        "torch.nn.GELU", "com.microsoft.FastGelu". Parameters may follow: "elu:alpha=0.5".
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
    return lookup(name, parameters, source=source)


def lookup(
    text: str,
    parameters: Mapping[str, Any] | None = None,
    *,
    source: str | None = None,
    prefer: Iterable[str] = (),
) -> Activation:
    """Return the function that a text names; raise ValueError or TypeError as `get` does.

    Without a `source`, softgate's names come first, then those of the frameworks in `prefer`, in
    this order, then those of all. `parameters` are added to those of the text.

    Examples
    --------
    >>> lookup("elu:alpha=0.5").parameters
    {'alpha': 0.5}
    >>> lookup("nn.gelu", prefer=["jax"]).name
    'gelu_tanh'
    """
    if not isinstance(text, str):
        raise TypeError(f"name is {a_type(text)}: expected a string, such as 'gelu'")
    name, keywords = parse(text)
    for argument in keywords.keys() & (parameters or {}).keys():
        raise ValueError(f"{text!r} gives {argument!r} twice")
    keywords |= parameters or {}
    if source is not None:
        return _named(name, source, keywords)
    if name in functions():
        _check_parameters(functions()[name], keywords, ("gate",), None)
        return functions()[name].bind(**keywords)
    for preferred in prefer:
        try:
            return _named(name, preferred, keywords)
        except UnknownName:
            continue
    return _named(name, None, keywords)


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


def one_array(function: Activation) -> Activation:
    """Return the function; raise ValueError if it takes two arrays."""
    if function.nin == 2:
        raise ValueError(
            f"{function.name!r} takes two arrays: expected a function of one, such as gelu"
        )
    return function


def records_of(source: str | None = None, name: str | None = None) -> Names:
    """Return the records of a source, or those of one name in any spelling: leaky_relu, LeakyReLU.

    `source` is that of `names`. Raises UnknownName for an unknown name, ValueError for a source.
    """
    records = catalogue_of_names()
    if source is not None:
        if not isinstance(source, str):
            raise TypeError(f"source is {a_type(source)}: expected one of {', '.join(SOURCES)}")
        key = SYNONYMS.get(source.casefold(), source)
        records = records.where(lambda r: r.source == key or r.path.startswith(f"{source}."))
        if not records:
            near = get_close_matches(source.casefold(), [*SOURCES, *SYNONYMS], 1)
            meant = f"; did you mean {near[0]!r}?" if near else ""
            raise ValueError(f"unknown source {source!r}: choose from {', '.join(SOURCES)}{meant}")
    if name is None:
        return records
    called = records.where(lambda r: r.answers(name.replace(":", "."), _letters))
    if not called:
        raise _unknown(name, source, records)
    return called


def record_at(path: str) -> Name | None:
    """Return the record of a full path that `names` lists, or None."""
    return next((r for r in catalogue_of_names() if path == r.path or path in r.also), None)


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


def _letters(name: str) -> str:
    return name.casefold().replace("_", "")


def _alike(records: Names, name: str) -> Names:
    """Return the records called `name`; if there are none, ignore the case of letters."""
    return records.where(lambda r: r.answers(name)) or records.where(
        lambda r: r.answers(name, str.casefold)
    )


def _named(name: str, source: str | None, parameters: Mapping[str, Any]) -> Activation:
    """Return what a source, or without one all frameworks that know the name, mean by it."""
    scope = records_of(source)
    records = _alike(scope, name)
    if source is not None:
        # Without a prefix (ops., com.microsoft.) if there are such: keras.activations.gelu.
        records = records.where(lambda r: r.name.casefold() == name.casefold()) or records
    if not records:
        raise _unknown(name, source, scope)
    if not any(record.implemented for record in records):
        raise _not_implemented(name, records)
    if len({record.function for record in records}) > 1:
        raise _ambiguous(name, records, parameters)
    # A path belongs to one source.
    in_source = source is not None or ("." in name and len({r.source for r in records}) == 1)
    meant = [_bound(record, parameters, in_source) for record in records]
    if len({tuple(function.parameters.items()) for function in meant}) > 1:
        raise _ambiguous(name, records, parameters)
    return meant[0]


def _bound(record: Name, parameters: Mapping[str, Any], in_source: bool) -> Activation:
    """Return the function of a record; `in_source` accepts its framework's parameters."""
    function, values, rest = record.function, dict(record.parameters), dict(parameters)
    # Forms choose the function, so they come before the parameters of the function.
    for argument in sorted(rest, key=lambda name: name not in record.forms) if in_source else ():
        value = rest[argument]
        if argument in record.forms:
            chosen = _form(record, argument, value)
            if chosen != record.function:
                function, values = chosen, {}
        elif argument in record.takes:
            other, _, ours = record.takes[argument].rpartition(".")
            if other:
                function, values = other, {}
            inverse, ours = ours.startswith("1/"), ours.removeprefix("1/")
            if ours in rest and ours != argument:
                raise TypeError(
                    f"{argument} of {record.path} is softgate's {ours}: give one of the two"
                )
            if inverse and not value:
                raise ValueError(
                    f"{argument} = {value!r} has no reciprocal, which softgate's {ours} is"
                )
            values[ours] = 1 / value if inverse else value
        elif argument not in record.ignores:
            continue
        del rest[argument]
    assert function is not None
    unbound = functions()[function]
    _check_parameters(unbound, rest, (), record if in_source else None)
    return unbound.bind(gate=record.gate, **values | rest)


def _form(record: Name, argument: str, value: Any) -> str:
    forms = record.forms[argument]
    for accepted, function in forms:
        if accepted == ("None" if value is None else value):
            return function
    known = ", ".join(f"{accepted} ({function})" for accepted, function in forms)
    note = f" ({record.note})" if record.note else ""
    raise ValueError(
        f"{record.path} with {argument}={value!r} is none of softgate's functions{note}; "
        f"known values: {known}"
    )


def _check_parameters(
    function: Activation,
    parameters: Mapping[str, Any],
    further: Iterable[str],
    record: Name | None,
) -> None:
    """Raise TypeError for a parameter that neither softgate nor the record's framework has."""
    ours = ", ".join(function.parameters) or "none"
    for argument, value in parameters.items():
        if argument in function.parameters or argument in further:
            continue
        if record is None:
            hint = hint_of_argument(function.name, argument, value)
            raise TypeError(
                f"{function.name} has no parameter {argument!r}: its parameters: {ours}; "
                f"{f'{hint}; ' if hint else ''}those of a framework are accepted with source="
            )
        theirs = ", ".join([*record.forms, *record.takes, *record.ignores]) or "none"
        note = f" ({record.note})" if record.note else ""
        raise TypeError(
            f"{record.path} is {function.name} and takes no {argument!r}{note}: "
            f"its parameters: {theirs}; softgate's: {ours}"
        )


def _ambiguous(name: str, records: Names, parameters: Mapping[str, Any]) -> AmbiguousName:
    meanings: dict[str, list[Name]] = {}
    for record in records:
        meanings.setdefault(_described(record), []).append(record)
    keywords = "".join(f", {key}={value!r}" for key, value in parameters.items())
    lines = [f"{name!r} means {len(meanings)} functions, and no source was given:"]
    choices = []
    for what, same in meanings.items():
        # A name with a prefix is shown with its path: in Keras, gelu is keras.activations.gelu;
        # keras.ops.gelu needs its full path.
        places = (SOURCES[r.source] + f" ({r.path})" * ("." in r.name) for r in same)
        lines.append(f"  {what}: in {', '.join(dict.fromkeys(places))}")
        usual = [r for r in same if "." not in r.name and r.source != "softgate"]
        choice = f'"{name}", source="{usual[0].source}"' if usual else f'"{same[0].path}"'
        choices.append(f"get({choice}{keywords})")
    paths = (same[0].path for same in meanings.values())
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
