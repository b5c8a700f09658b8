from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from outcomes import CONTRACT, outcome
from playwright.sync_api import Browser, Page

from contract_tests.reports import html, results

pytestmark = pytest.mark.slow

WIDE, NARROW = (1280, 900), (360, 740)


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The URL of a report."""
    path = tmp_path_factory.mktemp("reports")
    html.write_folder(CONTRACT, outcome(), results.as_dict(outcome()), path)
    return (path / "report.html").as_uri()


@pytest.fixture(scope="module")
def page(browser: Browser) -> Iterator[Page]:
    """The page of all tests, since a new one takes a second; without a network."""
    context = browser.new_context(offline=True)
    yield context.new_page()
    context.close()


def show(page: Page, url: str, size: tuple[int, int], scheme: Literal["light", "dark"] = "light") -> None:
    """Open a report with all its details."""
    page.set_viewport_size({"width": size[0], "height": size[1]})
    page.emulate_media(color_scheme=scheme, media="screen")
    page.goto(url)
    for each in page.locator("details").all():
        each.evaluate("each => { each.open = true }")


def test_a_report_asks_the_network_for_nothing(page: Page, report: str) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(report)
    page.wait_for_load_state("networkidle")
    assert asked == [report]


@pytest.mark.parametrize(
    ("size", "scheme"),
    [
        (WIDE, "light"),
        (NARROW, "dark"),
        pytest.param(WIDE, "dark", marks=pytest.mark.exhaustive),
        pytest.param(NARROW, "light", marks=pytest.mark.exhaustive),
    ],
    ids=["wide, light", "narrow, dark", "wide, dark", "narrow, light"],
)
def test_a_report_can_be_used_by_everybody(
    page: Page, report: str, size: tuple[int, int], scheme: Literal["light", "dark"]
) -> None:
    show(page, report, size, scheme)
    found: Any = Axe().run(page).response["violations"]
    assert [(each["id"], each["nodes"][0]["html"][:200]) for each in found] == []
    assert page.evaluate("document.documentElement.scrollWidth") <= size[0]


def test_a_report_shows_what_was_found_first(page: Page, report: str) -> None:
    show(page, report, WIDE)
    assert page.title() == "does not conform, with 1 warning: https://links.example.com/prefix"
    assert page.locator("article h3").first.inner_text() == "fail 1. operations.create-answers for splash-pages"
    page.locator("article dd a").first.click()
    assert "#statement-" in page.url
    show(page, report, NARROW)
    assert page.locator("article").first.bounding_box()["y"] < 3 * NARROW[1]  # type: ignore[index]


def test_filters_leave_what_they_are_about(page: Page, report: str) -> None:
    show(page, report, WIDE)

    def shown() -> list[str]:
        return [each.get_attribute("id") or "" for each in page.locator("article").all() if each.is_visible()]

    every = shown()
    page.locator("#a-operations").check()
    assert shown() == [rule for rule in every if rule.startswith("operations.")] != every
    page.get_by_label("all").first.check()
    assert shown() == every
    page.locator("#v-warn").check()
    assert shown() == [each.get_attribute("id") for each in page.locator("article.v-warn").all()]


def test_a_report_is_printed_without_losing_a_table(page: Page, report: str) -> None:
    show(page, report, WIDE)
    page.emulate_media(media="print")
    assert page.pdf(format="A4").startswith(b"%PDF-")
    assert page.locator(".scroll").first.evaluate("each => getComputedStyle(each).overflowX") == "visible"
