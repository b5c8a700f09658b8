"""The command `contract-tests cleanup`."""

from types import SimpleNamespace

import click

from contract_tests.cli import base_url
from contract_tests.commands.run import report_left
from contract_tests.errors import BROKEN, UsageError
from contract_tests.output import complain, say
from contract_tests.run import connection_of, keys_of, limits_of
from contract_tests.survey.cleanup import clean_up
from contract_tests.target.identities import identities
from contract_tests.target.ledger import Ledger, is_key_of
from contract_tests.target.preflight import preflight
from contract_tests.target.target import Target
from link_management_contract import Contract


def cleanup_command(contract: Contract, options: SimpleNamespace) -> int:
    """Delete the records that a run left behind, as far as they still show that they are the run's.

    Returns:
        0 if nothing is left, else 3.

    Raises:
        UsageError: if there is no such ledger, or no key.
        UnusableTargetError: if nothing can be read there.
    """
    api_key, second = keys_of(options)
    with Ledger.resume(options.ledger) as ledger:
        if ledger.unread:
            complain(f"{options.ledger}: skipped what could not be read, {', '.join(ledger.unread)}")
        _check(ledger, options, api_key)
        target = Target(
            ledger.base_url, identities(api_key, second), ledger, limits_of(options), connection_of(options)
        )
        preflight(target, contract.resources.values())
        unfinished = [entry for entry in ledger.entries if not entry.removed]
        for resource in contract.resources.values():
            clean_up(target, resource)
        target.close()
    removed = sum(entry.removed and entry.identifier is not None for entry in unfinished)
    say(f"{target.request_count} requests to {ledger.base_url}; {removed} records removed, {len(ledger.left)} left")
    report_left(ledger)
    return BROKEN if ledger.left else 0


def _check(ledger: Ledger, options: SimpleNamespace, api_key: str) -> None:
    """Refuse to send a key anywhere that the ledger does not name for it, unless the command line does."""
    path = options.ledger
    ledger.base_url = options.base_url or ledger.base_url.rstrip("/")
    if not ledger.base_url:
        raise UsageError(f"{path} no longer names a target; say where it is with --base-url")
    try:
        base_url(ledger.base_url)
    except click.BadParameter as error:
        raise UsageError(f"{path}: {error.message}") from error
    if not ledger.account and not options.base_url:
        raise UsageError(
            f"{path} does not say which account its run used, so the key may not be meant for {ledger.base_url};"
            " if it is, give that with --base-url"
        )
    if not is_key_of(ledger.account, api_key):
        raise UsageError(f"{path} is of a run with another API key; give that one")
