"""The control token of a server, as requests show it."""

from __future__ import annotations

import re
from base64 import b64decode
from hmac import compare_digest
from typing import TYPE_CHECKING

from werkzeug.datastructures import Authorization

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIEnvironment


def shows_token(environ: WSGIEnvironment, token: str | None) -> bool:
    """Whether a request shows a token, as a bearer token or as the password of basic authentication."""
    given = Authorization.from_header(environ.get("HTTP_AUTHORIZATION"))
    shown = given and (given.token if given.type == "bearer" else given.password)
    return bool(shown and token and compare_digest(shown.encode(), token.encode()))


def holds_token(text: bytes, token: str | None) -> bool:
    """Whether the text of a header holds a token, under whatever scheme, as it is or as basic authentication has it."""
    if not token:
        return False
    sent = token.encode()
    return sent in text or any(sent in b64decode(word + b"==") for word in re.findall(rb"[\w+/]{16,}", text))
