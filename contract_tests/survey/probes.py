"""Probes for what the short survey leaves out: the rarer types, odd input, writes with odd keys."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import cycle, zip_longest
from typing import TypeVar
from urllib.parse import urlencode
from zlib import crc32

from contract_tests.evidence.evidence import AccessAttempt, Change, Creation, Listing, Record
from contract_tests.evidence.exchange import OTHER, OWN_KEY, WRITES, Exchange, Expect, FormValue, request_of
from contract_tests.evidence.marks import mark_of
from contract_tests.evidence.multipart import BOUNDARY, FORM_STYLES, NOTHING_CHOSEN, UNUSUAL, FormStyle
from contract_tests.survey.attempts import try_each
from contract_tests.survey.creating import Create, create
from contract_tests.survey.form_values import (
    PNG,
    RARE_LETTERS,
    SCRIPTS,
    image,
    long_form,
    standalone_types,
    type_form,
    value,
)
from contract_tests.survey.lifecycle import Update, change, remove, reshape, shapes_of
from contract_tests.survey.visitor import Visitor
from contract_tests.target.identities import ALL_RESOURCES, IDENTITIES, OTHER_CASES
from contract_tests.target.ownership import WriteRefusedError

SUBJECTS = 3  # records made for the probes
ODD_NUMBERS = ("0", "-1", "x", "100000000000000000000")
ODD_VALUES = ("", "0", "x", "-1", "1.5", "100000000000000000000")  # for numbers and booleans in a form
ODD_QUERIES = (("page[]", "2"), ("page[x]", "1"), ("results_per_page[]", "10"))
FARTHEST = ("9223372036854775807", "25")
FAR_PAGES = (  # with sizes by which an offset of 32 or 64 bits comes out as nought, or as a negative number
    ("4294967297", "10"),
    ("2147483648", "1000"),
    ("4611686018427387905", "100"),
    ("2305843009213693953", "1000"),
    ("18446744073709551617", "10"),
)
ODD_SIZES = (*ODD_NUMBERS, "1", "200", "2000")
ODD_IDS = ("0", "x", "12.5", "1%2F2", "100000000000000000000")
LONG_NAME = "\N{CJK UNIFIED IDEOGRAPH-20BB7}" * 100  # of four bytes each, which a cut of bytes leaves in pieces
VERY_LONG = "long " * 4000
ODD_TEXT = "100% & {{1}} '); -- \r\n\t \N{GRINNING FACE}"
EMPTY_FORM = f"multipart/form-data; boundary={BOUNDARY}"
RICH_URL = "https://www.example.com/Some/Path%20with%2Fsigns+plus?q=a%2Bb+c&Key=Value%26more#Part-2"
RICH: dict[str, tuple[str, ...]] = {  # values that easily lose a part
    "custom_index_url": (RICH_URL, "https://www.example.com/größe/東京"),
    "email": ("contract.tests+plus@example.com", "größe@example.com"),
    "webhook": (RICH_URL, "https://www.example.com/größe/東京"),
}
WRITES_BY_OTHERS = {  # in turns, so that together with the survey's, wrong keys try each
    "splash-pages": ("create", "delete", "update"),
    "domains": ("update", "create", "delete"),
    "notification-handlers": ("delete", "update", "create"),
}
UNKNOWN_TYPE: dict[str, FormValue] = {"type": "contract-tests"}
INVALID: dict[str, dict[str, FormValue]] = {  # what an update may be refused for, beside a name or host
    "splash-pages": {"link_unlock_seconds": "x"},
    "domains": {"custom_index_url": "x"},
    "notification-handlers": UNKNOWN_TYPE,
}
Step = Callable[[], object]
Item = TypeVar("Item")


def probes(visitor: Visitor) -> Iterator[Step]:
    yield partial(_edges, visitor)
    yield from _ordinary(visitor)
    yield partial(_far_pages, visitor)
    odd_queries = (*(("page", number) for number in ODD_NUMBERS), *ODD_QUERIES)
    yield partial(visitor.lists, *({name: text} for name, text in odd_queries), expects=Expect.OPEN)
    media_types = ("application/json", "application/x-www-form-urlencoded", "text/plain", EMPTY_FORM)
    raw_posts = [_raw_post(visitor, media_type) for media_type in media_types]
    yield partial(visitor.retry_each, [*raw_posts, partial(visitor.post, None, Expect.OPEN)])
    subjects: list[int] = []
    yield lambda: subjects.extend(_create(visitor, [{}] * SUBJECTS, Expect.SUCCESS))
    if subjects:
        yield from _on_records(visitor, subjects)
    yield partial(_create_same_label, visitor)
    yield from _without_records(visitor)


def _ordinary(visitor: Visitor) -> Iterator[Step]:
    """Creates with letters of any script, with an ordinary amount in each field, and with a name that is free again."""
    if visitor.resource.label != "name":
        return
    names = [f"{visitor.records.new_marker()} {letters}" for letters in (SCRIPTS, RARE_LETTERS)] + [visitor.freed_label]
    forms: list[dict[str, FormValue]] = [{"name": name} for name in names if name]
    yield partial(
        _create, visitor, [*forms, long_form(visitor.resource, str(visitor.records.new_marker()))], Expect.ORDINARY
    )


def _on_records(visitor: Visitor, subjects: list[int]) -> Iterator[Step]:
    """Steps on a few records: the same state again, other clients' forms, keys that are almost right."""
    records: dict[int, Record] = {}
    identifier = subjects[0]
    if visitor.resource.types:
        yield partial(_repeat_toggle, visitor, subjects)
        yield partial(_typed, visitor, records)
    untried_styles = [style for style in (*FORM_STYLES, *UNUSUAL) if style not in shapes_of(visitor.resource)]
    yield lambda: _reshaped(visitor, records or {identifier: _current(visitor, identifier)}, untried_styles)
    yield from _values(visitor, subjects)
    yield partial(_try_close_keys, visitor, identifier)  # last, since the record may be gone afterwards


def _values(visitor: Visitor, subjects: list[int]) -> Iterator[Step]:
    """Steps on a few records: values that easily lose a part, and values no update should accept."""
    resource, label, identifier = visitor.resource, visitor.resource.label, subjects[0]
    if resource.types:
        yield partial(_set_one, visitor, identifier)
    for name in (name for name in RICH if name in resource.optional):
        type_choice: dict[str, FormValue] = {"type": name} if resource.types else {}
        for rich in RICH[name]:
            yield partial(_change, visitor, identifier, {**type_choice, name: rich}, Expect.OPEN)
    invalid = INVALID.get(resource.name, {})
    yield lambda: _change_if_refused(visitor, identifier, {label: visitor.records.new_marker(), **invalid})
    yield partial(_odd_values, visitor, identifier)
    if "custom_not_found_url" in resource.optional:
        yield partial(_set_not_found_alone, visitor)
    if "custom_index_url" in resource.optional:
        yield partial(_change, visitor, identifier, {"custom_index_url": ""}, Expect.OPEN)
    if resource.types:
        unusual = [type_form(resource, "slack") | {"email": "", "webhook": "x"}, UNKNOWN_TYPE]
        yield partial(
            _create,
            visitor,
            [*unusual, {"webhook": "x"}, {"type": "microsoft_teams", "microsoft_teams": "x"}],
            Expect.OPEN,
        )
    else:
        yield partial(_create, visitor, [invalid], Expect.OPEN)
    if label == "name":
        yield partial(_rename_to_number, visitor, identifier)
        long_name: dict[str, FormValue] = {label: f"{visitor.records.new_marker()} {LONG_NAME}"}
        yield partial(_write_each, visitor, {identifier: long_name})  # which may be refused, or cut
    yield partial(_nameless, visitor, subjects)


def _set_not_found_alone(visitor: Visitor) -> None:
    """Create a record with this URL and without the other, under the host of one that was deleted, and change it."""
    form = {"custom_not_found_url": value("custom_not_found_url", "text")}
    freed = [form | {"host": visitor.freed_label}] if visitor.freed_label else []
    identifiers = _create(visitor, freed, Expect.ORDINARY) or _create(visitor, [form], Expect.SUCCESS)
    for identifier in identifiers:
        _change(visitor, identifier, {"custom_not_found_url": value("custom_not_found_url", "text", "other-")})


def _set_one(visitor: Visitor, identifier: int) -> None:
    """Give one of several handlers without an address one, and see that the others stay without."""
    before, record = visitor.list_settled(), _current(visitor, identifier)
    if record:
        with suppress(WriteRefusedError):
            address = f"https://www.example.com/{visitor.records.new_marker()}"  # another at a second look
            change(visitor, Update(identifier, {"webhook": address}, record))
            visitor.note_period("update", before, visitor.list_settled(), changed={identifier})


def _odd_values(visitor: Visitor, identifier: int) -> None:
    """Update numbers and booleans with what is neither, texts with files and files with texts, and a field twice."""
    resource = visitor.resource
    of = {kind: [name for name, type_ in resource.optional.items() if type_ == kind] for kind in ("file", "text")}
    switches = [name for name, type_ in resource.optional.items() if type_ in ("integer", "boolean")]
    forms: list[dict[str, FormValue]] = [dict.fromkeys(switches, text) for text in ODD_VALUES] if switches else []
    forms += [{name: image(name)} for name in of["text"][:1]]
    if resource.label == "name":
        forms.append({"name": f"{visitor.records.new_marker()} {VERY_LONG}"})
    forms += [{name: "x"} for name in of["file"][:1]]
    forms.append({f"{name}[]": "x" for name in (resource.label, *switches)})
    forms += [{name: (f"{'東' * 120}.png", PNG, "image/png")} for name in of["file"][:1]]
    marker = visitor.records.new_marker()
    part = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{resource.label}"\r\n\r\n{marker}\r\n'
    repeated_field = (f"multipart/form-data; boundary={BOUNDARY}", f"{part}{part}--{BOUNDARY}--\r\n".encode())
    with suppress(WriteRefusedError):
        for form in forms:
            visitor.update(identifier, form, Expect.OPEN)
        visitor.target.ledger.note_marker(resource.name, identifier, mark_of(marker))
        visitor.send(request_of(resource, "update", identifier, Expect.OPEN, body=repeated_field))
    visitor.waits.let_settle()
    visitor.read(identifier)


def _nameless(visitor: Visitor, subjects: list[int]) -> None:
    """Send updates with an empty label, without a form and with an unknown type; then restore the label.

    Without its label, the record could not be removed.

    The last record was not updated before, and is not if the update is refused.
    """
    label = visitor.resource.label
    odd_forms: list[dict[str, FormValue] | None] = [None, {label: ""}]
    if visitor.resource.types:
        odd_forms.insert(0, UNKNOWN_TYPE)
    _write_each(visitor, dict(zip(reversed(subjects), reversed(odd_forms), strict=False)))
    _change(visitor, subjects[-1], {label: visitor.records.new_marker()}, Expect.OPEN)


def _write_each(visitor: Visitor, forms: Mapping[int, dict[str, FormValue] | None]) -> None:
    """Update records in ways that may be refused, and only then read what they show."""
    with suppress(WriteRefusedError):
        for identifier, form in forms.items():
            visitor.update(identifier, form, Expect.OPEN)
        visitor.waits.let_settle()
        visitor.side_by_side([partial(visitor.read, identifier) for identifier in forms])


def _repeat_toggle(visitor: Visitor, identifiers: list[int]) -> None:
    """Disable one record and enable another, each twice."""
    records = {identifier: _current(visitor, identifier) for identifier in identifiers}
    for _ in range(2):
        updates = [
            Update(identifier, {"is_enabled": state}, record)
            for (identifier, record), state in zip(records.items(), "01", strict=False)
            if record
        ]
        with suppress(WriteRefusedError):
            records_shown = change(visitor, *updates)
            records = {update.identifier: record for update, record in zip(updates, records_shown, strict=True)}


def _typed(visitor: Visitor, records: dict[int, Record]) -> None:
    """Create a record of each type, update its fields alone and together, then give it the next type."""
    types, resource = standalone_types(visitor.resource), visitor.resource
    creations = create(
        visitor, *(Create(visitor.records.required_form() | type_form(resource, type_)) for type_ in types)
    )
    typed_records = {
        creation.identifier: (creation.read.record, type_, other)
        for creation, type_, other in zip(creations, types, types[1:] + types[:1], strict=True)
        if creation.identifier is not None and creation.read and creation.read.record
    }
    records |= {identifier: record for identifier, (record, _, _) in typed_records.items()}
    with suppress(WriteRefusedError):
        forms_of: dict[int, list[dict[str, FormValue]]] = {}
        for identifier, (_, type_, other) in typed_records.items():
            fields = [field for field, its_type in resource.types_of.items() if its_type == type_]
            combined = {resource.label: visitor.records.new_marker(), "is_enabled": "1"} | type_form(
                resource, type_, "other-"
            )
            forms_of[identifier] = [
                *({name: value(name, "text", "third-")} for name in fields),
                {"is_enabled": "0"},
                {name: combined[name] for name in combined if name != "type"},
                type_form(resource, other, "other-"),
            ]
        for forms in zip_longest(*forms_of.values()):
            updates = [
                Update(identifier, form, records[identifier])
                for identifier, form in zip(forms_of, forms, strict=True)
                if form is not None
            ]
            records_shown = change(visitor, *updates)
            records |= {update.identifier: record for update, record in zip(updates, records_shown, strict=True)}


def _reshaped(visitor: Visitor, records: Mapping[int, Record | None], styles: Sequence[FormStyle]) -> None:
    known_records = {identifier: record for identifier, record in records.items() if record}
    if known_records:
        reshape(visitor, known_records, styles)


def _rename_to_number(visitor: Visitor, identifier: int) -> None:
    """Give a record a number as its name; from then on, that number identifies it."""
    digits = f"00{crc32(visitor.records.new_marker().encode()):010}0"
    _change(visitor, identifier, {visitor.resource.label: digits}, Expect.OPEN)


def _create_same_label(visitor: Visitor) -> None:
    """Create two records with one name, or one host in two spellings; rename one of them, and delete it."""
    resource, label = visitor.resource, visitor.resource.label
    [first] = create(visitor, Create(visitor.records.required_form()))
    before = visitor.waits.for_state("create", visitor.list_all, lambda listing: first.identifier in listing.ids)
    if first.identifier is None or not first.read or not first.read.record:
        return
    form = dict(first.form)
    is_host, other_url = label == "host", value("custom_index_url", "text", "other-")
    other: dict[str, FormValue] = {label: form[label].upper(), "custom_index_url": other_url} if is_host else {}
    if is_host:
        before = _create_known_host(visitor, {**form, "custom_index_url": other_url}, first.identifier, before)
    exchange = visitor.post(form | other, Expect.OPEN)
    second = exchange.made_id
    if second == first.identifier and is_host:  # which may be so, as long as the record stays as it was
        visitor.note_period("create", before, visitor.list_settled())
    if second is None or (second == first.identifier and is_host):
        return
    read = visitor.waits.for_state(
        "create", lambda: visitor.read(second), lambda exchange: visitor.shows(exchange, mark_of(first.form[label]))
    )
    creation = Creation(exchange, form, frozenset({first.identifier}), second, read)
    visitor.evidence.creations.append(creation)
    if second == first.identifier or read.record is None:
        return
    after_create = visitor.waits.for_state("create", visitor.list_all, lambda listing: second in listing.ids)
    visitor.note_period("create", before, after_create, created={second})
    with suppress(WriteRefusedError):
        marker = visitor.records.new_marker()
        # a server that mistakes both for one renames both
        visitor.target.ledger.note_marker(resource.name, first.identifier, marker)
        [renamed] = change(visitor, Update(second, {label: marker}, read.record))
        after = visitor.waits.for_state(
            "update", visitor.list_all, lambda listing: listing.by_id.get(second) == renamed
        )
        visitor.note_period("update", after_create, after, changed={second})
        change(visitor, Update(second, {label: str(form[label])}, renamed, Expect.OPEN))
        remove(visitor, second, visitor.list_settled())


def _create_known_host(visitor: Visitor, form: dict[str, FormValue], known_id: int, before: Listing) -> Listing:
    """Create a record of a host that there is; the listing then. Unless that makes another one, nothing may change."""
    created_id = visitor.post(form, Expect.OPEN).made_id
    after = visitor.list_settled()
    return visitor.note_period("create", before, after) if created_id in (None, known_id) else after


def _without_records(visitor: Visitor) -> Iterator[Step]:
    """Steps that need no record: names of several scripts, forms of other clients, odd sizes and ids."""
    if visitor.resource.label == "name":
        yield partial(_post, visitor, {"name": f"{visitor.records.new_marker()} {ODD_TEXT}"})
    for style in shapes_of(visitor.resource, "create"):
        yield partial(_post_shaped, visitor, style)
    yield partial(visitor.lists, *({"results_per_page": size} for size in ODD_SIZES), expects=Expect.OPEN)
    yield partial(visitor.side_by_side, [partial(visitor.read, identifier, Expect.OPEN) for identifier in ODD_IDS])


def _edges(visitor: Visitor) -> None:
    """List a last page that is exactly full, and one that holds a single record."""
    page = visitor.page(results_per_page="10")
    total = page.total if page else None
    for _ in range(3 if total is not None else 0):
        if total and total % 10 < 2:  # noqa: PLR2004 - full, or one record more
            visitor.waits.let_settle()
            visitor.try_page(results_per_page="10", page=str(-(-total // 10)))
        if total and total % 10 == 1:
            break
        missing = -(total or 0) % 10 or 1
        posts = [partial(visitor.post, visitor.records.required_form()) for _ in range(missing)]
        made_count = sum(exchange.made_id is not None for exchange in visitor.retry_each(posts))
        if not made_count:
            break
        total = (total or 0) + made_count


def _third_of(visitor: Visitor, items: Sequence[Item]) -> Sequence[Item]:
    """Every third of what all resources treat alike, so that together they get all of it."""
    return items[ALL_RESOURCES.index(visitor.resource.name) :: len(ALL_RESOURCES)]


def _far_pages(visitor: Visitor) -> None:
    """List pages far past the end, beside the first one."""
    far_pages = (FARTHEST, *_third_of(visitor, FAR_PAGES))
    visitor.page(results_per_page=str(visitor.largest))
    visitor.lists(*({"page": number, "results_per_page": size} for number, size in far_pages), expects=Expect.OPEN)


def _post_shaped(visitor: Visitor, style: FormStyle) -> None:
    resource = visitor.resource
    files = [name for name, type_ in resource.optional.items() if type_ == "file"]
    form = visitor.records.required_form() | {
        name: image(name) for name in files[: 1 if style != NOTHING_CHOSEN else None]
    }
    exchange = visitor.post(form, Expect.OPEN, form_style=style)
    texts = {name: text for name, text in form.items() if isinstance(text, str)}
    creation = Creation(exchange, texts, frozenset(), exchange.made_id)
    if exchange.made_id is not None:
        read = partial(visitor.read, exchange.made_id, Expect.OPEN)
        marker = mark_of(form[resource.label])
        creation = replace(
            creation, read=visitor.waits.for_state("create", read, partial(visitor.shows, marker=marker))
        )
    visitor.evidence.shaped.append(creation)


def _create(visitor: Visitor, extra_forms: Sequence[dict[str, FormValue]], expects: Expect) -> list[int]:
    creations = create(visitor, *(Create(visitor.records.required_form() | fields, expects) for fields in extra_forms))
    return [creation.identifier for creation in creations if creation.identifier is not None]


def _post(visitor: Visitor, extra_fields: dict[str, FormValue]) -> None:
    form = visitor.records.required_form() | extra_fields
    visitor.retry(lambda: visitor.post(form, Expect.OPEN))


def _change(visitor: Visitor, identifier: int, form: dict[str, FormValue], expects: Expect = Expect.SUCCESS) -> None:
    before = _current(visitor, identifier)
    if before:
        with suppress(WriteRefusedError):
            change(visitor, Update(identifier, form, before, expects))


def _change_if_refused(visitor: Visitor, identifier: int, form: dict[str, FormValue]) -> None:
    """Send an update that is likely to be refused, and see whether it changes anything all the same."""
    before = _current(visitor, identifier)
    with suppress(WriteRefusedError):
        exchange = visitor.update(identifier, form, Expect.OPEN)
        visitor.waits.let_settle()
        read = visitor.read(identifier)
        if before and exchange.is_refusal and not exchange.succeeded:
            texts = {name: text for name, text in form.items() if isinstance(text, str)}
            visitor.evidence.changes.append(Change(exchange, texts, before, read))


def _current(visitor: Visitor, identifier: int) -> Record | None:
    """What a record shows now; it is only read if the last request was not a read of it."""
    last = visitor.evidence.exchanges[-1]
    is_fresh = last.request == request_of(visitor.resource, "read", identifier) and last.record
    return last.record if is_fresh else visitor.read(identifier).record


def _try_close_keys(visitor: Visitor, identifier: int) -> None:
    """List and write with keys that are almost right, and check the effects.

    Keys that a careless comparison accepts try every write, the others one each, and none what the survey has tried.
    """
    resource, before = visitor.resource.name, _current(visitor, identifier)
    to_try = list[tuple[str, str]]()
    names = [name for name in visitor.target.keys if before and name not in (OWN_KEY, OTHER, OTHER_CASES)]
    single_writers = [name for name in names if not IDENTITIES[name].is_close and not IDENTITIES[name].holds_key]
    writes = dict(zip(single_writers, cycle(WRITES_BY_OTHERS[resource]), strict=False))
    for identity in names:
        operations_tried = IDENTITIES[identity].tries.get(resource, ())
        close_operations = ("read", *WRITES) if IDENTITIES[identity].is_close else ()
        for operation in ("list", *close_operations, *([writes[identity]] if identity in writes else [])):
            to_try += [] if operation in operations_tried else [(identity, operation)]
    accesses = try_each(visitor, identifier, to_try)
    read, after = visitor.read(identifier, Expect.OPEN), visitor.list_settled()
    visitor.evidence.access_attempts += [
        AccessAttempt(identity, exchange, marker, before, read, after) for identity, exchange, marker in accesses
    ]


def _raw_post(visitor: Visitor, media_type: str) -> Callable[[], Exchange]:
    """What sends the fields that a create needs in a body that is no multipart form, or an empty form."""
    label, marker = visitor.resource.label, visitor.records.new_marker()
    form = {name: str(text) for name, text in visitor.records.required_form().items()} | {label: marker}
    bodies = {
        "application/json": json.dumps(form),
        "text/plain": f"{label} {marker}",
        EMPTY_FORM: f"--{BOUNDARY}--\r\n",
    }
    body = bodies.get(media_type, urlencode(form))
    return partial(visitor.post_raw, marker, media_type, body.encode())
