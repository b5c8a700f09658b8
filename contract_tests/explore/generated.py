"""Requests that Schemathesis generates from the contract, made harmless: only own records and reserved addresses."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import schemathesis

from contract_tests.exchange import Expect, FormValue
from contract_tests.survey.lifecycle import delete
from contract_tests.survey.samples import harmless
from contract_tests.survey.visitor import Visitor
from contract_tests.target.target import WriteRefusedError
from link_management_contract import operation_of


class Generated:
    """Sends generated requests for one resource.

    Any of them may be refused, so they are sent as open; those accepted are then judged as documented requests.
    """

    def __init__(self, visitor: Visitor) -> None:
        self._visitor = visitor
        self._own: list[tuple[int, str]] = []  # the ids and markers of records made here

    def send(self, case: schemathesis.Case[Any]) -> None:
        """Send a generated request; except in every other read, its id is replaced by that of a record made here."""
        operation = operation_of(str(case.operation.definition.raw["operationId"]))
        fields = case.body if isinstance(case.body, Mapping) else {}
        if operation == "list":
            self._list({name: str(text) for name, text in case.query.items()})
        elif operation == "create" or not self._own:
            self._create(fields)
        elif operation == "read":
            self._read(*case.path_parameters.values())
        elif operation == "update":
            self._update(fields)
        else:
            self._delete()

    def _list(self, query: dict[str, str]) -> None:
        self._visitor.settle_last(self._visitor.list(Expect.OPEN, **query))

    def _create(self, fields: Mapping[str, Any]) -> None:
        visitor, least = self._visitor, self._visitor.least()
        marker = str(least[visitor.resource.label])
        form = least | self._form(fields, marker)
        exchange = visitor.insist(lambda: visitor.post(form, Expect.OPEN))
        self._visitor.settle_last(exchange)
        if exchange.made_id is not None:
            self._own.append((exchange.made_id, marker))
            self._look(exchange.made_id)

    def _read(self, identifier: int) -> None:
        if identifier % 2:
            self._visitor.read(identifier, Expect.OPEN)
        else:
            self._look(self._own[-1][0])

    def _update(self, fields: Mapping[str, Any]) -> None:
        identifier, marker = self._own[-1]
        with suppress(WriteRefusedError):
            self._visitor.settle_last(self._visitor.update(identifier, self._form(fields, marker), Expect.OPEN))
            self._look(identifier)

    def _delete(self) -> None:
        visitor, (identifier, _) = self._visitor, self._own.pop(0)
        with suppress(WriteRefusedError):
            removal = delete(visitor, identifier, Expect.OPEN)
            visitor.evidence.removals[visitor.resource.name].append(removal)
            if removal.is_seen(visitor.resource):
                visitor.target.ledger.remove(visitor.resource.name, identifier)

    def _look(self, identifier: int) -> None:
        """Read a record that was made here, so that its marker is seen and it may be written to."""
        self._visitor.settle_last(self._visitor.read(identifier, Expect.OPEN))

    def _form(self, fields: Mapping[str, Any], marker: str) -> dict[str, FormValue]:
        """The documented fields among generated ones; a name begins with the marker, and a host is the marker."""
        resource = self._visitor.resource
        types = dict.fromkeys(resource.required, "text") | resource.optional
        form = {name: harmless(name, types[name], _plain(made_up)) for name, made_up in fields.items() if name in types}
        if resource.label in form:
            form[resource.label] = marker if resource.label == "host" else f"{marker} {form[resource.label]}"
        return form


def _plain(made_up: Any) -> Any:
    """The bytes of a generated file, and other values as they are."""
    return getattr(made_up, "data", made_up)
