"""Mistakes that show in a form: texts and files that no client means to send."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from link_management_contract import Field, Resource
from mock_server.http.form_parts import Part
from mock_server.http.request_notes import Notes
from mock_server.journal.journal import Entry, Remark

SLIPS = frozenset({"undefined", "null", "NaN", "[object Object]", "[object File]", "[object Blob]"})  # of scripts
URLENCODED = "application/x-www-form-urlencoded"
SPACE_FOR_PLUS = re.compile(r"[^\s,;@]+ [^\s,;@]+@[^\s,;@]+")
IMAGE = re.compile(
    rb"\x89PNG|\xff\xd8\xff|GIF8|RIFF....WEBP|\x00\x00\x01\x00|BM|....ftyp(avif|avis|mif1)|(\xef\xbb\xbf)?\s*<",
    re.DOTALL,
)


def slip(where: str, text: str) -> Remark:
    """The remark about a text that is one of SLIPS."""
    cure = "it is what a script writes for a value that is missing or is no text; leave it out, or send its text"
    return Remark(f'{where} is "{text}": {cure}.', "client.slip")


def about_form(entry: Entry, resource: Resource, operation: str, notes: Notes) -> Iterator[Remark]:
    """The remarks about the form of a create or update."""
    if entry.media_type == "application/json":
        yield Remark("The body is JSON; send a form, as multipart/form-data.", f"operations.{operation}-answers")
    parts = notes.parts or {}
    for name in {**entry.fields, **entry.files}:
        part = parts.get(name)
        if part and part.times > 1:
            yield Remark(
                f'The field "{name[:40]}" is sent {part.times} times; the last counts here, another service may take'
                " the first: use set where you use append.",
                "client.field-twice",
            )
        field, text = resource.fields.get(name), entry.fields.get(name)
        if name == "_method":
            yield Remark("The field _method has no influence; a delete is sent by DELETE.", "operations.delete-answers")
        elif field is None:
            yield Remark(
                f'The field "{name[:40]}" is not a field of {resource.name}, and had no influence.',
                "client.unknown-field",
            )
        elif field.kind == "boolean" and text not in ("0", "1"):
            yield Remark(f'"{name}" is "{(text or "")[:40]}"; the contract knows 1 and 0.', "forms.one-enables")
        else:
            yield from _about_field(entry, field, part, notes)
    if operation == "create":
        yield from _about_type(resource, parts)


def _about_field(entry: Entry, field: Field, part: Part | None, notes: Notes) -> Iterator[Remark]:
    name = field.name
    if name in notes.ignored:
        why = "does not go with this record or operation" if entry.fields.get(name) else "is empty"
        yield Remark(f'The field "{name}" {why}, and had no influence.', "client.ignored-field")
    if part and field.kind == "file":
        yield from _about_file(name, part)
    elif part and isinstance(part.content, str):
        text = part.content
        if text in SLIPS:
            yield slip(f'The field "{name}"', text)
        if name == "host" and ("/" in text or ":" in text):
            yield Remark(
                "The host is a URL or has a port; send the name alone, such as new URL(text).hostname gives it.",
                "client.url-as-host",
            )
        if name == "email" and entry.media_type == URLENCODED and SPACE_FOR_PLUS.fullmatch(text):
            yield Remark(
                f'The field "{name}" has a space before the "@": in an urlencoded form, a raw "+" stands for one;'
                " encode it as %2B, as URLSearchParams does.",
                "client.raw-plus",
            )


def _about_file(name: str, part: Part) -> Iterator[Remark]:
    if not isinstance(part.content, bytes):
        return
    if not part.content:
        yield Remark(f'The file "{name}" is empty; wait until it is read, or leave the field out.', "client.empty-file")
    elif not IMAGE.match(part.content):
        yield Remark(
            f'The file "{name}" is no image that browsers show; check it before it is sent, by its first bytes.',
            "client.no-image",
        )


def _about_type(resource: Resource, parts: Mapping[str, Part]) -> Iterator[Remark]:
    """A type without the fields that go with it is of no use to the service."""
    for field in resource.fields.values():
        if field.applies_when is None or field.name in parts:
            continue
        on, value = field.applies_when
        if on in parts and parts[on].content == value:
            yield Remark(
                f'The type is {value}, and its field "{field.name}" is not there; send both.',
                "client.type-without-its-field",
            )
