"""A walk through all operations of the three resources, with what is usual and what is odd."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from wire import PNG, Answer, Client


@dataclass(frozen=True)
class Resource:
    """A resource as a client knows it."""

    name: str
    create_path: str
    least: dict[str, str]
    most: dict[str, Any]
    change: dict[str, str]

    @property
    def path(self) -> str:
        return f"/api/{self.name}"

    def numbered(self, number: int) -> dict[str, str]:
        """The least form of a record of its own."""
        if "host" in self.least:
            return {"host": f"walk-{number}.example.com"}
        return self.least | {"name": f"Walk {number}"}


READ_SCHEMAS = {"splash-pages": "SplashPage", "domains": "Domain", "notification-handlers": "NotificationHandler"}
IMAGE = ("image.png", PNG, "image/png")
RESOURCES = (
    Resource(
        "splash-pages",
        "/api/projects",
        {"name": "Least"},
        {
            "name": "Most",
            "title": "A title",
            "logo": IMAGE,
            "favicon": IMAGE,
            "opengraph": IMAGE,
            "description": "A description",
            "secondary_button_name": "Terms",
            "secondary_button_url": "https://www.example.com/terms",
            "custom_css": "h1 { color: red }",
            "custom_js": "go()",
            "ads_header": "<p>above</p>",
            "ads_footer": "<p>below</p>",
            "link_unlock_seconds": "5",
            "auto_redirect": "1",
        },
        {"title": "Another title"},
    ),
    Resource(
        "domains",
        "/api/domains",
        {"host": "least.example.com"},
        {
            "host": "most.example.com",
            "custom_index_url": "https://www.example.com/index",
            "custom_not_found_url": "https://www.example.com/not-found",
        },
        {"custom_index_url": "https://www.example.com/other"},
    ),
    Resource(
        "notification-handlers",
        "/api/notification-handlers",
        {"name": "Least", "type": "webhook"},
        {"name": "Most", "type": "telegram", "telegram": "1:token", "telegram_chat_id": "-100"},
        {"is_enabled": "0"},
    ),
)


FILES = {"logo", "favicon", "opengraph", "link_unlock_seconds", "auto_redirect"}  # and what is no text


@dataclass(frozen=True)
class Step:
    """One exchange; `operation` names what a success must look like, or is None where the answer is open."""

    resource: Resource
    operation: str | None
    label: str
    answer: Answer


def walk(client: Client, resource: Resource) -> Iterator[Step]:
    """Visit one resource on an account that has no records of it."""

    def step(operation: str | None, label: str, answer: Answer) -> Step:
        return Step(resource, operation, label, answer)

    yield step("list", "empty", client.get(f"{resource.path}/"))
    yield step("create", "least", client.post(resource.create_path, resource.least))
    yield step("create", "most", created := client.post(resource.create_path, resource.most))
    for number in range(10):
        yield step("create", f"number {number}", client.post(resource.create_path, resource.numbered(number)))
    record = f"{resource.path}/{created.json['data']['id']}"
    yield step("read", "most", client.get(record))
    yield step("update", "one field", client.post(record, resource.change))
    yield step("read", "updated", client.get(record))
    yield step("update", "renamed", client.post(record, resource.numbered(99)))
    yield step("read", "renamed", client.get(record))
    for query in ("", "?results_per_page=10", "?results_per_page=10&page=2", "?results_per_page=1000"):
        yield step("list", query, client.get(f"{resource.path}/{query}"))
    for query in ("?results_per_page=60", "?page=99", "?page=0", "?page=x"):
        yield step(None, query, client.get(f"{resource.path}/{query}"))
    yield step(None, "list without its slash", client.get(f"{resource.path}?page=1"))
    yield step(None, "page link as it stands", client.get(f"{resource.create_path}?page=1"))
    yield step(
        None, "emptied", client.post(record, dict.fromkeys(resource.most.keys() - resource.least.keys() - FILES, ""))
    )
    yield step("read", "emptied", client.get(record))
    yield from _odd_forms(client, resource, record, step)
    yield from _strangers(client, record, step)
    yield step(None, "put", client.request("PUT", record, resource.change))
    yield step("delete", "most", client.delete(record))
    yield step(None, "read of a deleted one", client.get(record))
    yield step(None, "update of a deleted one", client.post(record, resource.change))


def _odd_forms(client: Client, resource: Resource, record: str, step: Any) -> Iterator[Step]:
    yield step(None, "nothing", client.post(resource.create_path, {}))
    yield step(None, "blank", client.post(resource.create_path, resource.least | dict.fromkeys(resource.least, " ")))
    yield step(None, "again", client.post(resource.create_path, resource.least))
    urlencoded = {"Content-Type": "application/x-www-form-urlencoded"}
    yield step(None, "urlencoded", client.request("POST", record, body=b"title=a&name=b", headers=urlencoded))
    document, typed = json.dumps(resource.least).encode(), {"Content-Type": "application/json"}
    yield step(None, "json", client.request("POST", record, body=document, headers=typed))
    for label, form in ODD_FORMS[resource.name].items():
        answer = client.post(resource.create_path, form)
        yield step(None, label, answer)
        made = answer.json["data"] if answer.status in (200, 201, 202) and answer.body.startswith(b'{"data') else None
        if made:
            yield step("read", label, client.get(f"{resource.path}/{made['id']}"))


def _strangers(client: Client, record: str, step: Any) -> Iterator[Step]:
    yield step(None, "no key", Client(client.send, None).get(record))
    yield step(None, "wrong key", Client(client.send, "wrong").delete(record))
    yield step(None, "small letters", client.request("GET", record, headers={"Authorization": f"bearer {client.key}"}))


ODD_FORMS: dict[str, dict[str, dict[str, Any]]] = {
    "splash-pages": {
        "rough name": {"name": " <b>O'Neil</b> & Ü "},
        "long name": {"name": "n" * 300},
        "no number": {"name": "a", "link_unlock_seconds": "soon"},
        "no boolean": {"name": "b", "auto_redirect": "perhaps"},
        "word": {"name": "c", "auto_redirect": "true"},
    },
    "domains": {
        "capital letters": {"host": "MiXed.Example.com"},
        "rough url": {"host": "rough.example.com", "custom_index_url": "HTTPS://WWW.Example.com"},
    },
    "notification-handlers": {
        "started": {"name": "a", "type": "slack", "slack": "https://hooks.example.com", "is_enabled": "0"},
        "no address": {"name": "b", "type": "email"},
        "address": {"name": "c", "type": "email", "email": "c@example.com"},
        "other type's field": {"name": "d", "type": "slack", "discord": "https://hooks.example.com"},
        "unknown type": {"name": "e", "type": "pigeon"},
    },
}
