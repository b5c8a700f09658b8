"""The command `contract-tests`, also as `python -m contract_tests`."""

import sys

INTERRUPTED = 2


def main() -> int:
    """Run the command; an interrupt ends it at once, even while its packages are loaded."""
    try:
        from contract_tests import cli  # noqa: PLC0415 - which takes a moment

        return cli.main()
    except KeyboardInterrupt:
        return INTERRUPTED


if __name__ == "__main__":
    sys.exit(main())
