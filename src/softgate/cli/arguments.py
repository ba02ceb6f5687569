"""Arguments of several commands: activations by name, NAME=VALUE pairs, former spellings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from softgate.runtime.deprecation import renamed_message

from .output import echo

if TYPE_CHECKING:
    from softgate.runtime.activation import Activation
    from softgate.runtime.gated import Gated
    from softgate.studies.subjects import PassedFunction

    ParamType = click.ParamType[Any]
else:
    ParamType = click.ParamType  # no subscripts before click 8.2


class FunctionParamType(ParamType):
    """A function in any form of the grammar: `gelu`, `elu:alpha=0.5`, `file.py:function`."""

    name = "function"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Activation | Gated | PassedFunction:
        """Return the function that `value` names."""
        from softgate.runtime import resolve

        try:
            return resolve.function(value)
        except (ValueError, TypeError, ImportError) as error:
            self.fail(str(error), param, ctx)

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Return the names that start with what was typed."""
        from softgate.runtime.registry import activations

        return [CompletionItem(n) for n in activations() if n.startswith(incomplete)]


class ActivationParamType(FunctionParamType):
    """A function of one array."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Activation:
        """Return the activation that `value` names."""
        from softgate.runtime import resolve

        try:
            return resolve.activation(value)
        except (ValueError, TypeError, ImportError) as error:
            self.fail(str(error), param, ctx)


class PassedParamType(FunctionParamType):
    """A function in any form; code without a formula is called itself."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Activation | Gated | PassedFunction:
        """Return the function itself."""
        from softgate.runtime import resolve

        try:
            return resolve.as_passed(value)
        except (ValueError, TypeError, ImportError) as error:
            self.fail(str(error), param, ctx)


ACTIVATION, FUNCTION, PASSED = ActivationParamType(), FunctionParamType(), PassedParamType()

FUNCTIONS = """A FUNCTION is a name (gelu, elu:alpha=0.5, gelu_new), a path that `softgate names`
prints (torch.nn.functional.gelu, torch.nn.functional:gelu), or a formula of yours
(@softgate.activation): module:function or file.py:function. Parameters follow a colon."""
"""End of the help of commands that need the definition of a function."""
CALLED = """A FUNCTION is a name (gelu, elu:alpha=0.5, gelu_new), a path that `softgate names`
prints (torch.nn.functional.gelu, torch.nn.functional:gelu), or code of yours: module:function or
file.py:function. Parameters follow a colon. Code that is not a formula (@softgate.activation) is
called itself; a class is instantiated first."""
"""End of the help of commands that call a function or evaluate its definition."""
CODE = """A FUNCTION is a name of softgate (gelu, elu:alpha=0.5, gelu_new), a path that `softgate
names` prints (torch.nn.functional.gelu, torch.nn.functional:gelu), code of yours (module:function
or file.py:function), model.onnx, one of its nodes as model.onnx:node, or ./library.so:symbol.
Parameters follow a colon. The function of the framework, file or library itself is called; a class
is instantiated first."""
"""End of the help of commands that run the code of a function."""
trust_option = click.option(
    "--trust", is_flag=True, help="Run Python code in the folder of a Hugging Face model."
)
"""The option `--trust` of commands that take a model."""
allow_missing_option = click.option(
    "--allow-missing", is_flag=True, help="Accept a checkpoint that lacks weights of the model."
)
"""The option `--allow-missing` of commands that take a model."""
MODELS = """A MODEL is a Hugging Face folder with safetensors, or a function or class that makes a
torch module, as module:function or file.py:function. DATA is a file, or a function that returns
batches, as module:function or file.py:function."""
"""End of the help of commands that run a model."""

DTYPES = ("float32", "float64", "float16", "bfloat16")
FRAMEWORKS = ("numpy", "torch", "jax", "tensorflow", "keras")


class Command(click.Command):
    """A command that accepts former spellings of its options, with a warning on stderr.

    Parameters
    ----------
    former : mapping of str to str
        Former options, and the present ones that have the same values.
    rewrite : callable, optional
        Returns the arguments with former options replaced by others of a different shape.
    suggest : callable, optional
        Returns what to write instead of an unknown option and its value, or None.
    """

    def __init__(
        self,
        *arguments: Any,
        former: Mapping[str, str] | None = None,
        rewrite: Callable[[list[str]], list[str]] | None = None,
        suggest: Callable[[str, str | None], str | None] | None = None,
        **keywords: Any,
    ) -> None:
        super().__init__(*arguments, **keywords)
        self.former, self.rewrite, self.suggest = dict(former or {}), rewrite, suggest

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments in their present spelling."""
        end = args.index("--") if "--" in args else len(args)
        options, rest = args[:end], args[end:]
        if self.rewrite is not None:
            options = self.rewrite(options)
        try:
            return super().parse_args(ctx, [*map(self._present, options), *rest])
        except click.NoSuchOption as error:
            value, _ = take_option(options, error.option_name)
            suggestion = None if self.suggest is None else self.suggest(error.option_name, value)
            if suggestion is None:
                raise
            message = f"No such option {error.option_name}: write {suggestion}."
            raise click.UsageError(message, ctx) from None

    def _present(self, word: str) -> str:
        """Return an argument with the present name of its option."""
        option, equals, value = word.partition("=")
        if option not in self.former:
            return word
        warn_renamed(option, self.former[option])
        return f"{self.former[option]}{equals}{value}"


def warn_renamed(old: str, new: str) -> None:
    """Print the warning that an option has a new name."""
    echo(f"Warning: {renamed_message(old, new)}", err=True)


def take_option(args: list[str], option: str) -> tuple[str | None, list[str]]:
    """Return the value of an option, or None, and the arguments without it.

    Examples
    --------
    >>> take_option(["gelu", "--from", "-3", "--log"], "--from")
    ('-3', ['gelu', '--log'])
    """
    for i, word in enumerate(args):
        if word == option and i + 1 < len(args):
            return args[i + 1], [*args[:i], *args[i + 2 :]]
        if word.startswith(f"{option}="):
            return word.partition("=")[2], [*args[:i], *args[i + 1 :]]
    return None, args


parameters_option = click.option(
    "--parameters",
    multiple=True,
    metavar="NAME=VALUE",
    help="Further arguments of the function, such as approximate=tanh; may be repeated.",
)
"""The option `--parameters` of commands that call a user's function."""


def parse_parameters(texts: tuple[str, ...]) -> dict[str, Any]:
    """Return the arguments of `--parameters`."""
    from softgate.runtime.names import literal

    pairs = parse_pairs("--parameters", texts, "approximate=tanh")
    return {name: literal(value) for name, value in pairs.items()}


def parse_pairs(option: str, texts: tuple[str, ...], example: str) -> dict[str, str]:
    """Return the NAME=VALUE pairs of an option, as text."""
    pairs = [text.partition("=") for text in texts]
    for text, (name, sign, _) in zip(texts, pairs, strict=True):
        if not sign or not name.isidentifier():
            raise click.UsageError(f"{option} {text}: write NAME=VALUE, such as {example}.")
    return {name: value for name, _, value in pairs}


time_limit_option = click.option(
    "--time-limit", type=float, default=60.0, show_default=True,
    help="Seconds for loading it, and for each call.",
)  # fmt: skip
"""The option of commands that call a function in a separate process."""
