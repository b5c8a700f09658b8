"""What a survey of few requests leaves out, tried one by one: the rarer types, odd input, writes with odd keys."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from itertools import cycle

from contract_tests.evidence import Intrusion
from contract_tests.exchange import OTHER, OWN, FormValue
from contract_tests.survey.samples import SCRIPTS, alone, of_type
from contract_tests.survey.strangers import knock
from contract_tests.survey.visitor import Visitor
from contract_tests.target import BOUNDARY, WriteRefusedError

ODD_NUMBERS = ("0", "-1", "x", "100000000000000000000")
ODD_SIZES = (*ODD_NUMBERS, "1", "15", "30", "200", "2000")
ODD_IDS = ("0", "x", "100000000000000000000")
ODD_TEXT = "100% & {{1}} '); -- \r\n\t \N{GRINNING FACE}"
CLOSEST_KEYS = ("a truncated key", "a longer key")
BODIES = (
    ("application/json", '{"LABEL": "MARKER"}'),
    ("application/x-www-form-urlencoded", "LABEL=MARKER"),
    ("text/plain", "LABEL MARKER"),
    (f"multipart/form-data; boundary={BOUNDARY}", f"--{BOUNDARY}--\r\n"),
)
WRITES = ("create", "update", "delete")
Proceed = Callable[[Callable[[], object]], None]


def probe(visitor: Visitor, proceed: Proceed) -> None:
    """Try each of them on a record of its own.

    Args:
        visitor: who sends the requests.
        proceed: carries a step out, as long as there is room for it.
    """
    proceed(partial(_edges, visitor))
    subject: list[int] = []
    proceed(lambda: subject.extend(_made(visitor, {}, "success")))
    if subject:
        for step in _on_a_record(visitor, subject[0]):
            proceed(step)
    for step in _elsewhere(visitor):
        proceed(step)


def _on_a_record(visitor: Visitor, identifier: int) -> Iterator[Callable[[], object]]:
    """Steps on one record: the same state again, each type, keys that are nearly right."""
    if visitor.kind.types:
        for state in "0011":
            yield partial(_change, visitor, identifier, {"is_enabled": state})
        for handler_type in alone(visitor.kind):
            yield partial(_change, visitor, identifier, of_type(handler_type, "other-"))
    yield partial(_knock, visitor, identifier)


def _elsewhere(visitor: Visitor) -> Iterator[Callable[[], object]]:
    """Steps that need no record: creates of each type, names of several scripts, odd sizes, pages, ids and bodies."""
    for handler_type in alone(visitor.kind):
        yield partial(_made, visitor, {"type": handler_type}, "success")
    if visitor.kind.label == "name":
        yield partial(_made, visitor, {"name": f"{visitor.mark()} {SCRIPTS}"}, "open")
        yield partial(_post, visitor, {"name": f"{visitor.mark()} {ODD_TEXT}"})
    for size in ODD_SIZES:
        yield partial(_list, visitor, results_per_page=size)
    for page in ODD_NUMBERS:
        yield partial(_list, visitor, page=page)
    for identifier in ODD_IDS:
        yield partial(_read, visitor, identifier)
    for media_type, body in BODIES:
        yield partial(_post_raw, visitor, media_type, body)


def _edges(visitor: Visitor) -> None:
    """Look at a last page that is just full, and at one that holds a single record."""
    page = visitor.page(results_per_page="10")
    total = page.total if page else None
    for _ in range(11 if total is not None else 0):
        if total and total % 10 < 2:  # noqa: PLR2004 - full, or one record more
            visitor.try_page(results_per_page="10", page=str(-(-total // 10)))
        if total and total % 10 == 1:
            break
        total = (total or 0) + len(_made(visitor, {}, "success"))


def _made(visitor: Visitor, more: dict[str, FormValue], expects: str) -> list[int]:
    creation = visitor.create(visitor.least() | more, "probe", expects, frozenset())
    return [] if creation.identifier is None else [creation.identifier]


def _post(visitor: Visitor, more: dict[str, FormValue]) -> None:
    form = visitor.least() | more
    visitor.insist(lambda: visitor.post(form, "open"))


def _change(visitor: Visitor, identifier: int, form: dict[str, FormValue]) -> None:
    before = visitor.read(identifier).record
    if before:
        with suppress(WriteRefusedError):
            visitor.change(identifier, form, before)


def _knock(visitor: Visitor, identifier: int) -> None:
    """List and write with keys that are nearly right, and see what became of it.

    Those that a careless comparison lets in write in every way, the others each in one.
    """
    kind, before = visitor.kind.name, visitor.read(identifier).record
    made = []
    writes = {"splash-pages": WRITES, "domains": WRITES[1:] + WRITES[:1]}.get(kind, WRITES[2:] + WRITES[:2])
    identities = [each for each in visitor.target.keys if before and each not in (OWN, OTHER)]
    for identity, write in zip(identities, cycle(writes), strict=False):
        for operation in ("list", *(("read", *WRITES) if identity in CLOSEST_KEYS else (write,))):
            marker = visitor.mark() if operation in ("create", "update") else ""
            with suppress(WriteRefusedError):
                made.append((identity, knock(visitor, identifier, identity, operation, marker), marker))
    read, after = visitor.read(identifier, "open"), visitor.snapshot()
    intrusions = [Intrusion(identity, exchange, marker, before, read, after) for identity, exchange, marker in made]
    visitor.evidence.intrusions[kind].extend(intrusions)


def _list(visitor: Visitor, **query: str) -> None:
    visitor.list("open", **query)


def _read(visitor: Visitor, identifier: str) -> None:
    visitor.read(identifier, "open")


def _post_raw(visitor: Visitor, media_type: str, body: str) -> None:
    marker = visitor.mark()
    text = body.replace("LABEL", visitor.kind.label).replace("MARKER", marker)
    visitor.insist(lambda: visitor.post_raw(marker, media_type, text.encode()))
