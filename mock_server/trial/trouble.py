"""The kinds of trouble that a client is tried with, and what its requests then show."""

import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from wsgiref.types import WSGIEnvironment

from link_management_contract import OPERATIONS, Resource
from mock_server.control.instance import Instance
from mock_server.effects.effect import Effect
from mock_server.http.context import context_of, key_of
from mock_server.journal.journal import Entry
from mock_server.store.collection import UnknownIdError
from mock_server.store.protocols import Collection
from mock_server.trial.traffic import Operation, Operations

LIMITED = 0.9  # seconds for which a 429 is repeated; a client that waits for one comes late enough
MAX_TRIES = 5  # of the same request, while it is refused
CALLS_ON = "client.calls-on-after-429"
CHANGED = "https://changed-by-somebody-else.example.com/"  # a text, and a URL where one is wanted

Finding = tuple[str, str]  # what a client did wrong, and a request
Changed = tuple[str, str, str]  # the path of a record, a field that somebody else changed, and its value until then
Judge = Callable[[Sequence[Entry], Sequence[Entry], Sequence[Changed]], Iterator[Finding]]


def _nothing(*_: object) -> Iterator[Finding]:
    return iter(())


def _duplicate_creates(entries: Sequence[Entry], usual: Sequence[Entry], *_: object) -> Iterator[Finding]:
    """Creates that an account carried out more often than it usually does."""
    before = Counter[str]()
    for (_account, request), count in _creates(usual).items():
        before[request] = max(before[request], count)
    told = set[str]()
    for (_account, request), count in _creates(entries).items():
        if count > max(1, before[request]):
            told.add(request)
            yield f"{'two' if count == 2 else count} records were made", _line(request)  # noqa: PLR2004
    for request in dict.fromkeys(_sent_blindly(entries)):
        if request not in told:
            yield "sent again without a look whether it was done", _line(request)


def _sent_blindly(entries: Sequence[Entry]) -> Iterator[str]:
    """Creates without an answer of the service, which the same account sent again before it read or listed anything."""
    lost = dict[str, str]()  # by account
    for entry in entries:
        request = _request_line(entry)
        if entry.method == "GET":
            lost.pop(entry.account, None)
        elif lost.get(entry.account) == request:
            yield request
        elif _is_create(entry) and (
            "lost=after" in entry.forced or (entry.forced and entry.status == HTTPStatus.BAD_GATEWAY)
        ):
            lost[entry.account] = request


def _is_create(entry: Entry) -> bool:
    return entry.method == "POST" and not entry.path[-1].isdigit()


def _creates(entries: Sequence[Entry]) -> Counter[tuple[str, str]]:
    """How often each account carried out each create or update, the same whenever it has the same form."""
    success_statuses = (HTTPStatus.OK, HTTPStatus.CREATED, HTTPStatus.ACCEPTED)
    return Counter(
        (entry.account, _request_line(entry))
        for entry in entries
        if _is_create(entry) and ("lost=after" in entry.forced or entry.status in success_statuses)
    )


def _overwritten_changes(entries: Sequence[Entry], _: Sequence[Entry], changed: Sequence[Changed]) -> Iterator[Finding]:
    """Updates that write a text which somebody else has changed, and the client has not."""
    for path, name, value in changed:
        entry = next((entry for entry in entries if entry.method == "POST" and entry.path == path), None)
        if entry and name and entry.fields.get(name) == value:
            yield f'"{name}" was written as it was before somebody else changed it', f"POST {path}"


def _early_retries(entries: Sequence[Entry], *_: object) -> Iterator[Finding]:
    """Requests that did not wait for as long as a 429 asked."""
    retries = [entry for entry in entries if any(remark.rule == CALLS_ON for remark in entry.remarks)]
    if retries:
        yield f"sent again before Retry-After was over, {_times(len(retries))}", _line(_request_line(retries[0]))


def _repeats(entries: Sequence[Entry], *_: object) -> Iterator[Finding]:
    """Requests that were repeated, though they were refused each time."""
    refusal_counts = Counter((entry.account, _request_line(entry)) for entry in entries if entry.forced)
    for (_account, request), count in refusal_counts.items():
        if count > MAX_TRIES:
            yield f"sent again while it was refused, {_times(count - 1)}", _line(request)


def _request_line(entry: Entry) -> str:
    """A request with its form, the same for requests that are alike."""
    files = {name: [file.name, file.size] for name, file in entry.files.items()}
    form = json.dumps(entry.fields | files, sort_keys=True) if entry.fields or files else ""
    return f"{entry.method} {entry.target} {form}".rstrip()


def _line(request: str) -> str:
    return request.partition(" {")[0]


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _answering(status: int, **headers: str) -> Effect:
    body = {"errors": [{"title": "Trouble, on purpose.", "status": status}]}
    return Effect(status=status, headers=headers, body=body)


def _delete(collection: Collection, _: Resource, number: int) -> tuple[str, str]:
    collection.delete(number)
    return "", ""


def _change(collection: Collection, resource: Resource, number: int) -> tuple[str, str]:
    """Change a text that reads show and nothing depends on, if there is one; its name and its value until then."""
    shown_fields = (field for name, field in resource.fields.items() if name in resource.record_schema)
    texts = (field.name for field in shown_fields if field.kind == "text" and not (field.values or field.applies_when))
    name = next((name for name in texts if name != resource.label), "")
    if not name:
        return "", ""
    before = collection.get(number).values.get(name) or ""
    collection.update(number, lambda record: replace(record, values={**record.values, name: CHANGED}))
    return name, before


@dataclass(frozen=True)
class Kind:
    """A kind of trouble.

    Attributes:
        description: what happens, for people.
        effect: what requests get that are hit.
        operations: those of which requests are hit: the first `times` of each.
        seconds: for how long they are, from the first one on, instead of so many times.
        is_final: whether all are hit once half of the requests that the client usually sends have come.
        somebody: what somebody else does to the record before the request is carried out; a field that is changed by
            that, and its value until then, or empty strings.
        conditions: the trouble around all requests.
        judge: finds what the client did wrong, even if it succeeded.

    A client may give up and say so, unless all its requests are carried out and answered, only later than usual.
    """

    description: str
    effect: Effect | None = None
    operations: Sequence[str] = OPERATIONS
    times: int = 1
    seconds: float = 0
    is_final: bool = False
    somebody: Callable[[Collection, Resource, int], tuple[str, str]] | None = None
    conditions: Mapping[str, float] = field(default_factory=dict)
    judge: Judge = _nothing

    @property
    def may_give_up(self) -> bool:
        return not self.conditions

    @property
    def may_show_harm(self) -> bool:
        return self.judge is not _nothing


LOST, RETRY_LATER = Effect(prefer="lost=after"), _answering(429, **{"Retry-After": "1"})
GATEWAY = Effect(status=502, headers={"Content-Type": "text/html"}, body="<h1>502 Bad Gateway</h1>")
KINDS = {  # what may show harm comes first
    "lost-create": Kind("a create is done, and its answer lost", LOST, ("create",), judge=_duplicate_creates),
    "429-retry-after": Kind("429 with Retry-After", RETRY_LATER, seconds=LIMITED, judge=_early_retries),
    "429": Kind("429 without Retry-After, for a second", _answering(429), seconds=LIMITED, judge=_repeats),
    "502-once": Kind("502 with an HTML page, once", GATEWAY, judge=_duplicate_creates),
    "changed-meanwhile": Kind(
        "somebody else changes the record first", operations=("update",), somebody=_change, judge=_overwritten_changes
    ),
    "expired-key": Kind("the key is refused, from the middle on", _answering(401), is_final=True, judge=_repeats),
    "latency": Kind("each answer takes 0.2 s longer", conditions={"latency": 0.2}),
    "slow-body": Kind("each body comes 0.2 s after its head", conditions={"slow-body": 0.2}),
    "lag": Kind("reads show writes 0.5 s late", operations=("create", "update", "delete"), conditions={"lag": 0.5}),
    "500-once": Kind("500, once", _answering(500)),
    "503-once": Kind("503, once", _answering(503)),
    "503-three-times": Kind("503, three times", _answering(503), times=3),
    "dropped-connection": Kind("the connection breaks, and nothing is done", Effect(prefer="lost=before")),
    "lost-update": Kind("an update is done, and its answer lost", LOST, ("update",)),
    "lost-delete": Kind("a delete is done, and its answer lost", LOST, ("delete",)),
    "deleted-meanwhile": Kind("somebody else deletes the record first", operations=("delete",), somebody=_delete),
}


class Disturbance:
    """One kind of trouble, for the requests of one run.

    Args:
        kind: the kind; None for no trouble.
        operations: what requests call.
        usual: how many requests the client usually sends.

    Attributes:
        hit: how many requests were hit, by operation.
        changed: what somebody else has changed.
    """

    def __init__(self, kind: Kind | None, operations: Operations, usual: int) -> None:
        self.hit, self.changed = Counter[str](), list[Changed]()
        self._kind, self._operations, self._usual = kind, operations, usual
        self._count, self._start_times = 0, dict[str, float]()
        self._lock = threading.Lock()

    def before(self, running: Instance, environ: WSGIEnvironment) -> None:
        """Do to a request what is to be done, unless the client's test forces an answer on it itself."""
        request = environ["REQUEST_METHOD"], environ["PATH_INFO"]
        kind, operation = self._kind, self._operations.operation_of(*request)
        account = running.account_named(key_of(environ))
        is_forced = any(not effect.condition and effect.matches(*request, account) for effect in running.effects.active)
        if not kind or not operation or is_forced or not self._is_due(kind, operation):
            return
        if kind.effect:
            context_of(environ).effects += (kind.effect,)
        if kind.somebody and (owner := running.mock.accounts.get(key_of(environ))):
            with suppress(UnknownIdError, ValueError):
                collection, number = owner.collections[operation.resource.name], int(operation.identifier)
                self.changed.append((environ["PATH_INFO"], *kind.somebody(collection, operation.resource, number)))

    def _is_due(self, kind: Kind, operation: Operation) -> bool:
        name, now = str(operation), time.monotonic()
        with self._lock:
            self._count += 1
            if operation.name not in kind.operations:
                return False
            if kind.is_final:
                is_due = self._count > self._usual // 2
            elif kind.seconds:
                is_due = now - self._start_times.setdefault(name, now) < kind.seconds
            else:
                is_due = self.hit[name] < kind.times
            self.hit[name] += is_due
            return is_due

    def findings(self, entries: Sequence[Entry], usual: Sequence[Entry]) -> list[Finding]:
        """What the client did wrong, even if it succeeded.

        Args:
            entries: its requests.
            usual: those that it sends without trouble.
        """
        return list(self._kind.judge(entries, usual, self.changed)) if self._kind else []
