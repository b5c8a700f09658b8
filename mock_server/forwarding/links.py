"""Page links and redirects that lead back to this server instead of the deployment."""

from __future__ import annotations

import json
import re

LINK = re.compile(
    rb'("(?:first|last|prev|next|self)"\s*:\s*")(https?:(?:\\?/){2}(?:[^"\\]|\\/)*?)(?=(?:\\?/)api(?:\\?/))', re.ASCII
)
LONGEST = 4 * 2**20  # bytes of an answer whose links are changed


def links_here(body: bytes, here: str) -> bytes:
    """A page whose links begin with another base URL; all else stays as it is, byte by byte.

    Args:
        body: the JSON of a page.
        here: the base URL of this server.
    """
    base = json.dumps(here)[1:-1].encode()
    return LINK.sub(lambda found: found[1] + base, body)


def location_here(location: bytes, there: str, here: str) -> bytes:
    """The target of a redirect, if it is within the deployment, as a URL of this server."""
    base = there.encode()
    inside = location == base or location.startswith((base + b"/", base + b"?"))
    return here.encode() + location[len(base) :] if inside else location
