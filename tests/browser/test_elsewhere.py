"""A page of another origin: it uses the API as front ends do, and cannot control the mock."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests
from front_end import FRONT_END, IMAGES, call, fill, site
from playwright.sync_api import Browser, Page, expect
from wire import HARBOUR

from mock_server import MockServer

pytestmark = pytest.mark.slow

KEY = {"Authorization": f"Bearer {HARBOUR}"}


@pytest.fixture(scope="module")
def front_end(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Page, str, Path]]:
    """The page of all tests, since a new one takes a second, and its site and folder."""
    folder = tmp_path_factory.mktemp("site")
    with site(folder) as url:
        shown = browser.new_context().new_page()
        yield shown, url, folder
        shown.context.close()


@pytest.fixture
def page(front_end: tuple[Page, str, Path], server: MockServer) -> Iterator[Page]:
    """A page at http://localhost, where the mock is at http://127.0.0.1."""
    shown, url, folder = front_end
    name = f"{server.origin.rpartition(':')[2]}.html"
    (folder / name).write_text(FRONT_END.replace("BASE", server.base_url).replace("KEY", HARBOUR), "utf-8")
    shown.goto(url + name)
    yield shown
    shown.goto("about:blank")


def test_it_lists_page_by_page_by_the_links(page: Page) -> None:
    seen, path = [], "/api/domains/?results_per_page=25"
    while path:
        answer = call(page, "GET", path)
        assert answer["status"] == 200
        seen += [row["id"] for row in answer["json"]["data"]]
        path = answer["json"]["links"]["next"]
    assert len(seen) == len(set(seen)) == 54


def test_it_creates_with_files_reads_updates_and_deletes(page: Page, server: MockServer) -> None:
    fill(page, "From a page")
    made = call(page, "POST", "/api/projects", "{body: new FormData(document.forms[0])}")
    assert made["status"] == 201
    path = f"/api/splash-pages/{made['json']['data']['id']}"
    assert call(page, "GET", path)["json"]["data"]["name"] == "From a page"
    assert call(page, "POST", path, '{body: fields({name: "Renamed"})}')["status"] == 200
    assert call(page, "GET", path)["json"]["data"]["name"] == "Renamed"
    deleted = call(page, "DELETE", path)
    assert (deleted["status"], deleted["text"]) == (200, "")
    assert call(page, "GET", path)["status"] == 404
    (entry,) = server.running.journal.find(method="POST", path="/api/projects")
    assert {name: (file.name, file.size) for name, file in entry.files.items()} == {
        each.stem: (each.name, each.stat().st_size) for each in IMAGES.iterdir()
    }


@pytest.mark.parametrize(
    ("method", "path", "options", "status", "title"),
    [
        ("GET", "/api/domains/999999", "{}", 404, "no such record"),
        ("GET", "/api/nothing", "{}", 404, "There is nothing at"),
        ("PUT", "/api/domains/1", "{}", 405, "PUT is not for this path"),
        ("GET", "/api/domains/", '{headers: {Authorization: ""}}', 401, "carries no API key"),
        ("GET", "/api/domains/", '{headers: {Authorization: "Bearer x"}}', 401, "is not known"),
        ("POST", "/api/projects", "{body: fields({title: 'x'})}", 400, 'The field "name" is required'),
        ("POST", "/api/projects", "{body: '{}', headers: {'Content-Type': 'application/json'}}", 415, "Send a form"),
        ("GET", "/api/domains/", "{headers: {Prefer: 'code=429'}}", 429, "asked for this answer"),
        ("GET", "/api/domains/", "{headers: {Prefer: 'code=teapot'}}", 400, 'code is "teapot"'),
    ],
)
def test_it_can_read_every_error(  # noqa: PLR0913, PLR0917
    page: Page, method: str, path: str, options: str, status: int, title: str
) -> None:
    answer = call(page, method, path, options)
    assert answer["status"] == status
    assert title in answer["json"]["errors"][0]["title"]


def test_it_can_read_how_long_to_wait_and_what_was_applied(page: Page) -> None:
    answer = call(page, "GET", "/api/domains/", "{headers: {Prefer: 'code=429'}}")
    told = {name: answer["headers"][name] for name in ("x-ratelimit-reset", "preference-applied")}
    assert told == {"x-ratelimit-reset": "1", "preference-applied": "code=429"}


@pytest.mark.parametrize(("when", "count"), [("after", 1), ("before", 0)])
def test_an_answer_is_lost_on_kept_connections_each_time_and_the_page_sends_nothing_again(
    page: Page, server: MockServer, when: str, count: int
) -> None:
    for number in range(10):
        assert call(page, "GET", "/api/domains/1")["status"] == 200  # the connection is kept
        options = f"{{body: fields({{host: 'lost-{number}.example.com'}}), headers: {{Prefer: 'lost={when}'}}}}"
        assert call(page, "POST", "/api/domains", options) == {"error": "TypeError"}
    assert len(server.running.journal.find(method="POST")) == 10
    assert call(page, "GET", "/api/domains/")["json"]["meta"]["total"] == 54 + 10 * count


def test_a_dropped_answer_is_lost_to_a_page_of_the_same_origin_too(page: Page, server: MockServer) -> None:
    page.goto(server.base_url)
    told = page.evaluate("""async () => {
        const headers = { Authorization: "Bearer demo-key-harbour", Prefer: "lost=after" };
        const body = new URLSearchParams({ host: "same.example.com" });
        await fetch("/api/domains/1", { headers: { Authorization: headers.Authorization } });
        try { return (await fetch("/api/domains", { method: "POST", headers, body })).status; }
        catch (error) { return error.name; }
    }""")
    assert told == "TypeError"
    assert [entry.broken for entry in server.running.journal.find(method="POST")] == ["dropped"]


def test_it_follows_a_redirect(page: Page, server: MockServer) -> None:
    server.running.change_switches(choices={"list-redirect": "307"})
    answer = call(page, "GET", "/api/domains/?page=2")
    assert (answer["status"], answer["json"]["meta"]["page"]) == (200, 2)


def test_without_cors_it_can_read_nothing(page: Page, server: MockServer) -> None:
    server.running.change_switches(cors_origins=())
    assert call(page, "GET", "/api/domains/") == {"error": "TypeError"}


ATTACKS = {
    "fetch": "fetch(BASE + '/_mock/reset', {method: 'POST'})",
    "json": "fetch(BASE + '/_mock/reset', {method: 'POST', headers: {'Content-Type': 'application/json'}, body: '{}'})",
    "no-cors": "fetch(BASE + '/_mock/reset', {method: 'POST', mode: 'no-cors'})",
    "a form": "fetch(BASE + '/_mock/reset', {method: 'POST', mode: 'no-cors', body: new FormData()})",
    "beacon": "Promise.resolve(navigator.sendBeacon(BASE + '/_mock/reset', new Blob(['{}'])))",
    "delete": "fetch(BASE + '/_mock/journal', {method: 'DELETE'})",
    "read": "fetch(BASE + '/_mock/state').then((answer) => answer.text())",
    "read a page": "fetch(BASE + '/').then((answer) => answer.text())",
}


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS)
def test_it_cannot_control_the_mock(page: Page, server: MockServer, attack: str) -> None:
    call(page, "DELETE", "/api/domains/1")
    script = attack.replace("BASE", json.dumps(server.base_url))
    assert page.evaluate(f"{script}.then((got) => typeof got === 'string' ? got : null, () => null)") is None
    page.wait_for_timeout(100)  # a beacon is sent some time later
    assert call(page, "GET", "/api/domains/1")["status"] == 404
    assert server.running.journal.find(method="DELETE")


@pytest.mark.parametrize(
    ("element", "source"), [("iframe", "/"), ("img", "/_mock/state"), ("script", "/_mock/static/console.js")]
)
def test_it_can_embed_nothing_of_it(page: Page, server: MockServer, element: str, source: str) -> None:
    shown = page.evaluate(
        """([name, url]) => new Promise((resolve) => {
          const element = document.createElement(name);
          element.onload = () => resolve(name === "iframe" ? element.contentDocument !== null : true);
          element.onerror = () => resolve(false);
          element.src = url;
          document.body.append(element);
        })""",
        [element, server.base_url + source],
    )
    assert shown is False


def test_a_form_that_it_sends_resets_nothing(page: Page, server: MockServer) -> None:
    call(page, "DELETE", "/api/domains/1")
    page.evaluate(
        """(url) => { const form = document.createElement("form"); form.method = "post"; form.action = url;
                      document.body.append(form); form.submit(); }""",
        f"{server.base_url}/_mock/reset",
    )
    page.wait_for_url("**/_mock/reset")
    assert "Only programs on this machine" in page.locator("body").inner_text()
    assert server.running.journal.find(method="DELETE")
    assert server.running.mock.accounts.get(HARBOUR).collections["domains"].total == 53  # type: ignore[union-attr]


def test_iframes_and_prefetches_hold_no_follower_of_the_journal(page: Page, server: MockServer) -> None:
    page.evaluate(
        """async (url) => {
          for (let number = 0; number < 10; number += 1) {
            for (const path of ["/_mock/console/journal", "/_mock/journal/events"]) {
              const frame = document.createElement("iframe");
              frame.src = url + path;
              const link = Object.assign(document.createElement("link"), { rel: "prefetch", href: url + path });
              document.body.append(frame, link);
            }
          }
          await new Promise((resolve) => setTimeout(resolve, 500));
        }""",
        server.base_url,
    )
    ours = page.context.browser.new_context().new_page()  # type: ignore[union-attr]
    ours.goto(f"{server.origin}/_mock/console/journal")
    expect(ours.locator("#live")).to_contain_text("Live")
    ours.context.close()


def test_it_does_not_freeze_the_mock(page: Page, server: MockServer) -> None:
    page.evaluate(
        """(url) => { for (let number = 0; number < 100; number += 1) {
             const headers = { Authorization: "Bearer sandbox-a", Prefer: "delay=60" };
             fetch(`${url}/api/domains/?${number}`, { headers }).catch(() => null);
           } }""",
        server.base_url,
    )
    assert requests.get(f"{server.origin}/_mock/state", timeout=60).status_code == 200
    assert requests.get(f"{server.base_url}/api/domains/1", headers=KEY, timeout=60).status_code == 200


def test_it_pushes_out_sandboxes_and_no_account_of_the_fixture(page: Page) -> None:
    with MockServer(sandboxes=10) as server:
        assert requests.delete(f"{server.base_url}/api/domains/1", headers=KEY, timeout=60).status_code == 200
        statuses = page.evaluate(
            """(url) => Promise.all([...Array(40).keys()].map((number) => fetch(`${url}/api/domains/1`,
                 { headers: { Authorization: `Bearer sandbox-${number}` } }).then((answer) => answer.status)))""",
            server.base_url,
        )
        assert statuses == [200] * 40
        assert len(server.running.mock.accounts.sandboxes) == 10
        assert requests.get(f"{server.base_url}/api/domains/1", headers=KEY, timeout=60).status_code == 404


def test_a_window_that_it_opens_is_out_of_its_reach(page: Page, server: MockServer) -> None:
    with page.context.expect_page() as opened:
        page.evaluate("(url) => { window.opened = window.open(url); }", f"{server.origin}/")
    opened.value.wait_for_load_state()
    assert page.evaluate("window.opened.closed") is True  # as it seems to a page that has no hold on it
    assert opened.value.evaluate("window.opener") is None
    opened.value.close()
