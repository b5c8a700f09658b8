from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from outcomes import CONTRACT, outcome
from playwright.sync_api import Browser, Page

from contract_tests.reports import html, results

pytestmark = pytest.mark.slow

WIDE, NARROW = (1280, 900), (360, 740)


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The pages that are made, by name."""
    path = tmp_path_factory.mktemp("reports")
    html.write_folder(CONTRACT, outcome(), results.as_dict(outcome()), path)
    return {"report": path / "report.html"}


def opened(browser: Browser, path: Path, size: tuple[int, int], scheme: Literal["light", "dark"] = "light") -> Page:
    context = browser.new_context(viewport={"width": size[0], "height": size[1]}, color_scheme=scheme)
    page = context.new_page()
    page.goto(path.as_uri())
    for each in page.locator("details").all():
        each.evaluate("each => { each.open = true }")
    return page


@pytest.mark.parametrize("name", ["report"])
def test_a_page_asks_the_network_for_nothing(browser: Browser, pages: dict[str, Path], name: str) -> None:
    asked: list[str] = []
    page = browser.new_context(offline=True).new_page()
    page.on("request", lambda request: asked.append(request.url))
    page.goto(pages[name].as_uri())
    page.wait_for_load_state("networkidle")
    assert asked == [pages[name].as_uri()]
    page.context.close()


@pytest.mark.parametrize("name", ["report"])
@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_page_can_be_used_by_everybody(
    browser: Browser, pages: dict[str, Path], name: str, size: tuple[int, int], scheme: Literal["light", "dark"]
) -> None:
    page = opened(browser, pages[name], size, scheme)
    found: Any = Axe().run(page).response["violations"]
    assert [(each["id"], each["nodes"][0]["html"][:200]) for each in found] == []
    page.context.close()


@pytest.mark.parametrize("name", ["report"])
def test_a_page_is_never_wider_than_a_phone(browser: Browser, pages: dict[str, Path], name: str) -> None:
    page = opened(browser, pages[name], NARROW)
    assert page.evaluate("document.documentElement.scrollWidth") <= NARROW[0]
    page.context.close()


def test_a_report_shows_what_was_found_first(browser: Browser, pages: dict[str, Path]) -> None:
    page = opened(browser, pages["report"], WIDE)
    assert page.title() == "does not conform, with 1 warning: https://links.example.com/prefix"
    assert page.locator("article h3").first.inner_text() == "fail 1. operations.create-answers for splash-pages"
    page.locator("article dd a").first.click()
    assert "#statement-" in page.url
    page.context.close()
    phone = opened(browser, pages["report"], NARROW)
    assert phone.locator("article").first.bounding_box()["y"] < 3 * NARROW[1]  # type: ignore[index]
    phone.context.close()


def test_filters_leave_what_they_are_about(browser: Browser, pages: dict[str, Path]) -> None:
    page = opened(browser, pages["report"], WIDE)

    def shown() -> list[str]:
        return [each.get_attribute("id") or "" for each in page.locator("article").all() if each.is_visible()]

    every = shown()
    page.locator("#a-operations").check()
    assert shown() == [rule for rule in every if rule.startswith("operations.")] != every
    page.get_by_label("all").first.check()
    assert shown() == every
    page.locator("#v-warn").check()
    assert shown() == [each.get_attribute("id") for each in page.locator("article.v-warn").all()]
    page.context.close()


def test_a_report_is_printed_without_losing_a_table(browser: Browser, pages: dict[str, Path]) -> None:
    page = opened(browser, pages["report"], WIDE)
    page.emulate_media(media="print")
    assert page.pdf(format="A4").startswith(b"%PDF-")
    assert page.locator(".scroll").first.evaluate("each => getComputedStyle(each).overflowX") == "visible"
    page.context.close()
