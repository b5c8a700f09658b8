"""The command `mock-server`, also as `python -m mock_server`."""

import gc
import sys

INTERRUPTED = 130


def main() -> None:
    """Run the command; an interrupt ends it at once, even while its packages are loaded."""
    try:
        gc.disable()  # a quarter of the start: imports make many objects, hardly any of them garbage
        from mock_server import cli  # noqa: PLC0415 - which takes a moment

        gc.freeze()  # nor need they be looked at again
        gc.enable()
        cli.main()
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


if __name__ == "__main__":
    main()
