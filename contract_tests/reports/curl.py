"""A request as a curl line that repeats it."""

from __future__ import annotations

from shlex import quote

from contract_tests.exchange import OWN, Request

HEADERS = {
    OWN: '-H "Authorization: Bearer $CONTRACT_API_KEY"',
    "another account's key": '-H "Authorization: Bearer $CONTRACT_SECOND_API_KEY"',
    "a wrong key": '-H "Authorization: Bearer contract-tests-wrong-key"',
    "a truncated key": '-H "Authorization: Bearer ${CONTRACT_API_KEY%?}"',
    "a longer key": '-H "Authorization: Bearer ${CONTRACT_API_KEY}0"',
    "an empty key": '-H "Authorization: Bearer "',
    "a similar key": '-H "Authorization: Bearer ${CONTRACT_API_KEY%?}x"',
    "the key as a user's name": '-u "$CONTRACT_API_KEY:"',
    "another scheme": '-H "Authorization: Basic $CONTRACT_API_KEY"',
}


def curl(base_url: str, request: Request) -> str:
    """The line; keys come from the environment, images from a file of one's own."""
    parts = ["curl", "-i"]
    if request.method != "GET" and request.form is None and request.body is None:
        parts += ["-X", request.method]
    if request.identity in HEADERS:
        parts.append(HEADERS[request.identity])
    for name, value in (request.form or {}).items():
        if isinstance(value, str):
            parts += ["--form-string", quote(f"{name}={value}")]
        else:
            parts += ["-F", quote(f"{name}=@fixtures/images/logo.png;filename={value[0]};type={value[2]}")]
    if request.body is not None:
        parts += ["-H", quote(f"Content-Type: {request.body[0]}"), "--data-binary", quote(request.body[1].decode())]
    return " ".join([*parts, quote(f"{base_url}{request.target}")])
