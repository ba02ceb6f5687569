"""Arguments of several commands: activations by name, NAME=VALUE pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

if TYPE_CHECKING:
    from softgate.runtime.activation import Activation
    from softgate.studies.subjects import PassedFunction

    ParamType = click.ParamType[Any]
else:
    ParamType = click.ParamType  # no subscripts before click 8.2


class FunctionParamType(ParamType):
    """A function in any form of the grammar: `gelu`, `elu:alpha=0.5`, `file.py:function`."""

    name = "function"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Activation | PassedFunction:
        """Return the function that `value` names."""
        from softgate.studies.subjects import resolved

        try:
            return resolved.function(value)
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
        from softgate.studies.subjects import resolved

        try:
            return resolved.activation(value)
        except (ValueError, TypeError, ImportError) as error:
            self.fail(str(error), param, ctx)


class PassedParamType(FunctionParamType):
    """A function in any form; code without a formula is called itself."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Activation | PassedFunction:
        """Return the function itself."""
        from softgate.studies.subjects import resolved

        try:
            return resolved.as_passed(value)
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


parameters_option = click.option(
    "--parameters",
    multiple=True,
    metavar="NAME=VALUE",
    help="Further arguments of the function, such as approximate=tanh; may be repeated.",
)
"""The option `--parameters` of commands that call a user's function."""


def parse_parameters(texts: tuple[str, ...]) -> dict[str, Any]:
    """Return the arguments of `--parameters`."""
    from softgate.runtime.lookup import literal

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
