"""The command line: one module for each command, imported when the command runs.

Data goes to stdout, all else to stderr. Exit codes: 0 success, 1 a check or a comparison failed,
2 a usage error, which is reported in one line without a traceback.
"""

from __future__ import annotations

import io
import os
import signal
import sys
from importlib import import_module
from pathlib import Path

import click

from softgate import __version__
from softgate.records.packages import explained
from softgate.records.text import ERRORS, message_line

COMMANDS = {
    "report": "one HTML page: which activation to use, and what it costs on this machine",
    "table": "values, slopes and differences at points; without arguments, three exact tables",
    "properties": "range, minimum, smoothness, roots, gain and flat region, all computed",
    "plot": "curves in a file or in the terminal",
    "names": "names of functions in PyTorch, Keras, TensorFlow, JAX, Hugging Face, timm and ONNX",
    "identify": "which activation a function, a module or a model computes, by its values",
    "scan": "every activation inside a model, and which function it computes",
    "swap": "other activations inside an ONNX file, or the same ones in other operators",
    "parity": "two models on the same inputs: their outputs and activations, and where they differ",
    "certify": "how accurate your function, or one of a framework, ONNX file or C library, is",
    "bench": "ns per element of every activation in every implementation installed here",
    "emit": "source code in C, for GPUs and browsers, or an ONNX model",
    "diagnose": "dead, trapped and saturated units of a model on data, and how gradients flow",
    "compare": "train the same model with each activation, and test what differs",
    "doctor": "versions, CPU, threads, frameworks, and whether the published bits are computed",
    "completion": "print the script with which a shell completes commands and names",
}
"""Every command and what it does, in the order of the help; all but the last are modules."""

MISTAKES = (ValueError, TypeError, OSError, ImportError, MemoryError)
"""Errors of the library and of the machine that are reported in one line."""

COMPLETE = "_SOFTGATE_COMPLETE"
"""The environment variable by which a shell's completion script calls the program."""

UNREADABLE = (
    click.MissingParameter,
    click.NoSuchOption,
    click.BadOptionUsage,
    click.BadArgumentUsage,
)
"""Errors of click that the help explains; the messages of others are complete."""


class Commands(click.Group):
    """The commands, each imported only when it runs or is completed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order of the help."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command, or None if there is none of that name."""
        if cmd_name == "completion":
            return completion
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(f".{cmd_name}", __name__).command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands without importing any."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command; raise a usage error with the nearest name if there is none."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            from difflib import get_close_matches

            near = get_close_matches(args[0], COMMANDS, 1)
            hint = f" Did you mean {near[0]!r}?" if near else f" Commands: {', '.join(COMMANDS)}."
            ctx.fail(f"No such command {args[0]!r}.{hint}")
        return super().resolve_command(ctx, args)


@click.command(
    cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(__version__, "--version", message="softgate %(version)s")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
@click.pass_context
def softgate(ctx: click.Context, debug: bool) -> None:
    """Activation functions: their values, properties, accuracy, speed and effect on training."""
    ctx.obj = {"debug": debug}


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the script with which SHELL completes commands, options and activations.

    \b
    bash:  softgate completion bash >> ~/.bashrc
    zsh:   softgate completion zsh >> ~/.zshrc
    fish:  softgate completion fish > ~/.config/fish/completions/softgate.fish
    """
    from click.shell_completion import get_completion_class

    script = get_completion_class(shell)
    assert script is not None
    click.echo(script(ctx.find_root().command, {}, "softgate", COMPLETE).source())


def check_completion() -> None:
    """Raise a usage error if a shell's completion lacks a variable, for which click has none."""
    if os.environ.get(COMPLETE, "").endswith("_complete"):
        for name in ("COMP_WORDS", "COMP_CWORD"):
            if name not in os.environ:
                raise click.UsageError(
                    f"{COMPLETE} is set without {name}: unset it, or use the script that "
                    "`softgate completion` prints."
                )


def interrupted(error: BaseException | None) -> bool:
    """Return whether an error, such as a failed import, was caused by an interrupt."""
    while error is not None:
        if isinstance(error, KeyboardInterrupt):
            return True
        error = error.__cause__ or error.__context__
    return False


def show(error: click.ClickException) -> None:
    """Print a usage error in one line; without any arguments, print the help."""
    if isinstance(error, getattr(click.exceptions, "NoArgsIsHelpError", ())):  # since click 8.2
        error.show()
        return
    hint = ""
    if isinstance(error, UNREADABLE) and error.ctx is not None:
        hint = f" See {error.ctx.command_path} --help."
    click.echo(f"Error: {message_line(error.format_message())}{hint}", err=True)


def report_mistake(error: Exception) -> int:
    """Print an error in one line; return the exit code."""
    message: object = explained(error) if isinstance(error, ImportError) else error
    if isinstance(error, MemoryError):
        message = f"not enough memory: {error}" if str(error) else "not enough memory"
    click.echo(f"Error: {message_line(message)}", err=True)
    return 2


def set_encoding() -> None:
    """Make the standard streams accept every character.

    Files and pipes become UTF-8, as the default on Windows is the system's encoding, which lacks φ.
    In terminals and with PYTHONIOENCODING the encoding stays, and what it lacks is replaced.
    """
    chosen = "PYTHONIOENCODING" in os.environ
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            if chosen or stream.isatty() or stream.encoding.lower().startswith("utf"):
                stream.reconfigure(errors=ERRORS)
            else:
                stream.reconfigure(encoding="utf-8", errors=ERRORS)


class Termination:
    """Ends the command as an interrupt does when the system or a terminal ends the process.

    Without it, temporary folders and worker processes would remain.
    """

    number: int | None = None
    """The signal that arrived."""

    def install(self) -> None:
        """Handle the signals that end a process, except those that the caller ignores (nohup)."""
        for name in ("SIGTERM", "SIGHUP"):
            number = getattr(signal, name, None)
            if number is not None and signal.getsignal(number) is signal.SIG_DFL:
                signal.signal(number, self._handle)

    def _handle(self, number: int, _: object) -> None:
        signal.signal(number, signal.SIG_DFL)  # a second signal ends the process at once
        self.number = number
        raise KeyboardInterrupt

    def report(self) -> int:
        """Print that the command was ended; return the exit code that shells expect."""
        if self.number is None:
            click.echo("Interrupted.", err=True)
            return 128 + signal.SIGINT
        click.echo(f"Ended by {signal.Signals(self.number).name}.", err=True)
        return 128 + self.number


def main() -> None:
    """Run the command line and exit with its code."""
    set_encoding()
    termination = Termination()
    termination.install()
    if sys.stdout is None:
        click.echo("Error: stdout is closed, so that data cannot be written", err=True)
        sys.exit(1)
    try:
        Path.cwd()
    except OSError as error:  # frameworks and worker processes fail in it, each in another way
        message = f"the current folder cannot be used ({error.strerror}): change to another one"
        click.echo(f"Error: {message}", err=True)
        sys.exit(2)
    try:
        check_completion()
        code = softgate.main(prog_name="softgate", standalone_mode=False)
    except click.ClickException as error:
        show(error)
        code = error.exit_code
    except (click.Abort, KeyboardInterrupt):
        code = termination.report()
    except BrokenPipeError:  # the reader has closed the pipe, as `| head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    except MISTAKES as error:
        if "--debug" in sys.argv:
            raise
        code = termination.report() if interrupted(error) else report_mistake(error)
    sys.exit(code if isinstance(code, int) else 0)
