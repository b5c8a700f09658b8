"""How records, pages and answers look on the wire."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import timedelta
from itertools import repeat
from typing import Any

from flask import Response

from mock_server.contract import Field, Resource
from mock_server.open_points.choices import Choices
from mock_server.store.collection import Record
from mock_server.store.uploads import Upload

HOURS_FROM_UTC = {"utc": 0, "ahead": 9, "behind": -5}
MEDIA_TYPES = {
    "json": "application/json",
    "charset": "application/json; charset=utf-8",
    "vendor": "application/vnd.api+json",
    "html": "text/html; charset=utf-8",
}
GENERIC_KEYS = {"telegram": "token", "telegram_chat_id": "chat"}


class Representations:
    """Represents records, as the open points choose.

    Args:
        choices: the open points.
        voice: makes the last changes to JSON.
    """

    def __init__(self, choices: Choices, voice: Callable[[Any], Any] = lambda payload: payload) -> None:
        self._choices = choices
        self._voice = voice

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

    def written(self, resource: Resource, record: Record) -> dict[str, Any]:
        """The envelope of a create or update."""
        if self._choices["write-answer"] == "record":
            return self.read(resource, record)
        return self._further({"data": self._further({"id": record.id}, kind=resource.name)}, version="1.0")

    def listed(
        self, resource: Resource, records: list[Record], meta: Mapping[str, int], links: Mapping[str, str | None]
    ) -> dict[str, Any]:
        """The envelope of one page."""
        envelope = {
            "data": [self.record(resource, record) for record in records],
            "meta": self._further(dict(meta), count=len(records)),
            "links": dict(links),
        }
        return self._further(envelope, version="1.0")

    def json(self, payload: Any, status: int) -> Response:
        """An answer with a JSON body."""
        escaped = self._choices["json-escapes"] == "escaped"
        text = json.dumps(self._voice(payload), ensure_ascii=escaped, sort_keys=self._choices["key-order"] == "sorted")
        if escaped:
            text = text.replace("/", "\\/")
        return Response(f"{text}\n", status, content_type=MEDIA_TYPES[self._choices["media-type"]])

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
