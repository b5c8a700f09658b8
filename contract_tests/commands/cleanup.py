"""The command `contract-tests cleanup`."""

from pathlib import Path

import click

from contract_tests.errors import BROKEN, UsageError
from contract_tests.options import CleanupOptions, RunOptions, TargetOptions, checked_url
from contract_tests.output import complain, say
from contract_tests.run import connection_of, keys_of, limits_of
from contract_tests.survey.cleanup import clean_up
from contract_tests.target.identities import identities
from contract_tests.target.ledger import Ledger
from contract_tests.target.ledger_file import is_key_of
from contract_tests.target.preflight import preflight
from contract_tests.target.target import Target
from link_management_contract import Contract

MAX_RECORDS_NAMED = 3  # records left behind


def cleanup_command(contract: Contract, options: CleanupOptions) -> int:
    """Delete the records that a run left behind, as far as they still show that they are the run's.

    Returns:
        0 if nothing is left, else 3.

    Raises:
        UsageError: if there is no such ledger, or no key.
        UnusableTargetError: if nothing can be read there.
    """
    with Ledger.resume(options.ledger) as ledger:
        if ledger.unread:
            complain(f"{options.ledger}: skipped what could not be read, {', '.join(ledger.unread)}")
        _check(ledger, options, keys_of(options)[0])
        say(_removed(contract, ledger, options))
    report_left(ledger)
    return BROKEN if ledger.left else 0


def adopt(contract: Contract, folder: Path, options: RunOptions) -> list[str]:
    """Remove what earlier runs left of the same account at the same base URL, as far as their ledgers in a folder say.

    Returns:
        What could not be removed, for people.

    Raises:
        UnusableTargetError: if nothing can be read there.
    """
    api_key, _ = keys_of(options)
    left: list[str] = []
    for path in sorted(folder.rglob("*.jsonl")):
        try:
            with Ledger.resume(path) as ledger:
                is_same_account = bool(ledger.file.account) and is_key_of(ledger.file.account, api_key)
                if is_same_account and ledger.file.base_url.rstrip("/") == options.base_url:
                    complain(f"{path}: {_removed(contract, ledger, options)}")
                    left += [f"an earlier run left {entry} ({path})" for entry in ledger.left]
        except (UsageError, OSError) as error:
            complain(f"not adopted: {error}")
    return left


def _removed(contract: Contract, ledger: Ledger, options: TargetOptions) -> str:
    """Remove what a ledger names, and the ledger itself once nothing is left; what that came to, for people."""
    keys = identities(*keys_of(options))
    target = Target(ledger.file.base_url, keys, ledger, limits_of(options), connection_of(options))
    preflight(target, contract.resources.values())
    unfinished = [entry for entry in ledger.entries if not entry.removed]
    for resource in contract.resources.values():
        clean_up(target, resource)
    target.close()
    if not ledger.needed and not ledger.unread:
        ledger.file.discard()
    count = sum(entry.removed and entry.identifier is not None for entry in unfinished)
    requests = f"{target.budget.request_count} requests to {target.base_url}"
    return f"{requests}; {count} records removed, {len(ledger.left)} left"


def _check(ledger: Ledger, options: CleanupOptions, api_key: str) -> None:
    """Refuse to send a key anywhere that the ledger does not name for it, unless the command line does."""
    path = options.ledger
    ledger.file.base_url = options.base_url or ledger.file.base_url.rstrip("/")
    if not ledger.file.base_url:
        raise UsageError(f"{path} no longer names a target; say where it is with --base-url")
    try:
        checked_url(ledger.file.base_url)
    except click.BadParameter as error:
        raise UsageError(f"{path}: {error.message}") from error
    if not ledger.file.account and not options.base_url:
        raise UsageError(
            f"{path} does not say which account its run used, so the key may not be meant for {ledger.file.base_url};"
            " if it is, give that with --base-url"
        )
    if not is_key_of(ledger.file.account, api_key):
        raise UsageError(f"{path} is of a run with another API key; give that one")


def report_left(ledger: Ledger) -> None:
    for entry in ledger.left[:MAX_RECORDS_NAMED]:
        complain(f"left behind: {entry}")
    if len(ledger.left) > MAX_RECORDS_NAMED:
        complain(f"and {len(ledger.left) - MAX_RECORDS_NAMED} more are left behind; {ledger.file.path} lists them")
    if ledger.missing:
        complain(f"creates that were never answered, and of which nothing was found so far: {len(ledger.missing)}")
