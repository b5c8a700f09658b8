"""Why a run cannot begin or go on; each message is one line for people."""

BROKEN, INTERRUPTED = 3, 2  # exit statuses where the suite could not do its own work, and where it was stopped


class StoppedError(Exception):
    """Nothing can be judged; `status` is the exit status that says so."""

    status = BROKEN


class UsageError(StoppedError):
    """A mistake in the command line."""

    status = 4


class NothingSelectedError(StoppedError):
    """No rule or kind matches what was asked for."""

    status = 5


class UnusableTargetError(StoppedError):
    """Nothing can be judged at the target."""

    status = 7

    def __str__(self) -> str:
        """The reason, behind what it is the reason for."""
        return f"target unusable: {super().__str__()}"
