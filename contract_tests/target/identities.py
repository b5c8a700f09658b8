"""Who sends requests: the account, another account, and unauthorized clients with no key or an invalid one."""

import re
from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from urllib.parse import urlencode

from contract_tests.evidence.exchange import OPERATIONS, OTHER, OWN_KEY

NOBODY, WRONG_KEY, OTHER_CASES = "no key", "a wrong key", "the key in other cases"
S, D, N = "splash-pages", "domains", "notification-handlers"
ALL_RESOURCES = (S, D, N)
LETTERS = "a-zA-Z A-Za-z"
NAMES = ("access_token", "api_key", "token")  # of a key that is not in its header, as frameworks know it


@dataclass(frozen=True)
class Identity:
    """A client that sends requests.

    Attributes:
        header: the header with the account's key or what is sent instead; None if none is sent.
        curl: the same as an argument of curl, with the key from the environment.
        header_name: the name of that header; of a query if it is empty.
        tries: the operations that the survey tries as this client, by resource.
        is_close: whether a careless comparison of keys lets it in.
        holds_key: whether it sends the account's very key, if not as a bearer token; so it is no stranger.
    """

    name: str
    header: Callable[[str], str] | None
    curl: str = ""
    header_name: str = "Authorization"
    tries: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    is_close: bool = False
    holds_key: bool = False


def _bearer(key: str) -> str:
    return f'-H "Authorization: Bearer {key}"'


# The client without a key and the other account try everything; the others take turns, so that every resource and every
# operation is tried with some key.
IDENTITIES = {
    identity.name: identity
    for identity in (
        Identity(OWN_KEY, lambda key: f"Bearer {key}", _bearer("$CONTRACT_API_KEY")),
        Identity(NOBODY, None, tries=dict.fromkeys(ALL_RESOURCES, OPERATIONS)),
        Identity(
            WRONG_KEY,
            lambda _: "Bearer contract-tests-wrong-key",
            _bearer("contract-tests-wrong-key"),
            tries={S: ("read", "update"), D: ("read", "delete"), N: ("list", "read", "create")},
        ),
        Identity(
            "a truncated key",
            lambda key: f"Bearer {key[:-1]}",
            _bearer("${CONTRACT_API_KEY%?}"),
            tries={S: ("read",), N: ("list",)},
            is_close=True,
        ),
        Identity(
            "a longer key",
            lambda key: f"Bearer {key}0",
            _bearer("${CONTRACT_API_KEY}0"),
            tries={D: ("read",)},
            is_close=True,
        ),
        Identity(
            "a similar key",
            lambda key: f"Bearer {key[:-1]}{'y' if key.endswith('x') else 'x'}",
            _bearer("${CONTRACT_API_KEY%?}x"),
        ),
        Identity(
            OTHER_CASES,
            lambda key: f"Bearer {key.swapcase()}",
            f'-H "Authorization: Bearer $(printf %s "$CONTRACT_API_KEY" | tr {LETTERS})"',
        ),
        Identity("an empty key", lambda _: "Bearer ", _bearer(""), tries={D: ("read",)}),
        Identity(
            "another scheme",
            lambda key: f"Basic {key}",
            '-H "Authorization: Basic $CONTRACT_API_KEY"',
            tries={S: ("read",), D: ("list",), N: ("read",)},
            holds_key=True,
        ),
        Identity(
            "the key without a scheme",
            lambda key: key,
            '-H "Authorization: $CONTRACT_API_KEY"',
            tries={S: ("list",), D: ("read",)},
            holds_key=True,
        ),
        Identity(
            "the key as a user's name",
            lambda key: f"Basic {b64encode(f'{key}:'.encode()).decode()}",
            '-u "$CONTRACT_API_KEY:"',
            holds_key=True,
        ),
        Identity(
            "the scheme Token",
            lambda key: f"Token {key}",
            '-H "Authorization: Token $CONTRACT_API_KEY"',
            tries={S: ("list",)},
            holds_key=True,
        ),
        Identity(
            "the key as a parameter of Bearer",
            lambda key: f'Bearer token="{key}"',
            """-H "Authorization: Bearer token=\\"$CONTRACT_API_KEY\\"\"""",
            tries={N: ("read",)},
            holds_key=True,
        ),
        Identity(
            "the key in a cookie",
            lambda key: "; ".join(f"{name}={key}" for name in NAMES),
            f'-b "{"; ".join(f"{name}=$CONTRACT_API_KEY" for name in NAMES)}"',
            "Cookie",
            {D: ("read",)},
            holds_key=True,
        ),
        Identity(
            "the key in the query",
            lambda key: urlencode(dict.fromkeys(NAMES, key)),
            " ".join(f'--url-query "{name}=$CONTRACT_API_KEY"' for name in NAMES),
            "",
            {N: ("read",)},
            holds_key=True,
        ),
        Identity(
            OTHER,
            lambda key: f"Bearer {key}",
            _bearer("$CONTRACT_SECOND_API_KEY"),
            tries=dict.fromkeys(ALL_RESOURCES, ("create", "list", "read", "update", "delete")),
        ),
    )
}


def identities(api_key: str, second_api_key: str | None) -> dict[str, str]:
    """What each identity sends instead of the key, for those that send anything; probes try them in this order."""
    headers = {
        identity.name: identity.header(api_key)
        for identity in IDENTITIES.values()
        if identity.header and identity.name != OTHER
    }
    if len(api_key) == 1:
        del headers["a truncated key"]
    if api_key == api_key.swapcase() or re.fullmatch(r"[0-9A-Fa-f-]+", api_key):  # a number in hexadecimal, or a UUID
        del headers[OTHER_CASES]
    return headers | ({OTHER: f"Bearer {second_api_key}"} if second_api_key else {})


def place_of(identity: str) -> str:
    """The name of the header in which an identity sends a key; empty if it sends it in the query."""
    return IDENTITIES[identity].header_name if identity in IDENTITIES else "Authorization"
