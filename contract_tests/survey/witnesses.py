"""Records that are made to see whether writes of a kind work at present."""

from collections import defaultdict
from threading import get_ident

from contract_tests.evidence.exchange import Exchange, Expect, Request, request_of
from contract_tests.evidence.marks import mark_of
from contract_tests.survey.own_records import OwnRecords
from contract_tests.target.target import Target


class Witnesses:
    """Sends writes that nobody judges, and removes what they have made."""

    def __init__(self, target: Target, records: OwnRecords) -> None:
        self._target, self._records, self._resource = target, records, records.resource
        self._made_ids: dict[int, list[int]] = defaultdict(list)  # by the thread that made them

    def send(self, request: Request) -> Exchange | None:
        """Send a write like another, about a record that is made for that.

        Returns:
            The answer, or that to the step before it that failed; None if there can be no such record.
        """
        send_once, operation, made_ids = self._target.send_once, request.operation, self._made_ids[get_ident()]
        form = self._records.required_form()
        entry = self._target.ledger.plan(self._resource.name, mark_of(form[self._resource.label]))
        exchange = send_once(self._records.create_of(Expect.SUCCESS, form=form))
        self._records.note_create(entry, exchange)
        if exchange.made_id is not None:
            made_ids.append(exchange.made_id)
        if operation == "create" or self._target.availability.is_trouble(exchange):
            return exchange
        if exchange.made_id is None:
            return None
        read = send_once(request_of(self._resource, "read", exchange.made_id))
        self._target.ledger.note_listing(self._resource.name, [read.record or {}])
        if not self._target.ledger.allows_write(self._resource.name, exchange.made_id):
            return read if self._target.availability.is_trouble(read) else None
        changes = {self._resource.label: form[self._resource.label]} if operation == "update" else None
        write = request_of(self._resource, operation, exchange.made_id, form=changes)
        if self._target.bystanders.may_hit_others(write):
            return None
        exchange = send_once(write)
        if operation == "delete" and exchange.succeeded:
            self._target.ledger.note_deleted(self._resource.name, made_ids.pop())
        return exchange

    def remove(self) -> None:
        """Delete what was made as a witness, as far as the server does it by now; clean-up sees to the rest."""
        resource, ledger, made_ids = self._resource.name, self._target.ledger, self._made_ids[get_ident()]
        while made_ids:
            identifier = made_ids.pop()
            read = self._target.send_once(request_of(self._resource, "read", identifier, Expect.OPEN))
            ledger.note_listing(resource, [read.record or {}])
            if read.record and ledger.allows_write(resource, identifier):
                deleted = self._target.send(request_of(self._resource, "delete", identifier, Expect.OPEN))
                if deleted.succeeded:
                    ledger.note_deleted(resource, identifier)
