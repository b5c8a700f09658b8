"""A few lists that show whether there is such a service, and whether it accepts the key."""

import socket
import ssl
from collections.abc import Iterable
from urllib.parse import urlsplit

from contract_tests.errors import UnusableTargetError
from contract_tests.evidence.exchange import OTHER, OWN_KEY, Exchange, Expect, request_of
from contract_tests.target.target import Target
from link_management_contract import Resource

REASONS = {
    401: "the key was refused",
    403: "the key was refused",
    404: "no list is found; is the base URL right, with its prefix and without /api, and does a list's path end in /?",
}
PAGE_QUERY = (("results_per_page", "10"), ("page", "1"))
HANDSHAKE_SECONDS = 5.0
TLS = ("certificate", "SSL", "TLS")


def preflight(target: Target, resources: Iterable[Resource]) -> None:
    """List each resource once; one list that can be read is enough to go on.

    Raises:
        UnusableTargetError: if none can be read; the message says why.
    """
    resource_list = list(resources)
    lists = list[Exchange]()
    for resource in resource_list:
        lists.append(_list(target, resource))
        if lists[-1].timed_out:
            raise UnusableTargetError(
                f"{lists[-1].error}, tried three times ({lists[-1].request.path});"
                " give a longer --timeout if it is only slow"
            )
    if any(map(_is_list, lists)):
        _check_second_key(target, resource_list)
        target.refusals.learn(resource_list[[*map(_is_list, lists)].index(True)])
        return
    rejected = [exchange for exchange in lists if exchange.status not in (None, *REASONS)]
    if any(
        _is_list(_list(target, resource, *PAGE_QUERY)) for resource in resource_list if rejected
    ):  # it may require a page parameter
        return
    answered = [exchange for exchange in lists if exchange.status is not None]
    reason = _reason((rejected or answered or lists)[0])
    if not answered and target.base_url.startswith("http:") and _speaks_tls(target.base_url):
        reason = f"TLS answers there, not HTTP; give the base URL with https:// ({reason})"
    raise UnusableTargetError(reason)


def _check_second_key(target: Target, resources: list[Resource]) -> None:
    """Refuse to judge the separation of accounts with a second key that no list accepts."""
    if OTHER in target.keys:
        lists = [_list(target, resources[0], identity=OTHER)]
        if not _is_list(lists[0]):
            lists += [_list(target, resource, *PAGE_QUERY, identity=OTHER) for resource in resources]
        if not any(map(_is_list, lists)):
            raise UnusableTargetError(
                f"the second API key opens nothing (status {lists[0].status}); give another account's"
            )


def _list(target: Target, resource: Resource, *query: tuple[str, str], identity: str = OWN_KEY) -> Exchange:
    expects = Expect.SUCCESS if identity == OWN_KEY else Expect.OPEN
    return target.send(request_of(resource, "list", expects=expects, identity=identity, query=query))


def _is_list(exchange: Exchange) -> bool:
    """Whether a list succeeded, with JSON or what was meant to be JSON."""
    return exchange.succeeded and (exchange.json is not None or b'"data"' in exchange.body)


def _speaks_tls(base_url: str) -> bool:
    """Whether a port shakes hands for TLS, whatever its certificate."""
    parts, context = urlsplit(base_url), ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    address = (parts.hostname or "", parts.port or 80)
    try:
        with (
            socket.create_connection(address, HANDSHAKE_SECONDS) as connection,
            context.wrap_socket(connection, server_hostname=parts.hostname),
        ):
            return True
    except OSError:
        return False


def _reason(exchange: Exchange) -> str:
    if exchange.status is None and any(word in exchange.error for word in TLS):
        is_http = "WRONG_VERSION_NUMBER" in exchange.error
        hint = "HTTP may answer there" if is_http else "give --ca-bundle if its authority is one of your own"
        return f"TLS: {exchange.error[:200]}; {hint}"
    if exchange.status is None:
        return f"unreachable: {exchange.error[:200]}"
    if exchange.redirects:
        return f"redirected to {_destination_of(exchange.redirects[-1][1])}; give the URL that it leads to"
    status_note = f"(status {exchange.status} for {exchange.request.path})"
    if exchange.status in REASONS:
        return f"{REASONS[exchange.status]} {status_note}"
    media_type = exchange.headers.get("Content-Type", "no media type")
    if exchange.succeeded:
        return f"{media_type} in the place of JSON; is the base URL right? {status_note}"
    return f"no list could be had {status_note}"


def _destination_of(location: str) -> str:
    """The origin that a redirect names, or else the path."""
    try:
        parts = urlsplit(location)
    except ValueError:
        return "what is no URL"
    return f"{parts.scheme}://{parts.netloc}" if parts.netloc else parts.path
