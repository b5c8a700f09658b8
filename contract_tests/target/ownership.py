"""Which records the run may write to, and with whose key."""

import re
from collections.abc import Callable, Container
from http import HTTPStatus

from contract_tests.evidence.exchange import OWN_KEY, TRIES, Exchange, Expect, Request, request_of
from contract_tests.target.availability import LIMITED, UNKNOWN_ID, Availability, signatures_of
from contract_tests.target.budget import Budget
from contract_tests.target.ledger import Ledger
from contract_tests.target.retries import Retries
from link_management_contract import Resource


class WriteRefusedError(Exception):
    """A write to a record that the run did not create, or has not yet seen with its own marker."""


class Refusals:
    """Tells the server's own refusals with 403 from those of a limit: they come again after a pause."""

    def __init__(self, retries: Retries, availability: Availability, budget: Budget) -> None:
        self._retries, self._availability, self._budget = retries, availability, budget
        self._own_wordings: set[str] = set()

    def learn(self, resource: Resource) -> None:
        """See how the server refuses an id that nobody has, while lists work."""
        refusals: list[Exchange] = []
        for _ in range(TRIES):
            if not self._budget.may_send(2):
                return
            if refusals:
                self._budget.pass_a_limit()
            refusals.append(self._retries.send_once(request_of(resource, "read", UNKNOWN_ID, Expect.OPEN)))
            is_refused = refusals[-1].status == HTTPStatus.FORBIDDEN
            if not is_refused or not self._retries.send_once(request_of(resource, "list")).succeeded:
                return
        for signatures in zip(*map(signatures_of, refusals), strict=False):
            if len(set(signatures)) == 1:  # the wording if it is always the same, or else the keys
                self._availability.own_refusals.add(signatures[0])
                return

    def comes_again(self, read: Exchange) -> bool:
        """Whether a read that got a 403 gets it after a pause, too, while others work without one."""
        wording = signatures_of(read)[0]
        if wording in self._own_wordings and not self._availability.limit_count:
            return True
        self._budget.pass_a_limit()
        repeated = self._retries.send_once(read.request)
        if repeated.status != HTTPStatus.FORBIDDEN or not self._retries.others_work(read.request):
            return False
        self._own_wordings.add(wording)
        return True


class Ownership:
    """Refuses writes to what is not the run's own record.

    Args:
        identities: those that have a key.
        send: sends a request.
    """

    def __init__(
        self,
        ledger: Ledger,
        identities: Container[str],
        send: Callable[[Request], Exchange],
        refusals: Refusals,
        availability: Availability,
    ) -> None:
        self._ledger, self._identities, self._send = ledger, identities, send
        self._refusals, self._availability = refusals, availability
        self._without_own_record: set[tuple[str, int, str]] = set()  # resource, id, and an identity that has none there

    def check(self, write: Request) -> None:
        """Refuse to write to what is not the run's own record, or may not be for the identity that writes.

        Accounts may share ids: before somebody else's key writes to one of the account's records, a read with
        it must be refused under this id, or show that very record.

        Raises:
            WriteRefusedError: if it is not.
        """
        resource, identifier, identity = write.resource, write.identifier or 0, write.identity
        if self._ledger.allows_write(resource, identifier, identity):
            return
        if identity == OWN_KEY or not self._ledger.allows_write(resource, identifier):
            raise WriteRefusedError(f"{resource} {identifier} is not known to be this run's own")
        record_key = (resource, identifier, identity)
        if identity in self._identities and record_key not in self._without_own_record:
            read = Request("read", resource, "GET", write.path, (), None, identity, identifier, Expect.OPEN)
            exchange = self._send(read)
            if record_key in self._without_own_record:
                return
            if exchange.status != HTTPStatus.FORBIDDEN or not self._refusals.comes_again(exchange):
                raise WriteRefusedError(f"{resource} {identifier} may be a record of somebody else's, to {identity}")
            self._without_own_record.add(record_key)

    def note(self, exchange: Exchange) -> None:
        """Note what a read with another key shows."""
        request = exchange.request
        if request.operation == "read" and request.identity != OWN_KEY and self._shows_no_other_record(exchange):
            self._without_own_record.add((request.resource, request.identifier or 0, request.identity))

    def _shows_no_other_record(self, read: Exchange) -> bool:
        """Whether a read was refused, or shows the run's own record; a 403 may be that of a limit."""
        request, text = read.request, read.body.decode("utf-8", "replace")
        is_unclear = read.status == HTTPStatus.FORBIDDEN and not self._availability.is_own_refusal(read)
        is_unanswered = read.status in (None, LIMITED) or read.failed
        is_refused = not (is_unclear or is_unanswered or re.search(r'"id\W*:\W*\d', text))
        return is_refused or self._ledger.is_shown(request.resource, request.identifier or 0, text)
