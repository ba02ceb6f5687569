"""`softgate` and `python -m softgate`: the command line; handles an interrupt while it loads."""

import sys


def main() -> None:
    """Load the command line and run it."""
    try:
        from .cli import main as run
    except KeyboardInterrupt:
        sys.exit(130)
    run()


if __name__ == "__main__":
    main()
