"""Reasons why a run cannot start or go on; each message is one line for people to read."""

# Exit statuses: a rule is violated, the run was stopped, the suite failed to work, rules could not be decided, the
# target cannot be used.
FAILED, INTERRUPTED, BROKEN, UNDECIDED, UNUSABLE = 1, 2, 3, 6, 7


class StoppedError(Exception):
    """Nothing can be judged; `status` is the exit status that says so."""

    status = BROKEN


class UsageError(StoppedError):
    status = 4


class NothingSelectedError(StoppedError):
    status = 5


class UnusableTargetError(StoppedError):
    status = UNUSABLE

    def __str__(self) -> str:
        return f"target unusable: {super().__str__()}"


class InterruptedRunError(StoppedError):
    """The run was interrupted.

    Args:
        left: how many of the run's records may be left.
    """

    def __init__(self, left: int) -> None:
        super().__init__(
            f"interrupted; {'some of ' if left else ''}what this run made {'is left' if left else 'was removed'}"
        )
        self.status = BROKEN if left else INTERRUPTED
