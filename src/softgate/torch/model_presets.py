"""Facts about published models, and blocks built from them.

A preset describes one block of a published model: widths, activation, position of norms, dropout.
`omits` lists parts of the model's blocks that softgate's blocks lack. Tests compare the
feed-forward block, and the whole block except for what is omitted, with Hugging Face's.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, fields, replace
from functools import cache
from importlib.resources import files
from inspect import signature
from typing import Any, ClassVar

from softgate.frameworks.block_arguments import check_widths, is_gated, unknown
from softgate.records.record import Cell, Grid, Record

from .feed_forward import FeedForward, GatedFeedForward
from .modules import NAME_SOURCES
from .transformer import Norm, Normalization, Stack, TransformerBlock


@dataclass(frozen=True)
class Preset(Record):
    """The facts about a model, with `feed_forward`, `block` and `stack` to build it.

    Keywords replace facts, for a smaller model of the same kind. Dependent facts follow: the number
    of queries per key and value head stays when only `n_heads` changes, and `d_head` is
    d_model/n_heads when `d_model` changes.

    Examples
    --------
    >>> bert = preset("bert-base")
    >>> bert.n_blocks, bert.d_model, bert.d_hidden, bert.activation, bert.pooler
    (12, 768, 3072, 'gelu', 'tanh')
    """

    schema: ClassVar[str] = "softgate.preset"
    name: str
    model: str
    n_blocks: int
    d_model: int
    n_heads: int
    d_hidden: int
    activation: str
    norm: Norm
    normalization: Normalization = "layer"
    eps: float = 1e-5
    bias: bool = True
    causal: bool = False
    dropout: float = 0.0
    attention_dropout: float | None = None
    hidden_dropout: float = 0.0
    n_kv_heads: int | None = None
    d_head: int | None = None
    scale: float | None = None
    pooler: str | None = None
    """Activation of the pooler, which is not part of the stack."""
    omits: tuple[str, ...] = ()
    """Parts of the model's blocks that softgate's blocks lack."""
    note: str = ""
    source: str = ""

    def feed_forward(self, **changes: Any) -> FeedForward | GatedFeedForward:
        """Return the model's feed-forward block; `changes` replace facts or are its options.

        Examples
        --------
        >>> preset("llama").feed_forward(d_model=8, d_hidden=24).act
        Activation(silu, beta=1)
        """
        made, options = self._changed(changes)
        make: Any = GatedFeedForward if is_gated(made.activation, NAME_SOURCES) else FeedForward
        shape = {name: getattr(made, name) for name in ("bias", "dropout", "hidden_dropout")}
        block: FeedForward | GatedFeedForward = make(
            made.d_model, made.d_hidden, made.activation, **(shape | options)
        )
        return block

    def block(self, **changes: Any) -> TransformerBlock:
        """Return one block, without what `omits` names; sequences come first unless changed.

        Examples
        --------
        >>> preset("gpt2").block(d_model=8, n_heads=2, d_hidden=32).attention.causal
        True
        >>> preset("mistral").block(d_model=64, n_heads=8, d_hidden=96).attention.n_kv_heads
        2
        """
        made, options = self._changed(changes)
        return TransformerBlock(
            made.d_model, made.n_heads, made.d_hidden, **(made._options() | options)
        )

    def stack(self, n: int | None = None, **changes: Any) -> Stack:
        """Return `n` blocks, as many as the model has by default, and its final norm if any.

        Embeddings, pooler and heads are not part of it.
        """
        if n is not None:
            if "n_blocks" in changes:
                raise TypeError("n and n_blocks have the same meaning: give only one of them")
            changes["n_blocks"] = n
        made, options = self._changed(changes)
        shape = (getattr(made, name) for name in _SHAPE)
        return Stack(*shape, **(made._options() | options))

    def _options(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in _OPTIONS}

    def _changed(self, changes: dict[str, Any]) -> tuple[Preset, dict[str, Any]]:
        """Return the preset with changed facts, and the changes that are options of the block."""
        facts = {name: changes[name] for name in changes if name in _FACTS}
        options = {name: changes[name] for name in changes if name not in facts}
        if "d_model" in facts and self.d_head is not None:
            facts.setdefault("d_head", None)
        if "n_heads" in facts and self.n_kv_heads is not None and "n_kv_heads" not in facts:
            facts["n_kv_heads"] = self._shared(*check_widths(n_heads=facts["n_heads"]))
        return replace(self, **facts), options

    def _shared(self, n_heads: int) -> int:
        """Return the number of key and value heads for `n_heads` queries, in the model's ratio."""
        assert self.n_kv_heads is not None
        times = self.n_heads // self.n_kv_heads
        if n_heads % times:
            raise ValueError(
                f"n_heads = {n_heads} is not a multiple of {times}, the queries that share a key "
                f"and value head in {self.name}: change it or give n_kv_heads"
            )
        return n_heads // times

    def _shown(self) -> list[tuple[str, Any]]:
        pairs = [(field.name, getattr(self, field.name)) for field in fields(self)]
        return [(name, value) for name, value in pairs if value not in (None, "", ())]

    def grids(self) -> tuple[Grid, ...]:
        """Return the facts, one a line."""
        rows = tuple((name, _text(value)) for name, value in self._shown())
        return (Grid("", ("fact", "value"), rows, text=True),)

    def table(self) -> tuple[tuple[str, ...], list[tuple[Cell, ...]]]:
        """Return the facts as rows."""
        return ("fact", "value"), [(name, _text(value)) for name, value in self._shown()]


_SHAPE = ("n_blocks", "d_model", "n_heads", "d_hidden")
_OPTIONS = tuple(
    field.name
    for field in fields(Preset)
    if field.name in signature(TransformerBlock).parameters and field.name not in _SHAPE
)
_FACTS = (*_SHAPE, *_OPTIONS)


def _text(value: Any) -> str:
    return "; ".join(value) if isinstance(value, tuple) else str(value)


def preset(name: str) -> Preset:
    """Return the facts of a model by its name.

    Examples
    --------
    >>> print(preset("gemma").activation, preset("gemma").d_hidden)
    geglu_tanh 24576
    >>> preset("bert")
    Traceback (most recent call last):
    ...
    ValueError: unknown preset 'bert'; did you mean 'bert-base'? Choose from: transformer, ...
    """
    if not isinstance(name, str):
        raise TypeError(f"name is {name!r}: expected a string, such as 'bert-base'")
    known = _known()
    if name not in known:
        raise unknown("preset", name, known)
    return known[name]


def known_presets() -> tuple[Preset, ...]:
    """Return all presets.

    Examples
    --------
    >>> [p.name for p in known_presets() if p.activation in ("gelu", "gelu_tanh")]
    ['bert-base', 'bert-large', 'gpt2', 'vit']
    """
    return tuple(_known().values())


@cache
def _known() -> dict[str, Preset]:
    """Return the presets of the TOML file; `like` names a preset to take missing facts from."""
    content = tomllib.loads(files(__package__).joinpath("model_presets.toml").read_text("utf-8"))
    presets: dict[str, Preset] = {}
    for name, facts in content.items():
        if "omits" in facts:
            facts["omits"] = tuple(facts["omits"])
        like = facts.pop("like", None)
        base = replace(presets[like], name=name, **facts) if like else Preset(name, **facts)
        presets[name] = base
    return presets
