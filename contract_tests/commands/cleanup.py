"""The command `contract-tests cleanup`."""

from __future__ import annotations

import argparse

from contract_tests.commands.arguments import base_url
from contract_tests.commands.run import tell_left
from contract_tests.errors import BROKEN, UsageError
from contract_tests.reports.screen import complain, say
from contract_tests.run.options import connection_of, keys_of, limits_of
from contract_tests.survey.cleanup import clean_up
from contract_tests.target.identities import identities
from contract_tests.target.ledger import Ledger, is_key_of
from contract_tests.target.preflight import preflight
from contract_tests.target.target import Target
from link_management_contract import Contract


def cleanup_command(contract: Contract, given: argparse.Namespace) -> int:
    """Delete the records that a run left behind, as far as they still show that they are the run's.

    Args:
        contract: the resources.
        given: the ledger, and how to reach its target.

    Returns:
        0 if nothing is left, else 3.

    Raises:
        UsageError: if there is no such ledger, or no key.
        UnusableTargetError: if nothing can be read there.
    """
    api_key, second = keys_of(given)
    keys = identities(api_key, second)
    with Ledger.resume(given.ledger) as ledger:
        if ledger.unread:
            complain(f"of {given.ledger} could not be read: {', '.join(ledger.unread)}; the rest is made use of")
        ledger.base_url = (given.base_url or ledger.base_url).rstrip("/")
        if not ledger.base_url:
            raise UsageError(f"{given.ledger} names no target any more; say where it is with --base-url")
        try:
            base_url(ledger.base_url)
        except argparse.ArgumentTypeError as error:
            raise UsageError(f"{given.ledger}: {error}") from error
        if not ledger.account and not given.base_url:
            raise UsageError(
                f"{given.ledger} does not say which account its run used, so the key may not be meant for"
                f" {ledger.base_url}; if it is, give that with --base-url"
            )
        if not is_key_of(ledger.account, api_key):
            raise UsageError(f"{given.ledger} is of a run with another API key; give that one")
        target = Target(ledger.base_url, keys, ledger, limits_of(given), connection_of(given))
        preflight(target, contract.resources.values())
        unfinished = [entry for entry in ledger.entries if not entry.removed]
        for resource in contract.resources.values():
            clean_up(target, resource)
        target.close()
    removed = sum(entry.removed and entry.identifier is not None for entry in unfinished)
    say(f"{target.sent} requests to {ledger.base_url}; {removed} records removed, {len(ledger.left)} left")
    tell_left(ledger)
    return BROKEN if ledger.left else 0
