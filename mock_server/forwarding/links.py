"""Page links and redirects that lead back to this server instead of the deployment."""

from __future__ import annotations

import json
import re
from urllib.parse import urlsplit

LINK = re.compile(rb'("(?:first|last|prev|next|self)"\s*:\s*")(https?:(?:\\?/){2}(?:[^"\\]|\\/)*)', re.ASCII)
API = re.compile(rb"(?:\\?/)api(?:\\?/)")
LONGEST = 2**20  # bytes of an answer whose links are changed


def links_here(body: bytes, there: str, here: str) -> bytes:
    """A page whose links begin with another base URL; all else stays as it is, byte by byte.

    Args:
        body: the JSON of a page.
        there: the base URL of the deployment, which its links need not begin with.
        here: the base URL of this server.
    """
    base, known = json.dumps(here)[1:-1].encode(), (there.encode(), there.replace("/", "\\/").encode())

    def changed(found: re.Match[bytes]) -> bytes:
        link = found[2]
        place = next((len(each) for each in known if API.match(link, len(each)) and link.startswith(each)), None)
        if place is None:
            api = API.search(link)
            place = api.start() if api else None
        return found[0] if place is None else found[1] + base + link[place:]

    return LINK.sub(changed, body)


def location_here(location: bytes, there: str, here: str) -> bytes:
    """The target of a redirect, if it is within the deployment, as a URL of this server."""
    path = urlsplit(there).path.encode()
    for base in (there.encode(), path):
        rest = location[len(base) :]
        is_below = rest[:1] in (b"/", b"?", b"") if base else location[:1] == b"/" and location[:2] != b"//"
        if location.startswith(base) and is_below:
            return here.encode() + rest
    return location
