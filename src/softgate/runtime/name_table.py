"""What each name means in each framework, as data: the records of names.toml.

The file is grouped by the frameworks' modules, so that a line holds only what differs from name to
name. It is read on first use.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any, ClassVar

from softgate.catalogue import entries
from softgate.records.record import Cell, Grid, Record

SOURCES = {
    "softgate": "softgate",
    "torch": "PyTorch",
    "keras": "Keras",
    "tensorflow": "TensorFlow",
    "jax": "JAX",
    "huggingface": "Hugging Face",
    "timm": "timm",
    "onnx": "ONNX",
}
"""Every source and its display name."""


@dataclass(frozen=True)
class Name:
    """One name in one framework, the function it computes by default, and its parameters.

    `takes` maps the framework's parameters to softgate's: "slope", "1/width" for the reciprocal,
    "silu.beta" if passing it selects another function. `forms` has the parameter values that
    select a function. `required` are those of `takes` without a default; `gate` is set if not
    softgate's operand is the gate. If softgate does not implement it, `function` is None and `note`
    describes it.
    """

    source: str
    name: str
    path: str
    function: str | None = None
    implemented: bool = True
    parameters: Mapping[str, float] = field(default_factory=dict, hash=False)
    takes: Mapping[str, str] = field(default_factory=dict, hash=False)
    forms: Mapping[str, tuple[tuple[Any, str], ...]] = field(default_factory=dict, hash=False)
    ignores: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    gated: bool = False
    gate: str | None = None
    since: int | None = None
    note: str = ""

    @property
    def computes(self) -> str:
        """The default form as a call of softgate's function."""
        if self.function is None:
            return "not implemented"
        values = [f"{name}={value:g}" for name, value in self.parameters.items()]
        values += [f'gate="{self.gate}"'] if self.gate is not None else []
        return f"{self.function}({', '.join(values)})" if values else self.function

    @property
    def switches(self) -> tuple[tuple[str, str], ...]:
        """The other forms: an argument, and the function that it selects."""
        return tuple(
            (f"{parameter}={value!r}", function)
            for parameter, values in self.forms.items()
            for value, function in values
            if function != self.function
        )

    def answers(self, name: str, like: Callable[[str], str] = str) -> bool:
        """Return whether `name` is the name or an end of the path: GELU, nn.GELU, torch.nn.GELU.

        `like` normalises both before the comparison, for example to lower case.
        """
        wanted = like(name)
        spellings = map(like, (self.name, self.path, *self.also))
        return any(spelled == wanted or spelled.endswith(f".{wanted}") for spelled in spellings)


@dataclass(frozen=True)
class Names(Record):
    """A sequence of `Name`, shown as a list or as a matrix of functions and frameworks.

    Examples
    --------
    >>> import softgate as sg
    >>> sg.names("jax")[2].computes
    'gelu_tanh'
    """

    schema: ClassVar[str] = "softgate.names"
    records: tuple[Name, ...]

    def __iter__(self) -> Iterator[Name]:
        return iter(self.records)

    def __len__(self) -> int:
        return len(self.records)

    def __getitem__(self, index: int) -> Name:
        return self.records[index]

    def where(self, condition: Callable[[Name], bool]) -> Names:
        """Return the names for which the condition holds."""
        return Names(tuple(filter(condition, self.records)))

    @property
    def sources(self) -> list[str]:
        """The sources that occur, in the order of `SOURCES`."""
        present = {name.source for name in self}
        return [source for source in SOURCES if source in present]

    @property
    def titles(self) -> list[str]:
        """The display names of the sources."""
        return [SOURCES[source] for source in self.sources]

    @property
    def many(self) -> bool:
        """Whether there are many functions in several frameworks."""
        return len(self.sources) > 2 and len({name.function for name in self}) > 4

    def grids(self) -> tuple[Grid, ...]:
        """Return the matrix if there are many functions in several frameworks, else a list."""
        return self.matrix() if self.many else (self.listing(),)

    def matrix(self) -> tuple[Grid, ...]:
        """Return a grid with each function's names in each framework, and one of those missing.

        A name is in the row of its default form; with an argument that selects another form, also
        in the row of that form.
        """
        known = [name for name in self if name.implemented]
        rows: dict[str, dict[str, list[str]]] = {}
        for name in known:
            forms = [(f"{name.name}({argument})", other) for argument, other in name.switches]
            for written, function in ((_cell(name), name.function or ""), *forms):
                rows.setdefault(function, {}).setdefault(name.source, []).append(written)
        columns = [source for source in self.sources if source != "softgate"]
        cells = []
        for function in sorted(rows, key=str.casefold):
            mine = dict.fromkeys([function, *rows[function].get("softgate", ())])
            cells.append(
                ("\n".join(mine), *("\n".join(rows[function].get(s, ())) for s in columns))
            )
        title = (
            "What each function is called: by default, or with an argument. In brackets: the "
            "default there, where softgate's is another"
        )
        header = ("softgate", *(SOURCES[source] for source in columns))
        rest = self.where(lambda name: not name.implemented)
        grids = (Grid(title, header, tuple(cells), text=True),)
        return (*grids, rest._missing()) if rest else grids

    def _missing(self) -> Grid:
        rows: dict[str, list[str]] = {}
        for name in self:
            rows.setdefault(name.note, []).append(name.path)
        cells = tuple(("\n".join(paths), note) for note, paths in rows.items())
        return Grid("Known, not implemented", ("name", "what it is"), cells, text=True)

    def listing(self) -> Grid:
        """Return a grid with a row for each name and all its fields."""
        header = ("source", "name", "computes", "path", "its parameters", "note")
        rows = (
            (SOURCES[n.source], n.name, n.computes, _version(n), _parameters(n), n.note)
            for n in self
        )
        return Grid("", header, tuple(rows), labels=2, text=True)

    def table(self) -> tuple[tuple[str, ...], list[tuple[Cell, ...]]]:
        """Return a row of data for each name."""
        header = ("source", "name", "path", "function", "parameters", "implemented", "note")
        rows: list[tuple[Cell, ...]] = []
        for n in self:
            values = ", ".join(f"{name}={value!r}" for name, value in n.parameters.items())
            rows.append((n.source, n.name, n.path, n.function, values, int(n.implemented), n.note))
        return header, rows


def _cell(name: Name) -> str:
    values = ", ".join(f"{parameter}={value:g}" for parameter, value in name.parameters.items())
    return f"{name.name} [{values}]" if values else name.name


def _version(name: Name) -> str:
    return name.path if name.since is None else f"{name.path}, version {name.since} on"


def _parameters(name: Name) -> str:
    parts = [f"{argument}: {function}" for argument, function in name.switches]
    parts += [p if p == ours else f"{p}: {ours}" for p, ours in name.takes.items()]
    return "; ".join(parts)


@cache
def catalogue_of_names() -> Names:
    """Return every name of every source, softgate's first."""
    with (files(__package__) / "names.toml").open("rb") as file:
        homes = tomllib.load(file)["home"]
    return Names((*_own(), *(name for home in homes for name in _of_home(home))))


def _own() -> Iterable[Name]:
    """Yield softgate's names and their aliases."""
    for entry in sorted(entries().values(), key=lambda entry: entry.nin):
        paths = {entry.name: f"softgate.{entry.name}"}
        paths |= {alias: f'softgate.get("{alias}", source="softgate")' for alias in entry.aliases}
        for name, path in paths.items():
            gated = entry.nin == 2
            yield Name("softgate", name, path, entry.name, gated=gated, note=entry.formula)


def _of_home(home: Mapping[str, Any]) -> Iterable[Name]:
    renamed = {"is": "function", "with": "parameters"}
    for name, row in home["names"].items():
        fields = {renamed.get(field, field): value for field, value in row.items()}
        fields.setdefault("also", [path.format(name) for path in home.get("also", ())])
        forms = {p: tuple(map(tuple, pairs)) for p, pairs in row.get("forms", {}).items()}
        tuples = {field: tuple(value) for field, value in fields.items() if isinstance(value, list)}
        yield Name(
            source=home["source"],
            name=home.get("prefix", "") + name,
            path=home["path"].format(name),
            implemented="is" in row,
            **fields | tuples | {"forms": forms},
        )
