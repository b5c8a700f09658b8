"""A page of another origin that uses a deployment through the server in front of it, and what comes of the archive."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
import requests
from front_end import call, fill, page_for
from independent import IndependentServer
from playwright.sync_api import Browser, expect
from shell import command
from upstream import serving
from werkzeug.wrappers import Request, Response

from mock_server import MockServer
from mock_server.settings.settings import Deployment

pytestmark = pytest.mark.slow


class WrongTotal(IndependentServer):
    """Tells totals as texts."""

    def _list(self, records: Any, resource: str, request: Request) -> Response:
        answer = super()._list(records, resource, request)
        answer.set_data(answer.get_data().replace(b'"total": ', b'"total": "" ').replace(b'"" ', b'"" , "t": '))
        return answer


def test_a_page_uses_a_deployment_of_another_origin_and_its_answers_are_judged(
    browser: Browser, tmp_path: Path
) -> None:
    with (
        serving(IndependentServer(30)) as there,
        MockServer(deployment=Deployment(url=there, rewrite_links=True)) as server,
        page_for(browser, server.base_url, tmp_path) as page,
    ):
        seen: list[int] = []
        path = "/api/domains/?results_per_page=25"
        while path:
            answer = call(page, "GET", path)
            assert answer["status"] == 200
            seen += [row["id"] for row in answer["json"]["data"]]
            path = answer["json"]["links"]["next"]
            assert path is None or path.startswith(server.base_url)
        assert len(seen) == len(set(seen)) == 30

        fill(page, "From a page")
        made = call(page, "POST", "/api/projects", "{body: new FormData(document.forms[0])}")
        assert made["status"] == 202
        path = f"/api/splash-pages/{made['json']['data']['id']}"
        assert call(page, "GET", path)["json"]["data"]["name"] == "From a page"

        began = time.monotonic()
        assert call(page, "GET", path, '{headers: {Prefer: "delay=0.4"}}')["status"] == 200
        assert time.monotonic() - began >= 0.4
        forced = {"status": 503, "headers": {"Retry-After": "3"}, "path": "/api/splash-pages/*"}
        assert requests.post(f"{server.origin}/_mock/forced", json=forced, timeout=60).ok
        refused = call(page, "GET", path)
        assert (refused["status"], refused["headers"]["retry-after"]) == (503, "3")
        assert refused["headers"]["proxy-status"].startswith("mock-server")
        lost = call(page, "POST", path, '{headers: {Prefer: "lost=after"}, body: fields({name: "Lost"})}')
        assert lost == {"error": "TypeError"}
        assert call(page, "GET", path)["json"]["data"]["name"] == "Lost"  # the deployment did its work
        assert call(page, "DELETE", path)["status"] == 204

        har = tmp_path / "journal.har"
        har.write_bytes(requests.get(f"{server.origin}/_mock/journal.har", timeout=60).content)
        assert [entry.remarks for entry in server.running.journal.find() if entry.remarks] == []
    judged = command("judge", har)
    assert judged.returncode == 0, judged.stdout
    assert f"exchanges are with {there}" in judged.stdout


def test_the_rule_that_a_wrong_deployment_breaks_is_named(browser: Browser, tmp_path: Path) -> None:
    with (
        serving(WrongTotal(3)) as there,
        MockServer(deployment=Deployment(url=there)) as server,
        page_for(browser, server.base_url, tmp_path) as page,
    ):
        assert call(page, "GET", "/api/domains/")["status"] == 200
        console = browser.new_context(accept_downloads=True).new_page()
        console.goto(f"{server.origin}/_mock/console/journal")
        with console.expect_download() as download:
            console.get_by_role("link", name="Save as HAR").click()
        download.value.save_as(tmp_path / "saved.har")
        console.get_by_text("Judge the answers").click()
        expect(console.get_by_text("contract-tests judge journal.har", exact=True)).to_be_visible()
        console.context.close()
    judged = command("judge", tmp_path / "saved.har")
    assert judged.returncode == 1
    assert "fail: envelopes.list-meta-holds-integers" in judged.stdout
    assert "GET /api/domains/" in judged.stdout
