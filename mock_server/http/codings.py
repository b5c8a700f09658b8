"""Bodies as they were before they were compressed."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from zlib import MAX_WBITS, decompressobj
from zlib import error as ZlibError  # noqa: N812 - a class

LONGEST_PLAIN = 4 * 2**20  # bytes of a body that was compressed
CODINGS = ("gzip", "x-gzip", "deflate")
FORMS = (MAX_WBITS | 32, -MAX_WBITS)  # gzip and zlib, or deflate without a head


def plain(body: bytes, headers: Iterable[tuple[str, str]]) -> bytes | None:
    """The body of an answer as it was before it was compressed; None if it cannot be read, or is very long."""
    codings = [text.strip().lower() for name, text in headers if name.lower() == "content-encoding"]
    if not body or not codings or codings == ["identity"]:
        return body
    for form in FORMS if codings[0] in CODINGS else ():
        stream = decompressobj(form)
        with suppress(ZlibError):  # an answer that is forced may lie about itself
            whole = stream.decompress(body, LONGEST_PLAIN)
            if stream.eof:
                return whole
    return None
