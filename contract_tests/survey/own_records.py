"""A visit's own records: the marks and forms that they are made with, and what the ledger learns of them."""

from dataclasses import replace
from itertools import count
from typing import Any

from contract_tests.evidence.evidence import Evidence
from contract_tests.evidence.exchange import (
    OTHER,
    OWN_KEY,
    Exchange,
    Expect,
    FormValue,
    Request,
    request_of,
)
from contract_tests.evidence.marks import mark_of
from contract_tests.target.ledger import Ledger
from contract_tests.target.ledger_file import Entry

GATEWAY_STATUSES = (502, 504)  # from a gateway that got no answer from the server


class OwnRecords:
    """The records that a visit makes.

    Args:
        evidence: of the visit.

    Attributes:
        marker: the beginning of every text that marks one of them.
        create_path: where creates are sent.
    """

    def __init__(self, evidence: Evidence, ledger: Ledger) -> None:
        self.resource, self.ledger = evidence.resource, ledger
        self.marker = ""
        self.create_path = self.resource.create_path
        self._evidence = evidence
        self._numbers = count(1)  # of markers

    def marker_of(self, number: int) -> str:
        """The beginning of the markers of this run and this resource, with a number that tells visits apart."""
        return f"ct{number}{len(self.resource.name) % 16:x}{self.ledger.token}"

    def new_marker(self) -> str:
        text = f"{self.marker}-{next(self._numbers)}z"  # ends with a letter, so that no further digit follows
        self._evidence.markers.add(text)
        return f"{text}.example.com" if self.resource.label == "host" else text

    def required_form(self, **extra_fields: str) -> dict[str, FormValue]:
        form: dict[str, FormValue] = {self.resource.label: self.new_marker()}
        if "type" in self.resource.required:
            form["type"] = "webhook"
        return form | extra_fields

    def create_of(self, expects: Expect, **attributes: Any) -> Request:
        """A create; its record has to be planned in the ledger before it is sent."""
        return replace(request_of(self.resource, "create", expects=expects, **attributes), path=self.create_path)

    def note_shown(self, exchange: Exchange) -> None:
        """Note which records a read or a list showed."""
        request, name = exchange.request, self.resource.name
        rows = exchange.page.rows if exchange.page else [exchange.record or {}]
        self.ledger.note_listing(name, rows, request.identity)
        if request.identifier is not None and exchange.succeeded and exchange.json is None:
            text = exchange.body.decode("utf-8", "replace")  # which its text may have spoilt
            self.ledger.note_text(name, request.identifier, text, request.identity)

    def note_update(self, request: Request) -> None:
        label = (request.form or {}).get(self.resource.label)
        if label and request.identifier is not None:  # the other account's record may have the same id
            for owner in dict.fromkeys((OWN_KEY, request.identity)):
                self.ledger.note_marker(self.resource.name, request.identifier, mark_of(label), owner)

    def note_create(self, entry: Entry, exchange: Exchange) -> None:
        request = exchange.request
        if exchange.made_id is not None and request.identity == OWN_KEY:
            self.note_own(entry, exchange.made_id)
        elif exchange.made_id is not None:
            self.ledger.note_id(entry, exchange.made_id)
        elif not exchange.was_sent:
            self.ledger.note_removed(entry)
        elif exchange.status is not None and exchange.status not in GATEWAY_STATUSES:
            unauthorized = exchange.succeeded and request.identity not in (OWN_KEY, OTHER)
            self.ledger.note_answer(entry, is_refused=exchange.is_refusal or unauthorized)

    def note_own(self, entry: Entry, identifier: int) -> None:
        self.ledger.note_id(entry, identifier)
        self._evidence.created_ids.add(identifier)
