"""All exchanges of a run as an HTTP archive, for browser tools and for `contract-tests judge`."""

from __future__ import annotations

import json
from base64 import b64encode
from datetime import UTC, datetime
from http import HTTPStatus
from pathlib import Path

import harfile

from contract_tests.exchange import Exchange
from contract_tests.run.outcome import Outcome

HTTP = "HTTP/1.1"
FILE = "record.har"


def write(outcome: Outcome, path: Path) -> None:
    """Write the file; each entry's comment holds, as JSON, what the run knew about the request.

    Raises:
        OSError: if it cannot be written.
    """
    hidden = "Keys are hidden; of records that the run did not create, texts keep their shape alone."
    comment = f"Verdict: {outcome.verdict}. {hidden}"
    with harfile.HarFile.open(path, comment=comment) as har:
        for exchange in map(outcome.masking.exchange, outcome.exchanges):
            milliseconds = round(exchange.seconds * 1000, 3)
            har.add_entry(
                startedDateTime=datetime.fromtimestamp(exchange.began, UTC),
                time=milliseconds,
                request=_request(outcome.base_url, exchange),
                response=_response(exchange),
                timings=harfile.Timings(send=0, wait=milliseconds, receive=0),
                comment=_known(exchange),
            )


def _known(exchange: Exchange) -> str:
    request = exchange.request
    return json.dumps({"identity": request.identity, "expects": exchange.expects, "error": exchange.error})


def _request(base_url: str, exchange: Exchange) -> harfile.Request:
    request = exchange.request
    return harfile.Request(
        method=request.method,
        url=f"{base_url}{request.target}",
        httpVersion=HTTP,
        headers=[harfile.Record(name="Authorization", value=f"[{request.identity}]")],
        queryString=[harfile.Record(name=name, value=value) for name, value in request.query],
        postData=_post_data(exchange),
    )


def _post_data(exchange: Exchange) -> harfile.PostData | None:
    request = exchange.request
    if request.body is not None:
        return harfile.PostData(mimeType=request.body[0], text=request.body[1].decode("utf-8", "replace"))
    if request.form is None:
        return None
    parts = [
        harfile.PostParameter(name=name, value=value)
        if isinstance(value, str)
        else harfile.PostParameter(name=name, fileName=value[0], contentType=value[2])
        for name, value in request.form.items()
    ]
    return harfile.PostData(mimeType="multipart/form-data", params=parts)


def _response(exchange: Exchange) -> harfile.Response:
    status = exchange.status or 0
    headers = [harfile.Record(name=name, value=value) for name, value in exchange.headers.items()]
    media_type = exchange.headers.get("Content-Type", "")
    try:
        content = harfile.Content(len(exchange.body), mimeType=media_type, text=exchange.body.decode("utf-8"))
    except UnicodeDecodeError:
        encoded = b64encode(exchange.body).decode()
        content = harfile.Content(len(exchange.body), mimeType=media_type, text=encoded, encoding="base64")
    known = status in HTTPStatus._value2member_map_
    return harfile.Response(
        status=status,
        statusText=HTTPStatus(status).phrase if known else "",
        httpVersion=HTTP,
        headers=headers,
        content=content,
        redirectURL=exchange.redirects[-1][1] if exchange.redirects else "",
        bodySize=len(exchange.body),
    )
