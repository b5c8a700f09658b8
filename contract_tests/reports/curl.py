"""A request as a curl command that repeats it."""

from __future__ import annotations

from shlex import quote

from contract_tests.exchange import Request
from contract_tests.target.identities import IDENTITIES


def curl(base_url: str, request: Request) -> str:
    """The curl command; keys come from the environment, images from a local file."""
    parts = ["curl", "-i"]
    if request.method != "GET" and request.form is None and request.body is None:
        parts += ["-X", request.method]
    parts += [IDENTITIES[request.identity].curl] if request.identity in IDENTITIES else []
    for name, value in (request.form or {}).items():
        if isinstance(value, str):
            parts += ["--form-string", quote(f"{name}={value}")]
        else:
            parts += ["-F", quote(f"{name}=@fixtures/images/logo.png;filename={value[0]};type={value[2]}")]
    if request.body is not None:
        parts += ["-H", quote(f"Content-Type: {request.body[0]}"), "--data-binary", quote(request.body[1].decode())]
    return " ".join([*filter(None, parts), quote(f"{base_url}{request.target}")])
