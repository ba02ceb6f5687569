"""`softgate completion`: click's own completion script for a shell."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """Print what makes SHELL complete softgate's commands, options and activations.

    \b
    bash:  softgate completion bash >> ~/.bashrc
    zsh:   softgate completion zsh >> ~/.zshrc
    fish:  softgate completion fish > ~/.config/fish/completions/softgate.fish
    """
    found = get_completion_class(shell)
    assert found is not None
    root = ctx.find_root().command
    click.echo(found(root, {}, "softgate", "_SOFTGATE_COMPLETE").source())
