"""The one reader of API keys."""

from __future__ import annotations

import re
from ipaddress import IPv6Address, IPv6Network, ip_address
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIEnvironment

SCHEME = "Bearer"
SITE = re.compile(r"https?://(?:[^/]*\.)?([^./]+\.[a-z][^./:]*)(?::\d+)?", re.IGNORECASE)  # the end of a host's name


def scheme_and_key(environ: WSGIEnvironment) -> tuple[str, str]:
    """The scheme of a request's Authorization header, as it is spelled, and what follows it; both may be empty."""
    scheme, _, key = environ.get("HTTP_AUTHORIZATION", "").strip().partition(" ")
    return scheme, key.strip()


def key_of(environ: WSGIEnvironment) -> str:
    """The API key that a request carries, or nothing."""
    scheme, key = scheme_and_key(environ)
    return key if scheme.capitalize() == SCHEME else ""


def owner_of(environ: WSGIEnvironment) -> str:
    """Whoever sends a request, as far as it shows: the client's network, and the site of the page that asks.

    Programs that lie about it are on another machine, and have another address, or on this one, where they may do as
    they like.
    """
    address, origin = environ.get("REMOTE_ADDR", ""), environ.get("HTTP_ORIGIN", "")
    if ":" in address:
        address = _network(address)
    site = SITE.fullmatch(origin)
    return f"{address} {site[1].lower() if site else origin}".strip()


def _network(address: str) -> str:
    """The part of an IPv6 address that who has one address cannot choose."""
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(parsed, IPv6Address) and not parsed.ipv4_mapped:
        return str(IPv6Network((parsed, 64), strict=False))
    return str(parsed)
