"""Why a run cannot begin or go on; each message is one line for people."""


class UsageError(Exception):
    """A mistake in the command line."""


class NothingSelectedError(Exception):
    """No rule or kind matches what was asked for."""


class UnusableTargetError(Exception):
    """Nothing can be judged at the target."""
