"""The journal as an HTTP archive (HAR 1.2), for browser tools and for `contract-tests judge`."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from http import HTTPStatus
from io import StringIO
from urllib.parse import parse_qsl, quote

import harfile

from mock_server.http.masking import masked_whole
from mock_server.journal.journal import Entry

HTTP = "HTTP/1.1"
COMMENT = "Keys are hidden. Answers that a test asked for, and those of a proxy itself, are left out."
SAFE = "/:@!$&'()*+,;=~-._"


def archive(exchanges: Iterable[tuple[Entry, bytes | None]], base_url: Callable[[Entry], str], base_path: str) -> str:
    """An HTTP archive of what a service answered.

    Args:
        exchanges: requests, each with the whole body of its answer, or None if that was not kept.
        base_url: where the service answers, for each request.
        base_path: the prefix of the requests' paths, which the base URL stands for.
    """
    file = StringIO()
    with harfile.HarFile(file, comment=COMMENT) as har:
        for entry, body in exchanges:
            if entry.status is None or entry.own or entry.forced or entry.broken:
                continue
            if entry.is_preferred:
                continue
            har.add_entry(
                startedDateTime=datetime.fromisoformat(entry.time).replace(tzinfo=UTC),
                time=entry.milliseconds,
                request=_request(entry, base_url(entry) + quote(entry.path.removeprefix(base_path), safe=SAFE)),
                response=_response(entry, body),
                timings=harfile.Timings(send=0, wait=entry.milliseconds, receive=0),
            )
    return file.getvalue()


def _request(entry: Entry, url: str) -> harfile.Request:
    return harfile.Request(
        method=entry.method,
        url=f"{url}?{entry.query}" if entry.query else url,
        httpVersion=HTTP,
        headers=_records(entry.headers),
        queryString=[harfile.Record(name, text) for name, text in parse_qsl(entry.query, keep_blank_values=True)],
        postData=_post_data(entry),
    )


def _post_data(entry: Entry) -> harfile.PostData | None:
    if not (entry.fields or entry.files or entry.body):
        return None
    if entry.body:
        return harfile.PostData(mimeType=entry.media_type, text=entry.body)
    texts = [harfile.PostParameter(name, value=text) for name, text in entry.fields.items()]
    files = [
        harfile.PostParameter(name, fileName=file.name, contentType=file.media_type)
        for name, file in entry.files.items()
    ]
    return harfile.PostData(mimeType=entry.media_type, params=[*texts, *files])


def _response(entry: Entry, body: bytes | None) -> harfile.Response:
    status = entry.status or 0
    known = status in HTTPStatus._value2member_map_
    # What is kept is no longer compressed.
    headers = {name: text for name, text in entry.answer_headers.items() if name.lower() != "content-encoding"}
    return harfile.Response(
        status=status,
        statusText=HTTPStatus(status).phrase if known else "",
        httpVersion=HTTP,
        headers=_records(headers),
        content=_content(entry, body),
        redirectURL=next((text for name, text in headers.items() if name.lower() == "location"), ""),
        bodySize=-1 if body is None else len(body),
    )


def _content(entry: Entry, body: bytes | None) -> harfile.Content:
    media_type = next((text for name, text in entry.answer_headers.items() if name.lower() == "content-type"), "")
    if body is None:  # a size, and no text: those who read it see that there was a body
        return harfile.Content(size=max(1, len(entry.answer)), mimeType=media_type)
    try:
        return harfile.Content(size=len(body), mimeType=media_type, text=masked_whole(body.decode("utf-8")))
    except UnicodeDecodeError:
        return harfile.Content(len(body), mimeType=media_type, text=b64encode(body).decode(), encoding="base64")


def _records(headers: dict[str, str]) -> list[harfile.Record]:
    return [harfile.Record(name, text) for name, text in headers.items()]
