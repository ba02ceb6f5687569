"""Arguments of several commands: activations by name, NAME=VALUE pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import click
from click.shell_completion import CompletionItem

if TYPE_CHECKING:
    from softgate.runtime.activation import Activation

    ParamType = click.ParamType[Any]
else:
    ParamType = click.ParamType  # no subscripts before click 8.2


class ActivationType(ParamType):
    """An activation: `gelu`, `elu:alpha=0.5`, a framework's name, or a user's `module:function`."""

    name = "activation"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Activation:
        """Return the activation that `value` names."""
        if not isinstance(value, str):
            return cast("Activation", value)
        from softgate.studies.resolve import resolve_activation

        try:
            return resolve_activation(value)
        except (ValueError, TypeError, ImportError) as error:
            self.fail(str(error), param, ctx)

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Return the names that start with what was typed."""
        from softgate.runtime.registry import activations

        return [CompletionItem(n) for n in activations() if n.startswith(incomplete)]


class FunctionType(ActivationType):
    """An activation, or a gated one such as swiglu."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the function that `value` names."""
        from softgate.runtime.names import function
        from softgate.runtime.registry import gated

        if not isinstance(value, str) or value.partition(":")[0] not in gated():
            return super().convert(value, param, ctx)
        try:
            return function(value)
        except (ValueError, TypeError) as error:
            self.fail(str(error), param, ctx)


ACTIVATION, FUNCTION = ActivationType(), FunctionType()

DTYPES = ("float32", "float64", "float16", "bfloat16")
FRAMEWORKS = ("numpy", "torch", "jax", "tensorflow", "keras")

keywords_option = click.option(
    "--with",
    "keywords",
    multiple=True,
    metavar="NAME=VALUE",
    help="A further argument of the function, such as approximate=tanh; may be repeated.",
)
"""The option `--with` of commands that call a user's function, as `keywords`."""


def parse_keywords(texts: tuple[str, ...]) -> dict[str, Any]:
    """Return the arguments of `--with`."""
    from softgate.studies.resolve import literal

    pairs = parse_pairs("--with", texts, "approximate=tanh")
    return {name: literal(value) for name, value in pairs.items()}


def parse_pairs(option: str, texts: tuple[str, ...], example: str) -> dict[str, str]:
    """Return the NAME=VALUE pairs of an option, as text."""
    pairs = [text.partition("=") for text in texts]
    for text, (name, sign, _) in zip(texts, pairs, strict=True):
        if not sign or not name.isidentifier():
            raise click.UsageError(f"{option} {text}: write NAME=VALUE, such as {example}.")
    return {name: value for name, _, value in pairs}
