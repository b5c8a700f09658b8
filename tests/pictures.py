"""Makes the pictures of the README from real runs: `make pictures`.

They are the console and a report, each in light and dark, and a run in the terminal, as an SVG that plays.
"""

from __future__ import annotations

import os
import pty
import re
import shutil
import subprocess
import sys
import time
from html import escape
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

from conftest import CHROMIUM
from playwright.sync_api import Browser, ViewportSize, sync_playwright
from shell import COMMANDS, ROOT
from wire import HARBOUR, Client, over_network

from mock_server import MockServer

FOLDER = ROOT / "docs" / "pictures"
MAX_BYTES = 150_000  # of each
SIZE: ViewportSize = {"width": 1200, "height": 760}
COLUMNS, LINE_HEIGHT, LETTER_WIDTH, MARGIN = 100, 19, 8.43, 16
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
FIRST_SECOND = 1.0  # until the command begins
STYLE = """\
svg { background: #fff; color: #1f2328 }
text { font: 14px ui-monospace, Menlo, Consolas, monospace; fill: currentColor; white-space: pre; visibility: hidden }
.stays { animation: shown 0.01s forwards } .passes { animation-name: shown } .fail { fill: #cf222e; font-weight: bold }
@keyframes shown { from, to { visibility: visible } }
@media (prefers-color-scheme: dark) { svg { background: #0d1117; color: #e6edf3 } .fail { fill: #ff7b72 } }
@media (prefers-reduced-motion: reduce) { text { animation-delay: 0s !important } .passes { display: none } }"""
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
Timed = tuple[float, str]  # a line, and when it came, in seconds


def main() -> None:
    """Make all of them, and say how large they are."""
    FOLDER.mkdir(exist_ok=True)
    with MockServer(port=8000, defects=("total-is-one-more",)) as server, TemporaryDirectory() as folder:
        progress, output_lines = record(server.base_url, Path(folder))
        (FOLDER / "run.svg").write_text(recording(progress, output_lines), "utf-8")
        account = Client(over_network(server.base_url), HARBOUR)
        account.post("/api/domains", {"host": "start.example.com"})
        for path in ("/api/domains/?results_per_page=10", "/api/splash-pages/", "/api/domains/999"):
            account.get(path)
        with sync_playwright() as playwright:
            chromium = shutil.which("chromium") or shutil.which("chromium-browser")
            browser = playwright.chromium.launch(executable_path=chromium, args=CHROMIUM)
            for scheme in SCHEMES:
                photograph(browser, f"{server.base_url}/", "console", scheme)
                photograph(browser, (Path(folder) / "report.html").as_uri(), "report", scheme)
            browser.close()
    for picture in sorted(FOLDER.iterdir()):
        size = picture.stat().st_size
        print(f"{picture.relative_to(ROOT)}: {size:,} bytes")
        if size > MAX_BYTES:
            sys.exit(f"{picture.name} is larger than {MAX_BYTES:,} bytes")


def photograph(browser: Browser, url: str, name: str, scheme: Literal["light", "dark"]) -> None:
    """Take a picture of the upper part of a page."""
    page = browser.new_page(viewport=SIZE, color_scheme=scheme)
    page.goto(url, wait_until="networkidle")
    page.screenshot(path=FOLDER / f"{name}-{scheme}.png")
    page.close()


def record(base_url: str, report_dir: Path) -> tuple[list[Timed], list[str]]:
    """What a run shows while it goes on, with times, and what it prints in the end."""
    reader, writer = pty.openpty()
    options = ["--resources", "domains", "--report-dir", str(report_dir)]
    with subprocess.Popen(
        [COMMANDS / "contract-tests", "run", "--base-url", base_url, *options],
        env=os.environ | {"CONTRACT_API_KEY": HARBOUR, "COLUMNS": str(COLUMNS)},
        stdout=subprocess.PIPE,
        stderr=writer,
        text=True,
    ) as process:
        os.close(writer)
        started, progress = time.monotonic(), list[Timed]()
        try:
            while piece := os.read(reader, 4096).decode():
                line = re.split(r"[\r\n]+", ESCAPES.sub("", piece).strip())[-1]
                progress += [(time.monotonic() - started, line)] if line else []
        except OSError:  # how Linux says that nobody writes any more
            pass
        progress.append((time.monotonic() - started, ""))
        assert process.stdout
        output_lines = process.stdout.read()
    return progress, output_lines.replace(str(report_dir), "contract-reports").strip().splitlines()


def recording(progress: list[Timed], output_lines: list[str]) -> str:
    """An SVG that shows a command, its progress, and what it prints in the end."""
    command = "$ contract-tests run --base-url http://127.0.0.1:8000 --resources domains"
    rows = [_text(0, command, "stays", 0)]
    for (begins, line), (ends, _) in pairwise(progress):
        rows.append(_text(1, line[:COLUMNS], "passes", FIRST_SECOND + begins, ends - begins))
    for number, line in enumerate(output_lines, start=1):
        is_verdict = line.startswith(("fail: ", "fix this first", "does not conform"))
        text = line if len(line) <= COLUMNS else f"{line[: COLUMNS - 1]}\N{HORIZONTAL ELLIPSIS}"
        rows.append(_text(number, text, "stays fail" if is_verdict else "stays", FIRST_SECOND + progress[-1][0]))
    width = round(COLUMNS * LETTER_WIDTH) + 2 * MARGIN
    height = (len(output_lines) + 1) * LINE_HEIGHT + 2 * MARGIN
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">'
    return "\n".join([head, f"<style>{STYLE}</style>", *rows, "</svg>\n"])


def _text(row: int, text: str, name: str, begins: float, seconds: float = 0.0) -> str:
    y = MARGIN + (row + 1) * LINE_HEIGHT - 5
    duration = f"; animation-duration: {seconds:.2f}s" if seconds else ""
    return (
        f'<text class="{name}" x="{MARGIN}" y="{y}" style="animation-delay: {begins:.2f}s{duration}">'
        f"{escape(text)}</text>"
    )


if __name__ == "__main__":
    main()
