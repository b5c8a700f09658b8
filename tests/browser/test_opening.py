"""The quick check that the console works in a browser; the others are slow."""

from __future__ import annotations

from playwright.sync_api import Browser, expect

from mock_server import MockServer


def test_the_console_opens_and_leads_to_records(browser: Browser, server: MockServer) -> None:
    page = browser.new_page()
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.goto(server.origin)
    page.get_by_role("link", name="domains of Harbour Books").click()
    expect(page.get_by_role("link", name="Next")).to_be_visible()
    page.close()
    assert wrong == []
