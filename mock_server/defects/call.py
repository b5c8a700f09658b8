"""Calls of the contract's operations, as transformations in front of the honest server see and change them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from io import BytesIO
from typing import TYPE_CHECKING, Any

from werkzeug.datastructures import FileStorage
from werkzeug.http import parse_options_header
from werkzeug.test import encode_multipart
from werkzeug.wrappers import Request, Response

from link_management_contract import Resource
from mock_server.api.operations import Service
from mock_server.errors import REFUSAL, Refusal
from mock_server.http.context import key_of
from mock_server.http.form_parts import MalformedFormError, Part, TooManyPartsError, multipart
from mock_server.store.collection import UnknownIdError
from mock_server.store.protocols import Account, Collection
from mock_server.store.records import Record

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIEnvironment


@dataclass(frozen=True)
class Call:
    """A call of an operation.

    Attributes:
        service: what the operations work with.
        environ: the request, without its body.
        resource: the resource in its path.
        operation: `list`, `create`, `read`, `update` or `delete`.
        identifier: the id in its path, unparsed; empty if the path has none.
        body: the request's body.
        memory: what one transformation remembers for one account.
    """

    service: Service
    environ: WSGIEnvironment
    resource: Resource
    operation: str
    identifier: str
    body: bytes
    memory: dict[str, Any] = field(default_factory=dict)

    @cached_property
    def query(self) -> dict[str, str]:
        """The parameters by name."""
        return Request(self.environ).args.to_dict()

    @property
    def authorization(self) -> str:
        """The `Authorization` header, or an empty string."""
        return str(self.environ.get("HTTP_AUTHORIZATION", ""))

    @cached_property
    def account(self) -> Account | None:
        """The account whose key the call carries."""
        key = key_of(self.environ)
        return self.service.accounts.get(key) if key else None

    @property
    def collection(self) -> Collection:
        """The account's records of this resource."""
        return self.of(self.resource)

    def of(self, resource: Resource) -> Collection:
        """The account's records of any resource."""
        if self.account is None:
            raise LookupError("a stranger has no records")
        return self.account.collections[resource.name]

    @property
    def records(self) -> list[Record]:
        """The account's records of this resource, in the order of its lists."""
        return self.collection.all

    @property
    def record(self) -> Record | None:
        """The record that the path names, if the account has it."""
        if self.account is None or not self.identifier.isdecimal():
            return None
        try:
            return self.collection.get(int(self.identifier))
        except UnknownIdError:
            return None

    @cached_property
    def parts(self) -> dict[str, Part]:
        """The form's parts by name; none if the body is not a multipart form."""
        media_type, options = parse_options_header(self.environ.get("CONTENT_TYPE", ""))
        if media_type != "multipart/form-data":
            return {}
        try:
            return multipart(self.body, options.get("boundary", ""))
        except (MalformedFormError, TooManyPartsError):
            return {}

    @property
    def form(self) -> dict[str, str]:
        """The form's texts by name; empty for a file."""
        return {name: part.content if isinstance(part.content, str) else "" for name, part in self.parts.items()}

    def sending(self, form: Mapping[str, str]) -> Call:
        """The same call with other fields in its form; files that it still names are kept."""
        values = {name: self._file(name) or text for name, text in form.items()}
        boundary, body = encode_multipart(values)
        media_type = f"multipart/form-data; boundary={boundary}"
        return self.changed(body=body, CONTENT_TYPE=media_type, CONTENT_LENGTH=str(len(body)))

    def asking(self, **query: str) -> Call:
        """The same call with these query parameters added or replaced."""
        pairs = "&".join(f"{name}={value}" for name, value in (self.query | query).items())
        return self.changed(QUERY_STRING=pairs)

    def by(self, authorization: str) -> Call:
        """The same call with another key."""
        return self.changed(HTTP_AUTHORIZATION=authorization)

    def refused(self, status: int, title: str) -> Call:
        """The same call, to be refused instead of carried out."""
        refusal = Refusal(str(status), title, mistake=False)
        return replace(self, environ=self.environ | {REFUSAL: refusal})

    def at(self, operation: str, identifier: int | None = None, resource: Resource | None = None) -> Call:
        """A call of another operation, record or resource with the same key."""
        resource = resource or self.resource
        prefix = self.service.settings.base_path
        path = prefix + resource.paths[operation].replace("{id}", str(identifier or ""))
        method = {"list": "GET", "read": "GET", "delete": "DELETE"}.get(operation, "POST")
        other = replace(self, operation=operation, identifier=str(identifier or ""), resource=resource)
        return other.changed(PATH_INFO=path, REQUEST_METHOD=method)

    def changed(self, body: bytes | None = None, **environ: str) -> Call:
        """The same call with another body or other variables in its environment."""
        return replace(self, environ=self.environ | environ, body=self.body if body is None else body)

    def _file(self, name: str) -> FileStorage | None:
        part = self.parts.get(name)
        if part is None or not isinstance(part.content, bytes):
            return None
        return FileStorage(BytesIO(part.content), part.file_name, name, part.media_type)


Serve = Callable[[Call], Response]
Transformation = Callable[[Call, Serve], Response]


def content(answer: Response) -> Any:
    """The JSON of an answer, or None."""
    try:
        return json.loads(answer.get_data())
    except ValueError:
        return None


def done(call: Call, answer: Response) -> bool:
    """Whether an answer says that the call was carried out."""
    if not 200 <= answer.status_code < 300:  # noqa: PLR2004 - what HTTP calls success
        return False
    body = content(answer)
    return call.operation == "delete" or (isinstance(body, dict) and isinstance(body.get("data"), (dict, list)))
