"""The command `mock-server`, also as `python -m mock_server`."""

import sys

INTERRUPTED = 130


def main() -> None:
    """Run the command; an interrupt ends it at once, even while its packages are loaded."""
    try:
        from mock_server import cli  # noqa: PLC0415 - which takes a moment

        cli.main()
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


if __name__ == "__main__":
    main()
