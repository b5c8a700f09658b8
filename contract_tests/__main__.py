"""The command `contract-tests`, also as `python -m contract_tests`."""

import signal
import sys

INTERRUPTED = 2


def main() -> int:
    """Run the command; an interrupt ends it at once, even while its packages are loaded."""
    try:
        from contract_tests import cli  # noqa: PLC0415 - which takes a moment

        return cli.main()
    except KeyboardInterrupt:
        return INTERRUPTED
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # what comes while the interpreter ends changes no exit status


if __name__ == "__main__":
    sys.exit(main())
