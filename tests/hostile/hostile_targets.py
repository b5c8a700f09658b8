"""Targets that mean harm: a correct server on this machine whose answers something else may be put in the place of.

What a request asks for is done by the independent server first, and each write to a record is noted that the run did
not create. A `Way` then writes to the connection whatever it likes.
"""

from __future__ import annotations

import json
import re
import socket
import ssl
import struct
import threading
import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Self

from independent import IndependentServer
from upstream import answer
from werkzeug.test import Client
from wire import ALPINE, HARBOUR

Place = tuple[str, str, str, str]  # address, key, resource and id
CHUNK = 65_536  # bytes
PATIENCE = 20.0  # seconds for a client that is gone


@dataclass(frozen=True)
class Asked:
    """A request, and what the independent server answered."""

    server: HostileTarget
    number: int
    method: str
    resource: str
    identifier: str
    key: str
    host: str
    status: int = 0
    body: bytes = b""

    @property
    def operation(self) -> str:
        known = {"GET": "read", "POST": "update", "DELETE": "delete"}
        return known[self.method] if self.identifier else {"GET": "list", "POST": "create"}.get(self.method, "")

    @property
    def honest(self) -> bytes:
        return answer(self.body, "Content-Type: application/json", status=f"{self.status} Told")


Way = Callable[[socket.socket, "HostileTarget"], object]
Says = Callable[[Asked], bytes | Iterable[bytes]]


@dataclass
class HostileTarget:
    """A server that answers one request on each connection, with another deployment at each address.

    Attributes:
        foreign: the writes to records that the run did not create.
        cookies: the requests that came with cookies, other than one that holds the key on purpose.
        memory: what a way keeps in mind.
    """

    way: Way
    tls: ssl.SSLContext | None = None
    addresses: tuple[str, ...] = ("127.0.0.1",)
    requests: int = 0
    foreign: list[str] = field(default_factory=list)
    cookies: list[str] = field(default_factory=list)
    memory: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._cores = {each: Client(IndependentServer(28 + 32 * n)) for n, each in enumerate(self.addresses)}
        self._listeners = [socket.create_server((self.addresses[0], 0))]
        self.port = int(self._listeners[0].getsockname()[1])
        self._listeners += [socket.create_server((each, self.port)) for each in self.addresses[1:]]
        self.made: set[Place] = set()

    def __enter__(self) -> Self:
        for each in self._listeners:
            threading.Thread(target=self._accept, args=(each,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        for each in self._listeners:
            each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _accept(self, listener: socket.socket) -> None:
        with suppress(OSError):
            while True:
                threading.Thread(target=self._serve, args=(listener.accept()[0],), daemon=True).start()

    def _serve(self, conn: socket.socket) -> None:
        with suppress(OSError), conn:
            conn.settimeout(PATIENCE)
            with self.tls.wrap_socket(conn, server_side=True) if self.tls else conn as inside:
                self.way(inside, self)
                inside.shutdown(socket.SHUT_WR)

    def asked(self, conn: socket.socket) -> Asked:
        """Read a request, and let the independent server carry it out."""
        head, body = _whole(conn)
        line, *headers = head.split("\r\n")
        method, path = line.split(" ")[:2]
        given = {name.casefold(): value for name, _, value in (each.partition(": ") for each in headers)}
        found = re.fullmatch(r"/api/([\w-]+)/?([^/?]*)/?(?:\?.*)?", path)
        resource, identifier = found.groups() if found else ("", "")
        key = given.get("authorization", "").removeprefix("Bearer ")
        with self._lock:
            self.requests += 1
            self.cookies += [head] if "cookie" in given and f"={key or HARBOUR}" not in given["cookie"] else []
            marker = re.search(rb"ct[0-9a-z]+-\d+z\.example\.com", body)
            host = marker[0].decode() if marker else ""
            asked = Asked(self, self.requests, method, resource, identifier, key, host)
            return self._carried_out(asked, conn.getsockname()[0], path, given, body)

    def _carried_out(self, asked: Asked, address: str, path: str, given: dict[str, str], body: bytes) -> Asked:
        """Carry out a request, and note what it made, or that it writes to what the run did not make."""
        core, account = self._cores[address], asked.key if asked.key in (HARBOUR, ALPINE) else HARBOUR
        headers = {name: value for name, value in given.items() if name in ("authorization", "content-type")}
        base_url = f"{'https' if self.tls else 'http'}://{given.get('host', '')}"
        resource = {"projects": "splash-pages"}.get(asked.resource, asked.resource)
        if asked.operation in ("update", "delete"):
            shown = core.get(path, headers={"Authorization": f"Bearer {account}"}).text
            if '"data"' in shown and (address, account, resource, asked.identifier) not in self.made:
                self.foreign.append(f"{asked.method} {address}{path} by {asked.key}")
        told = core.open(path, method=asked.method, headers=headers, data=body, base_url=base_url)
        if asked.operation == "create" and told.status_code == 202:
            self.made.add((address, account, resource, str(json.loads(told.data)["data"]["id"])))
        return replace(asked, status=told.status_code, body=told.data)


def _whole(conn: socket.socket) -> tuple[str, bytes]:
    """The head and the body of a request."""
    data, length = b"", 1
    while len(data) < length:
        part = conn.recv(1 << 20)
        if not part:
            raise OSError("the client is gone")
        data += part
        head, end, body = data.partition(b"\r\n\r\n")
        found = re.search(rb"(?i)content-length: (\d+)", head)
        length = len(head + end) + int(found[1] if found else 0) if end else len(data) + 1
    return head.decode("latin-1"), body


def says(told: Says | bytes, operations: str = "list read create update delete") -> Way:
    """Answer some operations in another way than the independent server: with these bytes, or what makes them."""

    def way(conn: socket.socket, server: HostileTarget) -> None:
        asked = server.asked(conn)
        if asked.operation not in operations.split():
            conn.sendall(asked.honest)
            return
        parts = told(asked) if callable(told) else told
        for part in [parts] if isinstance(parts, bytes) else parts:
            conn.sendall(part)

    return way


def body(change: Callable[[str], str | bytes], operations: str = "list read", *headers: str) -> Way:
    """Change the text of successes."""

    def told(asked: Asked) -> bytes:
        changed = change(asked.body.decode())
        data = changed.encode("utf-8", "surrogatepass") if isinstance(changed, str) else changed
        return answer(data, *(headers or ("Content-Type: application/json",)), status=f"{asked.status} Told")

    return says(told, operations)


def document(change: Callable[[Any, Asked], object], operations: str = "list read create update") -> Way:
    """Change the document of successes, in place."""

    def told(asked: Asked) -> bytes:
        try:
            whole = json.loads(asked.body)
        except ValueError:
            return asked.honest
        change(whole, asked)
        return answer(json.dumps(whole).encode(), "Content-Type: application/json", status=f"{asked.status} Told")

    return says(told, operations)


def number(name: str, text: str) -> Way:
    """Put a text in the place of a number of `meta`."""
    return body(lambda told: re.sub(rf'"{name}": -?\d+', lambda _: f'"{name}": {text}', told), "list")


def link(where: str) -> Way:
    """Let every page link lead elsewhere."""

    def change(whole: Any, _: Asked) -> None:
        if "links" in whole:
            whole["links"] |= dict.fromkeys(("next", "first", "self", "last", "prev"), where)

    return document(change)


def redirect(where: str, operations: str) -> Way:
    return says(answer(b"", f"Location: {where}", status="302 Found"), operations)


def identifier(value: object, operations: str) -> Way:
    """Let every record have the same id."""
    return document(lambda whole, _: [row.update(id=value) for row in rows_of(whole)], operations)


def everywhere(text: str) -> Way:
    """Put a text at the end of every text and of every number but ids, and add it as a name."""

    def changed(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: changed(each) for name, each in value.items()} | {text: text}
        return [changed(each) for each in value] if isinstance(value, list) else f"{value}{text}"

    def change(whole: Any, _: Asked) -> None:
        for row in rows_of(whole):
            row.update({name: changed(each) for name, each in row.items() if name != "id"} | {text: text})
        whole |= {name: changed(whole[name]) for name in ("meta", "links") if name in whole} | {text: text}

    return document(change)


def nested(depth: int, place: str) -> Way:
    """Put an object of so many levels in the place of a value."""
    inside = '{"a":' * depth + "1" + "}" * depth
    return body(lambda told: told.replace(f'"{place}": ', f'"{place}": {inside}, "x": '))


def rows_of(whole: Any) -> list[dict[str, Any]]:
    data = whole.get("data")
    return data if isinstance(data, list) else [data] if isinstance(data, dict) else []


def endless(head: bytes, part: bytes, seconds: float = 0.0) -> Says:
    """An answer that goes on until nobody listens, with a pause before each part."""

    def told(_: Asked) -> Iterator[bytes]:
        yield head
        while True:
            time.sleep(seconds)
            yield part

    return told


def slow(asked: Asked) -> bytes:
    """The correct answer, a little later."""
    time.sleep(0.1)
    return asked.honest


def blanks(mebibytes: int, bits: int) -> bytes:
    """So many MiB of blanks as gzip (31 bits) or as deflate without a head (-15)."""
    packer = zlib.compressobj(9, zlib.DEFLATED, bits)
    end = zlib.Z_FINISH if bits > 0 else zlib.Z_FULL_FLUSH
    return (packer.compress(b" " * (1 << 20)) + packer.flush(end)) * mebibytes


def resets(every: int, *, before: bool) -> Way:
    """Reset each so-manieth connection, before or after the request is carried out."""

    def way(conn: socket.socket, server: HostileTarget) -> None:
        server.memory["count"] = count = server.memory.get("count", 0) + 1
        asked = None if before and count % every == 0 else server.asked(conn)
        if asked and count % every:
            conn.sendall(asked.honest)
        else:
            conn.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            conn.close()

    return way


def lies(change: Callable[[Any, Asked, str], object], operations: str = "create list read") -> Way:
    """Lie to the account once it has created a domain, whose host is then in mind."""

    def told(asked: Asked) -> bytes:
        memory = asked.server.memory
        if asked.operation == "create" and asked.key == HARBOUR and asked.host and asked.resource == "domains":
            memory.setdefault("host", asked.host)
        lied = asked.operation in operations.split() and asked.key == HARBOUR and asked.body.startswith(b"{")
        if "host" not in memory or not lied:
            return asked.honest
        whole = json.loads(asked.body)
        change(whole, asked, memory["host"])
        return answer(json.dumps(whole).encode(), "Content-Type: application/json", status=f"{asked.status} Told")

    return says(told)
