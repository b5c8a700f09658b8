"""A front end for tests in a browser: a page of another origin, whose functions call an API."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

from playwright.sync_api import Browser, Page
from wire import HARBOUR

IMAGES = Path(__file__).parents[1] / "fixtures" / "images"
FRONT_END = """<!doctype html><title>Front end</title>
<form><input name="name"><input type="file" name="logo"><input type="file" name="favicon">
<input type="file" name="opengraph"></form>
<script>
async function call(method, path, options = {}) {
  const headers = { Authorization: "Bearer KEY", ...options.headers };
  try {
    const answer = await fetch(path.startsWith("http") ? path : "BASE" + path, { method, headers, body: options.body });
    const text = await answer.text();
    let json = null;
    try { json = JSON.parse(text); } catch { /* an empty body, or HTML */ }
    return { status: answer.status, json, text, headers: Object.fromEntries(answer.headers), url: answer.url };
  } catch (error) {
    return { error: error.name };
  }
}
const fields = (values) => Object.entries(values).reduce((form, pair) => (form.append(...pair), form), new FormData());
</script>"""


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def site(folder: Path) -> Iterator[str]:
    """A folder as a site at http://localhost; its URL."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=folder)) as serving:
        Thread(target=serving.serve_forever, daemon=True).start()
        yield f"http://localhost:{serving.server_port}/"
        serving.shutdown()


@contextmanager
def page_for(browser: Browser, base_url: str, folder: Path) -> Iterator[Page]:
    """A page at http://localhost that calls an API at another origin."""
    (folder / "index.html").write_text(FRONT_END.replace("BASE", base_url).replace("KEY", HARBOUR), "utf-8")
    with site(folder) as url:
        shown = browser.new_context().new_page()
        shown.goto(url)
        yield shown
        shown.context.close()


def fill(page: Page, name: str) -> None:
    """Fill the form in, with an image for each of its files."""
    page.locator("input[name=name]").fill(name)
    for field in ("logo", "favicon", "opengraph"):
        page.locator(f"input[name={field}]").set_input_files(next(IMAGES.glob(f"{field}.*")))


def call(page: Page, method: str, path: str, options: str = "{}") -> dict[str, Any]:
    answer: dict[str, Any] = page.evaluate(f"call({method!r}, {path!r}, {options})")
    return answer
