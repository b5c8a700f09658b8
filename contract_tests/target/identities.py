"""Whose keys requests carry: the account's, another account's, and some that open nothing."""

from __future__ import annotations

from base64 import b64encode

from contract_tests.exchange import OTHER, OWN


def identities(api_key: str, second_api_key: str | None) -> dict[str, str]:
    """The `Authorization` header that each identity sends; `no key` sends none, and probes try them in this order."""
    shorter = api_key[:-1]
    headers = {
        OWN: f"Bearer {api_key}",
        "a wrong key": "Bearer contract-tests-wrong-key",
        **({"a truncated key": f"Bearer {shorter}"} if shorter else {}),
        "a longer key": f"Bearer {api_key}0",
        "a similar key": f"Bearer {shorter}{'y' if api_key.endswith('x') else 'x'}",
        "an empty key": "Bearer ",
        "another scheme": f"Basic {api_key}",
        "the key as a user's name": f"Basic {b64encode(f'{api_key}:'.encode()).decode()}",
    }
    if second_api_key:
        headers[OTHER] = f"Bearer {second_api_key}"
    return headers
