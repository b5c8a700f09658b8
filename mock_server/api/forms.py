"""Forms: the parts of a request body, and the values of a record that they stand for."""

import html
import re
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from flask import Request

from link_management_contract import Field, Resource
from mock_server.errors import Refusal
from mock_server.http.context import context_of
from mock_server.http.form_parts import MalformedFormError, Part, TooManyPartsError, multipart, urlencoded
from mock_server.http.messages import read_body, refuse_unread
from mock_server.settings.choices import Choices
from mock_server.store.records import Uploads

MULTIPART, URLENCODED = "multipart/form-data", "application/x-www-form-urlencoded"
INTEGER = re.compile(r"[+-]?[0-9]{1,4000}", re.ASCII)
BOOLEANS = {"1": True, "0": False}
BOOLEAN_WORDS = BOOLEANS | dict.fromkeys(("true", "on", "yes"), True) | dict.fromkeys(("false", "off", "no"), False)
MAX_NAME, MAX_TEXT_LENGTH = 255, 2**20  # characters
EXPECTED = {"text": "a text", "integer": "a whole number", "boolean": "1 or 0", "file": "a file with a name"}


@dataclass(frozen=True, slots=True)
class Form:
    """A form as it was read: values by field, and the names of parts that have no influence."""

    values: Mapping[str, Any]
    ignored: tuple[str, ...]


class Forms:
    """Reads forms, as the open points choose.

    Args:
        choices: the open points.
        rules: the ids of the contract's rules.
        uploads: stores the content of files.
        max_body: the longest body, in bytes.
    """

    def __init__(self, choices: Choices, rules: Container[str], uploads: Uploads, max_body: int) -> None:
        self._choices = choices
        self._rules = rules
        self.uploads = uploads
        self._max_body = max_body

    def read(self, request: Request, resource: Resource, operation: str) -> Form:
        """The values that a create or update sends.

        Raises:
            Refusal: if the body or a value in it is not accepted.
        """
        parts = self._parts(request)
        known_fields = [field for name, field in resource.fields.items() if name in parts]
        accepted = [field for field in known_fields if operation in field.operations]
        if len(accepted) < len(known_fields) and self._choices["is-enabled-on-create"] == "refused":
            field = next(field for field in known_fields if field not in accepted)
            raise self._invalid(
                f'A {operation} does not take the field "{field.name}".', field, "forms.{}-is-not-accepted-on-create"
            )
        cleared = [field for field in accepted if operation == "update" and _is_cleared(field, parts[field.name])]
        if cleared and self._choices["cleared-text"] == "refused":
            raise self._invalid(f'The field "{cleared[0].name}" cannot be emptied; leave it out.', cleared[0])
        values = {field.name: self._value(field, parts[field.name]) for field in accepted}
        values = {name: value for name, value in values.items() if value is not None}
        if operation == "create":
            self._require(resource.fields.values(), values)
        return Form(values, tuple(name for name in parts if name not in values))

    def applicable_values(
        self, resource: Resource, values: Mapping[str, Any], record: Mapping[str, Any]
    ) -> dict[str, Any]:
        """The given values whose fields apply to a record; the content of files is stored.

        Raises:
            Refusal: if other values are given and this server refuses them, or if a field that applies is missing.
        """
        other_fields = [name for name in values if not resource.fields[name].applies_to(record)]
        if other_fields and self._choices["other-types-fields"] == "refused":
            title = f'The field "{other_fields[0]}" does not go with this record; leave it out.'
            raise self._invalid(title, resource.fields[other_fields[0]])
        if values.get("type") == "email" and not record.get("email") and self._choices["email-missing"] == "refused":
            raise self._invalid('A handler of type "email" needs the field "email".', resource.fields["email"])
        return {name: self._store_upload(value) for name, value in values.items() if name not in other_fields}

    def _store_upload(self, value: Any) -> Any:
        if isinstance(value, Part):
            return self.uploads.add(value.file_name or value.name, value.media_type, bytes(value.content))  # type: ignore[arg-type]
        return value

    def _parts(self, request: Request) -> dict[str, Part]:
        coding = request.headers.get("Content-Encoding", "identity").strip().lower()
        if coding not in ("", "identity"):
            context_of(request.environ).parts = {}  # which nobody can read
            raise Refusal("415", f'Send the body as it is, without "Content-Encoding: {coding[:40]}".')
        if request.mimetype == URLENCODED and self._choices["other-form-encoding"] == "415":
            raise Refusal("415", f"Send forms as {MULTIPART}, not urlencoded.")
        if request.mimetype not in (MULTIPART, URLENCODED):
            if self._choices["json-body"] == "415":
                correction = f'not "{request.mimetype}"' if request.mimetype else "and say so in the Content-Type"
                raise Refusal("415", f"Send a form as {MULTIPART}, {correction}.")
            refuse_unread(request.environ)
            return {}
        body, context = read_body(request.environ, self._max_body), context_of(request.environ)
        context.parts = {}  # if it cannot be read, nobody need try again
        try:
            if request.mimetype == URLENCODED:
                context.parts = urlencoded(body, request.mimetype_params.get("charset", ""))
            else:
                context.parts = multipart(body, request.mimetype_params.get("boundary", ""))
        except TooManyPartsError as error:
            raise Refusal("413", f"The form has too many parts; send {error} at most.") from error
        except MalformedFormError as error:
            raise Refusal("400", f"The form cannot be read: {error}.") from error
        return context.parts

    def _value(self, field: Field, part: Part) -> Any:
        """The value of a part, or None if it has no influence."""
        if isinstance(part.content, bytes):
            if field.kind != "file":
                raise self._misplaced(field, "a file")
            return part
        text = part.content
        if len(text) > MAX_TEXT_LENGTH:
            raise self._invalid(f'The field "{field.name}" has over {MAX_TEXT_LENGTH:,} characters.', field)
        value: Any
        match field.kind:
            case "file":
                if text:
                    raise self._misplaced(field, "text")
                return None
            case "text":
                return self._text(field, text)
            case "integer":
                value = int(text) if INTEGER.fullmatch(text) else None
            case _:
                understood = self._choices["boolean-words"] == "understood"
                value = (BOOLEAN_WORDS if understood else BOOLEANS).get(text.lower())
        if value is None and self._choices["bad-value"] == "refused":
            raise self._misplaced(field, f'"{text[:40]}"')
        return value

    def _text(self, field: Field, text: str) -> str:
        if field.values and text not in field.values:
            allowed = ", ".join(field.values)
            raise self._invalid(
                f'The field "{field.name}" is one of {allowed}, not "{text[:40]}".',
                field,
                "representations.{}-is-one-of-six",
            )
        text = self._rewritten(field, text)
        if field.required and not text.strip() and self._choices["blank-required"] == "refused":
            raise self._invalid(f'The field "{field.name}" must not be blank.', field, "forms.{}-required")
        return text

    def _rewritten(self, field: Field, text: str) -> str:
        if field.name == "name":
            return self._name(field, text)
        if field.name == "host" and self._choices["host-letters"] == "lowered":
            return re.sub(r"\s+", "", text).lower()
        if field.name.endswith("_url") and self._choices["url-form"] == "normalised":
            return _normalised(text)
        return text

    def _name(self, field: Field, text: str) -> str:
        match self._choices["text"]:
            case "trimmed":
                return text.strip()
            case "sanitised":
                return html.escape(re.sub(r"<[^<>]*>", "", text).strip()[:64])
            case "refused" if len(text) > MAX_NAME:
                raise self._invalid(f"A name has {MAX_NAME} characters at most; this one has {len(text)}.", field)
            case _:
                return text

    def _require(self, fields: Iterable[Field], values: Mapping[str, Any]) -> None:
        for field in fields:
            if field.required and field.name not in values:
                raise self._invalid(f'The field "{field.name}" is required.', field, "forms.{}-required")

    def _misplaced(self, field: Field, got: str) -> Refusal:
        return self._invalid(f'The field "{field.name}" is {EXPECTED[field.kind]}, not {got}.', field)

    def _invalid(self, title: str, field: Field, rule: str = "") -> Refusal:
        rule = rule.format(field.name.replace("_", "-"))
        return Refusal(self._choices["invalid-field"], title, rule if rule in self._rules else None, field.name)


def _is_cleared(field: Field, part: Part) -> bool:
    return field.kind == "text" and not field.required and part.content == ""


def _normalised(url: str) -> str:
    try:
        parts = urlsplit(url)
    except ValueError:
        return url
    if not parts.scheme or not parts.netloc:
        return url
    user, at, host = parts.netloc.rpartition("@")
    netloc = f"{user}{at}{host.lower()}"
    return parts._replace(scheme=parts.scheme.lower(), netloc=netloc, path=parts.path or "/").geturl()
