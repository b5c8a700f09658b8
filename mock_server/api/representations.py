"""How records, pages and answers look on the wire."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import timedelta
from itertools import repeat
from typing import Any

from flask import Response

from link_management_contract import Field, Resource
from mock_server.choices import Choices
from mock_server.store.records import Record
from mock_server.store.uploads import Upload

HOURS_FROM_UTC = {"utc": 0, "ahead": 9, "behind": -5}
MEDIA_TYPES = {
    "json": "application/json",
    "charset": "application/json; charset=utf-8",
    "vendor": "application/vnd.api+json",
    "html": "text/html; charset=utf-8",
    "text": "text/plain; charset=utf-8",
}
_dumped = json.JSONEncoder(ensure_ascii=False).encode
GENERIC_KEYS = {"telegram": "token", "telegram_chat_id": "chat"}


class Representations:
    """Represents records, as the open points choose; the JSON of a record is written once and kept with it.

    Args:
        choices: the open points.
        voice: makes the last changes to JSON, if any.
    """

    def __init__(self, choices: Choices, voice: Callable[[Any], Any] | None = None) -> None:
        self._choices = choices
        self._voice = voice
        self._mark = object()  # of the JSON that is written with these choices

    def record(self, resource: Resource, record: Record) -> dict[str, Any]:
        """A record's read representation."""
        texts = map(record.values.get, resource.shape, repeat(""))
        shown: dict[str, Any] = dict(zip(resource.shape, texts, strict=True))
        ahead = timedelta(hours=HOURS_FROM_UTC[self._choices["time-zone"]])
        shown["id"] = record.id
        shown["datetime"] = (record.created + ahead).isoformat(" ", "seconds")
        shown["last_datetime"] = record.updated and (record.updated + ahead).isoformat(" ", "seconds")
        if "settings" in shown:
            shown["settings"] = self._settings(resource, record)
        if "color" in shown and self._choices["hex-letters"] == "capital":
            shown["color"] = shown["color"].upper()
        if self._choices["splash-page-fields"] == "shown" and resource.name == "splash-pages":
            written = {name: record.values[name] for name in resource.fields if name in record.values}
            shown |= {name: value.name if isinstance(value, Upload) else value for name, value in written.items()}
        return shown if self._choices["further-keys"] == "none" else self._further(shown, kind=resource.name)

    def read(self, resource: Resource, record: Record) -> dict[str, Any]:
        """The envelope of one record."""
        return self._further({"data": self.record(resource, record)}, version="1.0")

    def shown(self, resource: Resource, record: Record, status: int = 200) -> Response:
        """The answer that shows one record."""
        return self._enveloped(status, [self._text(resource, record)])

    def written(self, resource: Resource, record: Record, status: int) -> Response:
        """The answer to a create or update."""
        if self._choices["write-answer"] == "record":
            return self.shown(resource, record, status)
        return self._enveloped(status, [_dumped(self._further({"id": record.id}, kind=resource.name))])

    def listed(
        self, resource: Resource, records: list[Record], meta: dict[str, int], links: Mapping[str, str | None]
    ) -> Response:
        """The answer that shows one page."""
        data = [", "] * (2 * len(records) - 1)
        mark = self._mark
        data[::2] = [
            kept[1] if (kept := record.json) and kept[0] is mark else self._text(resource, record) for record in records
        ]
        rest = _dumped({"meta": self._further(meta, count=len(records)), "links": links})
        return self._enveloped(200, ["[", *data, "], ", rest[1:-1]])

    def json(self, payload: Any, status: int) -> Response:
        """An answer with a JSON body."""
        return self._answer([_dumped(payload)], status)

    def _text(self, resource: Resource, record: Record) -> str:
        """The JSON of a record."""
        if record.json and record.json[0] is self._mark:
            return record.json[1]
        text = _dumped(self.record(resource, record))
        record.keep(self._mark, text)
        return text

    def _enveloped(self, status: int, data: list[str]) -> Response:
        """An answer whose envelope holds this, which is JSON in pieces; what follows `data` stands at its end."""
        version = ', "version": "1.0"' if self._choices["further-keys"] == "some" else ""
        return self._answer(['{"data": ', *data, version, "}"], status)

    def _answer(self, pieces: list[str], status: int) -> Response:
        """An answer with a JSON body in pieces, which are joined once, because they may be large."""
        escaped, is_sorted = self._choices["json-escapes"] == "escaped", self._choices["key-order"] == "sorted"
        if escaped or is_sorted or self._voice:
            payload = json.loads("".join(pieces))
            payload = self._voice(payload) if self._voice else payload
            pieces = [json.dumps(payload, ensure_ascii=escaped, sort_keys=is_sorted)]
        if escaped:
            pieces = [pieces[0].replace("/", "\\/")]
        body = "".join([*pieces, "\n"]).encode()
        return Response(body, status, content_type=MEDIA_TYPES[self._choices["media-type"]])

    def _settings(self, resource: Resource, record: Record) -> dict[str, Any]:
        own = [field for field in resource.fields.values() if field.applies_when and field.applies_to(record.values)]
        if record.values.get("type") == "email":
            return {field.name: record.values.get(field.name, "") for field in own}
        return {
            self._settings_key(field): record.values.get(field.name, "" if self._unset == "empty" else None)
            for field in own
            if field.name in record.values or self._unset != "absent"
        }

    @property
    def _unset(self) -> str:
        return self._choices["settings-unset"]

    def _settings_key(self, field: Field) -> str:
        if self._choices["settings-keys"] == "fields":
            return field.name
        if field.applies_when and field.applies_when[1] == field.name:
            return GENERIC_KEYS.get(field.name, "url")
        return GENERIC_KEYS.get(field.name, field.name)

    def _further(self, known: dict[str, Any], **further: Any) -> dict[str, Any]:
        return known | further if self._choices["further-keys"] == "some" else known
