"""What trials on other people's servers have shown, beside what the mock's defects cover."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from html import escape
from http import HTTPStatus
from random import Random

import pytest
from faulty import (
    CONTRACT,
    OWNER,
    D,
    Explore,
    FaultyTarget,
    N,
    S,
    honest,
    is_owner,
    listed,
    looks,
    survey_alone,
    verdicts,
    visited,
)
from werkzeug.wrappers import Response

from contract_tests.evidence.marks import RUN_MARKER
from contract_tests.evidence.observation import NEEDS_CONTROL, NEEDS_PAGES
from contract_tests.evidence.urls import is_same_value
from contract_tests.exploration import Exploration
from contract_tests.run import needed
from contract_tests.survey.on_demand import send_large_files
from contract_tests.survey.visitor import Visitor
from contract_tests.verdicts.open_points import observed_choices, remarks
from contract_tests.verdicts.verdicts import VIOLATED, Result, Verdict
from mock_server import Settings
from mock_server.defects.building_blocks import (
    Body,
    Call,
    Serve,
    Transformation,
    changes,
    content,
    drops,
    form,
    json_answer,
    json_by_call,
    json_of,
    meta,
    refuses,
    replaces,
    rows_of,
    then_do,
)
from mock_server.defects.building_blocks import record as of_record

pytestmark = pytest.mark.usefixtures("no_pauses")
FULL = Settings(fixture="empty", records=40)
EXPLORE, PROBES = Exploration(CONTRACT, 160, seed=0), Exploration(CONTRACT, 80, seed=0)  # little more than probes
SLOW, FURTHER = (pytest.mark.slow,), (pytest.mark.exhaustive,)


def result_of(
    rule: str, fault: Transformation, resource: str, settings: Settings = FULL, explore: Explore = survey_alone
) -> Result:
    """What a rule says of a resource if a run looks for that alone."""
    broken = CONTRACT.rules[rule]
    chapters = needed([broken]) - NEEDS_CONTROL
    visits, _ = visited(fault, resource, settings, explore, chapters=chapters, explore_until=broken)
    return next(result for result in visits.results if result.rule.id == rule)


@pytest.mark.parametrize("resource", [S, pytest.param(D, marks=FURTHER), pytest.param(N, marks=FURTHER)])
def test_records_that_go_away_when_the_run_looks_are_the_servers_doing(resource: str) -> None:
    loses_one = then_do(
        "list",
        lambda call, _: call.collection.delete(min(record.id for record in call.records)),
        lambda call: call.query.get("results_per_page") == "1000" and is_owner(call),
    )
    settings = Settings(fixture="empty", records=100)
    result = result_of("lifecycle.reads-change-nothing", loses_one, resource, settings)
    assert result.verdict is Verdict.FAIL
    assert "each time that the run looks" in result.findings[0].received


def test_a_further_field_that_tells_the_time_is_no_change() -> None:
    def ticks(call: Call, body: Body) -> None:
        for row in rows_of(body):
            row["shown"] = call.memory["count"] = call.memory.get("count", 0) + 1

    results = verdicts(json_by_call("list read", ticks), D, FULL, EXPLORE).values()
    assert [result.id for result in results if result.verdict not in (Verdict.PASS, Verdict.NOT_APPLICABLE)] == []


@pytest.mark.parametrize("every", [2, pytest.param(3, marks=SLOW), pytest.param(5, marks=SLOW)])
def test_a_busy_colleague_is_not_taken_for_the_server(every: int) -> None:
    settings = Settings(fixture="empty", records=40, conditions={"other-writer": every})
    assert verdicts(honest, D, settings)["lifecycle.reads-change-nothing"].verdict not in VIOLATED


def rewritten(change: str) -> Transformation:
    """A server that stores every name or host in another way of writing."""
    label = {"name": "name", "host": "host"}
    ways: dict[str, Callable[[str], str]] = {
        "without hyphens": lambda text: text.replace("-", ""),
        "in capitals": str.upper,
        "with blanks": lambda text: text.replace("-", " ").replace(".", " ."),
        "with entities": lambda text: escape(f"<{text}>").replace("-", "&#45;"),
        "as a slug": lambda text: text.replace(" ", "-").replace(".", "-"),
    }
    return form(
        "create update",
        lambda fields: fields | {name: ways[change](fields[name]) for name in label if name in fields},
        bool,
    )


CHANGES = ("without hyphens", "in capitals", "with blanks", "with entities", "as a slug")
QUICK = (("in capitals", D), ("with entities", S), ("as a slug", N))


@pytest.mark.parametrize(
    ("change", "resource"),
    [
        pytest.param(change, resource, marks=() if (change, resource) in QUICK else SLOW)
        for change in CHANGES
        for resource in (S, D, N)
    ],
)
def test_a_record_whose_text_was_changed_is_known_judged_and_removed(resource: str, change: str) -> None:
    visits, target = visited(rewritten(change), resource, FULL)
    results = {result.rule.id: result for result in visits.results}
    host_is_free = resource == D and change == "in capitals"  # capital letters of hosts are free
    label = "host" if resource == D else "name"
    assert (results[f"forms.{label}-comes-back"].verdict is Verdict.FAIL) != host_is_free
    assert [result.id for result in results.values() if result.verdict is Verdict.INCONCLUSIVE] == []
    assert target.ledger.left == []


OMITTED = {
    "a domain without a host": (D, {"host": "host"}, 400),
    "a domain without a host, and a failure": (D, {"host": "host"}, 500),
    "a handler without a name": (N, {"name": "name"}, 400),
    "a handler without a type": (N, {"type": "type"}, 422),
    "a handler without a name, and a failure": (N, {"name": "name"}, 500),
}


@pytest.mark.parametrize(
    ("resource", "missing", "status"),
    [pytest.param(*each, id=name, marks=() if each[2] == 400 else SLOW) for name, each in OMITTED.items()],
)
def test_what_a_create_without_a_required_field_made_is_known_by_its_mark_and_removed(
    resource: str, missing: dict[str, str], status: int
) -> None:
    made_up = {"host": "untitled.example.net", "name": "Untitled", "type": "webhook"}

    def fills_in(call: Call, serve: Serve) -> Response:
        (field,) = missing
        if call.operation != "create" or not is_owner(call) or field in call.form or not call.form:
            return serve(call)
        serve(call.sending(call.form | {field: made_up[field]}))
        return Response(b"{}", status)

    before = {row["id"] for row in listed(FaultyTarget(honest, FULL).wsgi, resource)}
    visits, target = visited(fills_in, resource, FULL)
    results = {result.rule.id: result for result in visits.results}
    (field,) = missing
    assert results[f"forms.{field}-required"].verdict is Verdict.FAIL
    assert {row["id"] for row in listed(target.wsgi, resource)} == before
    assert target.ledger.left == []


def lists_break_on_a_record_without_a_name(call: Call, serve: Serve) -> Response:
    """A server that takes a create without a name, and can list nothing for as long as that record is there."""
    if call.operation == "create" and is_owner(call) and call.form and "name" not in call.form:
        answer = serve(call.sending(call.form | {"name": "x"}))
        call.memory.setdefault("nameless", set()).add((answer.json or {})["data"]["id"])
        return answer
    nameless = call.memory.get("nameless", set())
    if call.operation == "list" and nameless and nameless & {record.id for record in call.records}:
        return Response(b'{"errors": [{"title": "name is null", "status": 500}]}', 500, content_type="application/json")
    is_nameless = call.operation == "read" and call.identifier in map(str, nameless)
    return of_record(drops("name"), "read")(call, serve) if is_nameless else serve(call)


def fails_and_breaks_the_lists_without_a_name(call: Call, serve: Serve) -> Response:
    """A server that stores a create without a name, fails, and can list nothing from then on."""
    if call.operation == "create" and is_owner(call) and call.form and "name" not in call.form:
        call.memory["stored"] = call.memory.get("stored", 0) + 1
        return Response("name is null", 500)
    return Response("name is null", 500) if call.operation == "list" and "stored" in call.memory else serve(call)


def test_a_create_that_breaks_the_lists_is_not_sent_again(no_pauses: None) -> None:
    _, target = visited(fails_and_breaks_the_lists_without_a_name, S, FULL)
    creates = [each for each in target.exchanges if each.request.operation == "create" and each.status == 500]
    assert len(creates) == 1


def writes_quotes_as_they_are(call: Call, serve: Serve) -> Response:
    """A server that puts its JSON together by hand: a name with a quote in it spoils the record and each list."""
    answer = serve(call)
    if call.operation not in ("read", "list"):
        return answer
    return Response(answer.data.replace(b'\\"', b'"'), answer.status_code, content_type="application/json")


SPOILS = [(lists_break_on_a_record_without_a_name, resource, "forms.name-required") for resource in (S, N)]
SPOILS += [(writes_quotes_as_they_are, resource, "envelopes.body-is-json") for resource in (S, D, N)]


@pytest.mark.parametrize(("fault", "resource", "rule"), SPOILS)
def test_a_record_that_breaks_or_spoils_the_lists_is_removed_and_its_cause_alone_is_named(
    no_pauses: None, fault: Transformation, resource: str, rule: str
) -> None:
    before = {row["id"] for row in listed(FaultyTarget(honest, FULL).wsgi, resource)}
    visits, target = visited(fault, resource, FULL)
    assert [each.id for each in visits.results if each.verdict in VIOLATED] == [f"{rule}[{resource}]"]
    assert {row["id"] for row in listed(target.wsgi, resource)} == before
    assert target.ledger.left == []


@pytest.mark.parametrize(("resource", "operations"), [(S, "read"), (N, "read"), (N, "read list"), (D, "read list")])
def test_records_whose_names_are_not_shown_are_known_by_another_mark_and_removed(
    resource: str, operations: str
) -> None:
    nameless = of_record(drops("host" if resource == D else "name"), operations)
    _, _, target = looks(nameless, resource, FULL)
    for key in (OWNER, "Bearer demo-key-alpine"):
        shown = target.wsgi.get(f"/api/{resource}/?results_per_page=1000", headers={"Authorization": key}).text
        assert not RUN_MARKER.search(shown)
    assert target.ledger.left == []


LINKS = [("followed-link", D, "404"), ("followed-link", N, "405"), ("followed-link", D, "redirected")]
LINKS += [("followed-splash-link", S, "404"), ("followed-splash-link", S, "redirected")]


@pytest.mark.parametrize(("point", "resource", "value"), LINKS)
def test_a_page_link_that_leads_nowhere_is_noted_and_no_failure(point: str, resource: str, value: str) -> None:
    first, _, _ = looks(honest, resource, Settings(fixture="empty", records=40, choices={point: value}))
    assert observed_choices(first.exchanges)[point].most_common(1)[0][0] == value
    how = "a redirect" if value == "redirected" else value
    *links, sizes = remarks(first.exchanges, CONTRACT)
    assert "not really tried" in sizes
    assert links == [
        (
            f"a page link that is followed as it stands is answered with {how} ({resource}); no rule forbids that,"
            " and clients ask the documented path for the page it names"
        )
    ]


def test_a_choice_that_no_open_point_has_is_noted_and_no_failure() -> None:
    two_pages = meta("total_pages", lambda body: body["total_pages"] or 2)
    first, _, _ = looks(two_pages, D, Settings(fixture="empty"))
    notes = [note for note in remarks(first.exchanges, CONTRACT) if note.startswith("choices")]
    assert notes == ["choices that the contract does not list: empty-collection-pages=2"]


def test_a_large_file_that_is_refused_is_noted_and_no_failure() -> None:
    refuses_large = refuses("create", 413, applies=lambda call: len(call.body) > 1_000_000)

    def send(visitor: Visitor) -> Iterator[Callable[[], object]]:
        yield partial(send_large_files, visitor)

    visits, _ = visited(refuses_large, S, FULL, send)
    notes = [note for note in remarks(visits.evidences[0].exchanges, CONTRACT) if "image" in note]
    assert notes == ["an image of 2,000,000 bytes is refused (status 413)"]
    assert [result.id for result in visits.results if result.verdict in VIOLATED] == []


@pytest.mark.parametrize("value", ["emptied", "refused"])
def test_what_becomes_of_a_text_that_an_update_empties_is_seen_and_no_failure(value: str) -> None:
    settings = Settings(fixture="empty", records=40, choices={"cleared-text": value})
    visits, _ = visited(honest, D, settings, EXPLORE)
    assert list(observed_choices(visits.evidences[0].exchanges)["cleared-text"]) == [value]
    assert [each.id for each in visits.results if each.verdict in VIOLATED] == []


@pytest.mark.parametrize("value", ["ignored", "refused"])
def test_what_becomes_of_another_types_fields_is_seen_and_no_failure(value: str) -> None:
    settings = Settings(fixture="empty", records=40, choices={"other-types-fields": value})
    first, _, _ = looks(honest, N, settings, PROBES)
    assert list(observed_choices(first.exchanges)["other-types-fields"]) == [value]


def anonymous_envelope(call: Call, serve: Serve) -> Response:
    """An empty list for whoever has no key."""
    answer = serve(call.by(OWNER)) if call.operation == "list" and not call.authorization else serve(call)
    if call.authorization or call.operation != "list":
        return answer
    body = content(answer)
    body["data"], body["meta"]["total"], body["meta"]["total_pages"] = [], 0, 1
    return json_answer(call, answer, body)


def key_in_any_case(call: Call, serve: Serve) -> Response:
    return serve(call.by(OWNER) if call.authorization.casefold() == OWNER.casefold() else call)


def laravel_paginator(body: Body) -> None:
    """What Laravel's paginator adds to each page."""
    meta, rows = body["meta"], body["data"]
    first = (meta["page"] - 1) * meta["results_per_page"] + 1 if rows else None
    buttons = [{"url": None, "label": "&laquo; Previous", "active": False}, {"url": None, "label": "1", "active": True}]
    positions = {"from": first, "to": first and first + len(rows) - 1, "path": "/api/domains", "links": buttons}
    meta |= positions | {"current_page": meta["page"], "last_page": meta["total_pages"] or 1}


def php_empty_array(call: Call, serve: Serve) -> Response:
    """An error without details as PHP writes it: an empty array where an object was meant."""
    answer = serve(call)
    return json_answer(call, answer, []) if 400 <= answer.status_code < 500 else answer


HABITS: dict[str, tuple[Transformation, set[str]]] = {  # of right servers, with the advice that some get
    "names of 64 letters at most": (
        refuses("create update", 422, applies=lambda call: len(call.form.get("name", "")) > 64),
        set(),
    ),
    "page 1 for a page that is no number": (
        replaces("list", lambda call: call.asking(page="1"), lambda call: not call.query.get("page", "1").isdecimal()),
        set(),
    ),
    "a limit on updates alone": (
        refuses("update", 413, applies=lambda call: len(call.body) > 16_384),
        {"forms.update-takes-what-create-takes"},
    ),
    "an empty list for strangers": (anonymous_envelope, {"accounts.strangers-are-refused"}),
    "Laravel's paginator": (json_of("list", laravel_paginator), set()),
    "PHP's empty array": (php_empty_array, set()),
    "keys in any case": (key_in_any_case, {"accounts.key-in-other-cases-is-refused"}),
}


@pytest.mark.parametrize(
    ("fault", "advice"),
    [pytest.param(*habit, marks=SLOW if number % 2 else ()) for number, habit in enumerate(HABITS.values())],
    ids=HABITS,
)
@pytest.mark.parametrize("resource", [pytest.param(S, marks=FURTHER), N])
def test_a_habit_of_right_servers_fails_nothing(fault: Transformation, advice: set[str], resource: str) -> None:
    results = verdicts(fault, resource, FULL, EXPLORE)
    assert {rule for rule, result in results.items() if result.verdict is Verdict.FAIL} == set()
    assert {rule for rule, result in results.items() if result.verdict is Verdict.WARN} <= advice


def writes_changes_alone(call: Call, serve: Serve) -> Response:
    """A server that leaves a record, and its date, that an update of `is_enabled` does not change."""
    if call.operation != "update" or set(call.form) != {"is_enabled"} or not call.record:
        return serve(call)
    is_enabled = call.form["is_enabled"] == "1"
    is_unchanged = call.record.values.get("is_enabled", is_enabled) is is_enabled
    return Response(b"{}", 202, content_type="application/json") if is_unchanged else serve(call)


@pytest.mark.parametrize("resource", [S, N])
def test_an_update_that_changes_nothing_shows_no_choice_of_when_updates_are_dated(resource: str) -> None:
    first, _, _ = looks(writes_changes_alone, resource, FULL, EXPLORE)
    assert list(observed_choices(first.exchanges).get("last-datetime-after-update", ())) == []


@pytest.mark.parametrize(("refused_text", "expected"), [("<b>", []), ("long" * 64, ["refused"])])
def test_a_name_that_is_refused_for_its_markup_is_not_refused_for_its_length(
    refused_text: str, expected: list[str]
) -> None:
    refuses_text = refuses("create", 422, applies=lambda call: refused_text in call.form.get("name", ""))
    first, _, _ = looks(refuses_text, S, FULL)
    assert list(observed_choices(first.exchanges).get("text", ())) == expected


FREE_TEXTS: dict[str, Callable[[str], str]] = {
    "capitals in the host": lambda url: url.replace("www.example.com", "WWW.Example.COM"),
    "small letters in escapes": lambda url: url.replace("%2F", "%2f").replace("%2B", "%2b"),
    "an escape that is not needed": lambda url: url.replace("Path", "%50ath"),
    "a blank at the end": lambda url: url and f"{url} ",
}


def test_an_address_that_means_the_same_is_the_same() -> None:
    met = set[str]()

    def rewrites(url: str) -> str:
        for name, change in FREE_TEXTS.items():
            met.update([name] if change(url) != url else [])
            url = change(url)
        return url

    result = result_of("forms.custom-index-url-comes-back", changes("custom_index_url", rewrites), D, FULL, PROBES)
    assert result.verdict is Verdict.PASS
    assert met == set(FREE_TEXTS)


def test_a_slash_after_a_bare_host_means_nothing() -> None:
    assert is_same_value("custom_index_url", "https://www.example.com/", "https://www.example.com")
    assert not is_same_value("custom_index_url", "https://www.example.com/a/", "https://www.example.com/a")


@pytest.mark.parametrize(("value", "text", "is_same"), [(True, "1", True), (False, "1", False), (5, "5", True)])
def test_a_boolean_and_a_number_come_back_as_such(*, value: object, text: str, is_same: bool) -> None:
    assert is_same_value("is_wildcard", value, text) is is_same


@pytest.mark.parametrize("resource", [S, pytest.param(D, marks=FURTHER), pytest.param(N, marks=FURTHER)])
@pytest.mark.parametrize(("records", "beyond"), [(60, "250, 500, 1000"), (1100, "")])
def test_page_sizes_that_no_list_could_fill_are_noted(resource: str, records: int, beyond: str) -> None:
    visits, _ = visited(honest, resource, Settings(fixture="empty", records=records), chapters=NEEDS_PAGES)
    first = visits.evidences[0]
    assert re.findall("page sizes of (.*) were asked", "\n".join(remarks(first.exchanges, CONTRACT))) == (
        [beyond] if beyond else []
    )


def cached_by_worker(operation: str, workers: int) -> Transformation:
    """A server whose workers each keep what they have answered, and forget it only when they write themselves."""
    caches: list[dict[object, Response]] = [{} for _ in range(workers)]
    chance = Random(workers)

    def answer(call: Call, serve: Serve) -> Response:
        cache = chance.choice(caches)
        if call.operation != operation:
            if call.operation in {"create", "update", "delete"}:
                cache.clear()
            return serve(call)
        asked = (call.resource.name, call.identifier, tuple(call.query.items()), call.authorization)
        kept = cache.get(asked) or serve(call)
        if kept.status_code == HTTPStatus.OK:
            cache[asked] = kept
        return Response(kept.get_data(), kept.status_code, kept.headers)

    return answer


@pytest.mark.slow
@pytest.mark.parametrize(
    ("operation", "workers", "requests"),
    [
        ("read", 2, 60),
        ("list", 4, 130),
        *(
            pytest.param(operation, workers, 160, marks=pytest.mark.exhaustive)
            for operation in ("read", "list")
            for workers in (2, 4)
        ),
    ],
)
def test_answers_that_depend_on_the_worker_that_gives_them_fail(operation: str, workers: int, requests: int) -> None:
    fault, explore = cached_by_worker(operation, workers), Exploration(CONTRACT, requests, seed=0)
    of_all = [verdicts(fault, resource, FULL, explore).values() for resource in (S, D, N)]
    assert any(result.verdict is Verdict.FAIL for results in of_all for result in results)
    assert all(any(result.verdict in {Verdict.FAIL, Verdict.INCONCLUSIVE} for result in results) for results in of_all)


def overwrites(call: Call, serve: Serve) -> Response:
    """A server that takes a create of a host it has for an update of that record."""
    if call.operation == "create" and call.account:
        known = [each.id for each in call.records if each.values["host"] == call.form.get("host")]
        if known:
            return serve(call.at("update", known[0]))
    return serve(call)


def test_a_create_of_a_known_host_changes_no_record() -> None:
    result = result_of("lifecycle.create-leaves-other-records", overwrites, D, FULL, EXPLORE)
    assert result.verdict is Verdict.FAIL


def fills_what_is_empty(call: Call, serve: Serve) -> Response:
    """A server that takes the page for what is not found for the index of a domain that has none."""
    empty = call.record is None or not call.record.values.get("custom_index_url")
    if call.operation in ("create", "update") and "custom_not_found_url" in call.form and empty:
        call = call.sending({"custom_index_url": call.form["custom_not_found_url"]} | call.form)
    return serve(call)


def test_an_empty_index_stays_empty() -> None:
    result = result_of("forms.custom-not-found-url-stays-apart", fills_what_is_empty, D, FULL, EXPLORE)
    assert result.verdict is Verdict.FAIL


@pytest.mark.parametrize(
    "kind", ["slack", pytest.param("discord", marks=SLOW), pytest.param("microsoft_teams", marks=SLOW)]
)
def test_a_switch_leaves_the_settings_of_each_type_alone(kind: str) -> None:
    def forgets(call: Call, serve: Serve) -> Response:
        is_switched = call.operation == "update" and call.form == {"is_enabled": "0"}
        if is_switched and call.record and call.record.values["type"] == kind:
            call = call.sending(call.form | {kind: ""})
        return serve(call)

    settings = Settings(fixture="empty", records=40, choices={"cleared-text": "emptied"})
    result = result_of("lifecycle.update-leaves-other-fields", forgets, N, settings, PROBES)
    assert result.verdict is Verdict.FAIL
