"""Who sends requests: the account, another account, and unauthorized clients with no key or an invalid one."""

from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from contract_tests.exchange import OPERATIONS, OTHER, OWN

NOBODY, WRONG = "no key", "a wrong key"
S, D, N = "splash-pages", "domains", "notification-handlers"
EVERYWHERE = (S, D, N)


@dataclass(frozen=True)
class Identity:
    """A client that sends requests.

    Attributes:
        header: the `Authorization` header, from the account's key; None if none is sent.
        curl: the same as an argument of curl, with the key from the environment.
        tries: the operations that the survey tries as this client, by resource.
        is_close: whether a careless comparison of keys lets it in.
    """

    name: str
    header: Callable[[str], str] | None
    curl: str = ""
    tries: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    is_close: bool = False


def _bearer(key: str) -> str:
    return f'-H "Authorization: Bearer {key}"'


# The client without a key and the other account try everything; the others take turns, so that every resource and every
# operation is tried with some key.
IDENTITIES = {
    each.name: each
    for each in (
        Identity(OWN, lambda key: f"Bearer {key}", _bearer("$CONTRACT_API_KEY")),
        Identity(NOBODY, None, tries=dict.fromkeys(EVERYWHERE, OPERATIONS)),
        Identity(
            WRONG,
            lambda _: "Bearer contract-tests-wrong-key",
            _bearer("contract-tests-wrong-key"),
            {S: ("read", "update"), D: ("read", "delete"), N: ("list", "create")},
        ),
        Identity(
            "a truncated key",
            lambda key: f"Bearer {key[:-1]}",
            _bearer("${CONTRACT_API_KEY%?}"),
            {S: ("read",), N: ("list",)},
            is_close=True,
        ),
        Identity(
            "a longer key",
            lambda key: f"Bearer {key}0",
            _bearer("${CONTRACT_API_KEY}0"),
            {D: ("read",)},
            is_close=True,
        ),
        Identity(
            "a similar key",
            lambda key: f"Bearer {key[:-1]}{'y' if key.endswith('x') else 'x'}",
            _bearer("${CONTRACT_API_KEY%?}x"),
        ),
        Identity("an empty key", lambda _: "Bearer ", _bearer(""), {D: ("read",)}),
        Identity(
            "another scheme",
            lambda key: f"Basic {key}",
            '-H "Authorization: Basic $CONTRACT_API_KEY"',
            {S: ("read",), D: ("list",), N: ("read",)},
        ),
        Identity(
            "the key as a user's name",
            lambda key: f"Basic {b64encode(f'{key}:'.encode()).decode()}",
            '-u "$CONTRACT_API_KEY:"',
        ),
        Identity(
            OTHER,
            lambda key: f"Bearer {key}",
            _bearer("$CONTRACT_SECOND_API_KEY"),
            dict.fromkeys(EVERYWHERE, ("create", "list", "read", "update", "delete")),
        ),
    )
}


def identities(api_key: str, second_api_key: str | None) -> dict[str, str]:
    """The `Authorization` header that each identity sends, for those that send one; probes try them in this order."""
    headers = {each.name: each.header(api_key) for each in IDENTITIES.values() if each.header and each.name != OTHER}
    if len(api_key) == 1:
        del headers["a truncated key"]
    return headers | ({OTHER: f"Bearer {second_api_key}"} if second_api_key else {})
