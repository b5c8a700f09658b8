"""How `make site` builds a site from the pages as they are: navigation, search, links and anchors that are checked."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from sphinx.application import Sphinx

ROOT = Path(__file__).parents[1]
LINK = re.compile(r"\[([^]]+)\]\(([^)#:]+)\)")
NAVIGATION = {
    "Build a client": ("mock", "testing-a-client", "in-the-page", "in-front-of-a-deployment", "extending", "scale"),
    "Judge a server": ("judging", "fixing", "judging-reference", "ci", "agents"),
    "The contract": ("contract", "specification"),
    "Evidence": ("proof", "reliability", "comparison", "speed"),
    "The project": ("/CONTRIBUTING", "architecture", "/SECURITY", "/CHANGELOG", "/bench/README"),
}

project = html_title = "Link-management API"
copyright = "the contributors"  # noqa: A001 - Sphinx's name
extensions = ["myst_parser"]
root_doc = "README"
include_patterns = [
    *("README.md", "docs/*.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "bench/README.md"),
    *("clients/javascript/README.md", "skills/*/SKILL.md"),
]
myst_heading_anchors = 4
html_theme = "furo"
html_show_sphinx = False


def _prepare(_: Sphinx, name: str, source: list[str]) -> None:
    """Add the navigation to the README, and leave out links to folders, which a site does not have."""
    folder = (ROOT / name).parent

    def linked(match: re.Match[str]) -> str:
        return match[1] if (folder / match[2]).is_dir() else match[0]

    source[0] = LINK.sub(linked, source[0])
    if name == root_doc:
        for title, pages in NAVIGATION.items():
            names = "\n".join(page if page.startswith("/") else f"docs/{page}" for page in pages)
            source[0] += f"\n```{{toctree}}\n:hidden:\n:caption: {title}\n\n{names}\n```\n"
    elif name.startswith(("clients/", "skills/")):
        source[0] = f"---\norphan: true\n---\n{re.sub(r'^---.*?---', '', source[0], flags=re.DOTALL)}"


def _complete(app: Sphinx, error: Exception | None) -> None:
    """Add the pictures that stand in HTML, which Sphinx leaves as it is, and the page that a site opens with."""
    if not error:
        shutil.copytree(ROOT / "docs" / "pictures", Path(app.outdir) / "docs" / "pictures", dirs_exist_ok=True)
        shutil.copy(Path(app.outdir) / f"{root_doc}.html", Path(app.outdir) / "index.html")


def setup(app: Sphinx) -> None:
    """Tell Sphinx of both."""
    app.connect("source-read", _prepare)
    app.connect("build-finished", _complete)
