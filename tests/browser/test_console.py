"""The console, driven through all that it can do."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import closing, suppress
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

import pytest
import requests
from axe_playwright_python.sync_playwright import Axe
from conformance import DOCUMENT
from playwright.sync_api import Browser, Page, expect
from wire import ALPINE, HARBOUR, Client, over_network

from mock_server import MockServer
from mock_server.journal.journal import MAX_TEXT_LENGTH

pytestmark = pytest.mark.slow

IMAGES = Path(__file__).parents[2] / "fixtures" / "images"
WIDE, NARROW = (1280, 900), (360, 740)
RECORDS, ACCOUNT = "/_mock/console/records", f"account={HARBOUR}"
PAGES = {
    "overview": "/",
    "records": RECORDS,
    "splash pages": f"{RECORDS}/splash-pages?{ACCOUNT}",
    "handlers": f"{RECORDS}/notification-handlers?{ACCOUNT}&page=2",
    "no records": f"{RECORDS}/domains?{ACCOUNT}&page=99",
    "create": f"{RECORDS}/notification-handlers/new?{ACCOUNT}",
    "edit": f"{RECORDS}/splash-pages/1?{ACCOUNT}",
    "journal": "/_mock/console/journal",
    "request": "/_mock/console/journal/2",
    "switches": "/_mock/console/switches",
    "contract": "/_mock/console/contract",
}


@pytest.fixture(scope="module")
def tab(browser: Browser) -> Iterator[tuple[Page, list[str]]]:
    """The page of all tests, since a new one takes a second, and what goes wrong in it."""
    context = browser.new_context(permissions=["clipboard-read", "clipboard-write"])
    wrong: list[str] = []
    shown = context.new_page()
    shown.on("pageerror", lambda error: wrong.append(str(error)))
    shown.on("console", lambda message: wrong.append(message.text) if "Content Security" in message.text else None)
    yield shown, wrong
    context.close()


@pytest.fixture
def page(tab: tuple[Page, list[str]], server: MockServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[Page]:
    """A page for which a path is one of the mock, and that fails its test if a script or a resource fails."""
    shown, wrong = tab
    wrong.clear()
    shown.set_viewport_size({"width": WIDE[0], "height": WIDE[1]})
    shown.emulate_media(color_scheme="light")
    go = shown.goto
    monkeypatch.setattr(shown, "goto", lambda path: go(server.base_url + path))
    yield shown
    go("about:blank")
    assert wrong == []


@pytest.fixture(scope="module")
def busy() -> Iterator[MockServer]:
    """A mock with something to see on every page."""
    with MockServer() as server:
        client = Client(over_network(server.base_url))
        client.get("/api/domains/?results_per_page=30&sort=up")
        client.post("/api/projects", {"title": "No name", "logo": ("a.png", b"x", "image/png")})
        client.request("GET", "/api/domains/1", headers={"Prefer": "code=503"})
        Client(over_network(server.base_url), "sandbox-busy").get("/api/domains/1")
        server.running.fixtures.keep("one")
        server.running.effects.add({"prefer": "code=429", "path": "/api/projects", "times": None})
        server.running.change_switches(
            choices={"order": "oldest-first"}, defects=("total-is-one-more",), conditions={"quota": 99}
        )
        yield server


@pytest.mark.parametrize(
    ("name", "size", "scheme"),
    [
        *(pytest.param(name, NARROW, "dark", id=f"{name}, narrow, dark") for name in PAGES),
        *(
            pytest.param(
                name, WIDE, "light", id=f"{name}, wide, light", marks=[pytest.mark.exhaustive] * (name != "overview")
            )
            for name in PAGES
        ),
    ],
)
def test_each_page_can_be_used_by_everybody_and_asks_nobody_else(
    tab: tuple[Page, list[str]], busy: MockServer, name: str, size: tuple[int, int], scheme: Literal["light", "dark"]
) -> None:
    asked: set[str] = set()
    page, _ = tab
    page.on("request", note := lambda request: asked.add(request.url))
    page.set_viewport_size({"width": size[0], "height": size[1]})
    page.emulate_media(color_scheme=scheme)
    page.goto(busy.base_url + PAGES[name])
    page.locator(".opblock" if name == "contract" else "#main h1").first.wait_for()
    for each in page.locator("details").all():
        each.evaluate("each => { each.open = true }")
    options = {"rules": {"label-content-name-mismatch": {"enabled": True}}}
    context = {"exclude": [[".swagger"]]}  # whose violations are not ours
    found: Any = Axe().run(page, context=context, options=options).response["violations"]
    assert [(each["id"], each["nodes"][0]["html"][:200]) for each in found] == []
    assert page.evaluate("document.documentElement.scrollWidth") <= size[0]
    page.remove_listener("request", note)
    assert {url for url in asked if not url.startswith((busy.base_url, "data:", "blob:"))} == set()


def sure(page: Page, name: str) -> None:
    """Do what asks to be confirmed."""
    shown = page.locator("details.confirm").filter(
        has=page.locator(f'summary[aria-label="{name}"], summary:text-is("{name}")')
    )
    shown.locator("summary").click()
    shown.get_by_role("button").click()


def test_it_is_used_without_a_mouse(page: Page) -> None:
    page.goto("/")
    page.get_by_role("heading", name="Accounts").wait_for()
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    for _ in range(5):  # the command, its button, the table and the button of the first key
        page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="splash pages of Harbour Books")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_contain_text("Splash pages of Harbour Books")


def test_records_are_paged(page: Page) -> None:
    page.goto("/")
    page.get_by_role("link", name="domains of Harbour Books").click()
    expect(page.locator("tbody tr")).to_have_count(25)
    first = page.locator("tbody tr td").first.inner_text()
    page.get_by_role("link", name="Next").click()
    page.get_by_role("link", name="Next").click()
    expect(page.locator("tbody tr")).to_have_count(4)
    expect(page.get_by_text("Page 3 of 3, 54 in all")).to_be_visible()
    page.get_by_role("link", name="Previous").click()
    page.get_by_role("link", name="Previous").click()
    assert page.locator("tbody tr td").first.inner_text() == first
    page.get_by_role("link", name="Notification handlers").click()
    expect(page.get_by_text("of Harbour Books")).to_be_visible()


def test_a_record_is_created_with_images_changed_and_deleted(page: Page, client: Client) -> None:
    page.goto(f"{RECORDS}/splash-pages?{ACCOUNT}")
    page.get_by_role("link", name="Create").click()
    page.get_by_label("name", exact=False).first.fill("Made by hand")
    for name in ("logo", "favicon", "opengraph"):
        page.locator(f"#{name}").set_input_files(next(IMAGES.glob(f"{name}.*")))
    page.get_by_role("button", name="Create").click()
    expect(page.locator("#said")).to_have_text("Created.")
    page.get_by_role("link", name="Made by hand").click()
    for name in ("logo", "favicon", "opengraph"):
        image = page.get_by_role("img", name=re.compile(f"^{name}: "))
        assert image.evaluate("each => each.decode().then(() => each.naturalWidth > 0)")
    page.locator("#name").fill("Changed by hand")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("#said")).to_have_text("Saved.")
    listed = client.get("/api/splash-pages/?results_per_page=10").json["data"]
    assert listed[0]["name"] == "Changed by hand"
    page.get_by_role("button", name="Delete Changed by hand").click()
    expect(page.locator("#said")).to_contain_text("Deleted Changed by hand.")
    assert client.get(f"/api/splash-pages/{listed[0]['id']}").status == 404


def test_a_handler_of_another_account_is_made_and_switched_off(page: Page, server: MockServer) -> None:
    page.goto(f"{RECORDS}/notification-handlers/new?account={ALPINE}")
    page.locator("#name").fill("Mail")
    page.locator("#type").select_option("email")
    page.locator("#email").fill("mail@example.com")
    page.get_by_role("button", name="Create").click()
    page.get_by_role("link", name="Mail", exact=True).first.click()
    page.locator("#is_enabled").select_option("0")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("#said")).to_have_text("Saved.")
    made = Client(over_network(server.base_url), ALPINE).get("/api/notification-handlers/?results_per_page=10").json
    assert made["data"][0]["settings"] == {"email": "mail@example.com"}
    assert made["data"][0]["is_enabled"] is False


def test_a_refusal_says_why_and_loses_nothing(page: Page) -> None:
    page.goto(f"{RECORDS}/splash-pages/new?{ACCOUNT}")
    page.locator("#title").fill("Not to be lost")
    page.get_by_role("button", name="Create").click()
    expect(page.get_by_role("alert")).to_contain_text('The API answered 400: The field "name" is required.')
    expect(page.locator("#name")).to_have_accessible_description(re.compile('The field "name" is required.'))
    expect(page.locator("#title")).to_have_value("Not to be lost")


def test_what_the_api_does_not_answer_is_told(page: Page, server: MockServer) -> None:
    server.running.change_switches(conditions={"dropped-before": 1})
    page.goto(f"{RECORDS}/domains/new?{ACCOUNT}")
    page.locator("#host").fill("a.example.com")
    page.get_by_role("button", name="Create").click()
    expect(page.get_by_role("alert")).to_contain_text("closed without an answer")


def test_the_journal_shows_requests_as_they_come(page: Page, client: Client) -> None:
    page.goto("/_mock/console/journal")
    expect(page.locator("#live")).to_contain_text("Live")
    client.get("/api/domains/?results_per_page=30")
    expect(page.locator("tbody tr")).to_have_count(1)
    expect(page.locator("tbody tr")).to_contain_text('The page size "30" is not one of 10, 25')
    client.get("/api/domains/1")
    expect(page.locator("tbody tr").first).to_contain_text("/api/domains/1")
    page.get_by_role("link", name="/api/domains/?results_per_page=30").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("GET /api/domains/?results_per_page=30")
    expect(page.get_by_text("pagination.other-sizes-are-not-used")).to_be_visible()
    assert HARBOUR not in page.content()


def test_a_request_is_sent_and_the_next_one_like_it_fails(page: Page, client: Client) -> None:
    client.get("/api/domains/1")
    page.goto("/_mock/console/journal")
    page.get_by_role("button", name="Fail next GET /api/domains/1").click()
    expect(page.locator("#said")).to_contain_text("The next GET /api/domains/1 by Harbour Books gets 503.")
    assert client.get("/api/domains/2").status == 200
    assert [client.get("/api/domains/1").status for _ in range(2)] == [503, 200]


def test_a_long_key_is_cut_in_the_middle(page: Page, server: MockServer) -> None:
    key = "sandbox-" + "long-" * 12
    Client(over_network(server.base_url), key).get("/api/domains/1")
    page.goto("/_mock/console/journal")
    shown = page.locator("tbody .key span")
    expect(shown).to_have_attribute("title", key)
    assert len(shown.inner_text()) < 30


def test_records_are_searched_sorted_and_shown_in_larger_pages(page: Page) -> None:
    page.goto("/")
    page.get_by_role("link", name="Records").click()
    page.get_by_role("link", name="Domains").click()
    page.get_by_label("Search").fill("JOBS.harbour.example.net")
    expect(page.locator("tbody tr")).to_have_count(1)
    page.get_by_label("Search").fill("")
    expect(page.locator("tbody tr")).to_have_count(25)
    page.get_by_role("button", name="host").click()
    expect(page.get_by_role("columnheader", name="host")).to_have_attribute("aria-sort", "ascending")
    page.get_by_label("On a page").select_option("100")
    expect(page.locator("tbody tr")).to_have_count(54)
    hosts = page.locator("tbody td.label").all_inner_texts()
    assert hosts == sorted(hosts)
    page.get_by_role("button", name="host").click()
    expect(page.locator("tbody td.label").first).to_have_text(hosts[-1])
    page.get_by_role("combobox", name="Account").select_option("Alpine Tours")
    expect(page.locator("tbody tr")).to_have_count(11)


def test_what_was_deleted_comes_back_with_its_files(page: Page, client: Client) -> None:
    logo = next(IMAGES.glob("logo.*"))
    made = client.create(
        "/api/projects", {"name": "Dear", "title": "Kept", "logo": (logo.name, logo.read_bytes(), "image/png")}
    )
    page.goto(f"{RECORDS}/splash-pages?{ACCOUNT}")
    page.get_by_role("button", name="Delete Dear").click()
    expect(page.locator("tbody").get_by_text("Dear")).to_have_count(0)
    page.get_by_role("button", name="Undo").click()
    expect(page.locator("#said")).to_contain_text("It is there again, as record")
    page.get_by_role("link", name="Dear").click()
    expect(page.get_by_role("img", name=f"logo: {logo.name}")).to_be_visible()
    expect(page.locator("#title")).to_have_value("Kept")
    assert client.get(f"/api/splash-pages/{made}").status == 404


def test_a_form_shows_the_settings_of_the_chosen_type_alone(page: Page) -> None:
    page.goto(f"{RECORDS}/notification-handlers/new?{ACCOUNT}")
    expect(page.locator("#email")).to_be_visible()
    page.locator("#type").select_option("slack")
    expect(page.locator("#email")).to_be_hidden()
    expect(page.locator("#slack")).to_be_visible()


def test_defects_and_open_points_are_searched(page: Page) -> None:
    page.goto("/_mock/console/switches")
    page.get_by_label("Search defects and open points").fill("total one more")
    expect(page.get_by_label("total-is-one-more", exact=False)).to_be_visible()
    expect(page.locator("details.group:visible")).not_to_have_count(0)
    expect(page.get_by_label("create-status", exact=False)).to_be_hidden()
    page.get_by_label("Search defects and open points").fill("no such thing")
    expect(page.get_by_text("0 found")).to_be_visible()


def test_json_that_was_cut_off_is_laid_out_too(page: Page) -> None:
    rows = [{"id": number, "name": 'a "b", {c}'} for number in range(100)]
    whole = json.dumps({"data": rows, "empty": ""})
    cut = whole[:MAX_TEXT_LENGTH]
    page.goto("/_mock/console/journal")
    indented = "async (text) => (await import('/_mock/static/entry.js')).indented(text)"
    shown = page.evaluate(indented, cut)
    assert shown.startswith(json.dumps({"data": rows}, indent=2)[:500])
    assert "".join(shown.removesuffix("…").split()) == "".join(cut.split())
    assert page.evaluate(indented, "plain, text") == "plain, text"


def test_the_journal_is_searched_and_emptied(page: Page, client: Client, server: MockServer) -> None:
    client.get("/api/domains/?results_per_page=30")
    client.get("/api/domains/1")
    Client(over_network(server.base_url), "sandbox-3").get("/api/splash-pages/1")
    page.goto("/_mock/console/journal")
    expect(page.locator("tbody tr")).to_have_count(3)
    page.get_by_label("Account").select_option("sandbox-3")
    expect(page.locator("tbody tr")).to_have_count(1)
    page.get_by_label("Account").select_option("any")
    page.get_by_label("Path").fill("splash")
    expect(page.locator("tbody tr")).to_have_count(1)
    page.get_by_label("Path").fill("")
    expect(page.locator("tbody tr")).to_have_count(3)
    page.get_by_label("only with remarks").check()
    expect(page.locator("tbody tr")).to_have_count(1)
    sure(page, "Empty the journal")
    expect(page.locator("#said")).to_have_text("The journal is empty.")
    assert server.running.journal.find() == []


def test_switches_are_set_and_taken_back_and_records_stay(page: Page, client: Client) -> None:
    made = client.create("/api/domains", {"host": "stays.example.com"})
    page.goto("/_mock/console/switches")
    page.get_by_label("quota", exact=False).fill("1")
    page.get_by_role("combobox", name="chunked", exact=False).select_option("on")
    page.get_by_text("Pagination", exact=False).first.click()
    page.get_by_label("total-is-one-more", exact=False).check()
    page.get_by_text(f"{len(DOCUMENT['x-open-points'])} points").click()
    page.get_by_label("create-status", exact=False).select_option("202")
    page.get_by_role("button", name="Switch").click()
    expect(page.locator("#said")).to_have_text("Switched. All records were kept.")
    assert client.post("/api/domains", {"host": "more.example.com"}).status == 403
    assert client.get("/api/domains/").json["meta"]["total"] == 56
    assert client.get(f"/api/domains/{made}").status == 200
    page.get_by_label("quota", exact=False).fill("")
    page.get_by_label("total-is-one-more", exact=False).uncheck()
    with page.expect_response("**/_mock/state"):
        page.get_by_role("button", name="Switch").click()
    assert client.post("/api/domains", {"host": "more.example.com"}).status == 202
    page.get_by_role("link", name="Overview").click()
    expect(page.get_by_text("create-status=202")).to_be_visible()
    sure(page, "Reset to the start")
    expect(page.get_by_text("It keeps the contract")).to_be_visible()
    assert client.get(f"/api/domains/{made}").status == 404


def test_a_switch_that_cannot_be_meant_is_told(page: Page) -> None:
    page.goto("/_mock/console/switches")
    page.get_by_label("quota", exact=False).fill("many")
    page.get_by_label("latency each", exact=False).fill("0.5")
    page.get_by_role("button", name="Switch").click()
    expect(page.get_by_label("quota", exact=False)).to_have_accessible_description('"many" is not a number.')
    expect(page.get_by_role("alert")).to_have_text('"many" is not a number.')
    expect(page.get_by_label("quota", exact=False)).to_have_value("many")
    expect(page.get_by_label("latency each", exact=False)).to_have_value("0.5")


def test_an_answer_is_forced_and_taken_back(page: Page, client: Client) -> None:
    page.goto("/_mock/console/switches")
    page.get_by_role("textbox", name="Path").fill("/api/domains/*")
    page.get_by_role("textbox", name="Status", exact=True).fill("429")
    page.get_by_role("button", name="Force").click()
    expect(page.locator("#said")).to_have_text("The answer is forced.")
    assert client.get("/api/domains/1").status == 429
    assert client.get("/api/domains/1").status == 200
    page.get_by_role("textbox", name="Path").fill("/api/domains/*")
    page.get_by_role("textbox", name="Refused field").fill("host")
    page.get_by_role("textbox", name="Retry-After in s", exact=True).fill("3")
    page.get_by_role("textbox", name="Times").fill("*")
    page.get_by_role("button", name="Force").click()
    expect(page.get_by_role("button", name="Remove field=host, Retry-After: 3")).to_be_visible()
    page.get_by_role("link", name="Overview").click()
    expect(page.get_by_text("until it is removed")).to_be_visible()
    page.get_by_role("button", name="Remove field=host, Retry-After: 3").click()
    expect(page.locator("#said")).to_have_text("The forced answer was removed.")
    assert client.get("/api/domains/1").status == 200
    page.get_by_role("link", name="Switches").click()
    page.get_by_role("button", name="Force").click()
    expect(page.get_by_role("alert")).to_contain_text("expected an object with one or more of prefer, condition")
    page.get_by_role("textbox", name="Path").fill("/api/domain")
    page.get_by_role("textbox", name="Status", exact=True).fill("503")
    page.get_by_role("button", name="Force").click()
    refused = re.compile('"path" is "/api/domain", which no request to this API has')
    expect(page.get_by_role("textbox", name="Path")).to_have_accessible_description(refused)
    expect(page.get_by_role("textbox", name="Path")).to_have_value("/api/domain")


def test_the_clocks_are_set(page: Page, client: Client) -> None:
    page.goto("/_mock/console/switches")
    page.get_by_label("Time, a second before").fill("2030-05-06 07:08:09")
    page.get_by_role("button", name="Set the clocks").click()
    expect(page.locator("#said")).to_have_text("The clocks were set.")
    made = client.create("/api/domains", {"host": "later.example.com"})
    assert client.get(f"/api/domains/{made}").json["data"]["datetime"] == "2030-05-06 07:08:10"
    page.get_by_label("Time, a second before").fill("soon")
    page.get_by_role("button", name="Set the clocks").click()
    expect(page.get_by_role("alert")).to_contain_text("\"now\" is 'soon'; expected YYYY-MM-DD HH:MM:SS")


def test_a_snapshot_is_kept_downloaded_brought_back_and_deleted(page: Page, client: Client) -> None:
    made = client.create("/api/domains", {"host": "kept.example.com"})
    page.goto("/")
    page.get_by_label("Name").fill("before")
    page.get_by_role("button", name="Keep a snapshot").click()
    expect(page.locator("#said")).to_have_text("The snapshot was kept.")
    client.delete(f"/api/domains/{made}")
    with page.expect_download() as download:
        page.get_by_role("link", name="Download before as a fixture").click()
    with MockServer(fixture=download.value.path()) as another:
        found = requests.get(
            f"{another.base_url}/api/domains/{made}", headers={"Authorization": f"Bearer {HARBOUR}"}, timeout=60
        )
        assert found.json()["data"]["host"] == "kept.example.com"
    page.get_by_role("button", name="Restore before").click()
    expect(page.locator("#said")).to_have_text("The snapshot was restored.")
    assert client.get(f"/api/domains/{made}").status == 200
    sure(page, "Delete before")
    expect(page.get_by_text("None yet.")).to_be_visible()


def test_the_contract_is_read_and_tried_out(page: Page, server: MockServer) -> None:
    page.goto("/_mock/console/contract")
    expect(page.get_by_role("link", name="/openapi.client.yaml")).to_be_visible()
    page.locator("#operations-domains-listDomains .opblock-summary-control").click()
    page.get_by_role("button", name="Try it out").click()
    page.get_by_role("button", name="Execute").click()
    expect(page.locator(".live-responses-table .response-col_status").last).to_contain_text("200")
    assert server.running.journal.find(path="/api/domains/", status="200", account="Harbour Books")
    page.locator("#operations-domains-createDomain .opblock-summary-control").click()
    page.get_by_role("button", name="Try it out").click()
    page.locator("#operations-domains-createDomain").get_by_role("button", name="Execute").click()
    page.locator("#operations-domains-createDomain .live-responses-table").wait_for()
    (created,) = server.running.journal.find(path="/api/domains", status="201")
    assert created.fields["host"] == "go.example.com"
    assert created.remarks == []


def test_a_key_with_dots_opens_no_other_account(page: Page, server: MockServer) -> None:
    odd = f"sandbox-/../{HARBOUR}"
    made = Client(over_network(server.base_url), odd).create("/api/domains", {"host": "odd.example.com"})
    page.goto("/")
    page.get_by_role("link", name=f"domains of {odd}").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(f"Domains of {odd}")
    page.get_by_role("link", name="odd.example.com").click()
    page.get_by_label("host").fill("even.example.com")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("#said")).to_have_text("Saved.")
    assert (
        Client(over_network(server.base_url), odd).get(f"/api/domains/{made}").json["data"]["host"]
        == "even.example.com"
    )
    page.get_by_role("button", name="Delete even.example.com").click()
    expect(page.locator("#said")).to_contain_text("Deleted even.example.com.")
    assert Client(over_network(server.base_url), odd).get(f"/api/domains/{made}").status == 404
    assert Client(over_network(server.base_url)).get("/api/domains/").json["meta"]["total"] == 54


def test_the_journal_has_pages_and_a_message_is_in_view_until_it_is_dismissed(page: Page, client: Client) -> None:
    for number in range(60):
        client.get(f"/api/domains/{number + 1}")
    page.goto("/_mock/console/journal")
    rows = page.locator("#entries tr")
    expect(page.get_by_text("Page 1 of 2, 60 in all")).to_be_visible()
    expect(rows).to_have_count(50)
    page.get_by_role("button", name="Older").click()
    expect(rows).to_have_count(10)
    client.get("/api/domains/99")
    expect(page.get_by_text("Page 2 of 2, 61 in all")).to_be_visible()
    expect(rows).to_have_count(10)  # as somebody is reading them
    rows.last.get_by_role("button").click()
    expect(page.locator("#said")).to_be_in_viewport()
    page.get_by_role("button", name="Dismiss").click()
    expect(page.locator("#said")).to_be_empty()


def test_the_journal_hides_what_the_console_itself_sends(page: Page, client: Client) -> None:
    page.goto("/_mock/console/records/domains/new")
    page.get_by_label("host").fill("made-here.example.com")
    page.get_by_role("button", name="Create").click()
    expect(page.locator("#said")).to_have_text("Created.")
    client.get("/api/domains/1")
    page.goto("/_mock/console/journal")
    expect(page.locator("#entries tr")).to_have_count(1)
    page.get_by_label("also from this console").check()
    expect(page.locator("#entries tr")).to_have_count(2)


@pytest.mark.parametrize(
    ("path", "told", "link"),
    [
        ("/_mock/console/nothing", "The console has no such page.", "The overview"),
        ("/_mock/console/records/nothing", 'There is no resource "nothing".', "All records"),
        ("/_mock/console/records/domains/99999", "There is no record 99999", "All domains of Harbour Books"),
    ],
)
def test_a_page_that_is_not_there_leads_back(
    tab: tuple[Page, list[str]], server: MockServer, path: str, told: str, link: str
) -> None:
    page, wrong = tab
    page.goto(server.base_url + path)
    expect(page.get_by_role("alert")).to_contain_text(told)
    page.get_by_role("link", name=link).click()
    page.locator("#main table").first.wait_for()
    expect(page.get_by_role("alert")).to_have_count(0)
    wrong.clear()  # the record that is not there


def test_many_accounts_have_pages(page: Page, server: MockServer) -> None:
    for number in range(60):
        Client(over_network(server.base_url), f"sandbox-{number}").get("/api/domains/1")
    page.goto("/")
    expect(page.locator("tbody").first.locator("tr")).to_have_count(2)
    rows = page.locator("#sandboxes tbody tr")
    expect(rows.first).to_be_hidden()
    page.get_by_text("60 sandboxes").click()
    expect(page.get_by_text("Page 1 of 3, the latest used first")).to_be_visible()
    expect(rows).to_have_count(25)
    expect(rows.first).to_contain_text("sandbox-59")
    page.get_by_role("link", name="Next").click()
    page.get_by_role("link", name="Next").click()
    expect(rows).to_have_count(10)
    expect(rows.last).to_contain_text("sandbox-0")


def test_the_journal_is_filtered_by_method_and_status(page: Page, client: Client) -> None:
    client.get("/api/domains/1")
    client.post("/api/domains", {"title": "None"})
    client.post("/api/domains", {"host": "a.example.com"})
    page.goto("/_mock/console/journal")
    page.get_by_label("Method").select_option("POST")
    page.get_by_label("Status").fill("400")
    expect(page.locator("tbody tr")).to_have_count(1)
    page.reload()
    expect(page.get_by_label("Method")).to_have_value("POST")
    page.locator("tbody th a").click()
    expect(page.locator("section pre").last).to_contain_text('"rule": "forms.host-required"')
    assert "\n  " in page.locator("section pre").last.inner_text()


def test_a_request_is_sent_again_and_told_as_curl(page: Page, client: Client) -> None:
    client.post("/api/projects", {"name": "Again"})
    page.goto("/_mock/console/journal/1")
    page.get_by_text("As a curl command").click()
    command = page.locator("#curl").inner_text()
    page.get_by_role("button", name="Send it again").click()
    expect(page.locator("#said")).to_have_text("The request was sent again; this is the new answer.")
    told = subprocess.check_output(
        ["bash", "-c", f"{command} --silent"], text=True, env={**os.environ, "API_KEY": HARBOUR}
    )
    assert told.startswith("HTTP/1.1 201 Created")
    listed = client.get("/api/splash-pages/?results_per_page=10").json["data"]
    assert [each["name"] for each in listed[:3]] == ["Again"] * 3
    client.post("/api/projects", {"name": "A", "logo": ("a.png", b"\x89PNG", "image/png")})
    page.goto("/_mock/console/journal/5")
    expect(page.get_by_text("It cannot be sent again: the journal does not keep the files.")).to_be_visible()
    assert """-F 'logo=@FILE;filename="a.png";type=image/png'""" in (page.locator("#curl").text_content() or "")


def test_the_journal_marks_answers_and_hides_preflights(page: Page, server: MockServer) -> None:
    def send() -> None:
        server.running.force({"status": 503, "times": 1})
        client = Client(over_network(server.base_url))
        client.get("/api/domains/1")
        client.request("GET", "/api/domains/1", headers={"Prefer": "code=404"})
        with suppress(requests.RequestException):
            client.request("GET", "/api/domains/1", headers={"Prefer": "lost=after"})
        preflight = {"Origin": "http://localhost:5173", "Access-Control-Request-Method": "POST"}
        client.request("OPTIONS", "/api/domains", headers=preflight)

    send()
    page.goto("/_mock/console/journal")
    marks = ["dropped", "404 preferred", "503 forced"]
    expect(page.locator("#entries td:nth-child(3)")).to_have_text(marks)
    expect(page.locator("#live")).to_contain_text("Live")
    send()
    expect(page.locator("#entries td:nth-child(3)")).to_have_text(marks * 2)
    page.get_by_label("preflights").check()
    expect(page.locator("#entries td:nth-child(3)")).to_have_text(["204", *marks] * 2)


def test_one_account_starts_again(page: Page, client: Client) -> None:
    client.create("/api/domains", {"host": "gone.example.com"})
    page.goto(f"{RECORDS}/domains?{ACCOUNT}")
    sure(page, "Start this account again")
    expect(page.locator("#said")).to_have_text("This account is as it was at the start.")
    assert client.get("/api/domains/").json["meta"]["total"] == 54


def test_nothing_that_has_the_focus_is_behind_the_bar(page: Page) -> None:
    page.goto("/_mock/console/switches")
    page.locator(".bar").wait_for()
    bar = page.locator(".bar").bounding_box()
    assert bar
    for _ in range(25):
        page.keyboard.press("Tab")
        box = page.locator(":focus").bounding_box()
        assert box
        inside = page.evaluate("document.querySelector('.bar').contains(document.activeElement)")
        assert inside or box["y"] + box["height"] <= page.locator(".bar").bounding_box()["y"]  # type: ignore[index]


def test_a_command_is_copied(page: Page, client: Client) -> None:
    client.get("/api/domains/1")
    page.goto("/_mock/console/journal/1")
    page.get_by_role("button", name="Copy as curl").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == page.locator("#curl").text_content()


def test_a_date_stands_on_one_line(page: Page) -> None:
    page.set_viewport_size({"width": NARROW[0], "height": NARROW[1]})
    page.goto(f"{RECORDS}/domains?{ACCOUNT}")
    page.locator("td.time").first.wait_for()
    heights = page.locator("td.time").evaluate_all(
        """every => every.map((each) => {
            const range = document.createRange();
            range.selectNodeContents(each);
            return range.getBoundingClientRect().height;
        })"""
    )
    assert len(heights) == 50
    assert max(heights) < 1.5 * min(heights)  # that of "never", which has no room for a break


def test_what_a_grease_chose_is_shown(page: Page, server: MockServer) -> None:
    server.running.change_switches(grease=7)
    page.goto("/_mock/console/switches")
    chosen = server.running.mock.choices["create-status"]
    expect(page.get_by_label("create-status", exact=False).locator("option").first).to_have_text(
        f"by the grease: {chosen}"
    )


@pytest.mark.parametrize(
    "target",
    [
        "//api/domains/",
        "/api/domains/?filter[name]=x&q={a,b}",
        pytest.param("/api/domains/%3Fx", marks=pytest.mark.exhaustive),
        pytest.param("/api/domains/?q=%C3%A9%2B", marks=pytest.mark.exhaustive),
    ],
)
def test_an_odd_request_is_sent_again_as_it_was(page: Page, server: MockServer, target: str) -> None:
    _send_and_run_its_command(server, "GET", target)
    page.goto("/_mock/console/journal/1")
    page.get_by_role("button", name="Send it again").click()
    expect(page.locator("#said")).to_contain_text("The request was sent again")
    first, *others = [(entry.path, entry.query, entry.status) for entry in server.running.journal.find()]
    assert others == [first, first]


def test_what_no_browser_sends_is_sent_again_by_its_command(page: Page, server: MockServer) -> None:
    _send_and_run_its_command(server, "OPTIONS", "*")
    page.goto("/_mock/console/journal/1")
    expect(
        page.get_by_text("It cannot be sent again: no browser sends such a request; use the command.")
    ).to_be_visible()
    assert [(entry.method, entry.path) for entry in server.running.journal.find()] == [("OPTIONS", "*")] * 2


def _send_and_run_its_command(server: MockServer, method: str, target: str) -> None:
    given = urlsplit(server.base_url)
    with closing(HTTPConnection(given.hostname or "", given.port)) as connection:
        connection.request(method, target, headers={"Authorization": "Bearer sandbox-odd"})
        connection.getresponse().read()
    command = requests.get(f"{server.base_url}/_mock/journal/1/curl", timeout=60).text.strip()
    subprocess.run(["bash", "-c", f"{command} --silent"], capture_output=True, check=True)
