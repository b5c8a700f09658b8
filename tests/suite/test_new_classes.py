"""What trials on servers of others have shown, beside what the mock's defects cover."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from html import escape

import pytest
from liar import CONTRACT, Ask, Lie, Reply, Serve, honest, looks, verdicts
from lies import D, N, S, form, is_owner, rows

from contract_tests.explore import Exploration
from contract_tests.open_points import observed, remarks
from contract_tests.run.verdicts import VIOLATED, Verdict
from mock_server import Settings

pytestmark = pytest.mark.usefixtures("no_pauses")
FULL = Settings(fixture="empty", records=40)
EXPLORE = Exploration(CONTRACT, 160, seed=0)


@pytest.mark.parametrize("kind", [S, D, N])
def test_records_that_go_away_when_the_run_looks_are_the_servers_doing(kind: str) -> None:
    def loses_one(ask: Ask, serve: Serve) -> Reply:
        reply = serve(ask)
        if ask.operation == "list" and ask.query.get("results_per_page") == "1000" and is_owner(ask):
            oldest = min(row["id"] for row in reply.json["data"])
            serve(replace(ask, method="DELETE", path=f"/api/{ask.kind}/{oldest}", query={}))
        return reply

    result = verdicts(loses_one, kind, Settings(fixture="empty", records=100))["lifecycle.reads-change-nothing"]
    assert result.verdict is Verdict.FAIL
    assert "each time that the run looks" in result.findings[0].received


def test_a_further_field_that_tells_the_time_is_no_change() -> None:
    def ticks(ask: Ask, serve: Serve) -> Reply:
        reply = serve(ask)
        if ask.operation not in ("list", "read") or reply.status != 200:
            return reply
        body = reply.json
        for row in body["data"] if ask.operation == "list" else [body["data"]]:
            row["shown"] = ask.memory["count"] = ask.memory.get("count", 0) + 1
        return reply.with_json(body)

    results = verdicts(ticks, D, FULL, EXPLORE).values()
    assert [result.id for result in results if result.verdict not in (Verdict.PASS, Verdict.NOT_APPLICABLE)] == []


@pytest.mark.parametrize("every", [2, 3, 5])
def test_a_busy_colleague_is_not_taken_for_the_server(every: int) -> None:
    settings = Settings(fixture="empty", records=40, conditions={"other-writer": every})
    assert verdicts(honest, D, settings)["lifecycle.reads-change-nothing"].verdict not in VIOLATED


def rewritten(change: str) -> Lie:
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


@pytest.mark.parametrize("kind", [S, D, N])
@pytest.mark.parametrize("change", ["without hyphens", "in capitals", "with blanks", "with entities", "as a slug"])
def test_a_record_whose_text_was_changed_is_known_judged_and_removed(kind: str, change: str) -> None:
    _, _, target = looks(rewritten(change), kind, FULL)
    results = verdicts(rewritten(change), kind, FULL)
    host_is_free = kind == D and change == "in capitals"  # capital letters of hosts are free
    label = "host" if kind == D else "name"
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


@pytest.mark.parametrize(("kind", "missing", "status"), OMITTED.values(), ids=OMITTED)
def test_what_a_create_without_a_required_field_made_is_known_by_its_mark_and_removed(
    kind: str, missing: dict[str, str], status: int
) -> None:
    made_up = {"host": "untitled.example.net", "name": "Untitled", "type": "webhook"}

    def fills_in(ask: Ask, serve: Serve) -> Reply:
        (field,) = missing
        if ask.operation != "create" or not ask.body or not is_owner(ask) or field in ask.form or not ask.form:
            return serve(ask)
        serve(ask.with_form(ask.form | {field: made_up[field]}))
        return Reply(status, {}, b"{}")

    before = {row["id"] for row in honestly(kind)}
    _, _, target = looks(fills_in, kind, FULL)
    results = verdicts(fills_in, kind, FULL)
    (field,) = missing
    assert results[f"forms.{field}-required"].verdict is Verdict.FAIL
    listed = target.wsgi.get(
        f"/api/{kind}/?results_per_page=1000", headers={"Authorization": "Bearer demo-key-harbour"}
    )
    assert {row["id"] for row in json.loads(listed.data)["data"]} == before
    assert target.ledger.left == []


def honestly(kind: str) -> list[dict[str, object]]:
    _, _, target = looks(honest, kind, FULL)
    ask = Ask("GET", f"/api/{kind}/", {}, {"Authorization": "Bearer demo-key-harbour"}, None)
    return rows(ask, target._serve)  # noqa: SLF001


LINKS = [("followed-link", D, "404"), ("followed-link", N, "405"), ("followed-link", D, "redirected")]
LINKS += [("followed-splash-link", S, "404"), ("followed-splash-link", S, "redirected")]


@pytest.mark.parametrize(("point", "kind", "value"), LINKS)
def test_a_page_link_that_leads_nowhere_is_noted_and_no_failure(point: str, kind: str, value: str) -> None:
    first, _, _ = looks(honest, kind, Settings(fixture="empty", records=40, choices={point: value}))
    assert observed(first.exchanges)[point].most_common(1)[0][0] == value
    how = "a redirect" if value == "redirected" else value
    assert remarks(first.exchanges) == [
        (
            f"a page link that is followed as it stands is answered with {how} ({kind}); ask the documented path for"
            " the page that the link names"
        )
    ]


@pytest.mark.parametrize("value", ["emptied", "kept", "refused"])
def test_what_becomes_of_a_text_that_an_update_empties_is_seen_and_no_failure(value: str) -> None:
    settings = Settings(fixture="empty", records=40, choices={"cleared-text": value})
    first, _, _ = looks(honest, D, settings, EXPLORE)
    assert list(observed(first.exchanges)["cleared-text"]) == [value]
    assert [each.id for each in verdicts(honest, D, settings, EXPLORE).values() if each.verdict in VIOLATED] == []


@pytest.mark.parametrize("value", ["ignored", "refused"])
def test_what_becomes_of_another_types_fields_is_seen_and_no_failure(value: str) -> None:
    settings = Settings(fixture="empty", records=40, choices={"other-types-fields": value})
    first, _, _ = looks(honest, N, settings, EXPLORE)
    assert list(observed(first.exchanges)["other-types-fields"]) == [value]


FREE_TEXTS = {
    "a slash after a bare host": lambda url: "https://www.example.com/" if url == "https://www.example.com" else url,
    "capitals in the host": lambda url: url.replace("www.example.com", "WWW.Example.COM"),
    "small letters in escapes": lambda url: url.replace("%2F", "%2f").replace("%2B", "%2b"),
    "an escape that is not needed": lambda url: url.replace("Path", "%50ath"),
    "a blank at the end": lambda url: f"{url} ",
}


@pytest.mark.parametrize("change", FREE_TEXTS.values(), ids=FREE_TEXTS)
def test_an_address_that_means_the_same_is_the_same(change: object) -> None:
    name = "custom_index_url"
    same: Lie = form("create update", lambda f: f | {name: change(f[name])}, lambda f: bool(f.get(name)))  # type: ignore[operator]
    assert verdicts(same, D, FULL, EXPLORE)[f"forms.{name.replace('_', '-')}-comes-back"].verdict is Verdict.PASS
