"""The command line: one module a command, loaded when it is called.

Data goes to stdout, all else to stderr. Exit codes: 0 done, 1 a check or a comparison failed,
2 a mistake in what was asked for, which is answered in one line and never with a traceback.
"""

from __future__ import annotations

import io
import os
import sys
from importlib import import_module

import click

from softgate import __version__

COMMANDS = {
    "report": "one HTML page: which activation should I use, and what does it cost me here",
    "table": "values, slopes and differences at points; without arguments, three true tables",
    "properties": "range, minimum, smoothness, roots, gain and dead region, all computed",
    "plot": "curves to a file or into the terminal",
    "names": "what each name means in PyTorch, Keras, TensorFlow, JAX, Hugging Face, timm and ONNX",
    "identify": "which activation does a function, a module or a model compute, told by its values",
    "certify": "how exact a function of yours, of a framework, an ONNX file or a C library is",
    "bench": "ns per element of every activation in every implementation installed here",
    "emit": "source code in C, JavaScript or Triton, bounds stated, to take elsewhere",
    "diagnose": "dead, trapped and saturated units of a model on data, and how gradients flow",
    "compare": "train the same model with each activation, and say honestly what differs",
    "doctor": "versions, CPU features, threads, frameworks, and whether a kernel works here",
    "completion": "print the lines that make a shell complete softgate's commands and names",
}
"""Every command, a module of this package, and what it does: in the order they are shown."""

MISTAKES = (ValueError, TypeError, OSError, ImportError)
"""What the library raises when it was asked for the wrong thing."""

UNREADABLE = (
    click.MissingParameter,
    click.NoSuchOption,
    click.BadOptionUsage,
    click.BadArgumentUsage,
)
"""What click raises for a call that the help explains; other messages say themselves what to do."""


class Commands(click.Group):
    """The commands, each imported only when it is run or completed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order they are shown."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return one command, or None."""
        if cmd_name not in COMMANDS:
            return None
        found: click.Command = import_module(f".{cmd_name}", __name__).command
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands without loading any."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; where there is none, say which one may have been meant."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            from difflib import get_close_matches

            near = get_close_matches(args[0], COMMANDS, 1)
            meant = f" Did you mean {near[0]!r}?" if near else f" Commands: {', '.join(COMMANDS)}."
            ctx.fail(f"No such command {args[0]!r}.{meant}")
        return super().resolve_command(ctx, args)


@click.command(
    cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(__version__, "--version", message="softgate %(version)s")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
@click.pass_context
def softgate(ctx: click.Context, debug: bool) -> None:
    """Which activation, and what does it cost? softgate answers by computing."""
    ctx.obj = {"debug": debug}


def interrupted(error: BaseException | None) -> bool:
    """Tell whether an interrupt lies behind an error, such as a failed import."""
    while error is not None:
        if isinstance(error, KeyboardInterrupt):
            return True
        error = error.__cause__ or error.__context__
    return False


def one_line(message: object) -> str:
    """Return a message without line breaks, which click puts into lists of choices."""
    return " ".join(part.strip() for part in str(message).splitlines() if part.strip())


def show(error: click.ClickException) -> None:
    """Say in one line what was wrong with a call; called with nothing at all, show the help."""
    if isinstance(error, getattr(click.exceptions, "NoArgsIsHelpError", ())):  # since click 8.2
        error.show()
        return
    hint = ""
    if isinstance(error, UNREADABLE) and error.ctx is not None:
        hint = f" See {error.ctx.command_path} --help."
    click.echo(f"Error: {one_line(error.format_message())}{hint}", err=True)


def write_utf8() -> None:
    """Make the standard streams write every character: files and pipes get UTF-8.

    On Windows they have the encoding of the system otherwise, which has no φ.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and not stream.encoding.lower().startswith("utf"):
            if stream.isatty():
                stream.reconfigure(errors="replace")
            else:
                stream.reconfigure(encoding="utf-8")


def main() -> None:
    """Run the command line and leave with its exit code."""
    write_utf8()
    if sys.stdout is None:
        click.echo("Error: stdout is closed, and data would go there", err=True)
        sys.exit(1)
    try:
        code = softgate.main(prog_name="softgate", standalone_mode=False)
    except click.ClickException as error:
        show(error)
        code = error.exit_code
    except (click.Abort, KeyboardInterrupt):
        click.echo("Interrupted.", err=True)
        code = 130
    except BrokenPipeError:  # the reader has seen enough, as with `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    except MISTAKES as error:
        if "--debug" in sys.argv:
            raise
        code = 130 if interrupted(error) else 2
        click.echo("Interrupted." if code == 130 else f"Error: {one_line(error)}", err=True)
    sys.exit(code if isinstance(code, int) else 0)
