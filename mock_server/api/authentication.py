"""Reads API keys; no other module does."""

from __future__ import annotations

from ipaddress import IPv6Address, IPv6Network, ip_address
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIEnvironment

SCHEME = "Bearer"


def scheme_and_key(environ: WSGIEnvironment) -> tuple[str, str]:
    """The scheme of a request's Authorization header, as it is spelled, and what follows it; both may be empty."""
    scheme, _, key = environ.get("HTTP_AUTHORIZATION", "").strip().partition(" ")
    return scheme, key.strip()


def key_of(environ: WSGIEnvironment) -> str:
    """The API key that a request carries, or an empty string."""
    scheme, key = scheme_and_key(environ)
    return key if scheme.capitalize() == SCHEME else ""


def owner_of(environ: WSGIEnvironment) -> str:
    """The client that sends a request, as far as it is known: its network, and the site of the page that asks.

    Programs that forge these run either on another machine, with another address, or on this one, where they may do as
    they like.
    """
    address, origin = environ.get("REMOTE_ADDR", ""), environ.get("HTTP_ORIGIN", "")
    if ":" in address:
        address = _network(address)
    return f"{address} {_site(origin)}".strip()


def _site(origin: str) -> str:
    """The part of an origin's host that a page cannot choose: a whole address, or the last two labels of a name.

    Pages without an origin of their own, such as those in a sandboxed frame, are one site of that name.
    """
    if origin == "null":
        return origin
    host = origin.partition("://")[2].lower()
    name = host.rpartition(":")[0] or host if not host.endswith("]") else host
    return name if name.replace(".", "").isdecimal() or "[" in name else ".".join(name.split(".")[-2:])


def _network(address: str) -> str:
    """The part of an address that its holder cannot choose: a whole IPv4 address, or 64 bits of an IPv6 one."""
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    mapped = parsed.ipv4_mapped if isinstance(parsed, IPv6Address) else parsed
    return str(mapped or IPv6Network((parsed, 64), strict=False))
